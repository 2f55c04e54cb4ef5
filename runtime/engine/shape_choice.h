/*
 * The choice of the form of a graph's kernels, where nothing forces one: sizes in their texts for
 * the first shapes of a computation, sizes as arguments from then on.
 *
 * A computation is a graph without its sizes and strides, on a target. The table counts the shapes
 * of each, and remembers the choice for each shape, so that the question for the workspace and the
 * plan get the same. It is bounded: of those that share a place, the one that was used least
 * recently leaves. Thread-safe.
 */
#ifndef KILN_RUNTIME_ENGINE_SHAPE_CHOICE_H
#define KILN_RUNTIME_ENGINE_SHAPE_CHOICE_H

#include "compiler/lower_options.h"
#include "runtime/support/error.h"
#include "runtime/support/hash.h"
#include "runtime/support/process_mutex.h"

enum {
    /* Shapes of a computation whose kernels have constant sizes. */
    KILN_CONSTANT_SHAPES = 2,
    KILN_CHOICE_WAYS = 8, /* slots of a place */
    KILN_CHOICE_COMPUTATION_PLACES = 64,
    KILN_CHOICE_SHAPE_PLACES = 512,
};

enum kiln_shape_reason {
    KILN_SHAPE_FORCED,    /* by options */
    KILN_SHAPE_FIRST,     /* among the first KILN_CONSTANT_SHAPES of its computation */
    KILN_SHAPE_LATER,     /* after them */
    KILN_SHAPE_CACHED,    /* a cache has the program in this form */
    KILN_SHAPE_OVERRIDES, /* the graph takes override shapes */
    KILN_SHAPE_KERNELS, /* one of the first, but caches have kernels that take sizes as arguments */
};
/* "first shape", for people. Static. */
const char *kiln_shape_reason_text(enum kiln_shape_reason reason);

struct kiln_shape_choice {
    enum kiln_shapes shapes; /* never KILN_SHAPES_AUTO */
    enum kiln_shape_reason reason;
};

struct kiln_choice_slot {
    struct kiln_hash128 hash;
    uint64_t used;                   /* when, as the table's clock counts; 0: the slot is free */
    uint32_t count;                  /* of a computation: its shapes so far */
    struct kiln_shape_choice choice; /* of a shape */
};

struct kiln_choice_table {
    struct kiln_process_mutex lock;
    uint64_t clock;
    struct kiln_choice_slot computations[KILN_CHOICE_COMPUTATION_PLACES][KILN_CHOICE_WAYS];
    struct kiln_choice_slot shapes[KILN_CHOICE_SHAPE_PLACES][KILN_CHOICE_WAYS];
};

/* NULL: no memory. */
struct kiln_choice_table *kiln_choice_table_create(void) KILN_NODISCARD;
/* NULL does nothing. No other thread may use the table any more. */
void kiln_choice_table_destroy(struct kiln_choice_table *table);

/* True if the choice for a shape is known. */
bool kiln_choice_table_find(struct kiln_choice_table *table, struct kiln_hash128 shape,
                            struct kiln_shape_choice *ret_choice);
/* True if the next shape of the computation is among the first. */
bool kiln_choice_table_is_early(struct kiln_choice_table *table, struct kiln_hash128 computation);
/* The choice for a shape, made now unless another thread has made it in between. `found`: what the
 * caches have, with its reason; NULL: nothing, so that the count decides. */
struct kiln_shape_choice kiln_choice_table_settle(struct kiln_choice_table *table,
                                                  struct kiln_hash128 computation,
                                                  struct kiln_hash128 shape,
                                                  const struct kiln_shape_choice *found);

#endif
