/*
 * Partition: which operations share a kernel, and what lives in memory between kernels.
 *
 * Elementwise operations can be recomputed anywhere, so a group is described by what it stores: the
 * group evaluates, per element of its domain, everything its stores need, back to loads. A value is
 * cut (written to memory by one group, read by another) only for a stated reason, a row of
 * boundary.def. It is written in the type of the graph tensor whose content it is (ir.h), or in its
 * register type's own, so a cut never changes a result.
 *
 * A reduction belongs to exactly one cluster: reductions over the same axes of the same domain that
 * one kernel computes, with the elementwise work before, between and after them (cluster.h). What a
 * group evaluates is either an element value, over the group's domain, or a row value, which does
 * not vary along the reduced axes. What other kernels need of a cluster is cut, at row values where
 * that moves fewer bytes than element values would.
 *
 * Where a reduction has too few rows to fill the target, the reduced axes are cut into segments: a
 * PARTIAL group reduces every segment by itself and stores its accumulators in the workspace, and a
 * COMBINE group, which reads nothing else of the elements, reduces those and evaluates what follows
 * from the result in the domain of rows. Where a product has too few tiles, the same is done to its
 * k: PARTIAL is a contraction, COMBINE a reduction of its sums. Where a product's result is reduced
 * over more than a tile has, the segments are tiles: the PARTIAL contraction yields the result's
 * elements and the accumulators of each tile. Sums of a product's operand over k are done in the
 * product's kernel, and of segments where it has those.
 *
 * Requirements on whoever adds another class of operations with another domain than its operands':
 *   1. such an operation belongs to exactly one group, whose template it decides;
 *   2. its operands' producers may be pulled into the group (prologue), its users' too (epilogue),
 * as long as every value of the group can be evaluated at the template's iteration points;
 *   3. a value needed at other points is cut, with a row of its own in boundary.def.
 */
#ifndef KILN_COMPILER_FUSE_PARTITION_H
#define KILN_COMPILER_FUSE_PARTITION_H

#include "compiler/codegen/target.h"
#include "compiler/ir/ir.h"
#include "compiler/kernel_family.h"
#include "compiler/program.h"
#include "runtime/support/error.h"

enum kiln_boundary {
#define KILN_BOUNDARY(name, text) KILN_BOUNDARY_##name,
#include "compiler/fuse/boundary.def"
    KILN_BOUNDARY_COUNT
};

/* The sentence of a boundary's row. Static. */
const char *kiln_boundary_text(enum kiln_boundary boundary);

/* A group's part in work that is cut into segments. */
enum kiln_group_role {
    KILN_ROLE_WHOLE,   /* it is not cut */
    KILN_ROLE_PARTIAL, /* does each segment by itself and stores accumulators */
    KILN_ROLE_COMBINE, /* reads those and yields the result */
};

/* Where in its kernel a value is evaluated, or an access made. Each family uses some of them. */
enum kiln_place {
    KILN_PLACE_ELEMENT, /* at the points of the group's domain */
    KILN_PLACE_LEFT,    /* where the left operand of a contraction is staged */
    KILN_PLACE_RIGHT,   /* and the right one */
    KILN_PLACE_SECOND,  /* and what a second contraction has instead of one of them */
    KILN_PLACE_ROW,     /* once for all points along the reduced axes, or of a row of scores */
    KILN_PLACE_SUM,     /* once for all of k, of a row of an operand whose rows are added up */
    /* Attention: its first product's operands are LEFT and RIGHT. */
    KILN_PLACE_VALUE,  /* where the second product's other operand is staged */
    KILN_PLACE_SCORE,  /* at the elements of the first product: up to what is exponentiated */
    KILN_PLACE_WEIGHT, /* and from there on */
    /* Of the second of two first, or second, products. */
    KILN_PLACE_LEFT_1,
    KILN_PLACE_RIGHT_1,
    KILN_PLACE_VALUE_1,
    KILN_PLACE_COUNT,
};

/* One place in memory that a group reads or writes, seen from the group's domain. */
struct kiln_access {
    uint32_t value; /* the IR value that is loaded or stored */
    bool is_store;
    enum kiln_argument_kind kind;
    uint32_t tensor; /* graph tensor, also for workspace (the tensor whose content it is, or
                        KILN_NONE) */
    enum kiln_dtype dtype;
    uint64_t workspace_offset_bytes;
    uint32_t workspace_content; /* of the workspace: equal where accesses mean the same content */
    enum kiln_place place;
    /* In elements, one per axis of the place's domain (kiln_group_place_domain: mostly the
     * group's); 0 on axes that the tensor does not have. */
    int64_t strides[KILN_MAX_RANK];
    /* Stores of a smaller domain: bit i set means "only where the coordinate on axis i is 0". */
    uint32_t guard_axes;
    /*
     * Accumulators between PARTIAL and COMBINE: `value` is the reduction they belong to
     * (kiln_accumulator.results[0], or [1] where that is KILN_NONE), `component` the number of the
     * accumulator's component, `segment_stride` the elements from one segment's to the next one's.
     * One access per component. Others: is_accumulator is false.
     */
    bool is_accumulator;
    uint32_t component;
    int64_t segment_stride;
};

enum {
    KILN_GROUP_MAX_PRODUCTS = 2, /* of each kind: CONTRACT, or SCORE and ATTEND */
    KILN_GROUP_MAX_CONTRACTS = 4,
};

