/*
 * Block-scale quantisation. The axis of blocks becomes two axes: blocks, and the elements of one. A
 * scale is an ordinary REDUCE over the second. So blocks are rows of a reduction, and its kernel
 * computes the elementwise work before and after it. A block as long as its axis needs no second
 * axis.
 */
#include "compiler/ir/import.h"
#include "compiler/ir/importer.h"
#include "compiler/reference/round_up.h"

#include <string.h>

struct quantisation {
    struct kiln_ir *ir;
    const struct kiln_tensor *x, *y, *scale;
    const struct kiln_block_quantize *attributes;
    enum kiln_scalar scalar;
};

static int64_t block_count(const struct quantisation *quantisation)
{
    int64_t size = quantisation->x->dims[quantisation->attributes->axis];
    return (size - 1) / quantisation->attributes->block_size + 1;
}

/* The domain of X with the axis of blocks split if there are several blocks of several elements.
 * For `of_scale` the axis of a block's elements has size 1. */
static uint32_t blocks_domain(const struct quantisation *quantisation, bool of_scale)
{
    const struct kiln_tensor *x = quantisation->x;
    const struct kiln_block_quantize *attributes = quantisation->attributes;
    int64_t block_size = attributes->block_size;
    int64_t dims[KILN_MAX_RANK + 1];
    uint32_t rank = 0;
    uint32_t kept = 0; /* of the axes so far */
    uint32_t kept_of_x = kiln_ir_kept_axes(quantisation->ir, x);
    bool is_short = !of_scale && x->dims[attributes->axis] % block_size != 0;
    if (block_size == 1)
        return kiln_ir_tensor_domain(quantisation->ir, x);
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t is_kept = kept_of_x >> (x->rank - 1 - i) & 1;
        if (i != attributes->axis) {
            if (rank == 0 && x->dims[i] == 1 && is_kept == 0)
                continue;
            dims[rank++] = x->dims[i];
            kept = kept << 1 | is_kept;
            continue;
        }
        if (x->dims[i] != block_size || attributes->declares_blocks) {
            dims[rank++] = block_count(quantisation);
            kept = kept << 1 | is_kept;
        }
        if (rank != 0 || !of_scale) {
            dims[rank++] = of_scale ? 1 : block_size;
            kept = kept << 1 | (!of_scale && is_kept != 0);
        }
    }
    struct kiln_domain domain = {.rank = rank, .kept = kept};
    memcpy(domain.dims, dims, rank * sizeof *dims);
    if (is_short) {
        domain.end = x->dims[attributes->axis];
        domain.block_axis = x->rank - 1 - attributes->axis;
    }
    return kiln_ir_domain_like(quantisation->ir, &domain);
}

/* Two roundings upwards in a row are one: the quotient in the computing type, then SCALE's type. */
static uint32_t import_scale(const struct quantisation *quantisation, uint32_t x)
{
    struct kiln_ir *ir = quantisation->ir;
    enum kiln_scalar scalar = quantisation->scalar;
    double largest = kiln_dtype_largest(quantisation->y->dtype);
    uint32_t amax = kiln_ir_unary(ir, KILN_OP_ABS, x);
    uint32_t domain = blocks_domain(quantisation, true);
    if (ir->failed)
        return KILN_NONE;
    if (ir->ops[amax].domain != domain)
        amax = kiln_ir_reduce(ir, KILN_OP_REDUCE_MAX, amax, domain);
    /* 2^31 - 1 is no float. */
    enum kiln_scalar wide =
        scalar == KILN_SCALAR_F32 && (double)(float)largest != largest ? KILN_SCALAR_F64 : scalar;
    amax = kiln_ir_convert(ir, amax, wide);
    uint32_t quotient = kiln_ir_binary(ir, KILN_OP_DIV_UP, amax, kiln_ir_real(ir, wide, largest));
    if (quantisation->scale->dtype != kiln_scalar_dtype(wide))
        quotient = kiln_ir_round_up(ir, quotient, quantisation->scale->dtype);
    return kiln_ir_convert(ir, quotient, scalar);
}

