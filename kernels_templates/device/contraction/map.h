/*
 * The access map: says where the element of an operand, or of the result, lies for a point of the kernel. The kernel's facts have
 * one for each access. They are constants, so all that is computed of them folds into constants and arguments.
 */
#ifndef KILN_DEVICE_CONTRACTION_MAP_H
#define KILN_DEVICE_CONTRACTION_MAP_H

struct kiln_arguments;

/* A size or a stride: a constant, or an argument of the kernel. */
struct kiln_number {
    long long value;
    long long kiln_arguments::*argument; /* null: the value */
};
#define KILN_CONSTANT(value) {value, nullptr}
#define KILN_ARGUMENT(name)  {0, &kiln_arguments::name}

/* use(0), use(1), ... `count` times, and the other way round; `count` is a macro of a number. A loop would not do: if its index chooses
 * an argument, LLVM unrolls it first and takes arguments apart last. Such loops made the loops over k of convolutions up to 11 % longer. */
#define KILN_UP(count, use)         KILN_PASTE_UP(count, use)
#define KILN_DOWN(count, use)       KILN_PASTE_DOWN(count, use)
#define KILN_PASTE_UP(count, use)   KILN_UP_##count(use)
#define KILN_PASTE_DOWN(count, use) KILN_DOWN_##count(use)
#define KILN_UP_0(use)
#define KILN_UP_1(use)   use(0)
#define KILN_UP_2(use)   use(0) use(1)
#define KILN_UP_3(use)   use(0) use(1) use(2)
#define KILN_UP_4(use)   use(0) use(1) use(2) use(3)
#define KILN_UP_5(use)   use(0) use(1) use(2) use(3) use(4)
#define KILN_UP_6(use)   use(0) use(1) use(2) use(3) use(4) use(5)
#define KILN_DOWN_0(use)
#define KILN_DOWN_1(use) use(0)
#define KILN_DOWN_2(use) use(1) use(0)
#define KILN_DOWN_3(use) use(2) use(1) use(0)
#define KILN_DOWN_4(use) use(3) use(2) use(1) use(0)
#define KILN_DOWN_5(use) use(4) use(3) use(2) use(1) use(0)
#define KILN_DOWN_6(use) use(5) use(4) use(3) use(2) use(1) use(0)

/* An axis of batches: `repeat` neighbouring indices share an element. */
struct kiln_map_axis {
    kiln_number stride;
    kiln_number repeat;
};

#ifdef KILN_SPANS
/* Where a batch of a ragged operand lies: device/attention/spans.h. */
struct kiln_span {
    long long base;  /* of its first element */
    unsigned length; /* in tokens */
};
#endif

/* A batch of the kernel, and what depends on it. */
struct kiln_batch {
#if KILN_BATCH_RANK > 0
    unsigned c[KILN_BATCH_RANK]; /* its index on each axis */
#endif
#if KILN_HAS_SEGMENTS
    unsigned segment; /* of k; in attention, of the scores' columns */
#endif
#ifdef KILN_HAS_OUTER
    unsigned outer; /* attention: its index among those that are added up */
#endif
#ifdef KILN_PHASES
    kiln_phase phases[KILN_PHASES]; /* device/contraction/divide.h */
    long long tap_divisors[KILN_PHASES];
#endif
#ifdef KILN_SPANS
    kiln_span spans[KILN_SPANS];
#endif
};

struct kiln_map {
    kiln_number row;    /* the stride along m or n, for the result along m */
    kiln_number column; /* the stride along k, for the result along n */
    bool is_vector;     /* loads and stores take several neighbours at once */
#if KILN_BATCH_RANK > 0
    kiln_map_axis batches[KILN_BATCH_RANK];
#endif
#ifdef KILN_PHASES
    kiln_number phases[KILN_PHASES]; /* along a window's coordinate, or along the taps of k */
#endif
#ifdef KILN_SPANS
    unsigned span; /* 1 + the number of the span that batches begin in; 0: none */
#endif
};

/* An access of the result, or of its rows. */
struct kiln_result_access {
    kiln_map map;
    kiln_number segment_stride = KILN_CONSTANT(0); /* from what a segment has accumulated to the next one's */
    bool is_of_row = false;                        /* stored once for all columns of a row */
#ifdef KILN_INDEX_RANK /* device/contraction/axes.h */
#define KILN_HAS_SPLIT_ROWS 1
    bool splits_rows = false;               /* its strides are along the axes of m, not map.row */
    kiln_number rows[KILN_INDEX_RANK] = {};
#endif
};

#ifdef KILN_PHASES
/* Rows of a window with a divisor, which an axis of batches sorts by phase: kiln_find_phase. */
struct kiln_phase_axis {
    unsigned batch, row_axis;
    kiln_number offset, step, divisor, taps, spread, rows;
};
#endif

KILN_CONSTEXPR bool kiln_is_zero(const kiln_number &number)
{
    return number.argument == nullptr && number.value == 0;
}

#endif
