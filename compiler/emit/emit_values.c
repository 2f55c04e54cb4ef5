#include "compiler/emit/emit_values.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_counts.h"
#include "compiler/emit/emit_family.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

const char *kiln_scalar_type(enum kiln_scalar scalar)
{
    static const char *const types[KILN_SCALAR_COUNT] = {"bool", "int", "long long", "float",
                                                         "double"};
    return types[scalar];
}

static void append_constant(const struct kiln_value_table *table, uint32_t value,
                            struct kiln_buffer *source)
{
    const struct kiln_op *op = &table->ir->ops[value];
    if (table->is_count[value]) {
        kiln_buffer_printf(source, "(%s)arguments.count%" PRIu32, kiln_scalar_type(op->scalar),
                           table->number[value]);
        return;
    }
    double real = op->constant.real;
    bool single = op->scalar == KILN_SCALAR_F32;
    if (op->scalar == KILN_SCALAR_BOOL) {
        kiln_buffer_append_text(source, op->constant.integer != 0 ? "true" : "false");
    } else if (op->scalar == KILN_SCALAR_I32 || op->scalar == KILN_SCALAR_I64) {
        /* The lowest integer has no literal of its own. */
        if (op->constant.integer == INT64_MIN)
            kiln_buffer_append_text(source, "(-9223372036854775807ll - 1)");
        else
            kiln_buffer_printf(source, "(%s)%" PRId64 "ll", kiln_scalar_type(op->scalar),
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

/* The collapsed axis that an INDEX counts along. KILN_NONE: it is 0 everywhere, since the axis has
 * size 1 in its own domain, however long it is in a domain that it is repeated to; or the group's
 * result is a sum along it. */
static uint32_t index_axis(const struct kiln_emission *emission, const struct kiln_op *op)
{
    const struct kiln_domain *own = &emission->ir->domains[op->domain];
    uint32_t rank = emission->ir->domains[emission->group->domain].rank;
    if (kiln_domain_is_one(own, op->axis) || op->axis + rank < own->rank)
        return KILN_NONE;
    return emission->schedule->walk.domain_axis[op->axis + rank - own->rank];
}

void kiln_value_table_fini(struct kiln_value_table *table)
{
    free(table->number);
    free(table->alias);
    free(table->load);
    free(table->varies);
    free(table->is_row);
    free(table->is_count);
}

/* Computed values differ within a vector when an operand does. The family knows it of core
 * operations, which template and family's text do. */
static bool result_varies(const struct kiln_emission *emission,
                          const struct kiln_value_table *table, const struct kiln_op *op)
{
    const struct kiln_schedule *schedule = emission->schedule;
    if (op->opcode == KILN_OP_INDEX) {
        uint32_t axis = index_axis(emission, op);
        return axis != KILN_NONE &&
               (schedule->walk.form == KILN_WALK_FLATTENED || axis == schedule->walk.rank - 1);
    }
    if (kiln_op_is_core(op)) {
        const struct kiln_emit_family *family = kiln_emit_family(schedule->family);
        return family->result_varies != NULL &&
               family->result_varies(schedule, table->varies[op->operands[0]]);
    }
    bool varies = false;
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
        varies |= table->varies[op->operands[k]];
    return varies;
}

bool kiln_value_table_init(const struct kiln_emission *emission, struct kiln_value_table *ret_table)
{
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_fusion_group *group = emission->group;
    struct kiln_value_table table = {
        .number = calloc(ir->op_count, sizeof *table.number),
        .alias = calloc(ir->op_count, sizeof *table.alias),
        .load = calloc(ir->op_count, sizeof *table.load),
        .varies = calloc(ir->op_count, sizeof *table.varies),
        .is_row = calloc(ir->op_count, sizeof *table.is_row),
        .is_count = calloc(ir->op_count, sizeof *table.is_count),
        .ir = ir,
        .has_literals = kiln_emit_family(group->family)->has_literals,
    };
    if (table.number == NULL || table.alias == NULL || table.load == NULL || table.varies == NULL ||
        table.is_row == NULL || table.is_count == NULL) {
        kiln_value_table_fini(&table);
        return false;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        table.number[group->ops[i]] = i;
        table.alias[group->ops[i]] = group->ops[i];
        table.load[group->ops[i]] = KILN_NONE;
        table.is_count[group->ops[i]] = kiln_value_is_count(emission, group->ops[i]);
    }
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].is_accumulator)
            continue;
        table.load[group->accesses[i].value] = i;
        table.varies[group->accesses[i].value] = !kiln_access_is_splat(emission, i);
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &ir->ops[value];
        if (emission->schedule->places != NULL)
            table.is_row[value] =
                emission->schedule->places[i] == KILN_PLACE_ROW && op->opcode != KILN_OP_CONSTANT;
        if (table.load[value] != KILN_NONE)
            continue;
        table.varies[value] = result_varies(emission, &table, op);
        if (op->opcode == KILN_OP_BROADCAST)
            table.alias[value] = table.alias[op->operands[0]];
    }
    *ret_table = table;
    return true;
}

