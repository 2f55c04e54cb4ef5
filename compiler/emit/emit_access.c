#include "compiler/emit/emit_access.h"

#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_family.h"
#include "compiler/schedule/vector_access.h"

#include <inttypes.h>
#include <stdio.h>

const char *kiln_storage_suffix(const struct kiln_access *access)
{
    return kiln_dtype_info(access->dtype)->device;
}

const char *kiln_element_suffix(const struct kiln_emission *emission, uint32_t elements)
{
    return elements == emission->schedule->walk.vector_elems ? "" : "_element";
}

static enum kiln_access_mode access_mode(const struct kiln_emission *emission, uint32_t access)
{
    return emission->schedule->accesses[access].mode;
}

bool kiln_access_is_splat(const struct kiln_emission *emission, uint32_t access)
{
    return access_mode(emission, access) == KILN_ACCESS_SPLAT;
}

static bool is_selected(const bool *selected, uint32_t access)
{
    return selected == NULL || selected[access];
}

void kiln_emit_arguments(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    kiln_buffer_append_text(source, "struct kiln_arguments {\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        if (access->kind == KILN_ARGUMENT_HOST_SCALAR)
            kiln_buffer_printf(source, "    alignas(8) kiln_storage_%s a%" PRIu32 ";\n",
                               kiln_storage_suffix(access), i);
        else if (kiln_dtype_is_packed(access->dtype))
            kiln_buffer_printf(source, "    kiln_memory_%s a%" PRIu32 ";\n",
                               kiln_storage_suffix(access), i);
        else
            kiln_buffer_printf(source, "    %skiln_storage_%s *a%" PRIu32 ";\n",
                               access->is_store ? "" : "const ", kiln_storage_suffix(access), i);
    }
    struct kiln_integer_walk walk = {.emission = emission, .source = source};
    kiln_visit_integers(&walk);
    kiln_buffer_append_text(source, "};\n");
}

void kiln_emit_element_loop(const char *indent, uint32_t elements, struct kiln_buffer *source)
{
    if (elements == 1)
        kiln_buffer_printf(source, "%s{\n%s    const int e = 0;\n", indent, indent);
    else
        kiln_buffer_printf(source, "%sKILN_UNROLL\n%sfor (int e = 0; e < %" PRIu32 "; e++) {\n",
                           indent, indent, elements);
}

uint32_t kiln_vector_bytes(const struct kiln_access *access, uint32_t elements)
{
    return kiln_dtype_info(access->dtype)->bytes * elements;
}

const char *kiln_vector_kind(const struct kiln_emission *emission, uint32_t access,
                             const char *aligned)
{
    return kiln_access_is_unaligned(emission->group, emission->target, emission->schedule, access)
               ? "UNALIGNED"
               : aligned;
}

void kiln_emit_input_members(const struct kiln_emission *emission, const bool *selected,
                             uint32_t elements, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = 0; i < group->load_count; i++) {
        bool is_vector = elements > 1 &&
                         emission->schedule->accesses[i].mode == KILN_ACCESS_VECTOR &&
                         !kiln_dtype_is_packed(group->accesses[i].dtype);
        if (is_selected(selected, i))
            kiln_buffer_printf(source,
                               is_vector ? "    KILN_INPUT(kiln_storage_%s, x%" PRIu32 ", %" PRIu32
                                           ");\n"
                                         : "    kiln_storage_%s x%" PRIu32 "[%" PRIu32 "];\n",
                               kiln_storage_suffix(&group->accesses[i]), i,
                               kiln_access_is_splat(emission, i) ? 1 : elements);
    }
}

void kiln_emit_tile_access(const struct kiln_emission *emission, uint32_t access, bool is_store,
                           uint32_t elements, const char *vector, const char *line,
                           struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    uint32_t bytes = kiln_dtype_info(memory->dtype)->bytes;
    uint32_t whole = emission->schedule->walk.vector_elems;
    uint32_t piece = whole * bytes <= KILN_ACCESS_BYTES ? whole : KILN_ACCESS_BYTES / bytes;
    for (uint32_t i = 0; i < elements; i += piece) {
        char place[128];
        (void)snprintf(place, sizeof place,
                       "tiles.t%" PRIu32
                       "[kiln_tile_place((unsigned)%s, (unsigned)column + %" PRIu32 ", %" PRIu32
                       ")]",
                       access, line, i, piece);
        if (elements == 1 && is_store)
            kiln_buffer_printf(source, "    %s = %s[0];\n", place, vector);
        else if (elements == 1)
            kiln_buffer_printf(source, "    %s[0] = %s;\n", vector, place);
        else if (is_store)
            kiln_buffer_printf(source, "    KILN_STORE_LOCAL(%" PRIu32 ", &%s, &%s[%" PRIu32 "])\n",
                               piece * bytes, place, vector, i);
        else
            kiln_buffer_printf(source, "    KILN_LOAD_LOCAL(%" PRIu32 ", &%s[%" PRIu32 "], &%s)\n",
                               piece * bytes, vector, i, place);
    }
}

