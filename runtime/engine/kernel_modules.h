/*
 * Kernels loaded on devices: one module for all programs that have the kernel, whatever graphs they
 * are of. It stays loaded as long as one of them.
 */
#ifndef KILN_RUNTIME_ENGINE_KERNEL_MODULES_H
#define KILN_RUNTIME_ENGINE_KERNEL_MODULES_H

#include "cache/object_table.h"
#include "runtime/device/device.h"
#include "runtime/engine/shared_kernel.h"

#include <stdatomic.h>

/* Ref-counted and immutable. The device must outlive it. */
struct kiln_loaded_kernel {
    atomic_uint references;
    struct kiln_device *device;
    struct kiln_shared_kernel *kernel; /* one reference */
    struct kiln_device_module *module;
    struct kiln_device_function *function;
};

struct kiln_kernel_modules {
    struct kiln_object_table *loaded; /* key of the kernel, device, whether it was compiled here
                                        -> kiln_loaded_kernel */
};

enum kiln_status kiln_kernel_modules_init(struct kiln_kernel_modules *modules,
                                          struct kiln_error *error) KILN_NODISCARD;
/* Unloads what no program uses any more; the devices must still be open. */
void kiln_kernel_modules_fini(struct kiln_kernel_modules *modules);

/* The kernel loaded on the device, with a reference for the caller. Threads that want it at once
 * wait for the one that loads it. Fails as the device's load does, for all of them. */
enum kiln_status kiln_kernel_modules_get(struct kiln_kernel_modules *modules,
                                         struct kiln_device *device,
                                         struct kiln_shared_kernel *kernel,
                                         struct kiln_loaded_kernel **ret_loaded,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Drops the caller's reference; the last user's unloads the module. NULL does nothing. */
void kiln_kernel_modules_release(struct kiln_kernel_modules *modules,
                                 struct kiln_loaded_kernel *loaded);

#endif
