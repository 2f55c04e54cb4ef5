/*
 * Operands of small products, whose work-items compute elements of the result: an element is loaded
 * at a time, at an offset that is in the text, so that the compiler joins neighbours.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/fuse/contraction_group.h"

#include <inttypes.h>

struct small_side {
    const char *name;
    const char *repeat; /* as which operand it repeats batches */
    enum kiln_place place;
};

static const char *offset_type(const struct kiln_emission *emission)
{
    return emission->schedule->index_is_64bit ? "long long" : "int";
}

static void append_source(const struct kiln_emission *emission, const struct small_side *side,
                          struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "struct kiln_%s_source {\n", side->name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_in(emission, i, side->place))
            kiln_emit_contraction_pointer(emission, i, source);
    }
    kiln_buffer_printf(source,
                       "};\nKILN_DEVICE void kiln_%s_start(const kiln_arguments &arguments, const "
                       "kiln_batch &batch, unsigned row, kiln_%s_source &source)\n{\n"
                       "    (void)arguments, (void)batch, (void)row;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_in(emission, i, side->place))
            kiln_emit_contraction_start(emission, i, side->repeat, "row", NULL, source);
    }
    kiln_buffer_printf(source,
                       "}\nKILN_DEVICE void kiln_%s_advance(const kiln_arguments &arguments, "
                       "kiln_%s_source &source)\n{\n    (void)arguments, (void)source;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_loaded_in(emission, i, side->place) ||
            emission->group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR)
            continue;
        kiln_buffer_printf(source, "    source.p%" PRIu32 " += 0", i);
        kiln_emit_contraction_term(emission, offset_type(emission), i, KILN_STRIDE_COLUMN,
                                   "KILN_STEP", source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

static void append_load(const struct kiln_emission *emission, const struct small_side *side,
                        const char **elements, struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "struct kiln_%s_inputs {\n", side->name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_loaded_in(emission, i, side->place))
            continue;
        elements[i] = "0";
        kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[1];\n",
                           kiln_storage_suffix(&emission->group->accesses[i]), i);
    }
    kiln_buffer_printf(source,
                       "};\nKILN_DEVICE void kiln_%s_load(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, unsigned row, unsigned k, kiln_%s_inputs &inputs)\n"
                       "{\n    (void)arguments, (void)source, (void)row, (void)k, (void)inputs;\n",
                       side->name, side->name, side->name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_loaded_in(emission, i, side->place))
            continue;
        if (emission->group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR) {
            kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", i,
                               i);
            continue;
        }
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = source.p%" PRIu32 "[0", i, i);
        kiln_emit_contraction_term(emission, offset_type(emission), i, KILN_STRIDE_ROW, "row",
                                   source);
        kiln_emit_contraction_term(emission, offset_type(emission), i, KILN_STRIDE_COLUMN, "k",
                                   source);
        kiln_buffer_append_text(source, "];\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

static void append_value(const struct kiln_emission *emission, const struct small_side *side,
                         const char *const *elements, struct kiln_buffer *source)
{
    struct kiln_value_table table;
    kiln_buffer_printf(source,
                       "KILN_DEVICE kiln_sum kiln_%s_value(const kiln_arguments &arguments, const "
                       "kiln_%s_inputs &inputs)\n{\n    (void)arguments, (void)inputs;\n",
                       side->name, side->name);
    if (!kiln_contraction_table_init(emission, side->place, elements, &table)) {
        source->failed = true;
        return;
    }
    kiln_emit_contraction_values(emission, &table, side->place, source);
    uint32_t operand = kiln_group_operand(emission->ir, emission->group, side->place);
    kiln_buffer_append_text(source, "    return ");
    kiln_emit_value(&table, operand, source);
    kiln_buffer_append_text(source, ";\n}\n");
    kiln_value_table_fini(&table);
}

void kiln_emit_contraction_small(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct small_side sides[] = {
        {"left", "left", contraction->left.places[0]},
        {"right", "right", contraction->right.places[0]},
        {"second", "right", contraction->right.places[1]},
    };
    for (uint32_t i = 0; i < 1 + contraction->products; i++) {
        const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
        append_source(emission, &sides[i], source);
        append_load(emission, &sides[i], elements, source);
        append_value(emission, &sides[i], elements, source);
    }
}
