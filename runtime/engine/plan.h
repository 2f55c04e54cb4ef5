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

enum { KILN_MAX_GENERAL_PLANS = 24 };

struct kiln_plan {
    atomic_uint references;
    atomic_uint extras; /* of KILN_PLAN_*; 0 from the second execution on, unless a profiler asks */
    struct kiln_engine *engine;         /* one reference: keeps device and modules alive */
    struct kiln_loaded_program *loaded; /* one reference */
    enum kiln_program_origin origin;
    struct kiln_lower_options lower; /* what it was asked for with: `shapes` may be AUTO */
    uint64_t workspace_bytes;        /* exact */
    uint32_t binding_count;
    uint32_t kernel_count;
    struct kiln_plan_binding *bindings; /* sorted by uid */
    struct kiln_plan_kernel *kernels;
    char *name; /* owned; of the graph, for people */
    const struct kiln_engine_device *device;
    /* The plan of an override shape has none of the members below. */
    unsigned char *graph; /* owned; as the host gave it */
    size_t graph_bytes;
    struct kiln_plan_shapes *shapes; /* owned; NULL: the graph takes no override shapes */
    /* Kernels of a restored plan, one reference to each: they stay in memory for shapes to come. */
    struct kiln_shared_kernel **spares;
    uint32_t spare_count;
    /* Plans of general kernels (general_plans.h), one reference to each: their kernels stay in
     * memory, and loaded. */
    struct kiln_plan *general[KILN_MAX_GENERAL_PLANS];
    uint32_t general_count;
};

/* Makes a plan of a loaded program, whose reference it takes over, also when it fails. */
enum kiln_status kiln_plan_of_program(struct kiln_engine *engine, const struct kiln_graph *graph,
                                      const struct kiln_engine_device *device,
                                      const struct kiln_lower_options *lower,
                                      struct kiln_loaded_program *loaded,
                                      enum kiln_program_origin origin, struct kiln_plan **ret_plan,
                                      struct kiln_error *error) KILN_NODISCARD;
/* Gives the plan the bytes that its graph was read from, and what override shapes need. */
enum kiln_status kiln_plan_keep_graph(struct kiln_plan *plan, const struct kiln_graph *graph,
                                      const struct kiln_plan_knobs *knobs, const void *graph_bytes,
                                      size_t size, struct kiln_error *error) KILN_NODISCARD;
/* Makes a plan of the graph on a device, without the bytes of the graph, and reports it. */
enum kiln_status kiln_plan_make(struct kiln_engine *engine, const struct kiln_graph *graph,
                                const struct kiln_engine_device *device,
                                const struct kiln_lower_options *lower, struct kiln_plan **ret_plan,
                                struct kiln_error *error) KILN_NODISCARD;

/* The same if memory and caches have all kernels; otherwise KILN_UNSUPPORTED. Compiles nothing. */
enum kiln_status kiln_plan_find(struct kiln_engine *engine, const struct kiln_graph *graph,
                                const struct kiln_engine_device *device,
                                const struct kiln_lower_options *lower, struct kiln_plan **ret_plan,
                                struct kiln_error *error) KILN_NODISCARD;

/* What a caller has to allocate so that `exact` bytes fit behind an aligned address: a multiple of
 * KILN_WORKSPACE_ALIGNMENT, 0 for 0. */
uint64_t kiln_workspace_padded_bytes(uint64_t exact);

#endif
