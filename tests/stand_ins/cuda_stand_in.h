/*
 * A stand-in for libcuda: a shared library with the driver's names that runs nothing and records
 * everything. Tests load it through KILN_CUDA_LIBRARY, find these functions with dlsym, and compare
 * what was called.
 *
 * It reports KILN_CUDA_STAND_IN_DEVICES devices, each with a primary context. Device memory is
 * ordinary memory. As the driver does it wants cuInit first and a current context for all that
 * belongs to one, and a kernel may only be launched, and memory only be touched, in the context
 * that it was made in. `device` of a call is that of the current context, -1 without one.
 */
#ifndef KILN_TESTS_CUDA_STAND_IN_H
#define KILN_TESTS_CUDA_STAND_IN_H

#include "tests/stand_ins/call_record.h"

enum { KILN_CUDA_STAND_IN_DEVICES = 2 };

/* Forgets calls and settings, not modules, memory and contexts. */
void kiln_stand_in_reset(void);
void kiln_stand_in_set_device_count(int count);
/* Of all devices; 9.0 after a reset. */
void kiln_stand_in_set_capability(int major, int minor);
/* Of all devices; 50 MiB after a reset. */
void kiln_stand_in_set_cache_bytes(int bytes);
/* What cuFuncGetAttribute says of every function's local memory; 0 after a reset. */
void kiln_stand_in_set_local_bytes(int bytes);
/* The primary context of a device. */
void *kiln_stand_in_context(int device);
/* Contexts retained and not released. */
int kiln_stand_in_live_contexts(void);

#endif
