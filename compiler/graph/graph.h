/*
 * The operation graph, era-free: what hipDNN asked for, checked and typed.
 *
 * A graph comes from kiln_graph_read (compiler/graph/graph_reader.h) and is immutable afterwards.
 * Its invariants, which every later stage relies on and none checks again:
 *   - tensors are in canonical order: first appearance when the nodes are walked in order, each
 *     node's inputs in slot order before its outputs; unreferenced tensors are not in the graph;
 *   - nodes are topologically sorted; every tensor has at most one producer;
 *   - 0 <= rank <= 8, every dim >= 1, the footprint in bytes of each tensor fits in int64;
 *   - the stride of a dim of size 1 is 0 (it is meaningless on the wire);
 *   - a ragged tensor is an operand of attention and nothing else, with the limits of ragged.h; its
 *     stride along the batch is 0, since its offsets say where a batch begins;
 *   - a constant has one element and its value; a virtual tensor has a producer;
 *   - no two elements of a tensor that a node writes are at the same place;
 *   - every non-virtual, non-constant tensor is an input (no producer) or an output (a producer);
 *     with the host scalars these are at most KILN_MAX_GRAPH_BINDINGS;
 *   - operands of reductions, norms, matrix products, convolutions and attention have the shapes
 *     that operand.def states;
 *   - operands of norms and of attention have floating-point types, but sequence lengths int32 or
 *     int64, and a mask may be bool; inputs of products and convolutions have floating-point types,
 *     int8 or uint8;
 *   - parameters and sizes of convolutions are within the limits of struct kiln_convolution, those
 *     of attention within the limits of struct kiln_attention.
 */
#ifndef KILN_COMPILER_GRAPH_GRAPH_H
#define KILN_COMPILER_GRAPH_GRAPH_H

#include "compiler/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KILN_MAX_RANK = 8,
    KILN_MAX_SPATIAL_AXES = 3,   /* of a convolution */
    KILN_MAX_NODE_OPERANDS = 24, /* attention has 15, and offsets of 7 */
    /* Inputs, outputs and host scalars together: executing keeps a word for each on the stack. */
    KILN_MAX_GRAPH_BINDINGS = 4096,
};

/* "No tensor", "no node". */
#define KILN_NONE UINT32_MAX

enum kiln_wire_era {
    KILN_WIRE_ERA_NOV2025,
    KILN_WIRE_ERA_CURRENT,
};

enum kiln_tensor_role {
    KILN_TENSOR_INPUT,    /* device memory, read */
    KILN_TENSOR_OUTPUT,   /* device memory, written by its producer, perhaps read by others too */
    KILN_TENSOR_VIRTUAL,  /* no memory: lives in registers or workspace */
    KILN_TENSOR_CONSTANT, /* one element, its value is part of the graph */
    KILN_TENSOR_HOST_SCALAR, /* one element, a host pointer given at each execute */
};

/* A constant in the widest type of its kind. Which member counts: kiln_dtype_is_integer(dtype). */
struct kiln_constant {
    double real;
    int64_t integer;
};

/*
 * Where the batches of a ragged tensor lie, [batch, heads, sequence, depth]: one after the other,
 * each as long as its own sequence (ragged.h). The dimension of the sequence is the largest length,
 * and no memory.
 */
struct kiln_ragged {
    int64_t multiplier; /* elements that an offset counts, positive; 0: the tensor is not ragged */
    uint32_t offsets;   /* the tensor of them: int32 or int64, batch + 1 elements */
    int64_t token;      /* elements from one of the sequence to the next */
    int64_t longest;    /* tokens that a batch has at most, as declared: may be 0 */
};

