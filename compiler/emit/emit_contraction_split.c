/*
 * Indices of rows, columns and k that are taken apart into the axes they count over, and what
 * follows from them: offsets, whether an element is in its window, coordinates of the result.
 *
 * Names in the generated text: kiln_split_m, _n and _k make a kiln_m_index of c0, c1, ...; an
 * access's offset is kiln_<side>_offset_<access>, that of a row of the result
 * kiln_row_offset_<access>.
 */
#include "compiler/emit/emit_contraction_parts.h"

#include "compiler/schedule/contraction_access.h"
#include "compiler/schedule/contraction_layout.h"

#include <inttypes.h>
#include <stdio.h>

uint32_t kiln_strip_window(const struct kiln_contraction_schedule *contraction)
{
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        if (contraction->windows[w].k_steps[contraction->sums.count - 1] != 0)
            return w;
    }
    return KILN_NONE;
}

void kiln_print_strip_step(const struct kiln_contraction_schedule *contraction, char *text,
                           size_t size)
{
    (void)snprintf(text, size, "(int)arguments.w%" PRIu32 "_k%" PRIu32,
                   kiln_strip_window(contraction), contraction->sums.count - 1);
}

struct role {
    const struct kiln_role_axes *axes;
    char name;
};

static void find_roles(const struct kiln_contraction_schedule *contraction, struct role roles[3])
{
    roles[0] = (struct role){&contraction->rows, 'm'};
    roles[1] = (struct role){&contraction->columns, 'n'};
    roles[2] = (struct role){&contraction->sums, 'k'};
}

uint32_t kiln_phase_of_k_axis(const struct kiln_emission *emission, uint32_t axis)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    for (uint32_t p = 0; p < contraction->phase_count; p++) {
        if (contraction->phases[p].k_axis == axis)
            return p;
    }
    return KILN_NONE;
}

bool kiln_is_access_windowed(const struct kiln_emission *emission, uint32_t access)
{
    return emission->schedule->accesses[access].is_windowed;
}

bool kiln_is_side_windowed(const struct kiln_emission *emission,
                           const struct kiln_contraction_side *side)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    return contraction->window_count != 0 &&
           contraction->is_right_windowed == kiln_is_right_operand(contraction, side->operand);
}

bool kiln_counts_rows_from_first(const struct kiln_emission *emission, uint32_t access)
{
    return emission->schedule->accesses[access].splits_rows ||
           kiln_is_access_windowed(emission, access);
}

bool kiln_counts_k_from_first(const struct kiln_emission *emission, uint32_t access)
{
    return emission->schedule->accesses[access].splits_columns ||
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
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        if (contraction->windows[w].batch_steps[batch] != 0)
            return kiln_is_access_windowed(emission, access);
    }
    return false;
}

static const char *offset_type(const struct kiln_emission *emission)
{
    return emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
}

/* ---- indices ---- */

/* How long an axis of k is: an argument, or what a phase has of it. */
void kiln_print_k_size(const struct kiln_emission *emission, uint32_t axis, const char *batch,
                       char *text, size_t size)
{
    uint32_t phase = kiln_phase_of_k_axis(emission, axis);
    if (phase != KILN_NONE)
        (void)snprintf(text, size, "%s.phase%" PRIu32 ".count", batch, phase);
    else
        (void)snprintf(text, size, "(unsigned)arguments.k_size%" PRIu32, axis);
}

static void append_split(const struct kiln_emission *emission, const struct role *role,
                         struct kiln_buffer *source)
{
    char name = role->name;
    uint32_t count = role->axes->count;
    kiln_buffer_printf(source, "struct kiln_%c_index {\n    unsigned c0", name);
    for (uint32_t i = 1; i < count; i++)
        kiln_buffer_printf(source, ", c%" PRIu32, i);
    kiln_buffer_printf(source,
                       ";\n};\nKILN_DEVICE kiln_%c_index kiln_split_%c(const kiln_arguments "
                       "&arguments, const kiln_batch &batch, unsigned index)\n{\n"
                       "    (void)arguments, (void)batch;\n    kiln_%c_index at;\n"
                       "    unsigned rest = index;\n",
                       name, name, name);
    for (uint32_t i = count; i-- > 1;) {
        uint32_t phase = name == 'k' ? kiln_phase_of_k_axis(emission, i) : KILN_NONE;
        char divisor[48];
        char size[48];
        if (phase != KILN_NONE) {
            (void)snprintf(divisor, sizeof divisor, "batch.tap_divisor%" PRIu32, phase);
            kiln_print_k_size(emission, i, "batch", size, sizeof size);
        } else {
            (void)snprintf(divisor, sizeof divisor, "arguments.%c_divisor%" PRIu32, name, i);
            (void)snprintf(size, sizeof size, "(unsigned)arguments.%c_size%" PRIu32, name, i);
        }
        kiln_buffer_printf(source,
                           "    const unsigned over%" PRIu32 " = kiln_divide(rest, %s);\n"
                           "    at.c%" PRIu32 " = rest - over%" PRIu32 " * %s;\n"
                           "    rest = over%" PRIu32 ";\n",
                           i, divisor, i, i, size, i);
    }
    kiln_buffer_append_text(source, "    at.c0 = rest;\n    return at;\n}\n");
}

