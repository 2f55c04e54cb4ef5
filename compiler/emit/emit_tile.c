#include "compiler/emit/emit_tile.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_coordinates.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_staged(const struct kiln_emission *emission, uint32_t access, bool stores)
{
    return emission->group->accesses[access].is_store == stores &&
           emission->schedule->accesses[access].mode == KILN_ACCESS_TRANSPOSED;
}

void kiln_emit_tiles(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_append_text(source, "struct kiln_tiles {\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (emission->schedule->accesses[i].mode == KILN_ACCESS_TRANSPOSED)
            kiln_buffer_printf(
                source, "    alignas(16) kiln_storage_%s t%" PRIu32 "[KILN_TILE * KILN_TILE];\n",
                kiln_storage_suffix(&group->accesses[i]), i);
    }
    kiln_buffer_append_text(source, "};\nstruct kiln_square {\n");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (is_staged(emission, i, false))
            kiln_buffer_printf(source,
                               "    kiln_storage_%s s%" PRIu32 "[KILN_VECTOR][KILN_VECTOR];\n",
                               kiln_storage_suffix(&group->accesses[i]), i);
    }
    kiln_buffer_append_text(source, "};\n");
}

/* Opens the loop over a square's vectors along the tile axis, k being the column. */
static void append_square_loop(const struct kiln_emission *emission, bool clamps,
                               struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_buffer_append_text(source, "    KILN_UNROLL\n"
                                    "    for (int k = 0; k < KILN_VECTOR; k++) {\n"
                                    "    kiln_position position = corner;\n"
                                    "    position.column += column + (kiln_index)k;\n"
                                    "    position.line += line;\n");
    /* A column outside the domain loads the last column again; its elements are never used. */
    if (clamps && !kiln_tiles_are_whole(schedule, schedule->walk.rank - 1) &&
        schedule->walk.dims[schedule->walk.rank - 1] % schedule->walk.vector_elems != 0)
        kiln_buffer_append_text(source, "    if (position.column >= (kiln_index)(KILN_COLS))\n"
                                        "        position.column = (kiln_index)(KILN_COLS) - 1;\n");
}

/* A vector along the tile axis between memory and the array `vector`. */
static void append_memory_access(const struct kiln_emission *emission, uint32_t access,
                                 const char *vector, struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    uint32_t elements = emission->schedule->walk.vector_elems;
    uint32_t bytes = kiln_vector_bytes(memory, elements);
    const char *kind = kiln_vector_kind(emission, access, "VECTOR");
    if (elements == 1 && !memory->is_store)
        kiln_buffer_printf(source, "    %s[0] = ", vector);
    else if (!memory->is_store)
        kiln_buffer_printf(source, "    KILN_LOAD_%s(%" PRIu32 ", %s, ", kind, bytes, vector);
    else if (elements > 1)
        kiln_buffer_printf(source, "    KILN_STORE_%s(%" PRIu32 ", ", kind, bytes);
    kiln_buffer_printf(source, "%sarguments.a%" PRIu32 " + (", elements == 1 ? "    *(" : "",
                       access);
    kiln_emit_offset(emission, access, source);
    if (elements > 1 && memory->is_store)
        kiln_buffer_printf(source, "), %s)\n", vector);
    else if (elements > 1)
        kiln_buffer_append_text(source, "))\n");
    else if (memory->is_store)
        kiln_buffer_printf(source, ")) = %s[0];\n", vector);
    else
        kiln_buffer_append_text(source, "));\n");
}

static void append_fetch(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    kiln_buffer_append_text(
        source,
        "KILN_DEVICE void kiln_fetch(const kiln_arguments &arguments, kiln_position corner, "
        "kiln_index column, kiln_index line, kiln_square &square)\n{\n"
        "    (void)arguments, (void)square;\n");
    append_square_loop(emission, true, source);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        char vector[32];
        (void)snprintf(vector, sizeof vector, "square.s%" PRIu32 "[k]", i);
        if (is_staged(emission, i, false))
            append_memory_access(emission, i, vector, source);
    }
    kiln_buffer_append_text(source, "    }\n}\n");
}

/* "kiln_storage_f16 across[8]" of what `from`, a format with a number, names. */
static void append_transposed(const struct kiln_emission *emission, uint32_t access,
                              const char *from, struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "    kiln_storage_%s across[KILN_VECTOR];\n"
                       "    KILN_UNROLL\n"
                       "    for (int i = 0; i < KILN_VECTOR; i++)\n"
                       "        across[i] = %s;\n",
                       kiln_storage_suffix(&emission->group->accesses[access]), from);
}

