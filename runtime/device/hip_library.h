/*
 * The functions of the HIP runtime library.
 */
#ifndef KILN_RUNTIME_DEVICE_HIP_LIBRARY_H
#define KILN_RUNTIME_DEVICE_HIP_LIBRARY_H

#include "runtime/device/gpu_library.h"

/* Values of HIP that Kiln relies on; the same in every ROCm release. */
enum {
    KILN_HIP_ERROR_INVALID_VALUE = 1,
    KILN_HIP_ERROR_INSUFFICIENT_DRIVER = 35,
    KILN_HIP_ERROR_NO_DEVICE = 100,
    KILN_HIP_MEMCPY_TO_DEVICE = 1,
    KILN_HIP_MEMCPY_FROM_DEVICE = 2,
    KILN_HIP_PAGEABLE_MEMORY_ACCESS = 65,
};

struct kiln_hip_library {
    struct kiln_gpu_library base;
#define KILN_HIP_FUNCTION(name, parameters) int(*name) parameters;
#include "runtime/device/hip_functions.def"
    const char *(*hipGetErrorString)(int code);
    /* NULL in runtimes that lack it. -1 for what is no stream. */
    int (*hipGetStreamDeviceId)(void *stream);
    /* NULL in runtimes that lack them. */
    int (*hipPointerGetAttributes)(void *attributes, const void *pointer);
    int (*hipDeviceGetAttribute)(int *value, int attribute, int ordinal);
    int (*hipGetLastError)(void);
    /* Fills a hipDeviceProp_t of the library's own layout; which one is not told by the type. */
    int (*get_properties)(void *properties, int ordinal);
};

/*
 * Opens libamdhip64.so.7, .6, .5 or libamdhip64.so, or what KILN_HIP_LIBRARY names, as
 * kiln_gpu_library_open does. KILN_UNSUPPORTED when there is none or it lacks a function of
 * hip_functions.def. To be closed with kiln_gpu_library_close.
 */
enum kiln_status kiln_hip_library_open(struct kiln_hip_library *ret_library,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
