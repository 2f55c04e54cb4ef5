/*
 * The functions that scheduling calls in a family of kernels. Each row of
 * compiler/kernel_family.def has one struct, defined in compiler/families/<name>/schedule_<name>.c.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_FAMILY_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_FAMILY_H

#include "compiler/schedule/alternatives.h"
#include "compiler/schedule/schedule.h"

/* A group that is to be scheduled; memory comes from the arena of `ir`. */
struct kiln_schedule_task {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    const struct kiln_fusion_group *group;
    const struct kiln_target *target;
    struct kiln_alternatives *alternatives; /* NULL: not wanted */
};

struct kiln_schedule_family {
    size_t details_bytes;
    bool takes_ragged; /* its kernels read and write ragged tensors */
    /* Fills a schedule that has family, limits, options, details and accesses (both zeroed)
     * and grid_unit 1; the rest is zero. The grid follows from chunk_count. */
    enum kiln_status (*schedule)(const struct kiln_schedule_task *task,
                                 struct kiln_schedule *schedule, struct kiln_error *error);
    /* Lowers the limit in `limits` (those of `schedule`) that the family gives up next, by an
     * eighth at least, and leaves the others alone; false when there is none. A schedule may ignore
     * a limit: with kiln_lower_limit it still falls, so that the next one's turn comes. */
    bool (*relax)(const struct kiln_schedule *schedule, struct kiln_register_limits *limits);
    /* True if what the family has in a schedule is the same in both. */
    bool (*is_same)(const struct kiln_schedule *a, const struct kiln_schedule *b);
    /* kiln_schedule_walks_in_order. NULL: never. */
    bool (*walks_in_order)(const struct kiln_schedule *schedule);
    /* Sets what `work` has of products, which is 0. NULL: the family has none. */
    void (*count_products)(const struct kiln_schedule *schedule, struct kiln_kernel_work *work);
    /* The kernel's time without its launch: kiln_schedule_time. */
    double (*time)(const struct kiln_schedule *schedule, const struct kiln_target *target);
    /* Appends what tells the schedule from others of its group, as what the search notes
     * (alternatives.h). NULL: kiln explain shows no others. */
    void (*describe)(const struct kiln_schedule *schedule, struct kiln_buffer *buffer);
    /* kiln_schedule_explain. NULL: there are no rules. */
    void (*explain)(const struct kiln_schedule *schedule, const struct kiln_target *target,
                    struct kiln_buffer *buffer);
    /* Sets the options to another form of the schedule, which a rule has passed over. False if
     * there is none. NULL: never. */
    bool (*force_other)(const struct kiln_schedule *schedule, struct kiln_lower_options *options);
    /* Appends to the line of kiln_schedule_print, behind the template's name. */
    void (*print)(const struct kiln_schedule *schedule, const struct kiln_fusion_group *group,
                  struct kiln_buffer *buffer);
};

/* Divides a limit, or what the schedule has if that is less; false if the result would be less than
 * `least` or the limit is 0. */
static inline bool kiln_lower_limit(uint32_t *limit, uint32_t used, uint32_t divisor,
                                    uint32_t least)
{
    uint32_t from = used < *limit ? used : *limit;
    if (from == 0 || from / divisor < least)
        return false;
    *limit = from / divisor;
    return true;
}

static inline bool kiln_halve_limit(uint32_t *limit, uint32_t used, uint32_t least)
{
    return kiln_lower_limit(limit, used, 2, least);
}

/* The functions of a family. Static. */
const struct kiln_schedule_family *kiln_schedule_family(enum kiln_kernel_family family);

#endif
