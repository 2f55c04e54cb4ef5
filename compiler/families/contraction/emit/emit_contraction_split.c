/*
 * Accesses and operands with decomposed indices: which these are, and coordinates of the result by
 * the functions of device/contraction/index.h.
 */
#include "compiler/families/contraction/emit/emit_contraction_parts.h"

#include "compiler/families/contraction/schedule/contraction_access.h"
#include "compiler/families/contraction/schedule/contraction_layout.h"

#include <inttypes.h>
#include <stdio.h>

uint32_t kiln_strip_window(const struct kiln_contraction_schedule *contraction)
{
    for (uint32_t w = 0; w < contraction->problem.windows.count; w++) {
        if (contraction->problem.windows.windows[w].k_steps[contraction->problem.sums.count - 1] !=
            0)
            return w;
    }
    return KILN_NONE;
}

uint32_t kiln_phase_of_k_axis(const struct kiln_emission *emission, uint32_t axis)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    for (uint32_t p = 0; p < contraction->problem.windows.phase_count; p++) {
        if (contraction->problem.windows.phases[p].k_axis == axis)
            return p;
    }
    return KILN_NONE;
}

bool kiln_is_access_windowed(const struct kiln_emission *emission, uint32_t access)
{
    return kiln_contraction_of(emission)->accesses[access].is_windowed;
}

bool kiln_is_side_windowed(const struct kiln_emission *emission,
                           const struct kiln_contraction_side *side)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    return contraction->problem.windows.count != 0 &&
           contraction->problem.windows.is_right ==
               kiln_is_right_operand(contraction, side->operand);
}

bool kiln_counts_rows_from_first(const struct kiln_emission *emission, uint32_t access)
{
    return kiln_contraction_of(emission)->accesses[access].splits_rows ||
           kiln_is_access_windowed(emission, access);
}

bool kiln_counts_k_from_first(const struct kiln_emission *emission, uint32_t access)
{
    return kiln_contraction_of(emission)->accesses[access].splits_columns ||
           kiln_is_access_windowed(emission, access);
}

bool kiln_is_access_split(const struct kiln_emission *emission, uint32_t access)
{
    return kiln_counts_rows_from_first(emission, access) ||
           kiln_counts_k_from_first(emission, access);
}

bool kiln_counts_batch_from_first(const struct kiln_emission *emission, uint32_t access,
                                  uint32_t batch)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    for (uint32_t w = 0; w < contraction->problem.windows.count; w++) {
        if (contraction->problem.windows.windows[w].batch_steps[batch] != 0)
            return kiln_is_access_windowed(emission, access);
    }
    return false;
}

/* ---- coordinates ---- */

/* " + kiln_split_m(arguments, batch, m).c[1] * 3u": the part of a coordinate that rows or columns
 * count. `name` is 'm' or 'n'. */
static void append_coordinate(const struct kiln_role_axes *axes, char name, uint8_t from_right,
                              struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < axes->count; i++) {
        if (axes->domain_axes[i] != from_right)
            continue;
        if (axes->count == 1)
            kiln_buffer_printf(source, " + (%c)", name);
        else
            kiln_buffer_printf(source, " + kiln_split_%c(arguments, batch, %c).c[%" PRIu32 "]",
                               name, name, i);
        if (axes->domain_steps[i] != 1)
            kiln_buffer_printf(source, " * %" PRId64 "u", axes->domain_steps[i]);
    }
}

void kiln_emit_contraction_coordinate(const struct kiln_emission *emission, uint8_t from_right,
                                      struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    kiln_buffer_append_text(source, "0u");
    append_coordinate(&contraction->problem.rows, 'm', from_right, source);
    append_coordinate(&contraction->problem.columns, 'n', from_right, source);
    for (uint32_t b = 0; b < contraction->problem.batches.rank; b++) {
        if (contraction->problem.batches.axes[b] != from_right)
            continue;
        kiln_buffer_printf(source, " + batch.c[%" PRIu32 "]", b);
        if (contraction->problem.batches.domain_steps[b] != 1)
            kiln_buffer_printf(source, " * %" PRId64 "u",
                               contraction->problem.batches.domain_steps[b]);
    }
}
