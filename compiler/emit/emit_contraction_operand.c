#include "compiler/emit/emit_contraction_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_bytes.h"
#include "compiler/emit/emit_contraction.h"
#include "compiler/fuse/contraction_group.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *device_type(enum kiln_dtype dtype)
{
    return kiln_dtype_info(dtype)->device;
}

bool kiln_is_loaded_for(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, uint32_t access)
{
    uint32_t first = side->is_single ? side->part : 0;
    uint32_t end = side->is_single ? first + 1 : side->operand->part_count;
    for (uint32_t part = first; part < end; part++) {
        if (kiln_is_loaded_in(emission, access, side->operand->places[part]))
            return true;
    }
    return false;
}

/* Whether elements of a pack differ along k, or along the operand's rows. Along a window one may be
 * inside while its neighbour is not, even where the stride is 0; runs of rows have no window. */
static bool varies_along_k(const struct kiln_access_schedule *access)
{
    return access->strides[KILN_STRIDE_COLUMN] != 0 || access->splits_columns ||
           access->is_windowed;
}

bool kiln_varies_along_rows(const struct kiln_access_schedule *access)
{
    return access->strides[KILN_STRIDE_ROW] != 0 || access->splits_rows;
}

/* Elements along k that are loaded together. */
static uint32_t loaded_elements(const struct kiln_emission *emission,
                                const struct kiln_contraction_side *side)
{
    return kiln_loaded_elements(kiln_contraction_of(emission), side->operand);
}

/* How many elements an access loads for a pack of `run` rows. */
static uint32_t input_count(const struct kiln_emission *emission,
                            const struct kiln_contraction_side *side, uint32_t access)
{
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    uint32_t rows = kiln_varies_along_rows(scheduled) ? side->operand->run : 1;
    uint32_t along = varies_along_k(scheduled) ? loaded_elements(emission, side) : 1;
    return rows * along;
}

/* The element of inputs.x<access> that belongs to element e of row r. Static. */
static const char *input_element(const struct kiln_emission *emission,
                                 const struct kiln_contraction_side *side, uint32_t access)
{
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    bool by_row = kiln_varies_along_rows(scheduled) && side->operand->run > 1;
    bool by_k = varies_along_k(scheduled);
    if (!by_k)
        return by_row ? "r" : "0";
    if (!by_row)
        return "e";
    return side->run_element;
}

/* The type of offsets in bytes from a pointer that all lanes share. */
static const char *offset_type(const struct kiln_emission *emission)
{
    return emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
}

/* How many neighbouring rows one load of an access takes. */
static uint32_t rows_at_once(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side, uint32_t access)
{
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    return !side->operand->is_along_k && is_vector ? side->operand->run : 1;
}

/* Elements along k that one load of an access takes, and loads of a pack along k. */
static uint32_t k_at_once(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, uint32_t access)
{
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    return side->operand->is_along_k && is_vector ? side->operand->vector : 1;
}

static uint32_t loads_along_k(const struct kiln_emission *emission,
                              const struct kiln_contraction_side *side, uint32_t access,
                              uint32_t k_step)
{
    return emission->schedule->accesses[access].strides[KILN_STRIDE_COLUMN] == 0
               ? 1
               : loaded_elements(emission, side) / k_step;
}

/* How many offsets of a pack's loads are kept over all tiles of k, at most: each is a register.
 * Steps of a known size are in the loads themselves. */
enum { KEPT_OFFSETS = 4 };

/* Whether all loads of an access for a pack take the same rows: offsets from a tile's pointer, one
 * for each step along k, are then the same in all tiles of k. */
static bool has_lane_offset(const struct kiln_emission *emission,
                            const struct kiln_contraction_side *side, uint32_t access)
{
    const int64_t *strides = emission->schedule->accesses[access].strides;
    uint32_t run = strides[KILN_STRIDE_ROW] == 0 ? 1 : side->operand->run;
    return kiln_is_loaded_for(emission, side, access) &&
           emission->group->accesses[access].kind != KILN_ARGUMENT_HOST_SCALAR &&
           !kiln_is_access_split(emission, access) && !kiln_is_walked(emission, side, access) &&
           run == rows_at_once(emission, side, access);
}

