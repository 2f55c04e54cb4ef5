/*
 * The model: a kernel that keeps only part of the target busy moves bytes that much slower. Cutting
 * rows costs two more launches, and the elements are read once more by whatever needs the result.
 */
#include "compiler/fuse/segments.h"

#include "compiler/fuse/layout_tensor.h"
#include "compiler/fuse/target_rates.h"

enum {
    MAX_ROW_ITEMS = 1024, /* work-items of a group that share a row */
    SEGMENT_ITEMS = 256,  /* the same of a segment, of which there can be many */
    ELEMENTS_PER_ROW_ITEM = 8,
    COLUMN_BYTES = 128, /* neighbouring rows' bytes that a group walks down together */
    COLUMN_ITEMS = 256,
    VECTOR_BYTES = 16,
    MIN_SEGMENT_ELEMENTS = 2048, /* of a row */
    MIN_SEGMENT_STEPS = 16,      /* of a column, for each of the work-items that share it */
    MAX_SEGMENTS = 1024,
    GROUPS_WANTED = 2,  /* times what fills the target, so that the last ones do not run alone */
    PRODUCT_TILE = 128, /* rows and columns of a product that a work-group makes, about */
    /* At least as long as any tile, so that every segment has one; and long enough for its loads to
     * be worth the start. */
    MIN_SEGMENT_K = 512,
    /* Widths of layers are mostly below this, batches of tokens that a gradient sums over are not.
     */
    MIN_SPLIT_K = 16384,
    /* Of a gradient of many weights, of which every tap reads all pixels. */
    MIN_SPLIT_PIXELS = 6144,
    MANY_WEIGHTS = 131072,
    MAX_PRODUCT_SEGMENTS = 64,
    /* Where work-items compute elements themselves: of a work-group, k of each segment at least. */
    DIRECT_ELEMENTS = 2048,
    MIN_DIRECT_K = 48,
    MAX_DIRECT_SEGMENTS = 512,
    /* As many chiplets get the same segments in turn, and have the operands of each in their
     * cache. */
    SEGMENT_MULTIPLE = 8,
};

static bool is_cpu(const struct kiln_target *target)
{
    return target->wave_size == 1;
}

/* Whether the axis that the operand's elements are neighbours along is a reduced one. */
static bool is_inner_axis_reduced(struct kiln_group_builder *builder, uint32_t operand,
                                  uint32_t axes, uint32_t *ret_element_bytes)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_domain *domain = &ir->domains[ir->ops[operand].domain];
    uint32_t inner = domain->rank - 1;
    uint32_t layout = kiln_layout_tensor(builder, operand);
    *ret_element_bytes = 4;
    if (layout != KILN_NONE) {
        const struct kiln_tensor *tensor = &builder->graph->tensors[layout];
        *ret_element_bytes = kiln_dtype_info(tensor->dtype)->bytes;
        int64_t smallest = INT64_MAX;
        for (uint32_t i = 0; i < domain->rank && i < tensor->rank; i++) {
            int64_t stride = tensor->strides[tensor->rank - 1 - i];
            if (domain->dims[domain->rank - 1 - i] != 1 && stride > 0 && stride < smallest) {
                smallest = stride;
                inner = domain->rank - 1 - i;
            }
        }
    }
    return ((axes >> inner) & 1u) != 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint32_t kiln_segment_count(struct kiln_group_builder *builder, uint32_t operand, uint32_t axes)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_target *target = builder->target;
    const struct kiln_domain *domain = &ir->domains[ir->ops[operand].domain];
    uint64_t length = 1;
    for (uint32_t i = 0; i < domain->rank; i++)
        length *= (axes >> i) & 1u ? (uint64_t)domain->dims[i] : 1;
    uint64_t elements = (uint64_t)kiln_domain_elements(domain);
    uint64_t rows = elements / length;
    uint32_t element_bytes;
    bool is_row = is_inner_axis_reduced(builder, operand, axes, &element_bytes);
    uint64_t columns = COLUMN_BYTES / element_bytes; /* of one group */
    uint64_t items;                                  /* busy when rows are left whole */
    uint64_t segment_items;                          /* of all rows' segments of one number */
    uint64_t most;
    if (is_row) {
        uint64_t sharing = max_u64(1, min_u64(length / ELEMENTS_PER_ROW_ITEM, MAX_ROW_ITEMS));
        items = rows * (is_cpu(target) ? 1 : sharing);
        segment_items = rows * (is_cpu(target) ? 1 : SEGMENT_ITEMS);
        most = length / MIN_SEGMENT_ELEMENTS;
    } else {
        uint64_t groups = (rows + columns - 1) / columns;
        items = segment_items = groups * (is_cpu(target) ? 1 : COLUMN_ITEMS);
        uint64_t sharing = is_cpu(target) ? 1 : COLUMN_ITEMS / (COLUMN_BYTES / VECTOR_BYTES);
        most = length / (MIN_SEGMENT_STEPS * sharing);
    }
    uint64_t full = kiln_target_full_items(target);
    double bytes = (double)elements * element_bytes;
    if (items >= full || most < 2)
        return 1;
    double whole = bytes * (double)full / (double)items;
    double cut = 2 * bytes + 2 * (double)kiln_target_launch_bytes(target);
    if (whole <= cut)
        return 1;
    uint64_t wanted = (GROUPS_WANTED * full + segment_items - 1) / segment_items;
    return (uint32_t)max_u64(2, min_u64(min_u64(most, MAX_SEGMENTS), wanted));
}

