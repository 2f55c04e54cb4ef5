/*
 * Moves views towards the loads. A VIEW of elementwise work on loads becomes the same work along
 * the axes of the view, on loads that see their tensors along these axes, and needs no memory any
 * more:
 *
 *   view(f(a, b)) = f(view(a), view(b))     view(broadcast(a)) = broadcast(view(a))
 *   view(load) = load                       view(index i of [8]) = 4 * index i + index j of [2, 4]
 *
 * STOREs of values on the way move too, since they can see their tensor along any axes that split
 * its own. A row value, such as the mean of a norm, is small: its VIEW stays and reads it from
 * memory.
 *
 * A view stays where it is if its operand is computed from results of core operations, or if a core
 * operation reads it: then it is written to memory anyway. A view with a short last block also
 * stays if a STORE on the way would write bytes that several blocks share.
 *
 * A second pass moves views over products too: a product counts its rows or columns along two axes
 * as well as along one. The view must be the only reader of the product, apart from STOREs;
 * otherwise the product would be computed twice.
 */
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"
#include "compiler/ir/view.h"
#include "compiler/lower_options.h"

#include <string.h>

enum {
    MAX_OPS = 64,      /* that are repeated for one view */
    ROW_ELEMENTS = 16, /* elements per element of a row value, at least */
};

/* One axis becomes two: where it lies from the right, and the sizes. `end` is its own size if the
 * last block is short, and 0 otherwise. `kept` has the bits of kiln_domain.kept of the two. */
struct split {
    uint32_t from_right;
    int64_t outer, inner;
    int64_t end;
    uint32_t kept;
};

struct mover {
    struct kiln_rewrite rewrite;
    const struct kiln_ir *ir; /* the old program */
    const struct kiln_graph *graph;
    uint32_t *first_store;  /* of a value: a STORE, or KILN_NONE */
    uint32_t *next_store;   /* of a STORE: the next one of its value */
    bool *is_pinned;        /* a core operation reads the value */
    bool splits_products;   /* the second pass */
    bool *is_of_product;    /* a CONTRACT, or computed from one element by element */
    uint32_t *reader_count; /* operations that read the value, without STOREs */
    uint32_t *inside_count; /* of these, the ones that the view at work is computed from */
    uint32_t *moved_with;   /* the first view that the value is repeated for, or KILN_NONE */
    uint32_t *copy;         /* the value that was made for that view, in the new program */
    uint32_t *made;         /* the value along the axes of the view at work, or KILN_NONE */
    uint32_t view;          /* at work */
    struct split split;
    uint32_t reached[MAX_OPS]; /* values that the view is computed from */
    uint32_t reached_count;
    bool *is_reached;
};

/* ---- domains ---- */

/* Finds the axis that a view splits. False if it joins axes, or splits several. */
static bool find_split(const struct kiln_domain *from, const struct kiln_domain *to,
                       struct split *ret_split)
{
    if (to->rank != from->rank + 1)
        return false;
    uint32_t i = 0;
    while (i < from->rank && from->dims[from->rank - 1 - i] == to->dims[to->rank - 1 - i])
        i++;
    if (i == from->rank)
        return false;
    *ret_split = (struct split){.from_right = i,
                                .outer = to->dims[to->rank - 2 - i],
                                .inner = to->dims[to->rank - 1 - i],
                                .end = to->end,
                                .kept = to->kept >> i & 3};
    for (uint32_t k = i + 1; k < from->rank; k++) {
        if (from->dims[from->rank - 1 - k] != to->dims[to->rank - 2 - k])
            return false;
    }
    if (from->end != 0 || (to->end != 0 && to->block_axis != i))
        return false;
    int64_t size = to->end != 0 ? to->end : ret_split->outer * ret_split->inner;
    return size == from->dims[from->rank - 1 - i];
}

