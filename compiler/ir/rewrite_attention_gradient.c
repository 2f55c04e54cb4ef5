/*
 * The gradients of attention that were found become SCORE, ATTEND and SCORE_FOLD, with what lies
 * between the products made once for each kernel. In kernels that sum along columns the roles of
 * rows and columns are exchanged: their SCOREs have their operands in the other order. No result
 * changes by a bit, but for the order of sums.
 */
#include "compiler/ir/find_attention_gradient.h"
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

#include <string.h>

struct rewriting {
    struct kiln_rewrite base;
    struct kiln_attention_gradients all;
    uint32_t *gradient_of;  /* per operation that a kernel's result replaces: gradient + 1 */
    uint32_t *first_kernel; /* per gradient: number of its first kernel in the program */
    uint32_t **map; /* per gradient, for each of its kernels: inside -> new value; KILN_NONE: not
                       made yet */
};

static const struct kiln_op *op_at(const struct rewriting *rewriting, uint32_t value)
{
    return &rewriting->base.ir->ops[value];
}

static uint32_t arity_of(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->arity;
}

static uint32_t inside_at(const struct rewriting *rewriting, uint32_t gradient, uint32_t value)
{
    return kiln_attention_gradient_inside(&rewriting->all, &rewriting->all.found[gradient], value);
}

/* Where the values of one of a gradient's kernels are. */
static uint32_t *map_of(const struct rewriting *rewriting, uint32_t gradient, uint32_t kernel)
{
    size_t stride = rewriting->all.found[gradient].inside_count;
    return rewriting->map[gradient] + kernel * stride;
}

/* One of a gradient's kernels. */
struct kernel {
    uint32_t gradient, number;
    bool is_transposed; /* its rows are the scores' last axis */
};

/* An operation between the products, for one of the kernels. */
static uint32_t make_inside(struct rewriting *rewriting, const struct kernel *kernel,
                            uint32_t value)
{
    struct kiln_ir *out = &rewriting->base.out;
    const uint32_t *map = map_of(rewriting, kernel->gradient, kernel->number);
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, value);
    const struct kiln_op *old = op_at(rewriting, value);
    op.tensor = KILN_NONE;
    if (op.opcode == KILN_OP_CONTRACT) {
        op.opcode = KILN_OP_SCORE;
        op.kernel = rewriting->first_kernel[kernel->gradient] + kernel->number;
        const struct kiln_contraction *contraction = &out->contractions[op.contraction];
        struct kiln_contraction_axis m;
        uint8_t rows = kernel->is_transposed ? 0 : 1;
        if (kiln_contraction_only_axis(contraction, KILN_AXIS_M, &m) &&
            m.of[KILN_CONTRACT_RESULT].along != rows)
            kiln_ir_swap_operands(out, &op);
    }
    for (uint32_t k = 0; old->opcode != KILN_OP_CONTRACT && k < arity_of(old); k++) {
        uint32_t at = inside_at(rewriting, kernel->gradient, old->operands[k]);
        if (at != KILN_NONE)
            op.operands[k] = map[at];
    }
    return kiln_ir_append(out, &op);
}

/* A value between the products, with all that it is computed from, for one of the kernels. */
static uint32_t make_weights(struct rewriting *rewriting, const struct kernel *kernel,
                             uint32_t value)
{
    const uint32_t *inside = rewriting->all.found[kernel->gradient].inside;
    uint32_t *map = map_of(rewriting, kernel->gradient, kernel->number);
    bool is_needed[KILN_GRADIENT_MAX_INSIDE] = {false};
    uint32_t weights = inside_at(rewriting, kernel->gradient, value);
    is_needed[weights] = true;
    for (uint32_t i = weights + 1; i-- > 0;) {
        const struct kiln_op *op = op_at(rewriting, inside[i]);
        for (uint32_t k = 0; is_needed[i] && op->opcode != KILN_OP_CONTRACT && k < arity_of(op);
             k++) {
            uint32_t at = inside_at(rewriting, kernel->gradient, op->operands[k]);
            if (at != KILN_NONE)
                is_needed[at] = true;
        }
    }
    for (uint32_t i = 0; i <= weights && !rewriting->base.out.failed; i++) {
        if (is_needed[i] && map[i] == KILN_NONE)
            map[i] = make_inside(rewriting, kernel, inside[i]);
    }
    return map[weights];
}

