#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_counts.h"
#include "compiler/emit/emit_family.h"
#include "compiler/emit/emit_sizes.h"
#include "compiler/emit/emit_tile.h"
#include "compiler/emit/emit_values.h"
#include "compiler/families/pointwise/pointwise_schedule.h"

#include <inttypes.h>

/* Names in the generated text: emit_access.h, emit_values.h, emit_coordinates.h; tile t<i> belongs
 * to access i. */

static void append_inputs(const struct kiln_emission *emission, uint32_t elements,
                          struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "struct kiln_inputs%s {\n", kiln_element_suffix(emission, elements));
    kiln_emit_input_members(emission, NULL, elements, source);
    kiln_buffer_append_text(source, "};\n");
}

/* The head of a generated function that works at one place of the domain. */
static void append_function_head(const struct kiln_emission *emission, const char *name,
                                 uint32_t elements, bool takes_inputs, bool fills_inputs,
                                 struct kiln_buffer *source)
{
    const char *suffix = kiln_element_suffix(emission, elements);
    kiln_buffer_printf(source, "KILN_DEVICE void %s%s(const kiln_arguments &arguments", name,
                       suffix);
    kiln_buffer_append_text(source, kiln_emission_is_tiled(emission)
                                        ? ", kiln_tiles &tiles, kiln_position position, "
                                          "kiln_index column, kiln_index line"
                                        : ", const kiln_position &position");
    if (takes_inputs)
        kiln_buffer_printf(source, ", %skiln_inputs%s &inputs", fills_inputs ? "" : "const ",
                           suffix);
    kiln_buffer_append_text(source, ")\n{\n");
    if (kiln_emission_is_tiled(emission))
        kiln_buffer_append_text(source, "    position.column += column;\n"
                                        "    position.line += line;\n");
    kiln_buffer_append_text(source, "    (void)position;\n");
}

static void append_load(const struct kiln_emission *emission, uint32_t elements,
                        struct kiln_buffer *source)
{
    append_function_head(emission, "kiln_load", elements, true, true, source);
    kiln_emit_loads(emission, NULL, elements, source);
    kiln_buffer_append_text(source, "}\n");
}

static void append_compute(const struct kiln_emission *emission,
                           const struct kiln_value_table *table, uint32_t elements,
                           struct kiln_buffer *source)
{
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_fusion_group *group = emission->group;
    append_function_head(emission, "kiln_compute", elements, true, false, source);
    kiln_buffer_append_text(source, "    (void)inputs;\n");
    bool needs_coordinates = false;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        needs_coordinates |= ir->ops[value].opcode == KILN_OP_INDEX && table->varies[value];
        if (!table->varies[value] && kiln_value_is_computed(emission, table, value))
            kiln_emit_operation(emission, table, value, "    ", source);
    }
    kiln_emit_output_arrays(emission, NULL, elements, source);
    kiln_emit_element_loop("    ", elements, source);
    if (needs_coordinates && emission->schedule->walk.form == KILN_WALK_FLATTENED)
        kiln_emit_line_coordinates(emission, source);
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (table->varies[group->ops[i]] && kiln_value_is_computed(emission, table, group->ops[i]))
            kiln_emit_operation(emission, table, group->ops[i], "        ", source);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        kiln_buffer_printf(source, "        y%" PRIu32 "[e] = ", i);
        kiln_emit_encoded(emission, table, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "    }\n");
    kiln_emit_stores(emission, NULL, elements, source);
    kiln_buffer_append_text(source, "}\n");
}

static void append_functions(const struct kiln_emission *emission,
                             const struct kiln_value_table *table, uint32_t elements,
                             struct kiln_buffer *source)
{
    append_inputs(emission, elements, source);
    if (kiln_emission_is_tiled(emission))
        kiln_emit_tile_functions(emission, elements, source);
    append_load(emission, elements, source);
    append_compute(emission, table, elements, source);
}