/* "4, 16, 8": template arguments of a vector of packed elements: bits, count, bytes at once. */
static void append_packed_vector(const struct kiln_emission *emission, uint32_t access,
                                 uint32_t elements, struct kiln_buffer *source)
{
    enum kiln_dtype dtype = emission->group->accesses[access].dtype;
    uint32_t bits = kiln_dtype_info(dtype)->bits;
    uint32_t step = kiln_packed_access_bytes(dtype, elements);
    uint32_t aligned = emission->schedule->accesses[access].alignment_bytes;
    if (emission->target->kind == KILN_TARGET_CUDA && aligned < step)
        step = aligned;
    kiln_buffer_printf(source, "%" PRIu32 ", %" PRIu32 ", %" PRIu32, bits, elements, step);
}

static void append_packed_load(const struct kiln_emission *emission, uint32_t access,
                               uint32_t elements, struct kiln_buffer *source)
{
    uint32_t unit = kiln_dtype_unit(emission->group->accesses[access].dtype);
    if (elements % unit == 0) {
        kiln_buffer_append_text(source, "    kiln_load_packed<");
        append_packed_vector(emission, access, elements, source);
        kiln_buffer_printf(source, ">(arguments.a%" PRIu32 ".vector(", access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_printf(source, "), inputs.x%" PRIu32 ");\n", access);
        return;
    }
    for (uint32_t e = 0; e < elements; e++) {
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[%" PRIu32 "] = arguments.a%" PRIu32 "[",
                           access, e, access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_printf(source, " + %" PRIu32 "];\n", e);
    }
}

/* The work-item that stores an element by itself has stored those before it in its byte. */
static void append_packed_store(const struct kiln_emission *emission, uint32_t access,
                                uint32_t elements, struct kiln_buffer *source)
{
    if (elements == 1) {
        kiln_buffer_printf(source, "    arguments.a%" PRIu32 ".store(", access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_printf(source, ", y%" PRIu32 "[0]);\n", access);
        return;
    }
    kiln_buffer_append_text(source, "    kiln_store_packed<");
    append_packed_vector(emission, access, elements, source);
    kiln_buffer_printf(source, ">(arguments.a%" PRIu32 ".vector(", access);
    kiln_emit_offset(emission, access, source);
    kiln_buffer_printf(source, "), y%" PRIu32 ");\n", access);
}

/* A single element is no vector. */
static void append_vector_load(const struct kiln_emission *emission, uint32_t access,
                               uint32_t elements, struct kiln_buffer *source)
{
    if (kiln_dtype_is_packed(emission->group->accesses[access].dtype)) {
        append_packed_load(emission, access, elements, source);
        return;
    }
    if (elements == 1)
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = *(arguments.a%" PRIu32 " + (",
                           access, access);
    else
        kiln_buffer_printf(
            source, "    KILN_LOAD_%s(%" PRIu32 ", inputs.x%" PRIu32 ", arguments.a%" PRIu32 " + (",
            kiln_vector_kind(emission, access,
                             emission->schedule->accesses[access].is_streamed ? "STREAM" : "INPUT"),
            kiln_vector_bytes(&emission->group->accesses[access], elements), access, access);
    kiln_emit_offset(emission, access, source);
    kiln_buffer_append_text(source, elements == 1 ? "));\n" : "))\n");
}

void kiln_emit_loads(const struct kiln_emission *emission, const bool *selected, uint32_t elements,
                     struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_schedule *schedule = emission->schedule;
    bool gathers = false;
    char element[24];
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!is_selected(selected, i))
            continue;
        if (group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR) {
            kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", i,
                               i);
            continue;
        }
        switch (access_mode(emission, i)) {
        case KILN_ACCESS_VECTOR:
            append_vector_load(emission, i, elements, source);
            break;
        case KILN_ACCESS_SPLAT:
            kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 "[", i,
                               i);
            kiln_emit_offset(emission, i, source);
            kiln_buffer_append_text(source, "];\n");
            break;
        case KILN_ACCESS_STAGED:
            kiln_buffer_printf(
                source, "    inputs.x%" PRIu32 "[0] = position.t%" PRIu32 "[position.column];\n", i,
                i);
            break;
        case KILN_ACCESS_TRANSPOSED:
            if (elements == schedule->walk.vector_elems)
                break; /* kiln_load_staged */
            (void)snprintf(element, sizeof element, "inputs.x%" PRIu32, i);
            kiln_emit_tile_access(emission, i, false, 1, element, "line", source);
            break;
        case KILN_ACCESS_GATHER:
            gathers = true;
            break;
        }
    }
    if (gathers) {
        kiln_emit_element_loop("    ", elements, source);
        if (schedule->walk.form == KILN_WALK_FLATTENED)
            kiln_emit_line_coordinates(emission, source);
        for (uint32_t i = 0; i < group->load_count; i++) {
            if (!is_selected(selected, i) || access_mode(emission, i) != KILN_ACCESS_GATHER)
                continue;
            kiln_buffer_printf(source, "        inputs.x%" PRIu32 "[e] = arguments.a%" PRIu32 "[",
                               i, i);
            kiln_emit_element_offset(emission, i, source);
            kiln_buffer_append_text(source, "];\n");
        }
        kiln_buffer_append_text(source, "    }\n");
    }
}

