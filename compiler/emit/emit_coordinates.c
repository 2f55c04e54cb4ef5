#include "compiler/emit/emit_coordinates.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool kiln_sizes_are_arguments(const struct kiln_emission *emission)
{
    return emission->schedule->sizes_are_arguments;
}

bool kiln_is_axis_stride_argument(const struct kiln_emission *emission, uint32_t access,
                                  uint32_t axis)
{
    int64_t stride = emission->schedule->accesses[access].strides[axis];
    return kiln_sizes_are_arguments(emission) && stride != 0 && stride != 1;
}

int64_t kiln_vectors_of_rows(const struct kiln_schedule *schedule)
{
    int64_t vector = schedule->vector_elems;
    return (schedule->dims[schedule->rank - 1] + vector - 1) / vector;
}

int64_t kiln_last_vector_of_rows(const struct kiln_schedule *schedule)
{
    return schedule->dims[schedule->rank - 1] - schedule->vector_elems;
}

/* A size or a stride: as a number, or as the argument of this name. */
__attribute__((format(printf, 4, 5))) static void append_size(const struct kiln_emission *emission,
                                                              int64_t value,
                                                              struct kiln_buffer *source,
                                                              const char *name, ...)
{
    if (!kiln_sizes_are_arguments(emission)) {
        kiln_buffer_printf(source, "(kiln_index)%" PRId64, value);
        return;
    }
    char text[48];
    va_list arguments;
    va_start(arguments, name);
    (void)vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    kiln_buffer_printf(source, "(kiln_index)arguments.%s", text);
}

bool kiln_emission_is_tiled(const struct kiln_emission *emission)
{
    return emission->schedule->tile_axis != KILN_NONE;
}

void kiln_emit_position(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_buffer_printf(source, "typedef unsigned %s kiln_index;\n",
                       schedule->index_is_64bit ? "long long" : "int");
    kiln_buffer_append_text(source, "struct kiln_position {\n    kiln_index column;\n");
    if (kiln_emission_is_tiled(emission))
        kiln_buffer_append_text(source, "    kiln_index line;\n");
    for (uint32_t axis = 0; !schedule->flattened && axis + 1 < schedule->rank; axis++) {
        if (!kiln_emission_is_tiled(emission) || axis != schedule->tile_axis)
            kiln_buffer_printf(source, "    kiln_index c%" PRIu32 ";\n", axis);
    }
    if (emission->group->role == KILN_ROLE_PARTIAL)
        kiln_buffer_append_text(source, "    kiln_index segment;\n");
    kiln_buffer_append_text(source, "};\n");
}

/* "name = rest % size; rest /= size;" for the axes outside of rows, fastest first. */
static void append_outer_coordinates(const struct kiln_emission *emission,
                                     struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t first = kiln_emission_is_tiled(emission) && schedule->tile_axis == 0 ? 1 : 0;
    for (uint32_t axis = schedule->rank - 1; axis-- > 0;) {
        if (kiln_emission_is_tiled(emission) && axis == schedule->tile_axis)
            continue;
        if (axis == first)
            kiln_buffer_printf(source, "    position.c%" PRIu32 " = rest;\n", axis);
        else
            kiln_buffer_printf(source,
                               "    position.c%" PRIu32 " = rest %% (kiln_index)%" PRId64
                               ";\n    rest /= (kiln_index)%" PRId64 ";\n",
                               axis, schedule->dims[axis], schedule->dims[axis]);
    }
}

void kiln_emit_locate(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    if (kiln_emission_is_tiled(emission)) {
        uint64_t tile = schedule->pointwise.tile_elems;
        uint64_t across = ((uint64_t)schedule->dims[schedule->rank - 1] + tile - 1) / tile;
        uint64_t along = ((uint64_t)schedule->dims[schedule->tile_axis] + tile - 1) / tile;
        kiln_buffer_printf(source,
                           "KILN_DEVICE kiln_position kiln_locate_tile(kiln_index rest)\n{\n"
                           "    kiln_position position;\n"
                           "    position.column = rest %% (kiln_index)%" PRIu64 " * KILN_TILE;\n"
                           "    rest /= (kiln_index)%" PRIu64 ";\n"
                           "    position.line = rest %% (kiln_index)%" PRIu64 " * KILN_TILE;\n"
                           "    rest /= (kiln_index)%" PRIu64 ";\n",
                           across, across, along, along);
    } else {
        uint64_t vectors = (schedule->cols + schedule->vector_elems - 1) / schedule->vector_elems;
        kiln_buffer_append_text(source,
                                "KILN_DEVICE kiln_position kiln_locate(kiln_index vector)\n{\n"
                                "    kiln_position position;\n");
        if (schedule->rows == 1)
            kiln_buffer_append_text(source, "    position.column = vector * KILN_VECTOR;\n");
        else
            kiln_buffer_printf(source,
                               "    kiln_index rest = vector / (kiln_index)%" PRIu64 ";\n"
                               "    position.column = vector %% (kiln_index)%" PRIu64
                               " * KILN_VECTOR;\n",
                               vectors, vectors);
    }
    if (kiln_emission_is_tiled(emission) || schedule->rows != 1)
        append_outer_coordinates(emission, source);
    kiln_buffer_append_text(source, "    return position;\n}\n");
}