static uint32_t make_attend(struct rewriting *rewriting, uint32_t gradient,
                            const struct kiln_gradient_attend *attend)
{
    const struct kernel kernel = {gradient, attend->kernel, attend->is_transposed};
    struct kiln_ir *out = &rewriting->base.out;
    uint32_t weights =
        make_weights(rewriting, &kernel, op_at(rewriting, attend->value)->operands[attend->side]);
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, attend->value);
    op.opcode = KILN_OP_ATTEND;
    op.kernel = rewriting->first_kernel[gradient] + attend->kernel;
    op.operands[attend->side] = weights;
    if (attend->side != 0 && !out->failed)
        kiln_ir_swap_operands(out, &op);
    return kiln_ir_append(out, &op);
}

/* The domain of a fold: what a sum is along batches is the fold's, along rows or columns it is left
 * to a REDUCE. */
static uint32_t fold_domain(struct rewriting *rewriting, uint32_t value, uint32_t sum)
{
    struct kiln_ir *out = &rewriting->base.out;
    const struct kiln_domain source = out->domains[op_at(rewriting, value)->domain];
    const struct kiln_domain *result = &out->domains[op_at(rewriting, sum)->domain];
    uint32_t batches = source.rank < 2 ? 0 : (1u << (source.rank - 2)) - 1;
    uint32_t axes = kiln_domain_reduced_axes(&source, result);
    return (axes & ~batches) == 0 ? op_at(rewriting, sum)->domain
                                  : kiln_ir_domain_without(out, &source, axes & batches);
}

/* In the place of the value itself. What is rounded is rounded behind the fold, where it is known
 * to be. */
static uint32_t make_stored(struct rewriting *rewriting, const struct kernel *kernel,
                            uint32_t value)
{
    struct kiln_ir *out = &rewriting->base.out;
    const struct kiln_op *old = op_at(rewriting, value);
    bool is_rounded = old->opcode == KILN_OP_ROUND;
    struct kiln_op rounded = kiln_rewrite_operands(&rewriting->base, value);
    struct kiln_op fold = rounded;
    fold.opcode = KILN_OP_SCORE_FOLD;
    fold.operands[0] = make_weights(rewriting, kernel, is_rounded ? old->operands[0] : value);
    fold.operands[1] = fold.operands[2] = KILN_NONE;
    if (!is_rounded)
        return kiln_ir_append(out, &fold);
    fold.dtype = (enum kiln_dtype)0;
    fold.tensor = KILN_NONE;
    rounded.operands[0] = kiln_ir_append(out, &fold);
    return kiln_ir_append(out, &rounded);
}

/* In the place of the sum that reads the value, or of the value itself. */
static uint32_t make_fold(struct rewriting *rewriting, uint32_t gradient,
                          const struct kiln_gradient_fold *fold)
{
    const struct kernel kernel = {gradient, fold->kernel, false};
    struct kiln_ir *out = &rewriting->base.out;
    if (fold->reader == KILN_NONE)
        return make_stored(rewriting, &kernel, fold->value);
    uint32_t weights = make_weights(rewriting, &kernel, fold->value);
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, fold->reader);
    struct kiln_op sum = op;
    op.opcode = KILN_OP_SCORE_FOLD;
    op.operands[0] = weights;
    op.domain = fold_domain(rewriting, fold->value, fold->reader);
    bool is_whole = op.domain == sum.domain;
    op.tensor = is_whole ? op.tensor : KILN_NONE;
    sum.operands[0] = kiln_ir_append(out, &op);
    return is_whole ? sum.operands[0] : kiln_ir_append(out, &sum);
}

