/* Grouped matrix products on the wire. For wire.cc and wire_graph_write.cc only. */
#ifndef KILN_COMPILER_GRAPH_WIRE_GROUPED_MATMUL_HPP
#define KILN_COMPILER_GRAPH_WIRE_GROUPED_MATMUL_HPP

#include "compiler/graph/wire_writing.hpp"

namespace kiln::wire {

void read_grouped_matmul(const current::Node &node, struct kiln_wire_grouped_matmul *ret_grouped);
void read_grouped_matmul_backward(const current::Node &node,
                                  struct kiln_wire_grouped_matmul *ret_grouped);
flatbuffers::Offset<void> write_grouped_matmul(Builder &builder, const struct kiln_graph &graph,
                                               const struct kiln_node &node);
flatbuffers::Offset<void> write_grouped_matmul_backward(Builder &builder,
                                                        const struct kiln_graph &graph,
                                                        const struct kiln_node &node);

} // namespace kiln::wire

#endif
