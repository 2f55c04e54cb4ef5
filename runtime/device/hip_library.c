#include "runtime/device/hip_library.h"

#include "runtime/support/environment.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HIP_ERROR_OUT_OF_MEMORY = 2 };

static const char *const library_names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                            "libamdhip64.so.5", "libamdhip64.so"};
enum { LIBRARY_NAME_COUNT = sizeof(library_names) / sizeof(library_names[0]) };

static void *open_loaded(void)
{
    for (size_t i = 0; i < LIBRARY_NAME_COUNT; i++) {
        void *handle = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle)
            return handle;
    }
    return NULL;
}

static enum kiln_status open_library(void **ret_handle, struct kiln_error *error)
{
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    void *handle = open_loaded();
    const char *named = kiln_environment_text(KILN_ENVIRONMENT_KILN_HIP_LIBRARY);
    if (!handle && named && *named) {
        handle = dlopen(named, flags);
        if (!handle)
            return kiln_error_set(error, KILN_UNSUPPORTED,
                                  "HIP library '%s' of KILN_HIP_LIBRARY cannot be loaded: %s",
                                  named, dlerror());
    }
    for (size_t i = 0; i < LIBRARY_NAME_COUNT && !handle; i++)
        handle = dlopen(library_names[i], flags);
    if (!handle) {
        enum kiln_status status =
            kiln_error_set(error, KILN_UNSUPPORTED,
                           "HIP library 'libamdhip64.so.{7,6,5}' is not found on this machine");
        kiln_error_hint(error, "install the HIP runtime or name it in KILN_HIP_LIBRARY");
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
        return kiln_error_set(error, KILN_UNSUPPORTED, "HIP library has no function '%s'", name);
    /* POSIX's way from an object pointer to a function pointer. */
    memcpy(ret_function, &address, sizeof(address));
    return KILN_OK;
}

static enum kiln_status find_functions(struct kiln_hip_library *library, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
#define KILN_HIP_FUNCTION(name, parameters)                                                        \
    if (!status)                                                                                   \
        status = find_function(library->handle, #name, &library->name, error);
#include "runtime/device/hip_functions.def"
    if (!status)
        status =
            find_function(library->handle, "hipGetErrorString", &library->hipGetErrorString, error);
    if (status)
        return status;
    /* ROCm 6 and newer have both names for two layouts, older ones only the second. */
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    if (!find_function(library->handle, "hipGetDevicePropertiesR0600", &library->get_properties,
                       &ignored))
        return KILN_OK;
    return find_function(library->handle, "hipGetDeviceProperties", &library->get_properties,
                         error);
}

enum kiln_status kiln_hip_library_open(struct kiln_hip_library *ret_library,
                                       struct kiln_error *error)
{
    struct kiln_hip_library library = {0};
    enum kiln_status status = open_library(&library.handle, error);
    if (status)
        return status;
    status = find_functions(&library, error);
    if (status) {
        dlclose(library.handle);
        return status;
    }
    *ret_library = library;
    return KILN_OK;
}

void kiln_hip_library_close(struct kiln_hip_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    library->handle = NULL;
}

enum kiln_status kiln_hip_check(const struct kiln_hip_library *library, int code,
                                struct kiln_error *error, const char *action, ...)
{
    if (code == KILN_HIP_SUCCESS)
        return KILN_OK;
    char action_text[256];
    va_list arguments;
    va_start(arguments, action);
    vsnprintf(action_text, sizeof(action_text), action, arguments);
    va_end(arguments);
    const char *text = library->hipGetErrorString(code);
    return kiln_error_set(error, code == HIP_ERROR_OUT_OF_MEMORY ? KILN_NO_MEMORY : KILN_DEVICE,
                          "%s failed: %s (HIP error %d)", action_text, text ? text : "no text",
                          code);
}
