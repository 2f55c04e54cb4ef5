/*
 * Accumulators: the rows of accumulator.def, and which one a REDUCE needs.
 */
#ifndef KILN_COMPILER_FUSE_ACCUMULATOR_H
#define KILN_COMPILER_FUSE_ACCUMULATOR_H

#include "compiler/ir/ir.h"

enum kiln_accumulator_kind {
#define KILN_ACCUMULATOR(name, components, operation, identity, order, cost)                       \
    KILN_ACCUMULATOR_##name,
#include "compiler/fuse/accumulator.def"
    KILN_ACCUMULATOR_COUNT
};

enum kiln_accumulator_identity {
    KILN_IDENTITY_ZERO,
    KILN_IDENTITY_ONE,
    KILN_IDENTITY_HIGHEST,
    KILN_IDENTITY_LOWEST,
};

enum kiln_accumulator_order {
    KILN_ORDER_NEVER,
    KILN_ORDER_ZEROS,
    KILN_ORDER_ALWAYS,
};

/* The most components that one has. */
enum { KILN_ACCUMULATOR_MAX_COMPONENTS = 3 };

struct kiln_accumulator_info {
    uint32_t components;
    const char *operation;
    enum kiln_accumulator_identity identity;
    enum kiln_accumulator_order order;
    uint32_t cost;
};

/* Static. */
const struct kiln_accumulator_info *kiln_accumulator_info(enum kiln_accumulator_kind kind);

/* The accumulator that a REDUCE operation needs; of any other operation that is done once, a sum.
 */
enum kiln_accumulator_kind kiln_accumulator_of(enum kiln_opcode opcode);

#endif
