/*
 * Plans for override shapes: the executions of a plan with other shapes than the declared ones.
 *
 * Each shape that has been executed is a plan of its own, for the graph as it is with these sizes.
 * A bounded table finds it by the arrays of the call. A known shape thus costs a hash and a
 * comparison, and takes no lock; a new one is checked, lowered, and compiled if no cache has its
 * kernels.
 */
#ifndef KILN_RUNTIME_ENGINE_PLAN_SHAPES_H
#define KILN_RUNTIME_ENGINE_PLAN_SHAPES_H

#include "compiler/graph/override_shapes.h"
#include "runtime/engine/engine_devices.h"
#include "runtime/engine/plan.h"
#include "runtime/support/process_mutex.h"

#include <stdatomic.h>

enum {
    KILN_PLAN_SHAPE_PLACES = 64,
    KILN_PLAN_SHAPE_WAYS = 8, /* shapes of a place; the least recently used one leaves */
};

struct kiln_plan_shape {
    uint64_t hash;
    atomic_uint_fast64_t used;    /* when, as the table's clock counts */
    struct kiln_plan *plan;       /* one reference */
    struct kiln_plan_shape *next; /* of the retired ones */
    size_t word_count;
    uint64_t words[]; /* of the arrays: uid, rank, sizes and strides of each shape */
};

struct kiln_plan_shapes {
    atomic_uint_fast64_t clock;
    /* Threads that look at shapes. While there is one, no shape is freed. */
    atomic_uint readers;
    _Atomic(struct kiln_plan_shape *) places[KILN_PLAN_SHAPE_PLACES][KILN_PLAN_SHAPE_WAYS];
    struct kiln_process_mutex lock;  /* of changes, and of the list */
    struct kiln_plan_shape *retired; /* no longer in the table, not freed yet */
};

/* NULL: no memory. */
struct kiln_plan_shapes *kiln_plan_shapes_create(void) KILN_NODISCARD;
/* NULL does nothing. No other thread may use the table any more. */
void kiln_plan_shapes_destroy(struct kiln_plan_shapes *shapes);

/* Visits the plans of all shapes that are known. */
void kiln_plan_shapes_visit(struct kiln_plan_shapes *shapes,
                            void (*visit)(const struct kiln_plan *plan, void *context),
                            void *context);

#endif