static uint32_t kept_offsets(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side, uint32_t access)
{
    uint32_t count = loads_along_k(emission, side, access, k_at_once(emission, side, access));
    if (!kiln_is_stride_argument(emission, access, KILN_STRIDE_COLUMN) ||
        kiln_contraction_of(emission)->is_streamed)
        return 1;
    return count < KEPT_OFFSETS ? count : KEPT_OFFSETS;
}

static void append_kept_loop(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side, uint32_t access,
                             struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "    KILN_UNROLL\n    for (unsigned j = 0; j < %" PRIu32 "; j++)\n",
                       kept_offsets(emission, side, access));
}

/* Bytes from the pointer of a tile to a row and a place along k, of either none for NULL. */
static void append_offset(const struct kiln_emission *emission, uint32_t access, const char *row,
                          const char *k, struct kiln_buffer *source)
{
    const char *offset = offset_type(emission);
    kiln_buffer_printf(source, "(%s)sizeof(kiln_storage_%s) * ((%s)0", offset,
                       kiln_storage_suffix(&emission->group->accesses[access]), offset);
    if (row != NULL)
        kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_ROW, row, source);
    kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_COLUMN, k, source);
    kiln_buffer_append_text(source, ")");
}

/* Offsets of what a work-item loads in every tile. kiln_<side>_keep is called for each tile. */
static void append_lane(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    uint32_t count = emission->group->load_count;
    kiln_buffer_printf(source, "struct kiln_%s_lane {\n", side->name);
    for (uint32_t i = 0; i < count; i++) {
        if (has_lane_offset(emission, side, i))
            kiln_buffer_printf(source, "    %s at%" PRIu32 "[%" PRIu32 "];\n",
                               offset_type(emission), i, kept_offsets(emission, side, i));
    }
    kiln_buffer_printf(source,
                       "};\nKILN_DEVICE void kiln_%s_locate(const kiln_arguments &arguments, "
                       "unsigned row, unsigned k, kiln_%s_lane &lane)\n{\n"
                       "    (void)arguments, (void)row, (void)k, (void)lane;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < count; i++) {
        if (!has_lane_offset(emission, side, i))
            continue;
        char k[48];
        (void)snprintf(k, sizeof k, "k + j * %" PRIu32, k_at_once(emission, side, i));
        append_kept_loop(emission, side, i, source);
        kiln_buffer_printf(source, "        lane.at%" PRIu32 "[j] = ", i);
        append_offset(emission, i, "row", k, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_printf(source,
                       "}\nKILN_DEVICE void kiln_%s_keep(kiln_%s_lane &lane)\n{\n    (void)lane;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < count; i++) {
        if (!has_lane_offset(emission, side, i))
            continue;
        append_kept_loop(emission, side, i, source);
        kiln_buffer_printf(source, "        kiln_keep_offset(lane.at%" PRIu32 "[j]);\n", i);
    }
    kiln_buffer_append_text(source, "}\n");
}

/*
 * Loads of one access for a pack: in vectors of `vector` elements along k, or of a run of rows. Of
 * the pack that k ends in each is checked: what is beyond it is loaded from the tile's first
 * element.
 */
static void append_loads(const struct kiln_emission *emission,
                         const struct kiln_contraction_side *side, uint32_t access, uint32_t vector,
                         bool is_end, struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const int64_t *strides = emission->schedule->accesses[access].strides;
    const char *storage = kiln_storage_suffix(memory);
    uint32_t pack = loaded_elements(emission, side);
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    bool along_k = side->operand->is_along_k;
    /* Steps along k, and rows within each; a vector takes several of one of them at once. */
    uint32_t k_step = along_k && is_vector ? vector : 1;
    uint32_t k_count = strides[KILN_STRIDE_COLUMN] == 0 ? 1 : pack / k_step;
    uint32_t run = strides[KILN_STRIDE_ROW] == 0 ? 1 : side->operand->run;
    uint32_t r_step = !along_k && is_vector ? run : 1;
    bool is_in_lane = !is_end && has_lane_offset(emission, side, access);
    bool are_steps_kept = is_in_lane && kept_offsets(emission, side, access) > 1;
    char step[32];
    (void)snprintf(step, sizeof step, "j * %" PRIu32, k_step);
    kiln_buffer_printf(
        source, "        KILN_UNROLL\n        for (unsigned j = 0; j < %" PRIu32 "; j++) {\n",
        k_count);
    if (is_end)
        kiln_buffer_printf(source,
                           "            const unsigned at = KILN_K_WITHIN(k + %s, rest);\n"
                           "            (void)at;\n",
                           step);
    /* Bytes from a pointer that all lanes share, the form that loads have; the steps are in the
     * pointer. */
    kiln_buffer_printf(source, "            const char *p = (const char *)(source.p%" PRIu32,
                       access);
    if (!is_end && !are_steps_kept)
        kiln_emit_contraction_term(emission, "long long", access, KILN_STRIDE_COLUMN, step, source);
    kiln_buffer_append_text(source, ");\n");
    if (is_in_lane && !are_steps_kept)
        kiln_buffer_printf(source, "            const %s offset = lane.at%" PRIu32 "[0];\n",
                           offset_type(emission), access);
    if (are_steps_kept) {
        kiln_buffer_printf(source,
                           "            %s offset = lane.at%" PRIu32 "[j %% %d];\n"
                           "            if (j >= %d) {\n                offset += ",
                           offset_type(emission), access, KEPT_OFFSETS, KEPT_OFFSETS);
        char later[48];
        (void)snprintf(later, sizeof later, "j / %d * %d * %" PRIu32, KEPT_OFFSETS, KEPT_OFFSETS,
                       k_step);
        append_offset(emission, access, NULL, later, source);
        kiln_buffer_append_text(source, ";\n                kiln_keep_offset(offset);\n"
                                        "            }\n");
    }
    if (run / r_step > 1)
        kiln_buffer_printf(source,
                           "            KILN_UNROLL\n            for (unsigned r = 0; r < %" PRIu32
                           "; r++)\n    ",
                           run);
    uint32_t at_once = k_step * r_step;
    if (at_once > 1)
        kiln_buffer_printf(source,
                           "            KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32
                           " + j * %" PRIu32 ", ",
                           kiln_vector_bytes(memory, at_once), access, at_once);
    else
        kiln_buffer_printf(source, "            inputs.x%" PRIu32 "[j * %" PRIu32 "%s] = *", access,
                           run, run > 1 ? " + r" : "");
    kiln_buffer_printf(source, "(const kiln_storage_%s *)(p + ", storage);
    if (is_in_lane)
        kiln_buffer_append_text(source, "offset");
    else
        append_offset(emission, access, run / r_step > 1 ? "row + r" : "row", is_end ? "at" : "k",
                      source);
    kiln_buffer_append_text(source, at_once > 1 ? ")" : "");
    kiln_buffer_append_text(source, at_once > 1 ? ")\n        }\n" : ");\n        }\n");
}

/* How many elements of k a pack loads one by one, or at once: each may be inside of its window or
 * not. */
static uint32_t points_of_pack(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side)
{
    return kiln_pack_elements(kiln_contraction_of(emission)) / side->operand->vector;
}

static void append_inside(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "    inputs.inside = 0;\n    KILN_UNROLL\n"
                       "    for (unsigned j = 0; j < %" PRIu32 "; j++)\n"
                       "        inputs.inside |= (unsigned)kiln_%s_is_inside(arguments, source, "
                       "row, KILN_K_WITHIN(k + j * %" PRIu32 ", rest)) << j;\n",
                       points_of_pack(emission, side), side->name, side->operand->vector);
}

/* Loads of an access whose indices are taken apart. No vector is cut by the end of k: packs are of
 * the last axis, which is whole packs, or of single elements. */
static void append_split_load(const struct kiln_emission *emission,
                              const struct kiln_contraction_side *side, uint32_t access,
                              struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    const char *storage = kiln_storage_suffix(memory);
    bool is_vector = scheduled->mode == KILN_ACCESS_VECTOR;
    bool along_k = side->operand->is_along_k;
    uint32_t k_step = along_k && is_vector ? side->operand->vector : 1;
    uint32_t k_count =
        varies_along_k(scheduled) ? kiln_pack_elements(kiln_contraction_of(emission)) / k_step : 1;
    uint32_t run = kiln_varies_along_rows(scheduled) ? side->operand->run : 1;
    uint32_t r_step = !along_k && is_vector ? run : 1;
    uint32_t at_once = k_step * r_step;
    kiln_buffer_printf(source,
                       "    KILN_UNROLL\n    for (unsigned j = 0; j < %" PRIu32 "; j++) {\n"
                       "        const unsigned at = KILN_K_WITHIN(k + j * %" PRIu32 ", rest);\n",
                       k_count, k_step);
    kiln_buffer_printf(source,
                       "        KILN_UNROLL\n        for (unsigned r = 0; r < %" PRIu32 "; r++) {\n"
                       "            const kiln_storage_%s *p = (const kiln_storage_%s *)((const "
                       "char *)source.p%" PRIu32 " + (%s)sizeof(kiln_storage_%s) * ",
                       run / r_step, storage, storage, access,
                       emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned",
                       storage);
    if (kiln_is_access_windowed(emission, access))
        kiln_buffer_printf(source, "(kiln_%s_is_inside(arguments, source, row + r, at) ? ",
                           side->name);
    kiln_buffer_printf(source, "kiln_%s_offset_%" PRIu32 "(arguments, source, row + r, at)%s);\n",
                       side->name, access,
                       kiln_is_access_windowed(emission, access) ? " : 0u)" : "");
    if (at_once > 1)
        kiln_buffer_printf(source,
                           "            KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32
                           " + j * %" PRIu32 ", p)\n",
                           kiln_vector_bytes(memory, at_once), access, at_once);
    else
        kiln_buffer_printf(source, "            inputs.x%" PRIu32 "[j * %" PRIu32 " + r] = *p;\n",
                           access, run);
    kiln_buffer_append_text(source, "        }\n    }\n");
}

static void append_operand_load(const struct kiln_emission *emission,
                                const struct kiln_contraction_side *side, uint32_t access,
                                struct kiln_buffer *source)
{
    const struct kiln_operand_schedule *operand = side->operand;
    if (emission->group->accesses[access].kind == KILN_ARGUMENT_HOST_SCALAR) {
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", access,
                           access);
        return;
    }
    if (kiln_is_loaded_in_runs(emission, access)) {
        kiln_emit_contraction_run_load(emission, side, access, source);
        return;
    }
    if (kiln_is_access_split(emission, access)) {
        append_split_load(emission, side, access, source);
        return;
    }
    bool has_end = side->k_end != KILN_K_END_NONE;
    kiln_buffer_append_text(
        source, has_end ? "    if (rest == KILN_WHOLE_K || k + KILN_PACK_ELEMENTS <= rest) {\n"
                        : "    {\n");
    append_loads(emission, side, access, operand->vector, false, source);
    if (has_end) {
        kiln_buffer_append_text(source, "    } else {\n");
        append_loads(emission, side, access, 1, true, source);
    }
    kiln_buffer_append_text(source, "    }\n");
}

