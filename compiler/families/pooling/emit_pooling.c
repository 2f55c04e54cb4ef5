/* Text of pooling kernels. */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_counts.h"
#include "compiler/emit/emit_family.h"
#include "compiler/emit/emit_sizes.h"
#include "compiler/emit/emit_values.h"
#include "compiler/families/pooling/emit_pooling_parts.h"
#include "compiler/fuse/accumulator.h"
#include "compiler/fuse/fuse_family.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static bool is_of_image(const struct kiln_emission *emission, uint32_t access)
{
    return emission->group->accesses[access].place == KILN_PLACE_IMAGE;
}

static uint32_t vector_of(const struct kiln_emission *emission)
{
    return emission->schedule->walk.vector_elems;
}

/* Makes the table use the loads of a place. A value that is loaded at both places has an access for
 * each. */
static void enter_place(const struct kiln_emission *emission, enum kiln_place place,
                        struct kiln_value_table *table)
{
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (emission->group->accesses[i].place == place)
            table->load[emission->group->accesses[i].value] = i;
    }
}

static bool is_at(const struct kiln_emission *emission, uint32_t position, enum kiln_place place)
{
    return (emission->group->places[position] >> place & 1) != 0;
}

/* ---- the REDUCEs ---- */

/* The type of the elements that are reduced. */
static enum kiln_scalar element_scalar(const struct kiln_emission *emission,
                                       const struct kiln_op *op)
{
    return emission->ir->ops[op->operands[0]].scalar;
}

static bool is_maximum_of_numbers(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_REDUCE_MAX_NUMBER || op->opcode == KILN_OP_REDUCE_ARGMAX;
}

/* The first value of an accumulator. */
static const char *identity_text(const struct kiln_op *op, enum kiln_scalar scalar)
{
    static const char *const lowest[KILN_SCALAR_COUNT] = {"false", "(-0x7fffffff - 1)",
                                                          "(-0x7fffffffffffffffll - 1)",
                                                          "-__builtin_inff()", "-__builtin_inf()"};
    static const char *const highest[KILN_SCALAR_COUNT] = {
        "true", "0x7fffffff", "0x7fffffffffffffffll", "__builtin_inff()", "__builtin_inf()"};
    if (is_maximum_of_numbers(op))
        return lowest[scalar];
    switch (kiln_accumulator_info(kiln_accumulator_of(op->opcode))->identity) {
    case KILN_IDENTITY_ONE:
        return "1";
    case KILN_IDENTITY_HIGHEST:
        return highest[scalar];
    case KILN_IDENTITY_LOWEST:
        return lowest[scalar];
    default:
        return "0";
    }
}

static const char *operation_text(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_REDUCE_MAX_NUMBER
               ? "larger_number"
               : kiln_accumulator_info(kiln_accumulator_of(op->opcode))->operation;
}

/* "(float)0x0p+0": the element in padding. */
static void append_padding(const struct kiln_op *op, enum kiln_scalar scalar,
                           struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "(%s)", kiln_scalar_type(scalar));
    if (scalar != KILN_SCALAR_F32 && scalar != KILN_SCALAR_F64)
        kiln_buffer_printf(source, "%" PRId64 "ll", op->constant.integer);
    else if (isinf(op->constant.real))
        kiln_buffer_printf(source, "%s__builtin_inf()", op->constant.real < 0 ? "-" : "");
    else
        kiln_buffer_printf(source, "%a", op->constant.real);
}

/* The REDUCE whose accumulator a position goes along with: the maximum's, or its own. */
static uint32_t maximum_beside(const struct kiln_emission *emission, uint32_t argmax)
{
    uint32_t maximum = kiln_find_emitted_anchor(emission, KILN_OP_REDUCE_MAX_NUMBER);
    bool is_same = maximum != KILN_NONE && kiln_emitted_anchor(emission, maximum)->constant.real ==
                                               kiln_emitted_anchor(emission, argmax)->constant.real;
    return is_same ? maximum : argmax;
}