/* "position.c1 = rest % 7; rest /= 7;" for the axes of a set other than the inner one, fastest
 * first. */
static void append_axes(const struct kiln_emission *emission, uint32_t axes,
                        struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    axes &= ~(1u << (schedule->rank - 1)) & ((1u << schedule->rank) - 1);
    for (uint32_t axis = schedule->rank - 1; axis-- > 0 && axes != 0;) {
        if (((axes >> axis) & 1u) == 0)
            continue;
        axes &= ~(1u << axis);
        if (axes == 0) {
            kiln_buffer_printf(source, "    position.c%" PRIu32 " = rest;\n", axis);
            continue;
        }
        kiln_buffer_printf(source, "    position.c%" PRIu32 " = rest %% ", axis);
        append_size(emission, schedule->dims[axis], source, "d%" PRIu32, axis);
        kiln_buffer_append_text(source, ";\n    rest /= ");
        append_size(emission, schedule->dims[axis], source, "d%" PRIu32, axis);
        kiln_buffer_append_text(source, ";\n");
    }
}

/* The last vector is moved back to where it is whole. */
static void append_vector_of_rows(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t inner = schedule->rank - 1;
    bool is_only = (schedule->reduced_axes | 1u << inner) == (1u << schedule->rank) - 1;
    int64_t vectors = kiln_vectors_of_rows(schedule);
    int64_t last = kiln_last_vector_of_rows(schedule);
    kiln_buffer_append_text(source, "    position.column = rest");
    if (!is_only) {
        kiln_buffer_append_text(source, " % ");
        append_size(emission, vectors, source, "vectors");
    }
    kiln_buffer_append_text(source, " * KILN_VECTOR;\n");
    if (!is_only) {
        kiln_buffer_append_text(source, "    rest /= ");
        append_size(emission, vectors, source, "vectors");
        kiln_buffer_append_text(source, ";\n");
    }
    if (!kiln_sizes_are_arguments(emission) && schedule->dims[inner] % schedule->vector_elems == 0)
        return;
    kiln_buffer_append_text(source, "    if (position.column > ");
    append_size(emission, last, source, "last_vector");
    kiln_buffer_append_text(source, ")\n        position.column = ");
    append_size(emission, last, source, "last_vector");
    kiln_buffer_append_text(source, ";\n");
}

void kiln_emit_row_locations(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const struct kiln_reduction_schedule *reduction = &schedule->reduction;
    uint64_t cols = (uint64_t)schedule->dims[schedule->rank - 1];
    uint64_t whole = cols / schedule->vector_elems;
    uint64_t tail = cols % schedule->vector_elems;
    kiln_buffer_append_text(
        source,
        "KILN_DEVICE void kiln_locate_row(const kiln_arguments &arguments, kiln_index rest, "
        "kiln_index segment, kiln_position &position)\n{\n"
        "    (void)arguments, (void)rest, (void)segment;\n");
    if (emission->group->role == KILN_ROLE_PARTIAL)
        kiln_buffer_append_text(source, "    position.segment = segment;\n");
    if (reduction->is_columns)
        append_vector_of_rows(emission, source);
    append_axes(emission, ~schedule->reduced_axes, source);
    kiln_buffer_append_text(
        source,
        "}\nKILN_DEVICE void kiln_locate_step(const kiln_arguments &arguments, kiln_index rest, "
        "kiln_position &position)\n{\n    (void)arguments, (void)rest;\n");
    if (!reduction->is_columns && schedule->reduced_axes != 1u << (schedule->rank - 1))
        kiln_buffer_printf(source,
                           "    position.column = rest %% (kiln_index)%" PRIu64 " * KILN_VECTOR;\n"
                           "    rest /= (kiln_index)%" PRIu64 ";\n",
                           whole == 0 ? 1 : whole, whole == 0 ? 1 : whole);
    else if (!reduction->is_columns)
        kiln_buffer_append_text(source, "    position.column = rest * KILN_VECTOR;\n");
    append_axes(emission, schedule->reduced_axes, source);
    kiln_buffer_append_text(source, "}\n");
    if (reduction->is_columns || tail == 0)
        return;
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_locate_tail(const kiln_arguments &, kiln_index rest, "
                       "kiln_position &position)\n{\n    position.column = (kiln_index)%" PRIu64
                       " + rest %% (kiln_index)%" PRIu64 ";\n    rest /= (kiln_index)%" PRIu64
                       ";\n",
                       whole * schedule->vector_elems, tail, tail);
    append_axes(emission, schedule->reduced_axes, source);
    kiln_buffer_append_text(source, "}\n");
}

