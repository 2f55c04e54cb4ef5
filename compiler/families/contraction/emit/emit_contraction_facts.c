/*
 * Facts about the operands of a contraction, which kernels_templates/device/contraction/operand.h
 * turns into loads and packs: an access map per access, its accesses and the parts of its tile per
 * operand, and what is computed of an element. Windows and decomposed indices are
 * emit_contraction_axes.c's.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/families/contraction/emit/emit_contraction.h"
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_access.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_layout.h"
#include "compiler/families/contraction/schedule/contraction_modes.h"
#include "compiler/families/contraction/schedule/contraction_small.h"
#include "compiler/ir/exact_dtypes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* ---- batches ---- */

void kiln_emit_batch_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    kiln_buffer_printf(source, "#define KILN_BATCH_RANK %" PRIu32 "\n",
                       contraction->problem.batches.rank);
    if (contraction->problem.windows.phase_count != 0)
        kiln_buffer_printf(source, "#define KILN_PHASES %" PRIu32 "\n",
                           contraction->problem.windows.phase_count);
}

static void append_phase_axes(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    if (contraction->problem.windows.phase_count == 0)
        return;
    kiln_buffer_append_text(source, "KILN_FACT kiln_phase_axis kiln_phase_axes[] = {");
    for (uint32_t p = 0; p < contraction->problem.windows.phase_count; p++)
        kiln_buffer_printf(
            source,
            "%s{%" PRIu32 ", %" PRIu32 ", KILN_ARGUMENT(phase%" PRIu32
            "_offset), KILN_ARGUMENT(phase%" PRIu32 "_step), KILN_ARGUMENT(phase%" PRIu32
            "_divisor), KILN_ARGUMENT(phase%" PRIu32 "_taps), KILN_ARGUMENT(phase%" PRIu32
            "_spread), KILN_ARGUMENT(phase%" PRIu32 "_rows)}",
            p == 0 ? "" : ", ", contraction->problem.windows.phases[p].batch,
            contraction->problem.windows.phases[p].row_axis, p, p, p, p, p, p);
    kiln_buffer_append_text(source, "};\n");
}

void kiln_emit_batch_facts(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t rank = kiln_contraction_of(emission)->problem.batches.rank;
    kiln_buffer_printf(source, "typedef %s kiln_offset;\n",
                       emission->schedule->walk.index_is_64bit ? "unsigned long long" : "unsigned");
    for (uint32_t b = 0; b < rank; b++)
        kiln_buffer_printf(source, "%sKILN_ARGUMENT(batch%" PRIu32 ")%s",
                           b == 0 ? "KILN_FACT kiln_number kiln_batch_sizes[] = {" : ", ", b,
                           b + 1 == rank ? "};\n" : "");
    append_phase_axes(emission, source);
}

/* ---- maps ---- */

void kiln_emit_contraction_stride(const struct kiln_emission *emission, uint32_t access,
                                  uint32_t stride, struct kiln_buffer *source)
{
    if (kiln_is_stride_argument(emission, access, stride))
        kiln_buffer_printf(source, "KILN_ARGUMENT(s%" PRIu32 "_%" PRIu32 ")", access, stride);
    else
        kiln_buffer_printf(source, "KILN_CONSTANT(%" PRId64 ")",
                           emission->schedule->accesses[access].strides[stride]);
}

/* False if each index of a batch axis reads a row of its own, which only the text of small products
 * says: others leave it to the argument. */
static bool repeats_batch(const struct kiln_emission *emission, const char *repeat, uint32_t batch)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const int64_t *repeats = strcmp(repeat, "left") == 0
                                 ? contraction->problem.batches.left_repeats
                                 : contraction->problem.batches.right_repeats;
    return !kiln_is_contraction_small(contraction) || repeats[batch] != 1;
}

static bool has_spans(const struct kiln_emission *emission)
{
    bool has = false;
    for (uint32_t i = 0; i < emission->group->access_count; i++)
        has |= emission->schedule->accesses[i].span != 0;
    return has;
}

