/*
 * Operands of which nothing is computed: packs that go from memory to LDS as they lie there.
 */
#include "compiler/emit/emit_contraction_parts.h"

#include "compiler/emit/emit_contraction.h"
#include "compiler/fuse/contraction_group.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>

uint32_t kiln_loaded_access(const struct kiln_emission *emission, enum kiln_place place,
                            uint32_t operand, enum kiln_dtype dtype)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].place == place && group->accesses[i].value == operand &&
            group->accesses[i].dtype == dtype)
            return i;
    }
    return KILN_NONE;
}

/* The access whose packs, along k or along the operand's rows, may be staged as they lie in memory.
 */
static uint32_t copied_access(const struct kiln_emission *emission,
                              const struct kiln_operand_schedule *operand, uint32_t part)
{
    enum kiln_place place = operand->places[part];
    uint32_t access = kiln_loaded_access(emission, place,
                                         kiln_group_operand(emission->ir, emission->group, place),
                                         kiln_contraction_of(emission)->staged);
    uint32_t together = operand->is_along_k ? operand->vector : operand->run;
    bool is_whole_pack = access != KILN_NONE &&
                         together == kiln_pack_elements(kiln_contraction_of(emission)) &&
                         emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    return is_whole_pack ? access : KILN_NONE;
}

bool kiln_contraction_is_copied(const struct kiln_emission *emission,
                                const struct kiln_operand_schedule *operand)
{
    enum { LINE_BYTES = 128 }; /* of LDS: neighbouring rows, where memory lies along them */
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    uint32_t rows =
        operand == &contraction->left ? contraction->tile_m : kiln_tile_columns(contraction);
    if (!operand->is_along_k &&
        rows * kiln_dtype_info(contraction->staged)->bytes % LINE_BYTES != 0)
        return false;
    for (uint32_t part = 0; part < operand->part_count; part++) {
        if (copied_access(emission, operand, part) == KILN_NONE)
            return false;
    }
    return true;
}

bool kiln_contraction_is_moved(const struct kiln_emission *emission,
                               const struct kiln_operand_schedule *operand)
{
    for (uint32_t part = 0; part < operand->part_count; part++) {
        enum kiln_place place = operand->places[part];
        uint32_t value = kiln_group_operand(emission->ir, emission->group, place);
        if (kiln_loaded_access(emission, place, value, kiln_contraction_of(emission)->staged) ==
            KILN_NONE)
            return false;
    }
    return true;
}

/* Bytes from the access's pointer to the pack of a row, and whether it is anything but zeros. A row
 * is the same in all tiles of k: the compiler keeps what is computed of it alone. */
static void append_copied_offset(const struct kiln_emission *emission,
                                 const struct kiln_contraction_side *side, uint32_t access,
                                 struct kiln_buffer *source)
{
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    bool is_split = kiln_is_access_split(emission, access);
    kiln_buffer_printf(source, "        const %s offset = (%s)sizeof(kiln_element) * (", offset,
                       offset);
    if (is_split) {
        kiln_buffer_printf(source, "kiln_%s_offset_%" PRIu32 "(arguments, source, row, at)",
                           side->name, access);
    } else {
        kiln_buffer_printf(source, "(%s)0", offset);
        kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_ROW, "row", source);
        kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_COLUMN, "at", source);
    }
    kiln_buffer_append_text(source, ");\n        const bool is_within = k < rest");
    if (kiln_is_side_windowed(emission, side))
        kiln_buffer_printf(source, " && kiln_%s_is_inside(arguments, source, row, at)", side->name);
    kiln_buffer_append_text(source, ";\n");
}

/* Of a pack that lies outside of its window nothing is read, wherever its address is. */
void kiln_emit_contraction_copy(const struct kiln_emission *emission,
                                const struct kiln_contraction_side *side,
                                struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_%s_copy(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, unsigned part, unsigned row, unsigned k, unsigned "
                       "rest, bool is_row, kiln_pack *to)\n{\n"
                       "    (void)arguments, (void)source, (void)part, (void)row, (void)k, "
                       "(void)rest, (void)is_row, (void)to;\n",
                       side->name, side->name);
    for (uint32_t part = 0; part < side->operand->part_count; part++) {
        uint32_t access = copied_access(emission, side->operand, part);
        if (access == KILN_NONE)
            continue;
        kiln_buffer_printf(source,
                           "    if (part == %" PRIu32 ") {\n"
                           "        const unsigned at = KILN_K_WITHIN(k, rest);\n",
                           part);
        append_copied_offset(emission, side, access, source);
        kiln_buffer_printf(source,
                           "        kiln_copy_pack(to, (const char *)source.p%" PRIu32
                           " + offset, is_row, is_within);\n    }\n",
                           access);
    }
    kiln_buffer_append_text(source, "}\n");
}