/* How many columns of the right operand read each of its elements, about. */
static uint64_t count_taps(const struct kiln_contraction *axes)
{
    uint64_t taps = 1;
    for (uint32_t i = 0; i < axes->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &axes->axes[i];
        for (uint32_t w = 0; w < axes->window_count; w++)
            taps *= axis->role == KILN_AXIS_N && axis->right == axes->windows[w].axis
                        ? (uint64_t)axis->size
                        : 1;
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
                 kiln_dtype_info(dtype)->bytes *
                 (axes->is_right_windowed && i == 1 ? count_taps(axes) : 1);
    }
    return bytes;
}

/* Whether the walk that combines has an axis left for the segments. */
static bool has_free_axis(const struct kiln_domain *domain)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < domain->rank; i++)
        used += domain->dims[i] != 1;
    return used < KILN_MAX_RANK;
}

/* Of a depthwise gradient, which work-items do without tiles: as many as give each compute unit two
 * work-groups. */
static uint64_t count_depthwise_segments(const struct kiln_target *target, uint64_t taps,
                                         uint64_t channels, uint64_t k)
{
    uint64_t groups = (taps * channels + DIRECT_ELEMENTS - 1) / DIRECT_ELEMENTS;
    uint64_t segments = (2 * (uint64_t)target->compute_units + groups - 1) / groups;
    segments = min_u64(segments, min_u64(k / MIN_DIRECT_K, MAX_DIRECT_SEGMENTS));
    return segments > SEGMENT_MULTIPLE ? segments - segments % SEGMENT_MULTIPLE : segments;
}

uint32_t kiln_contraction_segment_count(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[index];
    const struct kiln_contraction *axes = &ir->contractions[op->contraction];
    const struct kiln_domain *domain = &ir->domains[op->domain];
    uint64_t k = (uint64_t)kiln_contraction_size(axes, KILN_AXIS_K);
    uint64_t m = (uint64_t)kiln_contraction_size(axes, KILN_AXIS_M);
    uint64_t n = (uint64_t)kiln_contraction_size(axes, KILN_AXIS_N);
    uint32_t forced = builder->options->contraction.segments;
    if (!has_free_axis(domain) || forced == 1)
        return 1;
    if (forced != 0)
        return (uint32_t)min_u64(min_u64(forced, MAX_PRODUCT_SEGMENTS), k);
    if (kiln_contraction_is_depthwise_gradient(axes) && !builder->strategy->never_segment) {
        uint64_t segments = count_depthwise_segments(builder->target, m,
                                                     (uint64_t)kiln_domain_elements(domain) / m, k);
        builder->has_segments |= segments > 1;
        return segments > 1 ? (uint32_t)segments : 1;
    }
    bool has_many_weights = axes->is_right_windowed && m * n >= MANY_WEIGHTS;
    if (builder->strategy->never_segment || k < (has_many_weights ? MIN_SPLIT_PIXELS : MIN_SPLIT_K))
        return 1;
    uint64_t elements = (uint64_t)kiln_domain_elements(domain);
    uint64_t tiles = ((m + PRODUCT_TILE - 1) / PRODUCT_TILE) *
                     ((n + PRODUCT_TILE - 1) / PRODUCT_TILE) * (elements / (m * n));
    uint64_t segments = min_u64(builder->target->compute_units / tiles, MAX_PRODUCT_SEGMENTS);
    /* What goes through the workspace is written and read, and should be less than half of what the
     * kernel reads anyway. */
    uint64_t sums = 2 * elements * kiln_dtype_info(kiln_scalar_dtype(op->scalar))->bytes;
    segments = min_u64(segments, operand_bytes(builder, op) / 2 / sums);
    segments = min_u64(segments, k / MIN_SEGMENT_K);
    if (segments > SEGMENT_MULTIPLE)
        segments -= segments % SEGMENT_MULTIPLE;
    if (segments < 2)
        return 1;
    builder->has_segments = true;
    return (uint32_t)segments;
}