static void append_stage_in(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    kiln_buffer_append_text(
        source, "KILN_DEVICE void kiln_stage_in(kiln_tiles &tiles, kiln_index column, kiln_index "
                "line, const kiln_square &square)\n{\n"
                "    (void)tiles, (void)square;\n"
                "    KILN_UNROLL\n"
                "    for (int e = 0; e < KILN_VECTOR; e++) {\n"
                "    const kiln_index at = line + (kiln_index)e;\n"
                "    (void)at;\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        char from[32];
        if (!is_staged(emission, i, false))
            continue;
        (void)snprintf(from, sizeof from, "square.s%" PRIu32 "[i][e]", i);
        kiln_buffer_append_text(source, "    {\n");
        append_transposed(emission, i, from, source);
        kiln_emit_tile_access(emission, i, true, emission->schedule->walk.vector_elems, "across",
                              "at", source);
        kiln_buffer_append_text(source, "    }\n");
    }
    kiln_buffer_append_text(source, "    }\n}\n");
}

static void append_stage_out(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_append_text(
        source,
        "KILN_DEVICE void kiln_stage_out(const kiln_arguments &arguments, kiln_tiles &tiles, "
        "kiln_position corner, kiln_index column, kiln_index line)\n{\n"
        "    (void)arguments, (void)tiles;\n");
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!is_staged(emission, i, true))
            continue;
        kiln_buffer_printf(source,
                           "    {\n    kiln_storage_%s square[KILN_VECTOR][KILN_VECTOR];\n"
                           "    KILN_UNROLL\n"
                           "    for (int e = 0; e < KILN_VECTOR; e++) {\n"
                           "    const kiln_index at = line + (kiln_index)e;\n",
                           kiln_storage_suffix(&group->accesses[i]));
        kiln_emit_tile_access(emission, i, false, emission->schedule->walk.vector_elems,
                              "square[e]", "at", source);
        kiln_buffer_append_text(source, "    }\n");
        append_square_loop(emission, false, source);
        append_transposed(emission, i, "square[i][k]", source);
        append_memory_access(emission, i, "across", source);
        kiln_buffer_append_text(source, "    }\n    }\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

static void append_load_staged(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    kiln_buffer_append_text(source,
                            "KILN_DEVICE void kiln_load_staged(kiln_tiles &tiles, kiln_index "
                            "column, kiln_index line, kiln_inputs &inputs)\n{\n"
                            "    (void)tiles, (void)column, (void)line, (void)inputs;\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        char vector[24];
        (void)snprintf(vector, sizeof vector, "inputs.x%" PRIu32, i);
        if (is_staged(emission, i, false))
            kiln_emit_tile_access(emission, i, false, emission->schedule->walk.vector_elems, vector,
                                  "line", source);
    }
    kiln_buffer_append_text(source, "}\n");
}

/* kiln_stage_in_element (loads) or kiln_stage_out_element (stores). */
static void append_staged_element(const struct kiln_emission *emission, bool stores,
                                  struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_stage_%s_element(const kiln_arguments &arguments, "
                       "kiln_tiles &tiles, kiln_position position, kiln_index column, kiln_index "
                       "line)\n{\n"
                       "    (void)arguments, (void)tiles;\n"
                       "    position.column += column;\n    position.line += line;\n",
                       stores ? "out" : "in");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (!is_staged(emission, i, stores))
            continue;
        kiln_buffer_printf(source, "    {\n    kiln_storage_%s element[1];\n",
                           kiln_storage_suffix(&group->accesses[i]));
        if (stores)
            kiln_emit_tile_access(emission, i, false, 1, "element", "line", source);
        kiln_buffer_printf(source,
                           stores ? "    *(arguments.a%" PRIu32 " + ("
                                  : "    element[0] = *(arguments.a%" PRIu32 " + (",
                           i);
        kiln_emit_offset(emission, i, source);
        kiln_buffer_append_text(source, stores ? ")) = element[0];\n" : "));\n");
        if (!stores)
            kiln_emit_tile_access(emission, i, true, 1, "element", "line", source);
        kiln_buffer_append_text(source, "    }\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

void kiln_emit_tile_functions(const struct kiln_emission *emission, uint32_t elements,
                              struct kiln_buffer *source)
{
    if (elements == emission->schedule->walk.vector_elems) {
        append_fetch(emission, source);
        append_stage_in(emission, source);
        append_load_staged(emission, source);
        append_stage_out(emission, source);
    } else {
        append_staged_element(emission, false, source);
        append_staged_element(emission, true, source);
    }
}