/*
 * The generated part of both pointwise templates: kiln_arguments, kiln_position, kiln_locate,
 * kiln_inputs, kiln_load, kiln_compute and, for the tiled one, kiln_tiles and the staging
 * functions; where there are tails the same once more for one element, named ..._element. Plain
 * functions, not function templates: a small kernel compiles a quarter faster.
 */
static void emit_text(const struct kiln_emission *emission,
                      struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    (void)inclusion;
    struct kiln_value_table table;
    if (!kiln_value_table_init(emission, &table)) {
        source->failed = true;
        return;
    }
    kiln_emit_arguments(emission, source);
    kiln_emit_position(emission, source);
    kiln_emit_locate(emission, source);
    if (kiln_emission_is_tiled(emission))
        kiln_emit_tiles(emission, source);
    append_functions(emission, &table, emission->schedule->walk.vector_elems, source);
    if (kiln_schedule_has_tails(emission->schedule))
        append_functions(emission, &table, 1, source);
    kiln_value_table_fini(&table);
}

/* Vectors of all rows that no end of a row cuts: in front of all others, if there is one row. */
static uint64_t count_whole_vectors(const struct kiln_schedule *schedule)
{
    uint64_t whole = schedule->walk.cols + schedule->walk.moved_elems;
    return schedule->walk.rows * (whole / schedule->walk.vector_elems);
}

/* Most work-groups have all their vectors, as long as all that have not come last. */
static bool checks_chunks(const struct kiln_emission *emission)
{
    const struct kiln_schedule *schedule = emission->schedule;
    return kiln_sizes_are_arguments(emission) &&
           kiln_pointwise_schedule_of(schedule)->vectors_per_item > 1 &&
           (schedule->walk.rows == 1 || !kiln_schedule_has_tails(schedule));
}

static void emit_line_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint64_t vectors = schedule->walk.rows * kiln_vectors_of_line(schedule);
    bool is_even = !kiln_sizes_are_arguments(emission) && !kiln_schedule_has_tails(schedule) &&
                   vectors % (schedule->launch.block *
                              kiln_pointwise_schedule_of(schedule)->vectors_per_item) ==
                       0;
    kiln_emit_size_define(emission, "COLS", schedule->walk.cols, "cols", source);
    kiln_emit_size_define(emission, "VECTORS", vectors, "vectors", source);
    kiln_emit_constant("IS_EVEN", is_even, source);
    kiln_emit_constant("CHECKS_CHUNKS", checks_chunks(emission), source);
    if (checks_chunks(emission))
        kiln_emit_size_define(emission, "WHOLE_VECTORS", count_whole_vectors(schedule),
                              "whole_vectors", source);
}

static void emit_tile_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    bool loads = false;
    bool stores = false;
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        bool is_staged = schedule->accesses[i].mode == KILN_ACCESS_TRANSPOSED;
        *(i < emission->group->load_count ? &loads : &stores) |= is_staged;
    }
    kiln_emit_constant("TILE", schedule->walk.tile_elems, source);
    bool are_constants = !kiln_sizes_are_arguments(emission);
    const struct {
        const char *macro;
        const char *name;
        const char *text;
        uint32_t axis;
    } axes[] = {
        {"COLS", "cols", "COLUMN", schedule->walk.rank - 1},
        {"LINES", "lines", "LINE", schedule->walk.tile_axis},
    };
    for (uint32_t i = 0; i < 2; i++) {
        int64_t size = schedule->walk.dims[axes[i].axis];
        bool are_whole = kiln_tiles_are_whole(schedule, axes[i].axis);
        bool has_tails = are_constants ? size % schedule->walk.vector_elems != 0
                                       : kiln_schedule_has_tails(schedule);
        kiln_emit_size_define(emission, axes[i].macro, (uint64_t)size, axes[i].name, source);
        kiln_buffer_printf(source, "#define KILN_%s_ARE_WHOLE %d\n#define KILN_HAS_%s_TAILS %d\n",
                           axes[i].macro, are_whole, axes[i].text, !are_whole && has_tails);
    }
    kiln_emit_constant("HAS_TRANSPOSED_LOADS", loads, source);
    kiln_emit_constant("HAS_TRANSPOSED_STORES", stores, source);
}