bool kiln_value_is_computed(const struct kiln_emission *emission,
                            const struct kiln_value_table *table, uint32_t value)
{
    return emission->ir->ops[value].opcode != KILN_OP_BROADCAST || table->load[value] != KILN_NONE;
}

void kiln_emit_value(const struct kiln_value_table *table, uint32_t value,
                     struct kiln_buffer *source)
{
    uint32_t variable = table->alias[value];
    const struct kiln_op *op = &table->ir->ops[variable];
    bool is_array = table->varies[variable];
    if (table->has_literals && op->opcode == KILN_OP_CONSTANT)
        append_constant(table, variable, source);
    else if (!table->is_row[variable] || (table->has_row_variables && !is_array))
        kiln_buffer_printf(source, "v%" PRIu32, table->number[variable]);
    else
        kiln_buffer_printf(source, "row.v%" PRIu32 "%s", table->number[variable],
                           is_array ? "[e]" : "");
}

static void append_index(const struct kiln_emission *emission, const struct kiln_op *op,
                         struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t axis = index_axis(emission, op);
    kiln_buffer_printf(source, "(%s)(", kiln_scalar_type(op->scalar));
    if (axis == KILN_NONE) {
        kiln_buffer_append_text(source, "0");
    } else if (schedule->walk.form == KILN_WALK_FLATTENED) {
        kiln_buffer_printf(source, "k%" PRIu32, axis);
    } else {
        kiln_emit_coordinate(emission, axis, source);
        if (axis == schedule->walk.rank - 1)
            kiln_buffer_append_text(source, " + (kiln_index)e");
    }
    kiln_buffer_append_text(source, ")");
}

/* True if a value and its operand are variables of the same function. */
static bool is_computed_beside_operand(const struct kiln_value_table *table, uint32_t value)
{
    return table->load[value] == KILN_NONE && !table->is_row[value];
}

uint32_t kiln_unrounded_value(const struct kiln_emission *emission,
                              const struct kiln_value_table *table, uint32_t value,
                              enum kiln_dtype dtype)
{
    const struct kiln_op *op = &emission->ir->ops[table->alias[value]];
    return op->opcode == KILN_OP_ROUND && op->dtype == dtype &&
                   is_computed_beside_operand(table, table->alias[value])
               ? op->operands[0]
               : table->alias[value];
}

void kiln_emit_encoded(const struct kiln_emission *emission, const struct kiln_value_table *table,
                       uint32_t access, struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    uint32_t value = kiln_unrounded_value(emission, table, memory->value, memory->dtype);
    kiln_buffer_printf(source, "kiln_encode_%s(", kiln_dtype_info(memory->dtype)->device);
    kiln_emit_value(table, value, source);
    kiln_buffer_append_text(source, ")");
}

/* True if many dividends, such as the elements of a vector or a row, share a divisor. False for a
 * constant divisor: compilers have better forms for some. */
