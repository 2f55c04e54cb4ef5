#include "compiler/graph/graph.h"

static const struct kiln_pointwise_mode_info modes[KILN_POINTWISE_MODE_COUNT] = {
#define KILN_POINTWISE_MODE(name, number, arity, integer, formula)                                 \
    [number] = {#name, arity, integer, formula},
#include "compiler/graph/pointwise_mode.def"
};

const struct kiln_pointwise_mode_info *kiln_pointwise_mode_info(enum kiln_pointwise_mode mode)
{
    return &modes[mode];
}

int64_t kiln_tensor_elements(const struct kiln_tensor *tensor)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        elements *= tensor->dims[i];
    return elements;
}

int64_t kiln_tensor_footprint_elements(const struct kiln_tensor *tensor)
{
    int64_t footprint = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        footprint += (tensor->dims[i] - 1) * tensor->strides[i];
    return footprint;
}

int64_t kiln_tensor_footprint_bytes(const struct kiln_tensor *tensor)
{
    return kiln_tensor_footprint_elements(tensor) * kiln_dtype_info(tensor->dtype)->bytes;
}
