/*
 * What the files that read nodes share: fields of FlatBuffers to those of wire_graph.h, and the
 * kinds of nodes that have a file of their own.
 */
#ifndef KILN_COMPILER_GRAPH_WIRE_READING_HPP
#define KILN_COMPILER_GRAPH_WIRE_READING_HPP

#include "compiler/graph/wire_eras.hpp"

#include <algorithm>

namespace kiln::wire {

/* Of any alignment: the verifier aligns the elements of a vector to their count only. */
template <typename T> T load(const uint8_t *memory)
{
    T value;
    std::memcpy(&value, memory, sizeof value);
    return flatbuffers::EndianScalar(value);
}

template <typename T> struct kiln_wire_uid uid(const flatbuffers::Optional<T> &value)
{
    return {value.has_value(), value.has_value() ? *value : 0};
}

inline struct kiln_wire_uid uid(int64_t value)
{
    return {true, value};
}

inline struct kiln_wire_float real(const flatbuffers::Optional<float> &value)
{
    return {value.has_value(), value.has_value() ? *value : 0.0F};
}

inline uint32_t read_list(const flatbuffers::Vector<int64_t> *list, int64_t ret_items[KILN_MAX_RANK])
{
    if (list == nullptr)
        return 0;
    uint32_t copied = std::min<uint32_t>(list->size(), KILN_MAX_RANK);
    for (uint32_t i = 0; i < copied; i++)
        ret_items[i] = load<int64_t>(list->Data() + i * sizeof(int64_t));
    return list->size();
}

template <typename Enum> uint8_t number(Enum type)
{
    return static_cast<uint8_t>(type);
}

inline struct kiln_wire_list list(const flatbuffers::Vector<int64_t> *items)
{
    struct kiln_wire_list result = {};
    result.count = read_list(items, result.items);
    return result;
}

/* wire_convolution.cc: a convolution of any direction. `ret_node` has its type already. */
void read_convolution(const nov2025::Node &node, struct kiln_wire_node *ret_node);
void read_convolution(const current::Node &node, struct kiln_wire_node *ret_node);

/* wire_attention.cc: attention and its gradients. `ret_node` has its type already. */
void read_attention(const current::Node &node, struct kiln_wire_node *ret_node);

} // namespace kiln::wire

#endif