static void append_begin(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_pooling_schedule *pooling = kiln_emitted_pooling(emission);
    uint32_t keyed = kiln_find_emitted_anchor(emission, KILN_OP_REDUCE_SUM_AT);
    kiln_buffer_append_text(source,
                            "KILN_DEVICE void kiln_begin(const kiln_arguments &arguments, const "
                            "kiln_position &position, kiln_reduced &reduced)\n"
                            "{\n    (void)arguments, (void)position;\n");
    if (keyed != KILN_NONE) {
        int64_t steps[KILN_MAP_MAX_WINDOWS];
        kiln_ir_point_steps(emission->ir, kiln_emitted_anchor(emission, keyed), steps);
        kiln_buffer_append_text(source, "    reduced.point = 0");
        for (uint32_t i = 0; i < pooling->window_count; i++) {
            if (pooling->windows[i].pixel == KILN_NONE)
                continue;
            kiln_buffer_append_text(source, " + (int)");
            kiln_emit_coordinate(emission, pooling->windows[i].pixel, source);
            kiln_buffer_append_text(source, " * ");
            kiln_emit_window_number(emission, "int", steps[i], source, "point_step%" PRIu32, i);
        }
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_emit_element_loop("    ", vector_of(emission), source);
    for (uint32_t i = 0; i < group->anchor_count; i++) {
        const struct kiln_op *op = kiln_emitted_anchor(emission, i);
        kiln_buffer_printf(source, "        reduced.value%" PRIu32 "[e] = %s;\n", i,
                           identity_text(op, element_scalar(emission, op)));
        if (op->opcode == KILN_OP_REDUCE_ARGMAX)
            kiln_buffer_printf(source, "        reduced.position%" PRIu32 "[e] = -1;\n", i);
    }
    kiln_buffer_append_text(source, "    }\n}\n");
}

static void append_reduced(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_append_text(source, "struct kiln_reduced {\n");
    for (uint32_t i = 0; i < group->anchor_count; i++) {
        const struct kiln_op *op = kiln_emitted_anchor(emission, i);
        kiln_buffer_printf(source, "    %s value%" PRIu32 "[KILN_VECTOR];\n",
                           kiln_scalar_type(element_scalar(emission, op)), i);
        if (op->opcode == KILN_OP_REDUCE_ARGMAX)
            kiln_buffer_printf(source, "    int position%" PRIu32 "[KILN_VECTOR];\n", i);
    }
    if (kiln_find_emitted_anchor(emission, KILN_OP_REDUCE_SUM_AT) != KILN_NONE)
        kiln_buffer_append_text(source, "    int point;\n");
    kiln_buffer_append_text(source, "};\n");
    append_begin(emission, source);
}

/* An INDEX at a tap counts along an axis that a window moves along. False: it is none. */
static bool append_tap_index(const struct kiln_emission *emission,
                             const struct kiln_value_table *table, uint32_t value,
                             const char *indent, struct kiln_buffer *source)
{
    const struct kiln_op *op = &emission->ir->ops[value];
    if (op->opcode != KILN_OP_INDEX || table->load[value] != KILN_NONE)
        return false;
    const struct kiln_map *map = kiln_pooling_map(emission->ir, emission->group);
    uint32_t over = emission->ir->domains[op->domain].rank - 1 - op->axis;
    kiln_buffer_printf(source, "%sconst %s ", indent, kiln_scalar_type(op->scalar));
    kiln_emit_value(table, value, source);
    for (uint32_t i = 0; i < map->window_count; i++) {
        if (map->windows[i].over == over)
            kiln_buffer_printf(source, " = inputs.w%" PRIu32 ";\n", i);
    }
    return true;
}

/* The number of a value among the REDUCEs; KILN_NONE: it is none. */
static uint32_t anchor_number(const struct kiln_fusion_group *group, uint32_t value)
{
    for (uint32_t i = 0; i < group->anchor_count; i++) {
        if (group->anchors[i] == value)
            return i;
    }
    return KILN_NONE;
}

/* Statements for the values of a place: first those that are the same for a whole vector, then the
 * head of a loop and the others. */
static void append_values(const struct kiln_emission *emission,
                          const struct kiln_value_table *table, enum kiln_place place,
                          struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    uint32_t elements =
        place == KILN_PLACE_IMAGE
            ? kiln_pooling_tap_elements(emission->schedule, kiln_emitted_pooling(emission))
            : vector_of(emission);
    for (int varies = 0; varies < 2; varies++) {
        const char *indent = varies ? "        " : "    ";
        if (varies)
            kiln_emit_element_loop("    ", elements, source);
        for (uint32_t i = 0; i < group->op_count; i++) {
            uint32_t value = group->ops[i];
            if (!is_at(emission, i, place) || table->varies[value] != (varies != 0) ||
                !kiln_value_is_computed(emission, table, value) ||
                (place == KILN_PLACE_IMAGE &&
                 append_tap_index(emission, table, value, indent, source)))
                continue;
            kiln_emit_operation(emission, table, value, indent, source);
            uint32_t number = anchor_number(group, value);
            if (number != KILN_NONE)
                kiln_buffer_printf(source, "reduced.%s%" PRIu32 "[e];\n",
                                   kiln_emitted_anchor(emission, number)->opcode ==
                                           KILN_OP_REDUCE_ARGMAX
                                       ? "position"
                                       : "value",
                                   number);
        }
    }
}

/* "is_inside ? v3 : padding" */
static void append_element(const struct kiln_emission *emission,
                           const struct kiln_value_table *table, const struct kiln_op *op,
                           struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "is_inside");
    if (op->opcode == KILN_OP_REDUCE_SUM_AT) {
        kiln_buffer_append_text(source, " && ");
        kiln_emit_value(table, op->operands[1], source);
        kiln_buffer_append_text(source, " == reduced.point");
    }
    kiln_buffer_append_text(source, " ? ");
    kiln_emit_value(table, op->operands[0], source);
    kiln_buffer_append_text(source, " : ");
    append_padding(op, element_scalar(emission, op), source);
}

