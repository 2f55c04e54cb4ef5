/*
 * The model: a kernel that keeps only part of the target busy moves bytes that much slower. Cutting
 * rows costs two more launches, and the elements are read once more by whatever needs the result.
 */
#include "compiler/families/reduction/fuse/row_segments.h"

#include "compiler/fuse/layout_tensor.h"
#include "compiler/fuse/target_rates.h"
#include "compiler/schedule/integer_math.h"

enum {
    MAX_ROW_ITEMS = 1024, /* work-items of a group that share a row */
    SEGMENT_ITEMS = 256,  /* the same for a segment; a row can have many */
    ELEMENTS_PER_ROW_ITEM = 8,
    COLUMN_BYTES = 128, /* neighbouring rows' bytes that a group walks down together */
    COLUMN_ITEMS = 256,
    VECTOR_BYTES = 16,
    MIN_SEGMENT_ELEMENTS = 2048, /* of a row */
    MIN_SEGMENT_STEPS = 16,      /* of a column, for each of the work-items that share it */
    MAX_SEGMENTS = 1024,
    GROUPS_WANTED = 2, /* times what fills the target, so that the last ones do not run alone */
};

static bool is_cpu(const struct kiln_target *target)
{
    return target->wave_size == 1;
}

/* True if the axis that has the operand's neighbouring elements is reduced. */
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

uint32_t kiln_row_segment_count(struct kiln_group_builder *builder, uint32_t operand, uint32_t axes)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_target *target = builder->target;
    const struct kiln_domain *domain = &ir->domains[ir->ops[operand].domain];
    if (ir->is_general)
        return 1;
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
        uint64_t sharing =
            kiln_max_u64(1, kiln_min_u64(length / ELEMENTS_PER_ROW_ITEM, MAX_ROW_ITEMS));
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
    if (!is_row && !is_cpu(target)) /* larger work-groups, and fewer segments to combine */
        wanted = kiln_min_u64(wanted, target->compute_units);
    return (uint32_t)kiln_max_u64(2, kiln_min_u64(kiln_min_u64(most, MAX_SEGMENTS), wanted));
}
