#include "compiler/codegen/compile_environment.h"

#include "runtime/support/buffer.h"
#include "runtime/support/temporary_name.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * What compilers keep of the host's environment; all else goes, so that code depends on what cache
 * keys name. (gcc, clang, comgr, NVRTC and their wrappers know dozens of variables that change
 * code, from CPATH to CCC_OVERRIDE_OPTIONS, and new versions bring new ones; LD_PRELOAD puts
 * allocators and profilers, which were meant for the host, into them.) A name that ends with an
 * underscore stands for all that start with it.
 */
static const char *const kept[] = {
    "PATH",            /* where compilers find their assembler and linker; see below */
    "LD_LIBRARY_PATH", /* where the loader finds what comgr and NVRTC need, as we did for their
                          identity */
    "HOME",            /* wrappers such as ccache do not run without */
    "TMPDIR",
    "TMP",
    "TEMP",
    "KILN_",
    /* Workers of a build with sanitizers. */
    "ASAN_OPTIONS",
    "LSAN_OPTIONS",
    "TSAN_OPTIONS",
    "UBSAN_OPTIONS",
};

/* Of those: the cache is none of a compiler's business, and its address may hold a password. */
static const char *const dropped[] = {"KILN_CACHE_"};

static const char *const added[] = {
    "AMD_COMGR_CACHE=0", /* comgr's own cache: hardly ever hits, and writes a file per kernel */
    "LC_ALL=C",
};

/* Where there is no PATH: as kiln_program_find looks. The driver of gcc does not find its linker
 * without one. */
#define DEFAULT_PATH "PATH=/usr/local/bin:/usr/bin:/bin"

static bool is_one_of(const char *variable, const char *const *names, size_t name_count)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < name_count; i++) {
        size_t count = strlen(names[i]);
        bool is_prefix = names[i][count - 1] == '_';
        if ((is_prefix ? length >= count : length == count) &&
            memcmp(variable, names[i], count) == 0)
            return true;
    }
    return false;
}

static bool is_kept(const char *variable)
{
    return is_one_of(variable, kept, sizeof kept / sizeof *kept) &&
           !is_one_of(variable, dropped, sizeof dropped / sizeof *dropped);
}

static bool is_temporary_directory(const char *variable)
{
    return strncmp(variable, "TMPDIR=", 7) == 0 || strncmp(variable, "TMP=", 4) == 0 ||
           strncmp(variable, "TEMP=", 5) == 0;
}

/* A list of directories with the relative ones made absolute: compilers run in another directory
 * than the host. */
static void append_directories(struct kiln_buffer *texts, const char *variable, const char *here)
{
    const char *at = strchr(variable, '=') + 1;
    kiln_buffer_append(texts, variable, (size_t)(at - variable));
    while (here != NULL) {
        size_t length = strcspn(at, ":");
        if (*at != '/') {
            kiln_buffer_append_text(texts, here);
            kiln_buffer_append(texts, "/", length != 0);
        }
        kiln_buffer_append(texts, at, length);
        at += length;
        if (*at == '\0')
            return;
        kiln_buffer_append(texts, at++, 1);
    }
    kiln_buffer_append_text(texts, at);
}

/* Appends all variables, each with its NUL; returns how many. */
static size_t append_variables(struct kiln_buffer *texts, const char *temporary_directory,
                               const char *here)
{
    static const char directories[] = "LD_LIBRARY_PATH=";
    size_t count = 0;
    bool has_path = false;
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++) {
        const char *variable = environ[i];
        if (!is_kept(variable) || (temporary_directory != NULL && is_temporary_directory(variable)))
            continue;
        has_path |= strncmp(variable, "PATH=", 5) == 0;
        bool is_list = strncmp(variable, directories, sizeof directories - 1) == 0;
        if (is_list && variable[sizeof directories - 1] == '\0')
            continue;
        if (is_list)
            append_directories(texts, variable, here);
        else
            kiln_buffer_append_text(texts, variable);
        kiln_buffer_append(texts, "", 1);
        count++;
    }
    if (!has_path) {
        kiln_buffer_append(texts, DEFAULT_PATH, sizeof DEFAULT_PATH);
        count++;
    }
    for (size_t i = 0; i < sizeof added / sizeof *added; i++, count++)
        kiln_buffer_append(texts, added[i], strlen(added[i]) + 1);
    if (temporary_directory != NULL) {
        kiln_buffer_printf(texts, "TMPDIR=%s", temporary_directory);
        kiln_buffer_append(texts, "", 1);
        count++;
    }
    return count;
}

