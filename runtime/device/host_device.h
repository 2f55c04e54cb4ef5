/*
 * The host device: kernels run on the CPU, with the work-groups, barriers, local memory and
 * cross-lane exchange of a GPU. Code objects are ELF shared objects
 * (kernels_templates/device/host_abi.h).
 *
 * Launches are synchronous, streams are ignored, and device memory is ordinary memory.
 * KILN_HOST_THREADS threads, the calling one among them, share the work-groups of a launch; they
 * start with the first launch of several groups and end when the device is closed, which must not
 * happen during a launch.
 */
#ifndef KILN_RUNTIME_DEVICE_HOST_DEVICE_H
#define KILN_RUNTIME_DEVICE_HOST_DEVICE_H

#include "runtime/device/device.h"

extern const struct kiln_device_ops kiln_host_device_ops;

#endif
