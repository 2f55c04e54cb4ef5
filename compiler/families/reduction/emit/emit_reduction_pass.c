#include "compiler/families/reduction/emit/emit_reduction_pass.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_coordinates.h"
#include "compiler/families/reduction/emit/emit_accumulation.h"
#include "compiler/families/reduction/emit/emit_accumulators.h"

#include <inttypes.h>
#include <string.h>

enum { WORD_BYTES = 4 };

static bool is_reduction_result(const struct kiln_reduction_emission *reduction, uint32_t value)
{
    const struct kiln_op *op = &reduction->emission->ir->ops[value];
    enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
    return (op_class == KILN_OP_CLASS_REDUCE || op_class == KILN_OP_CLASS_CONTRACT) &&
           reduction->values.load[value] == KILN_NONE;
}

/* Loads of row values, or of elements. */
static void select_loads(const struct kiln_reduction_emission *reduction, bool rows)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    for (uint32_t i = 0; i < group->load_count; i++)
        reduction->selected[i] = (group->accesses[i].place == KILN_PLACE_ROW) == rows &&
                                 (rows || reduction->first_pass[i] != KILN_NONE);
}

/* Stores of row values that are known in pass `pass`, or of elements that are stored in it. */
static bool select_stores(const struct kiln_reduction_emission *reduction, uint32_t pass, bool rows)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    bool any = false;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        reduction->selected[i] = !access->is_accumulator &&
                                 (access->place == KILN_PLACE_ROW) == rows &&
                                 reduction->pass[access->value] == pass;
        any |= reduction->selected[i];
    }
    return any;
}

void kiln_emit_reduction_inputs(const struct kiln_reduction_emission *reduction,
                                struct kiln_buffer *source)
{
    select_loads(reduction, false);
    kiln_buffer_append_text(source, "struct kiln_inputs {\n");
    kiln_emit_input_members(reduction->emission, reduction->selected, reduction->vector, source);
    kiln_buffer_append_text(source, "};\n");
    if (!kiln_rows_have_tails(reduction->emission))
        return;
    kiln_buffer_append_text(source, "struct kiln_inputs_element {\n");
    kiln_emit_input_members(reduction->emission, reduction->selected, 1, source);
    kiln_buffer_append_text(source, "};\n");
}

/* "row.v7[e] = merged.a0.mean[e];" */
static void append_row_value(const struct kiln_reduction_emission *reduction, uint32_t value,
                             const char *indent, struct kiln_buffer *source)
{
    kiln_emit_operation(reduction->emission, &reduction->values, value, indent, source);
    if (!is_reduction_result(reduction, value))
        return;
    for (uint32_t i = 0; i < reduction->passes->accumulator_count; i++) {
        const struct kiln_accumulator *accumulator = &reduction->passes->accumulators[i];
        for (uint32_t k = 0; k < 2; k++) {
            bool is_moments = kiln_accumulator_is_moments(accumulator);
            if (accumulator->results[k] == value)
                kiln_emit_merged_component(accumulator, i, is_moments ? k + 1 : 0, source);
        }
    }
    kiln_buffer_append_text(source, ";\n");
}

/* True if a value is a member of `row`. */
static bool is_in_row(const struct kiln_reduction_emission *reduction, uint32_t position)
{
    uint32_t value = reduction->emission->group->ops[position];
    return reduction->values.is_row[value] &&
           kiln_value_is_computed(reduction->emission, &reduction->values, value);
}

static bool is_row_value(const struct kiln_reduction_emission *reduction, uint32_t position,
                         uint32_t pass)
{
    return is_in_row(reduction, position) && reduction->passes->pass[position] == pass;
}

/* Row values that are known in a pass: first those that are the same for all rows of the vector. */
static void append_row_values(const struct kiln_reduction_emission *reduction, uint32_t pass,
                              struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    bool any = false;
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (!is_row_value(reduction, i, pass))
            continue;
        any |= reduction->values.varies[group->ops[i]] ||
               is_reduction_result(reduction, group->ops[i]);
        if (!reduction->values.varies[group->ops[i]]) {
            if (is_reduction_result(reduction, group->ops[i]))
                kiln_buffer_append_text(source, "    {\n        const int e = 0;\n");
            append_row_value(reduction, group->ops[i], "        ", source);
            if (is_reduction_result(reduction, group->ops[i]))
                kiln_buffer_append_text(source, "    }\n");
        }
    }
    if (!any || !kiln_reduction_is_columns(reduction->reduction))
        return;
    kiln_emit_element_loop("    ", reduction->row_lanes, source);
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (is_row_value(reduction, i, pass) && reduction->values.varies[group->ops[i]])
            append_row_value(reduction, group->ops[i], "        ", source);
    }
    kiln_buffer_append_text(source, "    }\n");
}

