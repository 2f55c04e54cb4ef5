/*
 * Graphs of thousands of nodes: memory and kernels follow the number of nodes, whatever they are.
 */
#include "compiler/plan/kernel_plan.h"
#include "compiler/program.h"
#include "tests/support/hostile_graph.h"

#include <criterion/criterion.h>

#if defined(__SANITIZE_ADDRESS__)
enum { MANY = 1024 }; /* sanitizers take minutes for more */
#else
enum { MANY = 2048 };
#endif
enum { FEW = 256, SHARES = 4 };

struct counts {
    uint64_t bytes; /* of memory at a time */
    uint64_t steps;
    uint32_t kernels;
    bool is_plain;
};

static struct counts lower(enum kiln_hostile_family family, uint32_t nodes)
{
    static const struct kiln_lower_options options = {0};
    struct kiln_error error;
    struct kiln_target target;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_program program;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_target_parse("gfx942", &target, &error), KILN_OK);
    cr_assert_eq(kiln_hostile_graph_make(family, nodes, &arena, &graph, &error), KILN_OK);
    uint64_t before = arena.bytes;
    cr_assert_eq(kiln_lower(&graph, &target, &options, &arena, &program, NULL, &error), KILN_OK,
                 "%s: %s", kiln_hostile_text(family), error.text);
    struct counts counts = {.kernels = program.kernel_count};
    uint64_t scratch_bytes = 0;
    for (const struct kiln_kernel_plan *part = program.plan; part != NULL; part = part->next) {
        counts.steps += part->steps;
        counts.is_plain |= part->partition.is_plain;
        if (part->scratch_bytes > scratch_bytes)
            scratch_bytes = part->scratch_bytes;
    }
    counts.bytes = arena.bytes - before + scratch_bytes;
    kiln_arena_fini(&arena);
    return counts;
}

/* Random graphs of other sizes are other graphs. */
static bool is_same_kind(enum kiln_hostile_family family)
{
    return family < KILN_HOSTILE_RANDOM_POINTWISE;
}

static void check_family(enum kiln_hostile_family family)
{
    static const uint64_t most_bytes = UINT64_C(225000000);
    const char *name = kiln_hostile_text(family);
    struct counts many = lower(family, MANY);
    cr_expect_lt(many.bytes, most_bytes, "%s: %llu bytes", name, (unsigned long long)many.bytes);
    cr_expect_lt(many.steps, KILN_PARTITION_MAX_STEPS, "%s", name);
    cr_expect_not(many.is_plain, "%s", name);
    if (!is_same_kind(family))
        return;
    struct counts few = lower(family, FEW);
    /* Where a part ends, a kernel may end too: one in a hundred. */
    uint64_t most = (uint64_t)few.kernels * (MANY / FEW) * 101 / 100 + 1;
    cr_expect_leq(many.kernels, most, "%s: %u kernels, %u in a small graph", name, many.kernels,
                  few.kernels);
}

static void check_share(int share)
{
    for (int family = share; family < KILN_HOSTILE_COUNT; family += SHARES)
        check_family((enum kiln_hostile_family)family);
}

/* Shares run at the same time, and each has its own limit. */
#define SHARE(share)                                                                               \
    Test(large_graphs, memory_and_kernels_follow_the_nodes_##share, .timeout = 240)                \
    {                                                                                              \
        check_share(share);                                                                        \
    }

SHARE(0)
SHARE(1)
SHARE(2)
SHARE(3)
