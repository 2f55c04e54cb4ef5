/*
 * Collapsing a group's domain: the order of its axes in memory, and neighbours walked as one.
 */
#ifndef KILN_COMPILER_SCHEDULE_COLLAPSE_H
#define KILN_COMPILER_SCHEDULE_COLLAPSE_H

#include "compiler/schedule/schedule.h"

/*
 * Fills rank, dims, domain_axis, reduced_axes, and strides and guard_axes of the accesses
 * (which must be zeroed). Merged are neighbouring axes a, b with stride[a] == stride[b] * dim[b]
 * for every access, unless an INDEX counts along one, a window of a REDUCE moves along one, or one
 * is reduced and the other is not. False when memory is out.
 */
bool kiln_collapse_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                          struct kiln_schedule *schedule);

/* Bytes that an access moves for the whole domain: distinct elements times element size. Segments
 * are no part of the domain: kiln_scheduled_access_bytes counts them. */
uint64_t kiln_access_traffic_bytes(const struct kiln_domain *domain,
                                   const struct kiln_access *access);

#endif
