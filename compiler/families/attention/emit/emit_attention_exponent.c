#include "compiler/families/attention/emit/emit_attention_exponent.h"

#include "compiler/families/attention/emit/emit_attention_parts.h"

#include <math.h>

enum { HALF_BYTES = 2 };

static bool stages_halves(const struct kiln_emission *emission)
{
    return kiln_dtype_info(kiln_contraction_of(emission)->staged)->bytes == HALF_BYTES;
}

/* Through repetitions. */
static uint32_t repeated(const struct kiln_ir *ir, uint32_t value)
{
    while (ir->ops[value].opcode == KILN_OP_BROADCAST)
        value = ir->ops[value].operands[0];
    return value;
}

/* Within these limits a product with the exponent's other factors is a normal number. */
static bool is_scale(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_CONSTANT && op->scalar == KILN_SCALAR_F32 &&
           op->constant.real >= 0x1p-64 && op->constant.real <= 0x1p64;
}

/* Takes a product with a constant apart. */
static void split_scale(const struct kiln_ir *ir, struct kiln_exponent *exponent)
{
    const struct kiln_op *op = &ir->ops[exponent->value];
    if (op->opcode != KILN_OP_MUL || op->scalar != KILN_SCALAR_F32)
        return;
    for (uint32_t k = 0; k < 2; k++) {
        const struct kiln_op *factor = &ir->ops[repeated(ir, op->operands[k])];
        if (is_scale(factor)) {
            exponent->scale = factor->constant.real;
            exponent->value = op->operands[1 - k];
            return;
        }
    }
}

/* Takes the choice between a value and -infinity apart, if it is the limits' own condition. */
static void split_condition(const struct kiln_emission *emission, struct kiln_exponent *exponent)
{
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_op *op = &ir->ops[exponent->value];
    if (op->opcode != KILN_OP_SELECT || op->scalar != KILN_SCALAR_F32 ||
        op->operands[0] != kiln_attention_of(emission)->mask.visible)
        return;
    const struct kiln_op *otherwise = &ir->ops[repeated(ir, op->operands[2])];
    if (otherwise->opcode != KILN_OP_CONSTANT || otherwise->constant.real != -INFINITY)
        return;
    exponent->condition = op->operands[0];
    exponent->value = op->operands[1];
}

/* True if all that leaves the kernel has 16 bits. */
static bool stores_halves(const struct kiln_emission *emission)
{
    const struct kiln_fusion_group *group = emission->group;
    bool are_halves = true;
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        are_halves &= kiln_dtype_info(group->accesses[i].dtype)->bytes == HALF_BYTES;
    return are_halves;
}

/* Takes constant factors of a tangent's argument apart, unless products with them might differ in
 * more than rounding. */
static void split_tanh(const struct kiln_emission *emission, struct kiln_exponent *exponent)
{
    const double most_cap = 64, least = 0x1p-20, most = 0x1p20, two_log2_e = 0x1.71547652b82fep+1;
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_op *op = &ir->ops[exponent->value];
    if (op->opcode != KILN_OP_TANH || op->scalar != KILN_SCALAR_F32 || exponent->scale > most_cap ||
        !stages_halves(emission) || !stores_halves(emission))
        return;
    exponent->value = op->operands[0];
    exponent->part_factor = two_log2_e;
    exponent->offset = exponent->scale;
    exponent->scale *= 2;
    for (op = &ir->ops[exponent->value]; op->opcode == KILN_OP_MUL;
         op = &ir->ops[exponent->value]) {
        uint32_t constant = KILN_NONE;
        for (uint32_t k = 0; k < 2; k++) {
            const struct kiln_op *factor = &ir->ops[repeated(ir, op->operands[k])];
            double size = fabs(factor->constant.real);
            if (factor->opcode == KILN_OP_CONSTANT && size >= least && size <= most)
                constant = k;
        }
        if (constant == KILN_NONE)
            return;
        exponent->part_factor *= ir->ops[repeated(ir, op->operands[constant])].constant.real;
        exponent->value = op->operands[1 - constant];
    }
}

