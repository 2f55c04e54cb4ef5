/*
 * The HIP runtime library, opened at run time: Kiln builds and loads without ROCm.
 */
#ifndef KILN_RUNTIME_DEVICE_HIP_LIBRARY_H
#define KILN_RUNTIME_DEVICE_HIP_LIBRARY_H

#include "runtime/support/error.h"

#include <stddef.h>

/* Values of HIP that Kiln relies on; the same in every ROCm release. */
enum {
    KILN_HIP_SUCCESS = 0,
    KILN_HIP_ERROR_INSUFFICIENT_DRIVER = 35,
    KILN_HIP_ERROR_NO_DEVICE = 100,
    KILN_HIP_MEMCPY_TO_DEVICE = 1,
    KILN_HIP_MEMCPY_FROM_DEVICE = 2,
};

struct kiln_hip_library {
    void *handle; /* of dlopen */
#define KILN_HIP_FUNCTION(name, parameters) int(*name) parameters;
#include "runtime/device/hip_functions.def"
    const char *(*hipGetErrorString)(int code);
    /* Fills a hipDeviceProp_t of the library's own layout; which one is not told by the type. */
    int (*get_properties)(void *properties, int ordinal);
};

/*
 * Opens the library: one that the process has loaded already, so that Kiln and the application
 * share one runtime, else KILN_HIP_LIBRARY, else libamdhip64.so.7, .6, .5 and libamdhip64.so.
 * KILN_UNSUPPORTED when there is none or it lacks a function of hip_functions.def.
 */
enum kiln_status kiln_hip_library_open(struct kiln_hip_library *ret_library,
                                       struct kiln_error *error) KILN_NODISCARD;
/* Drops the handle. The library itself stays in the process: HIP does not survive being unloaded.
 */
void kiln_hip_library_close(struct kiln_hip_library *library);

/* KILN_OK for hipSuccess, else KILN_DEVICE (KILN_NO_MEMORY for hipErrorOutOfMemory) and a sentence:
 * `action`, then HIP's own text and number. `action` says what was being done, "loading kernel
 * 'k'". */
enum kiln_status kiln_hip_check(const struct kiln_hip_library *library, int code,
                                struct kiln_error *error, const char *action, ...)
    KILN_PRINTF(4, 5) KILN_NODISCARD;

#endif