/* The operation that a fold replaces. */
static uint32_t fold_place(const struct kiln_gradient_fold *fold)
{
    return fold->reader == KILN_NONE ? fold->value : fold->reader;
}

static uint32_t rewrite(struct rewriting *rewriting, uint32_t index)
{
    uint32_t g = rewriting->gradient_of[index] - 1;
    const struct kiln_attention_gradient *gradient =
        rewriting->gradient_of[index] == 0 ? NULL : &rewriting->all.found[g];
    for (uint32_t a = 0; gradient != NULL && a < gradient->attend_count; a++) {
        if (gradient->attends[a].value == index)
            return make_attend(rewriting, g, &gradient->attends[a]);
    }
    for (uint32_t f = 0; gradient != NULL && f < gradient->fold_count; f++) {
        if (index == fold_place(&gradient->folds[f]))
            return make_fold(rewriting, g, &gradient->folds[f]);
    }
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, index);
    return kiln_ir_append(&rewriting->base.out, &op);
}

static void name_places(struct rewriting *rewriting)
{
    for (uint32_t g = rewriting->all.count; g-- > 0;) {
        const struct kiln_attention_gradient *gradient = &rewriting->all.found[g];
        for (uint32_t a = 0; a < gradient->attend_count; a++)
            rewriting->gradient_of[gradient->attends[a].value] = g + 1;
        for (uint32_t f = 0; f < gradient->fold_count; f++)
            rewriting->gradient_of[fold_place(&gradient->folds[f])] = g + 1;
    }
}

/* Numbers the kernels of all gradients, and makes their maps. */
static bool begin_kernels(struct rewriting *rewriting, struct kiln_arena *arena)
{
    uint32_t kernels = 0;
    rewriting->first_kernel =
        kiln_arena_calloc(arena, rewriting->all.count, sizeof *rewriting->first_kernel);
    rewriting->map = kiln_arena_calloc(arena, rewriting->all.count, sizeof *rewriting->map);
    rewriting->gradient_of =
        kiln_arena_calloc(arena, rewriting->base.ir->op_count, sizeof *rewriting->gradient_of);
    if (rewriting->first_kernel == NULL || rewriting->map == NULL || rewriting->gradient_of == NULL)
        return false;
    name_places(rewriting);
    for (uint32_t g = 0; g < rewriting->all.count; g++) {
        const struct kiln_attention_gradient *gradient = &rewriting->all.found[g];
        size_t values = (size_t)gradient->kernel_count * gradient->inside_count;
        rewriting->map[g] = kiln_arena_calloc(arena, values, sizeof **rewriting->map);
        if (rewriting->map[g] == NULL)
            return false;
        memset(rewriting->map[g], 0xff, values * sizeof **rewriting->map);
        rewriting->first_kernel[g] = kernels + 1;
        kernels += gradient->kernel_count;
    }
    return true;
}

enum kiln_status kiln_ir_recognize_attention_gradient(struct kiln_ir *ir,
                                                      struct kiln_pass_context *context,
                                                      struct kiln_error *error)
{
    uint32_t products = 0;
    context->is_found = false;
    for (uint32_t i = 0; i < ir->op_count; i++)
        products += ir->ops[i].opcode == KILN_OP_CONTRACT;
    if (products < 3)
        return KILN_OK;
    struct rewriting rewriting = {0};
    enum kiln_status status =
        kiln_find_attention_gradients(ir, KILN_ATTENTION_MAX_ROW, &rewriting.all, error);
    if (status != KILN_OK || rewriting.all.count == 0)
        return status;
    status = kiln_rewrite_begin(&rewriting.base, ir, error);
    if (status != KILN_OK)
        return status;
    if (!begin_kernels(&rewriting, ir->arena))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to fuse gradients of attention");
    for (uint32_t i = 0; i < ir->op_count && !rewriting.base.out.failed; i++) {
        rewriting.base.out.node = ir->ops[i].node;
        kiln_rewrite_set(&rewriting.base, i, rewrite(&rewriting, i));
    }
    context->is_found = true;
    return kiln_rewrite_finish(&rewriting.base, error);
}
