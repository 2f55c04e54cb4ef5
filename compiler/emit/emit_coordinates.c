#include "compiler/emit/emit_coordinates.h"

#include "compiler/emit/emit_sizes.h"
#include "compiler/schedule/tuning.h"

#include <inttypes.h>
#include <stdio.h>

bool kiln_rows_have_tails(const struct kiln_emission *emission)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t inner = schedule->walk.rank - 1;
    bool may_have = kiln_sizes_are_arguments(emission) &&
                    emission->group->role == KILN_ROLE_PARTIAL && schedule->walk.vector_elems > 1;
    return ((schedule->walk.reduced_axes >> inner) & 1u) != 0 && schedule->walk.moved_elems == 0 &&
           (may_have || schedule->walk.skew_elems != 0 ||
            schedule->walk.dims[inner] % schedule->walk.vector_elems != 0);
}

uint64_t kiln_steps_of_line(const struct kiln_schedule *schedule)
{
    uint64_t elements =
        (uint64_t)schedule->walk.dims[schedule->walk.rank - 1] + schedule->walk.moved_elems;
    uint64_t steps = elements / schedule->walk.vector_elems;
    return steps == 0 ? 1 : steps;
}

int64_t kiln_vectors_of_rows(const struct kiln_schedule *schedule)
{
    int64_t vector = schedule->walk.vector_elems;
    return (schedule->walk.dims[schedule->walk.rank - 1] + vector - 1) / vector;
}

int64_t kiln_last_vector_of_rows(const struct kiln_schedule *schedule)
{
    return schedule->walk.dims[schedule->walk.rank - 1] - schedule->walk.vector_elems;
}

bool kiln_emission_is_tiled(const struct kiln_emission *emission)
{
    return emission->schedule->walk.form == KILN_WALK_TILES;
}

void kiln_emit_position(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_buffer_printf(source, "typedef unsigned %s kiln_index;\n",
                       schedule->walk.index_is_64bit ? "long long" : "int");
    kiln_buffer_append_text(source, "struct kiln_position {\n    kiln_index column;\n");
    if (kiln_emission_is_tiled(emission))
        kiln_buffer_append_text(source, "    kiln_index line;\n");
    for (uint32_t axis = 0;
         schedule->walk.form != KILN_WALK_FLATTENED && axis + 1 < schedule->walk.rank; axis++) {
        if (!kiln_emission_is_tiled(emission) || axis != schedule->walk.tile_axis)
            kiln_buffer_printf(source, "    kiln_index c%" PRIu32 ";\n", axis);
    }
    if (emission->group->role == KILN_ROLE_PARTIAL)
        kiln_buffer_append_text(source, "    kiln_index segment;\n");
    if (schedule->walk.moved_elems != 0 && schedule->walk.reduced_axes != 0)
        kiln_buffer_append_text(source, "    bool is_moved;\n");
    if (schedule->walk.skew_elems != 0)
        kiln_buffer_append_text(source,
                                "    kiln_index head; /* elements before the first vector */\n");
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        if (schedule->accesses[i].mode == KILN_ACCESS_STAGED)
            kiln_buffer_printf(source, "    kiln_storage_%s *t%" PRIu32 ";\n",
                               kiln_dtype_info(emission->group->accesses[i].dtype)->device, i);
    }
    kiln_buffer_append_text(source, "};\n");
}

/* "position.c1 = rest % 7; rest /= 7;" */
static void append_axis_split(const struct kiln_emission *emission, uint32_t axis,
                              struct kiln_buffer *source)
{
    char place[32];
    char name[16];
    (void)snprintf(place, sizeof place, "position.c%" PRIu32 " = ", axis);
    (void)snprintf(name, sizeof name, "d%" PRIu32, axis);
    kiln_emit_split(emission, "    ", place, "", (uint64_t)emission->schedule->walk.dims[axis],
                    name, source);
}

/* "name = rest % size; rest /= size;" for the axes outside of rows, fastest first. */
static void append_outer_coordinates(const struct kiln_emission *emission,
                                     struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t first = kiln_emission_is_tiled(emission) && schedule->walk.tile_axis == 0 ? 1 : 0;
    for (uint32_t axis = schedule->walk.rank - 1; axis-- > 0;) {
        if (kiln_emission_is_tiled(emission) && axis == schedule->walk.tile_axis)
            continue;
        if (axis == first)
            kiln_buffer_printf(source, "    position.c%" PRIu32 " = rest;\n", axis);
        else
            append_axis_split(emission, axis, source);
    }
}