struct kiln_exponent kiln_find_score_exponent(const struct kiln_emission *emission)
{
    struct kiln_exponent exponent = {
        .value = KILN_NONE, .scale = 1, .condition = KILN_NONE, .shift = KILN_NONE};
    for (uint32_t i = 0; i < emission->group->op_count; i++) {
        const struct kiln_op *op = &emission->ir->ops[emission->group->ops[i]];
        if (op->opcode == KILN_OP_SCORE_EXP)
            exponent.value = op->operands[0];
    }
    if (exponent.value == KILN_NONE)
        return exponent;
    split_condition(emission, &exponent);
    if (kiln_may_scores_be_huge(emission))
        return exponent;
    split_scale(emission->ir, &exponent);
    split_tanh(emission, &exponent);
    return exponent;
}

bool kiln_hides_scores_last(const struct kiln_emission *emission)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    return attention->softmax != KILN_SOFTMAX_NONE &&
           (attention->mask.count == 0 ||
            kiln_find_score_exponent(emission).condition != KILN_NONE);
}

bool kiln_is_weight_exponential(const struct kiln_emission *emission, uint32_t value)
{
    const struct kiln_op *op = &emission->ir->ops[value];
    return op->opcode == KILN_OP_EXP && op->scalar == KILN_SCALAR_F32 && stages_halves(emission);
}

/* Only sums of products are taken apart: whatever else is computed might be the lowest number there
 * is, which may not be multiplied before something is subtracted. */
struct kiln_exponent kiln_find_weight_exponent(const struct kiln_emission *emission, uint32_t value)
{
    const struct kiln_ir *ir = emission->ir;
    struct kiln_exponent exponent = {.value = ir->ops[value].operands[0],
                                     .scale = 1,
                                     .condition = KILN_NONE,
                                     .shift = KILN_NONE};
    const struct kiln_exponent whole = exponent;
    const struct kiln_op *difference = &ir->ops[exponent.value];
    if (difference->opcode != KILN_OP_SUB)
        return whole;
    exponent.value = difference->operands[0];
    exponent.shift = difference->operands[1];
    split_condition(emission, &exponent);
    split_scale(ir, &exponent);
    return ir->ops[exponent.value].opcode == KILN_OP_SCORE ? exponent : whole;
}

bool kiln_emit_scaled_sum(const struct kiln_emission *emission,
                          const struct kiln_value_table *table, uint32_t value,
                          struct kiln_buffer *source)
{
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_op *op = &ir->ops[value];
    for (uint32_t k = 0; k < 2 && op->opcode == KILN_OP_ADD && op->scalar == KILN_SCALAR_F32; k++) {
        struct kiln_exponent product = {.value = op->operands[k]};
        split_scale(ir, &product);
        if (product.scale == 0 || ir->ops[product.value].opcode != KILN_OP_SCORE ||
            table->load[op->operands[k]] != KILN_NONE)
            continue;
        kiln_buffer_append_text(source, "        const float ");
        kiln_emit_value(table, value, source);
        kiln_buffer_append_text(source, " = kiln_fma_f32(");
        kiln_emit_value(table, product.value, source);
        kiln_buffer_printf(source, ", %af, ", product.scale);
        kiln_emit_value(table, op->operands[1 - k], source);
        kiln_buffer_append_text(source, ");\n");
        return true;
    }
    return false;
}

void kiln_emit_weight_exponential(const struct kiln_emission *emission,
                                  const struct kiln_value_table *table, uint32_t value,
                                  struct kiln_buffer *source)
{
    const struct kiln_exponent exponent = kiln_find_weight_exponent(emission, value);
    kiln_buffer_append_text(source, "        const float ");
    kiln_emit_value(table, value, source);
    kiln_buffer_append_text(source, " = KILN_EXPONENTIAL(");
    if (exponent.condition != KILN_NONE) {
        kiln_emit_value(table, exponent.condition, source);
        kiln_buffer_append_text(source, " ? ");
    }
    kiln_buffer_append_text(source,
                            exponent.shift == KILN_NONE ? "kiln_mul_f32(" : "kiln_fma_f32(");
    kiln_emit_value(table, exponent.value, source);
    kiln_buffer_printf(source, ", %af / KILN_EXPONENTIAL_LOG", exponent.scale);
    if (exponent.shift != KILN_NONE) {
        kiln_buffer_append_text(source, ", -(");
        kiln_emit_value(table, exponent.shift, source);
        kiln_buffer_append_text(source, ") * (1.0f / KILN_EXPONENTIAL_LOG)");
    }
    kiln_buffer_append_text(source, exponent.condition == KILN_NONE ? "));\n"
                                                                    : ") : -__builtin_inff());\n");
}
