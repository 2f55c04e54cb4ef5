/*
 * Facts about results whose rows, columns or tiles are reduced, for
 * device/contraction/row_passes.h: kiln_row (values of a row), and for each pass over a row's
 * elements its accesses, its accumulators and functions of an element and of the row. In a pass
 * elements are evaluated from the sums again, as far as the pass needs them.
 */
#include "compiler/families/contraction/emit/emit_contraction_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/families/contraction/schedule/contraction_statistics.h"
#include "compiler/families/reduction/emit/emit_accumulators.h"

#include <inttypes.h>
#include <stdlib.h>

struct rows {
    const struct kiln_emission *emission;
    const struct kiln_reduction_passes *passes;
    bool has_statistics; /* accumulators are stored, and no value of a row is known */
    bool is_of_rows;     /* those of rows, which do not meet in local memory */
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

/* "row.v7 = a0.mean[0];" of a value that accumulators yield, and the operation of another. */
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
                kiln_buffer_printf(source, "a%" PRIu32 ".%s;\n", i,
                                   !kiln_accumulator_is_moments(accumulator) ? "value[0]"
                                   : k == 0                                  ? "mean[0]"
                                                                             : "squares[0]");
        }
    }
}

/* Accesses that some function has: parameters, and rows of a list. */
struct accesses {
    uint32_t count;
    uint32_t access[KILN_GROUP_MAX_ACCESSES];
};

static void append_list(const struct rows *rows, const char *name, uint32_t pass, const char *what,
                        const struct accesses *accesses, struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "#define KILN_%s", name);
    if (pass != KILN_NONE)
        kiln_buffer_printf(source, "_%" PRIu32, pass);
    kiln_buffer_printf(source, "_%s(use)", what);
    for (uint32_t i = 0; i < accesses->count; i++)
        kiln_emit_result_use(rows->emission, accesses->access[i], source);
    kiln_buffer_append_text(source, "\n");
}

static void append_parameters(const struct rows *rows, const struct accesses *accesses,
                              const char *name, struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < accesses->count; i++)
        kiln_buffer_printf(
            source, ", kiln_storage_%s %s%" PRIu32,
            kiln_storage_suffix(&rows->emission->group->accesses[accesses->access[i]]), name,
            accesses->access[i]);
}

static void append_outputs(const struct rows *rows, const struct accesses *stores,
                           struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < stores->count; i++) {
        kiln_buffer_printf(source, "        y%" PRIu32 " = ", stores->access[i]);
        kiln_emit_encoded(rows->emission, &rows->table, stores->access[i], source);
        kiln_buffer_append_text(source, ";\n");
    }
}

/* Repeats what follows for each accumulator of a pass, with its index. */
#define FOR_EACH_ACCUMULATOR(i, rows, number)                                                      \
    for (uint32_t i = 0; i < (rows)->passes->accumulator_count; i++)                               \
        if ((rows)->passes->accumulators[i].pass == (number))

/* The values of a row that are known in a pass, and their stores: from what is loaded before pass
 * 0, then from accumulators of the pass before. */
static void append_row_values(const struct rows *rows, uint32_t pass, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = rows->emission->group;
    const uint32_t last = pass == 0 ? KILN_NONE : pass - 1;
    struct accesses loads = {0};
    struct accesses stores = {0};
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (pass == 0 && kiln_is_loaded_in(rows->emission, i, KILN_PLACE_ROW))
            loads.access[loads.count++] = i;
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (group->accesses[i].place == KILN_PLACE_ROW &&
            pass_of(rows, &group->accesses[i]) == pass)
            stores.access[stores.count++] = i;
    }
    if (pass == 0)
        append_list(rows, "START", KILN_NONE, "LOADS", &loads, source);
    append_list(rows, pass == 0 ? "START" : "PASS", last, pass == 0 ? "STORES" : "ROW_STORES",
                &stores, source);
    if (pass == 0)
        kiln_buffer_append_text(source, "KILN_DEVICE void kiln_start_row(");
    else
        kiln_buffer_printf(source, "KILN_DEVICE void kiln_pass_%" PRIu32 "_row(", last);
    kiln_buffer_append_text(source, "const kiln_arguments &arguments, const kiln_batch &batch, "
                                    "unsigned m, kiln_row &row");
    append_parameters(rows, &loads, "x", source);
    FOR_EACH_ACCUMULATOR(i, rows, last)
    kiln_buffer_printf(source, ", const kiln_%s_lanes_%s<1> &a%" PRIu32,
                       kiln_accumulator_operation(&rows->passes->accumulators[i]),
                       kiln_scalar_text(rows->passes->accumulators[i].scalar), i);
    append_parameters(rows, &stores, "&y", source);
    kiln_buffer_append_text(source, ")\n{\n");
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (is_row_value(rows, i) && rows->passes->pass[i] == pass)
            append_row_value(rows, i, source);
    }
    append_outputs(rows, &stores, source);
    kiln_buffer_append_text(source, "}\n");
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
    kiln_buffer_append_text(source, "};\n");
    append_row_values(rows, 0, source);
}

/* "use(0, max, f32, float, VALUE, -__builtin_inff())" for each accumulator of a pass. */
static void append_accumulators(const struct rows *rows, uint32_t pass, struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "#define KILN_PASS_%" PRIu32 "_ACCUMULATORS(use)", pass);
    FOR_EACH_ACCUMULATOR(i, rows, pass)
    {
        const struct kiln_accumulator *accumulator = &rows->passes->accumulators[i];
        bool is_moments = kiln_accumulator_is_moments(accumulator);
        kiln_buffer_printf(source, " use(%" PRIu32 ", %s, %s, %s, %s, %s)", i,
                           kiln_accumulator_operation(accumulator),
                           kiln_scalar_text(accumulator->scalar),
                           kiln_scalar_type(accumulator->scalar), is_moments ? "MOMENTS" : "VALUE",
                           is_moments ? "0" : kiln_accumulator_neutral(accumulator));
    }
    kiln_buffer_append_text(source, "\n");
}

