/*
 * Facts about the single factors of a product: kernels_templates/device/contraction/single.h.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"

#include <inttypes.h>

bool kiln_has_single_factors(const struct kiln_emission *emission)
{
    return kiln_contraction_of(emission)->problem.windows.count != 0 &&
           emission->ir->ops[emission->group->anchors[0]].scalar != KILN_SCALAR_I32;
}

/* Emits the function that computes the factor from an element of each access. */
static void append_value(const struct kiln_emission *emission,
                         const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    enum kiln_place place = side->operand->places[side->part];
    struct kiln_value_table table;
    kiln_buffer_printf(source, "KILN_DEVICE kiln_sum kiln_%s_value(const kiln_arguments &arguments",
                       side->name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            kiln_buffer_printf(source, ", kiln_storage_%s x%" PRIu32,
                               kiln_storage_suffix(&emission->group->accesses[i]), i);
    }
    kiln_buffer_append_text(source, ")\n{\n    (void)arguments;\n");
    if (!kiln_contraction_table_init(emission, place, &table)) {
        source->failed = true;
        return;
    }
    kiln_emit_contraction_values(emission, &table, place, source);
    kiln_buffer_append_text(source, "    return ");
    kiln_emit_value(&table, kiln_group_operand(emission->group, place), source);
    kiln_buffer_append_text(source, ";\n}\n");
    kiln_value_table_fini(&table);
}

void kiln_emit_contraction_single(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_contraction_side sides[] = {
        {.operand = &contraction->left, .name = "single_left", .define = "SINGLE_LEFT"},
        {.operand = &contraction->right, .name = "single_right0", .define = "SINGLE_RIGHT0"},
        {.operand = &contraction->right,
         .name = "single_right1",
         .define = "SINGLE_RIGHT1",
         .part = 1},
    };
    for (uint32_t i = 0; i < 1 + contraction->problem.products; i++) {
        struct kiln_contraction_side side = sides[i];
        side.is_single = true;
        kiln_emit_side_rows(emission, &side, source);
        kiln_buffer_printf(source, "#define kiln_%s_across kiln_%c_axes\n", side.name,
                           i == 0 ? 'n' : 'm');
        kiln_emit_accesses(emission, &side, source);
        append_value(emission, &side, source);
    }
}
