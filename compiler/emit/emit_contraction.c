#include "compiler/emit/emit_contraction.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/fuse/contraction_group.h"
#include "compiler/schedule/contraction_small.h"

#include <inttypes.h>

void kiln_emit_contraction_argument_struct(const struct kiln_emission *emission,
                                           void (*integers)(const struct kiln_emission *emission,
                                                            struct kiln_buffer *source),
                                           struct kiln_buffer *source)
{
    kiln_emit_arguments(emission, source);
    /* kiln_emit_arguments ends the structure with "};\n": members are put in front of it. */
    source->size -= 3;
    integers(emission, source);
    kiln_buffer_append_text(source, "};\n");
}

void kiln_emit_contraction_batch_indices(const struct kiln_emission *emission,
                                         struct kiln_buffer *source)
{
    uint32_t rank = kiln_contraction_of(emission)->batch_rank;
    /* Lanes have batches of their own: the first axis takes no division. */
    uint32_t first = kiln_is_contraction_small(kiln_contraction_of(emission)) && rank > 0 ? 1 : 0;
    for (uint32_t b = rank; b-- > first;)
        kiln_buffer_printf(source,
                           "    batch.c%" PRIu32 " = rest %% (unsigned)arguments.batch%" PRIu32
                           ";\n    rest /= (unsigned)arguments.batch%" PRIu32 ";\n",
                           b, b, b);
    if (first != 0)
        kiln_buffer_append_text(source, "    batch.c0 = rest;\n");
}

static void append_batch(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t batch = kiln_contraction_of(emission)->batch_rank;
    kiln_buffer_append_text(source, "struct kiln_batch {\n");
    if (kiln_group_cuts_k(emission->group))
        kiln_buffer_append_text(source, "    unsigned segment;\n");
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    unsigned c%" PRIu32 ";\n", b);
    kiln_emit_contraction_phase_members(emission, source);
    kiln_buffer_append_text(source, "};\nKILN_DEVICE void kiln_locate_batch(const kiln_arguments "
                                    "&arguments, unsigned rest, kiln_batch &batch)\n{\n"
                                    "    (void)arguments, (void)rest, (void)batch;\n");
    kiln_emit_contraction_batch_indices(emission, source);
    kiln_emit_contraction_phases(emission, source);
    kiln_buffer_append_text(source, "}\n");
}

/* ---- the whole ---- */

void kiln_emit_contraction(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_contraction_side left = {
        .operand = &contraction->left,
        .name = "left",
        .run_element = "e * KILN_LEFT_RUN + r",
        .k_end = contraction->k_end,
        .is_copied = contraction->producer_waves != 0,
    };
    const struct kiln_contraction_side right = {
        .operand = &contraction->right,
        .name = "right",
        .run_element = "e * KILN_RIGHT_RUN + r",
        .k_end = contraction->k_end,
        .is_copied = contraction->producer_waves != 0,
    };
    kiln_emit_contraction_argument_struct(emission, kiln_emit_contraction_arguments, source);
    append_batch(emission, source);
    kiln_emit_contraction_splits(emission, source);
    kiln_emit_contraction_phase_sizes(emission, source);
    if (kiln_is_contraction_small(contraction)) {
        kiln_emit_contraction_small(emission, source);
    } else if (contraction->is_direct) {
        kiln_emit_contraction_direct(emission, source);
    } else {
        kiln_emit_contraction_operand(emission, &left, source);
        kiln_emit_contraction_operand(emission, &right, source);
    }
    if (contraction->sum_groups != 0) {
        const struct kiln_contraction_side summed = {
            .operand = &contraction->summed,
            .name = "summed",
            .run_element = "e * KILN_SUMMED_RUN + r",
            .k_end = contraction->k_end,
            .is_summed = true,
            .repeats = contraction->is_right_summed ? "right" : "left",
        };
        kiln_emit_contraction_operand(emission, &summed, source);
        kiln_emit_contraction_sums(emission, source);
    }
    if (kiln_has_single_factors(emission))
        kiln_emit_contraction_single(emission, source);
    kiln_emit_contraction_result(emission, source);
}