void kiln_emit_output_arrays(const struct kiln_emission *emission, const bool *selected,
                             uint32_t elements, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (is_selected(selected, i))
            kiln_buffer_printf(source, "    kiln_storage_%s y%" PRIu32 "[%" PRIu32 "];\n",
                               kiln_storage_suffix(&group->accesses[i]), i, elements);
    }
}

/* "if (position.c0 == 0 && ...)" over the guard axes of a store; "" when there is none. */
static void append_guard(const struct kiln_emission *emission, uint32_t access,
                         struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t guard = schedule->accesses[access].guard_axes;
    bool any = false;
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        if (!((guard >> axis) & 1u))
            continue;
        kiln_buffer_append_text(source, any ? " && " : "    if (");
        kiln_emit_coordinate(emission, axis, source);
        kiln_buffer_append_text(source, " == 0");
        any = true;
    }
    if (any)
        kiln_buffer_append_text(source, ")\n    ");
}

static void append_element_guard(const struct kiln_emission *emission, uint32_t access,
                                 struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t guard = schedule->accesses[access].guard_axes;
    bool any = false;
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        if (!((guard >> axis) & 1u))
            continue;
        kiln_buffer_append_text(source, any ? " && " : "        if (");
        if (schedule->walk.form == KILN_WALK_FLATTENED) {
            kiln_buffer_printf(source, "k%" PRIu32, axis);
        } else {
            kiln_emit_coordinate(emission, axis, source);
            if (axis == schedule->walk.rank - 1)
                kiln_buffer_append_text(source, " + (kiln_index)e");
        }
        kiln_buffer_append_text(source, " == 0");
        any = true;
    }
    kiln_buffer_append_text(source, any ? ")\n            " : "        ");
}

/* A SPLAT store is one whose inner axis is guarded: it takes the first element of the vector. */
static void append_store(const struct kiln_emission *emission, uint32_t access, uint32_t elements,
                         struct kiln_buffer *source)
{
    if (kiln_dtype_is_packed(emission->group->accesses[access].dtype)) {
        append_packed_store(emission, access, elements, source);
        return;
    }
    switch (access_mode(emission, access)) {
    case KILN_ACCESS_VECTOR:
        append_guard(emission, access, source);
        if (elements == 1)
            kiln_buffer_printf(source, "    *(arguments.a%" PRIu32 " + (", access);
        else
            kiln_buffer_printf(source, "    KILN_STORE_%s(%" PRIu32 ", arguments.a%" PRIu32 " + (",
                               kiln_vector_kind(emission, access, "VECTOR"),
                               kiln_vector_bytes(&emission->group->accesses[access], elements),
                               access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_printf(source, elements == 1 ? ")) = y%" PRIu32 "[0];\n" : "), y%" PRIu32 ")\n",
                           access);
        break;
    case KILN_ACCESS_SPLAT:
        append_guard(emission, access, source);
        kiln_buffer_printf(source, "    arguments.a%" PRIu32 "[", access);
        kiln_emit_offset(emission, access, source);
        kiln_buffer_printf(source, "] = y%" PRIu32 "[0];\n", access);
        break;
    case KILN_ACCESS_STAGED:
        kiln_buffer_printf(source,
                           "    position.t%" PRIu32 "[position.column] = y%" PRIu32 "[0];\n",
                           access, access);
        break;
    case KILN_ACCESS_TRANSPOSED: {
        char vector[24];
        (void)snprintf(vector, sizeof vector, "y%" PRIu32, access);
        kiln_emit_tile_access(emission, access, true, elements, vector, "line", source);
        break;
    }
    case KILN_ACCESS_GATHER:
        break; /* stored element by element, all such accesses in one loop */
    }
}

static void append_gathered_stores(const struct kiln_emission *emission, const bool *selected,
                                   uint32_t elements, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_schedule *schedule = emission->schedule;
    bool any = false;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!is_selected(selected, i) || access_mode(emission, i) != KILN_ACCESS_GATHER)
            continue;
        if (!any) {
            kiln_emit_element_loop("    ", elements, source);
            if (schedule->walk.form == KILN_WALK_FLATTENED)
                kiln_emit_line_coordinates(emission, source);
        }
        any = true;
        append_element_guard(emission, i, source);
        kiln_buffer_printf(source, "arguments.a%" PRIu32 "[", i);
        kiln_emit_element_offset(emission, i, source);
        kiln_buffer_printf(source, "] = y%" PRIu32 "[e];\n", i);
    }
    if (any)
        kiln_buffer_append_text(source, "    }\n");
}

void kiln_emit_stores(const struct kiln_emission *emission, const bool *selected, uint32_t elements,
                      struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (is_selected(selected, i))
            append_store(emission, i, elements, source);
    }
    append_gathered_stores(emission, selected, elements, source);
}
