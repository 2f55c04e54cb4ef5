/*
 * What a contraction's kernel computes of rows that it has whole: kiln_row (values of a row),
 * kiln_row_start and the passes over a row's elements, kiln_row_pass_<n>. In a pass elements are
 * evaluated from the sums again, as far as the pass needs them.
 */
#include "compiler/emit/emit_contraction_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_accumulators.h"
#include "compiler/schedule/contraction_statistics.h"

#include <inttypes.h>
#include <stdlib.h>

struct rows {
    const struct kiln_emission *emission;
    const struct kiln_reduction_passes *passes;
    bool has_statistics; /* accumulators are stored, and no value of a row is known */
    bool is_columns;     /* an accumulator has a lane for each element of a vector */
    struct kiln_value_table table;
    bool *is_needed; /* per position in group->ops: in the pass whose text is being made */
};

static bool is_wanted(const struct rows *rows, uint32_t position)
{
    const struct kiln_fusion_group *group = rows->emission->group;
    uint32_t value = group->ops[position];
    return (group->places[position] >> KILN_PLACE_ELEMENT & 1) != 0 &&
           rows->emission->ir->ops[value].opcode != KILN_OP_CONSTANT &&
           kiln_value_is_computed(rows->emission, &rows->table, value);
}

static bool is_row_value(const struct rows *rows, uint32_t position)
{
    return !rows->has_statistics && is_wanted(rows, position) &&
           rows->passes->place[position] == KILN_PLACE_ROW;
}

/* The pass in which a store is made: a value of a row is known before that pass. */
static uint32_t pass_of(const struct rows *rows, const struct kiln_access *store)
{
    return rows->passes->pass[kiln_group_position(rows->emission->group, store->value)];
}

/* "row.v7 = totals.a0.mean[0];": where accumulators yield it, else what it is computed from. */
static void append_row_value(const struct rows *rows, uint32_t position, struct kiln_buffer *source)
{
    uint32_t value = rows->emission->group->ops[position];
    if (rows->emission->ir->ops[value].opcode == KILN_OP_INDEX) {
        kiln_emit_contraction_index(rows->emission, &rows->table, value, source);
        return;
    }
    kiln_emit_operation(rows->emission, &rows->table, value, "        ", source);
    for (uint32_t i = 0; i < rows->passes->accumulator_count; i++) {
        const struct kiln_accumulator *accumulator = &rows->passes->accumulators[i];
        for (uint32_t k = 0; k < 2; k++) {
            if (accumulator->results[k] == value)
                kiln_buffer_printf(source, "totals.a%" PRIu32 ".%s;\n", i,
                                   !kiln_accumulator_is_moments(accumulator) ? "value[0]"
                                   : k == 0                                  ? "mean[0]"
                                                                             : "squares[0]");
        }
    }
}

/* Values of a row that are known in a pass, and their stores. */
static void append_row_values(const struct rows *rows, uint32_t pass, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = rows->emission->group;
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (is_row_value(rows, i) && rows->passes->pass[i] == pass)
            append_row_value(rows, i, source);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (group->accesses[i].place != KILN_PLACE_ROW ||
            pass_of(rows, &group->accesses[i]) != pass)
            continue;
        kiln_buffer_printf(source,
                           "        if (is_first) {\n        kiln_storage_%s y%" PRIu32 "[1] = {",
                           kiln_storage_suffix(&group->accesses[i]), i);
        kiln_emit_encoded(rows->emission, &rows->table, i, source);
        kiln_buffer_append_text(source, "};\n");
        kiln_emit_contraction_result_store(rows->emission, i, source);
        kiln_buffer_append_text(source, "        }\n");
    }
}