static bool is_stored_in(const struct rows *rows, uint32_t access, uint32_t pass)
{
    const struct kiln_access *store = &rows->emission->group->accesses[access];
    return store->place == KILN_PLACE_ELEMENT && pass_of(rows, store) == pass;
}

/* The function of one element in a pass. */
static void append_element(const struct rows *rows, uint32_t pass, struct kiln_buffer *source)
{
    const struct kiln_emission *emission = rows->emission;
    const struct kiln_fusion_group *group = emission->group;
    struct accesses loads = {0};
    struct accesses stores = {0};
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t load = rows->table.load[group->ops[i]];
        if (rows->is_needed[i] && is_wanted(rows, i) && !is_row_value(rows, i) && load != KILN_NONE)
            loads.access[loads.count++] = load;
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (is_stored_in(rows, i, pass))
            stores.access[stores.count++] = i;
    }
    append_list(rows, "PASS", pass, "LOADS", &loads, source);
    append_list(rows, "PASS", pass, "STORES", &stores, source);
    append_accumulators(rows, pass, source);
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_pass_%" PRIu32
                       "_element(const kiln_arguments &arguments, const kiln_batch &batch, "
                       "unsigned m, unsigned n, const kiln_row &row",
                       pass);
    kiln_emit_sum_parameters(kiln_contraction_of(emission)->problem.products, source);
    append_parameters(rows, &loads, "x", source);
    append_parameters(rows, &stores, "&y", source);
    FOR_EACH_ACCUMULATOR(i, rows, pass)
    kiln_buffer_printf(source, ", %s &t%" PRIu32,
                       kiln_scalar_type(rows->passes->accumulators[i].scalar), i);
    kiln_buffer_append_text(source, ")\n{\n");
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (rows->is_needed[i] && is_wanted(rows, i) && !is_row_value(rows, i))
            kiln_emit_contraction_value(emission, &rows->table, group->ops[i], source);
    }
    append_outputs(rows, &stores, source);
    FOR_EACH_ACCUMULATOR(i, rows, pass)
    {
        kiln_buffer_printf(source, "        t%" PRIu32 " = ", i);
        kiln_emit_value(&rows->table, rows->passes->accumulators[i].operand, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "}\n");
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

/* KILN_STATISTICS: which member of the totals each access stores. */
static void append_statistics(const struct rows *rows, struct kiln_buffer *source)
{
    static const char *const moments[] = {"count", "mean[e]", "squares[e]"};
    const struct kiln_emission *emission = rows->emission;
    const struct kiln_accumulator *accumulators = rows->passes->accumulators;
    if (!rows->is_of_rows)
        kiln_buffer_printf(source, "#define KILN_STATISTICS_ENTRIES %" PRIu32 "\n",
                           kiln_statistics_entries(emission->schedule, emission->target));
    kiln_buffer_append_text(source, "#define KILN_STATISTICS(use)");
    for (uint32_t i = 0; i < rows->passes->accumulator_count; i++) {
        bool is_moments = kiln_accumulator_is_moments(&accumulators[i]);
        uint32_t components = kiln_accumulator_info(accumulators[i].kind)->components;
        for (uint32_t c = 0; c < components; c++) {
            uint32_t access = component_store(rows, i, c);
            kiln_buffer_printf(source, " use(%" PRIu32 ", %s, a%" PRIu32 ".%s)", access,
                               kiln_storage_suffix(&emission->group->accesses[access]), i,
                               is_moments ? moments[c] : "value[e]");
        }
    }
    kiln_buffer_append_text(source, "\n");
}

static void append_pass(const struct rows *rows, uint32_t pass, struct kiln_buffer *source)
{
    const struct kiln_emission *emission = rows->emission;
    kiln_reduction_pass_values(emission->ir, emission->group, rows->passes, pass, rows->is_needed);
    append_element(rows, pass, source);
    if (!rows->has_statistics)
        append_row_values(rows, pass + 1, source);
}

void kiln_emit_contraction_rows(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    struct rows rows = {
        .emission = emission,
        .passes = kiln_ending_passes(&kiln_contraction_of(emission)->ending),
        .has_statistics =
            kiln_ending_statistics(&kiln_contraction_of(emission)->ending) != KILN_STATISTICS_NONE,
        .is_of_rows =
            kiln_ending_statistics(&kiln_contraction_of(emission)->ending) == KILN_STATISTICS_ROWS,
        .is_needed = calloc(emission->group->op_count, sizeof *rows.is_needed),
    };
    if (rows.is_needed == NULL ||
        !kiln_contraction_table_init(emission, KILN_PLACE_ELEMENT, &rows.table)) {
        free(rows.is_needed);
        source->failed = true;
        return;
    }
    kiln_emit_accumulator_types(rows.passes, source);
    append_row(&rows, source);
    for (uint32_t pass = 0; pass < rows.passes->pass_count; pass++)
        append_pass(&rows, pass, source);
    if (rows.has_statistics)
        append_statistics(&rows, source);
    kiln_buffer_append_text(source, "#define KILN_ROW_PASSES(run)");
    for (uint32_t pass = 0; pass < rows.passes->pass_count; pass++)
        kiln_buffer_printf(source, " run(%" PRIu32 ")", pass);
    kiln_buffer_append_text(source, "\n");
    kiln_value_table_fini(&rows.table);
    free(rows.is_needed);
}
