/*
 * A reduction of a product's result over n and other axes, as its largest absolute value is: over n
 * first, which the product's kernel does with whole rows, then over what is left, a value for each
 * row.
 *
 * Sums and products differ by roundings only.
 */
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

/* The axis of a CONTRACT's result, bit counted from the left, that is all of n and at most `most`
 * long; 0 when there is none. */
static uint32_t row_axis(const struct kiln_ir *ir, const struct kiln_op *product, int64_t most)
{
    const struct kiln_contraction *contraction = &ir->contractions[product->contraction];
    uint32_t rank = ir->domains[product->domain].rank;
    uint32_t found = 0;
    uint32_t others = 0; /* groups go along a convolution's channels too */
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        uint8_t along = contraction->maps[KILN_CONTRACT_RESULT].axes[i].along;
        bool is_column = contraction->roles[i] == KILN_AXIS_N;
        if (!is_column && contraction->sizes[i] > 1 && along < rank)
            others |= UINT32_C(1) << (rank - 1 - along);
        if (!is_column)
            continue;
        if (found != 0 || along >= rank || contraction->sizes[i] > most)
            return 0;
        found = UINT32_C(1) << (rank - 1 - along);
    }
    return found & ~others;
}

/* The CONTRACT that an elementwise value of the same domain is computed from, or KILN_NONE. */
static uint32_t product_behind(const struct kiln_ir *ir, const uint32_t *products, uint32_t value)
{
    const struct kiln_op *op = &ir->ops[value];
    const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
    if (info->op_class == KILN_OP_CLASS_CONTRACT)
        return value;
    if (info->op_class != KILN_OP_CLASS_ELEMENTWISE)
        return KILN_NONE;
    for (uint32_t k = 0; k < info->arity; k++) {
        if (products[op->operands[k]] != KILN_NONE && ir->ops[op->operands[k]].domain == op->domain)
            return products[op->operands[k]];
    }
    return KILN_NONE;
}

static bool is_split(enum kiln_opcode opcode)
{
    return opcode == KILN_OP_REDUCE_SUM || opcode == KILN_OP_REDUCE_PRODUCT ||
           opcode == KILN_OP_REDUCE_MIN || opcode == KILN_OP_REDUCE_MAX;
}

/* The domain that is left of a reduction's operand after its first step; KILN_NONE: it has one
 * step. Memory may run out: ir->failed. */
static uint32_t first_domain(const struct kiln_ir *ir, struct kiln_ir *out,
                             const uint32_t *products, const struct kiln_op *op, int64_t most)
{
    if (!is_split(op->opcode) || op->map != KILN_NONE || products[op->operands[0]] == KILN_NONE)
        return KILN_NONE;
    const struct kiln_op *product = &ir->ops[products[op->operands[0]]];
    uint32_t axis = row_axis(ir, product, product->scalar == KILN_SCALAR_F64 ? most / 2 : most);
    const struct kiln_domain domain = ir->domains[product->domain];
    uint32_t axes = kiln_domain_reduced_axes(&domain, &ir->domains[op->domain]);
    if ((axes & axis) == 0 || axes == axis)
        return KILN_NONE;
    return kiln_ir_domain_without(out, &domain, axis);
}

enum kiln_status kiln_ir_split_reductions(struct kiln_ir *ir, struct kiln_pass_context *context,
                                          struct kiln_error *error)
{
    (void)context;
    struct kiln_rewrite rewrite;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    uint32_t *products = kiln_arena_calloc(ir->arena, (size_t)ir->op_count + 1, sizeof *products);
    if (status != KILN_OK)
        return status;
    if (products == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to split reductions");
    struct kiln_ir *out = &rewrite.out;
    for (uint32_t i = 0; i < ir->op_count && !out->failed; i++) {
        struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
        products[i] = product_behind(ir, products, i);
        out->node = op.node;
        uint32_t first = first_domain(ir, out, products, &ir->ops[i], KILN_CONTRACTION_MAX_ROW);
        if (first != KILN_NONE) {
            uint32_t rows = kiln_ir_reduce(out, op.opcode, op.operands[0], first);
            kiln_rewrite_set(&rewrite, i, kiln_ir_reduce(out, op.opcode, rows, op.domain));
            continue;
        }
        kiln_rewrite_set(&rewrite, i, kiln_ir_append(out, &op));
    }
    return kiln_rewrite_finish(&rewrite, error);
}