/* Moves a vector of so many elements back if it is beyond a short last block's end. Both are whole
 * vectors. */
static void append_end(const struct kiln_emission *emission, uint32_t vector,
                       struct kiln_buffer *source)
{
    const struct kiln_walk *walk = &emission->schedule->walk;
    if (walk->end == 0)
        return;
    if (walk->end_elements != walk->rank - 1)
        vector = 1;
    const int64_t last = walk->end - vector;
    kiln_buffer_append_text(source, "    if (");
    kiln_emit_coordinate(emission, walk->end_blocks, source);
    kiln_buffer_printf(source, " * %" PRId64 "u + ", walk->end_block);
    kiln_emit_coordinate(emission, walk->end_elements, source);
    kiln_buffer_printf(source, " > %" PRId64 "u)\n        ", last);
    kiln_emit_coordinate(emission, walk->end_elements, source);
    kiln_buffer_printf(source, " = %" PRId64 "u - ", last);
    kiln_emit_coordinate(emission, walk->end_blocks, source);
    kiln_buffer_printf(source, " * %" PRId64 "u;\n", walk->end_block);
}

uint64_t kiln_tiles_along(const struct kiln_schedule *schedule, uint32_t axis)
{
    uint64_t tile = schedule->walk.tile_elems;
    return ((uint64_t)schedule->walk.dims[axis] + tile - 1) / tile;
}

uint64_t kiln_vectors_of_line(const struct kiln_schedule *schedule)
{
    return (schedule->walk.cols + schedule->walk.vector_elems - 1) / schedule->walk.vector_elems;
}

/* The place of a tile. Tiles that are neighbours along either axis share lines of caches. If
 * several caches share out the tiles, neighbours along the axis with fewer tiles follow each other.
 * Then neighbours along the other axis come soon, too. */
static void append_tile_place(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const struct {
        const char *place, *name, *coordinate, *size;
        uint32_t axis;
    } axes[] = {
        {"position.column = ", "across", "column", "COLS", schedule->walk.rank - 1},
        {"position.line = ", "along", "line", "LINES", schedule->walk.tile_axis},
    };
    bool is_across_first =
        kiln_sizes_are_arguments(emission) || kiln_tuning_of(emission->target)->caches == 1 ||
        kiln_tiles_along(schedule, axes[0].axis) <= kiln_tiles_along(schedule, axes[1].axis);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t chosen = is_across_first ? i : 1 - i;
        uint32_t axis = axes[chosen].axis;
        kiln_emit_split(emission, "    ", axes[chosen].place, " * KILN_TILE",
                        kiln_tiles_along(schedule, axis), axes[chosen].name, source);
        if (kiln_tiles_are_whole(schedule, axis) &&
            (kiln_sizes_are_arguments(emission) ||
             schedule->walk.dims[axis] % schedule->walk.tile_elems != 0))
            kiln_buffer_printf(source,
                               "    if (position.%s + KILN_TILE > (kiln_index)(KILN_%s))\n"
                               "        position.%s = (kiln_index)(KILN_%s)-KILN_TILE;\n",
                               axes[chosen].coordinate, axes[chosen].size, axes[chosen].coordinate,
                               axes[chosen].size);
    }
}

void kiln_emit_locate(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    bool is_tiled = kiln_emission_is_tiled(emission);
    kiln_buffer_printf(source,
                       "KILN_DEVICE kiln_position %s(const kiln_arguments &arguments, kiln_index "
                       "%s)\n{\n    (void)arguments;\n    kiln_position position;\n",
                       is_tiled ? "kiln_locate_tile" : "kiln_locate", is_tiled ? "rest" : "vector");
    if (is_tiled) {
        append_tile_place(emission, source);
    } else if (!kiln_walk_has_rows(schedule)) {
        kiln_buffer_append_text(source, "    position.column = vector * KILN_VECTOR;\n");
    } else {
        kiln_buffer_append_text(source, "    kiln_index rest = vector;\n");
        kiln_emit_split(emission, "    ", "position.column = ", " * KILN_VECTOR",
                        kiln_vectors_of_line(schedule), "line_vectors", source);
    }
    if (is_tiled || kiln_walk_has_rows(schedule))
        append_outer_coordinates(emission, source);
    if (schedule->walk.moved_elems != 0)
        kiln_buffer_append_text(source,
                                "    if (position.column + KILN_VECTOR > (kiln_index)(KILN_COLS))\n"
                                "        position.column = (kiln_index)(KILN_COLS)-KILN_VECTOR;\n");
    append_end(emission, schedule->walk.vector_elems, source);
    kiln_buffer_append_text(source, "    return position;\n}\n");
}