bool kiln_is_length_access(const struct kiln_emission *emission, uint32_t access)
{
    return emission->ir->ops[emission->group->accesses[access].value].opcode == KILN_OP_LENGTH;
}

void kiln_emit_map(const struct kiln_emission *emission, uint32_t access, const char *repeat,
                   struct kiln_buffer *source)
{
    uint32_t rank = kiln_contraction_of(emission)->problem.batches.rank;
    uint32_t phases = kiln_contraction_of(emission)->problem.windows.phase_count;
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    kiln_buffer_append_text(source, "{");
    kiln_emit_contraction_stride(emission, access, KILN_STRIDE_ROW, source);
    kiln_buffer_append_text(source, ", ");
    kiln_emit_contraction_stride(emission, access, KILN_STRIDE_COLUMN, source);
    kiln_buffer_append_text(source, scheduled->mode == KILN_ACCESS_VECTOR ? ", true" : ", false");
    for (uint32_t b = 0; b < rank; b++) {
        kiln_buffer_append_text(source, b == 0 ? ", {{" : ", {");
        kiln_emit_contraction_stride(emission, access, KILN_STRIDE_BATCH + b, source);
        if (repeat == NULL || scheduled->strides[KILN_STRIDE_BATCH + b] == 0 ||
            !repeats_batch(emission, repeat, b))
            kiln_buffer_append_text(source, ", KILN_CONSTANT(1)}");
        else
            kiln_buffer_printf(source, ", KILN_ARGUMENT(%s_repeat%" PRIu32 ")}", repeat, b);
    }
    kiln_buffer_append_text(source, rank > 0 ? "}" : "");
    if (has_spans(emission))
        kiln_buffer_printf(source, ", %" PRIu32,
                           kiln_is_length_access(emission, access) ? 0 : scheduled->span);
    for (uint32_t p = 0; p < phases; p++) {
        kiln_buffer_append_text(source, p == 0 ? ", {" : ", ");
        kiln_emit_contraction_stride(emission, access, KILN_STRIDE_PHASE + p, source);
    }
    kiln_buffer_append_text(source, phases > 0 ? "}}" : "}");
}

void kiln_emit_map_fact(const struct kiln_emission *emission, uint32_t access, const char *repeat,
                        struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "KILN_FACT kiln_map kiln_map_%" PRIu32 " = ", access);
    kiln_emit_map(emission, access, repeat, source);
    kiln_buffer_append_text(source, ";\n");
}

/* KILN_FACT kiln_number kiln_across_1[KILN_INDEX_RANK] = {KILN_CONSTANT(1)}; */
static void append_across(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, uint32_t access,
                          struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_role_axes *across = kiln_is_left_operand(contraction, side->operand)
                                              ? &contraction->problem.columns
                                              : &contraction->problem.rows;
    kiln_buffer_printf(source, "KILN_FACT kiln_number kiln_across_%" PRIu32 "[KILN_INDEX_RANK] = {",
                       access);
    for (uint32_t i = 0; i < across->count; i++) {
        kiln_buffer_append_text(source, i == 0 ? "" : ", ");
        kiln_emit_contraction_stride(emission, access, KILN_STRIDE_ACROSS + i, source);
    }
    kiln_buffer_append_text(source, "};\n");
}

/* True if all elements along k that a lane loads together share an element. Tiles of k begin at any
 * multiple of what k is a multiple of: the first one may be shorter. */
static bool shares_element(const struct kiln_emission *emission,
                           const struct kiln_contraction_side *side, uint32_t access)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    int64_t repeat = contraction->accesses[access].k_repeat;
    int64_t elements =
        (int64_t)kiln_pack_elements(contraction) * kiln_max_u32(side->operand->lane_run, 1);
    return repeat != 0 && repeat % elements == 0 && contraction->problem.k % elements == 0;
}

