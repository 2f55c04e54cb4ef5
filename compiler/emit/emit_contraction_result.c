#include "compiler/emit/emit_contraction_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/schedule/contraction_access.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>

void kiln_emit_contraction_row_offset(const struct kiln_emission *emission, uint32_t access,
                                      struct kiln_buffer *source)
{
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    if (emission->schedule->accesses[access].splits_rows)
        kiln_buffer_printf(source, " + kiln_row_offset_%" PRIu32 "(arguments, source, at_row)",
                           access);
    else
        kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_ROW, "at_row", source);
}

void kiln_emit_contraction_result_load(const struct kiln_emission *emission, uint32_t access,
                                       struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    uint32_t vector = kiln_contraction_of(emission)->result_vector;
    if (memory->kind == KILN_ARGUMENT_HOST_SCALAR) {
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", access,
                           access);
        return;
    }
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    bool is_splat = emission->schedule->accesses[access].mode == KILN_ACCESS_SPLAT;
    if (is_vector)
        kiln_buffer_printf(source,
                           "    KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32 ", source.p%" PRIu32
                           " + (0u",
                           kiln_vector_bytes(memory, vector), access, access);
    else
        kiln_buffer_printf(source,
                           "    KILN_UNROLL\n    for (unsigned e = 0; e < %" PRIu32 "; e++)\n"
                           "        inputs.x%" PRIu32 "[e] = *(source.p%" PRIu32 " + (0u",
                           is_splat ? 1 : vector, access, access);
    kiln_emit_contraction_row_offset(emission, access, source);
    kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_COLUMN,
                               is_vector ? "column" : "column + e", source);
    kiln_buffer_append_text(source, is_vector ? "))\n" : "));\n");
}

void kiln_emit_contraction_result_store(const struct kiln_emission *emission, uint32_t access,
                                        struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    uint32_t vector = kiln_contraction_of(emission)->result_vector;
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    bool is_splat = emission->schedule->accesses[access].mode == KILN_ACCESS_SPLAT;
    bool is_of_row = memory->guard_axes != 0; /* for all of its columns once */
    if (is_of_row)
        kiln_buffer_append_text(source, "    if (source.column + column == 0) {\n");
    if (is_vector)
        kiln_buffer_printf(source, "    KILN_STORE_VECTOR(%" PRIu32 ", source.p%" PRIu32 " + (0u",
                           kiln_vector_bytes(memory, vector), access);
    else
        kiln_buffer_printf(source,
                           "    KILN_UNROLL\n    for (unsigned e = 0; e < %" PRIu32 "; e++)\n"
                           "        *(source.p%" PRIu32 " + (0u",
                           is_splat ? 1 : vector, access);
    kiln_emit_contraction_row_offset(emission, access, source);
    kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_COLUMN,
                               is_vector ? "column" : "column + e", source);
    kiln_buffer_printf(source, is_vector ? "), y%" PRIu32 ")\n" : ")) = y%" PRIu32 "[e];\n",
                       access);
    if (is_of_row)
        kiln_buffer_append_text(source, "    }\n");
}

/* "const unsigned segment = ...;": the number of the tile among those that share statistics. */
static void append_segment(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    if (contraction->statistics == KILN_STATISTICS_NONE)
        return;
    uint32_t columns = kiln_tile_columns(contraction);
    kiln_buffer_append_text(source, "    unsigned segment = 0;\n");
    for (uint32_t b = 0; b < contraction->batch_rank; b++) {
        if ((contraction->reduced_batches >> b & 1u) != 0)
            kiln_buffer_printf(source,
                               "    segment = segment * (unsigned)arguments.batch%" PRIu32
                               " + batch.c%" PRIu32 ";\n",
                               b, b);
    }
    if (contraction->statistics != KILN_STATISTICS_ROWS)
        kiln_buffer_append_text(source, "    segment = segment * (((unsigned)arguments.m + "
                                        "KILN_TILE_M - 1) / KILN_TILE_M) + row / KILN_TILE_M;\n");
    if (contraction->statistics != KILN_STATISTICS_COLUMNS)
        kiln_buffer_printf(source,
                           "    segment = segment * (((unsigned)arguments.n + %" PRIu32
                           ") / %" PRIu32 ") + column / %" PRIu32 ";\n",
                           columns - 1, columns, columns);
}

