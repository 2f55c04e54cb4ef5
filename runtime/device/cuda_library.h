/*
 * The functions of the CUDA driver library.
 */
#ifndef KILN_RUNTIME_DEVICE_CUDA_LIBRARY_H
#define KILN_RUNTIME_DEVICE_CUDA_LIBRARY_H

#include "runtime/device/gpu_library.h"

#include <stdint.h>

/* Values of the driver API that Kiln relies on. */
enum {
    KILN_CUDA_ERROR_STUB_LIBRARY = 34,
    KILN_CUDA_ERROR_NO_DEVICE = 100,
    KILN_CUDA_DEVICE_CACHE_BYTES = 38,      /* CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE */
    KILN_CUDA_DEVICE_CAPABILITY_MAJOR = 75, /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
    KILN_CUDA_DEVICE_CAPABILITY_MINOR = 76,
    KILN_CUDA_FUNCTION_LOCAL_BYTES = 3,   /* CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES */
    KILN_CUDA_FUNCTION_MAX_ASKED_LDS = 8, /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
};

struct kiln_cuda_library {
    struct kiln_gpu_library base;
#define KILN_CUDA_FUNCTION(name, symbol, parameters) int(*name) parameters;
#include "runtime/device/cuda_functions.def"
};

/*
 * Opens libcuda.so.1, or what KILN_CUDA_LIBRARY names, as kiln_gpu_library_open does.
 * KILN_UNSUPPORTED when there is none or it lacks a function of cuda_functions.def. Nothing is
 * initialised. To be closed with kiln_gpu_library_close.
 */
enum kiln_status kiln_cuda_library_open(struct kiln_cuda_library *ret_library,
                                        struct kiln_error *error) KILN_NODISCARD;

#endif
