/*
 * Operands where work-items compute elements of the result: `image`, of which a work-item loads
 * what a vector of the result's columns needs for one index of k, and `weights`, of which it loads
 * an element that the work-group shares. Rows, columns and k are counted from the first of all.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/fuse/contraction_group.h"

#include <inttypes.h>
#include <stdio.h>

struct direct_side {
    struct kiln_contraction_side side;
    const char *repeat; /* "left" */
    uint32_t lanes;     /* elements of a load: columns of the result, or one */
    bool is_left;
};

static const char *offset_type(const struct kiln_emission *emission)
{
    return emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
}

/* ---- what differs between the elements of a load ---- */

static bool varies_across(const struct kiln_emission *emission, const struct direct_side *direct,
                          uint32_t access)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    uint32_t count = direct->is_left ? contraction->columns.count : contraction->rows.count;
    bool varies = false;
    for (uint32_t i = 0; i < count; i++)
        varies |= emission->schedule->accesses[access].strides[KILN_STRIDE_ACROSS + i] != 0;
    return varies;
}

static bool has_lanes(const struct kiln_emission *emission, const struct direct_side *direct,
                      uint32_t access)
{
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    if (direct->lanes == 1)
        return false;
    return direct->is_left ? varies_across(emission, direct, access)
                           : scheduled->strides[KILN_STRIDE_ROW] != 0 || scheduled->splits_rows ||
                                 scheduled->is_windowed;
}

/* Columns of the result may be inside of the window or not: where they are the image's rows. */
static bool has_inside_lanes(const struct direct_side *direct)
{
    return !direct->is_left && direct->lanes > 1;
}

/* The access that loads the operand, if nothing is computed of it; else KILN_NONE. */
static uint32_t loaded_access(const struct kiln_emission *emission, enum kiln_place place)
{
    uint32_t operand = kiln_group_operand(emission->ir, emission->group, place);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_in(emission, i, place) && emission->group->accesses[i].value == operand)
            return i;
    }
    return KILN_NONE;
}

/* ---- loads ---- */

/* The names that loads have for an index of the operand's own rows, and of the other one's. */
static const char *own_index(const struct direct_side *direct, bool has_lanes_of_own)
{
    return direct->is_left ? "row" : has_lanes_of_own ? "column + e" : "column";
}

static void append_across(const struct kiln_emission *emission, const struct direct_side *direct,
                          uint32_t access, bool is_vector, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_role_axes *role =
        direct->is_left ? &contraction->columns : &contraction->rows;
    const char *index = !direct->is_left                  ? "row"
                        : is_vector || direct->lanes == 1 ? "column"
                                                          : "column + e";
    for (uint32_t i = 0; i < role->count; i++) {
        char coordinate[96];
        if (role->count == 1)
            (void)snprintf(coordinate, sizeof coordinate, "%s", index);
        else
            (void)snprintf(coordinate, sizeof coordinate,
                           "kiln_split_%c(arguments, source.batch, %s).c%" PRIu32,
                           direct->is_left ? 'n' : 'm', index, i);
        kiln_emit_contraction_term(emission, offset_type(emission), access, KILN_STRIDE_ACROSS + i,
                                   coordinate, source);
    }
}

static void append_inside(const struct direct_side *direct, struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "    inputs.inside = 0;\n");
    kiln_emit_element_loop("    ", has_inside_lanes(direct) ? direct->lanes : 1, source);
    kiln_buffer_printf(source,
                       "        inputs.inside |= (unsigned)kiln_%s_is_inside(arguments, source, "
                       "%s, k) << e;\n    }\n",
                       direct->side.name, own_index(direct, has_inside_lanes(direct)));
}

/* Whether loads are of a strip's pixels. */
static bool has_strips(const struct kiln_emission *emission, const struct direct_side *direct)
{
    return kiln_contraction_of(emission)->strip_taps != 0 &&
           kiln_is_side_windowed(emission, &direct->side);
}

/* From one pixel of a strip to the next. */
static void append_pixel_step(const struct kiln_emission *emission, uint32_t access,
                              struct kiln_buffer *source)
{
    char step[48];
    char text[80];
    kiln_print_strip_step(kiln_contraction_of(emission), step, sizeof step);
    (void)snprintf(text, sizeof text, "pixel * (unsigned)%s", step);
    if (emission->schedule->index_is_64bit)
        (void)snprintf(text, sizeof text, "(long long)pixel * %s", step);
    kiln_emit_contraction_term(emission, offset_type(emission), access, KILN_STRIDE_COLUMN, text,
                               source);
}

