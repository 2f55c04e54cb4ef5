/*
 * A graph in the making: the cases of the suite are built of these.
 *
 * Values are tensor ordinals. What a node computes is a virtual float tensor until
 * kiln_bench_output makes it an output. The builder grows nothing: a graph that needs more nodes or
 * tensors than KILN_BENCH_MAX_* is a programmer's error.
 */
#ifndef KILN_CLI_BENCH_BENCH_BUILDER_H
#define KILN_CLI_BENCH_BENCH_BUILDER_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

enum { KILN_BENCH_MAX_NODES = 16, KILN_BENCH_MAX_TENSORS = 48 };

/* Sets of axes, bit per axis, for tensors that are as long as the large ones on some. */
enum {
    KILN_BENCH_ALL_AXES = (1 << KILN_MAX_RANK) - 1,
    KILN_BENCH_ROW_AXIS = 1, /* of rows: one element per row */
    KILN_BENCH_COLUMN_AXIS = 2,
    KILN_BENCH_CHANNEL_AXIS = 2, /* of images: one element per channel */
    KILN_BENCH_BATCH_AXES = 13,  /* all others of images */
};

struct kiln_bench_builder {
    struct kiln_graph graph;
    enum kiln_dtype dtype; /* of the large tensors that lie in memory */
    uint32_t rank;         /* of all tensors */
    int64_t dims[KILN_MAX_RANK];
    bool is_channels_last; /* axis 1 is the fastest */
    const void *layer;     /* struct kiln_bench_case.layer */
    /* Rows and columns, or the sizes of images, instead of what follows from a number of elements;
     * NULL: they follow. */
    const int64_t *sizes;
};

/* Memory belongs to the arena. */
enum kiln_status kiln_bench_builder_init(struct kiln_bench_builder *builder, const char *name,
                                         enum kiln_dtype dtype, struct kiln_arena *arena,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Checks the graph as hipDNN's are checked and puts it into canonical form, by writing and reading
 * it. Memory belongs to the arena. */
enum kiln_status kiln_bench_builder_finish(const struct kiln_bench_builder *builder,
                                           struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                           struct kiln_error *error) KILN_NODISCARD;

/* Shapes of the large tensors, of about so many elements; at least two rows, two images. */
void kiln_bench_set_line(struct kiln_bench_builder *builder, int64_t elements);
void kiln_bench_set_rows(struct kiln_bench_builder *builder, int64_t elements);
void kiln_bench_set_square(struct kiln_bench_builder *builder, int64_t elements);
/* As many images of 256 x 56 x 56 as fit, a power of two; two smaller ones where these do not. */
void kiln_bench_set_images(struct kiln_bench_builder *builder, bool is_channels_last,
                           int64_t elements);

/* Exactly these sizes, for the tensors from now on. */
void kiln_bench_set_shape(struct kiln_bench_builder *builder, uint32_t rank, const int64_t *dims);

/* Inputs. Names are for people and for programs that look a tensor up; they must be literals. */
uint32_t kiln_bench_input(struct kiln_bench_builder *builder, const char *name);
/* A large input whose first two axes lie in memory the other way round. */
uint32_t kiln_bench_input_transposed(struct kiln_bench_builder *builder, const char *name);
/* As long as the large tensors on these axes, of their type. */
uint32_t kiln_bench_vector(struct kiln_bench_builder *builder, const char *name, uint32_t axes);
/* The same as float, which is what norms keep parameters and statistics in. */
uint32_t kiln_bench_parameter(struct kiln_bench_builder *builder, const char *name, uint32_t axes);
uint32_t kiln_bench_constant(struct kiln_bench_builder *builder, double value);

/* Nodes that compute one value. `b` is KILN_NONE for a unary mode. */
uint32_t kiln_bench_pointwise(struct kiln_bench_builder *builder, enum kiln_pointwise_mode mode,
                              uint32_t a, uint32_t b);
uint32_t kiln_bench_unary(struct kiln_bench_builder *builder, enum kiln_pointwise_mode mode,
                          uint32_t a);
uint32_t kiln_bench_reduce(struct kiln_bench_builder *builder, enum kiln_reduction_mode mode,
                           uint32_t a, uint32_t axes);

/* A node of another kind, whose attributes and operands are the caller's to set. */
struct kiln_node *kiln_bench_node(struct kiln_bench_builder *builder, enum kiln_node_kind kind);
/* A node of a norm, to which operands are connected and whose results are added, in the order of
 * the wire's slots. The node lives as long as the builder. */
struct kiln_node *kiln_bench_norm(struct kiln_bench_builder *builder, enum kiln_node_kind kind,
                                  uint32_t axes);
void kiln_bench_connect(struct kiln_node *node, enum kiln_operand role, uint32_t tensor);
/* As long as the large tensors on these axes. */
uint32_t kiln_bench_result(struct kiln_bench_builder *builder, struct kiln_node *node,
                           enum kiln_operand role, uint32_t axes);

/* Makes a value an output of the graph, of the large tensors' type or of another one. */
void kiln_bench_output(struct kiln_bench_builder *builder, const char *name, uint32_t tensor);
void kiln_bench_output_as(struct kiln_bench_builder *builder, const char *name, uint32_t tensor,
                          enum kiln_dtype dtype);

#endif