/* An element is no larger than the largest number of Y's type, unless SCALE's type had none large
 * enough: only half is that small. A quotient next to the largest float may overflow where division
 * is not rounded correctly. Conversions to other types than these saturate by themselves. */
static uint32_t limit(const struct quantisation *quantisation, uint32_t value)
{
    struct kiln_ir *ir = quantisation->ir;
    enum kiln_dtype dtype = quantisation->y->dtype;
    bool is_half = dtype == KILN_DTYPE_F16 || dtype == KILN_DTYPE_BF16;
    if (dtype != KILN_DTYPE_F32 && (quantisation->scale->dtype != KILN_DTYPE_F16 || !is_half))
        return value;
    double largest = kiln_dtype_largest(dtype);
    value = kiln_ir_binary(ir, KILN_OP_MIN, value, kiln_ir_real(ir, quantisation->scalar, largest));
    return kiln_ir_binary(ir, KILN_OP_MAX, value, kiln_ir_real(ir, quantisation->scalar, -largest));
}

/* A power of two has an exact inverse. Other scales may be 0; then all elements of the block are.
 */
static uint32_t import_elements(const struct quantisation *quantisation, uint32_t x, uint32_t scale)
{
    struct kiln_ir *ir = quantisation->ir;
    if (ir->failed)
        return KILN_NONE;
    uint32_t domain = ir->ops[x].domain;
    if (quantisation->scale->dtype == KILN_DTYPE_E8M0) {
        uint32_t inverse = kiln_ir_unary(ir, KILN_OP_RCP, scale);
        return kiln_ir_binary(ir, KILN_OP_MUL, x, kiln_ir_broadcast(ir, inverse, domain));
    }
    uint32_t is_zero =
        kiln_ir_binary(ir, KILN_OP_CMP_EQ, scale, kiln_ir_real(ir, quantisation->scalar, 0));
    uint32_t divisor =
        kiln_ir_select(ir, is_zero, kiln_ir_real(ir, quantisation->scalar, 1), scale);
    return kiln_ir_binary(ir, KILN_OP_DIV, x, kiln_ir_broadcast(ir, divisor, domain));
}

/* True if packed elements share bytes with neighbours in memory that another block, or another row,
 * has. */
static bool has_shared_bytes(const struct quantisation *quantisation)
{
    const struct kiln_tensor *y = quantisation->y;
    int64_t unit = kiln_dtype_unit(y->dtype);
    for (uint32_t i = 0; i < y->rank; i++) {
        bool is_of_blocks = i == quantisation->attributes->axis;
        if (y->strides[i] == 1 && y->dims[i] != 1)
            return y->dims[i] % unit != 0 ||
                   (is_of_blocks && quantisation->attributes->block_size % unit != 0);
    }
    return unit != 1;
}

void kiln_import_block_quantize(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_ir *ir = importer->ir;
    const struct quantisation quantisation = {
        .ir = ir,
        .x = &importer->graph->tensors[node->inputs[0]],
        .y = &importer->graph->tensors[node->outputs[0]],
        .scale = &importer->graph->tensors[node->outputs[1]],
        .attributes = &node->block_quantize,
        .scalar = kiln_node_scalar(importer->graph, node),
    };
    uint32_t domain = blocks_domain(&quantisation, false);
    uint32_t x = kiln_ir_broadcast(ir, kiln_importer_value(importer, node->inputs[0]),
                                   kiln_ir_tensor_domain(ir, quantisation.x));
    x = kiln_ir_convert(ir, kiln_ir_view(ir, x, domain), quantisation.scalar);
    uint32_t scale = import_scale(&quantisation, x);
    kiln_importer_define(importer, node->outputs[1], scale);
    uint32_t y = import_elements(&quantisation, x, scale);
    y = limit(&quantisation, y);
    /* A kernel that stores bytes of several blocks walks over the whole tensor as one line. */
    if (!ir->failed && ir->domains[domain].end != 0 && has_shared_bytes(&quantisation))
        y = kiln_ir_view(ir, y, kiln_ir_domain(ir, quantisation.x->dims, quantisation.x->rank));
    kiln_importer_define(importer, node->outputs[0], y);
}
