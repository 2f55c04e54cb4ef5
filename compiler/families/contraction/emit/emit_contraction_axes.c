/*
 * Facts about indices that are decomposed into axes: kernels_templates/device/contraction/axes.h.
 */
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/schedule/contraction_layout.h"
#include "compiler/families/contraction/schedule/contraction_modes.h"

#include <inttypes.h>

static uint32_t index_rank(const struct kiln_contraction_schedule *contraction)
{
    uint32_t rank = contraction->problem.rows.count;
    if (rank < contraction->problem.columns.count)
        rank = contraction->problem.columns.count;
    return rank < contraction->problem.sums.count ? contraction->problem.sums.count : rank;
}

bool kiln_contraction_is_split(const struct kiln_emission *emission)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    return index_rank(contraction) > 1 || contraction->problem.windows.count != 0 ||
           kiln_pipeline_is_direct(&contraction->pipeline);
}

void kiln_emit_axis_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    if (!kiln_contraction_is_split(emission))
        return;
    kiln_buffer_printf(source,
                       "#define KILN_INDEX_RANK %" PRIu32 "\n#define KILN_WINDOWS %" PRIu32
                       "\n#define KILN_K_GRANULE ",
                       index_rank(contraction), contraction->problem.windows.count);
    if (contraction->k_granule == 1)
        kiln_buffer_append_text(source, "1\n");
    else
        kiln_buffer_append_text(source, contraction->k_granule == contraction->tile.k
                                            ? "KILN_TILE_K\n"
                                            : "KILN_PACK_ELEMENTS\n");
}

/* ---- axes ---- */

static void append_axis(const struct kiln_emission *emission, char name, uint32_t axis,
                        struct kiln_buffer *source)
{
    bool has_phases = kiln_contraction_of(emission)->problem.windows.phase_count != 0;
    uint32_t phase = name == 'k' ? kiln_phase_of_k_axis(emission, axis) : KILN_NONE;
    if (phase != KILN_NONE)
        kiln_buffer_printf(source, "{{}, {}, %" PRIu32 "}", 1 + phase);
    else if (axis == 0 && !(name == 'k' && has_phases))
        kiln_buffer_append_text(source, "{}");
    else
        kiln_buffer_printf(
            source, "{KILN_ARGUMENT(%c_size%" PRIu32 "), KILN_ARGUMENT(%c_divisor%" PRIu32 ")%s}",
            name, axis, name, axis, has_phases ? ", 0" : "");
}

static void append_axes(const struct kiln_emission *emission, char name,
                        const struct kiln_role_axes *role, struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "KILN_FACT kiln_axes kiln_%c_axes = {%" PRIu32 ", {", name,
                       role->count);
    for (uint32_t i = 0; i < role->count; i++) {
        kiln_buffer_append_text(source, i == 0 ? "" : ", ");
        append_axis(emission, name, i, source);
    }
    kiln_buffer_append_text(source, "}};\n");
}

/* ---- windows ---- */

/* ", {{}, KILN_ARGUMENT(w0_r1)}" */
static void append_steps(const int64_t *steps, uint32_t count, uint32_t window, char name,
                         struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, ", {");
    for (uint32_t i = 0; i < count; i++) {
        kiln_buffer_append_text(source, i == 0 ? "" : ", ");
        if (steps[i] == 0)
            kiln_buffer_append_text(source, "{}");
        else
            kiln_buffer_printf(source, "KILN_ARGUMENT(w%" PRIu32 "_%c%" PRIu32 ")", window, name,
                               i);
    }
    kiln_buffer_append_text(source, "}");
}