/* The domain of a value that aligns to the one that is split. KILN_NONE: memory is out. */
static uint32_t split_domain(struct kiln_ir *out, const struct split *split, uint32_t number)
{
    const struct kiln_domain from = out->domains[number];
    if (from.rank <= split->from_right)
        return number;
    uint32_t at = from.rank - 1 - split->from_right;
    bool is_split = from.dims[at] != 1;
    uint32_t below = (1u << split->from_right) - 1, own = from.kept >> split->from_right;
    struct kiln_domain domain = {.rank = from.rank + 1};
    domain.kept = (from.kept & below) | own >> 1 << (split->from_right + 2);
    if (is_split || (own & 1) != 0)
        domain.kept |= split->kept << split->from_right;
    memcpy(domain.dims, from.dims, at * sizeof *domain.dims);
    domain.dims[at] = is_split ? split->outer : 1;
    domain.dims[at + 1] = is_split ? split->inner : 1;
    memcpy(domain.dims + at + 2, from.dims + at + 1, split->from_right * sizeof *domain.dims);
    if (is_split && split->end != 0) {
        domain.end = split->end;
        domain.block_axis = split->from_right;
    }
    return kiln_ir_domain_like(out, &domain);
}

/* ---- what can move ---- */

/* A REPEAT has a map along the axes of its own domain. */
static bool is_elementwise(enum kiln_opcode opcode)
{
    return kiln_opcode_is_elementwise(opcode) && opcode != KILN_OP_REPEAT;
}

static bool is_repeatable(enum kiln_opcode opcode)
{
    return is_elementwise(opcode) || opcode == KILN_OP_INDEX || opcode == KILN_OP_LOAD ||
           opcode == KILN_OP_CONSTANT;
}

/* The operand of the view at work. */
static const struct kiln_op *root_of(const struct mover *mover)
{
    return &mover->ir->ops[mover->ir->ops[mover->view].operands[0]];
}

static bool is_row(const struct mover *mover, uint32_t value)
{
    const struct kiln_domain *domains = mover->ir->domains;
    return kiln_domain_elements(&domains[mover->ir->ops[value].domain]) * ROW_ELEMENTS <=
           kiln_domain_elements(&domains[root_of(mover)->domain]);
}

/* The product with the axis of the view split. */
static bool split_product(const struct mover *mover, const struct kiln_op *op,
                          struct kiln_contraction *ret_split)
{
    return op->opcode == KILN_OP_CONTRACT && op->domain == root_of(mover)->domain &&
           mover->split.end == 0 &&
           kiln_contraction_split(&mover->ir->contractions[op->contraction],
                                  (uint8_t)mover->split.from_right, mover->split.inner, ret_split);
}

/* Kernels of products count along whole columns, so an INDEX along blocks stays. */
static bool counts_blocks(const struct mover *mover, const struct kiln_op *op)
{
    uint32_t rank = mover->ir->domains[op->domain].rank;
    return op->opcode == KILN_OP_INDEX && rank - 1 - op->axis == mover->split.from_right;
}

/* True if the value can be had along the axes of the view. Lists what it is computed from. */
static bool reach(struct mover *mover, uint32_t value)
{
    const struct kiln_op *op = &mover->ir->ops[value];
    struct kiln_contraction split;
    if (mover->is_reached[value])
        return true;
    if (mover->reached_count == MAX_OPS || (mover->splits_products && counts_blocks(mover, op)))
        return false;
    mover->is_reached[value] = true;
    mover->reached[mover->reached_count++] = value;
    if (mover->splits_products && split_product(mover, op, &split))
        return true;
    if (!is_repeatable(op->opcode))
        return is_row(mover, value) && op->opcode != KILN_OP_VIEW;
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
        if (!reach(mover, op->operands[k]))
            return false;
    }
    return true;
}

