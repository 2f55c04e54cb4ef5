#include "compiler/families/contraction/fuse/k_segments.h"

#include "compiler/families/contraction/fuse/contraction_grouping.h"
#include "compiler/fuse/layout_tensor.h"
#include "compiler/schedule/integer_math.h"

enum {
    /* At least as long as any tile, so that every segment has one; and long enough for its loads to
     * be worth the start. */
    MIN_SEGMENT_K = 512,
    /* The shortest k that is cut. Widths of layers are mostly below this. Batches of tokens that a
     * gradient sums over are not. */
    MIN_SPLIT_K = 16384,
    /* The shortest k that is cut in a gradient of MANY_WEIGHTS weights or more. Every tap of it
     * reads all pixels. */
    MIN_SPLIT_PIXELS = 6144,
    MANY_WEIGHTS = 131072,
    MAX_SEGMENTS = 64,
    SHORT_TILE = 64,
    MAX_SHORT_SEGMENTS = 512,
    PACK = 8, /* elements of two bytes */
    /* Where work-items compute elements themselves: of a work-group, k of each segment at least. */
    DIRECT_ELEMENTS = 2048,
    MIN_DIRECT_K = 48,
    MAX_DIRECT_SEGMENTS = 512,
    /* As many chiplets get the same segments in turn, and have the operands of each in their
     * cache. */
    SEGMENT_MULTIPLE = 8,
};

/* Approximate number of the right operand's columns that read each of its elements. */
static uint64_t count_taps(const struct kiln_contraction *axes)
{
    const struct kiln_map *right = &axes->maps[KILN_CONTRACT_RIGHT];
    uint64_t taps = 1;
    for (uint32_t i = 0; i < axes->axis_count; i++) {
        bool is_tap = axes->roles[i] == KILN_AXIS_N &&
                      kiln_map_window_over(right, right->axes[i].along) != NULL;
        taps *= is_tap ? (uint64_t)axes->sizes[i] : 1;
    }
    return taps;
}

/* Bytes of both operands of a product, each element once, or for every tap of a window that reads
 * it. */
static uint64_t operand_bytes(struct kiln_group_builder *builder, const struct kiln_op *op)
{
    const struct kiln_contraction *axes = &builder->ir->contractions[op->contraction];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const struct kiln_op *operand = &builder->ir->ops[op->operands[i]];
        uint32_t layout = kiln_layout_tensor(builder, op->operands[i]);
        enum kiln_dtype dtype = layout == KILN_NONE ? kiln_scalar_dtype(operand->scalar)
                                                    : builder->graph->tensors[layout].dtype;
        bytes += (uint64_t)kiln_domain_elements(&builder->ir->domains[operand->domain]) *
                 kiln_dtype_info(dtype)->bytes * (i == 1 ? count_taps(axes) : 1);
    }
    return bytes;
}

/* Weights of few filters have tiles so small that a compute unit has two: one finds elements along
 * windows while the other multiplies. Measured on an H100, this gains nothing where channels are
 * whole packs, since its copies find them. */
static bool has_two_groups_per_unit(const struct kiln_target *target,
                                    const struct kiln_contraction *axes, uint64_t m, uint64_t n)
{
    uint64_t taps = count_taps(axes);
    return m <= SHORT_TILE && taps > 1 &&
           (target->kind != KILN_TARGET_CUDA || n / taps % PACK != 0);
}

/* True if the kernel that combines the segments has an axis left for them. */
static bool has_free_axis(const struct kiln_domain *domain)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < domain->rank; i++)
        used += domain->dims[i] != 1;
    return used < KILN_MAX_RANK;
}

/* Segments of a depthwise gradient, which has no tiles: enough for two work-groups on each compute
 * unit, if k is long enough. */
static uint64_t count_depthwise_segments(const struct kiln_target *target, uint64_t taps,
                                         uint64_t channels, uint64_t k)
{
    uint64_t groups = (taps * channels + DIRECT_ELEMENTS - 1) / DIRECT_ELEMENTS;
    uint64_t segments = (2 * (uint64_t)target->compute_units + groups - 1) / groups;
    segments = kiln_min_u64(segments, kiln_min_u64(k / MIN_DIRECT_K, MAX_DIRECT_SEGMENTS));
    return segments > SEGMENT_MULTIPLE ? segments - segments % SEGMENT_MULTIPLE : segments;
}

uint32_t kiln_k_segment_count(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[index];
    const struct kiln_contraction *axes = &ir->contractions[op->contraction];
    const struct kiln_domain *domain = &ir->domains[op->domain];
    uint64_t k = (uint64_t)kiln_contraction_size(axes, KILN_AXIS_K);
    uint64_t m = (uint64_t)kiln_contraction_size(axes, KILN_AXIS_M);
    uint64_t n = (uint64_t)kiln_contraction_size(axes, KILN_AXIS_N);
    uint32_t forced = builder->options->contraction.segments;
    if (axes->routing != KILN_ROUTING_NONE) /* tiles of groups are many */
        return 1;
    if (!has_free_axis(domain) || forced == 1)
        return 1;
    if (forced != 0)
        return (uint32_t)kiln_min_u64(kiln_min_u64(forced, MAX_SEGMENTS), k);
    bool may_segment = (builder->strategy->choices & KILN_CHOICE_NO_SEGMENTS) == 0;
    if (kiln_contraction_is_depthwise_gradient(axes) && may_segment) {
        uint64_t segments = count_depthwise_segments(builder->target, m,
                                                     (uint64_t)kiln_domain_elements(domain) / m, k);
        if (segments > 1)
            builder->choices |= KILN_CHOICE_NO_SEGMENTS;
        return segments > 1 ? (uint32_t)segments : 1;
    }
    bool has_many_weights = axes->image == KILN_CONTRACT_RIGHT && m * n >= MANY_WEIGHTS;
    if (!may_segment || k < (has_many_weights ? MIN_SPLIT_PIXELS : MIN_SPLIT_K))
        return 1;
    uint64_t elements = (uint64_t)kiln_domain_elements(domain);
    uint64_t tiles = ((m + KILN_USUAL_TILE - 1) / KILN_USUAL_TILE) *
                     ((n + KILN_USUAL_TILE - 1) / KILN_USUAL_TILE) * (elements / (m * n));
    bool has_two = has_two_groups_per_unit(builder->target, axes, m, n);
    uint64_t wanted = (has_two ? 2 : 1) * (uint64_t)builder->target->compute_units;
    uint64_t segments = kiln_min_u64(wanted / tiles, has_two ? MAX_SHORT_SEGMENTS : MAX_SEGMENTS);
    /* Sums are written to the workspace and read back. This should move at most half of the bytes
     * that the kernel reads anyway. */
    uint64_t sums = 2 * elements * kiln_dtype_info(kiln_scalar_dtype(op->scalar))->bytes;
    segments = kiln_min_u64(segments, operand_bytes(builder, op) / 2 / sums);
    segments = kiln_min_u64(segments, k / MIN_SEGMENT_K);
    if (segments > SEGMENT_MULTIPLE)
        segments -= segments % SEGMENT_MULTIPLE;
    if (segments < 2)
        return 1;
    builder->choices |= KILN_CHOICE_NO_SEGMENTS;
    return (uint32_t)segments;
}
