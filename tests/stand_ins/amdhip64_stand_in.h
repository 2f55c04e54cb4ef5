/*
 * A stand-in for libamdhip64: a shared library with HIP's names that runs nothing and records
 * everything. Tests load it through KILN_HIP_LIBRARY, find these functions with dlsym, and compare
 * what was called.
 *
 * It reports KILN_STAND_IN_DEVICES devices. Device memory is ordinary memory. The current device is
 * per thread, as HIP's is, and a kernel may only be launched while the device that its module was
 * loaded on is current.
 */
#ifndef KILN_TESTS_AMDHIP64_STAND_IN_H
#define KILN_TESTS_AMDHIP64_STAND_IN_H

#include "tests/stand_ins/call_record.h"

enum { KILN_STAND_IN_DEVICES = 3 };

/* Forgets calls and settings; modules and memory stay. */
void kiln_stand_in_reset(void);
/* What the properties call the processor ("gfx90a:sramecc+:xnack-"), and where in the struct they
 * do (at least 256). */
void kiln_stand_in_set_architecture(const char *name, size_t offset);
void kiln_stand_in_set_device_count(int count);
/* Which device every stream belongs to: 0 unless this says otherwise. */
void kiln_stand_in_set_stream_device(int ordinal);
/* From now on hipPointerGetAttributes knows every pointer except this one; before, it is not
 * supported. */
void kiln_stand_in_set_unknown_pointer(const void *pointer);
/* 1: the GPU follows host pointers. */
void kiln_stand_in_set_pageable(int is_pageable);

#endif
