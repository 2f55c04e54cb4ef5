/*
 * What lets reduction.hip compile by itself: each of 500 rows of 4000 floats less its largest element, in the shape that the
 * emitter generates.
 */
#ifndef KILN_DEFAULT_REDUCTION_PRELUDE_H
#define KILN_DEFAULT_REDUCTION_PRELUDE_H

#define KILN_SYMBOL kiln_reduction_default
#ifndef KILN_WAVE_SIZE
#define KILN_WAVE_SIZE 64
#endif
#define KILN_BLOCK 256
#define KILN_HAS_TURNS 0
#define KILN_SIZES_ARE_ARGUMENTS 0
#define KILN_CHUNKS 500u
#define KILN_CHUNK(turn) (turn)
#define KILN_VECTOR 4
#define KILN_IS_COLUMNS 0
#define KILN_ITEMS_ALONG_REDUCED 256
#define KILN_ITEMS_ALONG_KEPT 1
#define KILN_KEPT 500u
#define KILN_STEPS 1000u
#define KILN_HAS_TAILS 0
#define KILN_ARE_SKEWED 0
#define KILN_IS_SEGMENTED 0
#define KILN_HAS_LOCAL_ROWS 0
#define KILN_ROW_SPACING 1
#define KILN_RESULTS_REPLACE_OPERANDS 0
#define KILN_CHECKS_FULL 0
#define KILN_SEGMENTS 1u
#define KILN_GROUPS_OF_ROW 1
#define KILN_SEGMENTS_TAKE_TURNS 1
#define KILN_SEGMENT_STEPS 256u
#define KILN_SEGMENT_TAILS 256u
#define KILN_STRIDE 256u
#define KILN_OVER_STRIDE(n) ((n) / KILN_STRIDE)
#define KILN_STEPS_PER_ITEM 4
#define KILN_STEPS_OF_LATER_PASS 4
#define KILN_IS_RESIDENT 1
#define KILN_RESIDENT_TAILS 0
#define KILN_HAS_CHAINS 0
#define KILN_CHAINS 1u
#define KILN_CHAIN_STEPS 4
#if KILN_WAVE_SIZE == 64
#define KILN_SHUFFLES 6
#else
#define KILN_SHUFFLES 5
#endif
#define KILN_FIRST_SHUFFLE 1
#define KILN_WAVES_PER_ROW (KILN_BLOCK / KILN_WAVE_SIZE)
#define KILN_PASSES(run) run(0) run(1)

#include "device/device.h"

#include "device/convert/f32.h"
#include "device/memory.h"

#include "device/accumulators.h"

typedef unsigned int kiln_index;

struct kiln_arguments {
    const kiln_storage_f32 *a0;
    kiln_storage_f32 *a1;
};

struct kiln_position {
    kiln_index column;
    kiln_index c0;
};

KILN_DEVICE void kiln_locate_row(const kiln_arguments &, kiln_index rest, kiln_index,
                                 kiln_position &position)
{
    position.c0 = rest;
}

KILN_DEVICE void kiln_locate_step(const kiln_arguments &, kiln_index rest, kiln_position &position)
{
    position.column = rest * KILN_VECTOR;
}

struct kiln_inputs {
    KILN_INPUT(kiln_storage_f32, x0, KILN_VECTOR);
};

struct kiln_row {
    float v1;
};

KILN_DEVICE void kiln_start_row(const kiln_arguments &, const kiln_position &, bool, kiln_row &row)
{
    row.v1 = 0;
}

KILN_ACCUMULATOR(max, f32, float)
union kiln_shared {
    struct {
        kiln_max_entries_f32<1, KILN_WAVES_PER_ROW> a0;
    } p0;
};

struct kiln_pass_0 {
    enum { has_accumulators = 1, is_first = 1, is_last = 0 };
    struct lanes {
        struct {
            float value[KILN_VECTOR];
        } a0;
    };
    struct merged {
        kiln_max_lanes_f32<1> a0;
    };
    KILN_DEVICE void start(lanes &lanes)
    {
        KILN_UNROLL
        for (int e = 0; e < KILN_VECTOR; e++)
            lanes.a0.value[e] = -__builtin_inff();
    }
    KILN_DEVICE void load(const kiln_arguments &arguments, const kiln_position &position,
                          kiln_inputs &inputs)
    {
        KILN_LOAD_INPUT(16, inputs.x0, arguments.a0 + (position.c0 * 4000u + position.column))
    }
    KILN_DEVICE void update(const kiln_arguments &, const kiln_position &, const kiln_row &,
                            const kiln_inputs &inputs, unsigned, lanes &lanes)
    {
        KILN_UNROLL
        for (int e = 0; e < KILN_VECTOR; e++)
            lanes.a0.value[e] = kiln_max_f32(lanes.a0.value[e], inputs.x0[e]);
    }
    KILN_DEVICE void fold(lanes &lanes, unsigned, merged &merged)
    {
        KILN_UNROLL
        for (int e = 0; e < 2; e++)
            lanes.a0.value[e] = kiln_max_f32(lanes.a0.value[e], lanes.a0.value[e + 2]);
        merged.a0.value[0] = kiln_max_f32(lanes.a0.value[0], lanes.a0.value[1]);
    }
    KILN_DEVICE void merge(const merged &second, merged &first)
    {
        kiln_merge<1>(second.a0, first.a0);
    }
    KILN_DEVICE void shuffle(unsigned mask, merged &first)
    {
        merged second;
        const bool is_second = (kiln_work_item() & mask) != 0;
        kiln_exchange<1, 1>(mask, is_second, first.a0, second.a0);
        merge(second, first);
    }
    KILN_DEVICE void put(const merged &merged, unsigned entry, kiln_shared &shared)
    {
        kiln_put(merged.a0, entry, shared.p0.a0);
    }
    KILN_DEVICE void get(const kiln_shared &shared, unsigned entry, merged &merged)
    {
        kiln_get(shared.p0.a0, entry, merged.a0);
    }
    KILN_DEVICE void finish(const kiln_arguments &, const kiln_position &, const merged &merged,
                            bool, kiln_row &row)
    {
        row.v1 = merged.a0.value[0];
    }
};

struct kiln_pass_1 {
    enum { has_accumulators = 0, is_first = 0, is_last = 1 };
    struct lanes {};
    struct merged {};
    KILN_DEVICE void start(lanes &) {}
    KILN_DEVICE void load(const kiln_arguments &, const kiln_position &, kiln_inputs &) {}
    KILN_DEVICE void update(const kiln_arguments &arguments, const kiln_position &position,
                            const kiln_row &row, const kiln_inputs &inputs, unsigned, lanes &)
    {
        kiln_storage_f32 y1[KILN_VECTOR];
        KILN_UNROLL
        for (int e = 0; e < KILN_VECTOR; e++)
            y1[e] = inputs.x0[e] - row.v1;
        KILN_STORE_VECTOR(16, arguments.a1 + (position.c0 * 4000u + position.column), y1)
    }
};

#endif