static void append_block_facts(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side, uint32_t access,
                               struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_contraction_access *walks = &contraction->accesses[access];
    if (!kiln_access_has_blocks(contraction, emission->group, access))
        return;
    kiln_buffer_printf(
        source,
        "enum : unsigned { kiln_block_bits_%" PRIu32 " = %u, kiln_block_rows_%" PRIu32 " = %" PRId64
        ", kiln_block_columns_%" PRIu32 " = %" PRId64 ", kiln_block_is_shared_%" PRIu32
        " = %d };\n",
        access, kiln_dtype_info(emission->group->accesses[access].dtype)->bits, access,
        walks->row_repeat != 0 ? walks->row_repeat : 1, access,
        walks->k_repeat != 0 ? walks->k_repeat : 1, access, shares_element(emission, side, access));
}

void kiln_emit_operand_maps(const struct kiln_emission *emission,
                            const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_loaded_for(emission, side, i) ||
            emission->group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR)
            continue;
        const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
        bool is_direct = kiln_pipeline_is_direct(&contraction->pipeline);
        kiln_emit_map_fact(emission, i, side->name, source);
        append_block_facts(emission, side, i, source);
        if (is_direct || kiln_is_access_split(emission, i))
            kiln_emit_split_fact(emission, side, i, source);
        if (is_direct || kiln_has_single_factors(emission))
            append_across(emission, side, i, source);
    }
}

/* ---- parts of a tile ---- */

static bool varies_along_rows(const struct kiln_emission *emission, uint32_t access)
{
    return emission->schedule->accesses[access].strides[KILN_STRIDE_ROW] != 0 ||
           kiln_contraction_of(emission)->accesses[access].splits_rows;
}

/* Rows that a work-item loads together have elements of their own. */
static bool has_rows(const struct kiln_emission *emission, const struct kiln_contraction_side *side,
                     uint32_t access)
{
    return side->operand->run > 1 && varies_along_rows(emission, access);
}

/* How the elements that an access has loaded become a pack of the staged type. */
static const char *moved_form(const struct kiln_emission *emission,
                              const struct kiln_contraction_side *side, uint32_t access)
{
    if (!kiln_varies_along_k(emission, access))
        return "REPEATED";
    return has_rows(emission, side, access) ? "TAKEN" : "COPIED";
}

/* The access of fp8 whose elements are staged as halves; KILN_NONE if there is none. Always
 * KILN_NONE on the host, where gcc 12 at -O2 miscompiles the conversion if two products share an
 * operand. Converting elements one by one is as fast there. */
static uint32_t access_of_halves(const struct kiln_emission *emission, enum kiln_place place,
                                 uint32_t operand)
{
    if (kiln_contraction_of(emission)->staged != KILN_DTYPE_F16 ||
        emission->target->kind == KILN_TARGET_HOST)
        return KILN_NONE;
    uint32_t access = kiln_loaded_access(emission, place, operand, KILN_DTYPE_F8E4M3);
    return access != KILN_NONE ? access
                               : kiln_loaded_access(emission, place, operand, KILN_DTYPE_F8E5M2);
}

/* int8 that the operand is computed of: all of a pack is converted to floats together. */
static bool are_floats(const struct kiln_emission *emission, uint32_t access)
{
    return emission->target->kind == KILN_TARGET_AMDGPU &&
           emission->group->accesses[access].dtype == KILN_DTYPE_I8 &&
           kiln_varies_along_k(emission, access);
}

/* True if packed elements stay so until they are used: kiln_stays_packed. */
static bool stays_packed(const struct kiln_emission *emission,
                         const struct kiln_contraction_side *side, uint32_t access)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_contraction_access *walks = &contraction->accesses[access];
    return side->operand->is_along_k &&
           kiln_dtype_is_packed(emission->group->accesses[access].dtype) &&
           walks->row_repeat == 0 && walks->k_repeat == 0 &&
           emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
}

static const char *input_form(const struct kiln_emission *emission,
                              const struct kiln_contraction_side *side, uint32_t access)
{
    if (stays_packed(emission, side, access))
        return "CODES";
    if (!are_floats(emission, access))
        return "ELEMENTS";
    return has_rows(emission, side, access) ? "FLOATS_OF_RUN" : "FLOATS";
}

/* ---- tables of codes ---- */

