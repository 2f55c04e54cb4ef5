#include "compiler/emit/emit_counts.h"

#include "compiler/emit/emit_sizes.h"

#include <inttypes.h>

/* Integers up to this are exact as double. */
#define MOST_EXACT 0x1p52

/* A value without its broadcast. */
static uint32_t origin(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = &ir->ops[value];
    return op->opcode == KILN_OP_BROADCAST ? op->operands[0] : value;
}

/* The operand that a REDUCE returns, if an operation divides it, or multiplies it, by a value. */
static uint32_t scaled_sum(const struct kiln_ir *ir, const struct kiln_op *op, uint32_t value)
{
    if (op->opcode != KILN_OP_DIV && op->opcode != KILN_OP_MUL)
        return KILN_NONE;
    uint32_t last = op->opcode == KILN_OP_MUL ? 1 : 0;
    for (uint32_t sum = 0; sum <= last; sum++) {
        if (origin(ir, op->operands[1 - sum]) == value &&
            kiln_opcode_info(ir->ops[op->operands[sum]].opcode)->op_class == KILN_OP_CLASS_REDUCE)
            return sum;
    }
    return KILN_NONE;
}

/* The number of elements that a constant stands for in an operation; 0: for none. */
static int64_t count_in(const struct kiln_op *op, double constant)
{
    bool is_reciprocal = op->opcode == KILN_OP_MUL;
    double count = is_reciprocal ? 1 / constant : constant;
    if (!(count >= 1) || count > MOST_EXACT || count != (double)(int64_t)count)
        return 0;
    int64_t integer = (int64_t)count;
    return is_reciprocal && (integer & (integer - 1)) != 0 ? 0 : integer;
}

/* The same in all of the group. */
static int64_t find_count(const struct kiln_emission *emission, uint32_t value)
{
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_op *constant = &ir->ops[value];
    int64_t count = 0;
    if (emission->schedule->options->shapes != KILN_SHAPES_ARGUMENT ||
        !kiln_sizes_are_arguments(emission) || constant->opcode != KILN_OP_CONSTANT ||
        constant->scalar < KILN_SCALAR_F32)
        return 0;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        bool is_used = false;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            is_used |= origin(ir, op->operands[k]) == value;
        if (!is_used || op->opcode == KILN_OP_BROADCAST)
            continue;
        bool scales_sum = scaled_sum(ir, op, value) != KILN_NONE;
        int64_t own = scales_sum ? count_in(op, constant->constant.real) : 0;
        if (own == 0 || (count != 0 && own != count))
            return 0;
        count = own;
    }
    return count;
}

bool kiln_value_is_count(const struct kiln_emission *emission, uint32_t value)
{
    return find_count(emission, value) != 0;
}

uint32_t kiln_sum_over_count(const struct kiln_emission *emission, const struct kiln_op *op)
{
    if (op->opcode != KILN_OP_DIV && op->opcode != KILN_OP_MUL)
        return KILN_NONE;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t value = origin(emission->ir, op->operands[k]);
        uint32_t sum = scaled_sum(emission->ir, op, value);
        if (sum != KILN_NONE && kiln_value_is_count(emission, value))
            return sum;
    }
    return KILN_NONE;
}

void kiln_visit_counts(struct kiln_integer_walk *walk)
{
    const struct kiln_fusion_group *group = walk->emission->group;
    for (uint32_t i = 0; i < group->op_count; i++) {
        int64_t count = find_count(walk->emission, group->ops[i]);
        if (count != 0)
            kiln_visit_integer(walk, count, "count%" PRIu32, i);
    }
}
