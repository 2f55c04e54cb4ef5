/* Facts about ragged operands, which kernels_templates/device/attention/spans.h follows. */
#include "compiler/families/attention/emit/emit_attention_parts.h"
#include "compiler/graph/ragged.h"

#include <inttypes.h>

void kiln_visit_span_arguments(struct kiln_integer_walk *walk)
{
    const struct kiln_attention_spans *spans = &kiln_attention_of(walk->emission)->spans;
    const struct kiln_tensor *tensors = walk->emission->graph->tensors;
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct kiln_tensor *tensor = &tensors[spans->tensors[i]];
        const struct kiln_ragged *ragged = &tensor->ragged;
        kiln_visit_integer(walk, tensors[ragged->offsets].strides[0], "span%" PRIu32 "_step", i);
        kiln_visit_integer(walk, tensor->dims[KILN_RAGGED_BATCH], "span%" PRIu32 "_batches", i);
        kiln_visit_integer(walk, kiln_ragged_last_offset(tensor), "span%" PRIu32 "_limit", i);
        kiln_visit_integer(walk, ragged->multiplier, "span%" PRIu32 "_multiplier", i);
        kiln_visit_integer(walk, ragged->token, "span%" PRIu32 "_token", i);
        kiln_visit_integer(walk, ragged->longest, "span%" PRIu32 "_longest", i);
    }
}

void kiln_emit_span_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    const struct kiln_attention_spans *spans = &attention->spans;
    if (spans->count == 0)
        return;
    kiln_buffer_printf(source, "#define KILN_SPANS %" PRIu32 "\n#define KILN_SPAN_LIST(use)",
                       spans->count);
    for (uint32_t i = 0; i < spans->count; i++)
        kiln_buffer_printf(source, " use(%" PRIu32 ", %" PRIu32 ")", i, spans->lengths[i]);
    kiln_buffer_append_text(source, "\n#define KILN_SPAN_OF(n) kiln_span_of_##n\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_length_access(emission, i))
            kiln_buffer_printf(source, "#define kiln_span_of_%" PRIu32 " %" PRIu32 "\n", i,
                               emission->schedule->accesses[i].span - 1);
    }
    kiln_buffer_printf(source,
                       "#define KILN_ROW_SPANS %" PRIu32 "u\n#define KILN_COLUMN_SPANS %" PRIu32
                       "u\n#define KILN_STORE_SPANS %" PRIu32
                       "u\n#define KILN_STORES_ALL_ROWS %d\n",
                       spans->of_rows, spans->of_columns, spans->of_stores, spans->stores_all_rows);
    /* Rows that are heads are those of one token. */
    kiln_buffer_append_text(source, attention->rows == KILN_SCORE_ROWS_HEADS
                                        ? "#define KILN_SPAN_ROWS(length) ((length) != 0 ? "
                                          "0xffffffffu : 0u)\n"
                                        : "#define KILN_SPAN_ROWS(length) (length)\n");
}
