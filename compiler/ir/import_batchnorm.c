/*
 * Batchnorm: inference, training and backward. m elements to a channel; sums are over a channel.
 *
 *   inference  y = (x - mean)*(scale*inv) + bias, inv given or 1/sqrt(variance + epsilon)
 *   training   mean and squares s = sum (x - mean)^2 by Welford's update,
 *              inv = 1/sqrt(s/m + epsilon), y as above;
 *              next_running_mean = (1 - momentum)*prev + momentum*mean,
 *              next_running_variance = (1 - momentum)*prev + momentum*s/(m - 1), s/m for m = 1
 *   backward   xhat = (x - mean)*inv, dbias = sum dy, dscale = sum dy*xhat,
 *              dx = (dy - dbias/m - xhat*(dscale/m))*(scale*inv)
 *
 * hipDNN's reference multiplies by scale and inv one after the other; both are the same for a whole
 * channel, so that their product is taken once.
 */
#include "compiler/ir/import_statistics.h"

static uint32_t mul(struct kiln_norm *norm, uint32_t a, uint32_t b)
{
    return kiln_norm_binary(norm, KILN_OP_MUL, a, b);
}

static uint32_t sub(struct kiln_norm *norm, uint32_t a, uint32_t b)
{
    return kiln_norm_binary(norm, KILN_OP_SUB, a, b);
}

static uint32_t scale_of(struct kiln_norm *norm)
{
    return kiln_norm_row_input_or(norm, KILN_OPERAND_SCALE, 1);
}

static void define_y(struct kiln_norm *norm, uint32_t mean, uint32_t inverse_deviation)
{
    uint32_t factor = mul(norm, scale_of(norm), inverse_deviation);
    uint32_t y = sub(norm, norm->x, kiln_norm_wide(norm, mean));
    y = mul(norm, y, kiln_norm_wide(norm, factor));
    if (kiln_node_input(norm->node, KILN_OPERAND_BIAS) != KILN_NONE) {
        uint32_t bias = kiln_norm_input(norm, KILN_OPERAND_BIAS);
        y = kiln_norm_binary(norm, KILN_OP_ADD, y, kiln_norm_wide(norm, bias));
    }
    kiln_norm_define(norm, KILN_OPERAND_Y, y);
}

static void import_inference(struct kiln_norm *norm)
{
    uint32_t inverse_deviation;
    if (kiln_node_input(norm->node, KILN_OPERAND_VARIANCE) != KILN_NONE)
        inverse_deviation =
            kiln_norm_reciprocal_root(norm, kiln_norm_row_input_or(norm, KILN_OPERAND_VARIANCE, 1));
    else
        inverse_deviation = kiln_norm_row_input_or(norm, KILN_OPERAND_INV_VARIANCE, 1);
    define_y(norm, kiln_norm_row_input_or(norm, KILN_OPERAND_MEAN, 0), inverse_deviation);
}

/* (1 - momentum)*previous + momentum*current */
static void define_running(struct kiln_norm *norm, enum kiln_operand previous_role,
                           enum kiln_operand next_role, uint32_t current)
{
    if (kiln_node_output(norm->node, next_role) == KILN_NONE)
        return;
    uint32_t momentum =
        kiln_norm_input_or(norm, KILN_OPERAND_MOMENTUM, norm->node->normalization.momentum);
    uint32_t rest = sub(norm, kiln_ir_real(norm->ir, norm->scalar, 1), momentum);
    uint32_t previous = mul(norm, rest, kiln_norm_row_input_or(norm, previous_role, 0));
    kiln_norm_define(norm, next_role,
                     kiln_norm_binary(norm, KILN_OP_ADD, previous, mul(norm, momentum, current)));
}

static void import_training(struct kiln_norm *norm)
{
    uint32_t mean = kiln_norm_mean(norm), squares = kiln_norm_squares(norm);
    uint32_t variance = kiln_import_divide(norm->ir, squares, norm->count);
    uint32_t unbiased =
        kiln_import_divide(norm->ir, squares, norm->count > 1 ? norm->count - 1 : 1);
    uint32_t inverse_deviation = kiln_norm_reciprocal_root(norm, variance);
    define_y(norm, mean, inverse_deviation);
    kiln_norm_define(norm, KILN_OPERAND_MEAN, mean);
    kiln_norm_define(norm, KILN_OPERAND_INV_VARIANCE, inverse_deviation);
    define_running(norm, KILN_OPERAND_PREV_RUNNING_MEAN, KILN_OPERAND_NEXT_RUNNING_MEAN, mean);
    define_running(norm, KILN_OPERAND_PREV_RUNNING_VARIANCE, KILN_OPERAND_NEXT_RUNNING_VARIANCE,
                   unbiased);
}

static void import_backward(struct kiln_norm *norm)
{
    uint32_t mean = kiln_norm_given_mean(norm);
    uint32_t inv = kiln_norm_given_inverse_deviation(norm);
    uint32_t dy = kiln_norm_wide(norm, kiln_norm_input(norm, KILN_OPERAND_DY));
    uint32_t xhat = sub(norm, norm->x, kiln_norm_wide(norm, mean));
    xhat = mul(norm, xhat, kiln_norm_wide(norm, inv));
    uint32_t dbias = kiln_norm_sum(norm, dy, norm->rows);
    uint32_t dscale = kiln_norm_sum(norm, mul(norm, dy, xhat), norm->rows);
    uint32_t average = kiln_import_divide(norm->ir, dbias, norm->count);
    uint32_t slope = kiln_import_divide(norm->ir, dscale, norm->count);
    uint32_t factor = mul(norm, scale_of(norm), inv);
    uint32_t dx = sub(norm, dy, kiln_norm_wide(norm, average));
    dx = sub(norm, dx, mul(norm, xhat, kiln_norm_wide(norm, slope)));
    kiln_norm_define(norm, KILN_OPERAND_DX, mul(norm, dx, kiln_norm_wide(norm, factor)));
    kiln_norm_define(norm, KILN_OPERAND_DSCALE, dscale);
    kiln_norm_define(norm, KILN_OPERAND_DBIAS, dbias);
}

void kiln_import_batchnorm(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_norm norm;
    if (!kiln_norm_init(&norm, importer, node))
        return;
    if (node->kind == KILN_NODE_BATCHNORM_INFERENCE)
        import_inference(&norm);
    else if (node->kind == KILN_NODE_BATCHNORM_TRAINING)
        import_training(&norm);
    else
        import_backward(&norm);
}
