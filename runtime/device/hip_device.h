/*
 * The hip device: AMD GPUs through HIP's module API.
 *
 * No AMD GPU has run it yet. What is tested is the sequence of calls, their arguments, the bytes of
 * the kernel arguments and every error path, against a stand-in library (tests/stand_ins).
 *
 * A kiln_device is one physical GPU: the one that is current on the thread that opens it. Modules
 * are loaded on it and kernels launched on it whatever device is current on the calling thread;
 * that one is current again afterwards. A stream given to launch must belong to the device.
 */
#ifndef KILN_RUNTIME_DEVICE_HIP_DEVICE_H
#define KILN_RUNTIME_DEVICE_HIP_DEVICE_H

#include "runtime/device/device.h"

extern const struct kiln_device_ops kiln_hip_device_ops;

#endif