struct kiln_tensor {
    int64_t uid;
    const char *name; /* never NULL; untrusted text, print with care */
    enum kiln_dtype dtype;
    enum kiln_tensor_role role;
    uint32_t rank;
    int64_t dims[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK]; /* in elements */
    struct kiln_constant constant;  /* for KILN_TENSOR_CONSTANT: already converted to dtype */
    uint32_t alignment_bytes;       /* what the user promises for the pointer; a power of two */
    uint32_t producer;              /* node index or KILN_NONE */
    struct kiln_ragged ragged;
    /* With override shapes: the tensor as the graph declares it. NULL: this is the declared one. */
    const struct kiln_tensor *declared;
};

enum kiln_node_kind {
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight)                \
    KILN_NODE_##name,
#include "compiler/graph/node_kind.def"
    KILN_NODE_KIND_COUNT
};

/* What an operand is to its node. */
enum kiln_operand {
#define KILN_OPERAND(name, text) KILN_OPERAND_##name,
#include "compiler/graph/operand.def"
    KILN_OPERAND_COUNT
};

enum kiln_reduction_mode {
    KILN_REDUCTION_UNSET = 0,
#define KILN_REDUCTION_MODE(name, number, integer, formula) KILN_REDUCTION_##name = number,
#include "compiler/graph/reduction_mode.def"
    KILN_REDUCTION_MODE_COUNT
};

enum kiln_pointwise_mode {
    KILN_POINTWISE_UNSET = 0,
#define KILN_POINTWISE_MODE(name, number, arity, gradient, integer, formula)                       \
    KILN_POINTWISE_##name = number,
#include "compiler/graph/pointwise_mode.def"
    KILN_POINTWISE_MODE_COUNT
};

/* Attributes of a pointwise node with hipDNN's defaults filled in. A backward mode's inputs are the
 * gradient and the forward input, in this order. */
struct kiln_pointwise {
    enum kiln_pointwise_mode mode;
    bool
        has_relu_parameter; /* any of the three relu fields was given: chooses RELU_BWD's formula */
    double relu_lower_clip;
    double relu_upper_clip; /* +infinity when absent */
    double relu_lower_clip_slope;
    double swish_beta;
    double elu_alpha;
    double softplus_beta;
    uint32_t axis; /* GEN_INDEX: below the rank of the output */
};

/* Attributes of a reduction. */
struct kiln_reduction {
    enum kiln_reduction_mode mode;
    uint32_t axes; /* bit per axis of IN: those where OUT has size 1 and IN more; may be 0 */
};

/* Attributes of the norms and batch norms. */
struct kiln_normalization {
    /*
     * Bit per axis of X: those that one mean and deviation are taken over. Layernorm: the last
     * normalized_dim_count; RMSNorm: the maximal trailing run where SCALE has X's size, without
     * axis 0 when all match; batchnorm: all but axis 1.
     */
    uint32_t axes;
    double epsilon;  /* where there is no EPSILON operand: 1e-5 */
    double momentum; /* where there is no MOMENTUM operand: 0.1 */
};

enum kiln_grouped_mode {
    KILN_GROUPED_NONE,    /* row r of TOKEN makes row r of OUTPUT */
    KILN_GROUPED_GATHER,  /* row TOKEN_INDEX[r] of TOKEN makes row r of OUTPUT */
    KILN_GROUPED_SCATTER, /* row r of TOKEN makes row TOKEN_INDEX[r] * top_k + TOKEN_KS[r] */
    KILN_GROUPED_MODE_COUNT,
};