/* "y3[e] = kiln_encode_f16(v7);" for the selected stores. */
static void append_outputs(const struct kiln_reduction_emission *reduction,
                           struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!reduction->selected[i])
            continue;
        kiln_buffer_printf(source, "        y%" PRIu32 "[e] = ", i);
        kiln_emit_encoded(reduction->emission, &reduction->values, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
}

/* Stores of row values known in a pass, by the row's first work-item; `condition` says which. */
static void append_row_stores(const struct kiln_reduction_emission *reduction, uint32_t pass,
                              const char *condition, struct kiln_buffer *source)
{
    if (!select_stores(reduction, pass, true))
        return;
    kiln_buffer_printf(source, "    if (%s) {\n", condition);
    kiln_emit_output_arrays(reduction->emission, reduction->selected, reduction->row_lanes, source);
    kiln_emit_element_loop("    ", reduction->row_lanes, source);
    append_outputs(reduction, source);
    kiln_buffer_append_text(source, "    }\n");
    kiln_emit_stores(reduction->emission, reduction->selected, reduction->row_lanes, source);
    kiln_buffer_append_text(source, "    }\n");
}

void kiln_emit_row(const struct kiln_reduction_emission *reduction, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    kiln_buffer_append_text(source, "struct kiln_row {\n");
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const char *type = kiln_scalar_type(reduction->emission->ir->ops[value].scalar);
        if (!is_in_row(reduction, i))
            continue;
        if (reduction->values.varies[value])
            kiln_buffer_printf(source, "    %s v%" PRIu32 "[%" PRIu32 "];\n", type, i,
                               reduction->row_lanes);
        else
            kiln_buffer_printf(source, "    %s v%" PRIu32 ";\n", type, i);
    }
    kiln_buffer_append_text(source, "};\nstruct kiln_row_inputs {\n");
    select_loads(reduction, true);
    kiln_emit_input_members(reduction->emission, reduction->selected, reduction->row_lanes, source);
    kiln_buffer_append_text(
        source, "};\nKILN_DEVICE void kiln_start_row(const kiln_arguments &arguments, "
                "const kiln_position &position, bool is_first, kiln_row &row)\n{\n"
                "    kiln_row_inputs inputs;\n"
                "    (void)arguments, (void)position, (void)is_first, (void)row, (void)inputs;\n");
    kiln_emit_loads(reduction->emission, reduction->selected, reduction->row_lanes, source);
    append_row_values(reduction, 0, source);
    append_row_stores(reduction, 0,
                      group->role == KILN_ROLE_PARTIAL ? "is_first && position.segment == 0"
                                                       : "is_first",
                      source);
    kiln_buffer_append_text(source, "}\n");
}

/* What load(_element) of a pass has to bring. */
static void select_pass_loads(const struct kiln_reduction_emission *reduction, uint32_t pass,
                              bool is_tail)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    bool stay = is_tail ? reduction->sizes.resident_tails > 0
                        : kiln_reduction_is_held(reduction->reduction);
    memset(reduction->selected, 0, group->access_count * sizeof *reduction->selected);
    for (uint32_t i = 0; i < group->load_count; i++)
        reduction->selected[i] = group->accesses[i].is_accumulator;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t load = reduction->values.load[group->ops[i]];
        if (reduction->is_needed[i] && load != KILN_NONE)
            reduction->selected[load] = !stay || reduction->first_pass[load] == pass;
    }
    for (uint32_t i = 0; kiln_loads_ahead(reduction) && i < group->load_count; i++)
        reduction->selected[i] |= reduction->first_pass[i] == pass;
}