/* fp8 that is staged as half, four elements at once. Not on the host, where one by one is as fast:
 * gcc 12 at -O2 makes wrong code of it where two products share an operand. */
static bool append_fp8_as_half(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side, enum kiln_place place,
                               uint32_t operand, struct kiln_buffer *source)
{
    static const enum kiln_dtype types[] = {KILN_DTYPE_F8E4M3, KILN_DTYPE_F8E5M2};
    if (kiln_contraction_of(emission)->staged != KILN_DTYPE_F16 ||
        emission->target->kind == KILN_TARGET_HOST)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint32_t access = kiln_loaded_access(emission, place, operand, types[i]);
        if (access == KILN_NONE)
            continue;
        kiln_emit_fp8_as_half(access, types[i], loaded_elements(emission, side),
                              input_element(emission, side, access), source);
        return true;
    }
    return false;
}

/* int8 that an operand is computed of, all of a pack as floats. */
static void append_floats(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, enum kiln_place place,
                          bool *are_floats, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    if (emission->target->kind != KILN_TARGET_AMDGPU)
        return;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].place != place || group->accesses[i].dtype != KILN_DTYPE_I8 ||
            !varies_along_k(&emission->schedule->accesses[i]))
            continue;
        const char *element = input_element(emission, side, i);
        kiln_emit_i8_as_floats(i, loaded_elements(emission, side),
                               strcmp(element, "e") == 0 ? 1 : side->operand->run, source);
        are_floats[i] = true;
    }
}

