/*
 * The kernels that a graph becomes for one target, before their text: IR, fusion groups, schedules.
 *
 * kiln_kernel_plan_make imports the graph, runs the passes of kiln_pass_prepare and searches for
 * the fastest plan (plan_pipeline.c, plan_search.h).
 *
 * A graph that is heavier than KILN_PART_MAX_WEIGHT is planned in parts (graph_parts.h), whose
 * kernels run one after the other. Each part has a plan of its own, and the plan of the graph is
 * the first of them. Kernels are counted over all parts.
 */
#ifndef KILN_COMPILER_PLAN_KERNEL_PLAN_H
#define KILN_COMPILER_PLAN_KERNEL_PLAN_H

#include "compiler/fuse/partition.h"
#include "compiler/lower_options.h"
#include "compiler/schedule/schedule.h"

/* A plan that the search has looked at. */
struct kiln_tried_plan {
    const char *program;   /* the name of its program; static */
    uint32_t choices;      /* set of enum kiln_choice that it was partitioned with */
    uint32_t kernel_count; /* 0 if it was refused before that */
    double time;           /* kiln_kernel_plan_time */
    const char *refusal;   /* why its kernels cannot be made; NULL: they can */
};

/* All that the search has tried for one plan, in order. */
struct kiln_search_record {
    uint32_t count;
    struct kiln_tried_plan *tried;
    uint32_t chosen; /* index of the one that became the plan */
};

/* Why part of a program that a family has kernels for has none: a sentence that names nodes. `why`
 * is NULL if there is no such part. */
struct kiln_missed_family {
    enum kiln_kernel_family family;
    const char *why;
};

/* All memory belongs to the arena that it was made with. */
struct kiln_kernel_plan {
    struct kiln_ir ir;         /* optimised */
    struct kiln_target target; /* as the options change it */
    struct kiln_partition partition;
    struct kiln_schedule *schedules;         /* one per group */
    struct kiln_partition_strategy strategy; /* that the partition was made with */
    /* The graph that the groups refer to. It has the tensors of all parts. NULL: the caller's
     * graph, which is planned as a whole. */
    const struct kiln_graph *graph;
    struct kiln_kernel_plan *next; /* of the part whose kernels come next, or NULL */
    uint64_t scratch_bytes;        /* of memory that planning the part took and gave back */
    uint64_t steps; /* that all partitions took which were tried (struct kiln_partition) */
    struct kiln_missed_family missed;
    struct kiln_search_record record;
};

enum kiln_status kiln_kernel_plan_make(const struct kiln_graph *graph,
                                       const struct kiln_target *target,
                                       const struct kiln_lower_options *options,
                                       struct kiln_arena *arena, struct kiln_kernel_plan *ret_plan,
                                       struct kiln_error *error) KILN_NODISCARD;

/* The same, and the program after each pass goes to `dump` (pass.h). */
enum kiln_status kiln_kernel_plan_make_dumped(const struct kiln_graph *graph,
                                              const struct kiln_target *target,
                                              const struct kiln_lower_options *options,
                                              struct kiln_buffer *dump, struct kiln_arena *arena,
                                              struct kiln_kernel_plan *ret_plan,
                                              struct kiln_error *error) KILN_NODISCARD;

/* Kernels of all parts. */
uint32_t kiln_kernel_plan_kernels(const struct kiln_kernel_plan *plan);

/* One kernel: the part that it is of, and its number in there. */
struct kiln_planned_kernel {
    const struct kiln_kernel_plan *part;
    uint32_t part_number;
    uint32_t index;
};

/* `kernel` must be one of the plan. */
struct kiln_planned_kernel kiln_kernel_plan_find(const struct kiln_kernel_plan *plan,
                                                 uint32_t kernel);

/* Replaces the schedule of one kernel by its next form (kiln_schedule_relax); the others stay what
 * they are. KILN_NOT_FOUND, with `error` left alone, when it has the last one. */
enum kiln_status kiln_kernel_plan_relax(struct kiln_kernel_plan *plan,
                                        const struct kiln_graph *graph, uint32_t kernel,
                                        struct kiln_error *error) KILN_NODISCARD;

/* The same until the kernel has that form, or the last one if that comes first: to look at what was
 * compiled (struct kiln_kernel.form). */
enum kiln_status kiln_kernel_plan_relax_to(struct kiln_kernel_plan *plan,
                                           const struct kiln_graph *graph, uint32_t kernel,
                                           uint32_t form, struct kiln_error *error) KILN_NODISCARD;

/* The time of all kernels by the model (kiln_schedule_time), in bytes that the target moves
 * meanwhile. */
double kiln_kernel_plan_time(const struct kiln_kernel_plan *plan);

/* Bytes that the plan's kernels move, and the fewest that the graph could: each of its inputs and
 * outputs once. */
uint64_t kiln_kernel_plan_bytes(const struct kiln_kernel_plan *plan);
uint64_t kiln_graph_fewest_bytes(const struct kiln_graph *graph);

/*
 * The arithmetic that the graph asks for, in simple operations (fuse/op_cost.h): of each operation
 * of the IR once per element, of a REDUCE per element that goes into it, however many kernels
 * compute it again. Loads, stores and conversions are none.
 */
uint64_t kiln_kernel_plan_operations(const struct kiln_kernel_plan *plan);

#endif