static bool shares_divisor(const struct kiln_emission *emission,
                           const struct kiln_value_table *table, uint32_t value)
{
    const struct kiln_op *op = &emission->ir->ops[value];
    if (op->opcode != KILN_OP_DIV || table->is_row[value])
        return false;
    uint32_t divisor = table->alias[op->operands[1]];
    return emission->ir->ops[divisor].opcode != KILN_OP_CONSTANT &&
           (table->is_row[divisor] || (table->varies[value] && !table->varies[divisor]));
}

void kiln_emit_operation(const struct kiln_emission *emission, const struct kiln_value_table *table,
                         uint32_t value, const char *indent, struct kiln_buffer *source)
{
    const struct kiln_op *op = &emission->ir->ops[value];
    uint32_t sum = kiln_sum_over_count(emission, op);
    enum kiln_opcode opcode = sum != KILN_NONE ? KILN_OP_DIV : op->opcode;
    const struct kiln_opcode_info *info = kiln_opcode_info(opcode);
    kiln_buffer_append_text(source, indent);
    if (!table->is_row[value])
        kiln_buffer_printf(source, "const %s ", kiln_scalar_type(op->scalar));
    kiln_emit_value(table, value, source);
    kiln_buffer_append_text(source, " = ");
    uint32_t load = table->load[value];
    if (load != KILN_NONE && table->are_parameters) {
        kiln_buffer_printf(source, "kiln_decode_%s(x%" PRIu32 ");\n",
                           kiln_storage_suffix(&emission->group->accesses[load]), load);
        return;
    }
    if (load != KILN_NONE) {
        kiln_buffer_printf(source, "kiln_decode_%s(inputs.x%" PRIu32 "[%s]);\n",
                           kiln_storage_suffix(&emission->group->accesses[load]), load,
                           table->varies[value] ? "e" : "0");
        return;
    }
    if (op->opcode == KILN_OP_CONSTANT) {
        append_constant(table, value, source);
        kiln_buffer_append_text(source, ";\n");
        return;
    }
    if (kiln_op_is_core(op))
        return;
    if (op->opcode == KILN_OP_INDEX) {
        append_index(emission, op, source);
        kiln_buffer_append_text(source, ";\n");
        return;
    }
    if (op->opcode == KILN_OP_COPY) {
        kiln_emit_value(table, op->operands[0], source);
        kiln_buffer_append_text(source, ";\n");
        return;
    }
    enum kiln_scalar operand_scalar = emission->ir->ops[op->operands[0]].scalar;
    load = table->load[op->operands[0]];
    if (op->opcode == KILN_OP_CONVERT && op->scalar == KILN_SCALAR_F32 &&
        table->are_floats != NULL && load != KILN_NONE && table->are_floats[load]) {
        kiln_buffer_printf(source, "floats%" PRIu32 ";\n", load);
        return;
    }
    if (op->opcode == KILN_OP_CONVERT)
        kiln_buffer_printf(source, "kiln_convert_%s_%s(", kiln_scalar_text(operand_scalar),
                           kiln_scalar_text(op->scalar));
    else if (info->rule == KILN_OP_RULE_ROUND)
        kiln_buffer_printf(source, "kiln_%s_%s_%s(", info->text, kiln_dtype_info(op->dtype)->device,
                           kiln_scalar_text(op->scalar));
    else
        kiln_buffer_printf(
            source, "kiln_%s%s_%s(", info->text,
            shares_divisor(emission, table, value) ? "_shared" : "",
            kiln_scalar_text(info->rule == KILN_OP_RULE_COMPARE ? operand_scalar : op->scalar));
    for (uint32_t k = 0; k < info->arity; k++) {
        kiln_buffer_append_text(source, k == 0 ? "" : ", ");
        kiln_emit_value(table, op->operands[sum == 1 ? 1 - k : k], source);
    }
    kiln_buffer_append_text(source, ");\n");
}