void kiln_emit_contraction_result_source(const struct kiln_emission *emission,
                                         const char **ret_elements, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    uint32_t vector = kiln_contraction_of(emission)->result_vector;
    kiln_buffer_append_text(source, "struct kiln_result_source {\n    kiln_batch batch;\n"
                                    "    unsigned row, column;\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (kiln_is_access_of_result(&group->accesses[i]))
            kiln_emit_contraction_pointer(emission, i, source);
    }
    kiln_buffer_append_text(
        source, "};\nKILN_DEVICE void kiln_result_start(const kiln_arguments &arguments, const "
                "kiln_batch &batch, unsigned row, unsigned column, kiln_result_source &source)\n{\n"
                "    (void)arguments;\n    source.batch = batch;\n    source.row = row;\n"
                "    source.column = column;\n");
    append_segment(emission, source);
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (kiln_is_access_of_result(&group->accesses[i]))
            kiln_emit_contraction_start(emission, i, NULL, "row", "column", source);
    }
    kiln_buffer_append_text(source, "}\n");
    kiln_emit_contraction_row_offsets(emission, source);
    kiln_buffer_append_text(source, "struct kiln_result_inputs {\n");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!kiln_is_access_of_result(&group->accesses[i]))
            continue;
        bool is_splat = emission->schedule->accesses[i].mode == KILN_ACCESS_SPLAT;
        ret_elements[i] = is_splat ? "0" : "e";
        kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[%" PRIu32 "];\n",
                           kiln_storage_suffix(&group->accesses[i]), i, is_splat ? 1 : vector);
    }
    kiln_buffer_append_text(source, "};\n");
}

void kiln_emit_contraction_finish(const struct kiln_emission *emission, const char *totals,
                                  const char *products, const char *const *elements,
                                  struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    uint32_t vector = kiln_contraction_of(emission)->result_vector;
    kiln_buffer_append_text(
        source, "KILN_DEVICE void kiln_result_load(const kiln_arguments &arguments, const "
                "kiln_result_source &source, unsigned at_row, unsigned column, kiln_result_inputs "
                "&inputs)\n{\n"
                "    (void)arguments, (void)source, (void)at_row, (void)column, (void)inputs;\n");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_in(emission, i, KILN_PLACE_ELEMENT))
            kiln_emit_contraction_result_load(emission, i, source);
    }
    kiln_buffer_printf(
        source,
        "}\nKILN_DEVICE void kiln_finish(const kiln_arguments &arguments, const "
        "kiln_result_source &source, unsigned at_row, unsigned column, const kiln_result_inputs "
        "&inputs, %sconst kiln_sum (&values)[%s][KILN_RESULT_VECTOR])\n{\n"
        "    (void)arguments, (void)source, (void)inputs;\n",
        totals, products);
    struct kiln_value_table table;
    if (!kiln_contraction_table_init(emission, KILN_PLACE_ELEMENT, elements, &table)) {
        source->failed = true;
        return;
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (kiln_is_access_of_result(&group->accesses[i]))
            kiln_buffer_printf(source, "    kiln_storage_%s y%" PRIu32 "[%" PRIu32 "];\n",
                               kiln_storage_suffix(&group->accesses[i]), i, vector);
    }
    kiln_emit_element_loop("    ", vector, source);
    kiln_emit_contraction_values(emission, &table, KILN_PLACE_ELEMENT, source);
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!kiln_is_access_of_result(&group->accesses[i]))
            continue;
        kiln_buffer_printf(source, "        y%" PRIu32 "[e] = ", i);
        kiln_emit_encoded(emission, &table, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "    }\n");
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (kiln_is_access_of_result(&group->accesses[i]))
            kiln_emit_contraction_result_store(emission, i, source);
    }
    kiln_buffer_append_text(source, "}\n");
    kiln_value_table_fini(&table);
}

void kiln_emit_contraction_result(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    kiln_emit_contraction_result_source(emission, elements, source);
    if (kiln_contraction_of(emission)->passes.accumulator_count != 0) {
        kiln_emit_contraction_rows(emission, elements, source);
        return;
    }
    kiln_emit_contraction_finish(emission, "", "KILN_PRODUCTS", elements, source);
}
