#include "runtime/device/cuda_library.h"

#include "runtime/support/environment.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CUDA_ERROR_OUT_OF_MEMORY = 2 };

static const char library_name[] = "libcuda.so.1";

static enum kiln_status open_library(void **ret_handle, struct kiln_error *error)
{
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    void *handle = dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    const char *named = kiln_environment_text(KILN_ENVIRONMENT_KILN_CUDA_LIBRARY);
    if (!handle && named && *named) {
        handle = dlopen(named, flags);
        if (!handle)
            return kiln_error_set(error, KILN_UNSUPPORTED,
                                  "CUDA library '%s' of KILN_CUDA_LIBRARY cannot be loaded: %s",
                                  named, dlerror());
    }
    if (!handle)
        handle = dlopen(library_name, flags);
    if (!handle) {
        enum kiln_status status =
            kiln_error_set(error, KILN_UNSUPPORTED,
                           "CUDA library '%s' is not found on this machine", library_name);
        kiln_error_hint(error, "install NVIDIA's driver or name it in KILN_CUDA_LIBRARY");
        return status;
    }
    *ret_handle = handle;
    return KILN_OK;
}

static enum kiln_status find_function(void *handle, const char *name, void *ret_function,
                                      struct kiln_error *error)
{
    void *address = dlsym(handle, name);
    if (!address)
        return kiln_error_set(error, KILN_UNSUPPORTED, "CUDA library has no function '%s'", name);
    /* POSIX's way from an object pointer to a function pointer. */
    memcpy(ret_function, &address, sizeof(address));
    return KILN_OK;
}

enum kiln_status kiln_cuda_library_open(struct kiln_cuda_library *ret_library,
                                        struct kiln_error *error)
{
    struct kiln_cuda_library library = {0};
    enum kiln_status status = open_library(&library.handle, error);
    if (status)
        return status;
#define KILN_CUDA_FUNCTION(name, symbol, parameters)                                               \
    if (!status)                                                                                   \
        status = find_function(library.handle, #symbol, &library.name, error);
#include "runtime/device/cuda_functions.def"
    if (status) {
        dlclose(library.handle);
        return status;
    }
    *ret_library = library;
    return KILN_OK;
}

void kiln_cuda_library_close(struct kiln_cuda_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    library->handle = NULL;
}

enum kiln_status kiln_cuda_check(const struct kiln_cuda_library *library, int code,
                                 struct kiln_error *error, const char *action, ...)
{
    if (code == KILN_CUDA_SUCCESS)
        return KILN_OK;
    char action_text[256];
    va_list arguments;
    va_start(arguments, action);
    vsnprintf(action_text, sizeof(action_text), action, arguments);
    va_end(arguments);
    const char *text = NULL;
    if (library->cuGetErrorString(code, &text) != KILN_CUDA_SUCCESS || !text)
        text = "no text";
    return kiln_error_set(error, code == CUDA_ERROR_OUT_OF_MEMORY ? KILN_NO_MEMORY : KILN_DEVICE,
                          "%s failed: %s (CUDA error %d)", action_text, text, code);
}