static void append_windows(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    uint32_t rank = index_rank(contraction);
    if (contraction->problem.windows.count == 0)
        return;
    kiln_buffer_append_text(source, "KILN_FACT kiln_window kiln_windows[] = {\n");
    for (uint32_t w = 0; w < contraction->problem.windows.count; w++) {
        const struct kiln_window_schedule *window = &contraction->problem.windows.windows[w];
        kiln_buffer_printf(
            source, "    {KILN_ARGUMENT(w%" PRIu32 "_size), KILN_ARGUMENT(w%" PRIu32 "_offset)", w,
            w);
        append_steps(window->row_steps, rank, w, 'r', source);
        append_steps(window->k_steps, rank, w, 'k', source);
        if (contraction->problem.batches.rank > 0)
            append_steps(window->batch_steps, contraction->problem.batches.rank, w, 'b', source);
        if (window->phase != KILN_NONE)
            kiln_buffer_printf(source, ", %" PRIu32, 1 + window->phase);
        kiln_buffer_append_text(source, "},\n");
    }
    kiln_buffer_append_text(source, "};\n");
}

void kiln_emit_axis_facts(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    append_axes(emission, 'm', &contraction->problem.rows, source);
    append_axes(emission, 'n', &contraction->problem.columns, source);
    append_axes(emission, 'k', &contraction->problem.sums, source);
    append_windows(emission, source);
}

/* ---- accesses ---- */

/* ", {KILN_ARGUMENT(s1_8), KILN_ARGUMENT(s1_0)}": along all axes that an index of `role` has. */
static void append_strides(const struct kiln_emission *emission, uint32_t access,
                           const struct kiln_role_axes *role, uint32_t inner, uint32_t outer,
                           struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, ", {");
    for (uint32_t i = 0; i < role->count; i++) {
        kiln_buffer_append_text(source, i == 0 ? "" : ", ");
        kiln_emit_contraction_stride(emission, access, i + 1 == role->count ? inner : outer + i,
                                     source);
    }
    kiln_buffer_append_text(source, "}");
}

static uint32_t window_batches(const struct kiln_emission *emission, uint32_t access)
{
    uint32_t batches = 0;
    for (uint32_t b = 0; b < kiln_contraction_of(emission)->problem.batches.rank; b++)
        batches |= (uint32_t)kiln_counts_batch_from_first(emission, access, b) << b;
    return batches;
}

void kiln_emit_split_fact(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, uint32_t access,
                          struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_contraction_access *walks = &contraction->accesses[access];
    const struct kiln_role_axes *rows = kiln_is_left_operand(contraction, side->operand)
                                            ? &contraction->problem.rows
                                            : &contraction->problem.columns;
    kiln_buffer_printf(
        source, "KILN_FACT kiln_split kiln_split_%" PRIu32 " = {%s, %s, %s, %" PRIu32 "u", access,
        walks->splits_rows ? "true" : "false", walks->splits_columns ? "true" : "false",
        walks->is_windowed ? "true" : "false", window_batches(emission, access));
    if (walks->splits_rows)
        append_strides(emission, access, rows, KILN_STRIDE_ROW, KILN_STRIDE_OUTER_ROW, source);
    else
        kiln_buffer_append_text(source, ", {}");
    if (walks->splits_columns)
        append_strides(emission, access, &contraction->problem.sums, KILN_STRIDE_COLUMN,
                       KILN_STRIDE_OUTER_COLUMN, source);
    else
        kiln_buffer_append_text(source, ", {}");
    kiln_buffer_append_text(source, ", ");
    if (walks->is_windowed)
        kiln_emit_contraction_stride(emission, access, KILN_STRIDE_ORIGIN, source);
    else
        kiln_buffer_append_text(source, "{}");
    if (kiln_is_loaded_in_runs(emission, access))
        kiln_buffer_printf(source, ", KILN_ARGUMENT(last_pack%" PRIu32 ")", access);
    kiln_buffer_append_text(source, "};\n");
}

bool kiln_is_walked(const struct kiln_emission *emission, const struct kiln_contraction_side *side,
                    uint32_t access)
{
    return kiln_is_loaded_for(emission, side, access) &&
           kiln_is_access_walked(kiln_contraction_of(emission), side->operand, emission->schedule,
                                 emission->group, access);
}

bool kiln_is_loaded_in_runs(const struct kiln_emission *emission, uint32_t access)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    return kiln_contraction_of(emission)->problem.k_run != 0 && !memory->is_store &&
           memory->kind != KILN_ARGUMENT_HOST_SCALAR &&
           (memory->place == KILN_PLACE_LEFT || memory->place == KILN_PLACE_RIGHT) &&
           emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
}
