/*
 * The HIP runtime as an application uses it: streams, events and captures around the plugin. It is
 * the library that Kiln itself opens (KILN_HIP_LIBRARY, else the usual names).
 */
#ifndef KILN_TESTS_HIP_RUNTIME_H
#define KILN_TESTS_HIP_RUNTIME_H

#include "runtime/device/hip_library.h"

struct hip_runtime {
    struct kiln_hip_library library; /* what Kiln takes from HIP */
#define HIP_RUNTIME_FUNCTION(required, name, parameters) int(*name) parameters;
#include "tests/hardware/hip_runtime_functions.def"
};

/* KILN_UNSUPPORTED with a sentence when there is no HIP library or no GPU. */
enum kiln_status hip_runtime_open(struct hip_runtime *ret_runtime,
                                  struct kiln_error *error) KILN_NODISCARD;

/* hipStreamCreateWithFlags: no order with the null stream. */
enum { HIP_STREAM_NON_BLOCKING = 1 };

#endif