/*
 * The access of FP4 codes whose elements a lane looks up in a table (code_table.h); KILN_NONE if
 * there is none. All other loads of the operand are the same for the elements that the lane loads
 * together.
 */
static uint32_t access_of_table(const struct kiln_emission *emission,
                                const struct kiln_contraction_side *side, enum kiln_place place)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    uint32_t codes = KILN_NONE;
    if (contraction->staged != KILN_DTYPE_F16 && contraction->staged != KILN_DTYPE_BF16)
        return KILN_NONE;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!kiln_is_loaded_in(emission, i, place) ||
            group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR)
            continue;
        bool is_codes =
            stays_packed(emission, side, i) && group->accesses[i].dtype == KILN_DTYPE_F4E2M1;
        if (is_codes && codes == KILN_NONE)
            codes = i;
        else if (kiln_varies_along_k(emission, i) && !shares_element(emission, side, i))
            return KILN_NONE;
    }
    return codes != KILN_NONE && kiln_is_operand_odd(emission, place, codes) ? codes : KILN_NONE;
}

/* True if an odd function of codes keeps their signs: only E8M0, which has none, multiplies them.
 */
static bool keeps_sign(const struct kiln_emission *emission, enum kiln_place place, uint32_t codes)
{
    const struct kiln_fusion_group *group = emission->group;
    bool is_kept = true;
    for (uint32_t i = 0; i < group->load_count; i++)
        is_kept &= i == codes || !kiln_is_loaded_in(emission, i, place) ||
                   group->accesses[i].dtype == KILN_DTYPE_E8M0;
    for (uint32_t i = 0; i < group->op_count; i++) {
        enum kiln_opcode opcode = emission->ir->ops[group->ops[i]].opcode;
        is_kept &= (group->places[i] >> place & 1) == 0 ||
                   (opcode != KILN_OP_NEG && opcode != KILN_OP_CONSTANT);
    }
    return is_kept;
}

/* The function that encodes `value` as an element of an operand. Dequantised elements that bfloat16
 * holds exactly are not rounded. */
static const char *encoding(const struct kiln_emission *emission, enum kiln_place place,
                            uint32_t value, const char *staged)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const uint32_t *sets = kiln_ir_exact_dtypes(emission->ir, emission->graph);
    bool has_blocks = false;
    for (uint32_t i = 0; i < group->load_count; i++)
        has_blocks |=
            kiln_is_loaded_in(emission, i, place) && kiln_access_has_blocks(contraction, group, i);
    bool is_exact = has_blocks && sets != NULL && contraction->staged == KILN_DTYPE_BF16 &&
                    (sets[value] & KILN_DTYPE_BIT(KILN_DTYPE_BF16)) != 0;
    return is_exact ? "exact_bf16" : staged;
}

/* Emits the function `name`, which computes an element of an operand from the elements that were
 * loaded: in the staged type, "f16", or as a kiln_sum if that is NULL. */
static void append_element(const struct kiln_emission *emission, enum kiln_place place,
                           const char *name, const char *staged, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    bool is_staged = staged != NULL;
    bool have_floats[KILN_GROUP_MAX_ACCESSES] = {false};
    struct kiln_value_table table;
    kiln_buffer_printf(source, "KILN_DEVICE void %s(%s &out", name,
                       is_staged ? "kiln_element" : "kiln_sum");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!kiln_is_loaded_in(emission, i, place))
            continue;
        have_floats[i] = is_staged && are_floats(emission, i);
        kiln_buffer_printf(source, ", kiln_storage_%s x%" PRIu32,
                           kiln_storage_suffix(&group->accesses[i]), i);
        if (have_floats[i])
            kiln_buffer_printf(source, ", float floats%" PRIu32, i);
    }
    kiln_buffer_append_text(source, ")\n{\n");
    if (!kiln_contraction_table_init(emission, place, &table)) {
        source->failed = true;
        return;
    }
    table.are_floats = have_floats;
    kiln_emit_contraction_values(emission, &table, place, source);
    uint32_t value = kiln_group_operand(group, place);
    if (is_staged)
        value =
            kiln_unrounded_value(emission, &table, value, kiln_contraction_of(emission)->staged);
    kiln_buffer_append_text(source, "    out = ");
    if (is_staged)
        kiln_buffer_printf(source, "kiln_encode_%s(", encoding(emission, place, value, staged));
    kiln_emit_value(&table, value, source);
    kiln_buffer_append_text(source, is_staged ? ");\n}\n" : ";\n}\n");
    kiln_value_table_fini(&table);
}