bool kiln_contraction_is_split(const struct kiln_emission *emission)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    return contraction->rows.count > 1 || contraction->columns.count > 1 ||
           contraction->sums.count > 1 || contraction->window_count != 0;
}

void kiln_emit_contraction_splits(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    struct role roles[3];
    find_roles(kiln_contraction_of(emission), roles);
    for (uint32_t i = 0; i < 3 && kiln_contraction_is_split(emission); i++)
        append_split(emission, &roles[i], source);
    if (kiln_walks_along_k(emission))
        kiln_emit_contraction_next_k(emission, source);
}

/* ---- phases ---- */

void kiln_emit_contraction_phase_members(const struct kiln_emission *emission,
                                         struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    for (uint32_t p = 0; p < contraction->phase_count; p++)
        kiln_buffer_printf(
            source, "    kiln_phase phase%" PRIu32 ";\n    long long tap_divisor%" PRIu32 ";\n", p,
            p);
}

void kiln_emit_contraction_phases(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    for (uint32_t p = 0; p < contraction->phase_count; p++)
        kiln_buffer_printf(
            source,
            "    batch.phase%" PRIu32 " = kiln_find_phase((int)arguments.phase%" PRIu32
            "_offset + (int)batch.c%" PRIu32 ", (int)arguments.phase%" PRIu32
            "_step, (int)arguments.phase%" PRIu32 "_divisor, (unsigned)arguments.phase%" PRIu32
            "_taps, (unsigned)arguments.phase%" PRIu32 "_spread);\n"
            "    batch.tap_divisor%" PRIu32 " = kiln_make_divisor(batch.phase%" PRIu32 ".count);\n",
            p, p, contraction->phases[p].batch, p, p, p, p, p, p);
}

/* How much of k a phase has, and which rows of its tiles the result has not. */
void kiln_emit_contraction_phase_sizes(const struct kiln_emission *emission,
                                       struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    if (contraction->phase_count == 0)
        return;
    kiln_buffer_append_text(source,
                            "KILN_DEVICE unsigned kiln_phase_k(const kiln_arguments &arguments, "
                            "const kiln_batch &batch)\n{\n    (void)arguments;\n"
                            "    return 1u");
    for (uint32_t i = 0; i < contraction->sums.count; i++) {
        uint32_t phase = kiln_phase_of_k_axis(emission, i);
        if (phase != KILN_NONE)
            kiln_buffer_printf(source, " * batch.phase%" PRIu32 ".count", phase);
        else
            kiln_buffer_printf(source, " * (unsigned)arguments.k_size%" PRIu32, i);
    }
    kiln_buffer_append_text(source, ";\n}\nKILN_DEVICE bool kiln_phase_is_empty(const kiln_batch "
                                    "&batch)\n{\n    return false");
    for (uint32_t p = 0; p < contraction->phase_count; p++)
        kiln_buffer_printf(source, " || batch.phase%" PRIu32 ".is_empty", p);
    kiln_buffer_append_text(source,
                            ";\n}\nKILN_DEVICE bool kiln_phase_has_row(const kiln_arguments "
                            "&arguments, const kiln_batch &batch, unsigned row)\n{\n"
                            "    const kiln_m_index m = kiln_split_m(arguments, batch, row);\n"
                            "    return true");
    for (uint32_t p = 0; p < contraction->phase_count; p++)
        kiln_buffer_printf(source,
                           " && m.c%" PRIu32 " * (unsigned)arguments.phase%" PRIu32
                           "_divisor + batch.c%" PRIu32 " < (unsigned)arguments.phase%" PRIu32
                           "_rows",
                           contraction->phases[p].row_axis, p, contraction->phases[p].batch, p);
    kiln_buffer_append_text(source, ";\n}\n");
}

/* ---- offsets ---- */

