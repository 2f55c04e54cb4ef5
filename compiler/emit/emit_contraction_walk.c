/*
 * Loads of an operand's packs whose elements may each lie along any axis of k: one index is taken
 * apart, the next ones follow by carries.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool kiln_walks_along_k(const struct kiln_emission *emission)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    /* Streamed, what is known of all the steps on their way takes more registers than there are. */
    return contraction->sums.count > 1 && contraction->k_granule == 1 &&
           !contraction->is_streamed && !contraction->is_direct;
}

/* The next index of k, by carries, and which axes of it began anew. */
void kiln_emit_contraction_next_k(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t count = kiln_contraction_of(emission)->sums.count;
    char size[48];
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_next_k(const kiln_arguments &arguments, const "
                       "kiln_batch &batch, kiln_k_index &at, bool (&begins)[%" PRIu32 "])\n{\n"
                       "    (void)arguments, (void)batch;\n",
                       count);
    for (uint32_t i = count; i-- > 1;) {
        kiln_print_k_size(emission, i, "batch", size, sizeof size);
        kiln_buffer_printf(source, "    at.c%" PRIu32 " += ", i);
        if (i + 1 == count)
            kiln_buffer_append_text(source, "1");
        else
            kiln_buffer_printf(source, "begins[%" PRIu32 "] ? 1 : 0", i + 1);
        kiln_buffer_printf(source,
                           ";\n    begins[%" PRIu32 "] = at.c%" PRIu32 " == %s;\n"
                           "    at.c%" PRIu32 " = begins[%" PRIu32 "] ? 0 : at.c%" PRIu32 ";\n",
                           i, i, size, i, i, i);
    }
    kiln_buffer_append_text(source, "    at.c0 += begins[1] ? 1 : 0;\n}\n");
}

/* What a sum of multiples of k's coordinates changes by from one k to the next: so much along the
 * last axis, and where an axis begins anew, to the start of the one before it. */
static void append_change(const struct kiln_emission *emission, const char *type,
                          char (*factors)[48], struct kiln_buffer *source)
{
    uint32_t count = kiln_contraction_of(emission)->sums.count;
    char size[48];
    kiln_buffer_printf(source, "%s", factors[count - 1]);
    for (uint32_t i = count; i-- > 1;) {
        kiln_print_k_size(emission, i, "source.batch", size, sizeof size);
        if (strcmp(factors[i], "0") != 0 || strcmp(factors[i - 1], "0") != 0)
            kiln_buffer_printf(source,
                               " + (begins[%" PRIu32 "] ? (%s)%s - (%s)(%s) * (%s)%s : (%s)0)", i,
                               type, factors[i - 1], type, size, type, factors[i], type);
    }
}

static void append_next_offset(const struct kiln_emission *emission, uint32_t access,
                               struct kiln_buffer *source)
{
    char factors[KILN_MAX_ROLE_AXES][48];
    uint32_t count = kiln_contraction_of(emission)->sums.count;
    const char *type = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stride =
            i + 1 == count ? (uint32_t)KILN_STRIDE_COLUMN : (uint32_t)KILN_STRIDE_OUTER_COLUMN + i;
        if (kiln_is_stride_argument(emission, access, stride))
            (void)snprintf(factors[i], sizeof *factors, "(%s)arguments.s%" PRIu32 "_%" PRIu32, type,
                           access, stride);
        else
            (void)snprintf(factors[i], sizeof *factors, "%d",
                           emission->schedule->accesses[access].strides[stride] != 0);
    }
    append_change(emission, type, factors, source);
}

/* Unsigned: a step beyond the last tap may be more than an int has. */
static void append_next_coordinate(const struct kiln_emission *emission, uint32_t window,
                                   struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    char factors[KILN_MAX_ROLE_AXES][48];
    for (uint32_t i = 0; i < contraction->sums.count; i++)
        (void)snprintf(factors[i], sizeof *factors,
                       contraction->windows[window].k_steps[i] != 0
                           ? "(unsigned)arguments.w%" PRIu32 "_k%" PRIu32
                           : "0",
                       window, i);
    append_change(emission, "unsigned", factors, source);
}

/* How many loads an access needs for a run of rows. */
static uint32_t loads_of_run(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side, uint32_t access)
{
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    return kiln_varies_along_rows(scheduled) && scheduled->mode != KILN_ACCESS_VECTOR
               ? side->operand->run
               : 1;
}