/*
 * Attributes of a grouped matrix product, as mixtures of experts have it. Group g of G has the rows
 * r from start[g] to before start[g + 1], start[G] being R, and expert g % E:
 *
 *   OUTPUT[to(r)] = TOKEN[from(r)] * WEIGHT[g % E]
 *
 * Rows of OUTPUT that no row makes are 0. Its gradient has G = E:
 *
 *   DWEIGHT[e] = sum over the rows r of group e of TOKEN[r] transposed * DOUTPUT[r]
 *
 * Offsets and indices are unchecked data. start[g] is the largest of 0 and
 * FIRST_TOKEN_OFFSET[0..g], at most R. A row whose TOKEN_INDEX names no row of TOKEN is 0. A row
 * is not scattered if TOKEN_INDEX is negative, TOKEN_KS is not in [0, top_k) or OUTPUT has no such
 * row. If two rows go to one row of OUTPUT, each element of that is one of theirs.
 *
 * Source: hipdnn-november-2026.md 2.6. Invariants, over the shapes that operand.def states:
 *   - R, K, N and T are at most INT32_MAX, G at most 65536, and the terms are counted in 63 bits;
 *   - offsets and indices are INT32 tensors in memory that no node writes;
 *   - top_k is from 1 to E for SCATTER, and 0 otherwise.
 */
struct kiln_grouped_matmul {
    enum kiln_grouped_mode mode;
    uint32_t top_k;
};

/*
 * Attributes of a convolution, the same for its two gradients. Forward, with g the group of output
 * channel k and Cg = C / groups, positions and taps per spatial axis:
 *
 *   y[n, k, o] = sum over c < Cg and taps r of
 *                    x[n, g * Cg + c, o * stride + r * dilation - pre_padding] * w[k, c, r]
 *
 * Elements outside the image count as zeros. The data gradient is the transpose of this map in x,
 * the weight gradient in w. Invariants, over the shapes that operand.def states:
 *   - paddings are at least 0, strides and dilations at least 1;
 *   - groups divides both C and K; 1 is the dense convolution, C the depthwise one;
 *   - the dilated window fits into the padded image, whose size pre_padding + image + post_padding
 *     is at most INT32_MAX: so are o * stride + r * dilation and every parameter;
 *   - as many strides of any operand along that axis are at most 2^61 bytes;
 *   - N times the pixels of an image, N times those of a result, C, K, window times C / groups and
 *     window times K / groups are each at most INT32_MAX;
 *   - the terms of each direction, those of padding included, can be counted in 63 bits.
 */
struct kiln_convolution {
    uint32_t spatial_count; /* 1 to 3: the rank of each operand less 2 */
    int64_t pre_padding[KILN_MAX_SPATIAL_AXES];
    int64_t post_padding[KILN_MAX_SPATIAL_AXES]; /* says how large the result is, nothing else */
    int64_t stride[KILN_MAX_SPATIAL_AXES];
    int64_t dilation[KILN_MAX_SPATIAL_AXES];
    bool is_flipped; /* true convolution: tap r meets the weight of tap window - 1 - r */
    int64_t groups;
};

/* The result of a window. The numbers are in the canonical form. */
enum kiln_pooling_mode {
    KILN_POOLING_MAX,            /* its largest number */
    KILN_POOLING_MEAN_OF_IMAGE,  /* the sum by the number of elements that are no padding */
    KILN_POOLING_MEAN_OF_WINDOW, /* the sum by the number of taps */
    KILN_POOLING_MODE_COUNT,
};

/*
 * Attributes of pooling and its gradients. The window of result o begins at
 * o * stride - pre_padding of the image, per spatial axis, and has `window` taps. Taps outside of
 * the image are padding. They are visited in row-major order. Forward:
 *
 *   MAX   y[n, c, o] and index[n, c, o] begin as the lowest finite number of the type that the node
 *         computes in, and -1. A larger element replaces them by itself and its position, the
 *         row-major number within the image x[n, c]. NaN is not larger. Padding is 0 with position
 *         -1 if pads_zeros, and otherwise not visited.
 *   MEAN  y[n, c, o] is the sum of the elements over the divisor, which is at least 1; padding adds
 *         nothing. Each index is -1.
 *
 * Backward, where o are the windows with a tap at p, and divisors are those of o:
 *
 *   MAX   dx[n, c, p] = sum over o of dy[n, c, o] where index[n, c, o] is the position of p
 *   MEAN  dx[n, c, p] = sum over o of dy[n, c, o] / divisor
 *
 * Source: hipdnn-november-2026.md 2.2, 2.3. Invariants, over the shapes that operand.def states:
 *   - paddings are at least 0, strides and windows at least 1;
 *   - forward, the window fits into the padded image, whose size is at most INT32_MAX;
 *   - backward, DX's size with pre_padding, and the distance from the first to the last tap of DY's
 *     windows, are at most INT32_MAX; post_padding is 0;
 *   - as many strides of what is read along that axis are at most 2^61 bytes;
 *   - positions fit in INDEX's type forward, and in int32 backward, if they are used;
 *   - a window has at most 2^30 elements, and those of all windows can be counted in 63 bits.
 */
