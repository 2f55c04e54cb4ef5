/*
 * What the readers of norms and batch norms share. Internal to compiler/graph.
 */
#ifndef KILN_COMPILER_GRAPH_NODE_NORMALIZATION_H
#define KILN_COMPILER_GRAPH_NODE_NORMALIZATION_H

#include "compiler/graph/graph_builder.h"

/* One slot of a kind of node, in the order of the wire. */
struct kiln_operand_slot {
    uint8_t operand; /* enum kiln_operand */
    bool is_output;
    bool is_optional;
};

/*
 * Fills kind, defaults and operands of a node from the wire's. `operands` are
 * wire->normalization.operands, perhaps with some marked as absent by the caller.
 */
enum kiln_status kiln_normalization_read(struct kiln_graph_builder *builder,
                                         const struct kiln_wire_uid operands[KILN_OPERAND_COUNT],
                                         const struct kiln_operand_slot *slots, size_t slot_count,
                                         enum kiln_node_kind kind,
                                         struct kiln_node *node) KILN_NODISCARD;

/*
 * True if an operand whose uid says "0 or absent" is the tensor with uid 0: when such a tensor
 * exists and no other operand of the node is it. `operands` as on the wire.
 */
bool kiln_normalization_is_uid_zero(const struct kiln_graph_builder *builder,
                                    const struct kiln_wire_uid operands[KILN_OPERAND_COUNT],
                                    enum kiln_operand operand);

/* Declines phases that nobody knows. Which phase it is does not matter: the outputs say what is
 * wanted. */
enum kiln_status kiln_normalization_check_phase(struct kiln_graph_builder *builder,
                                                const struct kiln_wire_node *wire,
                                                const struct kiln_node *node) KILN_NODISCARD;

/* Declines when one of two operands that go together is given without the other. */
enum kiln_status kiln_normalization_check_pair(
    struct kiln_graph_builder *builder, const struct kiln_wire_uid operands[KILN_OPERAND_COUNT],
    const struct kiln_node *node, enum kiln_operand left, enum kiln_operand right) KILN_NODISCARD;

/* The length of the longest run of last axes along which the tensor has x's size. */
uint32_t kiln_normalization_matching_axes(const struct kiln_tensor *x,
                                          const struct kiln_tensor *tensor);

/*
 * `check` of all these kinds, once normalization.axes is set: types, and the shape of every operand
 * against X's.
 */
enum kiln_status kiln_normalization_check(const struct kiln_graph *graph,
                                          const struct kiln_node *node,
                                          struct kiln_error *error) KILN_NODISCARD;

#endif
