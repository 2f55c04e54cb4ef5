#include "compiler/emit/emit.h"

#include "compiler/emit/emit_coordinates.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/*
 * Names in the generated text: access i of the group is argument a<i>, input x<i>, output y<i> and
 * tile t<i>; IR value v is v<v>; coordinates as in emit_coordinates.h.
 */

static const char *storage_suffix(const struct kiln_access *access)
{
    return kiln_dtype_info(access->dtype)->device;
}

static void append_arguments(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_append_text(source, "struct kiln_arguments {\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        if (access->kind == KILN_ARGUMENT_HOST_SCALAR)
            kiln_buffer_printf(source, "    alignas(8) kiln_storage_%s a%" PRIu32 ";\n",
                               storage_suffix(access), i);
        else
            kiln_buffer_printf(source, "    %skiln_storage_%s *a%" PRIu32 ";\n",
                               access->is_store ? "" : "const ", storage_suffix(access), i);
    }
    kiln_buffer_append_text(source, "};\n");
}

/* Whether an access has one element per vector only. */
static bool is_splat(const struct kiln_emission *emission, uint32_t access)
{
    return emission->schedule->accesses[access].mode == KILN_ACCESS_SPLAT;
}

/* Functions exist for a whole vector and, where rows have tails, for one element: "kiln_load",
 * "kiln_load_element". */
static const char *element_suffix(const struct kiln_emission *emission, uint32_t elements)
{
    return elements == emission->schedule->vector_elems ? "" : "_element";
}

/* Opens a block that runs for each element e. */
static void append_element_loop(const char *indent, uint32_t elements, struct kiln_buffer *source)
{
    if (elements == 1)
        kiln_buffer_printf(source, "%s{\n%s    const int e = 0;\n", indent, indent);
    else
        kiln_buffer_printf(source, "%sKILN_UNROLL\n%sfor (int e = 0; e < %" PRIu32 "; e++) {\n",
                           indent, indent, elements);
}

static uint32_t vector_bytes(const struct kiln_access *access, uint32_t elements)
{
    return kiln_dtype_info(access->dtype)->bytes * elements;
}

static void append_inputs(const struct kiln_emission *emission, uint32_t elements,
                          struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_printf(source, "struct kiln_inputs%s {\n", element_suffix(emission, elements));
    for (uint32_t i = 0; i < group->load_count; i++)
        kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[%" PRIu32 "];\n",
                           storage_suffix(&group->accesses[i]), i,
                           is_splat(emission, i) ? 1 : elements);
    kiln_buffer_append_text(source, "};\n");
}

/* The head of a generated function that works at one place of the domain. */
static void append_function_head(const struct kiln_emission *emission, const char *name,
                                 uint32_t elements, bool takes_inputs, bool fills_inputs,
                                 struct kiln_buffer *source)
{
    const char *suffix = element_suffix(emission, elements);
    kiln_buffer_printf(source, "KILN_DEVICE void %s%s(const kiln_arguments &arguments", name,
                       suffix);
    kiln_buffer_append_text(source, kiln_emission_is_tiled(emission)
                                        ? ", kiln_tiles &tiles, kiln_position position, "
                                          "kiln_index column, kiln_index line"
                                        : ", const kiln_position &position");
    if (takes_inputs)
        kiln_buffer_printf(source, ", %skiln_inputs%s &inputs", fills_inputs ? "" : "const ",
                           suffix);
    kiln_buffer_append_text(source, ")\n{\n");
    if (kiln_emission_is_tiled(emission))
        kiln_buffer_append_text(source, "    position.column += column;\n"
                                        "    position.line += line;\n");
    kiln_buffer_append_text(source, "    (void)position;\n");
}