/* " + (unsigned)m.c1 * ...": along all axes of a role that an access has taken apart. */
static void append_split_terms(const struct kiln_emission *emission, uint32_t access,
                               const struct role *role, enum kiln_contraction_stride inner,
                               enum kiln_contraction_stride outer, struct kiln_buffer *source)
{
    const char *type = offset_type(emission);
    for (uint32_t i = 0; i < role->axes->count; i++) {
        char coordinate[16];
        (void)snprintf(coordinate, sizeof coordinate, "%c.c%" PRIu32, role->name, i);
        kiln_emit_contraction_term(emission, type, access,
                                   i + 1 == role->axes->count ? (uint32_t)inner : outer + i,
                                   coordinate, source);
    }
}

static void append_index(const struct role *role, const char *what, struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "    const kiln_%c_index %c = kiln_split_%c(arguments, source.batch, %s);\n",
                       role->name, role->name, role->name, what);
}

/* "    const kiln_k_index taps = ...": of the k of the tile that is staged, what all of it shares
 * apart from the rest, so that it is taken apart once. */
static void append_taps(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    if (contraction->k_granule == 1) {
        kiln_buffer_append_text(source, "    const kiln_k_index taps = kiln_split_k(arguments, "
                                        "source.batch, source.first_k + k);\n");
        return;
    }
    const char *granule =
        contraction->k_granule == contraction->tile_k ? "KILN_TILE_K" : "KILN_PACK_ELEMENTS";
    kiln_buffer_printf(source,
                       "    kiln_k_index taps = kiln_split_k(arguments, source.batch, "
                       "source.first_k + k / %s * %s);\n"
                       "    taps.c%" PRIu32 " += k %% %s;\n",
                       granule, granule, contraction->sums.count - 1, granule);
}

/* Rows and k apart: what is of the row is the same in all tiles of k, and what is of k in all rows
 * that a work-item stages. */
static void append_operand_offset(const struct kiln_emission *emission,
                                  const struct kiln_contraction_side *side, uint32_t access,
                                  const struct role *rows, const struct role *sums,
                                  struct kiln_buffer *source)
{
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    const char *type = offset_type(emission);
    kiln_buffer_printf(source,
                       "KILN_DEVICE %s kiln_%s_offset_%" PRIu32
                       "(const kiln_arguments &arguments, const kiln_%s_source &source, unsigned "
                       "row, unsigned k)\n{\n    (void)arguments, (void)source, (void)row, "
                       "(void)k;\n",
                       type, side->name, access, side->name);
    if (scheduled->splits_rows)
        append_index(rows, "source.first_row + row", source);
    if (scheduled->splits_columns)
        append_taps(emission, source);
    kiln_buffer_printf(source, "    const %s along_k = kiln_as_one((%s)0", type, type);
    for (uint32_t i = 0; scheduled->splits_columns && i < sums->axes->count; i++) {
        char coordinate[24];
        (void)snprintf(coordinate, sizeof coordinate, "taps.c%" PRIu32, i);
        kiln_emit_contraction_term(emission, type, access,
                                   i + 1 == sums->axes->count ? (uint32_t)KILN_STRIDE_COLUMN
                                                              : KILN_STRIDE_OUTER_COLUMN + i,
                                   coordinate, source);
    }
    if (!scheduled->splits_columns)
        kiln_emit_contraction_term(
            emission, type, access, KILN_STRIDE_COLUMN,
            kiln_counts_k_from_first(emission, access) ? "source.first_k + k" : "k", source);
    kiln_buffer_printf(source, ");\n    return along_k + ((%s)0", type);
    if (scheduled->splits_rows)
        append_split_terms(emission, access, rows, KILN_STRIDE_ROW, KILN_STRIDE_OUTER_ROW, source);
    else
        kiln_emit_contraction_term(
            emission, type, access, KILN_STRIDE_ROW,
            kiln_counts_rows_from_first(emission, access) ? "source.first_row + row" : "row",
            source);
    if (kiln_is_access_windowed(emission, access)) {
        kiln_buffer_printf(source, " + (%s)arguments.s%" PRIu32 "_%u", type, access,
                           (unsigned)KILN_STRIDE_ORIGIN);
        for (uint32_t p = 0; p < kiln_contraction_of(emission)->phase_count; p++) {
            char at[32];
            (void)snprintf(at, sizeof at, "source.batch.phase%" PRIu32 ".at", p);
            kiln_emit_contraction_term(emission, type, access, KILN_STRIDE_PHASE + p, at, source);
        }
        for (uint32_t b = 0; b < kiln_contraction_of(emission)->batch_rank; b++) {
            char at[32];
            (void)snprintf(at, sizeof at, "source.batch.c%" PRIu32, b);
            if (kiln_counts_batch_from_first(emission, access, b))
                kiln_emit_contraction_term(emission, type, access, KILN_STRIDE_BATCH + b, at,
                                           source);
        }
    }
    kiln_buffer_append_text(source, ");\n}\n");
}

