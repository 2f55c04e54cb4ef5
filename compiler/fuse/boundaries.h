/*
 * Why each kernel of a partition is a kernel of its own: the reasons of boundary.def. Internal to
 * the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_BOUNDARIES_H
#define KILN_COMPILER_FUSE_BOUNDARIES_H

#include "compiler/fuse/drafts.h"

/* Sets the boundary of each draft. The drafts are final and sorted like the groups.
 * Counts no steps: reasons never change a partition. False when memory is out. */
bool kiln_find_boundaries(struct kiln_group_builder *builder, struct kiln_drafting *drafting);

#endif
