/*
 * Reduction groups for tests of schedules, made by hand: what they compute, over which tensor, in
 * how many segments.
 */
#ifndef KILN_TESTS_COMPILER_FAMILIES_REDUCTION_REDUCTION_FIXTURE_H
#define KILN_TESTS_COMPILER_FAMILIES_REDUCTION_REDUCTION_FIXTURE_H

#include "compiler/schedule/schedule.h"
#include "tests/compiler/fuse/ir_fixture.h"

enum reduction_content {
    REDUCTION_SUM,        /* y = sum(x) */
    REDUCTION_STATISTICS, /* mean and sum of squared deviations */
    REDUCTION_SOFTMAX,    /* exp(x - max(x)) / sum(...), as long as x */
    REDUCTION_NORM,       /* (x - mean) * rsqrt(var) * scale, scale as long as a row */
    REDUCTION_CENTERED,   /* x * scale - mean(x * scale), scale as in NORM */
    REDUCTION_CONTENT_COUNT,
};

struct reduction_case {
    enum reduction_content content;
    enum kiln_group_role role; /* PARTIAL and COMBINE: of SUM or STATISTICS */
    uint32_t rank;
    int64_t dims[KILN_MAX_RANK];
    uint32_t reduced_axes; /* bit per axis; at least one is longer than 1 */
    bool is_reversed;      /* in memory the first axis is the fastest */
    enum kiln_dtype dtype;
    uint32_t segment_count; /* 0 as 1 */
    uint32_t addend_count;  /* further tensors like x; their sum takes its place */
};

/* A fixture with this target. */
struct ir_fixture *reduction_fixture_create(const char *target);

/* The group; its memory belongs to the fixture, which must be fresh. */
struct kiln_fusion_group reduction_fixture_group(struct ir_fixture *fixture,
                                                 const struct reduction_case *reduction);

/* Schedules the group for the fixture's target and options, and asserts success. */
struct kiln_schedule reduction_fixture_schedule(struct ir_fixture *fixture,
                                                const struct kiln_fusion_group *group);

/* A case with its group and schedule. reduction_release releases it. */
struct reduction_scheduled {
    struct ir_fixture *fixture;
    struct kiln_fusion_group group;
    struct kiln_schedule schedule;
};

struct reduction_scheduled reduction_schedule_for(const char *target,
                                                  const struct reduction_case *reduction);
void reduction_release(struct reduction_scheduled *scheduled);

#endif
