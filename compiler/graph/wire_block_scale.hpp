/* Block-scale nodes on the wire. For wire.cc and wire_graph_write.cc only. */
#ifndef KILN_COMPILER_GRAPH_WIRE_BLOCK_SCALE_HPP
#define KILN_COMPILER_GRAPH_WIRE_BLOCK_SCALE_HPP

#include "compiler/graph/wire_writing.hpp"

namespace kiln::wire {

void read_dequantize(const current::Node &node, struct kiln_wire_dequantize *ret_dequantize);
flatbuffers::Offset<void> write_dequantize(Builder &builder, const struct kiln_graph &graph,
                                           const struct kiln_node &node);

} // namespace kiln::wire

#endif