/* Vectors that an earlier pass has loaded, and that are kept as they were loaded. */
static void append_hidden_inputs(const struct kiln_reduction_emission *reduction,
                                 struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t load = reduction->values.load[group->ops[i]];
        if (!reduction->is_needed[i] || load == KILN_NONE || reduction->selected[load] ||
            reduction->emission->schedule->accesses[load].mode != KILN_ACCESS_VECTOR ||
            kiln_dtype_is_packed(group->accesses[load].dtype))
            continue;
        uint32_t bytes = kiln_vector_bytes(&group->accesses[load], reduction->vector);
        if (kiln_dtype_info(group->accesses[load].dtype)->bytes < WORD_BYTES && bytes >= WORD_BYTES)
            kiln_buffer_printf(source, "    KILN_HIDE_INPUT(%" PRIu32 ", inputs.x%" PRIu32 ")\n",
                               bytes, load);
    }
}

static void append_load(const struct kiln_reduction_emission *reduction, uint32_t pass,
                        bool is_tail, struct kiln_buffer *source)
{
    const char *suffix = is_tail ? "_element" : "";
    kiln_buffer_printf(source,
                       "    KILN_DEVICE void load%s(const kiln_arguments &arguments, "
                       "const kiln_position &position, kiln_inputs%s &inputs)\n    {\n"
                       "    (void)arguments, (void)position, (void)inputs;\n",
                       suffix, suffix);
    select_pass_loads(reduction, pass, is_tail);
    kiln_emit_loads(reduction->emission, reduction->selected, is_tail ? 1 : reduction->vector,
                    source);
    if (!is_tail && reduction->reduction->held == KILN_HELD_LOADED)
        append_hidden_inputs(reduction, source);
    kiln_buffer_append_text(source, "    }\n");
}

static bool is_evaluated(const struct kiln_reduction_emission *reduction, uint32_t position)
{
    return reduction->is_needed[position] &&
           kiln_value_is_computed(reduction->emission, &reduction->values,
                                  reduction->emission->group->ops[position]);
}

/* Copies of the row's values that a pass may read, since what it writes could, for all that a
 * compiler knows, be the row: then its loop would not be vectorised. */
static void append_row_variables(const struct kiln_reduction_emission *reduction, uint32_t pass,
                                 struct kiln_buffer *source)
{
    const struct kiln_emission *emission = reduction->emission;
    for (uint32_t i = 0; i < emission->group->op_count; i++) {
        uint32_t value = emission->group->ops[i];
        if (!is_in_row(reduction, i) || reduction->passes->pass[i] > pass ||
            reduction->values.varies[value])
            continue;
        kiln_buffer_printf(source,
                           "        const %s v%" PRIu32 " = row.v%" PRIu32
                           ";\n        (void)v%" PRIu32 ";\n",
                           kiln_scalar_type(emission->ir->ops[value].scalar), i, i, i);
    }
}

static void append_update(struct kiln_reduction_emission *reduction, uint32_t pass, bool is_tail,
                          struct kiln_buffer *source)
{
    const struct kiln_emission *emission = reduction->emission;
    const struct kiln_fusion_group *group = emission->group;
    uint32_t elements = is_tail ? 1 : reduction->vector;
    kiln_buffer_printf(source,
                       "    KILN_DEVICE void update%s(const kiln_arguments &arguments, "
                       "const kiln_position &position, const kiln_row &__restrict row, "
                       "const kiln_inputs%s &__restrict inputs, %s)\n    {\n"
                       "    (void)arguments, (void)position, (void)row, (void)inputs, %s;\n",
                       is_tail ? "_element" : "", is_tail ? "_element" : "",
                       is_tail ? "merged &__restrict merged"
                               : "unsigned nth, lanes &__restrict lanes",
                       is_tail ? "(void)merged" : "(void)nth, (void)lanes");
    append_row_variables(reduction, pass, source);
    reduction->values.has_row_variables = true;
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (is_evaluated(reduction, i) && !reduction->values.varies[group->ops[i]])
            kiln_emit_operation(emission, &reduction->values, group->ops[i], "        ", source);
    }
    kiln_emit_accumulation_head(reduction, pass, is_tail, source);
    (void)select_stores(reduction, pass, false);
    kiln_emit_output_arrays(emission, reduction->selected, elements, source);
    kiln_emit_element_loop("        ", elements, source);
    kiln_buffer_append_text(source, "            (void)e;\n");
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (is_evaluated(reduction, i) && reduction->values.varies[group->ops[i]])
            kiln_emit_operation(emission, &reduction->values, group->ops[i], "            ",
                                source);
    }
    append_outputs(reduction, source);
    kiln_emit_accumulation(reduction, pass, is_tail, source);
    kiln_buffer_append_text(source, "        }\n");
    kiln_emit_accumulation_end(reduction, pass, is_tail, source);
    reduction->values.has_row_variables = false;
    kiln_emit_stores(emission, reduction->selected, elements, source);
    kiln_buffer_append_text(source, "    }\n");
}