static void append_row(const struct rows *rows, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = rows->emission->group;
    kiln_buffer_append_text(source, "struct kiln_row {\n");
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (is_row_value(rows, i))
            kiln_buffer_printf(source, "    %s v%" PRIu32 ";\n",
                               kiln_scalar_type(rows->emission->ir->ops[group->ops[i]].scalar), i);
    }
    kiln_buffer_append_text(
        source, "};\nKILN_DEVICE void kiln_row_start(const kiln_arguments &arguments, const "
                "kiln_result_source &source, unsigned at_row, bool is_first, kiln_row &row)\n{\n"
                "    (void)arguments, (void)source, (void)at_row, (void)is_first, (void)row;\n"
                "    const unsigned column = 0;\n    (void)column;\n"
                "    kiln_result_inputs inputs;\n    (void)inputs;\n");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_in(rows->emission, i, KILN_PLACE_ROW))
            kiln_emit_contraction_result_load(rows->emission, i, source);
    }
    append_row_values(rows, 0, source);
    kiln_buffer_append_text(source, "}\n");
}

/* Repeats what follows for each accumulator of a pass, with its index. */
#define FOR_EACH_ACCUMULATOR(i, rows, number)                                                      \
    for (uint32_t i = 0; i < (rows)->passes->accumulator_count; i++)                               \
        if ((rows)->passes->accumulators[i].pass == (number))

static void append_start(const struct kiln_accumulator *accumulator, uint32_t index,
                         struct kiln_buffer *source)
{
    if (kiln_accumulator_is_moments(accumulator))
        kiln_buffer_printf(source,
                           "            totals.a%" PRIu32 ".count = totals.a%" PRIu32
                           ".mean[e] = totals.a%" PRIu32 ".squares[e] = 0;\n",
                           index, index, index);
    else
        kiln_buffer_printf(source, "            totals.a%" PRIu32 ".value[e] = %s;\n", index,
                           kiln_accumulator_neutral(accumulator));
}

/* Lanes of a work-item's accumulators. */
static uint32_t lane_count(const struct rows *rows)
{
    return rows->is_columns ? kiln_contraction_of(rows->emission)->result_vector : 1;
}

static void append_totals(const struct rows *rows, uint32_t pass, struct kiln_buffer *source)
{
    const struct kiln_accumulator *accumulators = rows->passes->accumulators;
    kiln_buffer_append_text(source, "    struct totals {\n");
    FOR_EACH_ACCUMULATOR(i, rows, pass)
    kiln_buffer_printf(source, "        kiln_%s_lanes_%s<%" PRIu32 "> a%" PRIu32 ";\n",
                       kiln_accumulator_operation(&accumulators[i]),
                       kiln_scalar_text(accumulators[i].scalar), lane_count(rows), i);
    kiln_buffer_append_text(source, "    };\n    KILN_DEVICE void start(totals &totals)\n    {\n"
                                    "        (void)totals;\n");
    kiln_emit_element_loop("        ", lane_count(rows), source);
    FOR_EACH_ACCUMULATOR(i, rows, pass)
    append_start(&accumulators[i], i, source);
    kiln_buffer_append_text(source, "            (void)e;\n        }\n");
    kiln_buffer_append_text(source,
                            "    }\n    KILN_DEVICE void exchange(unsigned mask, totals &totals)\n"
                            "    {\n        const bool is_second = (kiln_lane() & mask) != 0;\n"
                            "        auto second = totals;\n"
                            "        (void)is_second, (void)second;\n");
    FOR_EACH_ACCUMULATOR(i, rows, pass)
    kiln_buffer_printf(source,
                       "        kiln_exchange<true, false>(mask, is_second, totals.a%" PRIu32
                       ", second.a%" PRIu32 ");\n        kiln_merge<false>(second.a%" PRIu32
                       ", totals.a%" PRIu32 ");\n",
                       i, i, i, i);
    kiln_buffer_append_text(source, "    }\n");
}

/* One more element, of each lane. */
static void append_count(const struct rows *rows, uint32_t index, struct kiln_buffer *source)
{
    const struct kiln_accumulator *accumulator = &rows->passes->accumulators[index];
    const char *type = kiln_scalar_type(accumulator->scalar);
    kiln_buffer_printf(source,
                       "        totals.a%" PRIu32
                       ".count += 1;\n        const %s reciprocal%" PRIu32
                       " = kiln_count_ratio_%s((%s)1, totals.a%" PRIu32 ".count);\n",
                       index, type, index, kiln_scalar_text(accumulator->scalar), type, index);
}