static void append_computed_part(const struct kiln_emission *emission,
                                 const struct kiln_contraction_side *side, uint32_t part,
                                 struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    enum kiln_place place = side->operand->places[part];
    char name[48];
    kiln_buffer_printf(source, "#define KILN_%s_INPUTS_%" PRIu32 "(use)", side->define, part);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_in(emission, i, place))
            kiln_buffer_printf(source, " use(%s, %s, %" PRIu32 ", %s)", side->name, side->define, i,
                               input_form(emission, side, i));
    }
    (void)snprintf(name, sizeof name, "kiln_%s_element_%" PRIu32, side->name, part);
    kiln_buffer_append_text(source, "\n");
    append_element(emission, place, name,
                   kiln_dtype_info(kiln_contraction_of(emission)->staged)->device, source);
}

/* use(left, LEFT, 0, COPIED, 1, f16) */
static void append_part(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, uint32_t part,
                        struct kiln_buffer *source)
{
    enum kiln_place place = side->operand->places[part];
    uint32_t operand = kiln_group_operand(emission->group, place);
    uint32_t moved =
        kiln_loaded_access(emission, place, operand, kiln_contraction_of(emission)->staged);
    uint32_t halves = moved == KILN_NONE ? access_of_halves(emission, place, operand) : KILN_NONE;
    uint32_t access = moved != KILN_NONE ? moved : halves;
    kiln_buffer_printf(source, " use(%s, %s, %" PRIu32 ", ", side->name, side->define, part);
    uint32_t table = access == KILN_NONE ? access_of_table(emission, side, place) : KILN_NONE;
    if (table != KILN_NONE)
        kiln_buffer_printf(source, "TABLED, %" PRIu32 ", %s)", table,
                           keeps_sign(emission, place, table) ? "SAME" : "ANY");
    else if (access == KILN_NONE)
        kiln_buffer_append_text(source, "COMPUTED, , )");
    else
        kiln_buffer_printf(source, "%s, %" PRIu32 ", %s)",
                           moved != KILN_NONE ? moved_form(emission, side, access) : "HALVES",
                           access, kiln_storage_suffix(&emission->group->accesses[access]));
}

static bool is_part_computed(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side, uint32_t part)
{
    enum kiln_place place = side->operand->places[part];
    uint32_t operand = kiln_group_operand(emission->group, place);
    return kiln_loaded_access(emission, place, operand, kiln_contraction_of(emission)->staged) ==
               KILN_NONE &&
           access_of_halves(emission, place, operand) == KILN_NONE;
}

/* ---- operands ---- */

/* The form that device/contraction/access.h, inside_walk.h, inside_table.h and inside_runs.h have
 * for an access. */
static const char *access_form(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side, uint32_t access)
{
    bool is_direct = kiln_pipeline_is_direct(&kiln_contraction_of(emission)->pipeline);
    if (emission->group->accesses[access].kind == KILN_ARGUMENT_HOST_SCALAR)
        return "SCALAR";
    if (kiln_access_has_blocks(kiln_contraction_of(emission), emission->group, access))
        return "BLOCKS";
    if (kiln_is_length_access(emission, access))
        return "LENGTH";
    if (!side->is_single && is_direct) /* direct_operand.h splits all */
        return "PLAIN";
    if (!side->is_single && kiln_is_loaded_in_runs(emission, access))
        return "RUN";
    if (!side->is_single && kiln_is_walked(emission, side, access))
        return "WALKED";
    if (kiln_contraction_of(emission)->problem.routing == KILN_ROUTING_GATHER &&
        emission->group->accesses[access].place == KILN_PLACE_LEFT)
        return "GATHERED";
    return kiln_is_access_split(emission, access) ? "SPLIT" : "PLAIN";
}

