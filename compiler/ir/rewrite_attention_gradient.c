/*
 * The gradients of attention that were found become SCORE and ATTEND, with what lies between the
 * products made once for each kernel. In kernels that sum along columns the roles of rows and
 * columns are exchanged: their SCOREs have their operands in the other order. No result changes by
 * a bit, but for the order of sums.
 */
#include "compiler/ir/find_attention_gradient.h"
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

#include <string.h>

struct rewriting {
    struct kiln_rewrite base;
    struct kiln_attention_gradients all;
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

/* An operation between the products, for one of the kernels. */
static uint32_t make_inside(struct rewriting *rewriting, uint32_t gradient,
                            const struct kiln_gradient_attend *attend, uint32_t value)
{
    struct kiln_ir *out = &rewriting->base.out;
    const uint32_t *map = map_of(rewriting, gradient, attend->kernel);
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, value);
    const struct kiln_op *old = op_at(rewriting, value);
    op.tensor = KILN_NONE;
    if (op.opcode == KILN_OP_CONTRACT) {
        op.opcode = KILN_OP_SCORE;
        op.kernel = rewriting->first_kernel[gradient] + attend->kernel;
        const struct kiln_contraction *contraction = &out->contractions[op.contraction];
        uint8_t rows = attend->is_transposed ? 0 : 1;
        if (kiln_contraction_only_axis(contraction, KILN_AXIS_M)->result != rows)
            kiln_ir_swap_operands(out, &op);
    }
    for (uint32_t k = 0; old->opcode != KILN_OP_CONTRACT && k < arity_of(old); k++) {
        uint32_t at = inside_at(rewriting, gradient, old->operands[k]);
        if (at != KILN_NONE)
            op.operands[k] = map[at];
    }
    return kiln_ir_append(out, &op);
}

static uint32_t make_attend(struct rewriting *rewriting, uint32_t gradient,
                            const struct kiln_gradient_attend *attend)
{
    const uint32_t *inside = rewriting->all.found[gradient].inside;
    struct kiln_ir *out = &rewriting->base.out;
    uint32_t *map = map_of(rewriting, gradient, attend->kernel);
    bool is_needed[KILN_GRADIENT_MAX_INSIDE] = {false};
    uint32_t weights =
        inside_at(rewriting, gradient, op_at(rewriting, attend->value)->operands[attend->side]);
    is_needed[weights] = true;
    for (uint32_t i = weights + 1; i-- > 0;) {
        const struct kiln_op *op = op_at(rewriting, inside[i]);
        for (uint32_t k = 0; is_needed[i] && op->opcode != KILN_OP_CONTRACT && k < arity_of(op);
             k++) {
            uint32_t at = inside_at(rewriting, gradient, op->operands[k]);
            if (at != KILN_NONE)
                is_needed[at] = true;
        }
    }
    for (uint32_t i = 0; i <= weights && !out->failed; i++) {
        if (is_needed[i] && map[i] == KILN_NONE)
            map[i] = make_inside(rewriting, gradient, attend, inside[i]);
    }
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, attend->value);
    op.opcode = KILN_OP_ATTEND;
    op.kernel = rewriting->first_kernel[gradient] + attend->kernel;
    op.operands[attend->side] = map[weights];
    if (attend->side != 0 && !out->failed)
        kiln_ir_swap_operands(out, &op);
    return kiln_ir_append(out, &op);
}

static uint32_t rewrite(struct rewriting *rewriting, uint32_t index)
{
    bool is_product = op_at(rewriting, index)->opcode == KILN_OP_CONTRACT;
    for (uint32_t g = 0; g < rewriting->all.count && is_product; g++) {
        const struct kiln_attention_gradient *gradient = &rewriting->all.found[g];
        for (uint32_t a = 0; a < gradient->attend_count; a++) {
            if (gradient->attends[a].value == index)
                return make_attend(rewriting, g, &gradient->attends[a]);
        }
    }
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, index);
    return kiln_ir_append(&rewriting->base.out, &op);
}

/* Numbers the kernels of all gradients, and makes their maps. */
static bool begin_kernels(struct rewriting *rewriting, struct kiln_arena *arena)
{
    uint32_t kernels = 0;
    rewriting->first_kernel =
        kiln_arena_calloc(arena, rewriting->all.count, sizeof *rewriting->first_kernel);
    rewriting->map = kiln_arena_calloc(arena, rewriting->all.count, sizeof *rewriting->map);
    if (rewriting->first_kernel == NULL || rewriting->map == NULL)
        return false;
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

enum kiln_status kiln_ir_recognize_attention_gradient(struct kiln_ir *ir, int64_t most,
                                                      bool *ret_found, struct kiln_error *error)
{
    uint32_t products = 0;
    *ret_found = false;
    for (uint32_t i = 0; i < ir->op_count; i++)
        products += ir->ops[i].opcode == KILN_OP_CONTRACT;
    if (products < 3)
        return KILN_OK;
    struct rewriting rewriting = {0};
    enum kiln_status status = kiln_find_attention_gradients(ir, most, &rewriting.all, error);
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
    *ret_found = true;
    return kiln_rewrite_finish(&rewriting.base, error);
}