/* True if the view reads a product that has no other reader. */
static bool has_products_alone(struct mover *mover)
{
    const struct kiln_ir *ir = mover->ir;
    bool has_product = false;
    bool is_alone = true;
    for (uint32_t i = 0; i < mover->reached_count; i++)
        mover->inside_count[mover->reached[i]] = 0;
    mover->inside_count[ir->ops[mover->view].operands[0]] = 1;
    for (uint32_t i = 0; i < mover->reached_count; i++) {
        const struct kiln_op *op = &ir->ops[mover->reached[i]];
        bool is_repeated = is_repeatable(op->opcode);
        has_product |= op->opcode == KILN_OP_CONTRACT;
        for (uint32_t k = 0; is_repeated && k < kiln_opcode_info(op->opcode)->arity; k++)
            mover->inside_count[op->operands[k]]++;
    }
    for (uint32_t i = 0; i < mover->reached_count; i++) {
        uint32_t value = mover->reached[i];
        is_alone &= !mover->is_of_product[value] ||
                    (ir->ops[value].domain == root_of(mover)->domain &&
                     mover->inside_count[value] == mover->reader_count[value]);
    }
    return has_product && is_alone;
}

/* True if packed elements share bytes with neighbours in memory that another block, or another row,
 * may have. */
static bool has_shared_bytes(const struct kiln_tensor *tensor, int64_t block)
{
    int64_t unit = kiln_dtype_unit(tensor->dtype);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->strides[i] == 1 && tensor->dims[i] != 1)
            return tensor->dims[i] % unit != 0 || block % unit != 0;
    }
    return unit != 1;
}

/* True if a STORE that would move writes bytes of several blocks: its kernel walks over the whole
 * tensor as one line, which short last blocks do not allow. */
static bool stores_shared_bytes(const struct mover *mover)
{
    const struct kiln_ir *ir = mover->ir;
    if (mover->split.end == 0)
        return false;
    for (uint32_t i = 0; i < mover->reached_count; i++) {
        uint32_t value = mover->reached[i];
        if (ir->ops[value].domain != root_of(mover)->domain)
            continue;
        for (uint32_t store = mover->first_store[value]; store != KILN_NONE;
             store = mover->next_store[store]) {
            if (has_shared_bytes(&mover->graph->tensors[ir->ops[store].tensor], mover->split.inner))
                return true;
        }
    }
    return false;
}

/* True if the view is one that moves; it is at work from now on. */
static bool moves(struct mover *mover, uint32_t view)
{
    const struct kiln_op *op = &mover->ir->ops[view];
    const struct kiln_ir *ir = mover->ir;
    for (uint32_t i = 0; i < mover->reached_count; i++) {
        mover->made[mover->reached[i]] = KILN_NONE;
        mover->is_reached[mover->reached[i]] = false;
    }
    mover->view = view;
    mover->reached_count = 0;
    if (op->opcode != KILN_OP_VIEW || mover->is_pinned[op->operands[0]] ||
        !find_split(&ir->domains[root_of(mover)->domain], &ir->domains[op->domain], &mover->split))
        return false;
    bool is_wanted = is_repeatable(root_of(mover)->opcode) || mover->splits_products;
    return is_wanted && reach(mover, op->operands[0]) && !stores_shared_bytes(mover) &&
           (!mover->splits_products || has_products_alone(mover));
}

/* ---- moving ---- */

/* An index along the split axis comes from the indices along both new ones. */
static uint32_t split_index(struct mover *mover, const struct kiln_op *op, uint32_t domain)
{
    struct kiln_ir *out = &mover->rewrite.out;
    const struct split *split = &mover->split;
    uint32_t rank = mover->ir->domains[op->domain].rank;
    uint32_t from_right = rank - 1 - op->axis;
    /* The domain may have lost a leading axis of size 1, so axes are named from the right. */
    uint32_t new_rank = out->domains[domain].rank;
    if (from_right != split->from_right || mover->ir->domains[op->domain].dims[op->axis] == 1) {
        uint32_t moved = from_right + (from_right > split->from_right);
        return kiln_ir_index(out, op->scalar, domain, new_rank - 1 - moved);
    }
    uint32_t inner = kiln_ir_index(out, op->scalar, domain, new_rank - 1 - from_right);
    uint32_t outer = kiln_ir_index(out, op->scalar, domain, new_rank - 2 - from_right);
    outer = kiln_ir_binary(out, KILN_OP_MUL, outer, kiln_ir_integer(out, op->scalar, split->inner));
    uint32_t index = kiln_ir_binary(out, KILN_OP_ADD, outer, inner);
    return split->end == 0 ? index
                           : kiln_ir_binary(out, KILN_OP_MIN, index,
                                            kiln_ir_integer(out, op->scalar, split->end - 1));
}

