/*
 * A hostile graph in the making, and the steps to append tensors and nodes. Internal to
 * tests/support.
 *
 * A function that appends a node returns its first result. Once the graph has all its nodes, it
 * appends nothing and returns its first operand.
 */
#ifndef KILN_TESTS_SUPPORT_HOSTILE_GRAPH_BUILDER_H
#define KILN_TESTS_SUPPORT_HOSTILE_GRAPH_BUILDER_H

#include "compiler/graph/graph.h"

enum { KILN_HOSTILE_MAX_TENSORS_OF_NODE = 10 };

/* All tensors are packed. */
struct kiln_hostile_builder {
    struct kiln_graph graph;
    uint32_t node_count;   /* wanted */
    enum kiln_dtype dtype; /* of every tensor that is appended */
    bool all_outputs;      /* also of what is read again */
    bool *read;            /* per tensor */
};

/* Sizes, the last axis last. */
struct kiln_hostile_dims {
    uint32_t rank;
    int64_t sizes[4];
};

bool kiln_hostile_is_full(const struct kiln_hostile_builder *builder);
struct kiln_hostile_dims kiln_hostile_dims_of(const struct kiln_hostile_builder *builder,
                                              uint32_t tensor);
uint32_t kiln_hostile_input(struct kiln_hostile_builder *builder,
                            const struct kiln_hostile_dims *dims);
/* A node without operands; the graph must not be full. */
struct kiln_node *kiln_hostile_node(struct kiln_hostile_builder *builder, enum kiln_node_kind kind);
void kiln_hostile_read(struct kiln_hostile_builder *builder, struct kiln_node *node,
                       enum kiln_operand role, uint32_t tensor);
uint32_t kiln_hostile_write(struct kiln_hostile_builder *builder, struct kiln_node *node,
                            enum kiln_operand role, const struct kiln_hostile_dims *dims);
/* The result has the operands' sizes, axes of 1 being repeated. `b` may be KILN_NONE. */
uint32_t kiln_hostile_pointwise(struct kiln_hostile_builder *builder, enum kiln_pointwise_mode mode,
                                uint32_t a, uint32_t b);
/* Over one axis, counted from the left. */
uint32_t kiln_hostile_reduce(struct kiln_hostile_builder *builder, enum kiln_reduction_mode mode,
                             uint32_t a, uint32_t axis);
/* A norm with its statistics: over all axes but 1 (batch norms; over axis 0 where there are two),
 * or over the last axis. With `dy` its gradients, which have no bias. */
uint32_t kiln_hostile_norm(struct kiln_hostile_builder *builder, enum kiln_node_kind kind,
                           uint32_t dy, uint32_t x);

/* Families of layers: hostile_layers.c. */
void kiln_hostile_linear(struct kiln_hostile_builder *builder);
void kiln_hostile_normed_linear(struct kiln_hostile_builder *builder);
void kiln_hostile_linear_gradients(struct kiln_hostile_builder *builder);
void kiln_hostile_small_products(struct kiln_hostile_builder *builder);
void kiln_hostile_convolutions(struct kiln_hostile_builder *builder);
void kiln_hostile_normed_convolutions(struct kiln_hostile_builder *builder);
void kiln_hostile_depthwise(struct kiln_hostile_builder *builder);
void kiln_hostile_convolution_gradients(struct kiln_hostile_builder *builder);
void kiln_hostile_attention(struct kiln_hostile_builder *builder);
void kiln_hostile_decode(struct kiln_hostile_builder *builder);
void kiln_hostile_decode_beside(struct kiln_hostile_builder *builder);
void kiln_hostile_attention_gradients(struct kiln_hostile_builder *builder);
void kiln_hostile_written_attention(struct kiln_hostile_builder *builder);
void kiln_hostile_attention_in_steps(struct kiln_hostile_builder *builder);
void kiln_hostile_transformer(struct kiln_hostile_builder *builder);

#endif
