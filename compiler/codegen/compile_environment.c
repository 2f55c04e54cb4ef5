#include "compiler/codegen/compile_environment.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables by which gcc, clang, LLVM, comgr and HIP's tools let people change how and what they
 * compile. A name that ends with an underscore stands for all that start with it. */
static const char *const removed[] = {
    "AMD_COMGR_",
    "AMDGPU_",
    "HCC_",
    "HIP_",
    "HIPCC_",
    "LLVM_",
    "ROCM_",
    "CCC_OVERRIDE_OPTIONS",
    "CCC_ADD_ARGS",
    "CLANG_CONFIG_FILE_USER_DIR",
    "CLANG_NO_DEFAULT_CONFIG",
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "DEPENDENCIES_OUTPUT",
    "GCC_COMPARE_DEBUG",
    "GCC_EXEC_PREFIX",
    "GCC_EXTRA_DIAGNOSTIC_OUTPUT",
    "LANG",
    "LANGUAGE",
    "LC_",
    "LD_RUN_PATH",
    "LIBRARY_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH",
    "QA_OVERRIDE_GCC3_OPTIONS",
    "SOURCE_DATE_EPOCH",
    "SUNPRO_DEPENDENCIES",
};

static const char *const added[] = {
    "AMD_COMGR_CACHE=0", /* comgr's own cache: hardly ever hits, and writes a file per kernel */
    "LC_ALL=C",
};

static bool is_removed(const char *variable)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        size_t count = strlen(removed[i]);
        bool is_prefix = removed[i][count - 1] == '_';
        if ((is_prefix ? length >= count : length == count) &&
            memcmp(variable, removed[i], count) == 0)
            return true;
    }
    return false;
}

static bool is_temporary_directory(const char *variable)
{
    return strncmp(variable, "TMPDIR=", 7) == 0 || strncmp(variable, "TMP=", 4) == 0 ||
           strncmp(variable, "TEMP=", 5) == 0;
}

/* Writes the array and its texts when `array` is not NULL; always gives the number of variables and
 * their bytes. */
static void lay_out(const char *temporary_directory, char **array, char *texts, size_t *ret_count,
                    size_t *ret_bytes)
{
    size_t count = 0;
    size_t bytes = 0;
    size_t added_count = sizeof added / sizeof *added;
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++) {
        if (is_removed(environ[i]) ||
            (temporary_directory != NULL && is_temporary_directory(environ[i])))
            continue;
        size_t size = strlen(environ[i]) + 1;
        if (array != NULL)
            array[count] = memcpy(texts + bytes, environ[i], size);
        count++;
        bytes += size;
    }
    for (size_t i = 0; i < added_count; i++) {
        size_t size = strlen(added[i]) + 1;
        if (array != NULL)
            array[count] = memcpy(texts + bytes, added[i], size);
        count++;
        bytes += size;
    }
    if (temporary_directory != NULL) {
        size_t size = strlen(temporary_directory) + sizeof "TMPDIR=";
        if (array != NULL) {
            array[count] = texts + bytes;
            (void)snprintf(array[count], size, "TMPDIR=%s", temporary_directory);
        }
        count++;
        bytes += size;
    }
    *ret_count = count;
    *ret_bytes = bytes;
}

char **kiln_compile_environment_create(const char *temporary_directory)
{
    size_t count;
    size_t bytes;
    lay_out(temporary_directory, NULL, NULL, &count, &bytes);
    char **array = malloc((count + 1) * sizeof *array + bytes);
    if (array == NULL)
        return NULL;
    lay_out(temporary_directory, array, (char *)(array + count + 1), &count, &bytes);
    array[count] = NULL;
    return array;
}

char *kiln_scratch_directory_create(void)
{
    const char *parent = secure_getenv("TMPDIR");
    if (parent == NULL || *parent != '/')
        parent = "/tmp";
    char *path;
    if (asprintf(&path, "%s/kiln-compile-XXXXXX", parent) < 0)
        return NULL;
    if (mkdtemp(path) == NULL) {
        int mkdtemp_errno = errno;
        free(path);
        errno = mkdtemp_errno;
        return NULL;
    }
    return path;
}

static int remove_entry(const char *path, const struct stat *attributes, int kind, struct FTW *walk)
{
    (void)attributes;
    (void)kind;
    (void)walk;
    (void)remove(path);
    return 0;
}

void kiln_scratch_directory_remove(const char *path)
{
    enum { OPEN_DIRECTORIES = 8 };
    if (rmdir(path) != 0)
        (void)nftw(path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void kiln_scratch_directory_destroy(char *path)
{
    if (path != NULL)
        kiln_scratch_directory_remove(path);
    free(path);
}