static void move_stores(struct mover *mover, uint32_t value, uint32_t made)
{
    struct kiln_ir *out = &mover->rewrite.out;
    for (uint32_t store = mover->first_store[value]; store != KILN_NONE;
         store = mover->next_store[store]) {
        struct kiln_op op = mover->ir->ops[store];
        op.operands[0] = made;
        op.domain = out->ops[made].domain;
        kiln_rewrite_set(&mover->rewrite, store, kiln_ir_append(out, &op));
    }
}

/* The value along the axes of the view, in the new program. */
static uint32_t move(struct mover *mover, uint32_t value)
{
    struct kiln_ir *out = &mover->rewrite.out;
    if (out->failed || mover->made[value] != KILN_NONE)
        return mover->made[value];
    struct kiln_op op = mover->ir->ops[value];
    uint32_t domain = split_domain(out, &mover->split, op.domain);
    uint32_t made = mover->rewrite.map[value];
    if (domain == op.domain || out->failed) {
        mover->made[value] = made;
        return made;
    }
    out->node = op.node;
    struct kiln_contraction split;
    if (mover->splits_products && split_product(mover, &mover->ir->ops[value], &split)) {
        op = kiln_rewrite_operands(&mover->rewrite, value);
        op.domain = domain;
        op.contraction = kiln_ir_intern_contraction(out, &split);
        made = op.contraction == KILN_NONE ? KILN_NONE : kiln_ir_append(out, &op);
    } else if (!is_repeatable(op.opcode)) {
        made = kiln_ir_view(out, made, domain);
    } else if (op.opcode == KILN_OP_INDEX) {
        made = split_index(mover, &op, domain);
    } else {
        for (uint32_t k = 0; k < kiln_opcode_info(op.opcode)->arity; k++)
            op.operands[k] = move(mover, op.operands[k]);
        op.domain = domain;
        made = kiln_ir_append(out, &op);
    }
    if (out->failed)
        return KILN_NONE;
    mover->made[value] = made;
    if (mover->moved_with[value] == mover->view) {
        mover->copy[value] = made;
        move_stores(mover, value, made);
    }
    return made;
}

/* ---- the pass ---- */

static bool init(struct mover *mover)
{
    const struct kiln_ir *ir = mover->ir;
    uint32_t **const numbers[] = {&mover->first_store, &mover->next_store, &mover->moved_with,
                                  &mover->copy, &mover->made};
    uint32_t **const counts[] = {&mover->reader_count, &mover->inside_count};
    bool **const marks[] = {&mover->is_pinned, &mover->is_reached, &mover->is_of_product};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = kiln_arena_calloc(ir->arena, (size_t)ir->op_count + 1, sizeof **numbers[i]);
        for (uint32_t k = 0; *numbers[i] != NULL && k < ir->op_count; k++)
            (*numbers[i])[k] = KILN_NONE;
        if (*numbers[i] == NULL)
            return false;
    }
    bool good = true;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        *counts[i] = kiln_arena_calloc(ir->arena, (size_t)ir->op_count + 1, sizeof **counts[i]);
        good = good && *counts[i] != NULL;
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        *marks[i] = kiln_arena_calloc(ir->arena, (size_t)ir->op_count + 1, sizeof **marks[i]);
        good = good && *marks[i] != NULL;
    }
    return good;
}

static void find_readers(struct mover *mover)
{
    const struct kiln_ir *ir = mover->ir;
    for (uint32_t i = ir->op_count; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[i];
        bool is_plain =
            is_elementwise(op->opcode) || op->opcode == KILN_OP_VIEW || op->opcode == KILN_OP_STORE;
        for (uint32_t k = 0; !is_plain && k < kiln_opcode_info(op->opcode)->arity; k++)
            mover->is_pinned[op->operands[k]] = true;
        for (uint32_t k = 0; op->opcode != KILN_OP_STORE && k < kiln_opcode_info(op->opcode)->arity;
             k++)
            mover->reader_count[op->operands[k]]++;
        if (op->opcode == KILN_OP_STORE) {
            mover->next_store[i] = mover->first_store[op->operands[0]];
            mover->first_store[op->operands[0]] = i;
        }
    }
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        mover->is_of_product[i] = kiln_opcode_contracts(op->opcode);
        for (uint32_t k = 0; is_repeatable(op->opcode) && k < kiln_opcode_info(op->opcode)->arity;
             k++)
            mover->is_of_product[i] |= mover->is_of_product[op->operands[k]];
    }
}