static void append_load(const struct kiln_emission *emission, const struct direct_side *direct,
                        uint32_t access, struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const char *storage = kiln_storage_suffix(memory);
    const char *type = offset_type(emission);
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    bool varies = has_lanes(emission, direct, access);
    bool is_windowed = kiln_is_access_windowed(emission, access);
    const char *own = own_index(direct, varies);
    if (memory->kind == KILN_ARGUMENT_HOST_SCALAR) {
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", access,
                           access);
        return;
    }
    kiln_emit_element_loop("    ", varies && !is_vector ? direct->lanes : 1, source);
    kiln_buffer_printf(source, "        const %s offset%" PRIu32 " = (%s)0", type, access, type);
    if (is_windowed)
        kiln_buffer_printf(source, " + ((inputs.inside >> %s & 1) != 0 ? ",
                           has_inside_lanes(direct) && varies ? "e" : "0");
    else
        kiln_buffer_append_text(source, " + ");
    if (is_windowed && has_strips(emission, direct)) {
        kiln_buffer_printf(source, "(line.o%" PRIu32, access);
        append_pixel_step(emission, access, source);
        kiln_buffer_append_text(source, ")");
    } else if (kiln_is_access_split(emission, access)) {
        kiln_buffer_printf(source, "kiln_%s_offset_%" PRIu32 "(arguments, source, %s, k)",
                           direct->side.name, access, own);
    } else {
        kiln_buffer_printf(source, "((%s)0", type);
        kiln_emit_contraction_term(emission, type, access, KILN_STRIDE_ROW, own, source);
        kiln_emit_contraction_term(emission, type, access, KILN_STRIDE_COLUMN, "k", source);
        kiln_buffer_append_text(source, ")");
    }
    if (is_windowed)
        kiln_buffer_append_text(source, " : 0u)");
    append_across(emission, direct, access, is_vector, source);
    kiln_buffer_printf(source,
                       ";\n        const kiln_storage_%s *at%" PRIu32
                       " = (const kiln_storage_%s *)((const char *)source.p%" PRIu32
                       " + (%s)sizeof(kiln_storage_%s) * offset%" PRIu32 ");\n",
                       storage, access, storage, access, type, storage, access);
    if (is_vector)
        kiln_buffer_printf(source,
                           "        KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32 ", at%" PRIu32
                           ")\n    }\n",
                           kiln_vector_bytes(memory, direct->lanes), access, access);
    else
        kiln_buffer_printf(source, "        inputs.x%" PRIu32 "[e] = *at%" PRIu32 ";\n    }\n",
                           access, access);
}

/* ---- values ---- */

/* What is loaded is zero outside of the window: of a whole vector by its words, before it is
 * converted, which takes fewer instructions. */
static void append_cleared(const struct kiln_emission *emission, const struct direct_side *direct,
                           uint32_t access, struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    bool varies = has_lanes(emission, direct, access);
    uint32_t bytes = kiln_vector_bytes(memory, varies ? direct->lanes : 1);
    if (bytes % 4 == 0 && !has_inside_lanes(direct)) {
        kiln_buffer_printf(source,
                           "    unsigned words[%" PRIu32 "];\n"
                           "    __builtin_memcpy(words, inputs.x%" PRIu32 ", sizeof words);\n"
                           "    KILN_UNROLL\n    for (unsigned w = 0; w < %" PRIu32 "; w++)\n"
                           "        words[w] &= 0u - inputs.inside;\n"
                           "    __builtin_memcpy(inputs.x%" PRIu32 ", words, sizeof words);\n",
                           bytes / 4, access, bytes / 4, access);
        return;
    }
    kiln_emit_element_loop("    ", varies ? direct->lanes : 1, source);
    kiln_buffer_printf(source,
                       "        inputs.x%" PRIu32 "[e] = (inputs.inside >> %s & 1) != 0 ? "
                       "inputs.x%" PRIu32 "[e] : (kiln_storage_%s)0;\n    }\n",
                       access, has_inside_lanes(direct) ? "e" : "0", access,
                       kiln_storage_suffix(memory));
}

static void append_values(const struct kiln_emission *emission, const struct direct_side *direct,
                          const char *const *elements, struct kiln_buffer *source)
{
    enum kiln_place place = direct->side.operand->places[0];
    bool is_windowed = kiln_is_side_windowed(emission, &direct->side);
    uint32_t loaded = loaded_access(emission, place);
    /* One element for columns of which some are inside: it cannot be cleared for all. */
    if (loaded != KILN_NONE && has_inside_lanes(direct) && !has_lanes(emission, direct, loaded))
        loaded = KILN_NONE;
    const char *inside = has_inside_lanes(direct) ? "e" : "0";
    struct kiln_value_table table;
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_%s_values(const kiln_arguments &arguments, "
                       "kiln_%s_inputs &inputs, kiln_sum (&values)[%" PRIu32 "])\n{\n"
                       "    (void)arguments;\n",
                       direct->side.name, direct->side.name, direct->lanes);
    if (!kiln_contraction_table_init(emission, place, elements, &table)) {
        source->failed = true;
        return;
    }
    if (is_windowed && loaded != KILN_NONE)
        append_cleared(emission, direct, loaded, source);
    kiln_emit_element_loop("    ", direct->lanes, source);
    kiln_emit_contraction_values(emission, &table, place, source);
    kiln_buffer_append_text(source, "        values[e] = ");
    if (is_windowed && loaded == KILN_NONE)
        kiln_buffer_printf(source, "(inputs.inside >> %s & 1) == 0 ? (kiln_sum)0 : ", inside);
    kiln_emit_value(&table, kiln_group_operand(emission->ir, emission->group, place), source);
    kiln_buffer_append_text(source, ";\n    }\n}\n");
    kiln_value_table_fini(&table);
}

