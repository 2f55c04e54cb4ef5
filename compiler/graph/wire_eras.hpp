/*
 * FlatBuffers on both sides of the C border: the generated types of both wire layouts under common
 * names, and verification. For wire.cc, wire_graph_write.cc and wire_messages.cc only.
 */
#ifndef KILN_COMPILER_GRAPH_WIRE_ERAS_HPP
#define KILN_COMPILER_GRAPH_WIRE_ERAS_HPP

/* Headers of C functions first: those that C++ finds later, it has to find as C. */
extern "C" {
#include "compiler/dtype.h"
#include "compiler/graph/graph.h"
#include "compiler/reference/convert.h"
#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"
#include "runtime/support/environment.h"
#include "runtime/support/error.h"
}
#include "compiler/graph/wire_graph.h"

#include "hipdnn_current_generated.h"
#include "hipdnn_nov2025_generated.h"

#include <cstring>

namespace kiln::wire {

/* What differs between the eras, as far as code cares. */
struct Nov2025 {
    using Graph = nov2025::Graph;
    using GraphBuilder = nov2025::GraphBuilder;
    using Node = nov2025::Node;
    using NodeBuilder = nov2025::NodeBuilder;
    using NodeAttributes = nov2025::NodeAttributes;
    using Tensor = nov2025::TensorAttributes;
    using TensorBuilder = nov2025::TensorAttributesBuilder;
    using TensorValue = nov2025::TensorValue;
    using Pointwise = nov2025::PointwiseAttributes;
    using PointwiseBuilder = nov2025::PointwiseAttributesBuilder;
    using PointwiseMode = nov2025::PointwiseMode;
    using BatchnormInference = nov2025::BatchnormInferenceAttributes;
    using BatchnormInferenceBuilder = nov2025::BatchnormInferenceAttributesBuilder;
    using BatchnormTraining = nov2025::BatchnormAttributes;
    using BatchnormTrainingBuilder = nov2025::BatchnormAttributesBuilder;
    using BatchnormBackward = nov2025::BatchnormBackwardAttributes;
    using BatchnormBackwardBuilder = nov2025::BatchnormBackwardAttributesBuilder;
    using ConvMode = nov2025::ConvMode;
    using ConvolutionForward = nov2025::ConvolutionFwdAttributes;
    using ConvolutionForwardBuilder = nov2025::ConvolutionFwdAttributesBuilder;
    using ConvolutionDataGradient = nov2025::ConvolutionBwdAttributes;
    using ConvolutionDataGradientBuilder = nov2025::ConvolutionBwdAttributesBuilder;
    using ConvolutionWeightGradient = nov2025::ConvolutionWrwAttributes;
    using ConvolutionWeightGradientBuilder = nov2025::ConvolutionWrwAttributesBuilder;
    using DataType = nov2025::DataType;
    static constexpr enum kiln_wire_era era = KILN_WIRE_ERA_NOV2025;
};

struct Current {
    using Graph = current::Graph;
    using GraphBuilder = current::GraphBuilder;
    using Node = current::Node;
    using NodeBuilder = current::NodeBuilder;
    using NodeAttributes = current::NodeAttributes;
    using Tensor = current::TensorAttributes;
    using TensorBuilder = current::TensorAttributesBuilder;
    using TensorValue = current::TensorValue;
    using Pointwise = current::PointwiseAttributes;
    using PointwiseBuilder = current::PointwiseAttributesBuilder;
    using PointwiseMode = current::PointwiseMode;
    using BatchnormInference = current::BatchnormInferenceAttributes;
    using BatchnormInferenceBuilder = current::BatchnormInferenceAttributesBuilder;
    using BatchnormTraining = current::BatchnormAttributes;
    using BatchnormTrainingBuilder = current::BatchnormAttributesBuilder;
    using BatchnormBackward = current::BatchnormBackwardAttributes;
    using BatchnormBackwardBuilder = current::BatchnormBackwardAttributesBuilder;
    using ConvMode = current::ConvMode;
    using ConvolutionForward = current::ConvolutionFwdAttributes;
    using ConvolutionForwardBuilder = current::ConvolutionFwdAttributesBuilder;
    using ConvolutionDataGradient = current::ConvolutionBwdAttributes;
    using ConvolutionDataGradientBuilder = current::ConvolutionBwdAttributesBuilder;
    using ConvolutionWeightGradient = current::ConvolutionWrwAttributes;
    using ConvolutionWeightGradientBuilder = current::ConvolutionWrwAttributesBuilder;
    using DataType = current::DataType;
    static constexpr enum kiln_wire_era era = KILN_WIRE_ERA_CURRENT;
};

/* Where the layout has no field for it. */
constexpr uint32_t default_alignment_bytes = 16;

inline struct kiln_wire_text text(const flatbuffers::String *string)
{
    if (string == nullptr)
        return {"", 0};
    return {string->c_str(), string->size()};
}

template <typename Root> bool verify(const uint8_t *bytes, size_t size)
{
    /* Graph, node, attributes; nothing nests deeper. Every table of a graph within the limits:
     * itself, nodes with attributes, tensors. */
    constexpr flatbuffers::uoffset_t max_depth = 8;
    constexpr flatbuffers::uoffset_t max_tables =
        1 + 2 * KILN_MAX_GRAPH_NODES + KILN_MAX_GRAPH_TENSORS;
    flatbuffers::Verifier verifier(bytes, size, max_depth, max_tables);
    return verifier.VerifyBuffer<Root>(nullptr);
}

/* Bytes at an 8-byte aligned address: themselves or a copy; nullptr without memory. */
inline const uint8_t *align(const void *bytes, size_t size, struct kiln_arena *arena)
{
    if (reinterpret_cast<uintptr_t>(bytes) % 8 == 0)
        return static_cast<const uint8_t *>(bytes);
    void *copy = kiln_arena_calloc(arena, size, 1);
    if (copy != nullptr)
        std::memcpy(copy, bytes, size);
    return static_cast<const uint8_t *>(copy);
}

} // namespace kiln::wire

#endif
