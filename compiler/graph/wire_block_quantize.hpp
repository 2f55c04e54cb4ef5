/* Block-scale quantisation on the wire. For wire.cc and wire_graph_write.cc only. */
#ifndef KILN_COMPILER_GRAPH_WIRE_BLOCK_QUANTIZE_HPP
#define KILN_COMPILER_GRAPH_WIRE_BLOCK_QUANTIZE_HPP

#include "compiler/graph/wire_writing.hpp"

namespace kiln::wire {

void read_block_quantize(const current::Node &node, struct kiln_wire_block_quantize *ret_quantize);
flatbuffers::Offset<void> write_block_quantize(Builder &builder, const struct kiln_graph &graph,
                                               const struct kiln_node &node);

} // namespace kiln::wire

#endif
