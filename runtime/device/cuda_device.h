/*
 * The cuda device: NVIDIA GPUs through the CUDA driver API, for measuring and for developers. It is
 * only ever opened by name: Kiln's product is the hip device.
 *
 * A kiln_device is one physical GPU: the one of the context that is current on the thread that
 * opens it, else the first. Modules, memory and kernels live in its primary context, which the
 * runtime API uses too; what context is current on the calling thread does not matter and is
 * current again afterwards. A stream given to launch must belong to that context.
 */
#ifndef KILN_RUNTIME_DEVICE_CUDA_DEVICE_H
#define KILN_RUNTIME_DEVICE_CUDA_DEVICE_H

#include "runtime/device/device.h"

extern const struct kiln_device_ops kiln_cuda_device_ops;

#endif
