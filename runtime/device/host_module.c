#include "runtime/device/host_module.h"

#include "runtime/support/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 6.3; older headers lack it, and older kernels refuse it. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

enum { SERIAL_BITS = 32, SYMBOL_BYTES = 256 };

static int create_memory_file(void)
{
    int file = memfd_create("kiln-kernel", MFD_CLOEXEC | MFD_EXEC);
    return file >= 0 || errno != EINVAL ? file : memfd_create("kiln-kernel", MFD_CLOEXEC);
}

static bool write_all(int file, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/*
 * dlopen takes a name that it has seen for the library that it has loaded under it, and file
 * numbers are used again. So each name spells a serial number in slashes and dots, which mean
 * nothing: "/proc/self/fd" "//" or "/." ... "/5".
 */
static void *open_uniquely(int file)
{
    static _Atomic uint32_t last_serial;
    uint32_t serial = atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed);
    char path[sizeof "/proc/self/fd" + 2 * SERIAL_BITS + 16] = "/proc/self/fd";
    size_t length = strlen(path);
    for (int bit = 0; bit < SERIAL_BITS; bit++) {
        path[length++] = '/';
        path[length++] = (serial >> bit & 1u) != 0 ? '.' : '/';
        if (serial >> bit <= 1)
            break;
    }
    (void)snprintf(path + length, sizeof path - length, "/%d", file);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The runtime of address sanitizer ends the process when it is loaded late. */
static bool lacks_address_sanitizer(const void *code, size_t size)
{
    static const char entry[] = "__asan_init";
    return memmem(code, size, entry, sizeof entry - 1) != NULL && !dlsym(RTLD_DEFAULT, entry);
}

/* What dlopen's failure was: dlerror tells no number. */
static enum kiln_status explain_refusal(const char *symbol, struct kiln_error *error)
{
    char reason[512];
    const char *told = dlerror();
    (void)snprintf(reason, sizeof reason, "%s", told != NULL ? told : "no reason");
    enum kiln_status status = kiln_file_check_shortage("load a kernel", error);
    if (status)
        return status;
    return kiln_error_set(error, KILN_REFUSED, "cannot load kernel '%s': %s", symbol, reason);
}

static enum kiln_status load_library(const void *code, size_t size, const char *symbol,
                                     void **ret_library, struct kiln_error *error)
{
    if (lacks_address_sanitizer(code, size)) {
        enum kiln_status status = kiln_error_set(
            error, KILN_UNSUPPORTED,
            "kernel '%s' is built for address sanitizer, which this process does not run under",
            symbol);
        kiln_error_hint(error, "start the program with LD_PRELOAD set to the sanitizer's runtime "
                               "(c++ -print-file-name=libasan.so), or unset KILN_HOST_SANITIZE");
        return status;
    }
    int file = create_memory_file();
    if (file < 0)
        return kiln_error_set(error, kiln_status_of_errno(errno),
                              "cannot make a memory file for kernel '%s': %s", symbol,
                              strerror(errno));
    void *library = NULL;
    enum kiln_status status = KILN_OK;
    if (!kiln_file_may_have(size) || !write_all(file, code, size))
        status = kiln_error_set(error, KILN_IO, "cannot write kernel '%s' to memory: %s", symbol,
                                strerror(errno));
    else if (access("/proc/self/fd", X_OK) != 0)
        status = kiln_error_set(error, KILN_UNSUPPORTED,
                                "the host device needs /proc, which is not mounted");
    else if ((library = open_uniquely(file)) == NULL)
        status = explain_refusal(symbol, error);
    close(file);
    if (status == KILN_OK)
        *ret_library = library;
    return status;
}

static enum kiln_status find_kernel(void *library, const char *symbol,
                                    const struct kiln_host_kernel **ret_kernel,
                                    struct kiln_error *error)
{
    char name[SYMBOL_BYTES];
    if ((size_t)snprintf(name, sizeof name, "%s_kernel", symbol) >= sizeof name)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "kernel name '%.32s...' is too long",
                              symbol);
    const struct kiln_host_kernel *kernel = dlsym(library, name);
    if (kernel == NULL)
        return kiln_error_set(error, KILN_NOT_FOUND, "the shared object has no kernel '%s'",
                              symbol);
    if (kernel->abi != KILN_HOST_ABI || kernel->block == 0 || kernel->wave_size == 0)
        return kiln_error_set(error, KILN_CORRUPT, "kernel '%s' is of another version of Kiln",
                              symbol);
    *ret_kernel = kernel;
    return KILN_OK;
}

enum kiln_status kiln_host_module_load(const void *code, size_t size, const char *symbol,
                                       uint32_t lds_bytes, bool uses_barrier,
                                       struct kiln_device_module **ret_module,
                                       struct kiln_error *error)
{
    void *library = NULL;
    enum kiln_status status = load_library(code, size, symbol, &library, error);
    if (status)
        return status;
    const struct kiln_host_kernel *kernel = NULL;
    struct kiln_device_module *module = NULL;
    status = find_kernel(library, symbol, &kernel, error);
    if (status == KILN_OK && (module = malloc(sizeof *module)) == NULL)
        status = kiln_error_set(error, KILN_NO_MEMORY, "out of memory for kernel '%s'", symbol);
    if (status) {
        dlclose(library);
        return status;
    }
    *module = (struct kiln_device_module){
        .library = library,
        .function = {.kernel = kernel, .lds_bytes = lds_bytes, .uses_barrier = uses_barrier},
    };
    *ret_module = module;
    return KILN_OK;
}

void kiln_host_module_unload(struct kiln_device_module *module)
{
    if (module == NULL)
        return;
    dlclose(module->library);
    free(module);
}
