#include "compiler/ir/operand_sums.h"

#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

/* True if each element of an operand is read once for each of the other one's rows: where windows
 * are, the left operand's of weight gradients, whose right one is the image. */
static bool may_add_up_rows(const struct kiln_contraction *contraction, uint32_t side)
{
    const struct kiln_map *image = kiln_contraction_image(contraction);
    return image->window_count == 0 ||
           (!kiln_map_has_divisor(image) && contraction->image == KILN_CONTRACT_RIGHT && side == 0);
}

/* The axes of an operand, bits counted from the left, that k goes along, each once and in steps of
 * one; 0 where that is not so, where rows are several axes, or where batches share an operand. */
static uint32_t summed_axes(const struct kiln_contraction *contraction,
                            const struct kiln_domain *domain, uint32_t side)
{
    enum kiln_axis_role rows = side == 0 ? KILN_AXIS_M : KILN_AXIS_N;
    uint32_t row_axes = 0;
    uint32_t summed = 0;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        enum kiln_axis_role role = contraction->roles[i];
        const struct kiln_map_axis *axis = &contraction->maps[side].axes[i];
        if (contraction->sizes[i] == 1)
            continue;
        if (role == rows)
            row_axes++;
        if (role == KILN_AXIS_BATCH && (axis->along == KILN_NO_AXIS || axis->repeat.value != 1))
            return 0;
        if (role != KILN_AXIS_K)
            continue;
        if (axis->along >= domain->rank || axis->step.value != 1 ||
            domain->dims[domain->rank - 1 - axis->along] != contraction->sizes[i])
            return 0;
        summed |= UINT32_C(1) << (domain->rank - 1 - axis->along);
    }
    return row_axes > 1 ? 0 : summed;
}

bool kiln_ir_is_operand_sum(const struct kiln_ir *ir, uint32_t reduce, uint32_t contract,
                            uint32_t *ret_side)
{
    const struct kiln_op *sum = &ir->ops[reduce];
    const struct kiln_op *product = &ir->ops[contract];
    if (!kiln_op_reduces_all(sum, KILN_OP_REDUCE_SUM) || product->opcode != KILN_OP_CONTRACT ||
        sum->scalar != product->scalar)
        return false;
    const struct kiln_contraction *contraction = &ir->contractions[product->contraction];
    for (uint32_t side = 0; side < 2; side++) {
        if (sum->operands[0] != product->operands[side] || !may_add_up_rows(contraction, side))
            continue;
        const struct kiln_domain *domain = &ir->domains[ir->ops[sum->operands[0]].domain];
        uint32_t axes = kiln_domain_reduced_axes(domain, &ir->domains[sum->domain]);
        *ret_side = side;
        if (axes != 0 && summed_axes(contraction, domain, side) == axes)
            return true;
    }
    return false;
}

/* True if some product behind this value sums its operand as well. `products` has the products of
 * each value as an operand, in `next` those that follow. */
static bool is_sum_of_later_product(const struct kiln_ir *ir, uint32_t reduce,
                                    const uint32_t *products, const uint32_t *next)
{
    uint32_t side;
    for (uint32_t at = products[ir->ops[reduce].operands[0]]; at != KILN_NONE; at = next[at]) {
        if (at / 2 > reduce && kiln_ir_is_operand_sum(ir, reduce, at / 2, &side))
            return true;
    }
    return false;
}

/* Marks such sums and what is computed from them; false: there are none. */
static bool mark_late(const struct kiln_ir *ir, uint32_t *products, uint32_t *next, bool *is_late)
{
    for (uint32_t i = 0; i < ir->op_count; i++)
        products[i] = KILN_NONE;
    for (uint32_t i = ir->op_count; i-- > 0;) {
        for (uint32_t side = 0; ir->ops[i].opcode == KILN_OP_CONTRACT && side < 2; side++) {
            uint32_t *first = &products[ir->ops[i].operands[side]];
            next[2 * i + side] = *first;
            *first = 2 * i + side;
        }
    }
    bool is_any = false;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        is_late[i] = kiln_op_reduces_all(op, KILN_OP_REDUCE_SUM) &&
                     is_sum_of_later_product(ir, i, products, next);
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            is_late[i] |= is_late[op->operands[k]];
        is_any |= is_late[i];
    }
    return is_any;
}

enum kiln_status kiln_ir_put_sums_behind_products(struct kiln_ir *ir,
                                                  struct kiln_pass_context *context,
                                                  struct kiln_error *error)
{
    (void)context;
    struct kiln_rewrite rewrite;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    size_t count = (size_t)ir->op_count + 1;
    uint32_t *products = kiln_arena_calloc(ir->arena, count, sizeof *products);
    uint32_t *next = kiln_arena_calloc(ir->arena, 2 * count, sizeof *next);
    bool *is_late = kiln_arena_calloc(ir->arena, count, sizeof *is_late);
    if (status != KILN_OK)
        return status;
    if (products == NULL || next == NULL || is_late == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to order sums");
    if (!mark_late(ir, products, next, is_late))
        return KILN_OK;
    for (int late = 0; late < 2; late++) {
        for (uint32_t i = 0; i < ir->op_count && !rewrite.out.failed; i++) {
            if (is_late[i] != (late != 0))
                continue;
            const struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
            kiln_rewrite_set(&rewrite, i, kiln_ir_append(&rewrite.out, &op));
        }
    }
    return kiln_rewrite_finish(&rewrite, error);
}
