/*
 * Common parts of schedules whose kernels walk over the collapsed domain. Such a kernel takes one
 * piece of work after another, and has no tiles of products.
 */
#ifndef KILN_COMPILER_SCHEDULE_WALK_H
#define KILN_COMPILER_SCHEDULE_WALK_H

#include "compiler/schedule/schedule_family.h"

/* Collapses the domain, and gives each access the alignment of an element. `ret_is_dense` is memory
 * for a flag per access. */
enum kiln_status kiln_walk_begin(const struct kiln_schedule_task *task,
                                 struct kiln_schedule *schedule, bool **ret_is_dense,
                                 struct kiln_error *error) KILN_NODISCARD;

/* Completes a schedule that has vectors, block and chunk_count: streamed operands, 64-bit indices
 * where offsets need them, traffic and arithmetic. An element takes `cost` simple operations.
 * reads and stays_on_chip: kiln_measure_traffic. */
void kiln_walk_finish(const struct kiln_schedule_task *task, const uint32_t *reads,
                      bool stays_on_chip, uint32_t cost, struct kiln_schedule *schedule);

/* Numbers of elements, vectors, rows and steps, and offsets, stay below this with 32-bit indices:
 * 2^31 with room for what lies behind the last vector. */
#define KILN_WALK_INDEX_LIMIT ((uint64_t)INT32_MAX - (1 << 20))

/* struct kiln_schedule_family's `time` of a kernel that keeps the target as busy as so many
 * work-items with one access of KILN_ACCESS_BYTES each. */
double kiln_walk_time_with(const struct kiln_schedule *schedule, const struct kiln_target *target,
                           double items);

/* kiln_walk_time_with the work-items that are launched. */
double kiln_walk_time(const struct kiln_schedule *schedule, const struct kiln_target *target);

/* ", axes 64 reduced 1024". */
void kiln_walk_print_axes(const struct kiln_schedule *schedule, struct kiln_buffer *buffer);

#endif
