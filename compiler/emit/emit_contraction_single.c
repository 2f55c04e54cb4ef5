/*
 * Single factors of a product: one element of one row at one index of k. A sum over a window that
 * is NaN is added up again from them, without padding (device/contraction/padding.h).
 *
 * An operand is kiln_single_<operand>: _source, _start and _advance; _counts, false where the
 * source's k has no term; _load and _value. `across` is the other operand's row, counted from the
 * first of all.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/fuse/contraction_group.h"

#include <inttypes.h>
#include <stdio.h>

bool kiln_has_single_factors(const struct kiln_emission *emission)
{
    return kiln_contraction_of(emission)->window_count != 0 &&
           emission->ir->ops[emission->group->contracts[0]].scalar != KILN_SCALAR_I32;
}

static const char *offset_type(const struct kiln_emission *emission)
{
    return emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
}

static bool is_left(const struct kiln_emission *emission, const struct kiln_contraction_side *side)
{
    return side->operand == &kiln_contraction_of(emission)->left;
}

static void append_source(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    const char *name = side->name;
    kiln_buffer_printf(source, "struct kiln_%s_source {\n", name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            kiln_emit_contraction_pointer(emission, i, source);
    }
    kiln_buffer_append_text(source,
                            "    kiln_batch batch;\n    unsigned first_row, first_k;\n};\n");
    kiln_emit_contraction_operand_offsets(emission, side, source);
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_%s_start(const kiln_arguments &arguments, const "
                       "kiln_batch &batch, unsigned row, kiln_%s_source &source)\n{\n"
                       "    (void)arguments, (void)batch, (void)row;\n",
                       name, name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            kiln_emit_contraction_start(emission, i, side->repeats, "row", NULL, source);
    }
    kiln_buffer_printf(source,
                       "    source.batch = batch;\n    source.first_row = row;\n"
                       "    source.first_k = 0;\n}\n"
                       "KILN_DEVICE void kiln_%s_advance(const kiln_arguments &arguments, unsigned "
                       "k, kiln_%s_source &source)\n{\n    (void)arguments;\n",
                       name, name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_loaded_for(emission, side, i) || kiln_counts_k_from_first(emission, i) ||
            emission->schedule->accesses[i].strides[KILN_STRIDE_COLUMN] == 0)
            continue;
        kiln_buffer_printf(source, "    source.p%" PRIu32 " += 0ll", i);
        kiln_emit_contraction_term(emission, "long long", i, KILN_STRIDE_COLUMN, "k", source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "    source.first_k += k;\n}\n");
}

static void append_counts(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    const char *name = side->name;
    kiln_buffer_printf(source,
                       "KILN_DEVICE bool kiln_%s_counts(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, unsigned row)\n{\n"
                       "    (void)arguments, (void)source, (void)row;\n    return ",
                       name, name);
    if (kiln_contraction_of(emission)->k_run != 0)
        kiln_buffer_printf(source, "(kiln_%s_run(arguments, source, row, 0) & 1) != 0;\n}\n", name);
    else if (kiln_is_side_windowed(emission, side))
        kiln_buffer_printf(source, "kiln_%s_is_inside(arguments, source, row, 0);\n}\n", name);
    else
        kiln_buffer_append_text(source, "true;\n}\n");
}

/* The offset along the other operand's rows. Groups of depthwise convolutions are not batches. */
static void append_across(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, uint32_t access,
                          struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_role_axes *role =
        is_left(emission, side) ? &contraction->columns : &contraction->rows;
    for (uint32_t i = 0; i < role->count; i++) {
        char coordinate[96] = "across";
        if (role->count > 1)
            (void)snprintf(coordinate, sizeof coordinate,
                           "kiln_split_%c(arguments, source.batch, across).c%" PRIu32,
                           is_left(emission, side) ? 'n' : 'm', i);
        kiln_emit_contraction_term(emission, offset_type(emission), access, KILN_STRIDE_ACROSS + i,
                                   coordinate, source);
    }
}

static void append_load(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, const char **elements,
                        struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_printf(source, "struct kiln_%s_inputs {\n", side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!kiln_is_loaded_for(emission, side, i))
            continue;
        elements[i] = "0";
        kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[1];\n",
                           kiln_storage_suffix(&group->accesses[i]), i);
    }
    kiln_buffer_printf(source,
                       "};\nKILN_DEVICE void kiln_%s_load(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, unsigned row, unsigned across, kiln_%s_inputs "
                       "&inputs)\n{\n    (void)arguments, (void)source, (void)row, (void)across, "
                       "(void)inputs;\n",
                       side->name, side->name, side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!kiln_is_loaded_for(emission, side, i))
            continue;
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = ", i);
        if (group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR) {
            kiln_buffer_printf(source, "arguments.a%" PRIu32 ";\n", i);
            continue;
        }
        kiln_buffer_printf(source, "source.p%" PRIu32 "[(%s)0", i, offset_type(emission));
        if (kiln_is_access_split(emission, i))
            kiln_buffer_printf(source, " + kiln_%s_offset_%" PRIu32 "(arguments, source, row, 0)",
                               side->name, i);
        else
            kiln_emit_contraction_term(emission, offset_type(emission), i, KILN_STRIDE_ROW, "row",
                                       source);
        append_across(emission, side, i, source);
        kiln_buffer_append_text(source, "];\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

static void append_value(const struct kiln_emission *emission,
                         const struct kiln_contraction_side *side, const char *const *elements,
                         struct kiln_buffer *source)
{
    enum kiln_place place = side->operand->places[side->part];
    struct kiln_value_table table;
    kiln_buffer_printf(source,
                       "KILN_DEVICE kiln_sum kiln_%s_value(const kiln_arguments &arguments, const "
                       "kiln_%s_inputs &inputs)\n{\n    (void)arguments, (void)inputs;\n",
                       side->name, side->name);
    if (!kiln_contraction_table_init(emission, place, elements, &table)) {
        source->failed = true;
        return;
    }
    kiln_emit_contraction_values(emission, &table, place, source);
    kiln_buffer_append_text(source, "    return ");
    kiln_emit_value(&table, kiln_group_operand(emission->ir, emission->group, place), source);
    kiln_buffer_append_text(source, ";\n}\n");
    kiln_value_table_fini(&table);
}

void kiln_emit_contraction_single(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_contraction_side sides[] = {
        {.operand = &contraction->left, .name = "single_left", .repeats = "left"},
        {.operand = &contraction->right, .name = "single_right0", .repeats = "right"},
        {.operand = &contraction->right, .name = "single_right1", .repeats = "right", .part = 1},
    };
    for (uint32_t i = 0; i < 1 + contraction->products; i++) {
        const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
        struct kiln_contraction_side side = sides[i];
        side.is_single = true;
        append_source(emission, &side, source);
        append_counts(emission, &side, source);
        append_load(emission, &side, elements, source);
        append_value(emission, &side, elements, source);
    }
}