/* A single element is no vector. */
static void append_vector_load(const struct kiln_emission *emission, uint32_t access,
                               uint32_t elements, struct kiln_buffer *source)
{
    if (elements == 1)
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = *(arguments.a%" PRIu32 " + (",
                           access, access);
    else
        kiln_buffer_printf(
            source,
            "    KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32 ", arguments.a%" PRIu32 " + (",
            vector_bytes(&emission->group->accesses[access], elements), access, access);
    kiln_emit_offset(emission, access, source);
    kiln_buffer_append_text(source, elements == 1 ? "));\n" : "))\n");
}

static void append_load(const struct kiln_emission *emission, uint32_t elements,
                        struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_schedule *schedule = emission->schedule;
    append_function_head(emission, "kiln_load", elements, true, true, source);
    bool gathers = false;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR) {
            kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", i,
                               i);
            continue;
        }
        switch (schedule->accesses[i].mode) {
        case KILN_ACCESS_VECTOR:
            append_vector_load(emission, i, elements, source);
            break;
        case KILN_ACCESS_SPLAT:
            kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 "[", i,
                               i);
            kiln_emit_offset(emission, i, source);
            kiln_buffer_append_text(source, "];\n");
            break;
        case KILN_ACCESS_TRANSPOSED:
            append_element_loop("    ", elements, source);
            kiln_buffer_printf(source,
                               "        inputs.x%" PRIu32 "[e] = tiles.t%" PRIu32
                               "[column + (kiln_index)e][line];\n    }\n",
                               i, i);
            break;
        case KILN_ACCESS_GATHER:
            gathers = true;
            break;
        }
    }
    if (gathers) {
        append_element_loop("    ", elements, source);
        if (schedule->flattened)
            kiln_emit_line_coordinates(emission, source);
        for (uint32_t i = 0; i < group->load_count; i++) {
            if (schedule->accesses[i].mode != KILN_ACCESS_GATHER)
                continue;
            kiln_buffer_printf(source, "        inputs.x%" PRIu32 "[e] = arguments.a%" PRIu32 "[",
                               i, i);
            kiln_emit_element_offset(emission, i, source);
            kiln_buffer_append_text(source, "];\n");
        }
        kiln_buffer_append_text(source, "    }\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

static const char *scalar_type(enum kiln_scalar scalar)
{
    static const char *const types[KILN_SCALAR_COUNT] = {"bool", "int", "long long", "float",
                                                         "double"};
    return types[scalar];
}

static void append_constant(const struct kiln_op *op, struct kiln_buffer *source)
{
    double real = op->constant.real;
    bool single = op->scalar == KILN_SCALAR_F32;
    if (op->scalar == KILN_SCALAR_BOOL) {
        kiln_buffer_append_text(source, op->constant.integer != 0 ? "true" : "false");
    } else if (op->scalar == KILN_SCALAR_I32 || op->scalar == KILN_SCALAR_I64) {
        /* The lowest integer has no literal of its own. */
        if (op->constant.integer == INT64_MIN)
            kiln_buffer_append_text(source, "(-9223372036854775807ll - 1)");
        else
            kiln_buffer_printf(source, "(%s)%" PRId64 "ll", scalar_type(op->scalar),
                               op->constant.integer);
    } else if (isnan(real)) {
        kiln_buffer_append_text(source, single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")");
    } else if (isinf(real)) {
        kiln_buffer_printf(source, "%s%s", real < 0 ? "-" : "",
                           single ? "__builtin_inff()" : "__builtin_inf()");
    } else {
        kiln_buffer_printf(source, "%a%s", real, single ? "f" : "");
    }
}

/* What the emitter knows of each IR value of the group. */
struct value_table {
    uint32_t *alias; /* the value whose variable holds it: through broadcasts that are computed */
    uint32_t *load;  /* access that loads it, or KILN_NONE */
    bool *varies;    /* differs between the elements of a vector */
};

/* The collapsed axis that an INDEX counts along. KILN_NONE: it is 0 everywhere, since the axis has
 * size 1 in its own domain, however long it is in a domain that it is repeated to. */
static uint32_t index_axis(const struct kiln_emission *emission, const struct kiln_op *op)
{
    const struct kiln_domain *own = &emission->ir->domains[op->domain];
    uint32_t rank = emission->ir->domains[emission->group->domain].rank;
    if (own->dims[op->axis] == 1)
        return KILN_NONE;
    return emission->schedule->domain_axis[op->axis + rank - own->rank];
}

static void free_value_table(struct value_table *table)
{
    free(table->alias);
    free(table->load);
    free(table->varies);
}

/* From the heap: a program may have as many kernels as operations, and the arena keeps all it
 * gives. */
static bool build_value_table(const struct kiln_emission *emission, struct value_table *ret_table)
{
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_schedule *schedule = emission->schedule;
    struct value_table table = {
        .alias = calloc(ir->op_count, sizeof *table.alias),
        .load = calloc(ir->op_count, sizeof *table.load),
        .varies = calloc(ir->op_count, sizeof *table.varies),
    };
    if (table.alias == NULL || table.load == NULL || table.varies == NULL) {
        free_value_table(&table);
        return false;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        table.alias[group->ops[i]] = group->ops[i];
        table.load[group->ops[i]] = KILN_NONE;
    }
    for (uint32_t i = 0; i < group->load_count; i++) {
        table.load[group->accesses[i].value] = i;
        table.varies[group->accesses[i].value] = schedule->accesses[i].mode != KILN_ACCESS_SPLAT;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &ir->ops[value];
        if (table.load[value] != KILN_NONE)
            continue;
        if (op->opcode == KILN_OP_INDEX) {
            uint32_t axis = index_axis(emission, op);
            table.varies[value] =
                axis != KILN_NONE && (schedule->flattened || axis == schedule->rank - 1);
            continue;
        }
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            table.varies[value] |= table.varies[op->operands[k]];
        if (op->opcode == KILN_OP_BROADCAST)
            table.alias[value] = table.alias[op->operands[0]];
    }
    *ret_table = table;
    return true;
}

static void append_index(const struct kiln_emission *emission, const struct kiln_op *op,
                         struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t axis = index_axis(emission, op);
    kiln_buffer_printf(source, "(%s)(", scalar_type(op->scalar));
    if (axis == KILN_NONE) {
        kiln_buffer_append_text(source, "0");
    } else if (schedule->flattened) {
        kiln_buffer_printf(source, "k%" PRIu32, axis);
    } else {
        kiln_emit_coordinate(emission, axis, source);
        if (axis == schedule->rank - 1)
            kiln_buffer_append_text(source, " + (kiln_index)e");
    }
    kiln_buffer_append_text(source, ")");
}

/* "const float v7 = kiln_mul_f32(v3, v5);" */
static void append_operation(const struct kiln_emission *emission, const struct value_table *table,
                             uint32_t value, const char *indent, struct kiln_buffer *source)
{
    const struct kiln_op *op = &emission->ir->ops[value];
    const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
    kiln_buffer_printf(source, "%sconst %s v%" PRIu32 " = ", indent, scalar_type(op->scalar),
                       value);
    uint32_t load = table->load[value];
    if (load != KILN_NONE) {
        kiln_buffer_printf(source, "kiln_decode_%s(inputs.x%" PRIu32 "[%s]);\n",
                           storage_suffix(&emission->group->accesses[load]), load,
                           table->varies[value] ? "e" : "0");
        return;
    }
    if (op->opcode == KILN_OP_CONSTANT) {
        append_constant(op, source);
        kiln_buffer_append_text(source, ";\n");
        return;
    }
    if (op->opcode == KILN_OP_INDEX) {
        append_index(emission, op, source);
        kiln_buffer_append_text(source, ";\n");
        return;
    }
    enum kiln_scalar operand_scalar = emission->ir->ops[op->operands[0]].scalar;
    if (op->opcode == KILN_OP_CONVERT)
        kiln_buffer_printf(source, "kiln_convert_%s_%s(", kiln_scalar_text(operand_scalar),
                           kiln_scalar_text(op->scalar));
    else if (op->opcode == KILN_OP_ROUND)
        kiln_buffer_printf(source, "kiln_round_%s_%s(", kiln_dtype_info(op->dtype)->device,
                           kiln_scalar_text(op->scalar));
    else
        kiln_buffer_printf(
            source, "kiln_%s_%s(", info->text,
            kiln_scalar_text(info->rule == KILN_OP_RULE_COMPARE ? operand_scalar : op->scalar));
    for (uint32_t k = 0; k < info->arity; k++)
        kiln_buffer_printf(source, "%sv%" PRIu32, k == 0 ? "" : ", ",
                           table->alias[op->operands[k]]);
    kiln_buffer_append_text(source, ");\n");
}

static bool is_computed(const struct kiln_emission *emission, const struct value_table *table,
                        uint32_t value)
{
    return emission->ir->ops[value].opcode != KILN_OP_BROADCAST || table->load[value] != KILN_NONE;
}

/* "position.c0 == 0 && ..." over the guard axes of a store other than the inner one; "" when there
 * is none. */
static bool append_guard(const struct kiln_emission *emission, uint32_t access,
                         struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t guard = schedule->accesses[access].guard_axes;
    bool any = false;
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        if (!((guard >> axis) & 1u))
            continue;
        kiln_buffer_append_text(source, any ? " && " : "    if (");
        kiln_emit_coordinate(emission, axis, source);
        kiln_buffer_append_text(source, " == 0");
        any = true;
    }
    if (any)
        kiln_buffer_append_text(source, ")\n    ");
    return any;
}

static void append_element_guard(const struct kiln_emission *emission, uint32_t access,
                                 struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t guard = schedule->accesses[access].guard_axes;
    bool any = false;
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        if (!((guard >> axis) & 1u))
            continue;
        kiln_buffer_append_text(source, any ? " && " : "        if (");
        if (schedule->flattened) {
            kiln_buffer_printf(source, "k%" PRIu32, axis);
        } else {
            kiln_emit_coordinate(emission, axis, source);
            if (axis == schedule->rank - 1)
                kiln_buffer_append_text(source, " + (kiln_index)e");
        }
        kiln_buffer_append_text(source, " == 0");
        any = true;
    }
    kiln_buffer_append_text(source, any ? ")\n            " : "        ");
}