struct kiln_resample {
    enum kiln_pooling_mode mode;
    uint32_t spatial_count; /* 1 to 3: the rank of each operand less 2 */
    int64_t pre_padding[KILN_MAX_SPATIAL_AXES];
    int64_t post_padding[KILN_MAX_SPATIAL_AXES]; /* says how large the result is, nothing else */
    int64_t stride[KILN_MAX_SPATIAL_AXES];
    int64_t window[KILN_MAX_SPATIAL_AXES];
    bool pads_zeros; /* forward MAX: padding counts as 0, not as nothing */
};

/*
 * Attributes of block scaling. Elements whose coordinates divided by the block sizes, rounded down,
 * are equal form a block, and SCALE has one element for each block; the last block along an axis
 * may be shorter. Dequantising: y = x * scale of its block, or x * 2^-scale if is_negative.
 *
 * Source: hipdnn-november-2026.md 2.5. Invariants: there are as many block sizes as X has dims,
 * each from 1 to the dim.
 */
struct kiln_block_scale {
    uint32_t block_count;
    int64_t blocks[KILN_MAX_RANK];
    bool is_negative;
};

/*
 * Attributes of attention, the same for its gradients. Query i of a head sees key j when
 *
 *   i + first_key + corner <= j <= i + last_key + corner, j < SEQ_LEN_KV and i < SEQ_LEN_Q
 *
 * of the batch, and ATTN_MASK is true if it is of type BOOL, as far as these are there. The corner
 * is SEQ_LEN_KV - SEQ_LEN_Q if is_bottom_right, and 0 otherwise. An absent length is the tensor's,
 * and lengths outside [0, the tensor's] are cut to that. Kernels look at nothing at or beyond a
 * length.
 *
 * SCALE is the operand or `scale`, ATTN_MASK is 0 if it is of type BOOL, absent operands are left
 * out, hk = h / (Hq / Hk) and hv = h / (Hq / Hv). Forward:
 *
 *   x[b,h,i,j] = SCALE * DESCALE_Q * DESCALE_K * sum over d of q[b,h,i,d] * k[b,hk,j,d] + ATTN_MASK
 *   m[b,h,i]   = maximum of x over the seen keys and of SINK_TOKEN[h], or
 *                -infinity if there are none or i >= SEQ_LEN_Q
 *   l[b,h,i]   = sum over the seen keys of exp(x - m), plus exp(SINK_TOKEN[h] - m)
 *   p[b,h,i,j] = exp(x - m) / l, 0 where the key is not seen or m is -infinity
 *   o[b,h,i,d] = SCALE_S * DESCALE_S * DESCALE_V * sum over j of p[b,h,i,j] * v[b,hv,j,d]
 *
 * O is o * SCALE_O, STATS m + ln(l), MAX m, SUM_EXP l, AMAX_S the largest p, AMAX_O the largest
 * |o|.
 *
 * If Q and O are ragged, a batch has as many queries as the shortest of them, and of the statistics
 * that are; if K and V are, as many keys as the shorter one. Where SEQ_LEN_Q or SEQ_LEN_KV are
 * there too, the smaller number counts. A ragged tensor has no elements behind its own length.
 *
 * Backward, with p = exp(x - STATS) where the key is seen and STATS is not -infinity, and 0
 * otherwise:
 *
 *   ds[b,h,i,j] = p * (sum over d of DO * v - sum over d of DO * O)
 *   DQ = SCALE * sum over j of ds * k, DK = SCALE * sum over i and the heads of a group of ds * q,
 *   DV = sum over i and the heads of a group of p * DO, DBIAS = sum of ds over what it lacks
 *
 * Source: hipdnn-op-semantics.md section 9, hipdnn-november-2026.md 2.7. Invariants, over the
 * shapes that operand.def states:
 *   - sizes of sequences and heads, and Sq + Skv, are at most INT32_MAX, as is B * Hq;
 *   - the scores, B * Hq * Sq * Skv, are at most 2^48, and their terms can be counted in 63 bits;
 *   - -(Sq - 1) < first_key <= Skv - 1 and -(Sq - 1) <= last_key < Skv - 1: each hides a key; if
 *     is_bottom_right, -(Skv - 1) < first_key <= 0, 0 <= last_key < Sq - 1 and
 *     last_key + Sq + Skv <= INT32_MAX. In an override shape a bound of the declared one may be one
 *     beyond that, and hides no key;
 *   - is_bottom_right only where there is a length and a bound.
 */
