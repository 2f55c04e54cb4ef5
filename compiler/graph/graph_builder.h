/*
 * What the steps of kiln_graph_read share. Internal to compiler/graph.
 *
 * Until the tensors are imported, the operands of nodes are indices into wire->tensors; afterwards
 * they are tensor ordinals.
 */
#ifndef KILN_COMPILER_GRAPH_GRAPH_BUILDER_H
#define KILN_COMPILER_GRAPH_GRAPH_BUILDER_H

#include "compiler/graph/graph_reader.h"
#include "compiler/graph/size_inference.h"
#include "compiler/graph/wire_graph.h"

/* Names are labels: longer ones are cut, so that shared strings cannot multiply memory. */
enum { KILN_MAX_NAME_BYTES = 255 };

/* Bytes of a name in a sentence: cut, control and non-ASCII characters as \xNN. */
enum { KILN_NAME_TEXT_BYTES = 64 };

struct kiln_uid_entry {
    int64_t uid;
    uint32_t tensor;
};

struct kiln_graph_builder {
    const struct kiln_wire_graph *wire;
    struct kiln_arena *arena;   /* of the graph */
    struct kiln_arena *scratch; /* of the reading */
    struct kiln_error *error;
    struct kiln_uid_entry *uids; /* sorted by uid */
    uint32_t *producers;         /* per wire tensor: node or KILN_NONE */
    uint32_t *ordinals;          /* per wire tensor: ordinal or KILN_NONE */
    /* The graph with its declared shapes, which sizes of virtual tensors are inferred from. NULL:
     * the wire has the declared shapes. */
    const struct kiln_graph *declared;
    struct kiln_graph graph;
};

/* compiler/graph/graph_reader.c: the steps of kiln_graph_read after parsing. */
enum kiln_status kiln_graph_build(struct kiln_graph_builder *builder) KILN_NODISCARD;

/* Reading one kind of node. */
struct kiln_node_reader {
    /* Fills kind, attributes and operands (wire tensors) of graph.nodes[node]. */
    enum kiln_status (*read)(struct kiln_graph_builder *builder, const struct kiln_wire_node *wire,
                             struct kiln_node *node);
    /* Fills the attributes that follow from shapes, once the tensors are imported; NULL where there
     * are none. */
    enum kiln_status (*complete)(const struct kiln_graph *graph, struct kiln_node *node,
                                 struct kiln_error *error);
    /* Sizes of results where override shapes change those of inputs; NULL: as declared. */
    kiln_size_rule *infer;
    /* Checks shapes and types once all nodes are complete. */
    enum kiln_status (*check)(const struct kiln_graph *graph, const struct kiln_node *node,
                              struct kiln_error *error);
};

/* compiler/graph/node_kinds.c: NULL when no reader exists for the union type. */
const struct kiln_node_reader *kiln_node_reader(uint8_t attributes_type);
/* The reader that makes nodes of a kind. */
const struct kiln_node_reader *kiln_node_kind_reader(enum kiln_node_kind kind);
/* Types whose products have a rule: exact in float, double, or int32. */
bool kiln_dtype_is_factor(enum kiln_dtype dtype);
/* compiler/graph/convolution_shapes.c: the check of all three. */
enum kiln_status kiln_convolution_check(const struct kiln_graph *graph,
                                        const struct kiln_node *node, struct kiln_error *error);
/* compiler/graph/resample_shapes.c: the check of both. */
enum kiln_status kiln_resample_check(const struct kiln_graph *graph, const struct kiln_node *node,
                                     struct kiln_error *error);
/* compiler/graph/attention_shapes.c: the check of both. */
enum kiln_status kiln_attention_check(const struct kiln_graph *graph, const struct kiln_node *node,
                                      struct kiln_error *error);
/* The checks that completing attention's bounds takes for granted: ranks and sizes. */
enum kiln_status kiln_attention_check_sizes(const struct kiln_graph *graph,
                                            const struct kiln_node *node, struct kiln_error *error);

/* A vector of a node that has an entry for each spatial axis, and where its entries go. */
struct kiln_spatial_parameter {
    const char *name;
    const struct kiln_wire_list *wire;
    int64_t smallest; /* entries are from this to INT32_MAX */
    int64_t *ret_items;
};

/* compiler/graph/spatial_parameters.c. Reads the vectors of a node. The first one tells the number
 * of spatial axes, 1 to KILN_MAX_SPATIAL_AXES. Declines with `reason`. */
