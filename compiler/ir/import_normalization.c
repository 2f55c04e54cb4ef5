/*
 * Layernorm and RMSNorm, forward and backward. L elements to a row; sums are over the row unless
 * said otherwise. Formulas of hipDNN's reference, in forms that do not cancel:
 *
 *   layernorm  mean m and squares s = sum (x - m)^2 by Welford's update, r = 1/sqrt(s/L + epsilon);
 *              xhat = (x - m)*r
 *   RMSNorm    r = 1/sqrt(sum x^2 / L + epsilon); xhat = x*r
 *   forward    y = xhat*scale + bias
 *   backward   g = dy*scale
 *              dx = (g - sum g / L - xhat*(sum g*xhat / L))*r, RMSNorm without the term of sum g
 *              dscale = sum dy*xhat, dbias = sum dy, each over the axes that its tensor lacks
 *
 * r stays inside the sums although it is the same for a whole row: xhat is of the order of 1, where
 * g*x would overflow or vanish with the size of x.
 */
#include "compiler/ir/import_statistics.h"

struct statistics {
    uint32_t mean;              /* KILN_NONE for RMSNorm */
    uint32_t inverse_deviation; /* r, of each row */
    uint32_t normalized;        /* xhat, over X's domain */
};

/* value*r */
static uint32_t normalize(struct kiln_norm *norm, uint32_t value, uint32_t inverse_deviation)
{
    return kiln_norm_binary(norm, KILN_OP_MUL, value, kiln_norm_wide(norm, inverse_deviation));
}

static struct statistics layernorm_statistics(struct kiln_norm *norm)
{
    struct statistics result;
    result.mean = kiln_norm_given_mean(norm);
    result.inverse_deviation = kiln_norm_given_inverse_deviation(norm);
    uint32_t centered =
        kiln_norm_binary(norm, KILN_OP_SUB, norm->x, kiln_norm_wide(norm, result.mean));
    result.normalized = normalize(norm, centered, result.inverse_deviation);
    return result;
}

static struct statistics rmsnorm_statistics(struct kiln_norm *norm)
{
    struct statistics result = {.mean = KILN_NONE};
    if (kiln_node_input(norm->node, KILN_OPERAND_INV_RMS) != KILN_NONE) {
        result.inverse_deviation = kiln_norm_row_input_or(norm, KILN_OPERAND_INV_RMS, 1);
    } else {
        uint32_t square = kiln_norm_binary(norm, KILN_OP_MUL, norm->x, norm->x);
        result.inverse_deviation = kiln_norm_reciprocal_root(norm, kiln_norm_average(norm, square));
    }
    result.normalized = normalize(norm, norm->x, result.inverse_deviation);
    return result;
}

/* value*SCALE, or the value alone. */
static uint32_t scaled(struct kiln_norm *norm, uint32_t value)
{
    if (kiln_node_input(norm->node, KILN_OPERAND_SCALE) == KILN_NONE)
        return value;
    uint32_t scale = kiln_norm_input(norm, KILN_OPERAND_SCALE);
    return kiln_norm_binary(norm, KILN_OP_MUL, value, kiln_norm_wide(norm, scale));
}

static void import_forward(struct kiln_norm *norm, const struct statistics *statistics)
{
    uint32_t y = scaled(norm, statistics->normalized);
    if (kiln_node_input(norm->node, KILN_OPERAND_BIAS) != KILN_NONE) {
        uint32_t bias = kiln_norm_input(norm, KILN_OPERAND_BIAS);
        y = kiln_norm_binary(norm, KILN_OP_ADD, y, kiln_norm_wide(norm, bias));
    }
    kiln_norm_define(norm, KILN_OPERAND_Y, y);
    kiln_norm_define(norm, KILN_OPERAND_INV_VARIANCE, statistics->inverse_deviation);
    kiln_norm_define(norm, KILN_OPERAND_INV_RMS, statistics->inverse_deviation);
    if (statistics->mean != KILN_NONE)
        kiln_norm_define(norm, KILN_OPERAND_MEAN, statistics->mean);
}

/* Sums over the axes that the output's tensor lacks. */
static void define_sum(struct kiln_norm *norm, enum kiln_operand role, uint32_t value)
{
    const struct kiln_tensor *tensor =
        &norm->importer->graph->tensors[kiln_node_output(norm->node, role)];
    uint32_t domain = kiln_ir_tensor_domain(norm->ir, tensor);
    kiln_norm_define(norm, role, kiln_norm_sum(norm, value, domain));
}

static void import_backward(struct kiln_norm *norm, const struct statistics *statistics)
{
    uint32_t xhat = statistics->normalized;
    uint32_t dy = kiln_norm_wide(norm, kiln_norm_input(norm, KILN_OPERAND_DY));
    if (kiln_node_output(norm->node, KILN_OPERAND_DX) != KILN_NONE) {
        uint32_t g = scaled(norm, dy);
        uint32_t slope = kiln_norm_average(norm, kiln_norm_binary(norm, KILN_OP_MUL, g, xhat));
        uint32_t dx = g;
        if (statistics->mean != KILN_NONE)
            dx = kiln_norm_binary(norm, KILN_OP_SUB, dx,
                                  kiln_norm_wide(norm, kiln_norm_average(norm, g)));
        slope = kiln_norm_binary(norm, KILN_OP_MUL, xhat, kiln_norm_wide(norm, slope));
        dx = kiln_norm_binary(norm, KILN_OP_SUB, dx, slope);
        kiln_norm_define(norm, KILN_OPERAND_DX, normalize(norm, dx, statistics->inverse_deviation));
    }
    if (kiln_node_output(norm->node, KILN_OPERAND_DSCALE) != KILN_NONE)
        define_sum(norm, KILN_OPERAND_DSCALE, kiln_norm_binary(norm, KILN_OP_MUL, dy, xhat));
    if (kiln_node_output(norm->node, KILN_OPERAND_DBIAS) != KILN_NONE)
        define_sum(norm, KILN_OPERAND_DBIAS, dy);
}

void kiln_import_normalization(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_norm norm;
    if (!kiln_norm_init(&norm, importer, node))
        return;
    bool is_rms = node->kind == KILN_NODE_RMSNORM || node->kind == KILN_NODE_RMSNORM_BACKWARD;
    struct statistics statistics = is_rms ? rmsnorm_statistics(&norm) : layernorm_statistics(&norm);
    if (node->kind == KILN_NODE_LAYERNORM || node->kind == KILN_NODE_RMSNORM)
        import_forward(&norm, &statistics);
    else
        import_backward(&norm, &statistics);
}
