#include "compiler/families/contraction/emit/emit_contraction.h"

#include "compiler/emit/emit_access.h"
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_small.h"

#include <inttypes.h>

/* Operands of small products: the right one of each product by itself. */
static void append_small_operands(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_contraction_side sides[] = {
        {.operand = &contraction->left, .name = "left", .define = "LEFT"},
        {.operand = &contraction->right, .name = "right", .define = "RIGHT"},
        {.operand = &contraction->right, .name = "second", .define = "SECOND", .part = 1},
    };
    for (uint32_t i = 0; i < 1 + contraction->problem.products; i++) {
        struct kiln_contraction_side side = sides[i];
        side.is_single = true;
        kiln_emit_element_operand_facts(emission, &side, source);
    }
}

static void append_direct_operands(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    const struct kiln_operand_schedule *operands[] = {&contraction->left, &contraction->right};
    const struct kiln_contraction_side image = {
        .operand = operands[is_swapped], .name = "image", .define = "IMAGE"};
    const struct kiln_contraction_side weights = {
        .operand = operands[!is_swapped], .name = "weights", .define = "WEIGHTS"};
    kiln_emit_direct_operand_facts(emission, &image, source);
    kiln_emit_direct_operand_facts(emission, &weights, source);
}

/* Facts about maps and indices, and the headers that follow from them alone. */
static void append_maps(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *left,
                        const struct kiln_contraction_side *right,
                        struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    kiln_emit_batch_facts(emission, source);
    kiln_emit_operand_maps(emission, left, source);
    kiln_emit_operand_maps(emission, right, source);
    if (!kiln_contraction_is_split(emission))
        return;
    kiln_emit_axis_facts(emission, source);
    kiln_template_append(inclusion, "device/contraction/index.h", source);
    if (kiln_contraction_of(emission)->problem.windows.count != 0)
        kiln_template_append(inclusion, "device/contraction/window.h", source);
    kiln_template_mark_generated(inclusion, source);
}

void kiln_emit_contraction(const struct kiln_emission *emission,
                           struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_contraction_side left = {
        .operand = &contraction->left,
        .name = "left",
        .define = "LEFT",
    };
    const struct kiln_contraction_side right = {
        .operand = &contraction->right,
        .name = "right",
        .define = "RIGHT",
    };
    kiln_emit_arguments(emission, source);
    append_maps(emission, &left, &right, inclusion, source);
    kiln_emit_routing_facts(emission, source);
    if (kiln_is_contraction_small(contraction)) {
        append_small_operands(emission, source);
    } else if (kiln_pipeline_is_direct(&contraction->pipeline)) {
        append_direct_operands(emission, source);
    } else {
        kiln_emit_operand_facts(emission, &left, source);
        kiln_emit_operand_facts(emission, &right, source);
    }
    if (contraction->operand_sum.groups != 0) {
        const struct kiln_contraction_side summed = {
            .operand = &contraction->operand_sum.operand,
            .name = "summed",
            .define = "SUMMED",
            .is_summed = true,
            .repeats = contraction->operand_sum.is_right ? "right" : "left",
        };
        kiln_emit_operand_facts(emission, &summed, source);
        kiln_emit_contraction_sums(emission, source);
    }
    if (kiln_has_single_factors(emission))
        kiln_emit_contraction_single(emission, source);
    kiln_emit_contraction_result(emission, source);
}
