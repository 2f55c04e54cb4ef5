/*
 * What the files behind random_graph.h share: the state of a graph in the making, and the steps to
 * append tensors and nodes. Internal to tests/support.
 */
#ifndef KILN_TESTS_SUPPORT_RANDOM_GRAPH_GENERATOR_H
#define KILN_TESTS_SUPPORT_RANDOM_GRAPH_GENERATOR_H

#include "tests/support/random_graph.h"
#include "tests/support/random_numbers.h"

/* A full shape, axis 0 the last one. A graph has one, and more where matrix products and
 * convolutions have operands of other sizes than their result. */
struct kiln_random_frame {
    uint32_t rank;
    int64_t dims[KILN_MAX_RANK];
};

/* Every shape of a graph is a full shape with some axes at 1 and perhaps the leading ones left
 * out. */
struct kiln_random_shape {
    uint32_t rank;
    uint32_t full_axes; /* bit i: axis i counted from the right has its full size */
    uint32_t frame;     /* which full shape */
};

/* Sizes as the wire has them, the last one last. */
struct kiln_random_dims {
    uint32_t rank;
    int64_t sizes[KILN_MAX_RANK];
};

enum { KILN_RANDOM_MAX_FRAMES = 16 };

/* What the values of a tensor must be like for its readers to make sense. A later one wins where
 * readers differ. */
enum kiln_random_purpose {
    KILN_RANDOM_ANY,
    KILN_RANDOM_DATA,     /* is summed up: small integers, sometimes far from zero */
    KILN_RANDOM_FACTOR,   /* of a matrix product or convolution: as DATA, but all integers of 8 bits
                           */
    KILN_RANDOM_POSITIVE, /* below a logarithm or a root, and variances */
    KILN_RANDOM_NEAR_ONE, /* is multiplied up */
    KILN_RANDOM_NEAR_ONE_OR_ZERO,
    KILN_RANDOM_FRACTION, /* 0 to 1: a momentum */
    KILN_RANDOM_EPSILON,  /* 1e-5 to 1e-2 */
    KILN_RANDOM_MASK,     /* is added to scores: often 0, now and then -infinity */
    KILN_RANDOM_HIDDEN,   /* takes a score's place: -infinity or nearly so */
    KILN_RANDOM_LENGTH,   /* of a sequence: perhaps beyond what there is, or below 0 */
    KILN_RANDOM_LOG_SUM,  /* of a row's exponentials */
    KILN_RANDOM_POSITION, /* in a small image: perhaps outside of it */
};

struct kiln_random_generator {
    struct kiln_random random;
    const struct kiln_random_graph_options *options;
    uint32_t frame_count;
    struct kiln_random_frame frames[KILN_RANDOM_MAX_FRAMES]; /* the first is the graph's */
    enum kiln_dtype dtypes[KILN_DTYPE_COUNT];
    uint32_t dtype_count;
    enum kiln_pointwise_mode modes[KILN_POINTWISE_MODE_COUNT];
    uint32_t mode_count;
    enum kiln_dtype compute_type; /* of all nodes, in the older layout */
    int64_t first_uid;            /* of tensor 0 */
    uint32_t node_limit;
    struct kiln_graph graph;
    struct kiln_random_shape *shapes; /* per tensor */
    bool *read;                       /* per tensor */
};

/* ---- random_graph.c ---- */

struct kiln_random_shape kiln_random_full_shape(const struct kiln_random_generator *generator,
                                                uint32_t frame);
/* The size of an axis, counted from the right, where it has its full size. */
int64_t kiln_random_full_size(const struct kiln_random_generator *generator,
                              const struct kiln_random_shape *shape, uint32_t axis);
/* A shape that broadcasts to `result`: often the same, or one element. */
struct kiln_random_shape kiln_random_choose_operand_shape(struct kiln_random_generator *generator,
                                                          const struct kiln_random_shape *result);
/* The same dims: axes of size 1 do not tell shapes apart. */
bool kiln_random_same_shape(const struct kiln_random_generator *generator,
                            const struct kiln_random_shape *a, const struct kiln_random_shape *b);
enum kiln_dtype kiln_random_choose_dtype(struct kiln_random_generator *generator);
/* A tensor that the graph doesn't make: an input or, where it has one element, a scalar in one of
 * its three guises. */
uint32_t kiln_random_append_source(struct kiln_random_generator *generator,
                                   const struct kiln_random_shape *shape, enum kiln_dtype dtype,
                                   enum kiln_random_purpose purpose);
/* An empty node with a name and a compute type. */
struct kiln_node *kiln_random_append_node(struct kiln_random_generator *generator,
                                          enum kiln_node_kind kind);
void kiln_random_add_input(struct kiln_random_generator *generator, struct kiln_node *node,
                           enum kiln_operand role, uint32_t tensor);
uint32_t kiln_random_add_output(struct kiln_random_generator *generator, struct kiln_node *node,
                                enum kiln_operand role, const struct kiln_random_shape *shape,
                                enum kiln_dtype dtype);
/* Appends a pointwise node of one of the modes in the list that the options allow, on operands that
 * broadcast to the first; returns its output, KILN_NONE when no mode is allowed. */
uint32_t kiln_random_append_pointwise(struct kiln_random_generator *generator,
                                      const enum kiln_pointwise_mode *modes, uint32_t mode_count,
                                      const uint32_t *operands);

/* ---- random_graph_factors.c ---- */

