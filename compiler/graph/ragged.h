/*
 * Ragged tensors: batches of different lengths, one after the other in memory.
 *
 * A ragged tensor has the dims [batch, heads, sequence, depth] and lies token by token. Its offsets
 * say where each batch begins, in units of `multiplier` elements, and where the last one ends. A
 * batch has as many tokens as fit between its offset and the next one.
 *
 * Offsets are untrusted data. kiln_ragged_span cuts them to the memory that valid ones can
 * describe, and kernels_templates/device/attention/spans.h does the same. So every element lies
 * between the first one and the last offset.
 */
#ifndef KILN_COMPILER_GRAPH_RAGGED_H
#define KILN_COMPILER_GRAPH_RAGGED_H

#include "compiler/graph/graph.h"

/* Axes of a ragged tensor. */
enum { KILN_RAGGED_BATCH = 0, KILN_RAGGED_SEQUENCE = 2, KILN_RAGGED_RANK = 4 };

/* The elements of a batch: `length` tokens from element `base` on. */
struct kiln_span {
    int64_t base;
    int64_t length;
};

static inline int64_t kiln_cut_offset(int64_t offset, int64_t least, int64_t most)
{
    return offset < least ? least : offset > most ? most : offset;
}

/* The largest offset that counts: behind as many tokens as all batches have at most. */
static inline int64_t kiln_ragged_last_offset(const struct kiln_tensor *tensor)
{
    const struct kiln_ragged *ragged = &tensor->ragged;
    return tensor->dims[KILN_RAGGED_BATCH] * ragged->longest * ragged->token / ragged->multiplier;
}

/* Where a batch lies, by its offset, the next one, and the last one of all. */
static inline struct kiln_span kiln_ragged_span(const struct kiln_tensor *tensor, int64_t first,
                                                int64_t next, int64_t last)
{
    const struct kiln_ragged *ragged = &tensor->ragged;
    last = kiln_cut_offset(last, 0, kiln_ragged_last_offset(tensor));
    first = kiln_cut_offset(first, 0, last);
    next = kiln_cut_offset(next, first, last);
    int64_t tokens = (next - first) * ragged->multiplier / ragged->token;
    return (struct kiln_span){
        .base = first * ragged->multiplier,
        .length = tokens < ragged->longest ? tokens : ragged->longest,
    };
}

/* The role of the offsets of an operand; KILN_OPERAND_COUNT where the operand may not be ragged. */
static inline enum kiln_operand kiln_ragged_offsets_role(enum kiln_operand operand)
{
    switch (operand) {
    case KILN_OPERAND_Q:
        return KILN_OPERAND_Q_OFFSETS;
    case KILN_OPERAND_K:
        return KILN_OPERAND_K_OFFSETS;
    case KILN_OPERAND_V:
        return KILN_OPERAND_V_OFFSETS;
    case KILN_OPERAND_O:
        return KILN_OPERAND_O_OFFSETS;
    case KILN_OPERAND_STATS:
        return KILN_OPERAND_STATS_OFFSETS;
    case KILN_OPERAND_MAX:
        return KILN_OPERAND_MAX_OFFSETS;
    case KILN_OPERAND_SUM_EXP:
        return KILN_OPERAND_SUM_EXP_OFFSETS;
    default:
        return KILN_OPERAND_COUNT;
    }
}

static inline bool kiln_is_offsets_role(enum kiln_operand role)
{
    return role >= KILN_OPERAND_Q_OFFSETS && role <= KILN_OPERAND_SUM_EXP_OFFSETS;
}

#endif