static void append_walked_load(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side, uint32_t access,
                               struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const char *storage = kiln_storage_suffix(memory);
    uint32_t loads = loads_of_run(emission, side, access);
    uint32_t run =
        kiln_varies_along_rows(&emission->schedule->accesses[access]) ? side->operand->run : 1;
    kiln_buffer_printf(source,
                       "        KILN_UNROLL\n        for (unsigned r = 0; r < %" PRIu32 "; r++) {\n"
                       "            const kiln_storage_%s *p = (const kiln_storage_%s *)((const "
                       "char *)source.p%" PRIu32 " + (%s)sizeof(kiln_storage_%s) * ",
                       loads, storage, storage, access,
                       emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned",
                       storage);
    kiln_buffer_printf(source,
                       kiln_is_access_windowed(emission, access) ? "(is_inside ? o%" PRIu32
                                                                   "[r] : 0u));\n"
                                                                 : "o%" PRIu32 "[r]);\n",
                       access);
    if (run > loads)
        kiln_buffer_printf(source,
                           "            KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32
                           " + j * %" PRIu32 ", p)\n",
                           kiln_vector_bytes(memory, run), access, run);
    else
        kiln_buffer_printf(source, "            inputs.x%" PRIu32 "[j * %" PRIu32 " + r] = *p;\n",
                           access, run);
    kiln_buffer_append_text(source, "        }\n");
}

bool kiln_is_walked(const struct kiln_emission *emission, const struct kiln_contraction_side *side,
                    uint32_t access)
{
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    bool is_vector = side->operand->is_along_k && scheduled->mode == KILN_ACCESS_VECTOR;
    return kiln_is_loaded_for(emission, side, access) && kiln_walks_along_k(emission) &&
           emission->group->accesses[access].kind != KILN_ARGUMENT_HOST_SCALAR &&
           scheduled->splits_columns && !is_vector;
}

/* Loads of a pack whose elements may each lie along any axis of k: from one to the next by carries,
 * no further than the end of k. */
void kiln_emit_contraction_walk(const struct kiln_emission *emission,
                                const struct kiln_contraction_side *side,
                                struct kiln_buffer *source)
{
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    bool is_windowed = kiln_is_side_windowed(emission, side);
    uint32_t windows = is_windowed ? kiln_contraction_of(emission)->window_count : 0;
    kiln_buffer_printf(source,
                       "    const unsigned first = KILN_K_WITHIN(k, rest);\n"
                       "    kiln_k_index taps = kiln_split_k(arguments, source.batch, "
                       "source.first_k + first);\n    bool begins[%" PRIu32 "];\n",
                       kiln_contraction_of(emission)->sums.count);
    for (uint32_t w = 0; w < windows; w++)
        kiln_buffer_printf(source,
                           "    int x%" PRIu32 " = kiln_%s_coordinate_%" PRIu32
                           "(arguments, source, row, first);\n",
                           w, side->name, w);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_walked(emission, side, i))
            kiln_buffer_printf(source,
                               "    %s o%" PRIu32 "[%" PRIu32 "];\n    KILN_UNROLL\n"
                               "    for (unsigned r = 0; r < %" PRIu32 "; r++)\n"
                               "        o%" PRIu32 "[r] = kiln_%s_offset_%" PRIu32
                               "(arguments, source, row + r, first);\n",
                               offset, i, loads_of_run(emission, side, i),
                               loads_of_run(emission, side, i), i, side->name, i);
    }
    if (is_windowed)
        kiln_buffer_append_text(source, "    inputs.inside = 0;\n");
    kiln_buffer_append_text(source,
                            "    KILN_UNROLL\n"
                            "    for (unsigned j = 0; j < KILN_PACK_ELEMENTS; j++) {\n"
                            "        if (j > 0 && (rest == KILN_WHOLE_K || k + j < rest)) {\n"
                            "            kiln_next_k(arguments, source.batch, taps, begins);\n");
    for (uint32_t w = 0; w < windows; w++) {
        kiln_buffer_printf(source, "            x%" PRIu32 " = (int)((unsigned)x%" PRIu32 " + ", w,
                           w);
        append_next_coordinate(emission, w, source);
        kiln_buffer_append_text(source, ");\n");
    }
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_walked(emission, side, i))
            continue;
        kiln_buffer_printf(source, "            const %s d%" PRIu32 " = ", offset, i);
        append_next_offset(emission, i, source);
        kiln_buffer_printf(source,
                           ";\n            KILN_UNROLL\n"
                           "            for (unsigned r = 0; r < %" PRIu32 "; r++)\n"
                           "                o%" PRIu32 "[r] += d%" PRIu32 ";\n",
                           loads_of_run(emission, side, i), i, i);
    }
    kiln_buffer_append_text(source, "        }\n        const bool is_inside = true");
    for (uint32_t w = 0; w < windows; w++)
        kiln_buffer_printf(
            source, " & ((unsigned)x%" PRIu32 " < (unsigned)arguments.w%" PRIu32 "_size)", w, w);
    kiln_buffer_append_text(source, ";\n        (void)is_inside;\n");
    if (is_windowed)
        kiln_buffer_append_text(source, "        inputs.inside |= (unsigned)is_inside << j;\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_walked(emission, side, i))
            append_walked_load(emission, side, i, source);
    }
    kiln_buffer_append_text(source, "    }\n");
}
