#include "compiler/emit/emit_contraction.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/fuse/contraction_group.h"

#include <inttypes.h>

/* ---- arguments ---- */

static uint32_t stride_count(const struct kiln_emission *emission)
{
    return KILN_STRIDE_BATCH + kiln_contraction_of(emission)->batch_rank;
}

static bool is_argument(int64_t stride)
{
    return stride != 0 && stride != 1;
}

static bool has_segments(const struct kiln_emission *emission)
{
    return kiln_group_cuts_k(emission->group);
}

/* Of segments of k: how many, and their distance in the workspace; of statistics: the latter. */
static uint32_t segment_sizes(const struct kiln_emission *emission)
{
    return has_segments(emission) ? 2u : kiln_group_has_statistics(emission->group) ? 1u : 0u;
}

/* The distance of segments in the workspace: of all accumulators the same. */
static int64_t segment_stride(const struct kiln_fusion_group *group)
{
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (group->accesses[i].is_accumulator)
            return group->accesses[i].segment_stride;
    }
    return 0;
}

/* m, n, k, those of segments, sizes of the batch axes, repeats of both operands, strides. */
static uint32_t size_count(const struct kiln_emission *emission)
{
    return 3 + segment_sizes(emission) + 3 * kiln_contraction_of(emission)->batch_rank;
}

static int64_t size_argument(const struct kiln_emission *emission, uint32_t index)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_fusion_group *group = emission->group;
    uint32_t batch = contraction->batch_rank;
    if (index < 3)
        return index == 0 ? contraction->m : index == 1 ? contraction->n : contraction->k;
    index -= 3;
    uint32_t of_segments = segment_sizes(emission);
    if (index < of_segments)
        return index + 2 == of_segments ? (int64_t)contraction->segments : segment_stride(group);
    index -= of_segments;
    if (index < batch)
        return contraction->batch_sizes[index];
    return index < 2 * batch ? contraction->left_repeats[index - batch]
                             : contraction->right_repeats[index - 2 * batch];
}

uint32_t kiln_contraction_integer_count(const struct kiln_emission *emission)
{
    uint32_t count = size_count(emission);
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        for (uint32_t s = 0; s < stride_count(emission); s++)
            count += is_argument(emission->schedule->accesses[i].strides[s]);
    }
    return count;
}

int64_t kiln_contraction_integer(const struct kiln_emission *emission, uint32_t index)
{
    if (index < size_count(emission))
        return size_argument(emission, index);
    index -= size_count(emission);
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        for (uint32_t s = 0; s < stride_count(emission); s++) {
            int64_t stride = emission->schedule->accesses[i].strides[s];
            if (is_argument(stride) && index-- == 0)
                return stride;
        }
    }
    return 0;
}

static void append_arguments(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t batch = kiln_contraction_of(emission)->batch_rank;
    kiln_emit_arguments(emission, source);
    /* kiln_emit_arguments ends the structure with "};\n": members are put in front of it. */
    source->size -= 3;
    kiln_buffer_append_text(source, "    long long m, n, k;\n");
    if (segment_sizes(emission) != 0)
        kiln_buffer_printf(source, "    long long %ssegment_stride;\n",
                           has_segments(emission) ? "segments, " : "");
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    long long batch%" PRIu32 ";\n", b);
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    long long left_repeat%" PRIu32 ";\n", b);
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    long long right_repeat%" PRIu32 ";\n", b);
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        for (uint32_t s = 0; s < stride_count(emission); s++) {
            if (is_argument(emission->schedule->accesses[i].strides[s]))
                kiln_buffer_printf(source, "    long long s%" PRIu32 "_%" PRIu32 ";\n", i, s);
        }
    }
    kiln_buffer_append_text(source, "};\n");
}

static void append_batch(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t batch = kiln_contraction_of(emission)->batch_rank;
    kiln_buffer_append_text(source, "struct kiln_batch {\n");
    if (has_segments(emission))
        kiln_buffer_append_text(source, "    unsigned segment;\n");
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    unsigned c%" PRIu32 ";\n", b);
    kiln_buffer_append_text(source, "};\nKILN_DEVICE void kiln_locate_batch(const kiln_arguments "
                                    "&arguments, unsigned rest, kiln_batch &batch)\n{\n"
                                    "    (void)arguments, (void)rest, (void)batch;\n");
    for (uint32_t b = batch; b-- > 0;)
        kiln_buffer_printf(source,
                           "    batch.c%" PRIu32 " = rest %% (unsigned)arguments.batch%" PRIu32
                           ";\n    rest /= (unsigned)arguments.batch%" PRIu32 ";\n",
                           b, b, b);
    kiln_buffer_append_text(source, "}\n");
}

/* ---- the whole ---- */

void kiln_emit_contraction(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_side left = {&kiln_contraction_of(emission)->left, "left",
                                               "LEFT"};
    const struct kiln_contraction_side right = {&kiln_contraction_of(emission)->right, "right",
                                                "RIGHT"};
    append_arguments(emission, source);
    append_batch(emission, source);
    kiln_emit_contraction_operand(emission, &left, source);
    kiln_emit_contraction_operand(emission, &right, source);
    kiln_emit_contraction_result(emission, source);
}
