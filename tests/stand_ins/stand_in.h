/*
 * The functions of the stand-ins as seen by a test: the libraries are the same ones that Kiln
 * opens, named by the macros KILN_STAND_IN_LIBRARY and KILN_CUDA_STAND_IN_LIBRARY.
 */
#ifndef KILN_TESTS_STAND_IN_H
#define KILN_TESTS_STAND_IN_H

#include "tests/stand_ins/amdhip64_stand_in.h"
#include "tests/stand_ins/cuda_stand_in.h"

struct stand_in {
    void (*reset)(void);
    size_t (*call_count)(void);
    const struct kiln_stand_in_call *(*call)(size_t index);
    void (*fail)(const char *function, int code, int successes);
    void (*set_device_count)(int count);
    int (*live_modules)(void);
    int (*live_allocations)(void);
    int (*live_events)(void);
    void (*begin_capture)(void);
    int (*end_capture)(void);
    /* Of HIP's alone. */
    void (*set_architecture)(const char *name, size_t offset);
    void (*set_stream_device)(int ordinal);
    int (*set_device)(int ordinal); /* hipSetDevice */
    void (*set_unknown_pointer)(const void *pointer);
    void (*set_pageable)(int is_pageable);
};

struct cuda_stand_in {
    struct stand_in base; /* without what is HIP's alone */
    void (*set_capability)(int major, int minor);
    void (*set_local_bytes)(int bytes);
    void *(*context)(int device);
    int (*live_contexts)(void);
    void (*set_cache_bytes)(int bytes);
    int (*init)(unsigned flags);        /* cuInit */
    int (*set_current)(void *context);  /* cuCtxSetCurrent */
    int (*get_current)(void **context); /* cuCtxGetCurrent */
};

/* Opens the stand-in for the life of the process, resets it, and points KILN_HIP_LIBRARY at it.
 * Aborts when that fails. */
struct stand_in stand_in_open(void);
/* The same for CUDA's and KILN_CUDA_LIBRARY. */
struct cuda_stand_in cuda_stand_in_open(void);
/* The names of the calls from number `first` on, each followed by a blank, in the caller's buffer.
 */
const char *stand_in_trace(const struct stand_in *hip, size_t first, char *text, size_t size);
/* Call number `nth` (from 0) of a function; NULL when there were fewer. */
const struct kiln_stand_in_call *stand_in_find(const struct stand_in *hip, const char *function,
                                               size_t nth);

#endif
