#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_family.h"
#include "compiler/emit/emit_tile.h"
#include "compiler/emit/emit_values.h"

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
    if (needs_coordinates && emission->schedule->flattened)
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
static void emit_text(const struct kiln_emission *emission, struct kiln_buffer *source)
{
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
    append_functions(emission, &table, emission->schedule->vector_elems, source);
    if (kiln_schedule_has_tails(emission->schedule))
        append_functions(emission, &table, 1, source);
    kiln_value_table_fini(&table);
}

static void emit_line_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const char *suffix = schedule->index_is_64bit ? "ull" : "u";
    uint64_t per_row = (schedule->cols + schedule->vector_elems - 1) / schedule->vector_elems;
    kiln_buffer_printf(source, "#define KILN_COLS %" PRIu64 "%s\n", schedule->cols, suffix);
    kiln_buffer_printf(source, "#define KILN_VECTORS %" PRIu64 "%s\n", schedule->rows * per_row,
                       suffix);
}

static void emit_tile_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const char *suffix = schedule->index_is_64bit ? "ull" : "u";
    bool loads = false;
    bool stores = false;
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        bool is_staged = schedule->accesses[i].mode == KILN_ACCESS_TRANSPOSED;
        *(i < emission->group->load_count ? &loads : &stores) |= is_staged;
    }
    kiln_buffer_printf(source, "#define KILN_TILE %" PRIu32 "\n", schedule->pointwise.tile_elems);
    kiln_buffer_printf(source, "#define KILN_COLS %" PRId64 "%s\n",
                       schedule->dims[schedule->rank - 1], suffix);
    kiln_buffer_printf(source, "#define KILN_LINES %" PRId64 "%s\n",
                       schedule->dims[schedule->tile_axis], suffix);
    kiln_buffer_printf(source, "#define KILN_HAS_TRANSPOSED_LOADS %d\n", loads);
    kiln_buffer_printf(source, "#define KILN_HAS_TRANSPOSED_STORES %d\n", stores);
}

static void emit_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_emit_grid(emission, source);
    kiln_buffer_printf(source, "#define KILN_CHUNKS %" PRIu64 "%s\n", schedule->chunk_count,
                       schedule->index_is_64bit ? "ull" : "u");
    kiln_emit_turns(emission, source);
    kiln_buffer_printf(source, "#define KILN_HAS_TAILS %d\n", kiln_schedule_has_tails(schedule));
    kiln_buffer_printf(source, "#define KILN_VECTORS_PER_ITEM %" PRIu32 "\n",
                       schedule->pointwise.vectors_per_item);
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
    kiln_emit_access_headers(emission, inclusion, source);
    kiln_emit_operation_headers(emission, inclusion, source);
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    return schedule->tile_axis != KILN_NONE;
}

const struct kiln_emit_family kiln_emit_family_pointwise = {
    .defines = emit_defines,
    .headers = emit_headers,
    .text = emit_text,
    .uses_barrier = uses_barrier,
};
