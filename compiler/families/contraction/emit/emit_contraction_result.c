#include "compiler/families/contraction/emit/emit_contraction_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/families/contraction/schedule/contraction_access.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/schedule/vector_access.h"

#include <inttypes.h>

/* KILN_SEGMENT_BATCHES and so on: the tiles that have statistics of their own. */
static void append_segments(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    enum kiln_statistics statistics = kiln_ending_statistics(&contraction->ending);
    uint32_t batches = 0;
    if (statistics == KILN_STATISTICS_NONE)
        return;
    for (uint32_t b = 0; b < contraction->problem.batches.rank; b++)
        batches |= contraction->ending.statistics.batches & 1u << b;
    kiln_buffer_printf(
        source,
        "#define KILN_SEGMENT_BATCHES %" PRIu32 "u\n#define KILN_HAS_SEGMENTS_OF_ROWS %d\n"
        "#define KILN_HAS_SEGMENTS_OF_COLUMNS %d\n",
        batches, statistics != KILN_STATISTICS_ROWS, statistics != KILN_STATISTICS_COLUMNS);
}

/* ---- facts ---- */

/* Members at the end that are zero are left out. */
void kiln_emit_result_access(const struct kiln_emission *emission, uint32_t access,
                             const char *repeat, struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    bool splits_rows = kiln_contraction_of(emission)->accesses[access].splits_rows;
    bool is_of_row = memory->guard_axes != 0;
    uint32_t rows = kiln_contraction_of(emission)->problem.rows.count;
    if (memory->kind == KILN_ARGUMENT_HOST_SCALAR)
        return;
    if (memory->is_store && kiln_dtype_is_packed(memory->dtype))
        kiln_buffer_printf(
            source,
            "enum : unsigned { kiln_stored_bits_%" PRIu32 " = %u, kiln_stored_bytes_%" PRIu32
            " = %" PRIu32 " };\n",
            access, kiln_dtype_info(memory->dtype)->bits, access,
            kiln_packed_access_bytes(memory->dtype, kiln_contraction_of(emission)->result_vector));
    kiln_buffer_printf(source, "KILN_FACT kiln_result_access kiln_result_%" PRIu32 " = {", access);
    kiln_emit_map(emission, access, repeat, source);
    if (memory->is_accumulator)
        kiln_buffer_printf(source, ", KILN_ARGUMENT(%ssegment_stride)",
                           memory->place == KILN_PLACE_SUM ? "sum_" : "");
    else if (splits_rows || is_of_row)
        kiln_buffer_append_text(source, ", KILN_CONSTANT(0)");
    if (splits_rows || is_of_row)
        kiln_buffer_append_text(source, is_of_row ? ", true" : ", false");
    for (uint32_t i = 0; splits_rows && i < rows; i++) {
        kiln_buffer_append_text(source, i == 0 ? ", true, {" : ", ");
        kiln_emit_contraction_stride(
            emission, access, i + 1 == rows ? (uint32_t)KILN_STRIDE_ROW : KILN_STRIDE_OUTER_ROW + i,
            source);
    }
    kiln_buffer_append_text(source, splits_rows ? "}};\n" : "};\n");
}

void kiln_emit_result_use(const struct kiln_emission *emission, uint32_t access,
                          struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    bool is_of_block =
        kiln_contraction_of(emission)->problem.block != 0 && memory->place == KILN_PLACE_ROW;
    bool is_packed = memory->is_store && kiln_dtype_is_packed(memory->dtype);
    kiln_buffer_printf(source, " use(%" PRIu32 ", %s, %s)", access, kiln_storage_suffix(memory),
                       memory->kind == KILN_ARGUMENT_HOST_SCALAR ? "SCALAR"
                       : kiln_is_length_access(emission, access) ? "LENGTH"
                       : is_of_block                             ? "BLOCK"
                       : is_packed                               ? "PACKED"
                                                                 : "PLAIN");
}

void kiln_emit_sum_parameters(uint32_t products, struct kiln_buffer *source)
{
    for (uint32_t p = 0; p < products; p++)
        kiln_buffer_printf(source, ", kiln_sum value%" PRIu32, p);
}

static void append_list(const struct kiln_emission *emission, const char *name, bool are_stores,
                        struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    uint32_t first = are_stores ? group->load_count : 0;
    uint32_t end = are_stores ? group->access_count : group->load_count;
    for (uint32_t i = first; i < end; i++) {
        if (kiln_is_access_of_result(&group->accesses[i]))
            kiln_emit_result_access(emission, i, NULL, source);
    }
    kiln_buffer_printf(source, "#define KILN_%s(use)", name);
    for (uint32_t i = first; i < end; i++) {
        if (kiln_is_access_of_result(&group->accesses[i]))
            kiln_emit_result_use(emission, i, source);
    }
    kiln_buffer_append_text(source, "\n");
}

/* The function of one element. Its parameters: where it is; `totals`, what else is known of its
 * row; its sums; what accesses have loaded; what they store. */
static void append_element(const struct kiln_emission *emission, const char *totals,
                           uint32_t products, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    struct kiln_value_table table;
    if (!kiln_contraction_table_init(emission, KILN_PLACE_ELEMENT, &table)) {
        source->failed = true;
        return;
    }
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_result_element(const kiln_arguments &arguments, "
                       "const kiln_batch &batch, unsigned m, unsigned n%s",
                       totals);
    kiln_emit_sum_parameters(products, source);
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (kiln_is_access_of_result(&group->accesses[i]))
            kiln_buffer_printf(source, ", kiln_storage_%s %s%" PRIu32,
                               kiln_storage_suffix(&group->accesses[i]),
                               i < group->load_count ? "x" : "&y", i);
    }
    kiln_buffer_append_text(source, ")\n{\n");
    kiln_emit_contraction_values(emission, &table, KILN_PLACE_ELEMENT, source);
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!kiln_is_access_of_result(&group->accesses[i]))
            continue;
        kiln_buffer_printf(source, "        y%" PRIu32 " = ", i);
        kiln_emit_encoded(emission, &table, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "}\n");
    kiln_value_table_fini(&table);
}

static void append_accesses(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    append_list(emission, "RESULT_LOADS", false, source);
    append_list(emission, "RESULT_STORES", true, source);
}

void kiln_emit_result_facts(const struct kiln_emission *emission, const char *totals,
                            uint32_t products, struct kiln_buffer *source)
{
    append_accesses(emission, source);
    append_element(emission, totals, products, source);
}

void kiln_emit_contraction_result(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    if (kiln_ending_passes(&contraction->ending) == NULL) {
        kiln_emit_result_facts(emission, "", contraction->problem.products, source);
        return;
    }
    append_accesses(emission, source);
    append_segments(emission, source);
    kiln_emit_contraction_rows(emission, source);
}