/* The elements of a pack of one part of the tile: `out`. */
static void append_elements(const struct kiln_emission *emission,
                            const struct kiln_contraction_side *side, enum kiln_place place,
                            const char *const *elements, struct kiln_buffer *source)
{
    uint32_t operand = kiln_group_operand(emission->ir, emission->group, place);
    uint32_t copied =
        kiln_loaded_access(emission, place, operand, kiln_contraction_of(emission)->staged);
    const char *element = copied != KILN_NONE ? input_element(emission, side, copied) : "";
    if (copied != KILN_NONE && strcmp(element, "e") == 0) {
        /* As one: of 16 bytes that are taken apart LLVM 19 loads some twice. */
        kiln_buffer_printf(source, "    __builtin_memcpy(out, inputs.x%" PRIu32 ", sizeof out);\n",
                           copied);
    } else if (copied != KILN_NONE && strlen(element) > 1) {
        kiln_buffer_printf(source, "    kiln_take_row<%" PRIu32 ">(inputs.x%" PRIu32 ", r, out);\n",
                           side->operand->run, copied);
    } else if (!append_fp8_as_half(emission, side, place, operand, source)) {
        bool are_floats[KILN_GROUP_MAX_ACCESSES] = {false};
        if (copied == KILN_NONE)
            append_floats(emission, side, place, are_floats, source);
        kiln_emit_element_loop("    ", loaded_elements(emission, side), source);
        if (copied != KILN_NONE) {
            kiln_buffer_printf(source, "        out[e] = inputs.x%" PRIu32 "[%s];\n", copied,
                               element);
        } else {
            struct kiln_value_table table;
            if (!kiln_contraction_table_init(emission, place, elements, &table)) {
                source->failed = true;
                return;
            }
            table.are_floats = are_floats;
            kiln_emit_contraction_values(emission, &table, place, source);
            kiln_buffer_printf(source, "        out[e] = kiln_encode_%s(",
                               device_type(kiln_contraction_of(emission)->staged));
            kiln_emit_value(&table, operand, source);
            kiln_buffer_append_text(source, ");\n");
            kiln_value_table_fini(&table);
        }
        kiln_buffer_append_text(source, "    }\n");
    }
}