static void emit_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_emit_grid(emission, source);
    kiln_emit_size_define(emission, "CHUNKS", schedule->launch.chunk_count, "chunks", source);
    kiln_emit_turns(emission, source);
    kiln_emit_constant("HAS_TAILS", kiln_schedule_has_tails(schedule), source);
    kiln_emit_constant("VECTORS_PER_ITEM", kiln_pointwise_schedule_of(schedule)->vectors_per_item,
                       source);
    if (kiln_emission_is_tiled(emission))
        emit_tile_defines(emission, source);
    else
        emit_line_defines(emission, source);
}

static void emit_headers(const struct kiln_emission *emission,
                         struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    if (kiln_emission_is_tiled(emission))
        kiln_template_append(inclusion, "device/tile.h", source);
    kiln_emit_chunk_header(emission, inclusion, source);
    kiln_emit_size_headers(emission, inclusion, source);
    kiln_emit_access_headers(emission, inclusion, source);
    kiln_emit_operation_headers(emission, inclusion, source);
}

static void visit_integers(struct kiln_integer_walk *walk)
{
    const struct kiln_emission *emission = walk->emission;
    const struct kiln_schedule *schedule = emission->schedule;
    bool is_tiled = kiln_emission_is_tiled(emission);
    if (!kiln_sizes_are_arguments(emission))
        return;
    if (schedule->walk.is_backward || kiln_schedule_has_turns(schedule) ||
        kiln_shares_out_chunks(emission))
        kiln_visit_integer(walk, (int64_t)schedule->launch.chunk_count, "chunks");
    if (is_tiled) {
        kiln_visit_integer(walk, schedule->walk.dims[schedule->walk.rank - 1], "cols");
        kiln_visit_integer(walk, schedule->walk.dims[schedule->walk.tile_axis], "lines");
        kiln_visit_split_size(walk, kiln_tiles_along(schedule, schedule->walk.rank - 1), "across");
        kiln_visit_split_size(walk, kiln_tiles_along(schedule, schedule->walk.tile_axis), "along");
    } else {
        kiln_visit_integer(walk, (int64_t)(schedule->walk.rows * kiln_vectors_of_line(schedule)),
                           "vectors");
        if (kiln_schedule_has_tails(schedule) || schedule->walk.moved_elems != 0)
            kiln_visit_integer(walk, (int64_t)schedule->walk.cols, "cols");
        if (checks_chunks(emission))
            kiln_visit_integer(walk, (int64_t)count_whole_vectors(schedule), "whole_vectors");
        if (kiln_walk_has_rows(schedule))
            kiln_visit_split_size(walk, kiln_vectors_of_line(schedule), "line_vectors");
    }
    /* The slowest axis needs no size: it is the last quotient. Without flattening, the inner axis
     * has already been split off. */
    uint32_t end =
        schedule->walk.form == KILN_WALK_FLATTENED ? schedule->walk.rank : schedule->walk.rank - 1;
    uint32_t slowest = is_tiled && schedule->walk.tile_axis == 0 ? 1 : 0;
    for (uint32_t axis = slowest + 1; axis < end; axis++) {
        if (!is_tiled || axis != schedule->walk.tile_axis)
            kiln_visit_axis(walk, axis);
    }
    kiln_visit_strides(walk);
    kiln_visit_counts(walk);
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    return schedule->walk.form == KILN_WALK_TILES;
}

const struct kiln_emit_family kiln_emit_family_pointwise = {
    .defines = emit_defines,
    .headers = emit_headers,
    .text = emit_text,
    .uses_barrier = uses_barrier,
    .visit_integers = visit_integers,
};
