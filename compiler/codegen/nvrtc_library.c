#include "compiler/codegen/nvrtc_library.h"

#include "compiler/codegen/compiler_search.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kiln_nvrtc_library library; /* filled once, under the lock */
static char *library_path;                /* NULL until the library is open */
static char *library_identity;

static enum kiln_status resolve(void *handle, const char *path, struct kiln_nvrtc_library *nvrtc,
                                struct kiln_error *error)
{
    const char *missing = NULL;
    void *symbol;
    /* ISO C has no conversion from object to function pointers; POSIX has dlsym and memcpy. */
#define KILN_NVRTC_FUNCTION(name, parameters)                                                      \
    symbol = dlsym(handle, #name);                                                                 \
    if (symbol == NULL)                                                                            \
        missing = #name;                                                                           \
    memcpy(&nvrtc->name, &symbol, sizeof symbol);
#include "compiler/codegen/nvrtc_functions.def"
    symbol = dlsym(handle, "nvrtcGetErrorString");
    if (symbol == NULL)
        missing = "nvrtcGetErrorString";
    memcpy(&nvrtc->nvrtcGetErrorString, &symbol, sizeof symbol);
    if (missing != NULL)
        return kiln_error_set(error, KILN_UNSUPPORTED, "'%s' has no function '%s'", path, missing);
    return KILN_OK;
}

static enum kiln_status open_library(const char *path, const char *identity,
                                     struct kiln_error *error)
{
    /* Left open also when it turns out to be of no use: it may have started threads. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return kiln_compiler_refuse_library("NVRTC", dlerror(), error);
    /* Afterwards: what was put there since it was opened only looks like a change. */
    enum kiln_status status = kiln_binary_check_identity(path, identity, error);
    if (status != KILN_OK)
        return status;
    struct kiln_nvrtc_library nvrtc = {0};
    status = resolve(handle, path, &nvrtc, error);
    if (status != KILN_OK)
        return status;
    char *copy = strdup(path);
    char *identity_copy = strdup(identity);
    if (copy == NULL || identity_copy == NULL) {
        free(copy);
        free(identity_copy);
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening NVRTC");
    }
    library = nvrtc;
    library_path = copy;
    library_identity = identity_copy;
    return KILN_OK;
}

enum kiln_status kiln_nvrtc_library_open(const char *path, const char *identity,
                                         const struct kiln_nvrtc_library **ret_library,
                                         struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    (void)pthread_mutex_lock(&lock);
    if (library_path == NULL)
        status = open_library(path, identity, error);
    else if (strcmp(library_path, path) != 0)
        status =
            kiln_error_set(error, KILN_UNSUPPORTED,
                           "NVRTC '%s' is open already: cannot open '%s' too", library_path, path);
    else if (strcmp(library_identity, identity) != 0)
        status = kiln_error_set(error, KILN_COMPILE_FAILED,
                                "the library '%s' has changed since the compilers were looked for",
                                library_path);
    (void)pthread_mutex_unlock(&lock);
    if (status == KILN_OK)
        *ret_library = &library;
    return status;
}