static void append_pack(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, const char *const *elements,
                        struct kiln_buffer *source)
{
    kiln_buffer_printf(
        source,
        "KILN_DEVICE kiln_pack kiln_%s_pack(const kiln_arguments &arguments, const "
        "kiln_%s_inputs &inputs, unsigned part, unsigned r, unsigned k, unsigned "
        "rest)\n{\n"
        "    (void)arguments, (void)inputs, (void)part, (void)r, (void)k, (void)rest;"
        "\n    kiln_element out[KILN_PACK_ELEMENTS]%s;\n",
        side->name, side->name, side->operand->pieces > 1 ? " = {}" : "");
    for (uint32_t part = 0; part < side->operand->part_count; part++) {
        if (side->operand->part_count > 1)
            kiln_buffer_printf(source, "    if (part == %" PRIu32 ") {\n", part);
        append_elements(emission, side, side->operand->places[part], elements, source);
        if (side->operand->part_count > 1)
            kiln_buffer_append_text(source, "    }\n");
    }
    bool is_windowed = kiln_is_side_windowed(emission, side);
    bool has_runs = kiln_contraction_of(emission)->k_run != 0;
    if (is_windowed && !has_runs && points_of_pack(emission, side) > 1)
        kiln_buffer_append_text(source, "    KILN_UNROLL\n"
                                        "    for (int e = 0; e < KILN_PACK_ELEMENTS; e++)\n"
                                        "        out[e] = (inputs.inside >> e & 1) != 0 ? out[e] : "
                                        "(kiln_element)0;\n");
    kiln_buffer_append_text(source, "    kiln_pack pack = kiln_pack_of(out);\n");
    if (has_runs)
        kiln_buffer_append_text(source, "    kiln_keep_elements(pack, inputs.inside);\n");
    else if (is_windowed && points_of_pack(emission, side) == 1)
        kiln_buffer_append_text(source, "    kiln_keep_pack(pack, inputs.inside != 0);\n");
    kiln_buffer_append_text(source, "    kiln_cut_pack(pack, k, rest);\n");
    if (!side->is_summed)
        kiln_buffer_append_text(source, "    kiln_make_fnuz(pack);\n");
    kiln_buffer_append_text(source, "    return pack;\n}\n");
}

