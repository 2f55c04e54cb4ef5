/*
 * What the passes of a reduction group cost: how often each access is done, how much is computed.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_PASS_WORK_H
#define KILN_COMPILER_FAMILIES_REDUCTION_PASS_WORK_H

#include "compiler/families/reduction/fuse/reduction_passes.h"

struct kiln_pass_work {
    /* Per access the number of passes in which it is done for every element; 1 for what is done
     * once per row. */
    uint32_t *reads;
    uint32_t *first_pass; /* the first of these passes, per access */
    /* Arithmetic of one element in all passes together, in simple operations. */
    uint32_t cost;
    /* A value that is costly to compute is computed in several passes. */
    bool has_costly_shared_values;
};

/* Memory belongs to the arena of `ir`. False when memory is out. */
bool kiln_measure_passes(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                         const struct kiln_reduction_passes *passes,
                         struct kiln_pass_work *ret_work);

#endif