/* Finds the values whose STOREs move, each with the first view that repeats it. False if no view
 * moves. */
static bool find_moved(struct mover *mover)
{
    const struct kiln_ir *ir = mover->ir;
    bool any = false;
    for (uint32_t view = 0; view < ir->op_count; view++) {
        if (ir->ops[view].opcode != KILN_OP_VIEW || !moves(mover, view))
            continue;
        any = true;
        uint32_t domain = ir->ops[ir->ops[view].operands[0]].domain;
        for (uint32_t i = 0; i < mover->reached_count; i++) {
            uint32_t value = mover->reached[i];
            if (ir->ops[value].domain == domain && mover->moved_with[value] == KILN_NONE)
                mover->moved_with[value] = view;
        }
    }
    return any;
}

/* A result whose STORE has moved is computed where that is. */
static void rename_results(const struct mover *mover, const uint32_t *values, struct kiln_ir *ir)
{
    for (uint32_t i = 0; i < ir->result_count; i++) {
        if (values[i] == KILN_NONE || mover->moved_with[values[i]] == KILN_NONE)
            continue;
        ir->results[i].fate = KILN_RESULT_VALUE;
        ir->results[i].value = mover->copy[values[i]];
    }
}

/* *ret_any: some views moved. */
static enum kiln_status move_views(struct kiln_ir *ir, const struct kiln_graph *graph,
                                   bool splits_products, bool *ret_any, struct kiln_error *error)
{
    struct mover mover = {.ir = ir, .graph = graph, .splits_products = splits_products};
    *ret_any = false;
    uint32_t *values = kiln_arena_calloc(ir->arena, (size_t)ir->result_count + 1, sizeof *values);
    if (values == NULL || !init(&mover))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to move views");
    find_readers(&mover);
    *ret_any = find_moved(&mover);
    if (!*ret_any)
        return KILN_OK;
    for (uint32_t i = 0; i < ir->result_count; i++)
        values[i] = ir->results[i].fate == KILN_RESULT_VALUE ? ir->results[i].value : KILN_NONE;
    enum kiln_status status = kiln_rewrite_begin(&mover.rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    for (uint32_t i = 0; i < ir->op_count && !mover.rewrite.out.failed; i++) {
        const struct kiln_op *op = &ir->ops[i];
        if (op->opcode == KILN_OP_STORE && mover.moved_with[op->operands[0]] != KILN_NONE)
            continue;
        if (op->opcode == KILN_OP_VIEW && moves(&mover, i)) {
            kiln_rewrite_set(&mover.rewrite, i, move(&mover, op->operands[0]));
            continue;
        }
        struct kiln_op same = kiln_rewrite_operands(&mover.rewrite, i);
        kiln_rewrite_set(&mover.rewrite, i, kiln_ir_append(&mover.rewrite.out, &same));
    }
    status = kiln_rewrite_finish(&mover.rewrite, error);
    if (status == KILN_OK)
        rename_results(&mover, values, ir);
    return status;
}

enum kiln_status kiln_ir_move_views(struct kiln_ir *ir, struct kiln_pass_context *context,
                                    struct kiln_error *error)
{
    bool any;
    return move_views(ir, context->graph, false, &any, error);
}

enum kiln_status kiln_ir_move_views_over_products(struct kiln_ir *ir,
                                                  struct kiln_pass_context *context,
                                                  struct kiln_error *error)
{
    context->is_found = false;
    if (context->options != NULL && context->options->no_fusion)
        return KILN_OK;
    return move_views(ir, context->graph, true, &context->is_found, error);
}