static void append_take(const struct rows *rows, uint32_t index, struct kiln_buffer *source)
{
    const struct kiln_accumulator *accumulator = &rows->passes->accumulators[index];
    const char *scalar = kiln_scalar_text(accumulator->scalar);
    const char *lane = rows->is_columns ? "e" : "0";
    if (kiln_accumulator_is_moments(accumulator)) {
        if (!rows->is_columns)
            append_count(rows, index, source);
        kiln_buffer_printf(source, "        kiln_moments_update_%s(", scalar);
        kiln_emit_value(&rows->table, accumulator->operand, source);
        kiln_buffer_printf(source,
                           ", reciprocal%" PRIu32 ", totals.a%" PRIu32 ".mean[%s], totals.a%" PRIu32
                           ".squares[%s]);\n",
                           index, index, lane, index, lane);
        return;
    }
    kiln_buffer_printf(source,
                       "        totals.a%" PRIu32 ".value[%s] = kiln_%s_%s(totals.a%" PRIu32
                       ".value[%s], ",
                       index, lane, kiln_accumulator_operation(accumulator), scalar, index, lane);
    kiln_emit_value(&rows->table, accumulator->operand, source);
    kiln_buffer_append_text(source, ");\n");
}

static bool is_stored_in(const struct rows *rows, uint32_t access, uint32_t pass)
{
    const struct kiln_access *store = &rows->emission->group->accesses[access];
    return store->place == KILN_PLACE_ELEMENT && pass_of(rows, store) == pass;
}

static void append_update(const struct rows *rows, uint32_t pass, struct kiln_buffer *source)
{
    const struct kiln_emission *emission = rows->emission;
    const struct kiln_fusion_group *group = emission->group;
    uint32_t vector = kiln_contraction_of(emission)->result_vector;
    kiln_buffer_append_text(
        source, "    KILN_DEVICE void update(const kiln_arguments &arguments, const "
                "kiln_result_source &source, unsigned at_row, unsigned column, bool is_inside, "
                "const kiln_row &row, const kiln_sum "
                "(&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR], totals &totals)\n    {\n"
                "    (void)arguments, (void)source, (void)at_row, (void)column, (void)is_inside, "
                "(void)row, (void)values, (void)totals;\n"
                "    kiln_result_inputs inputs;\n    (void)inputs;\n");
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t load = rows->table.load[group->ops[i]];
        if (rows->is_needed[i] && is_wanted(rows, i) && load != KILN_NONE &&
            group->accesses[load].place == KILN_PLACE_ELEMENT)
            kiln_emit_contraction_result_load(emission, load, source);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (is_stored_in(rows, i, pass))
            kiln_buffer_printf(source, "    kiln_storage_%s y%" PRIu32 "[%" PRIu32 "];\n",
                               kiln_storage_suffix(&group->accesses[i]), i, vector);
    }
    FOR_EACH_ACCUMULATOR(i, rows, pass)
    if (rows->is_columns && kiln_accumulator_is_moments(&rows->passes->accumulators[i]))
        append_count(rows, i, source);
    kiln_emit_element_loop("    ", vector, source);
    kiln_buffer_append_text(source, "        (void)e;\n");
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (rows->is_needed[i] && is_wanted(rows, i) && !is_row_value(rows, i))
            kiln_emit_contraction_value(emission, &rows->table, group->ops[i], source);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!is_stored_in(rows, i, pass))
            continue;
        kiln_buffer_printf(source, "        y%" PRIu32 "[e] = ", i);
        kiln_emit_encoded(emission, &rows->table, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
    FOR_EACH_ACCUMULATOR(i, rows, pass)
    append_take(rows, i, source);
    kiln_buffer_append_text(source, "    }\n    if (!is_inside)\n        return;\n");
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (is_stored_in(rows, i, pass))
            kiln_emit_contraction_result_store(emission, i, source);
    }
    kiln_buffer_append_text(source, "    }\n");
}