/* "position.c1 = rest % 7; rest /= 7;" for the axes of a set other than the inner one, fastest
 * first. */
static void append_axes(const struct kiln_emission *emission, uint32_t axes,
                        struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    axes &= ~(1u << (schedule->walk.rank - 1)) & ((1u << schedule->walk.rank) - 1);
    for (uint32_t axis = schedule->walk.rank - 1; axis-- > 0 && axes != 0;) {
        if (((axes >> axis) & 1u) == 0)
            continue;
        axes &= ~(1u << axis);
        if (axes == 0) {
            kiln_buffer_printf(source, "    position.c%" PRIu32 " = rest;\n", axis);
            continue;
        }
        append_axis_split(emission, axis, source);
    }
}

/* The last vector is moved back to where it is whole. */
static void append_vector_of_rows(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t inner = schedule->walk.rank - 1;
    bool is_only = (schedule->walk.reduced_axes | 1u << inner) == (1u << schedule->walk.rank) - 1;
    int64_t last = kiln_last_vector_of_rows(schedule);
    if (is_only)
        kiln_buffer_append_text(source, "    position.column = rest * KILN_VECTOR;\n");
    else
        kiln_emit_split(emission, "    ", "position.column = ", " * KILN_VECTOR",
                        (uint64_t)kiln_vectors_of_rows(schedule), "vectors", source);
    if (!kiln_sizes_are_arguments(emission) &&
        schedule->walk.dims[inner] % schedule->walk.vector_elems == 0)
        return;
    kiln_buffer_append_text(source, "    if (position.column > ");
    kiln_emit_size(emission, last, source, "last_vector");
    kiln_buffer_append_text(source, ")\n        position.column = ");
    kiln_emit_size(emission, last, source, "last_vector");
    kiln_buffer_append_text(source, ";\n");
}

/* Work-groups that share a row have neighbouring numbers, so that they have neighbouring memory; in
 * the form `columns` those that have the same part of neighbouring rows. */
static void append_locate_chunk(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    bool is_columns = (schedule->walk.reduced_axes >> (schedule->walk.rank - 1) & 1) == 0;
    uint64_t segments = schedule->segment_count;
    kiln_buffer_append_text(source,
                            "KILN_DEVICE void kiln_locate_chunk(const kiln_arguments &arguments, "
                            "kiln_index rest, kiln_index &tile, kiln_index &segment)\n{\n"
                            "    (void)arguments;\n");
    if (is_columns)
        kiln_emit_split(emission, "    ", "tile = ", "", schedule->launch.chunk_count / segments,
                        "tiles", source);
    else
        kiln_emit_split(emission, "    ", "segment = ", "", segments, "segments", source);
    kiln_buffer_append_text(source,
                            is_columns ? "    segment = rest;\n}\n" : "    tile = rest;\n}\n");
}