static void append_window_steps(const int64_t *steps, uint32_t count, uint32_t window, char name,
                                const char *index, struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < count; i++) {
        if (steps[i] == 0)
            continue;
        kiln_buffer_printf(source,
                           " + (int)%s.c%" PRIu32 " * (int)arguments.w%" PRIu32 "_%c%" PRIu32,
                           index, i, window, name, i);
    }
}

/* What a row is of a coordinate. */
static void append_window_row(const struct kiln_emission *emission, uint32_t w,
                              const char *row_name, struct kiln_buffer *source)
{
    const struct kiln_window_schedule *window = &kiln_contraction_of(emission)->windows[w];
    if (window->phase == KILN_NONE)
        kiln_buffer_printf(source, "(int)arguments.w%" PRIu32 "_offset", w);
    else
        kiln_buffer_printf(source, "(int)source.batch.phase%" PRIu32 ".at", window->phase);
    append_window_steps(window->batch_steps, KILN_MAX_BATCH_AXES, w, 'b', "source.batch", source);
    append_window_steps(window->row_steps, KILN_MAX_ROLE_AXES, w, 'r', row_name, source);
}

static bool has_strips(const struct kiln_contraction_schedule *contraction,
                       const struct kiln_contraction_side *side)
{
    return contraction->strip_taps != 0 && !side->is_single;
}

/* Rows and k apart, so that what is of the row is computed once. Of strips, but for their lines. */
static void append_is_inside(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side, const struct role *rows,
                             struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    kiln_buffer_printf(source,
                       "KILN_DEVICE bool kiln_%s_is_inside(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, unsigned row, unsigned k)\n{\n",
                       side->name, side->name);
    append_index(rows, "source.first_row + row", source);
    append_taps(emission, source);
    kiln_buffer_append_text(source, "    bool is_inside = true;\n");
    char row_name[] = {rows->name, '\0'};
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        const struct kiln_window_schedule *window = &contraction->windows[w];
        if (has_strips(contraction, side) && w == kiln_strip_window(contraction))
            continue;
        kiln_buffer_printf(source, "    const int row%" PRIu32 " = ", w);
        append_window_row(emission, w, row_name, source);
        kiln_buffer_printf(source, ";\n    is_inside &= (unsigned)(row%" PRIu32 " + kiln_as_one(0",
                           w);
        append_window_steps(window->k_steps, KILN_MAX_ROLE_AXES, w, 'k', "taps", source);
        kiln_buffer_printf(source, ")) < (unsigned)arguments.w%" PRIu32 "_size;\n", w);
    }
    kiln_buffer_printf(source, "    (void)%s, (void)taps;\n    return is_inside;\n}\n", row_name);
}

/* Which pixels of a strip are inside of the image along its lines. */
static void append_strip_inside(const struct kiln_emission *emission,
                                const struct kiln_contraction_side *side, const struct role *rows,
                                struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    uint32_t w = kiln_strip_window(contraction);
    char row_name[] = {rows->name, '\0'};
    char step[32];
    kiln_print_strip_step(contraction, step, sizeof step);
    kiln_buffer_printf(source,
                       "KILN_DEVICE unsigned kiln_first_tap(const kiln_arguments &arguments)\n{\n"
                       "    return %s < 0 ? KILN_STRIP_TAPS - 1 : 0;\n}\n"
                       "KILN_DEVICE unsigned kiln_%s_strip_inside(const kiln_arguments &arguments, "
                       "const kiln_%s_source &source, unsigned row)\n{\n",
                       step, side->name, side->name);
    append_index(rows, "source.first_row + row", source);
    kiln_buffer_append_text(source, "    const int at = ");
    append_window_row(emission, w, row_name, source);
    kiln_buffer_printf(source,
                       " + %s * (int)kiln_first_tap(arguments);\n"
                       "    unsigned inside = 0;\n    KILN_UNROLL\n"
                       "    for (unsigned p = 0; p < KILN_STRIP_PIXELS; p++)\n"
                       "        inside |= (unsigned)((unsigned)at + p < "
                       "(unsigned)arguments.w%" PRIu32 "_size) << p;\n    return inside;\n}\n",
                       step, w);
}

