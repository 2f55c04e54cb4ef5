#include "compiler/families/contraction/emit/emit_contraction_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_family.h"
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_access.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool kiln_is_loaded_in(const struct kiln_emission *emission, uint32_t access, enum kiln_place place)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    return memory->place == place && !memory->is_store;
}

/* Of the values that attention leaves, sums of weighted values do; maxima and sums of weights
 * belong to the row. */
static bool differs_within_row(const struct kiln_value_table *table, const struct kiln_op *op)
{
    bool differs = op->opcode == KILN_OP_ATTEND || op->opcode == KILN_OP_SCORE_FOLD;
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity && !differs; k++)
        differs = kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_ELEMENTWISE &&
                  table->varies[op->operands[k]];
    return differs;
}

bool kiln_contraction_table_init(const struct kiln_emission *emission, enum kiln_place place,
                                 struct kiln_value_table *table)
{
    const struct kiln_fusion_group *group = emission->group;
    if (!kiln_value_table_init(emission, table))
        return false;
    table->has_literals = true;
    table->are_parameters = true;
    for (uint32_t i = 0; i < group->op_count; i++)
        table->load[group->ops[i]] = KILN_NONE;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].place == place ||
            (place == KILN_PLACE_ELEMENT && group->accesses[i].place == KILN_PLACE_ROW))
            table->load[group->accesses[i].value] = i;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &emission->ir->ops[value];
        table->is_row[value] = table->is_row[value] && place == KILN_PLACE_ELEMENT;
        if (table->is_row[value])
            table->varies[value] = false;
        else if (place == KILN_PLACE_ELEMENT && differs_within_row(table, op))
            table->varies[value] = true;
        table->alias[value] = op->opcode == KILN_OP_BROADCAST && table->load[value] == KILN_NONE
                                  ? table->alias[op->operands[0]]
                                  : value;
    }
    return true;
}

void kiln_emit_contraction_index(const struct kiln_emission *emission,
                                 const struct kiln_value_table *table, uint32_t value,
                                 struct kiln_buffer *source)
{
    const struct kiln_op *op = &emission->ir->ops[value];
    const struct kiln_domain *domain = &emission->ir->domains[op->domain];
    uint32_t from_right = domain->rank - 1 - op->axis;
    kiln_buffer_append_text(source, "        ");
    if (!table->is_row[value])
        kiln_buffer_printf(source, "const %s ", kiln_scalar_type(op->scalar));
    kiln_emit_value(table, value, source);
    kiln_buffer_printf(source, " = (%s)(", kiln_scalar_type(op->scalar));
    kiln_emit_contraction_coordinate(emission, (uint8_t)from_right, source);
    kiln_buffer_append_text(source, ");\n");
}

void kiln_emit_contraction_value(const struct kiln_emission *emission,
                                 const struct kiln_value_table *table, uint32_t value,
                                 struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    if (emission->ir->ops[value].opcode == KILN_OP_INDEX) {
        kiln_emit_contraction_index(emission, table, value, source);
        return;
    }
    kiln_emit_operation(emission, table, value, "        ", source);
    if (table->load[value] != KILN_NONE) /* another kernel's result */
        return;
    if (kiln_op_is_core(&emission->ir->ops[value]))
        kiln_emit_family(group->family)->core_value(emission, value, source);
}

/* Emits the sum of an operand's row, or an element of a product. */
void kiln_emit_contraction_core_value(const struct kiln_emission *emission, uint32_t value,
                                      struct kiln_buffer *source)
{
    if (emission->ir->ops[value].opcode == KILN_OP_REDUCE_SUM)
        kiln_buffer_append_text(source, "sum;\n");
    if (kiln_op_is_contraction(&emission->ir->ops[value]))
        kiln_buffer_printf(source, "value%d;\n", value == emission->group->anchors[0] ? 0 : 1);
}

void kiln_emit_contraction_values(const struct kiln_emission *emission,
                                  const struct kiln_value_table *table, enum kiln_place place,
                                  struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        if ((group->places[i] >> place & 1) && kiln_value_is_computed(emission, table, value) &&
            emission->ir->ops[value].opcode != KILN_OP_CONSTANT)
            kiln_emit_contraction_value(emission, table, value, source);
    }
}