/* Statements that take an element into the accumulators of a REDUCE: an expression for each tap, or
 * element<number>[e * step + t] of a span. */
static void append_reduction(const struct kiln_emission *emission,
                             const struct kiln_value_table *table, uint32_t number,
                             struct kiln_buffer *source)
{
    const struct kiln_op *op = kiln_emitted_anchor(emission, number);
    const char *scalar = kiln_scalar_text(element_scalar(emission, op));
    uint32_t argmax = kiln_find_emitted_anchor(emission, KILN_OP_REDUCE_ARGMAX);
    bool is_span = kiln_emits_spans(emission);
    if (number != argmax && argmax != KILN_NONE && number == maximum_beside(emission, argmax))
        return; /* together with the position */
    if (number == argmax)
        kiln_buffer_printf(source,
                           "        kiln_take_larger_%s(reduced.value%" PRIu32
                           "[e], reduced.position%" PRIu32 "[e], ",
                           scalar, maximum_beside(emission, argmax), argmax);
    else
        kiln_buffer_printf(source,
                           "        reduced.value%" PRIu32 "[e] = kiln_%s_%s(reduced.value%" PRIu32
                           "[e], ",
                           number, operation_text(op), scalar, number);
    if (is_span)
        kiln_buffer_printf(source, "element%" PRIu32 "[i]", number);
    else
        append_element(emission, table, op, source);
    if (number == argmax)
        kiln_buffer_append_text(source, is_span ? ", positions[i]" : ", inputs.position");
    kiln_buffer_append_text(source, ");\n");
}

/* Arrays of a span's elements, one for each REDUCE, as padding is another for each. */
static void append_span_arrays(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t count = kiln_pooling_tap_elements(emission->schedule, kiln_emitted_pooling(emission));
    for (uint32_t i = 0; i < emission->group->anchor_count; i++)
        kiln_buffer_printf(
            source, "    %s element%" PRIu32 "[%" PRIu32 "];\n",
            kiln_scalar_type(element_scalar(emission, kiln_emitted_anchor(emission, i))), i, count);
    if (kiln_find_emitted_anchor(emission, KILN_OP_REDUCE_ARGMAX) != KILN_NONE)
        kiln_buffer_printf(source, "    int positions[%" PRIu32 "];\n", count);
    kiln_buffer_printf(source, "    const bool is_row_inside = is_inside;\n");
}