void kiln_emit_row_locations(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const bool is_columns = (schedule->walk.reduced_axes >> (schedule->walk.rank - 1) & 1) == 0;
    uint64_t cols = (uint64_t)schedule->walk.dims[schedule->walk.rank - 1];
    uint64_t tail = cols % schedule->walk.vector_elems;
    if (emission->group->role == KILN_ROLE_PARTIAL)
        append_locate_chunk(emission, source);
    kiln_buffer_append_text(
        source,
        "KILN_DEVICE void kiln_locate_row(const kiln_arguments &arguments, kiln_index rest, "
        "kiln_index segment, kiln_position &position)\n{\n"
        "    (void)arguments, (void)rest, (void)segment;\n");
    if (emission->group->role == KILN_ROLE_PARTIAL)
        kiln_buffer_append_text(source, "    position.segment = segment;\n");
    if (is_columns)
        append_vector_of_rows(emission, source);
    append_axes(emission, ~schedule->walk.reduced_axes, source);
    if (schedule->walk.skew_elems != 0)
        kiln_buffer_printf(source,
                           "    position.head = ((kiln_index)0 - position.c0 * %" PRIu32
                           "u) %% KILN_VECTOR;\n",
                           schedule->walk.skew_elems);
    kiln_buffer_append_text(source, "}\n");
    if (schedule->walk.skew_elems != 0)
        kiln_buffer_printf(source,
                           "KILN_DEVICE kiln_index kiln_steps_of_row(const kiln_position &position)"
                           "\n{\n    return (%" PRIu64 "u - position.head) / KILN_VECTOR;\n}\n",
                           cols);
    kiln_buffer_append_text(
        source,
        "KILN_DEVICE void kiln_locate_step(const kiln_arguments &arguments, kiln_index rest, "
        "kiln_position &position)\n{\n    (void)arguments, (void)rest;\n");
    if (!is_columns && schedule->walk.reduced_axes != 1u << (schedule->walk.rank - 1))
        kiln_emit_split(emission, "    ", "position.column = ", " * KILN_VECTOR",
                        kiln_steps_of_line(schedule), "line_steps", source);
    else if (!is_columns)
        kiln_buffer_printf(source, "    position.column = %srest * KILN_VECTOR;\n",
                           schedule->walk.skew_elems != 0 ? "position.head + " : "");
    if (schedule->walk.moved_elems != 0)
        kiln_buffer_printf(source,
                           "    position.is_moved = position.column > %" PRId64 "u;\n"
                           "    position.column -= position.is_moved ? %" PRIu32 "u : 0u;\n",
                           kiln_last_vector_of_rows(schedule), schedule->walk.moved_elems);
    append_axes(emission, schedule->walk.reduced_axes, source);
    append_end(emission, schedule->walk.vector_elems, source);
    kiln_buffer_append_text(source, "}\n");
    if (!kiln_rows_have_tails(emission))
        return;
    kiln_buffer_append_text(
        source, "KILN_DEVICE void kiln_locate_tail(const kiln_arguments &arguments, kiln_index "
                "rest, kiln_position &position)\n{\n    (void)arguments;\n");
    if (schedule->walk.skew_elems != 0) {
        kiln_buffer_append_text(source, "    position.column = rest;\n"
                                        "    if (rest >= position.head)\n"
                                        "        position.column += kiln_steps_of_row(position) * "
                                        "KILN_VECTOR;\n}\n");
        return;
    }
    kiln_emit_split(emission, "    ", "position.column = ", "", tail == 0 ? 1 : tail, "line_tails",
                    source);
    kiln_buffer_append_text(source, "    position.column += ");
    kiln_emit_size(emission, (int64_t)(cols - tail), source, "line_whole");
    kiln_buffer_append_text(source, ";\n");
    append_axes(emission, schedule->walk.reduced_axes, source);
    append_end(emission, 1, source);
    kiln_buffer_append_text(source, "}\n");
}

void kiln_emit_coordinate(const struct kiln_emission *emission, uint32_t axis,
                          struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    if (axis == schedule->walk.rank - 1)
        kiln_buffer_append_text(source, "position.column");
    else if (kiln_emission_is_tiled(emission) && axis == schedule->walk.tile_axis)
        kiln_buffer_append_text(source, "position.line");
    else
        kiln_buffer_printf(source, "position.c%" PRIu32, axis);
}

/*
 * Where sizes are arguments and all loads are in flight at once: AMDGPU multiplies 32 bits and adds
 * 64 in one instruction. If only 32 of them are asked for, LLVM lets the others be whatever
 * register is next, such as one that an earlier load has yet to fill: then it waits.
 */
static bool has_wide_offsets(const struct kiln_emission *emission)
{
    return emission->schedule->walk.sizes == KILN_SIZES_WIDE_ARGUMENT;
}

