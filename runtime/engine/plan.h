/*
 * Plans: everything that execute needs, resolved so that it only looks up uids and copies words.
 */
#ifndef KILN_RUNTIME_ENGINE_PLAN_H
#define KILN_RUNTIME_ENGINE_PLAN_H

#include "runtime/engine/engine_state.h"

/* A tensor that the caller of execute supplies. */
struct kiln_plan_binding {
    int64_t uid;
    uint32_t alignment_bytes;   /* what its pointer must be a multiple of */
    uint32_t host_scalar_bytes; /* not 0: a host pointer to a value of so many bytes */
};

/* Argument of a kernel: a word of execute's and a number added to it. Word i < binding_count is
 * that of binding i, binding_count the workspace's address, binding_count + 1 zero. */
struct kiln_plan_argument {
    uint32_t word;
    uint64_t addend;
};

struct kiln_plan_kernel {
    struct kiln_device_function *function;
    const struct kiln_compiled_kernel *recipe; /* grid, block, argument count */
    struct kiln_plan_argument *arguments;
};

/* Extra work of execute. */
enum {
    KILN_PLAN_CHECKS_POINTERS = 1, /* until the first execution has */
    KILN_PLAN_MARKS_RANGES = 2,    /* KILN_ROCTX */
};

struct kiln_plan {
    atomic_uint references;
    atomic_uint extras; /* of KILN_PLAN_*; 0 from the second execution on, unless a profiler asks */
    struct kiln_engine *engine;         /* one reference: keeps device and modules alive */
    struct kiln_loaded_program *loaded; /* one reference */
    enum kiln_program_origin origin;
    uint64_t workspace_bytes; /* exact */
    uint32_t binding_count;
    uint32_t kernel_count;
    struct kiln_plan_binding *bindings; /* sorted by uid */
    struct kiln_plan_kernel *kernels;
    char *name; /* owned; of the graph, for people */
};

/* What a caller has to allocate so that `exact` bytes fit behind an aligned address: a multiple of
 * KILN_WORKSPACE_ALIGNMENT, 0 for 0. */
uint64_t kiln_workspace_padded_bytes(uint64_t exact);

#endif
