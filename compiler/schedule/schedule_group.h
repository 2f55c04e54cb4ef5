/*
 * Scheduling a fusion group, and what is asked of its schedule: the same for all families of
 * kernels.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_GROUP_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_GROUP_H

#include "compiler/schedule/alternatives.h"
#include "compiler/schedule/schedule.h"

enum kiln_status kiln_schedule_group(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_lower_options *options,
                                     struct kiln_schedule *ret_schedule,
                                     struct kiln_error *error) KILN_NODISCARD;

/*
 * The next form of a group's schedule, which needs fewer registers: the same kernel, slower. Each
 * family of kernels has its own order of what to give up. The choice is a function of the group
 * and the form before. KILN_NOT_FOUND when `previous` is the last form;
 * `error` is left alone then.
 */
enum kiln_status kiln_schedule_relax(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_schedule *previous,
                                     struct kiln_schedule *ret_schedule,
                                     struct kiln_error *error) KILN_NODISCARD;

/* The time of the kernel in bytes that the target moves meanwhile: the larger of its traffic and
 * its arithmetic, as slow as the part of the target that it keeps busy, and its launch. */
double kiln_schedule_time(const struct kiln_schedule *schedule, const struct kiln_target *target);

/*
 * The schedule, which comes first, and two others at most. Where a search has chosen, these are
 * the best that it has passed over: the group is scheduled once more within the limits of
 * `schedule`. Where rules have chosen, they are the form that the family can be forced to, and the
 * next forms with fewer registers (kiln_schedule_relax). There are none for families without
 * `describe`, and for targets with unknown rates.
 */
enum kiln_status kiln_find_alternatives(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                        const struct kiln_fusion_group *group,
                                        const struct kiln_target *target,
                                        const struct kiln_schedule *schedule,
                                        struct kiln_alternatives *ret_alternatives,
                                        struct kiln_error *error) KILN_NODISCARD;

/* Appends lines with the rules that chose the schedule, and their numbers; nothing where a search
 * has chosen all. */
void kiln_schedule_explain(const struct kiln_schedule *schedule, const struct kiln_target *target,
                           struct kiln_buffer *buffer);

struct kiln_kernel_work kiln_schedule_work(const struct kiln_schedule *schedule);

/* True if a kernel's work-groups go through memory in order. They can go backwards then:
 * walk.is_backward may be set. */
bool kiln_schedule_walks_in_order(const struct kiln_schedule *schedule);

/* One line: template, axes, vector, block, grid; and one that names the form, unless it is the
 * first. */
void kiln_schedule_print(const struct kiln_schedule *schedule,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer);
/* A line per access: its memory (kiln_access_print_name), type and mode. */
void kiln_schedule_print_accesses(const struct kiln_schedule *schedule, const struct kiln_ir *ir,
                                  const struct kiln_graph *graph,
                                  const struct kiln_fusion_group *group,
                                  struct kiln_buffer *buffer);

#endif
