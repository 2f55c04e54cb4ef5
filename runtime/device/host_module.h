/*
 * Code of the host device: shared objects that are loaded from memory.
 */
#ifndef KILN_RUNTIME_DEVICE_HOST_MODULE_H
#define KILN_RUNTIME_DEVICE_HOST_MODULE_H

#include "kernels_templates/device/host_abi.h"
#include "runtime/device/device.h"

struct kiln_device_function {
    const struct kiln_host_kernel *kernel;
    uint32_t lds_bytes;
    bool uses_barrier;
};

struct kiln_device_module {
    void *library;
    struct kiln_device_function function;
};

/*
 * Loads an ELF shared object that exports the kernel `symbol`. The bytes are not needed afterwards.
 * Code that was built for address sanitizer gives KILN_UNSUPPORTED in a process that does not run
 * under it.
 */
enum kiln_status kiln_host_module_load(const void *code, size_t size, const char *symbol,
                                       uint32_t lds_bytes, bool uses_barrier,
                                       struct kiln_device_module **ret_module,
                                       struct kiln_error *error) KILN_NODISCARD;
void kiln_host_module_unload(struct kiln_device_module *module);

#endif
