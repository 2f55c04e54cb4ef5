/*
 * What the files that write graphs and messages share: a builder, its way out to C, operands of
 * nodes, and the kinds of nodes that have a file of their own.
 */
#ifndef KILN_COMPILER_GRAPH_WIRE_WRITING_HPP
#define KILN_COMPILER_GRAPH_WIRE_WRITING_HPP

#include "compiler/graph/wire_eras.hpp"

#include <new>

namespace kiln::wire {

using Builder = flatbuffers::FlatBufferBuilder;

inline enum kiln_status finish(const Builder &builder, struct kiln_buffer *buffer,
                               struct kiln_error *error)
{
    kiln_buffer_append(buffer, builder.GetBufferPointer(), builder.GetSize());
    return kiln_buffer_check(buffer, error);
}

/* Runs a function that allocates as C++ does, and keeps its exceptions from C. */
template <typename Function>
enum kiln_status guard(struct kiln_error *error, const Function &function)
{
    try {
        return function();
    } catch (const std::bad_alloc &) {
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while writing a message");
    } catch (...) {
        return kiln_error_set(error, KILN_INTERNAL, "the FlatBuffers library threw an exception");
    }
}

inline bool has_operand(const struct kiln_node &node, enum kiln_operand operand)
{
    return kiln_node_input(&node, operand) != KILN_NONE ||
           kiln_node_output(&node, operand) != KILN_NONE;
}

/* Writes uids of a node's operands; absent ones not at all. */
template <typename Out> class OperandWriter {
  public:
    OperandWriter(Builder &builder, const struct kiln_graph &graph, const struct kiln_node &node)
        : out_(builder), graph_(graph), node_(node)
    {
    }

    Out &out()
    {
        return out_;
    }

    OperandWriter &put(enum kiln_operand operand, void (Out::*add)(int64_t))
    {
        uint32_t tensor = kiln_node_input(&node_, operand);
        if (tensor == KILN_NONE)
            tensor = kiln_node_output(&node_, operand);
        if (tensor != KILN_NONE)
            (out_.*add)(graph_.tensors[tensor].uid);
        return *this;
    }

  private:
    Out out_;
    const struct kiln_graph &graph_;
    const struct kiln_node &node_;
};

/* wire_convolution.cc: a convolution of any direction. */
flatbuffers::Offset<void> write_convolution(Builder &builder, enum kiln_wire_era era,
                                            const struct kiln_graph &graph,
                                            const struct kiln_node &node);

/* wire_attention.cc */
flatbuffers::Offset<void> write_attention(Builder &builder, const struct kiln_graph &graph,
                                          const struct kiln_node &node);
flatbuffers::Offset<void> write_attention_backward(Builder &builder, const struct kiln_graph &graph,
                                                   const struct kiln_node &node);

} // namespace kiln::wire

#endif