/* The coordinate along an axis, or the number of its block: "((position.column + e) / 32)". */
static void append_block(const struct kiln_emission *emission, uint32_t access, uint32_t axis,
                         const char *element, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    int64_t repeat = schedule->accesses[access].repeats[axis];
    if (repeat == 0) {
        kiln_emit_coordinate(emission, axis, source);
        return;
    }
    kiln_buffer_append_text(source, "((");
    kiln_emit_coordinate(emission, axis, source);
    kiln_buffer_printf(source, "%s) / (kiln_index)%" PRId64 ")",
                       axis == schedule->walk.rank - 1 ? element : "", repeat);
}

/* The offset of an element of the vector; `element` is "", or " + e" if the inner axis has blocks.
 */
static void append_offset(const struct kiln_emission *emission, uint32_t access,
                          const char *element, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const int64_t *strides = schedule->accesses[access].strides;
    if (schedule->walk.form == KILN_WALK_FLATTENED) {
        /* Only accesses that are dense along the line, or the same everywhere, have an offset of
         * their own. */
        kiln_buffer_append_text(
            source, schedule->accesses[access].mode == KILN_ACCESS_SPLAT ? "0" : "position.column");
        return;
    }
    bool first = true;
    bool is_wide = has_wide_offsets(emission);
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        bool is_first = schedule->walk.dims[axis] == 1 && !schedule->options->is_general;
        if (strides[axis] == 0 || is_first)
            continue;
        kiln_buffer_append_text(source, first ? "" : " + ");
        append_block(emission, access, axis, element, source);
        if (!kiln_stride_is_one(schedule, strides[axis])) {
            kiln_buffer_append_text(source, is_wide ? " * (unsigned long long)" : " * ");
            kiln_emit_stride(emission, access, axis, source);
        }
        first = false;
    }
    const struct kiln_access *memory = &emission->group->accesses[access];
    if (memory->is_accumulator && emission->group->role == KILN_ROLE_PARTIAL) {
        kiln_buffer_printf(source, "%sposition.segment * ", first ? "" : " + ");
        kiln_emit_size(emission, memory->segment_stride, source, "segment_stride%" PRIu32, access);
        first = false;
    }
    if (first)
        kiln_buffer_append_text(source, "0");
}

void kiln_emit_offset(const struct kiln_emission *emission, uint32_t access,
                      struct kiln_buffer *source)
{
    append_offset(emission, access, "", source);
}

void kiln_emit_line_coordinates(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_buffer_append_text(source, "        kiln_index rest = position.column + (kiln_index)e;\n");
    for (uint32_t axis = schedule->walk.rank; axis-- > 1;) {
        char place[48];
        char name[16];
        (void)snprintf(place, sizeof place, "const kiln_index k%" PRIu32 " = ", axis);
        (void)snprintf(name, sizeof name, "d%" PRIu32, axis);
        kiln_emit_split(emission, "        ", place, "", (uint64_t)schedule->walk.dims[axis], name,
                        source);
    }
    kiln_buffer_append_text(source, "        const kiln_index k0 = rest;\n");
}

void kiln_emit_element_offset(const struct kiln_emission *emission, uint32_t access,
                              struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const int64_t *strides = schedule->accesses[access].strides;
    const int64_t *repeats = schedule->accesses[access].repeats;
    if (schedule->walk.form != KILN_WALK_FLATTENED && repeats[schedule->walk.rank - 1] != 0) {
        append_offset(emission, access, " + (kiln_index)e", source);
        return;
    }
    if (schedule->walk.form != KILN_WALK_FLATTENED) {
        kiln_emit_offset(emission, access, source);
        kiln_buffer_append_text(source, " + (kiln_index)e");
        if (!kiln_stride_is_one(schedule, strides[schedule->walk.rank - 1])) {
            kiln_buffer_append_text(source, " * ");
            kiln_emit_stride(emission, access, schedule->walk.rank - 1, source);
        }
        return;
    }
    kiln_buffer_append_text(source, "0");
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        if (strides[axis] == 0)
            continue;
        kiln_buffer_printf(source, " + k%" PRIu32, axis);
        if (repeats[axis] != 0)
            kiln_buffer_printf(source, " / (kiln_index)%" PRId64, repeats[axis]);
        kiln_buffer_append_text(source, " * ");
        kiln_emit_stride(emission, access, axis, source);
    }
}
