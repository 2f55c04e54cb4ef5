/*
 * A product that is written out node by node: one operand repeated along the columns, the other one
 * along the rows, both multiplied element by element, and the products summed. It becomes a
 * CONTRACT, where the sum would walk over all points of m, n and k.
 *
 * Nothing may be rounded to a narrower type between. The result differs by roundings of the sums
 * only.
 */
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

enum {
    /* A kernel of products leaves the k of a tile to one work-group, sums are cut into segments for
     * as many as the target has room for. So few results are few tiles. */
    FEW_RESULTS = 1024,
    LONG_SUM = 1024,
};

/* A sum of products, taken apart. */
struct product {
    uint32_t left, right; /* before they are repeated */
    struct kiln_contraction contraction;
};

static const struct kiln_op *op_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->ops[value];
}

static uint32_t before_broadcast(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = op_at(ir, value);
    return op->opcode == KILN_OP_BROADCAST ? op->operands[0] : value;
}

/* True if a value varies along an axis, counted from the right. */
static bool varies_along(const struct kiln_ir *ir, uint32_t value, uint32_t axis)
{
    const struct kiln_domain *domain = &ir->domains[op_at(ir, value)->domain];
    return axis < domain->rank && !kiln_domain_is_one(domain, domain->rank - 1 - axis);
}

static enum kiln_axis_role role_of(bool is_left, bool is_right, bool is_result)
{
    if (!is_result)
        return KILN_AXIS_K;
    if (is_left == is_right)
        return KILN_AXIS_BATCH;
    return is_left ? KILN_AXIS_M : KILN_AXIS_N;
}

/* Gives every axis its role; false where one has none. Of several axes of rows, or of columns, the
 * last one keeps its role and the others become batches that one operand does not have. */
static bool find_axes(const struct kiln_ir *ir, const struct kiln_domain *points,
                      const struct kiln_op *sum, struct product *product)
{
    uint32_t counts[KILN_AXIS_ROLE_COUNT] = {0};
    uint32_t summed = kiln_domain_reduced_axes(points, &ir->domains[sum->domain]);
    for (uint32_t axis = 0; axis < points->rank; axis++) {
        uint32_t from_left = points->rank - 1 - axis;
        bool is_left = varies_along(ir, product->left, axis);
        bool is_right = varies_along(ir, product->right, axis);
        bool is_result = (summed >> from_left & 1) == 0;
        if (kiln_domain_is_one(points, from_left))
            continue;
        /* What only one operand has and is summed over, or what neither has, is no product. */
        if ((!is_result && !(is_left && is_right)) || (!is_left && !is_right))
            return false;
        enum kiln_axis_role role = role_of(is_left, is_right, is_result);
        if (role == KILN_AXIS_K && counts[role] != 0)
            return false;
        if (role != KILN_AXIS_BATCH && counts[role]++ != 0)
            role = KILN_AXIS_BATCH;
        const struct kiln_map_axis along = kiln_map_axis_along((uint8_t)axis);
        const struct kiln_map_axis nowhere = kiln_map_axis_nowhere();
        kiln_contraction_append(&product->contraction, role, points->dims[from_left],
                                is_left ? along : nowhere, is_right ? along : nowhere,
                                is_result ? along : nowhere);
    }
    /* With one row, or one column, the sum reads no element twice either. */
    return counts[KILN_AXIS_K] == 1 && counts[KILN_AXIS_M] != 0 && counts[KILN_AXIS_N] != 0;
}

/* True if kernels of products can count it, which MATMUL nodes are checked for in the graph, and
 * are the faster ones. */
static bool is_of_fit_size(const struct kiln_contraction *contraction)
{
    int64_t batch = kiln_contraction_size(contraction, KILN_AXIS_BATCH);
    int64_t m = kiln_contraction_size(contraction, KILN_AXIS_M);
    int64_t n = kiln_contraction_size(contraction, KILN_AXIS_N);
    int64_t k = kiln_contraction_size(contraction, KILN_AXIS_K);
    if (batch > INT32_MAX || m > INT32_MAX || n > INT32_MAX || k > INT32_MAX)
        return false;
    return k < LONG_SUM || batch * m * n > FEW_RESULTS;
}

static bool is_product(const struct kiln_ir *ir, const struct kiln_op *sum,
                       struct product *ret_product)
{
    if (!kiln_op_reduces_all(sum, KILN_OP_REDUCE_SUM) || sum->scalar == KILN_SCALAR_I64)
        return false;
    const struct kiln_op *products = op_at(ir, sum->operands[0]);
    if (products->opcode != KILN_OP_MUL)
        return false;
    *ret_product = (struct product){
        .left = before_broadcast(ir, products->operands[0]),
        .right = before_broadcast(ir, products->operands[1]),
    };
    return find_axes(ir, &ir->domains[products->domain], sum, ret_product) &&
           is_of_fit_size(&ret_product->contraction);
}

enum kiln_status kiln_ir_recognize_contractions(struct kiln_ir *ir,
                                                struct kiln_pass_context *context,
                                                struct kiln_error *error)
{
    (void)context;
    struct kiln_rewrite rewrite;
    struct product product;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    /* Products that are outputs too: what writes them sums them up best. */
    bool *is_stored = kiln_arena_calloc(ir->arena, (size_t)ir->op_count + 1, sizeof *is_stored);
    if (status != KILN_OK)
        return status;
    if (is_stored == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to recognize matrix products");
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == KILN_OP_STORE)
            is_stored[ir->ops[i].operands[0]] = true;
    }
    struct kiln_ir *out = &rewrite.out;
    for (uint32_t i = 0; i < ir->op_count && !out->failed; i++) {
        struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
        out->node = op.node;
        uint32_t value;
        if (is_product(out, &op, &product) && !is_stored[ir->ops[i].operands[0]])
            value =
                kiln_ir_contract(out, product.left, product.right, &product.contraction, op.domain);
        else
            value = kiln_ir_append(out, &op);
        kiln_rewrite_set(&rewrite, i, value);
    }
    return kiln_rewrite_finish(&rewrite, error);
}
