/* Pointwise groups: what is left when all clusters are formed (drafts.h), split where it is too
 * much for one kernel (split_group.h). */
#include "compiler/fuse/fuse_family.h"

const struct kiln_fuse_family kiln_fuse_pointwise = {
    .may_ride_along = true,
    .load_kinds = KILN_LOAD_PACKED | KILN_LOAD_REPEATED,
    .max_accesses = KILN_GROUP_MAX_ACCESSES,
};