enum kiln_status kiln_spatial_parameters_read(struct kiln_graph_builder *builder,
                                              const struct kiln_node *node,
                                              enum kiln_reject_reason reason,
                                              const struct kiln_spatial_parameter *lists,
                                              size_t list_count,
                                              uint32_t *ret_spatial_count) KILN_NODISCARD;

/*
 * compiler/graph/trailing_ones.c. Statistics of layernorms and of attention, and lengths of
 * sequences, may come without their last axes where these have size 1: such tensors get the
 * trailing ones that they stand for. Declines when the tensor has another reader or writer, to whom
 * its shape would mean something else. Wants complete nodes.
 */
enum kiln_status kiln_trailing_ones_pad(struct kiln_graph_builder *builder) KILN_NODISCARD;

/*
 * compiler/graph/ragged.c. Finds the offsets of ragged tensors, once all tensors are imported;
 * declines those that are anything but operands of attention.
 */
enum kiln_status kiln_ragged_complete(struct kiln_graph_builder *builder) KILN_NODISCARD;
/* The offsets' sizes and types, and what attention asks of ragged operands. */
enum kiln_status kiln_ragged_check_attention(const struct kiln_graph *graph,
                                             const struct kiln_node *node,
                                             struct kiln_error *error) KILN_NODISCARD;

/* compiler/graph/uid_index.c. Builds builder->uids; declines duplicates. */
enum kiln_status kiln_uid_index_build(struct kiln_graph_builder *builder) KILN_NODISCARD;
/* The wire tensor that `operand` of a node names; declines unknown uids. */
enum kiln_status kiln_uid_resolve(struct kiln_graph_builder *builder, const struct kiln_node *node,
                                  const char *operand, int64_t uid,
                                  uint32_t *ret_tensor) KILN_NODISCARD;
/* The wire tensor with the uid, or KILN_NONE. */
uint32_t kiln_uid_find(const struct kiln_graph_builder *builder, int64_t uid);

/* compiler/graph/node_order.c. Finds producers and sorts graph.nodes topologically, stably. */
enum kiln_status kiln_node_order(struct kiln_graph_builder *builder) KILN_NODISCARD;

/* compiler/graph/tensor_import.c. One wire tensor, as operand of `node`, to a checked tensor. */
enum kiln_status kiln_tensor_import(struct kiln_graph_builder *builder,
                                    const struct kiln_node *node, uint32_t wire_tensor,
                                    struct kiln_tensor *ret_tensor) KILN_NODISCARD;
/* The type that hipDNN's number means in an era; false for UNSET and for types that the era or Kiln
 * lacks. */
bool kiln_dtype_read(enum kiln_wire_era era, uint8_t wire, enum kiln_dtype *ret_dtype);
/* UNKNOWN_TYPE or UNSUPPORTED_TYPE, for a number that kiln_dtype_read did not take. */
enum kiln_reject_reason kiln_dtype_reject_reason(enum kiln_wire_era era, uint8_t wire);

/* A copy of at most KILN_MAX_NAME_BYTES bytes in the arena, cut at the first NUL; NULL without
 * memory. */
const char *kiln_name_copy(struct kiln_arena *arena, struct kiln_wire_text name);

/* compiler/graph/reject.c */
struct kiln_name_text {
    char text[KILN_NAME_TEXT_BYTES];
};
/* "'name'", printable whatever the name is, "..." where it was cut. */
struct kiln_name_text kiln_name_quote(const char *name);

/* Fills the error with KILN_REJECTED and a sentence; returns KILN_REJECTED. */
enum kiln_status kiln_reject(struct kiln_error *error, enum kiln_reject_reason reason,
                             const char *format, ...) KILN_PRINTF(3, 4);
/* Same with "node 'n': " in front; a nameless node is called by its position. */
enum kiln_status kiln_reject_node(struct kiln_error *error, enum kiln_reject_reason reason,
                                  const struct kiln_graph *graph, const struct kiln_node *node,
                                  const char *format, ...) KILN_PRINTF(5, 6);
/* Same with "node 'n': tensor 't' (uid u): " in front. */
enum kiln_status kiln_reject_tensor(struct kiln_error *error, enum kiln_reject_reason reason,
                                    const struct kiln_graph *graph, const struct kiln_node *node,
                                    const struct kiln_tensor *tensor, const char *format, ...)
    KILN_PRINTF(6, 7);
enum kiln_status kiln_graph_no_memory(struct kiln_error *error);

#endif
