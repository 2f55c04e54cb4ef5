/*
 * The CUDA driver library, opened at run time: Kiln builds and loads without CUDA.
 */
#ifndef KILN_RUNTIME_DEVICE_CUDA_LIBRARY_H
#define KILN_RUNTIME_DEVICE_CUDA_LIBRARY_H

#include "runtime/support/error.h"

#include <stddef.h>
#include <stdint.h>

/* Values of the driver API that Kiln relies on. */
enum {
    KILN_CUDA_SUCCESS = 0,
    KILN_CUDA_ERROR_STUB_LIBRARY = 34,
    KILN_CUDA_ERROR_NO_DEVICE = 100,
    KILN_CUDA_DEVICE_CACHE_BYTES = 38,      /* CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE */
    KILN_CUDA_DEVICE_CAPABILITY_MAJOR = 75, /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
    KILN_CUDA_DEVICE_CAPABILITY_MINOR = 76,
    KILN_CUDA_FUNCTION_LOCAL_BYTES = 3, /* CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES */
};

struct kiln_cuda_library {
    void *handle; /* of dlopen */
#define KILN_CUDA_FUNCTION(name, symbol, parameters) int(*name) parameters;
#include "runtime/device/cuda_functions.def"
};

/*
 * Opens the library: one that the process has loaded already, else KILN_CUDA_LIBRARY, else
 * libcuda.so.1. KILN_UNSUPPORTED when there is none or it lacks a function of cuda_functions.def.
 * Nothing is initialised.
 */
enum kiln_status kiln_cuda_library_open(struct kiln_cuda_library *ret_library,
                                        struct kiln_error *error) KILN_NODISCARD;
/* Drops the handle. The library itself stays in the process. */
void kiln_cuda_library_close(struct kiln_cuda_library *library);

/* KILN_OK for CUDA_SUCCESS, else KILN_DEVICE (KILN_NO_MEMORY for CUDA_ERROR_OUT_OF_MEMORY) and a
 * sentence: `action`, then the driver's own text and number. `action` says what was being done,
 * "loading kernel 'k'". */
enum kiln_status kiln_cuda_check(const struct kiln_cuda_library *library, int code,
                                 struct kiln_error *error, const char *action, ...)
    KILN_PRINTF(4, 5) KILN_NODISCARD;

#endif
