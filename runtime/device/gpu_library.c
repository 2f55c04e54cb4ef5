#include "runtime/device/gpu_library.h"

#include "runtime/support/file.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* hipErrorOutOfMemory and CUDA_ERROR_OUT_OF_MEMORY. */
enum { OUT_OF_MEMORY = 2 };

static void *open_first(const char *const *names, int flags)
{
    void *handle = NULL;
    for (; handle == NULL && *names != NULL; names++)
        handle = dlopen(*names, flags);
    return handle;
}

/* dlopen would wait for a writer of a named pipe. */
static bool is_pipe(const char *name)
{
    struct stat attributes;
    return strchr(name, '/') && stat(name, &attributes) == 0 && S_ISFIFO(attributes.st_mode);
}

enum kiln_status kiln_gpu_library_open(const struct kiln_gpu_library_kind *kind,
                                       struct kiln_gpu_library *ret_library,
                                       struct kiln_error *error)
{
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    const char *variable = kiln_environment_info(kind->variable)->name;
    const char *named = kiln_environment_text(kind->variable);
    void *handle = open_first(kind->names, flags | RTLD_NOLOAD);
    if (!handle && named && *named) {
        bool is_openable = !is_pipe(named);
        if (is_openable)
            handle = dlopen(named, flags);
        /* dlopen gives no errno. */
        char reason[512];
        const char *told = !is_openable ? "it is no file" : handle ? NULL : dlerror();
        (void)snprintf(reason, sizeof(reason), "%s", told ? told : "no reason");
        enum kiln_status shortage =
            handle ? KILN_OK : kiln_file_check_shortage("look for a GPU", error);
        if (shortage)
            return shortage;
        if (!handle)
            return kiln_error_set(error, KILN_UNSUPPORTED,
                                  "%s library '%s' of %s cannot be loaded: %s", kind->title, named,
                                  variable, reason);
    }
    if (!handle)
        handle = open_first(kind->names, flags);
    if (!handle) {
        enum kiln_status shortage = kiln_file_check_shortage("look for a GPU", error);
        if (shortage)
            return shortage;
        (void)kiln_error_set(error, KILN_UNSUPPORTED,
                             "%s library '%s' is not found on this machine", kind->title,
                             kind->names_text);
        kiln_error_hint(error, "%s or name it in %s", kind->install_hint, variable);
        return KILN_UNSUPPORTED;
    }
    *ret_library = (struct kiln_gpu_library){kind, handle};
    return KILN_OK;
}

enum kiln_status kiln_gpu_library_find(const struct kiln_gpu_library *library, const char *symbol,
                                       void *ret_function, struct kiln_error *error)
{
    void *address = dlsym(library->handle, symbol);
    if (!address)
        return kiln_error_set(error, KILN_UNSUPPORTED, "%s library has no function '%s'",
                              library->kind->title, symbol);
    /* POSIX's way from an object pointer to a function pointer. */
    memcpy(ret_function, &address, sizeof(address));
    return KILN_OK;
}

void kiln_gpu_library_path(const struct kiln_gpu_library *library, char *ret_path, size_t bytes)
{
    struct link_map *map = NULL;
    bool is_known = dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name;
    (void)snprintf(ret_path, bytes, "%s", is_known ? map->l_name : "");
}

void kiln_gpu_library_close(struct kiln_gpu_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    library->handle = NULL;
}

bool kiln_gpu_blames_object(int code)
{
    /* hipError_t and CUresult have the same numbers for these. Not among them: 303, that a shared
     * object could not be initialised, which HIP gives for whatever ends its loader, a device
     * without memory among it. */
    enum {
        INVALID_VALUE = 1,
        INVALID_DEVICE_FUNCTION = 98,
        INVALID_IMAGE = 200,
        NO_BINARY_FOR_GPU = 209,
        INVALID_PTX_OR_KERNEL_FILE = 218,
        UNSUPPORTED_PTX_VERSION = 222,
        INVALID_SOURCE = 300,
        SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
        NOT_FOUND = 500,
    };
    switch (code) {
    case INVALID_VALUE:
    case INVALID_DEVICE_FUNCTION:
    case INVALID_IMAGE:
    case NO_BINARY_FOR_GPU:
    case INVALID_PTX_OR_KERNEL_FILE:
    case UNSUPPORTED_PTX_VERSION:
    case INVALID_SOURCE:
    case SHARED_OBJECT_SYMBOL_NOT_FOUND:
    case NOT_FOUND:
        return true;
    default:
        return false;
    }
}

enum kiln_status kiln_gpu_check(const struct kiln_gpu_library *library, int code,
                                struct kiln_error *error, const char *action, ...)
{
    if (code == KILN_GPU_SUCCESS)
        return KILN_OK;
    char action_text[256];
    va_list arguments;
    va_start(arguments, action);
    vsnprintf(action_text, sizeof(action_text), action, arguments);
    va_end(arguments);
    const char *text = library->kind->error_text(library, code);
    return kiln_error_set(error, code == OUT_OF_MEMORY ? KILN_NO_MEMORY : KILN_DEVICE,
                          "%s failed: %s (%s error %d)", action_text, text ? text : "no text",
                          library->kind->title, code);
}