/* The store of a component of an accumulator; KILN_NONE where there is none. */
static uint32_t component_store(const struct rows *rows, uint32_t index, uint32_t component)
{
    const struct kiln_fusion_group *group = rows->emission->group;
    const uint32_t *results = rows->passes->accumulators[index].results;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        if (access->is_accumulator && access->component == component &&
            access->value == (results[0] != KILN_NONE ? results[0] : results[1]))
            return i;
    }
    return KILN_NONE;
}

/* What a tile has accumulated, of a row, of all of it, or of so many neighbouring columns. */
static void append_store(const struct rows *rows, const char *name, const char *type,
                         uint32_t lanes, struct kiln_buffer *source)
{
    static const char *const moments[] = {"count", "mean[e]", "squares[e]"};
    const struct kiln_emission *emission = rows->emission;
    const struct kiln_accumulator *accumulators = rows->passes->accumulators;
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    kiln_buffer_printf(source,
                       "    KILN_DEVICE void %s(const kiln_arguments &arguments, const "
                       "kiln_result_source &source, unsigned at_row, unsigned column, const %s "
                       "&totals)\n    {\n        (void)arguments, (void)at_row, (void)column;\n",
                       name, type);
    kiln_emit_element_loop("        ", lanes, source);
    for (uint32_t i = 0; i < rows->passes->accumulator_count; i++) {
        bool is_moments = kiln_accumulator_is_moments(&accumulators[i]);
        uint32_t components = kiln_accumulator_info(accumulators[i].kind)->components;
        for (uint32_t c = 0; c < components; c++) {
            uint32_t access = component_store(rows, i, c);
            kiln_buffer_printf(source, "            *(source.p%" PRIu32 " + (0u", access);
            kiln_emit_contraction_row_offset(emission, access, source);
            kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_COLUMN, "column + e",
                                       source);
            kiln_buffer_printf(source, ")) = kiln_encode_%s(totals.a%" PRIu32 ".%s);\n",
                               kiln_storage_suffix(&emission->group->accesses[access]), i,
                               is_moments ? moments[c] : "value[e]");
        }
    }
    kiln_buffer_append_text(source, "        }\n    }\n");
}

/* A member for each accumulator, of one lane. */
static void append_column_totals(const struct rows *rows, struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "    struct column_totals {\n");
    for (uint32_t i = 0; i < rows->passes->accumulator_count; i++)
        kiln_buffer_printf(source, "        kiln_%s_lanes_%s<1> a%" PRIu32 ";\n",
                           kiln_accumulator_operation(&rows->passes->accumulators[i]),
                           kiln_scalar_text(rows->passes->accumulators[i].scalar), i);
    kiln_buffer_append_text(source, "    };\n");
}

/* meet: each accumulator goes to an entry of local memory, and those of every `step`-th entry from
 * `first` to `end` are merged. Of a tile an entry is a wave's, of columns a work-item's, of which
 * one lane is merged. */
static void append_meet(const struct rows *rows, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = rows->emission->schedule;
    uint32_t entries = kiln_statistics_entries(schedule, rows->emission->target);
    kiln_buffer_append_text(
        source,
        rows->is_columns
            ? "    KILN_DEVICE void meet(kiln_pack *shared, const totals &totals, bool merges, "
              "unsigned lane, unsigned first, column_totals &merged)\n    {\n"
            : "    KILN_DEVICE void meet(kiln_pack *shared, unsigned entry, bool puts, unsigned "
              "first, unsigned end, totals &merged)\n    {\n");
    for (uint32_t i = 0; i < rows->passes->accumulator_count; i++) {
        const struct kiln_accumulator *accumulator = &rows->passes->accumulators[i];
        const char *operation = kiln_accumulator_operation(accumulator);
        const char *scalar = kiln_scalar_text(accumulator->scalar);
        kiln_buffer_printf(source,
                           "    {\n        auto &entries = *(kiln_%s_entries_%s<%" PRIu32
                           ", %" PRIu32 "> *)shared;\n        kiln_%s_lanes_%s<1> second;\n",
                           operation, scalar, lane_count(rows), entries, operation, scalar);
        if (rows->is_columns)
            kiln_buffer_printf(
                source,
                "        kiln_put(totals.a%" PRIu32
                ", kiln_work_item(), entries);\n        kiln_barrier();\n        if (merges)\n"
                "            kiln_get_lane(entries, lane, first, merged.a%" PRIu32
                ");\n        for (unsigned row = 1; merges && row < KILN_ROWS_ABREAST; row++) {\n"
                "            kiln_get_lane(entries, lane, first + row * KILN_VECTORS_ABREAST, "
                "second);\n",
                i, i);
        else
            kiln_buffer_printf(
                source,
                "        if (puts)\n            kiln_put(merged.a%" PRIu32
                ", entry, entries);\n        kiln_barrier();\n        KILN_NO_UNROLL\n"
                "        for (unsigned other = first; other < end; other++) {\n"
                "            kiln_get(entries, other, second);\n",
                i);
        kiln_buffer_printf(source,
                           "            kiln_merge<false>(second, merged.a%" PRIu32
                           ");\n        }\n        kiln_barrier();\n    }\n",
                           i);
    }
    kiln_buffer_append_text(source, "    }\n");
}