struct kiln_random_dims kiln_random_dims_of(const struct kiln_random_generator *generator,
                                            uint32_t ordinal);
int64_t kiln_random_count_elements(const struct kiln_random_dims *dims);
/* The shape of these sizes in a frame that has them, or in a new one; false without room. */
bool kiln_random_find_shape(struct kiln_random_generator *generator,
                            const struct kiln_random_dims *dims,
                            struct kiln_random_shape *ret_shape);
/* True if a tensor's type has a rule in products, and it has two axes. */
bool kiln_random_is_factor(const struct kiln_random_generator *generator, uint32_t ordinal);
/* An earlier tensor that can be a factor, of exactly these sizes where some are given. */
uint32_t kiln_random_find_factor(struct kiln_random_generator *generator,
                                 const struct kiln_random_dims *dims);
/* A new factor, perhaps of the other one's type. */
uint32_t kiln_random_append_factor(struct kiln_random_generator *generator,
                                   const struct kiln_random_shape *shape, uint32_t other);
/* What is computed of a new factor before the product: up to `count` nodes; one is left for the
 * product. */
uint32_t kiln_random_append_steps(struct kiln_random_generator *generator, uint32_t x,
                                  uint32_t count);
/* The type of a sum of products: often int32 of integers. */
enum kiln_dtype kiln_random_choose_sum_dtype(struct kiln_random_generator *generator, uint32_t left,
                                             uint32_t right);

/* ---- random_graph_reductions.c, random_graph_norms.c, random_graph_products.c,
 * random_graph_convolutions.c, random_graph_attention.c, random_graph_pooling.c,
 * random_graph_blocks.c ---- */

/* One reduction, or several nodes of a softmax-like chain. */
void kiln_random_append_reductions(struct kiln_random_generator *generator);
/* One reduction, over axes counted from the right; returns its result. */
uint32_t kiln_random_append_reduction(struct kiln_random_generator *generator,
                                      enum kiln_reduction_mode mode, uint32_t operand,
                                      uint32_t axes);
/* Statistics of a tensor's rows, now and then of its columns or of matrices. */
void kiln_random_append_statistics(struct kiln_random_generator *generator, uint32_t operand);
/* A grouped product or its gradient, perhaps with pointwise nodes around. False when the sizes that
 * were drawn do not fit; nothing was appended then. */
bool kiln_random_append_grouped(struct kiln_random_generator *generator);
/* Fills offsets and indices of grouped products, now and then with damaged ones; false for other
 * tensors. No two rows are scattered to one. */
bool kiln_random_fill_routing(uint64_t seed, const struct kiln_graph *graph, uint32_t ordinal,
                              void *memory);
/* False when no norm fits the full shape or the layout. */
bool kiln_random_append_norm(struct kiln_random_generator *generator);
/* Batchnorm inference of a tensor of floating-point type and rank 2 at least; KILN_NONE when the
 * options allow no such type. */
uint32_t kiln_random_append_batchnorm_inference(struct kiln_random_generator *generator,
                                                uint32_t x);
/* A matrix product, perhaps with pointwise nodes before it. False when the sizes that were drawn do
 * not fit; nothing was appended then. */
bool kiln_random_append_product(struct kiln_random_generator *generator);
/* Dequantising in blocks, perhaps with pointwise nodes before it; random_graph_dequantize.c. False
 * if the sizes do not fit. */
bool kiln_random_append_dequantize(struct kiln_random_generator *generator);
/* Pooling, perhaps with pointwise nodes before it. False when the sizes that were drawn do not fit;
 * nothing was appended then. */
bool kiln_random_append_pooling(struct kiln_random_generator *generator);
/* Quantisation by blocks, perhaps with pointwise nodes before and after it. False when the sizes
 * that were drawn do not fit; nothing was appended then. */
bool kiln_random_append_blocks(struct kiln_random_generator *generator);
/* A convolution or one of its gradients, perhaps with nodes before and behind it. False when the
 * sizes that were drawn do not fit; nothing was appended then. */
bool kiln_random_append_convolution(struct kiln_random_generator *generator);
/* An attention node, perhaps with its gradients, or nodes that compute the same. False when the
 * sizes that were drawn do not fit; no node was appended then. */
bool kiln_random_append_attention(struct kiln_random_generator *generator);
/* An attention node whose operands may be ragged: nothing else makes or reads them. */
bool kiln_random_append_ragged(struct kiln_random_generator *generator);

/* ---- random_graph_ragged.c ---- */

/* Makes operands of attention ragged, where the finished graph allows it. */
void kiln_random_make_ragged(struct kiln_random_generator *generator);
/* Writes the offsets of a ragged tensor; false where the tensor holds none. Tensors that must agree
 * in their lengths do, unless somebody got offsets wrong. */
bool kiln_random_fill_offsets(uint64_t seed, const struct kiln_graph *graph, uint32_t ordinal,
                              void *memory);
/* Elements that the memory of a ragged tensor has by its last offset. */
int64_t kiln_random_ragged_elements(uint64_t seed, const struct kiln_graph *graph,
                                    uint32_t ordinal);

/* ---- random_graph_fill.c ---- */

struct kiln_constant kiln_random_element(struct kiln_random *random, enum kiln_dtype dtype,
                                         enum kiln_random_purpose purpose);
/* Modes whose given operand must be positive, or at least not zero, to say anything. */
bool kiln_random_wants_positive(enum kiln_pointwise_mode mode, uint32_t slot);

#endif