struct kiln_attention {
    bool has_first_key;
    bool has_last_key;
    int64_t first_key;
    int64_t last_key;
    bool is_bottom_right; /* both bounds count from each batch's corner */
    double scale;         /* where there is no SCALE operand */
};

/*
 * Attributes of block-scale quantisation. Blocks are `block_size` neighbours along `axis`; the last
 * one may be shorter. For each block:
 *
 *   SCALE = max |x| / (largest number of Y's type), rounded up to SCALE's type. Above the largest
 *           number of that type it is that number.
 *   y     = x / SCALE, or 0 where SCALE is 0, limited to the numbers of Y's type
 *
 * NaN and infinities in X may give anything. Source: hipdnn-november-2026.md 2.4. Invariants, over
 * the shapes that operand.def states:
 *   - axis is below X's rank;
 *   - block_size is from 1 to X's size along the axis: larger ones mean one block.
 */
struct kiln_block_quantize {
    uint32_t axis;
    int64_t block_size;   /* at most the axis */
    bool declares_blocks; /* with override shapes: the declared axis is longer than a block */
};

struct kiln_node {
    enum kiln_node_kind kind;
    const char *name; /* never NULL */
    /* What the graph asks to compute in; FLOAT where neither node nor graph says. */
    enum kiln_dtype compute_type;
    uint32_t input_count;
    uint32_t output_count;
    uint32_t inputs[KILN_MAX_NODE_OPERANDS]; /* tensor ordinals */
    uint32_t outputs[KILN_MAX_NODE_OPERANDS];
    /* The role of each, enum kiln_operand, in the order of the wire's slots. Absent operands are
     * not in the lists, nor are those that would not be read: EPSILON beside given statistics,
     * running statistics that are not updated. */
    uint8_t input_roles[KILN_MAX_NODE_OPERANDS];
    uint8_t output_roles[KILN_MAX_NODE_OPERANDS];
    union {
        struct kiln_grouped_matmul grouped_matmul; /* forward */
        struct kiln_pointwise pointwise;
        struct kiln_reduction reduction;
        struct kiln_normalization normalization;
        struct kiln_convolution convolution; /* all three directions */
        struct kiln_attention attention;     /* forward and backward */
        struct kiln_resample resample;       /* forward and backward */
        struct kiln_block_quantize block_quantize;
        struct kiln_block_scale block_scale;
    };
};