/* ---- strips ---- */

static void append_line(const struct kiln_emission *emission, const struct direct_side *direct,
                        struct kiln_buffer *source)
{
    const char *name = direct->side.name;
    kiln_buffer_printf(source, "struct kiln_%s_line {\n    unsigned inside;\n", name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_for(emission, &direct->side, i) && kiln_is_access_windowed(emission, i))
            kiln_buffer_printf(source, "    %s o%" PRIu32 ";\n", offset_type(emission), i);
    }
    kiln_buffer_printf(
        source,
        "};\nKILN_DEVICE void kiln_%s_find_line(const kiln_arguments &arguments, "
        "const kiln_%s_source &source, unsigned row, unsigned k, kiln_%s_line "
        "&line)\n{\n    line.inside = kiln_%s_strip_inside(arguments, source, row);\n"
        "    line.inside = kiln_%s_is_inside(arguments, source, row, k) ? "
        "line.inside : 0;\n",
        name, name, name, name, name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_for(emission, &direct->side, i) && kiln_is_access_windowed(emission, i))
            kiln_buffer_printf(source,
                               "    line.o%" PRIu32 " = kiln_%s_offset_%" PRIu32
                               "(arguments, source, row, k);\n",
                               i, name, i);
    }
    kiln_buffer_append_text(source, "}\n");
}

/* ---- the whole ---- */

static void append_side(const struct kiln_emission *emission, const struct direct_side *direct,
                        struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_contraction_side *side = &direct->side;
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    kiln_buffer_printf(source, "struct kiln_%s_source {\n", side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            kiln_emit_contraction_pointer(emission, i, source);
    }
    kiln_buffer_append_text(source,
                            "    kiln_batch batch;\n    unsigned first_row, first_k;\n};\n");
    kiln_emit_contraction_operand_offsets(emission, side, source);
    kiln_buffer_printf(source, "struct kiln_%s_inputs {\n", side->name);
    if (kiln_is_side_windowed(emission, side))
        kiln_buffer_append_text(source, "    unsigned inside;\n");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!kiln_is_loaded_for(emission, side, i))
            continue;
        bool varies = has_lanes(emission, direct, i);
        elements[i] = varies ? "e" : "0";
        kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[%" PRIu32 "];\n",
                           kiln_storage_suffix(&group->accesses[i]), i, varies ? direct->lanes : 1);
    }
    kiln_buffer_printf(source,
                       "};\nKILN_DEVICE void kiln_%s_start(const kiln_arguments &arguments, const "
                       "kiln_batch &batch, kiln_%s_source &source)\n{\n"
                       "    (void)arguments, (void)batch;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            kiln_emit_contraction_start(emission, i, direct->repeat, "0", NULL, source);
    }
    kiln_buffer_printf(source, "    source.batch = batch;\n    source.first_row = 0;\n"
                               "    source.first_k = 0;\n}\n");
    if (has_strips(emission, direct)) {
        append_line(emission, direct, source);
        kiln_buffer_printf(source,
                           "KILN_DEVICE void kiln_%s_load_pixel(const kiln_arguments &arguments, "
                           "const kiln_%s_source &source, const kiln_%s_line &line, unsigned row, "
                           "unsigned column, unsigned k, unsigned pixel, kiln_%s_inputs &inputs)\n"
                           "{\n    (void)arguments, (void)source, (void)row, (void)column, "
                           "(void)k;\n    inputs.inside = line.inside >> pixel & 1;\n",
                           side->name, side->name, side->name, side->name);
    } else {
        kiln_buffer_printf(source,
                           "KILN_DEVICE void kiln_%s_load(const kiln_arguments &arguments, const "
                           "kiln_%s_source &source, unsigned row, unsigned column, unsigned k, "
                           "kiln_%s_inputs &inputs)\n{\n    (void)arguments, (void)source, "
                           "(void)row, (void)column, (void)k, (void)inputs;\n",
                           side->name, side->name, side->name);
        if (kiln_is_side_windowed(emission, side))
            append_inside(direct, source);
    }
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            append_load(emission, direct, i, source);
    }
    kiln_buffer_append_text(source, "}\n");
    append_values(emission, direct, elements, source);
}

void kiln_emit_contraction_direct(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    const struct kiln_operand_schedule *operands[] = {&contraction->left, &contraction->right};
    const char *const sides[] = {"left", "right"};
    const struct direct_side image = {
        .side = {.operand = operands[is_swapped], .name = "image"},
        .repeat = sides[is_swapped],
        .lanes = contraction->result_vector,
        .is_left = !is_swapped,
    };
    const struct direct_side weights = {
        .side = {.operand = operands[!is_swapped], .name = "weights"},
        .repeat = sides[!is_swapped],
        .lanes = 1,
        .is_left = is_swapped,
    };
    append_side(emission, &image, source);
    append_side(emission, &weights, source);
}
