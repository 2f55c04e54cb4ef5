/*
 * What becomes of the sums of an operand's rows: values computed from them, and their stores.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction_parts.h"

#include <inttypes.h>

static bool is_of_sums(const struct kiln_emission *emission, uint32_t access)
{
    return emission->group->accesses[access].place == KILN_PLACE_SUM;
}

/* Batches along which the operand does not vary have the same sums: the first one's work-groups do
 * them. */
static void append_batch(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    kiln_buffer_append_text(source, "KILN_DEVICE void kiln_locate_sum_batch(const kiln_arguments "
                                    "&arguments, unsigned rest, kiln_batch &batch)\n{\n"
                                    "    (void)arguments, (void)rest, (void)batch;\n");
    for (uint32_t b = contraction->batch_rank; b-- > 0;) {
        if ((contraction->summed_batches >> b & 1u) == 0)
            kiln_buffer_printf(source, "    batch.c%" PRIu32 " = 0;\n", b);
        else
            kiln_buffer_printf(source,
                               "    batch.c%" PRIu32 " = rest %% (unsigned)arguments.batch%" PRIu32
                               ";\n    rest /= (unsigned)arguments.batch%" PRIu32 ";\n",
                               b, b, b);
    }
    kiln_buffer_append_text(source, "}\n");
}

static void append_sources(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const char *side = kiln_contraction_of(emission)->is_right_summed ? "right" : "left";
    kiln_buffer_append_text(source, "    struct {\n");
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        if (is_of_sums(emission, i))
            kiln_emit_contraction_pointer(emission, i, source);
    }
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (is_of_sums(emission, i))
            kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[1];\n",
                               kiln_storage_suffix(&emission->group->accesses[i]), i);
    }
    kiln_buffer_append_text(source, "    } source;\n");
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        if (is_of_sums(emission, i))
            kiln_emit_contraction_start(emission, i, side, "row", NULL, source);
    }
}

void kiln_emit_contraction_sums(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    struct kiln_value_table table;
    append_batch(emission, source);
    kiln_buffer_append_text(source,
                            "KILN_DEVICE void kiln_finish_sum(const kiln_arguments &arguments, "
                            "const kiln_batch &batch, unsigned row, kiln_sum sum)\n{\n"
                            "    (void)arguments, (void)batch, (void)row;\n");
    append_sources(emission, source);
    kiln_buffer_append_text(source, "    auto &inputs = source;\n    (void)inputs;\n");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!is_of_sums(emission, i))
            continue;
        elements[i] = "0";
        if (group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR)
            kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", i,
                               i);
        else
            kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = *source.p%" PRIu32 ";\n", i,
                               i);
    }
    if (!kiln_contraction_table_init(emission, KILN_PLACE_SUM, elements, &table)) {
        source->failed = true;
        return;
    }
    kiln_emit_contraction_values(emission, &table, KILN_PLACE_SUM, source);
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!is_of_sums(emission, i))
            continue;
        kiln_buffer_printf(source, "    *source.p%" PRIu32 " = ", i);
        kiln_emit_encoded(emission, &table, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "}\n");
    kiln_value_table_fini(&table);
}
