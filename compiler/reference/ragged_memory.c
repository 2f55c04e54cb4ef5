#include "compiler/reference/ragged_memory.h"

#include "compiler/reference/convert.h"

void kiln_ragged_read_spans(const struct kiln_graph *graph, uint32_t ordinal, const void *offsets,
                            struct kiln_span *ret_spans)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    const struct kiln_tensor *line = &graph->tensors[tensor->ragged.offsets];
    const unsigned char *bytes = offsets;
    size_t step = (size_t)line->strides[0] * kiln_dtype_info(line->dtype)->bytes;
    size_t batches = (size_t)tensor->dims[KILN_RAGGED_BATCH];
    int64_t last = kiln_element_load(line->dtype, bytes + batches * step).integer;
    for (size_t b = 0; b < batches; b++)
        ret_spans[b] =
            kiln_ragged_span(tensor, kiln_element_load(line->dtype, bytes + b * step).integer,
                             kiln_element_load(line->dtype, bytes + (b + 1) * step).integer, last);
}

int64_t kiln_ragged_memory_elements(const struct kiln_graph *graph, uint32_t ordinal,
                                    const void *offsets)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    const struct kiln_tensor *line = &graph->tensors[tensor->ragged.offsets];
    size_t last = (size_t)(tensor->dims[KILN_RAGGED_BATCH] * line->strides[0]) *
                  kiln_dtype_info(line->dtype)->bytes;
    int64_t offset = kiln_element_load(line->dtype, (const unsigned char *)offsets + last).integer;
    return kiln_cut_offset(offset, 0, kiln_ragged_last_offset(tensor)) * tensor->ragged.multiplier;
}

int64_t kiln_ragged_place(const struct kiln_tensor *tensor, const struct kiln_span *spans,
                          int64_t index)
{
    int64_t at[KILN_RAGGED_RANK], place = 0;
    for (uint32_t axis = KILN_RAGGED_RANK; axis-- > 0;) {
        at[axis] = index % tensor->dims[axis];
        index /= tensor->dims[axis];
        place += at[axis] * tensor->strides[axis];
    }
    const struct kiln_span *span = &spans[at[KILN_RAGGED_BATCH]];
    return at[KILN_RAGGED_SEQUENCE] < span->length ? span->base + place : -1;
}