/* Statements of the loop over a span. Only elements around its middle may be padding. */
static void append_span_elements(const struct kiln_emission *emission,
                                 const struct kiln_value_table *table, struct kiln_buffer *source)
{
    const struct kiln_pooling_schedule *pooling = kiln_emitted_pooling(emission);
    const struct kiln_pooling_window *window = &pooling->windows[0];
    uint32_t argmax = kiln_find_emitted_anchor(emission, KILN_OP_REDUCE_ARGMAX);
    kiln_buffer_append_text(source, "        const bool is_inside = is_row_inside");
    if (window->is_masked)
        kiln_buffer_printf(source,
                           " && ((unsigned)e - %" PRIu32 "u < %" PRIu32
                           "u || (unsigned)(inputs.w0 + e) < %" PRId64 "u)",
                           pooling->span.before, pooling->span.middle, window->size);
    kiln_buffer_append_text(source, ";\n");
    for (uint32_t i = 0; i < emission->group->anchor_count; i++) {
        kiln_buffer_printf(source, "        element%" PRIu32 "[e] = ", i);
        append_element(emission, table, kiln_emitted_anchor(emission, i), source);
        kiln_buffer_append_text(source, ";\n");
    }
    if (argmax != KILN_NONE) {
        int64_t steps[KILN_MAP_MAX_WINDOWS];
        kiln_ir_element_steps(emission->ir, kiln_emitted_anchor(emission, argmax), steps);
        kiln_buffer_printf(source,
                           "        positions[e] = is_inside ? inputs.position + "
                           "kiln_clamp(inputs.w0 + e, %" PRId64 ") * %" PRId64 " : -1;\n",
                           window->size - 1, steps[0]);
    }
}

static void append_reduce_tap(const struct kiln_emission *emission, struct kiln_value_table *table,
                              struct kiln_buffer *source)
{
    const struct kiln_pooling_window *window = &kiln_emitted_pooling(emission)->windows[0];
    bool has_span = kiln_emits_spans(emission);
    enter_place(emission, KILN_PLACE_IMAGE, table);
    kiln_buffer_append_text(
        source, "KILN_DEVICE void kiln_reduce_tap(const kiln_arguments &arguments, "
                "const kiln_tap_inputs &inputs, bool is_inside, kiln_reduced &reduced)\n"
                "{\n    (void)arguments, (void)inputs;\n");
    if (has_span)
        append_span_arrays(emission, source);
    append_values(emission, table, KILN_PLACE_IMAGE, source);
    if (has_span) {
        append_span_elements(emission, table, source);
        kiln_buffer_append_text(source, "    }\n");
        kiln_emit_element_loop("    ", vector_of(emission), source);
        kiln_buffer_printf(source,
                           "        KILN_UNROLL\n        for (int t = 0; t < %" PRId64
                           "; t++) {\n        const int i = e * %" PRId64 " + t;\n",
                           window->reach, window->step);
    }
    for (uint32_t i = 0; i < emission->group->anchor_count; i++)
        append_reduction(emission, table, i, source);
    kiln_buffer_append_text(source, has_span ? "        }\n    }\n}\n" : "    }\n}\n");
}

/* ---- the result ---- */

static void append_compute(const struct kiln_emission *emission, struct kiln_value_table *table,
                           struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    enter_place(emission, KILN_PLACE_ELEMENT, table);
    kiln_buffer_append_text(
        source, "KILN_DEVICE void kiln_compute(const kiln_arguments &arguments, const "
                "kiln_position &position, const kiln_inputs &inputs, const kiln_reduced "
                "&reduced)\n{\n    (void)position, (void)inputs;\n");
    kiln_emit_output_arrays(emission, NULL, vector_of(emission), source);
    append_values(emission, table, KILN_PLACE_ELEMENT, source);
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        kiln_buffer_printf(source, "        y%" PRIu32 "[e] = ", i);
        kiln_emit_encoded(emission, table, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "    }\n");
    kiln_emit_stores(emission, NULL, vector_of(emission), source);
    kiln_buffer_append_text(source, "}\n");
}