struct kiln_graph {
    enum kiln_wire_era era;
    /* Built for shapes that are given at execute time (override_shapes.h). The canonical form does
     * not say so. */
    bool takes_overrides;
    const char *name; /* never NULL */
    uint32_t tensor_count;
    uint32_t node_count;
    struct kiln_tensor *tensors;
    struct kiln_node *nodes;
};

struct kiln_pointwise_mode_info {
    const char *name;
    uint8_t arity;
    bool gradient; /* inputs: the gradient, then the forward input */
    bool integer;
    const char *formula;
};

/* The row of a mode; mode must be 1..KILN_POINTWISE_MODE_COUNT-1. Static. */
const struct kiln_pointwise_mode_info *kiln_pointwise_mode_info(enum kiln_pointwise_mode mode);

struct kiln_reduction_mode_info {
    const char *name;
    bool integer; /* has a meaning in exact integers */
    const char *formula;
};

/* The row of a mode; mode must be 1..KILN_REDUCTION_MODE_COUNT-1. Static. */
const struct kiln_reduction_mode_info *kiln_reduction_mode_info(enum kiln_reduction_mode mode);

/* The spelling of a role in messages, "scale". Static. */
const char *kiln_operand_text(enum kiln_operand operand);

/* What a node does, in a word: "ADD", "REDUCE_MAX", "LAYERNORM_BWD". Static. */
const char *kiln_node_operation(const struct kiln_node *node);

/* The tensor that an operand of the node is, or KILN_NONE when it is absent. */
uint32_t kiln_node_input(const struct kiln_node *node, enum kiln_operand operand);
uint32_t kiln_node_output(const struct kiln_node *node, enum kiln_operand operand);

bool kiln_node_is_convolution(const struct kiln_node *node);
bool kiln_node_is_attention(const struct kiln_node *node);
/* A grouped product or its gradient. */
bool kiln_node_is_grouped(const struct kiln_node *node);

/* The sizes of attention, forward or backward. */
struct kiln_attention_sizes {
    int64_t batch;                         /* B */
    int64_t heads, key_heads, value_heads; /* Hq, Hk, Hv */
    int64_t queries, keys;                 /* Sq, Skv */
    int64_t depth, value_depth;            /* D, Dv */
};

struct kiln_attention_sizes kiln_attention_sizes_of(const struct kiln_graph *graph,
                                                    const struct kiln_node *node);

/* The tensors of a convolution in any direction, as the forward one calls them. */
struct kiln_convolution_tensors {
    uint32_t image;  /* X or DX: [N, C, spatial...] */
    uint32_t filter; /* W or DW: [K, C / groups, window...] */
    uint32_t result; /* Y or DY: [N, K, out spatial...] */
};

struct kiln_convolution_tensors kiln_convolution_tensors_of(const struct kiln_node *node);

static inline bool kiln_tensor_is_ragged(const struct kiln_tensor *tensor)
{
    return tensor->ragged.multiplier != 0;
}

/* Number of elements: the product of the dims (1 for rank 0). */
int64_t kiln_tensor_elements(const struct kiln_tensor *tensor);
/* Elements from the first to behind the last that an index reaches: 1 + sum (dim-1)*stride. A
 * ragged tensor has as many as valid offsets can describe. */
int64_t kiln_tensor_footprint_elements(const struct kiln_tensor *tensor);
/* Same in bytes. */
int64_t kiln_tensor_footprint_bytes(const struct kiln_tensor *tensor);

struct kiln_buffer; /* runtime/support/buffer.h */

/* " 'name'", or nothing without a name. Control characters are \xNN, so it stays in its line. */
void kiln_name_append(const char *name, struct kiln_buffer *buffer);
/* "uid 7 'scale'", or "uid 7" of a tensor without a name. */
void kiln_tensor_print_name(const struct kiln_tensor *tensor, struct kiln_buffer *buffer);
/* "node 3 'average'", or "node 3". */
void kiln_node_print_name(const struct kiln_graph *graph, uint32_t node,
                          struct kiln_buffer *buffer);

#endif
