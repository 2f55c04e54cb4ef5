/*
 * Loads of an operand's packs along runs of k (compiler/schedule/contraction_runs.h): which
 * elements of a pack count, and the pack at once, wherever it begins. At the very ends of the
 * operand's memory a pack may be partly beyond it: there its elements are loaded one by one.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>

bool kiln_is_loaded_in_runs(const struct kiln_emission *emission, uint32_t access)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    return kiln_contraction_of(emission)->k_run != 0 && !memory->is_store &&
           memory->kind != KILN_ARGUMENT_HOST_SCALAR &&
           (memory->place == KILN_PLACE_LEFT || memory->place == KILN_PLACE_RIGHT) &&
           emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
}

void kiln_emit_contraction_run(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    uint32_t last = contraction->sums.count - 1;
    bool is_windowed = kiln_is_side_windowed(emission, side);
    kiln_buffer_printf(source,
                       "KILN_DEVICE unsigned kiln_%s_run(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, unsigned row, unsigned k)\n{\n    (void)row;\n"
                       "    const kiln_k_index taps = kiln_split_k(arguments, source.batch, "
                       "source.first_k + k);\n"
                       "    int from = 0;\n    int to = (int)arguments.k_run - (int)taps.c%" PRIu32
                       ";\n",
                       side->name, side->name, last);
    for (uint32_t w = 0; is_windowed && w < contraction->window_count; w++) {
        kiln_buffer_printf(source,
                           "    const int x%" PRIu32 " = kiln_%s_coordinate_%" PRIu32
                           "(arguments, source, row, k);\n",
                           w, side->name, w);
        if (contraction->windows[w].k_steps[last] != 0)
            kiln_buffer_printf(source,
                               "    from = -x%" PRIu32 ";\n"
                               "    to = kiln_smaller(to, (int)arguments.w%" PRIu32
                               "_size - x%" PRIu32 ");\n",
                               w, w, w);
        else
            kiln_buffer_printf(source,
                               "    to = (unsigned)x%" PRIu32 " < (unsigned)arguments.w%" PRIu32
                               "_size ? to : 0;\n",
                               w, w);
    }
    kiln_buffer_append_text(source, "    return kiln_elements_within(from, to);\n}\n");
}

void kiln_emit_contraction_run_load(const struct kiln_emission *emission,
                                    const struct kiln_contraction_side *side, uint32_t access,
                                    struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const char *storage = kiln_storage_suffix(memory);
    bool is_long = emission->schedule->index_is_64bit;
    const char *type = is_long ? "unsigned long long" : "unsigned";
    const char *number = is_long ? "long long" : "int";
    uint32_t pack = kiln_pack_elements(kiln_contraction_of(emission));
    kiln_buffer_printf(
        source,
        "    {\n        const %s offset = inputs.inside != 0 ? kiln_%s_offset_%" PRIu32
        "(arguments, source, row, KILN_K_WITHIN(k, rest)) : 0u;\n"
        "        const kiln_storage_%s *p = (const kiln_storage_%s *)((const char "
        "*)source.p%" PRIu32 " + (%s)sizeof(kiln_storage_%s) * offset);\n"
        "        const %s first = (%s)offset",
        type, side->name, access, storage, storage, access, type, storage, number, number);
    if (!kiln_counts_rows_from_first(emission, access))
        kiln_emit_contraction_term(emission, number, access, KILN_STRIDE_ROW, "source.first_row",
                                   source);
    kiln_buffer_printf(source,
                       ";\n        if (__builtin_expect(first >= 0 && first <= (%s)"
                       "arguments.last_pack%" PRIu32 ", 1)) {\n"
                       "            KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32 ", p)\n"
                       "        } else {\n            KILN_UNROLL\n"
                       "            for (unsigned e = 0; e < %" PRIu32 "; e++)\n"
                       "                inputs.x%" PRIu32 "[e] = source.p%" PRIu32
                       "[(inputs.inside >> e & 1) != 0 ? offset + e : 0u];\n        }\n    }\n",
                       number, access, kiln_vector_bytes(memory, pack), access, pack, access,
                       access);
}
