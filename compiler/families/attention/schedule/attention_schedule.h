/* Schedules of attention. */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_SCHEDULE_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_SCHEDULE_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

#include <assert.h>

/* Limits on the columns of scores that a row sees. All limits apply. */
enum kiln_limit_kind {
    KILN_LIMIT_LAST,    /* column <= row + offset + value */
    KILN_LIMIT_FIRST,   /* column >= row + offset + value */
    KILN_LIMIT_COLUMNS, /* column < value */
    KILN_LIMIT_ROWS,    /* row < value: other rows see none */
};

/* `value` is an integer of the batch: made of loaded lengths and constants by ADD, SUB, MIN and
 * MAX. */
struct kiln_score_limit {
    enum kiln_limit_kind kind;
    int64_t offset;
    uint32_t value;     /* the length, or what is added to the offset; KILN_NONE: nothing */
    bool is_subtracted; /* from the offset instead */
};

enum { KILN_MAX_LIMITS = 8 };

struct kiln_score_limits {
    /* The condition of all limits, in the scores' domain: what it hides weighs nothing. KILN_NONE
     * where there is none. */
    uint32_t visible;
    uint32_t count;
    struct kiln_score_limit limits[KILN_MAX_LIMITS];
};

enum { KILN_MAX_SPANS = 7 };

/* Where the batches of ragged operands lie: an item for each ragged tensor. */
struct kiln_attention_spans {
    uint32_t count;
    uint32_t tensors[KILN_MAX_SPANS];
    uint32_t lengths[KILN_MAX_SPANS]; /* the access that loads its lengths, of scores */
    uint32_t of_rows, of_columns;     /* sets: whose tokens are rows of the scores, or columns */
    uint32_t of_stores;               /* results among those of rows */
    bool stores_all_rows;             /* some result is not ragged */
};

/* The axis of the scores that the kernel's rows lie along. */
enum kiln_score_rows {
    KILN_SCORE_ROWS,            /* the one before the last */
    KILN_SCORE_ROWS_TRANSPOSED, /* the last */
    /* A single query: rows are heads that share keys and values, and batches are groups of heads.
     */
    KILN_SCORE_ROWS_HEADS,
};

/* The softmax that makes weights out of scores. */
enum kiln_attention_softmax {
    KILN_SOFTMAX_NONE,   /* computed of the scores alone */
    KILN_SOFTMAX_ONLINE, /* exponentials of scores minus their row's maximum */
    /* The same, and an output shows that maximum: it is NaN in rows with a NaN. */
    KILN_SOFTMAX_SHOWN,
};

/* An operand that the first product does not have. */
struct kiln_extra_operand {
    struct kiln_operand_schedule loads;
    int64_t repeats[KILN_MAX_BATCH_AXES];
    /* For a value that is also a right operand: 1 + the number of that operand; otherwise 0. A core
     * that reads tiles both ways stages both as one tile. */
    uint32_t shares;
    /* A value's tile has keys as rows, by way of registers, and the core transposes it. */
    bool is_transposed;
};

/* Tile sizes that the first product does not have, and the choices for computing a tile. */
struct kiln_attention_tile {
    uint32_t d; /* columns of the result: elements, at least those that it has */
    /* Waves that share the same rows: each makes all of their scores, and has its part of the
     * result's columns. The work-group has products.tile.waves_m times as many. */
    uint32_t waves_d;
    /* Rows of an instruction's sums are finished in so many parts, for want of local memory. */
    uint32_t row_parts;
    bool is_left_kept;         /* fragments of the left operand wait in registers */
    bool reads_scores_ahead;   /* fragments of the next step are read before this one's products */
    bool are_score_loads_late; /* after the first products: fewer registers */
    bool are_tiles_late;       /* loaded where they are stored: fewer registers */
    /* Vector registers of a lane, counted (attention_registers.h). */
    uint32_t registers;
};

/*
 * Attention: the schedule of its first product, and the fields that the second product adds. In the
 * first product m counts rows of scores, n columns, and all of k is one tile. The k of the second
 * product is n. A work-group has products.tile.m rows, and advances along n by products.tile.n
 * columns. If there are two first or two second products, the fields of the other one are named
 * <name>_1. Its scores or its result have the same shape.
 */
struct kiln_attention_schedule {
    struct kiln_contraction_schedule products;
    /* Number of first and of second products: 1 or 2 each. A fold has no values: its result sums a
     * function of the scores, and its tile has columns of the result as well as rows. */
    uint32_t score_count, value_count;
    struct kiln_extra_operand value, value_1, left_1, right_1;
    bool is_folded[KILN_MAX_BATCH_AXES]; /* batches that a fold sums: batches.outer in all */
    int64_t k_1;                         /* k of the other first product */
    int64_t d;                           /* columns of the result; a tile has all of them */
    int64_t most_k, most_d;              /* of all that the kernel serves: what its tiles have */
    uint32_t segments;                   /* of columns, laid out as a batch axis; 1: not cut */
    enum kiln_score_rows rows;
    enum kiln_attention_softmax softmax;
    struct kiln_score_limits mask;
    struct kiln_attention_spans spans;
    uint32_t score_loads; /* numbers that are loaded for each score */
    struct kiln_attention_tile tile;
};

/* The schedule of a kernel of this family; kiln_attention_schedule_in while it is being made. */
static inline const struct kiln_attention_schedule *
kiln_attention_schedule_of(const struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_ATTENTION);
    return schedule->details;
}

static inline struct kiln_attention_schedule *
kiln_attention_schedule_in(struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_ATTENTION);
    return schedule->details;
}

#endif
