#include "compiler/emit/emit_contraction_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/fuse/contraction_group.h"
#include "compiler/schedule/contraction_access.h"
#include "compiler/schedule/contraction_small.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void kiln_emit_contraction_term(const struct kiln_emission *emission, const char *type,
                                uint32_t access, uint32_t stride, const char *what,
                                struct kiln_buffer *source)
{
    int64_t value = emission->schedule->accesses[access].strides[stride];
    if (value == 0)
        return;
    kiln_buffer_printf(source, " + (%s)(%s)", type, what);
    if (kiln_is_stride_argument(emission, access, stride))
        kiln_buffer_printf(source, " * (%s)arguments.s%" PRIu32 "_%" PRIu32, type, access, stride);
    else if (value != 1)
        kiln_buffer_printf(source, " * (%s)%" PRId64, type, value);
}

bool kiln_is_loaded_in(const struct kiln_emission *emission, uint32_t access, enum kiln_place place)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    return memory->place == place && !memory->is_store;
}

void kiln_print_batch_coordinate(const struct kiln_emission *emission, uint32_t batch,
                                 bool is_of_scores, const char *of, char *text, size_t size)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    bool is_outer = is_of_scores && contraction->has_outer && contraction->outer_batch == batch;
    (void)snprintf(text, size,
                   is_outer ? "(%s.c%" PRIu32 " * (unsigned)arguments.outer + %s.outer)"
                            : "%s.c%" PRIu32,
                   of, batch, of);
}

/* True unless the text says that each index of a batch axis reads one of the operand. */
static bool repeats_batch(const struct kiln_emission *emission, const char *repeat, uint32_t batch)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const int64_t *repeats =
        strcmp(repeat, "left") == 0 ? contraction->left_repeats : contraction->right_repeats;
    return !kiln_is_contraction_small(contraction) || repeats[batch] != 1;
}

void kiln_emit_contraction_start(const struct kiln_emission *emission, uint32_t access,
                                 const char *repeat, const char *row, const char *column,
                                 struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    if (memory->kind == KILN_ARGUMENT_HOST_SCALAR)
        return;
    kiln_buffer_printf(source, "    source.p%" PRIu32 " = arguments.a%" PRIu32 " + (0ll", access,
                       access);
    for (uint32_t b = 0; b < kiln_contraction_of(emission)->batch_rank; b++) {
        char index[96];
        char coordinate[160];
        if (kiln_counts_batch_from_first(emission, access, b))
            continue;
        kiln_print_batch_coordinate(emission, b, !kiln_is_access_of_result(memory), "batch", index,
                                    sizeof index);
        if (repeat == NULL || !repeats_batch(emission, repeat, b))
            (void)snprintf(coordinate, sizeof coordinate, "%s", index);
        else
            (void)snprintf(coordinate, sizeof coordinate,
                           "%s / (unsigned)arguments.%s_repeat%" PRIu32, index, repeat, b);
        kiln_emit_contraction_term(emission, "long long", access, KILN_STRIDE_BATCH + b, coordinate,
                                   source);
    }
    if (memory->is_accumulator)
        kiln_buffer_printf(source, " + (long long)%s * arguments.%ssegment_stride",
                           kiln_group_cuts_k(emission->group) ? "batch.segment" : "segment",
                           memory->place == KILN_PLACE_SUM ? "sum_" : "");
    /* Of the operand without windows, where the first tap of a phase is. */
    for (uint32_t p = 0; repeat != NULL && p < kiln_contraction_of(emission)->phase_count &&
                         !kiln_is_access_windowed(emission, access);
         p++) {
        char tap[32];
        (void)snprintf(tap, sizeof tap, "batch.phase%" PRIu32 ".first", p);
        kiln_emit_contraction_term(emission, "long long", access, KILN_STRIDE_PHASE + p, tap,
                                   source);
    }
    if (!kiln_counts_rows_from_first(emission, access))
        kiln_emit_contraction_term(emission, "long long", access, KILN_STRIDE_ROW, row, source);
    if (column != NULL)
        kiln_emit_contraction_term(emission, "long long", access, KILN_STRIDE_COLUMN, column,
                                   source);
    kiln_buffer_append_text(source, ");\n");
}

void kiln_emit_contraction_pointer(const struct kiln_emission *emission, uint32_t access,
                                   struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    if (memory->kind != KILN_ARGUMENT_HOST_SCALAR)
        kiln_buffer_printf(source, "    %skiln_storage_%s *p%" PRIu32 ";\n",
                           memory->is_store ? "" : "const ", kiln_storage_suffix(memory), access);
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
                                 const char *const *elements, struct kiln_value_table *table)
{
    const struct kiln_fusion_group *group = emission->group;
    if (!kiln_value_table_init(emission, table))
        return false;
    table->has_literals = true;
    table->elements = elements;
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
    switch (emission->ir->ops[value].opcode) {
    case KILN_OP_REDUCE_SUM: /* of an operand's row */
        kiln_buffer_append_text(source, "sum;\n");
        break;
    case KILN_OP_CONTRACT:
        kiln_buffer_printf(source, "values[%d][e];\n", value == group->contracts[0] ? 0 : 1);
        break;
    case KILN_OP_SCORE:
        kiln_buffer_printf(source, "sums[%d][e];\n", value == group->contracts[0] ? 0 : 1);
        break;
    case KILN_OP_SCORE_MAX:
        kiln_buffer_append_text(source, "totals.max;\n");
        break;
    case KILN_OP_SCORE_EXP:
        kiln_buffer_append_text(source, "exponentials[e];\n");
        break;
    case KILN_OP_SCORE_SUM:
        kiln_buffer_append_text(source, "totals.sum;\n");
        break;
    case KILN_OP_SCORE_FOLD:
        kiln_buffer_append_text(source, "values[0][e];\n");
        break;
    case KILN_OP_ATTEND:
        kiln_buffer_printf(source, "values[%d][e];\n",
                           value == group->contracts[group->score_count] ? 0 : 1);
        break;
    default:
        break;
    }
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