void kiln_emit_contraction_operand(const struct kiln_emission *emission,
                                   const struct kiln_contraction_side *side,
                                   struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    kiln_buffer_printf(source, "struct kiln_%s_source {\n", side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            kiln_emit_contraction_pointer(emission, i, source);
    }
    bool is_split = false;
    for (uint32_t i = 0; i < group->load_count; i++)
        is_split |= kiln_is_loaded_for(emission, side, i) && kiln_is_access_split(emission, i);
    is_split |= kiln_is_side_windowed(emission, side);
    if (is_split)
        kiln_buffer_append_text(source,
                                "    kiln_batch batch;\n    unsigned first_row, first_k;\n");
    kiln_buffer_append_text(source, "};\n");
    kiln_emit_contraction_operand_offsets(emission, side, source);
    kiln_buffer_printf(source, "struct kiln_%s_inputs {\n", side->name);
    bool has_runs = kiln_contraction_of(emission)->k_run != 0;
    if (kiln_is_side_windowed(emission, side) || has_runs)
        kiln_buffer_append_text(source, "    unsigned inside;\n");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!kiln_is_loaded_for(emission, side, i))
            continue;
        elements[i] = input_element(emission, side, i);
        kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[%" PRIu32 "];\n",
                           kiln_storage_suffix(&group->accesses[i]), i,
                           input_count(emission, side, i));
    }
    kiln_buffer_printf(source,
                       "};\nKILN_DEVICE void kiln_%s_start(const kiln_arguments &arguments, const "
                       "kiln_batch &batch, unsigned row, kiln_%s_source &source)\n{\n"
                       "    (void)arguments, (void)batch, (void)row, (void)source;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            kiln_emit_contraction_start(emission, i,
                                        side->repeats != NULL ? side->repeats : side->name, "row",
                                        NULL, source);
    }
    if (is_split)
        kiln_buffer_append_text(source, "    source.batch = batch;\n    source.first_row = row;\n"
                                        "    source.first_k = 0;\n");
    kiln_buffer_printf(source,
                       "}\nKILN_DEVICE void kiln_%s_advance(const kiln_arguments &arguments, "
                       "unsigned k, kiln_%s_source &source)\n{\n"
                       "    (void)arguments, (void)k, (void)source;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!kiln_is_loaded_for(emission, side, i) ||
            group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR ||
            emission->schedule->accesses[i].strides[KILN_STRIDE_COLUMN] == 0 ||
            kiln_counts_k_from_first(emission, i))
            continue;
        kiln_buffer_printf(source, "    source.p%" PRIu32 " += 0ll", i);
        kiln_emit_contraction_term(emission, "long long", i, KILN_STRIDE_COLUMN, "k", source);
        kiln_buffer_append_text(source, ";\n");
    }
    if (is_split)
        kiln_buffer_append_text(source, "    source.first_k += k;\n");
    kiln_buffer_append_text(source, "}\n");
    append_lane(emission, side, source);
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_%s_load_at(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, const kiln_%s_lane &lane, unsigned row, "
                       "unsigned k, unsigned rest, kiln_%s_inputs &inputs)\n{\n"
                       "    (void)arguments, (void)source, (void)lane, (void)row, (void)k, "
                       "(void)rest, (void)inputs;\n",
                       side->name, side->name, side->name, side->name);
    bool is_any_walked = kiln_is_side_windowed(emission, side) && kiln_walks_along_k(emission);
    for (uint32_t i = 0; i < group->load_count; i++)
        is_any_walked |= kiln_is_walked(emission, side, i);
    if (has_runs)
        kiln_buffer_printf(source,
                           "    inputs.inside = kiln_%s_run(arguments, source, row, "
                           "KILN_K_WITHIN(k, rest));\n",
                           side->name);
    else if (is_any_walked)
        kiln_emit_contraction_walk(emission, side, source);
    else if (kiln_is_side_windowed(emission, side))
        append_inside(emission, side, source);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i) && !kiln_is_walked(emission, side, i))
            append_operand_load(emission, side, i, source);
    }
    kiln_buffer_printf(source,
                       "}\nKILN_DEVICE void kiln_%s_load(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, unsigned row, unsigned k, unsigned rest, "
                       "kiln_%s_inputs &inputs)\n{\n    kiln_%s_lane lane;\n"
                       "    kiln_%s_locate(arguments, row, k, lane);\n"
                       "    kiln_%s_load_at(arguments, source, lane, row, k, rest, inputs);\n}\n",
                       side->name, side->name, side->name, side->name, side->name, side->name);
    append_pack(emission, side, elements, source);
    if (side->is_copied)
        kiln_emit_contraction_copy(emission, side, source);
}
