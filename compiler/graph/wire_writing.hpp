/*
 * What wire_graph_write.cc and wire_messages.cc share: a builder, and its way out to C.
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

} // namespace kiln::wire

#endif