void kiln_emit_accesses(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "#define KILN_%s_ACCESSES(use)", side->define);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i))
            kiln_buffer_printf(source, " use(%s, %" PRIu32 ", %s, %s)", side->name, i,
                               kiln_storage_suffix(&emission->group->accesses[i]),
                               access_form(emission, side, i));
    }
    kiln_buffer_append_text(source, "\n");
}

static bool is_operand_split(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side)
{
    bool is_split =
        kiln_is_side_windowed(emission, side) || kiln_contraction_of(emission)->problem.k_run != 0;
    for (uint32_t i = 0; i < emission->group->load_count; i++)
        is_split |= kiln_is_loaded_for(emission, side, i) && kiln_is_access_split(emission, i);
    return is_split;
}

static void append_walked(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    bool is_any_walked = false;
    kiln_buffer_printf(source, "#define KILN_%s_WALKED(use)", side->define);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_walked(emission, side, i))
            continue;
        is_any_walked = true;
        kiln_buffer_printf(source, " use(%s, %" PRIu32 ", %s)", side->name, i,
                           kiln_storage_suffix(&emission->group->accesses[i]));
    }
    kiln_buffer_printf(source, "\n#define KILN_%s_IS_WALKED %d\n", side->define, is_any_walked);
}

void kiln_emit_side_rows(const struct kiln_emission *emission,
                         const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    bool is_left = kiln_is_left_operand(kiln_contraction_of(emission), side->operand);
    kiln_buffer_printf(
        source, "#define kiln_%s_rows kiln_%c_axes\n#define KILN_%s_IS_WINDOWED %d\n", side->name,
        is_left ? 'm' : 'n', side->define, kiln_is_side_windowed(emission, side));
}

void kiln_emit_operand_facts(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    const struct kiln_operand_schedule *operand = side->operand;
    kiln_buffer_printf(source, "#define KILN_%s_VECTOR %" PRIu32 "\n", side->define,
                       operand->vector);
    if (kiln_contraction_is_split(emission)) {
        kiln_emit_side_rows(emission, side, source);
        kiln_buffer_printf(source, "#define KILN_%s_IS_SPLIT %d\n", side->define,
                           is_operand_split(emission, side));
    }
    if (kiln_walks_along_k(kiln_contraction_of(emission)))
        append_walked(emission, side, source);
    kiln_emit_accesses(emission, side, source);
    kiln_buffer_printf(source, "#define KILN_%s_PACKING(use)", side->define);
    for (uint32_t part = 0; part < operand->part_count; part++)
        append_part(emission, side, part, source);
    kiln_buffer_append_text(source, "\n");
    for (uint32_t part = 0; part < operand->part_count; part++) {
        if (is_part_computed(emission, side, part))
            append_computed_part(emission, side, part, source);
    }
}

void kiln_emit_element_operand_facts(const struct kiln_emission *emission,
                                     const struct kiln_contraction_side *side,
                                     struct kiln_buffer *source)
{
    char name[48];
    (void)snprintf(name, sizeof name, "kiln_%s_element", side->name);
    kiln_emit_accesses(emission, side, source);
    append_element(emission, side->operand->places[side->part], name, NULL, source);
}

void kiln_emit_direct_operand_facts(const struct kiln_emission *emission,
                                    const struct kiln_contraction_side *side,
                                    struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    uint32_t operand = kiln_group_operand(group, side->operand->places[0]);
    bool is_moved = false;
    for (uint32_t i = 0; i < group->load_count; i++)
        is_moved |= kiln_is_loaded_for(emission, side, i) && group->accesses[i].value == operand;
    kiln_buffer_printf(source, "#define KILN_%s_HAS_WINDOWS %d\n#define KILN_%s_IS_MOVED %d\n",
                       side->define, kiln_is_side_windowed(emission, side), side->define, is_moved);
    kiln_emit_element_operand_facts(emission, side, source);
}
