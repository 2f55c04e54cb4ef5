/*
 * Where groups of rows, or of k, begin. Their offsets are data: one that is below those before it, negative or beyond the end is moved
 * to the nearest place that makes the groups follow each other. (graph.h, struct kiln_grouped_matmul)
 *
 * From the prelude: kiln_group_offset(arguments, group) and arguments.groups.
 */
#ifndef KILN_DEVICE_CONTRACTION_GROUP_STARTS_H
#define KILN_DEVICE_CONTRACTION_GROUP_STARTS_H

/* The start of a group that has this offset, where the group before it starts at `before`. */
KILN_DEVICE unsigned kiln_next_start(int offset, unsigned before, unsigned size)
{
    const unsigned start = offset < 0 ? 0 : (unsigned)offset;
    const unsigned least = start > before ? start : before;
    return least < size ? least : size;
}

#endif
