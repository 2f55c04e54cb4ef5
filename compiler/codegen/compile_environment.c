#include "compiler/codegen/compile_environment.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What compilers keep of the host's environment; all else goes, so that code depends on what cache
 * keys name. (gcc, clang, comgr, NVRTC and their wrappers know dozens of variables that change
 * code, from CPATH to CCC_OVERRIDE_OPTIONS, and new versions bring new ones; LD_PRELOAD puts
 * allocators and profilers, which were meant for the host, into them.) A name that ends with an
 * underscore stands for all that start with it.
 */
static const char *const kept[] = {
    "PATH",            /* where compilers find their assembler and linker */
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

/* The array and its texts, behind one another; with both NULL only counts. */
struct layout {
    char **array;
    char *texts;
    size_t count;
    size_t bytes;
};

/* Starts a variable; its text follows in pieces. */
static void begin(struct layout *layout)
{
    if (layout->array != NULL)
        layout->array[layout->count] = layout->texts + layout->bytes;
    layout->count++;
}

static void append(struct layout *layout, const char *text, size_t size)
{
    if (layout->texts != NULL)
        memcpy(layout->texts + layout->bytes, text, size);
    layout->bytes += size;
}

static void append_all(struct layout *layout, const char *text)
{
    append(layout, text, strlen(text));
}

/* A list of directories with the relative ones made absolute: compilers run in another directory
 * than the host. */
static void append_directories(struct layout *layout, const char *variable, const char *here)
{
    const char *at = strchr(variable, '=') + 1;
    append(layout, variable, (size_t)(at - variable));
    while (here != NULL) {
        size_t length = strcspn(at, ":");
        if (*at != '/') {
            append_all(layout, here);
            append(layout, "/", length != 0);
        }
        append(layout, at, length);
        at += length;
        if (*at == '\0')
            return;
        append(layout, at++, 1);
    }
    append_all(layout, at);
}

static void lay_out(struct layout *layout, const char *temporary_directory, const char *here)
{
    static const char directories[] = "LD_LIBRARY_PATH=";
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++) {
        if (!is_kept(environ[i]) ||
            (temporary_directory != NULL && is_temporary_directory(environ[i])))
            continue;
        bool is_list = strncmp(environ[i], directories, sizeof directories - 1) == 0;
        if (is_list && environ[i][sizeof directories - 1] == '\0')
            continue;
        begin(layout);
        if (is_list)
            append_directories(layout, environ[i], here);
        else
            append_all(layout, environ[i]);
        append(layout, "", 1);
    }
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        begin(layout);
        append(layout, added[i], strlen(added[i]) + 1);
    }
    if (temporary_directory != NULL) {
        begin(layout);
        append_all(layout, "TMPDIR=");
        append(layout, temporary_directory, strlen(temporary_directory) + 1);
    }
}

char **kiln_compile_environment_create(const char *temporary_directory)
{
    char *here = getcwd(NULL, 0); /* NULL: it is gone, or cannot be seen */
    struct layout layout = {.array = NULL};
    lay_out(&layout, temporary_directory, here);
    char **array = malloc((layout.count + 1) * sizeof *array + layout.bytes);
    if (array != NULL) {
        layout = (struct layout){.array = array, .texts = (char *)(array + layout.count + 1)};
        lay_out(&layout, temporary_directory, here);
        array[layout.count] = NULL;
    }
    free(here);
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
