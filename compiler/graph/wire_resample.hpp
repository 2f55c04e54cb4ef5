/* Resample nodes on the wire. For wire.cc and wire_graph_write.cc only. */
#ifndef KILN_COMPILER_GRAPH_WIRE_RESAMPLE_HPP
#define KILN_COMPILER_GRAPH_WIRE_RESAMPLE_HPP

#include "compiler/graph/wire_writing.hpp"

namespace kiln::wire {

void read_resample_forward(const current::Node &node, struct kiln_wire_resample *ret_resample);
flatbuffers::Offset<void> write_resample_forward(Builder &builder, const struct kiln_graph &graph,
                                                 const struct kiln_node &node);
void read_resample_backward(const current::Node &node, struct kiln_wire_resample *ret_resample);
flatbuffers::Offset<void> write_resample_backward(Builder &builder, const struct kiln_graph &graph,
                                                  const struct kiln_node &node);

} // namespace kiln::wire

#endif