/* Loads of both places; false when memory is out. */
static bool append_loads(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t count = emission->group->load_count;
    bool *is_image = calloc((size_t)count + 1, sizeof *is_image);
    bool *is_other = calloc((size_t)count + 1, sizeof *is_other);
    bool good = is_image != NULL && is_other != NULL;
    for (uint32_t i = 0; good && i < count; i++) {
        is_image[i] = is_of_image(emission, i);
        is_other[i] = !is_image[i];
    }
    if (good) {
        kiln_emit_taps(emission, is_image, source);
        kiln_buffer_append_text(source, "struct kiln_inputs {\n");
        kiln_emit_input_members(emission, is_other, vector_of(emission), source);
        kiln_buffer_append_text(source, "};\nKILN_DEVICE void kiln_load(const kiln_arguments "
                                        "&arguments, const kiln_position &position, kiln_inputs "
                                        "&inputs)\n{\n"
                                        "    (void)arguments, (void)position, (void)inputs;\n");
        kiln_emit_loads(emission, is_other, vector_of(emission), source);
        kiln_buffer_append_text(source, "}\n");
    }
    free(is_image);
    free(is_other);
    return good;
}

static void emit_text(const struct kiln_emission *emission,
                      struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    (void)inclusion;
    struct kiln_value_table table;
    if (!kiln_value_table_init(emission, &table)) {
        source->failed = true;
        return;
    }
    kiln_emit_arguments(emission, source);
    kiln_emit_position(emission, source);
    kiln_emit_locate(emission, source);
    if (!append_loads(emission, source))
        source->failed = true;
    append_reduced(emission, source);
    append_reduce_tap(emission, &table, source);
    append_compute(emission, &table, source);
    kiln_value_table_fini(&table);
}

static uint64_t count_vectors(const struct kiln_schedule *schedule)
{
    return schedule->walk.rows * kiln_vectors_of_line(schedule);
}

static void emit_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_emit_grid(emission, source);
    kiln_emit_size_define(emission, "CHUNKS", schedule->launch.chunk_count, "chunks", source);
    kiln_emit_turns(emission, source);
    kiln_emit_size_define(emission, "VECTORS", count_vectors(schedule), "vectors", source);
    kiln_emit_constant("TAPS", kiln_emitted_pooling(emission)->taps, source);
    kiln_emit_constant("TAPS_TOGETHER", kiln_emitted_pooling(emission)->taps_together, source);
}

static void emit_headers(const struct kiln_emission *emission,
                         struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    kiln_emit_chunk_header(emission, inclusion, source);
    kiln_template_append(inclusion, "device/pooling.h", source);
    kiln_emit_size_headers(emission, inclusion, source);
    kiln_emit_access_headers(emission, inclusion, source);
    kiln_emit_operation_headers(emission, inclusion, source);
}

static void visit_integers(struct kiln_integer_walk *walk)
{
    const struct kiln_schedule *schedule = walk->emission->schedule;
    if (!kiln_sizes_are_arguments(walk->emission))
        return;
    if (kiln_schedule_has_turns(schedule))
        kiln_visit_integer(walk, (int64_t)schedule->launch.chunk_count, "chunks");
    kiln_visit_integer(walk, (int64_t)count_vectors(schedule), "vectors");
    if (kiln_walk_has_rows(schedule))
        kiln_visit_split_size(walk, kiln_vectors_of_line(schedule), "line_vectors");
    for (uint32_t axis = 1; axis + 1 < schedule->walk.rank; axis++)
        kiln_visit_axis(walk, axis);
    kiln_visit_strides(walk);
    kiln_visit_counts(walk);
    kiln_visit_window_numbers(walk);
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    (void)schedule;
    return false;
}

static bool result_varies(const struct kiln_schedule *schedule, bool operand_varies)
{
    (void)schedule, (void)operand_varies;
    return true;
}

const struct kiln_emit_family kiln_emit_family_pooling = {
    .defines = emit_defines,
    .headers = emit_headers,
    .text = emit_text,
    .uses_barrier = uses_barrier,
    .visit_integers = visit_integers,
    .result_varies = result_varies,
};
