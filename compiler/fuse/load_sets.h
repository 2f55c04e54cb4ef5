/*
 * From which loads of its own size each value is computed: what a kernel has to read to evaluate
 * it. Kept up to date while values are placed and cut, so that no question walks over the program.
 * Internal to the partitioner.
 *
 * A load is a LOAD or a value that is cut. The way from a value to its loads ends at core
 * operations, which are never done again, and at what is read from memory.
 */
#ifndef KILN_COMPILER_FUSE_LOAD_SETS_H
#define KILN_COMPILER_FUSE_LOAD_SETS_H

#include "compiler/fuse/value_queue.h"
#include "compiler/ir/ir.h"
#include "runtime/support/arena.h"

/* Loads, ascending. */
struct kiln_load_set {
    const uint32_t *loads;
    uint32_t count;
};

/* A REDUCE whose operand is computed from a load. */
struct kiln_load_reader {
    uint32_t op;
    uint32_t generation; /* void when the operation has another one by now */
    uint32_t next;       /* the next reader of the same load, or KILN_NONE */
};

struct kiln_load_sets {
    /* These belong to the partitioning. `steps` counts its work. */
    const struct kiln_ir *ir;
    struct kiln_arena *arena;
    bool *cut;
    const bool *reads_memory;
    uint64_t *steps;
    /* Per value: the number of its set. Equal numbers, equal sets. */
    uint32_t *set_of;
    struct {
        uint32_t first; /* index into members */
        uint32_t count;
    } *sets;
    uint32_t set_count;
    uint32_t set_capacity;
    uint32_t *members;
    uint32_t member_count;
    uint32_t member_capacity;
    uint32_t placed; /* values below this one have their set */
    uint32_t *users; /* of each value, one after the other */
    uint32_t *first_user;
    struct kiln_load_reader *readers;
    uint32_t reader_count;
    uint32_t reader_capacity;
    uint32_t *first_reader; /* per load, or KILN_NONE */
    uint32_t *generation;   /* per operation; 0: not added */
    struct kiln_value_queue changed;
};

/* Allocates what the program needs; false when memory is out. The first members are set, the others
 * are zero. */
bool kiln_load_sets_init(struct kiln_load_sets *sets);

/* Forgets all values. */
void kiln_load_sets_reset(struct kiln_load_sets *sets);

/* Finds the loads of a value; all values are placed in their order, after cut[] and reads_memory[]
 * are set. False when memory is out. */
bool kiln_load_sets_place(struct kiln_load_sets *sets, uint32_t value);

/* Cuts a value that is placed. False when memory is out. */
bool kiln_load_sets_cut(struct kiln_load_sets *sets, uint32_t value);

/* From now on the operation is among the readers of its operand's loads. False when memory is out.
 */
bool kiln_load_sets_add_reader(struct kiln_load_sets *sets, uint32_t op);

/* The loads of a value. Those that are too many for a kernel are not known: NULL, and a count of
 * UINT32_MAX. */
struct kiln_load_set kiln_load_set_of(const struct kiln_load_sets *sets, uint32_t value);

/* True if a reader stands for itself still. */
bool kiln_load_reader_is_valid(const struct kiln_load_sets *sets,
                               const struct kiln_load_reader *reader);

#endif