struct kiln_fusion_group {
    enum kiln_kernel_family family;
    enum kiln_group_role role;
    /* Index into ir->domains: the iteration domain; for COMBINE the domain of rows, which the
     * segments are another axis of. */
    uint32_t domain;
    uint32_t reduced_axes; /* bit per axis of the domain; 0 where the domain has none of them */
    /* PARTIAL, COMBINE: into how many pieces the reduced elements are cut (which are which is up to
     * the schedule, and some may be empty; for statistics of a product's tiles this is a guess
     * until it is scheduled: kiln_partition_set_segments); else 1. */
    uint32_t segment_count;
    /* Operations that the kernel evaluates, ascending IR indices; loads and stores are in
     * `accesses`. */
    uint32_t op_count;
    uint32_t *ops;
    /* Of a contraction: the CONTRACTs, ascending, and for each of ops in which places it is wanted,
     * bit per enum kiln_place. Two CONTRACTs have the same axes and an operand in common. Of
     * attention: the SCOREs, score_count of them, then the ATTENDs, if it has any. Others: 0 and
     * NULL. */
    uint32_t contract_count;
    uint32_t contracts[KILN_GROUP_MAX_CONTRACTS];
    uint32_t score_count;
    uint16_t *places;
    uint32_t access_count;
    struct kiln_access *accesses; /* loads, then stores; at most one load and one store per value,
                                     tensor and place */
    uint32_t load_count;
    enum kiln_boundary boundary; /* why this group is not part of the one before it */
    uint32_t live_registers;     /* 32-bit registers live at the worst point, for one element */
    uint32_t cost;               /* arithmetic of one element, in simple operations */
};

/* An operand of a product that is computed, element by element, from another product's result: in
 * the kernel of the first or of the second one (prologue.h). */
struct kiln_between {
    uint32_t product; /* the second CONTRACT */
    uint32_t operand;
    /* Through memory when the first one's kernel computes it, or the second one's; and what the
     * second one's tiles compute more than once, in bytes moved meanwhile. */
    uint64_t bytes_first, bytes_second, repeated;
    bool is_second;
};

struct kiln_partition {
    uint32_t group_count;
    struct kiln_fusion_group *groups; /* in an order in which they can run */
    uint64_t workspace_bytes;
    uint32_t between_count;
    struct kiln_between *betweens;
    /* Which choices the strategy was asked for: another one would not differ otherwise. */
    bool has_segments;
    bool has_shared_values;
    bool has_statistics;
    bool has_operand_sums;
    /* Operations of class ATTENTION were too much for one kernel, or could not be together in one:
     * the partition is of no use. */
    bool is_attention_cut;
    bool is_plain;  /* the steps did not suffice: every node has kernels of its own */
    uint64_t steps; /* work that finding it took, the same on every machine */
};

/* Choices whose price shows only in the schedules: a caller tries, and keeps the cheapest
 * (kernel_plan.h). */
struct kiln_partition_strategy {
    bool never_segment;       /* no PARTIAL groups, however few rows there are */
    bool store_shared_values; /* element values of a reduction's kernel that others need go through
                                 memory; else they are computed again */
    bool never_in_tiles; /* no statistics of a product's result in its own kernel, tile by tile */
    bool never_beside;   /* no sums of its operands there */
    /* Work after which a plain partition is made instead, in steps of a few nanoseconds; 0:
     * KILN_PARTITION_MAX_STEPS. A count and not a time, so that equal graphs give equal programs.
     */
    uint64_t max_steps;
};

#define KILN_PARTITION_MAX_STEPS (UINT64_C(1) << 27)

/* Groups never exceed these; kiln_partition splits (KILN_BOUNDARY_REGISTERS, _SIZE) where they
 * would. */
enum {
    KILN_GROUP_MAX_ACCESSES = 128,
    /* Of a contraction, a load that several places want counted once: each may bring eight strides
     * as arguments of its kernel, and launches take 4096 bytes of arguments at least. */
    KILN_CONTRACTION_MAX_ACCESSES = 40,
    KILN_ATTENTION_MAX_ROW = 256, /* elements of a row of queries, keys, values or the result */
    /* Of a contraction whose result is reduced along n: sums that a row has, so that one tile has
     * all of it. Half as many of 8 bytes. */
    KILN_CONTRACTION_MAX_ROW = 1024,
    KILN_GROUP_MAX_OPS = 4096,
    /* For compile time: 256 double-precision tangents, cost 2048, took 4 s. No node costs more than
     * 64, so a chain of 256 stays whole. */
    KILN_GROUP_MAX_COST = 16384,
};

/* Where in group->ops a value is; KILN_NONE when the group neither evaluates nor loads it. */
uint32_t kiln_group_position(const struct kiln_fusion_group *group, uint32_t value);

/* Memory belongs to the arena of `ir`. */
enum kiln_status kiln_partition(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                const struct kiln_target *target,
                                const struct kiln_lower_options *options,
                                const struct kiln_partition_strategy *strategy,
                                struct kiln_partition *ret_partition,
                                struct kiln_error *error) KILN_NODISCARD;

/* A line for each operand of the group's products that is computed from another product's result:
 * in which of the two kernels, and why. Nothing for other groups. */
void kiln_print_betweens(const struct kiln_ir *ir, const struct kiln_partition *partition,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer);

/* Sets the segments of a PARTIAL group, and of the COMBINE group that reads what it stores. The
 * workspace has to be placed again then. */
void kiln_partition_set_segments(struct kiln_partition *partition, uint32_t group,
                                 uint32_t segment_count);

/* Places everything in the workspace again, once groups have got other segments. */
enum kiln_status kiln_partition_place(const struct kiln_ir *ir, struct kiln_partition *partition,
                                      struct kiln_error *error) KILN_NODISCARD;

#endif