char **kiln_compile_environment_create(const char *temporary_directory)
{
    char *here = getcwd(NULL, 0); /* NULL: it is gone, or cannot be seen */
    struct kiln_buffer texts;
    kiln_buffer_init(&texts);
    /* Read once: another thread of the host may be changing its environment. */
    size_t count = append_variables(&texts, temporary_directory, here);
    free(here);
    char **array = texts.failed ? NULL : malloc((count + 1) * sizeof *array + texts.size);
    if (array != NULL) {
        char *text = memcpy(array + count + 1, texts.data, texts.size);
        for (size_t i = 0; i < count; i++, text += strlen(text) + 1)
            array[i] = text;
        array[count] = NULL;
    }
    kiln_buffer_fini(&texts);
    return array;
}

#define SCRATCH_NAME "kiln-compile-"

enum { ATTEMPTS = 100 };

char *kiln_scratch_directory_create(struct kiln_error *error)
{
    const char *parents[] = {secure_getenv("TMPDIR"), "/tmp", "/var/tmp"};
    int first_errno = 0;
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        if (parents[i] == NULL || *parents[i] != '/')
            continue;
        for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
            char writer[KILN_WRITER_TEXT_BYTES];
            char *path = NULL;
            kiln_writer_text_make(writer, attempt);
            if (asprintf(&path, "%s/" SCRATCH_NAME "%s", parents[i], writer) < 0) {
                (void)kiln_error_set(error, KILN_NO_MEMORY,
                                     "out of memory for a directory for temporary files");
                return NULL;
            }
            if (mkdir(path, 0700) == 0)
                return path;
            int failure = errno;
            free(path);
            if (failure == EEXIST)
                continue;
            if (first_errno == 0)
                first_errno = failure;
            break;
        }
    }
    (void)kiln_error_set(error, KILN_IO,
                         "cannot create a directory for temporary files in TMPDIR, '/tmp' or "
                         "'/var/tmp': %s",
                         strerror(first_errno));
    kiln_error_hint(error, "TMPDIR names the directory to use");
    return NULL;
}

bool kiln_scratch_directory_is_intact(const char *path)
{
    struct stat attributes;
    return lstat(path, &attributes) == 0 && S_ISDIR(attributes.st_mode) &&
           attributes.st_uid == geteuid();
}

bool kiln_scratch_directory_is_one(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && strncmp(slash + 1, SCRATCH_NAME, sizeof SCRATCH_NAME - 1) == 0;
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

void kiln_scratch_directory_sweep(const char *scratch)
{
    const char *slash = strrchr(scratch, '/');
    char *parent = slash != NULL ? strndup(scratch, (size_t)(slash - scratch)) : NULL;
    DIR *directory = parent != NULL ? opendir(parent) : NULL;
    const struct dirent *item;
    while (directory != NULL && (item = readdir(directory)) != NULL) {
        char *path = NULL;
        if (strncmp(item->d_name, SCRATCH_NAME, sizeof SCRATCH_NAME - 1) != 0 ||
            !kiln_writer_text_is_of_the_dead(item->d_name + sizeof SCRATCH_NAME - 1) ||
            asprintf(&path, "%s/%s", parent, item->d_name) < 0)
            continue;
        if (kiln_scratch_directory_is_intact(path))
            kiln_scratch_directory_remove(path);
        free(path);
    }
    if (directory != NULL)
        (void)closedir(directory);
    free(parent);
}