/* A SPLAT store is one whose inner axis is guarded: it takes the first element of the vector. */
static void append_store(const struct kiln_emission *emission, uint32_t access, uint32_t elements,
                         struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    switch (schedule->accesses[access].mode) {
    case KILN_ACCESS_VECTOR:
        append_guard(emission, access, source);
        if (elements == 1)
            kiln_buffer_printf(source, "    *(arguments.a%" PRIu32 " + (", access);
        else
            kiln_buffer_printf(source,
                               "    KILN_STORE_VECTOR(%" PRIu32 ", arguments.a%" PRIu32 " + (",
                               vector_bytes(&emission->group->accesses[access], elements), access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_printf(source, elements == 1 ? ")) = y%" PRIu32 "[0];\n" : "), y%" PRIu32 ")\n",
                           access);
        break;
    case KILN_ACCESS_SPLAT:
        append_guard(emission, access, source);
        kiln_buffer_printf(source, "    arguments.a%" PRIu32 "[", access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_printf(source, "] = y%" PRIu32 "[0];\n", access);
        break;
    case KILN_ACCESS_TRANSPOSED:
        append_element_loop("    ", elements, source);
        kiln_buffer_printf(source,
                           "        tiles.t%" PRIu32 "[column + (kiln_index)e][line] = y%" PRIu32
                           "[e];\n    }\n",
                           access, access);
        break;
    case KILN_ACCESS_GATHER:
        break; /* stored element by element, all such accesses in one loop */
    }
}

static void append_gathered_stores(const struct kiln_emission *emission, uint32_t elements,
                                   struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_schedule *schedule = emission->schedule;
    bool any = false;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (schedule->accesses[i].mode != KILN_ACCESS_GATHER)
            continue;
        if (!any) {
            append_element_loop("    ", elements, source);
            if (schedule->flattened)
                kiln_emit_line_coordinates(emission, source);
        }
        any = true;
        append_element_guard(emission, i, source);
        kiln_buffer_printf(source, "arguments.a%" PRIu32 "[", i);
        kiln_emit_element_offset(emission, i, source);
        kiln_buffer_printf(source, "] = y%" PRIu32 "[e];\n", i);
    }
    if (any)
        kiln_buffer_append_text(source, "    }\n");
}

static void append_compute(const struct kiln_emission *emission, const struct value_table *table,
                           uint32_t elements, struct kiln_buffer *source)
{
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_fusion_group *group = emission->group;
    append_function_head(emission, "kiln_compute", elements, true, false, source);
    kiln_buffer_append_text(source, "    (void)inputs;\n");
    bool needs_coordinates = false;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        needs_coordinates |= ir->ops[value].opcode == KILN_OP_INDEX && table->varies[value];
        if (!table->varies[value] && is_computed(emission, table, value))
            append_operation(emission, table, value, "    ", source);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        kiln_buffer_printf(source, "    kiln_storage_%s y%" PRIu32 "[%" PRIu32 "];\n",
                           storage_suffix(&group->accesses[i]), i, elements);
    append_element_loop("    ", elements, source);
    if (needs_coordinates && emission->schedule->flattened)
        kiln_emit_line_coordinates(emission, source);
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (table->varies[group->ops[i]] && is_computed(emission, table, group->ops[i]))
            append_operation(emission, table, group->ops[i], "        ", source);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        kiln_buffer_printf(source, "        y%" PRIu32 "[e] = kiln_encode_%s(v%" PRIu32 ");\n", i,
                           storage_suffix(&group->accesses[i]),
                           table->alias[group->accesses[i].value]);
    kiln_buffer_append_text(source, "    }\n");
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        append_store(emission, i, elements, source);
    append_gathered_stores(emission, elements, source);
    kiln_buffer_append_text(source, "}\n");
}

static void append_tiles(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_append_text(source, "struct kiln_tiles {\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (emission->schedule->accesses[i].mode == KILN_ACCESS_TRANSPOSED)
            kiln_buffer_printf(
                source, "    alignas(16) kiln_storage_%s t%" PRIu32 "[KILN_TILE][KILN_TILE + 1];\n",
                storage_suffix(&group->accesses[i]), i);
    }
    kiln_buffer_append_text(source, "};\n");
}

static void append_staged_element(const struct kiln_emission *emission, uint32_t access,
                                  struct kiln_buffer *source)
{
    bool store = emission->group->accesses[access].is_store;
    if (!store)
        kiln_buffer_printf(source, "    tiles.t%" PRIu32 "[column][line] = ", access);
    kiln_buffer_printf(source, "%s*(arguments.a%" PRIu32 " + (", store ? "    " : "", access);
    kiln_emit_offset(emission, access, source);
    kiln_buffer_append_text(source, "))");
    if (store)
        kiln_buffer_printf(source, " = tiles.t%" PRIu32 "[column][line]", access);
    kiln_buffer_append_text(source, ";\n");
}

static void append_staged_vector(const struct kiln_emission *emission, uint32_t access,
                                 uint32_t elements, struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    uint32_t bytes = vector_bytes(memory, elements);
    kiln_buffer_printf(source, "    {\n        kiln_storage_%s line_values[%" PRIu32 "];\n",
                       storage_suffix(memory), elements);
    if (memory->is_store) {
        append_element_loop("        ", elements, source);
        kiln_buffer_printf(source,
                           "            line_values[e] = tiles.t%" PRIu32
                           "[column][line + (kiln_index)e];\n        }\n"
                           "        KILN_STORE_VECTOR(%" PRIu32 ", arguments.a%" PRIu32 " + (",
                           access, bytes, access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_append_text(source, "), line_values)\n");
    } else {
        kiln_buffer_printf(
            source, "        KILN_LOAD_VECTOR(%" PRIu32 ", line_values, arguments.a%" PRIu32 " + (",
            bytes, access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_append_text(source, "))\n");
        append_element_loop("        ", elements, source);
        kiln_buffer_printf(source,
                           "            tiles.t%" PRIu32
                           "[column][line + (kiln_index)e] = line_values[e];\n        }\n",
                           access);
    }
    kiln_buffer_append_text(source, "    }\n");
}

/* kiln_stage_in (loads) or kiln_stage_out (stores): vectors along the tile axis. */
static void append_staging(const struct kiln_emission *emission, bool stores, uint32_t elements,
                           struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    append_function_head(emission, stores ? "kiln_stage_out" : "kiln_stage_in", elements, false,
                         false, source);
    kiln_buffer_append_text(source, "    (void)tiles;\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].is_store != stores ||
            emission->schedule->accesses[i].mode != KILN_ACCESS_TRANSPOSED)
            continue;
        if (elements == 1)
            append_staged_element(emission, i, source);
        else
            append_staged_vector(emission, i, elements, source);
    }
    kiln_buffer_append_text(source, "}\n");
}

static void append_functions(const struct kiln_emission *emission, const struct value_table *table,
                             uint32_t elements, struct kiln_buffer *source)
{
    append_inputs(emission, elements, source);
    if (kiln_emission_is_tiled(emission)) {
        append_staging(emission, false, elements, source);
        append_staging(emission, true, elements, source);
    }
    append_load(emission, elements, source);
    append_compute(emission, table, elements, source);
}

void kiln_emit_pointwise(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    struct value_table table;
    if (!build_value_table(emission, &table)) {
        source->failed = true;
        return;
    }
    append_arguments(emission, source);
    kiln_emit_position(emission, source);
    kiln_emit_locate(emission, source);
    if (kiln_emission_is_tiled(emission))
        append_tiles(emission, source);
    append_functions(emission, &table, emission->schedule->vector_elems, source);
    if (kiln_schedule_has_tails(emission->schedule))
        append_functions(emission, &table, 1, source);
    free_value_table(&table);
}