void kiln_emit_coordinate(const struct kiln_emission *emission, uint32_t axis,
                          struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    if (axis == schedule->rank - 1)
        kiln_buffer_append_text(source, "position.column");
    else if (kiln_emission_is_tiled(emission) && axis == schedule->tile_axis)
        kiln_buffer_append_text(source, "position.line");
    else
        kiln_buffer_printf(source, "position.c%" PRIu32, axis);
}

/*
 * Of what merges segments of attention, whose loads are all under way at once: AMDGPU multiplies 32
 * bits and adds 64 in one instruction. Where only 32 of them are asked for, LLVM lets the others be
 * whatever register is next, such as one that an earlier load has yet to fill: then it waits.
 */
static bool has_wide_offsets(const struct kiln_emission *emission)
{
    return kiln_sizes_are_arguments(emission) && emission->group->role == KILN_ROLE_WHOLE;
}

void kiln_emit_offset(const struct kiln_emission *emission, uint32_t access,
                      struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const int64_t *strides = schedule->accesses[access].strides;
    if (schedule->flattened) {
        /* Only accesses that are dense along the line, or the same everywhere, have an offset of
         * their own. */
        kiln_buffer_append_text(
            source, schedule->accesses[access].mode == KILN_ACCESS_SPLAT ? "0" : "position.column");
        return;
    }
    bool first = true;
    bool is_wide = has_wide_offsets(emission);
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        if (strides[axis] == 0 || schedule->dims[axis] == 1)
            continue;
        kiln_buffer_append_text(source, first ? "" : " + ");
        kiln_emit_coordinate(emission, axis, source);
        if (strides[axis] != 1) {
            kiln_buffer_append_text(source, is_wide ? " * (unsigned long long)" : " * ");
            append_size(emission, strides[axis], source, "s%" PRIu32 "_%" PRIu32, access, axis);
        }
        first = false;
    }
    const struct kiln_access *memory = &emission->group->accesses[access];
    if (memory->is_accumulator && emission->group->role == KILN_ROLE_PARTIAL) {
        kiln_buffer_printf(source, "%sposition.segment * (kiln_index)%" PRId64, first ? "" : " + ",
                           memory->segment_stride);
        first = false;
    }
    if (first)
        kiln_buffer_append_text(source, "0");
}

void kiln_emit_line_coordinates(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_buffer_append_text(source, "        kiln_index rest = position.column + (kiln_index)e;\n");
    for (uint32_t axis = schedule->rank; axis-- > 1;)
        kiln_buffer_printf(source,
                           "        const kiln_index k%" PRIu32 " = rest %% (kiln_index)%" PRId64
                           ";\n        rest /= (kiln_index)%" PRId64 ";\n",
                           axis, schedule->dims[axis], schedule->dims[axis]);
    kiln_buffer_append_text(source, "        const kiln_index k0 = rest;\n");
}

void kiln_emit_element_offset(const struct kiln_emission *emission, uint32_t access,
                              struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const int64_t *strides = schedule->accesses[access].strides;
    if (!schedule->flattened) {
        kiln_emit_offset(emission, access, source);
        kiln_buffer_append_text(source, " + (kiln_index)e");
        if (strides[schedule->rank - 1] != 1) {
            kiln_buffer_append_text(source, " * ");
            append_size(emission, strides[schedule->rank - 1], source, "s%" PRIu32 "_%" PRIu32,
                        access, schedule->rank - 1);
        }
        return;
    }
    kiln_buffer_append_text(source, "0");
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        if (strides[axis] != 0)
            kiln_buffer_printf(source, " + k%" PRIu32 " * (kiln_index)%" PRId64, axis,
                               strides[axis]);
    }
}