/* Coordinates in the image: kiln_<side>_coordinate_<window>. */
static void append_coordinates(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side, const struct role *rows,
                               struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    char row_name[] = {rows->name, '\0'};
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        kiln_buffer_printf(source,
                           "KILN_DEVICE int kiln_%s_coordinate_%" PRIu32
                           "(const kiln_arguments &arguments, const kiln_%s_source &source, "
                           "unsigned row, unsigned k)\n{\n",
                           side->name, w, side->name);
        append_index(rows, "source.first_row + row", source);
        append_taps(emission, source);
        kiln_buffer_printf(source, "    (void)%s, (void)taps;\n    return ", row_name);
        append_window_row(emission, w, row_name, source);
        append_window_steps(contraction->windows[w].k_steps, KILN_MAX_ROLE_AXES, w, 'k', "taps",
                            source);
        kiln_buffer_append_text(source, ";\n}\n");
    }
}

void kiln_emit_contraction_operand_offsets(const struct kiln_emission *emission,
                                           const struct kiln_contraction_side *side,
                                           struct kiln_buffer *source)
{
    struct role roles[3];
    find_roles(kiln_contraction_of(emission), roles);
    const struct role *rows =
        kiln_is_left_operand(kiln_contraction_of(emission), side->operand) ? &roles[0] : &roles[1];
    if (kiln_is_side_windowed(emission, side))
        append_is_inside(emission, side, rows, source);
    if (kiln_is_side_windowed(emission, side) && has_strips(kiln_contraction_of(emission), side))
        append_strip_inside(emission, side, rows, source);
    bool has_runs = kiln_contraction_of(emission)->k_run != 0;
    if (kiln_is_side_windowed(emission, side) && (kiln_walks_along_k(emission) || has_runs))
        append_coordinates(emission, side, rows, source);
    if (has_runs)
        kiln_emit_contraction_run(emission, side, source);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_for(emission, side, i) && kiln_is_access_split(emission, i))
            append_operand_offset(emission, side, i, rows, &roles[2], source);
    }
}

void kiln_emit_contraction_row_offsets(const struct kiln_emission *emission,
                                       struct kiln_buffer *source)
{
    struct role roles[3];
    find_roles(kiln_contraction_of(emission), roles);
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        const struct kiln_access *access = &emission->group->accesses[i];
        if (!kiln_is_access_of_result(access) || !emission->schedule->accesses[i].splits_rows)
            continue;
        kiln_buffer_printf(source,
                           "KILN_DEVICE %s kiln_row_offset_%" PRIu32
                           "(const kiln_arguments &arguments, const kiln_result_source &source, "
                           "unsigned at_row)\n{\n",
                           offset_type(emission), i);
        append_index(&roles[0], "source.row + at_row", source);
        kiln_buffer_printf(source, "    return (%s)0", offset_type(emission));
        append_split_terms(emission, i, &roles[0], KILN_STRIDE_ROW, KILN_STRIDE_OUTER_ROW, source);
        kiln_buffer_append_text(source, ";\n}\n");
    }
}

/* ---- coordinates ---- */

/* " + (int)m.c1 * 3": what the axes of a role are of a coordinate; their steps are in the text. */
static void append_coordinate(const struct role *role, uint8_t from_right, const char *what,
                              struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < role->axes->count; i++) {
        if (role->axes->domain_axes[i] != from_right)
            continue;
        if (role->axes->count == 1)
            kiln_buffer_printf(source, " + (%s)", what);
        else
            kiln_buffer_printf(source, " + kiln_split_%c(arguments, source.batch, %s).c%" PRIu32,
                               role->name, what, i);
        if (role->axes->domain_steps[i] != 1)
            kiln_buffer_printf(source, " * %" PRId64 "u", role->axes->domain_steps[i]);
    }
}

void kiln_emit_contraction_coordinate(const struct kiln_emission *emission, uint8_t from_right,
                                      struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    struct role roles[3];
    find_roles(contraction, roles);
    kiln_buffer_append_text(source, "0u");
    append_coordinate(&roles[0], from_right, "source.row + at_row", source);
    append_coordinate(&roles[1], from_right, "source.column + column + (unsigned)e", source);
    for (uint32_t b = 0; b < contraction->batch_rank; b++) {
        if (contraction->batch_axes[b] != from_right)
            continue;
        kiln_buffer_printf(source, " + source.batch.c%" PRIu32, b);
        if (contraction->batch_domain_steps[b] != 1)
            kiln_buffer_printf(source, " * %" PRId64 "u", contraction->batch_domain_steps[b]);
    }
}