static void append_statistics(const struct rows *rows, struct kiln_buffer *source)
{
    append_store(rows, "store", "totals", lane_count(rows), source);
    if (rows->is_columns) {
        append_column_totals(rows, source);
        append_store(rows, "store_column", "column_totals", 1, source);
    }
    append_meet(rows, source);
}

static void append_pass(const struct rows *rows, uint32_t pass, struct kiln_buffer *source)
{
    const struct kiln_emission *emission = rows->emission;
    kiln_reduction_pass_values(emission->ir, emission->group, rows->passes, pass, rows->is_needed);
    kiln_buffer_printf(source, "struct kiln_row_pass_%" PRIu32 " {\n", pass);
    append_totals(rows, pass, source);
    append_update(rows, pass, source);
    kiln_buffer_append_text(
        source, "    KILN_DEVICE void finish(const kiln_arguments &arguments, const "
                "kiln_result_source &source, unsigned at_row, bool is_first, const totals &totals, "
                "kiln_row &row)\n    {\n"
                "        (void)arguments, (void)source, (void)at_row, (void)is_first, "
                "(void)totals, (void)row;\n        const unsigned column = 0;\n"
                "        (void)column;\n");
    if (rows->has_statistics)
        kiln_buffer_append_text(source, "        if (is_first)\n            store(arguments, "
                                        "source, at_row, column, totals);\n");
    else
        append_row_values(rows, pass + 1, source);
    kiln_buffer_append_text(source, "    }\n");
    if (rows->has_statistics)
        append_statistics(rows, source);
    kiln_buffer_append_text(source, "};\n");
}

void kiln_emit_contraction_rows(const struct kiln_emission *emission, const char *const *elements,
                                struct kiln_buffer *source)
{
    struct rows rows = {
        .emission = emission,
        .passes = &kiln_contraction_of(emission)->passes,
        .has_statistics = kiln_contraction_of(emission)->statistics != KILN_STATISTICS_NONE,
        .is_columns = kiln_contraction_of(emission)->statistics == KILN_STATISTICS_COLUMNS,
        .is_needed = calloc(emission->group->op_count, sizeof *rows.is_needed),
    };
    if (rows.is_needed == NULL ||
        !kiln_contraction_table_init(emission, KILN_PLACE_ELEMENT, elements, &rows.table)) {
        free(rows.is_needed);
        source->failed = true;
        return;
    }
    kiln_emit_accumulator_types(rows.passes, source);
    append_row(&rows, source);
    for (uint32_t pass = 0; pass < rows.passes->pass_count; pass++)
        append_pass(&rows, pass, source);
    kiln_buffer_append_text(source, "#define KILN_ROW_PASSES(run)");
    for (uint32_t pass = 0; pass < rows.passes->pass_count; pass++)
        kiln_buffer_printf(source, " run(%" PRIu32 ")", pass);
    kiln_buffer_append_text(source, "\n");
    kiln_value_table_fini(&rows.table);
    free(rows.is_needed);
}