/* PARTIAL: the accumulators' components to the workspace. */
static void append_component_stores(const struct kiln_reduction_emission *reduction,
                                    struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    memset(reduction->selected, 0, group->access_count * sizeof *reduction->selected);
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        reduction->selected[i] = group->accesses[i].is_accumulator;
    kiln_buffer_append_text(source, "    if (is_first) {\n");
    kiln_emit_output_arrays(reduction->emission, reduction->selected, reduction->row_lanes, source);
    kiln_emit_element_loop("    ", reduction->row_lanes, source);
    for (uint32_t i = 0; i < reduction->passes->accumulator_count; i++) {
        const struct kiln_accumulator *accumulator = &reduction->passes->accumulators[i];
        for (uint32_t k = 0; k < kiln_accumulator_info(accumulator->kind)->components; k++) {
            uint32_t access = kiln_component_access(reduction, i, k);
            if (access == KILN_NONE)
                continue;
            kiln_buffer_printf(source, "        y%" PRIu32 "[e] = kiln_encode_%s(", access,
                               kiln_storage_suffix(&group->accesses[access]));
            kiln_emit_merged_component(accumulator, i, k, source);
            kiln_buffer_append_text(source, ");\n");
        }
    }
    kiln_buffer_append_text(source, "    }\n");
    kiln_emit_stores(reduction->emission, reduction->selected, reduction->row_lanes, source);
    kiln_buffer_append_text(source, "    }\n");
}

static void append_finish(const struct kiln_reduction_emission *reduction, uint32_t pass,
                          struct kiln_buffer *source)
{
    kiln_buffer_append_text(
        source, "    KILN_DEVICE void finish(const kiln_arguments &arguments, "
                "const kiln_position &position, const merged &merged, bool is_first, "
                "kiln_row &row)\n    {\n"
                "    (void)arguments, (void)position, (void)merged, (void)is_first, (void)row;\n");
    if (reduction->emission->group->role == KILN_ROLE_PARTIAL) {
        append_component_stores(reduction, source);
    } else {
        append_row_values(reduction, pass + 1, source);
        append_row_stores(reduction, pass + 1, "is_first", source);
    }
    kiln_buffer_append_text(source, "    }\n");
}

void kiln_emit_pass(struct kiln_reduction_emission *reduction, uint32_t pass,
                    struct kiln_buffer *source)
{
    const struct kiln_emission *emission = reduction->emission;
    kiln_reduction_pass_values(emission->ir, emission->group, reduction->passes, pass,
                               reduction->is_needed);
    for (uint32_t i = 0; i < emission->group->op_count; i++)
        reduction->is_needed[i] =
            reduction->is_needed[i] && reduction->passes->place[i] != KILN_PLACE_ROW;
    kiln_buffer_printf(source,
                       "struct kiln_pass_%" PRIu32 " {\n"
                       "    enum { has_accumulators = %d, is_first = %d, is_last = %d };\n",
                       pass, kiln_pass_has_accumulators(reduction, pass), pass == 0,
                       pass + 1 == reduction->passes->pass_count);
    kiln_emit_accumulators(reduction, pass, source);
    append_load(reduction, pass, false, source);
    append_update(reduction, pass, false, source);
    if (kiln_rows_have_tails(reduction->emission)) {
        append_load(reduction, pass, true, source);
        append_update(reduction, pass, true, source);
    }
    if (kiln_pass_has_accumulators(reduction, pass))
        append_finish(reduction, pass, source);
    kiln_buffer_append_text(source, "};\n");
}
