/*
 * Operands without computed elements: whether packs go from memory to LDS as they lie there.
 */
#include "compiler/families/contraction/emit/emit_contraction_parts.h"

#include "compiler/families/contraction/emit/emit_contraction.h"
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/schedule/vector_access.h"

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

bool kiln_varies_along_k(const struct kiln_emission *emission, uint32_t access)
{
    return emission->schedule->accesses[access].strides[KILN_STRIDE_COLUMN] != 0 ||
           kiln_counts_k_from_first(emission, access);
}

bool kiln_is_pack_unaligned(const struct kiln_emission *emission, uint32_t access)
{
    enum { PAIR = 2 }; /* the shortest vector */
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    enum kiln_dtype dtype = emission->group->accesses[access].dtype;
    return scheduled->mode == KILN_ACCESS_VECTOR && !kiln_dtype_is_packed(dtype) &&
           scheduled->alignment_bytes < kiln_vector_alignment(emission->target, dtype, PAIR);
}

/* The access whose packs, along k or along the operand's rows, may be staged as they lie in memory.
 */
static uint32_t copied_access(const struct kiln_emission *emission,
                              const struct kiln_operand_schedule *operand, uint32_t part)
{
    enum kiln_place place = operand->places[part];
    uint32_t access =
        kiln_loaded_access(emission, place, kiln_group_operand(emission->group, place),
                           kiln_contraction_of(emission)->staged);
    uint32_t together = operand->is_along_k ? operand->vector : operand->run;
    bool is_whole_pack =
        access != KILN_NONE && together == kiln_pack_elements(kiln_contraction_of(emission)) &&
        emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR &&
        !kiln_is_pack_unaligned(emission, access) && kiln_varies_along_k(emission, access);
    return is_whole_pack ? access : KILN_NONE;
}

bool kiln_contraction_is_copied(const struct kiln_emission *emission,
                                const struct kiln_operand_schedule *operand)
{
    enum { LINE_BYTES = 128 }; /* of LDS: neighbouring rows, where memory lies along them */
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    uint32_t rows =
        operand == &contraction->left ? contraction->tile.m : kiln_tile_columns(contraction);
    if (contraction->problem.k_run != 0) /* not all elements of a pack count */
        return false;
    if (!operand->is_along_k &&
        rows * kiln_dtype_info(contraction->staged)->bytes % LINE_BYTES != 0)
        return false;
    for (uint32_t part = 0; part < operand->part_count; part++) {
        if (copied_access(emission, operand, part) == KILN_NONE)
            return false;
    }
    return true;
}

static bool can_transpose(const struct kiln_emission *emission)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    switch (contraction->pipeline.kind) {
    case KILN_PIPELINE_SPECIALIZED:
        return true;
    case KILN_PIPELINE_STAGED:
    case KILN_PIPELINE_PINGPONG:
        return contraction->tile.mma != NULL && contraction->tile.mma->is_transposable &&
               !kiln_contraction_is_split(emission);
    default:
        return false;
    }
}

bool kiln_is_operand_transposed(const struct kiln_emission *emission,
                                const struct kiln_operand_schedule *operand)
{
    return !operand->is_along_k && can_transpose(emission) &&
           kiln_contraction_is_copied(emission, operand);
}

bool kiln_contraction_is_moved(const struct kiln_emission *emission,
                               const struct kiln_operand_schedule *operand)
{
    for (uint32_t part = 0; part < operand->part_count; part++) {
        enum kiln_place place = operand->places[part];
        uint32_t value = kiln_group_operand(emission->group, place);
        if (kiln_loaded_access(emission, place, value, kiln_contraction_of(emission)->staged) ==
            KILN_NONE)
            return false;
    }
    return true;
}
