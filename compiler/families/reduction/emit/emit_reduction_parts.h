/*
 * The state that parts of a reduction's emission share. The parts are emit_accumulators.h,
 * emit_accumulation.h and emit_reduction_pass.h.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_EMIT_REDUCTION_PARTS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_EMIT_REDUCTION_PARTS_H

#include "compiler/emit/emit_values.h"
#include "compiler/families/reduction/emit/emit_reduction_sizes.h"

/* Everything that the parts of a reduction's emission know. */
struct kiln_reduction_emission {
    const struct kiln_emission *emission;
    const struct kiln_reduction_passes *passes;
    const struct kiln_reduction_schedule *reduction;
    struct kiln_value_table values;
    uint32_t *pass;       /* by value: the first pass where it is known */
    uint32_t *first_pass; /* by load: the first pass that needs it, or KILN_NONE */
    bool *is_needed;      /* by position in group->ops: scratch */
    bool *selected;       /* by access: scratch */
    uint32_t vector;      /* elements of a step */
    uint32_t row_lanes;   /* rows of a work-item: the vector, in the form `rows` 1 */
    uint32_t lds_entries; /* kiln_reduction_lds_entries */
    struct kiln_reduction_sizes sizes;
};

/* True if the first pass loads all that any pass needs. */
static inline bool kiln_loads_ahead(const struct kiln_reduction_emission *reduction)
{
    return reduction->reduction->form == KILN_REDUCTION_SEGMENTS &&
           kiln_reduction_is_held(reduction->reduction);
}

#endif
