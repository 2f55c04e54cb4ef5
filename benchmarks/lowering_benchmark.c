/*
 * The growth of the time of lowering: graphs that are hard to lower, of 256 to 4096 nodes.
 * A program of its own, since it needs the graphs of the tests.
 *
 * usage: kiln-lowering-benchmark [NODES] [FAMILY-WORD...]
 *   NODES   the last size, instead of 4096
 *   words   only families whose words contain one of these
 */
#include "compiler/codegen/target.h"
#include "compiler/plan/kernel_plan.h"
#include "compiler/program.h"
#include "tests/support/hostile_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_NODES = 16, LAST_NODES = 4096, SIZES = 5 };

static uint32_t last_nodes = LAST_NODES;

/* The least of a few runs, fewer the longer they take. */
enum { MOST_RUNS = 3 };
static const double enough_seconds = 0.5;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct measurement {
    double plan_seconds; /* import, optimisation, partition, schedule */
    double all_seconds;  /* with the kernels' texts */
    uint32_t kernels;
    uint64_t steps;
    uint64_t bytes; /* of memory at a time, texts included */
    bool is_plain;
};

static void fail(const struct kiln_error *error)
{
    fprintf(stderr, "kiln-lowering-benchmark: %s\n", error->text);
    exit(1);
}

static struct measurement measure_once(enum kiln_hostile_family family, uint32_t nodes,
                                       const struct kiln_target *target)
{
    struct measurement measured = {0};
    uint64_t scratch_bytes = 0;
    const struct kiln_lower_options options = {0};
    struct kiln_error error;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_kernel_plan plan;
    struct kiln_program program;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    if (kiln_hostile_graph_make(family, nodes, &arena, &graph, &error) != KILN_OK)
        fail(&error);
    double start = seconds();
    if (kiln_kernel_plan_make(&graph, target, &options, &arena, &plan, &error) != KILN_OK)
        fail(&error);
    measured.plan_seconds = seconds() - start;
    measured.kernels = kiln_kernel_plan_kernels(&plan);
    for (const struct kiln_kernel_plan *part = &plan; part != NULL; part = part->next) {
        measured.steps += part->steps;
        measured.is_plain |= part->partition.is_plain;
        scratch_bytes = part->scratch_bytes > scratch_bytes ? part->scratch_bytes : scratch_bytes;
    }
    kiln_arena_fini(&arena);
    kiln_arena_init(&arena);
    if (kiln_hostile_graph_make(family, nodes, &arena, &graph, &error) != KILN_OK)
        fail(&error);
    start = seconds();
    if (kiln_lower(&graph, target, &options, &arena, &program, NULL, &error) != KILN_OK)
        fail(&error);
    measured.all_seconds = seconds() - start;
    measured.bytes = arena.bytes + scratch_bytes;
    kiln_arena_fini(&arena);
    return measured;
}

static struct measurement measure(enum kiln_hostile_family family, uint32_t nodes,
                                  const struct kiln_target *target)
{
    struct measurement best = measure_once(family, nodes, target);
    double spent = best.plan_seconds + best.all_seconds;
    for (int run = 1; run < MOST_RUNS && spent < enough_seconds; run++) {
        struct measurement again = measure_once(family, nodes, target);
        spent += again.plan_seconds + again.all_seconds;
        if (again.plan_seconds < best.plan_seconds)
            best.plan_seconds = again.plan_seconds;
        if (again.all_seconds < best.all_seconds)
            best.all_seconds = again.all_seconds;
    }
    return best;
}

static void measure_family(enum kiln_hostile_family family, const struct kiln_target *target)
{
    struct measurement last = {0};
    double before = 0;
    printf("%-38s", kiln_hostile_text(family));
    for (uint32_t nodes = last_nodes >> (SIZES - 1); nodes <= last_nodes; nodes *= 2) {
        before = last.all_seconds;
        last = measure(family, nodes, target);
        printf(" %8.1f", last.all_seconds * 1e3);
        (void)fflush(stdout);
    }
    printf("  %6.1fx %9.1f %9.1f %8.1f %8" PRIu32 "%s\n", last.all_seconds / before,
           last.plan_seconds * 1e3, (double)last.steps / 1e6, (double)last.bytes / 1e6,
           last.kernels, last.is_plain ? " plain" : "");
    (void)fflush(stdout);
}

static bool is_wanted(enum kiln_hostile_family family, int word_count, char **words)
{
    bool wanted = word_count == 0;
    for (int i = 0; i < word_count; i++)
        wanted = wanted || strstr(kiln_hostile_text(family), words[i]) != NULL;
    return wanted;
}

int main(int argc, char **argv)
{
    struct kiln_error error;
    struct kiln_target target;
    kiln_error_init(&error);
    if (argc > 1 && strtoul(argv[1], NULL, 10) >= LEAST_NODES) {
        last_nodes = (uint32_t)strtoul(argv[1], NULL, 10);
        argc--;
        argv++;
    }
    if (kiln_target_parse("gfx942", &target, &error) != KILN_OK)
        fail(&error);
    printf("Lowering for gfx942, ms of one thread; growth: of the time, from the last size but one "
           "to the last.\n%-38s",
           "nodes");
    for (uint32_t nodes = last_nodes >> (SIZES - 1); nodes <= last_nodes; nodes *= 2)
        printf(" %8" PRIu32, nodes);
    printf("  %7s %9s %9s %8s %8s\n", "growth", "no text", "Msteps", "MB", "kernels");
    for (int family = 0; family < KILN_HOSTILE_COUNT; family++) {
        if (is_wanted((enum kiln_hostile_family)family, argc - 1, argv + 1))
            measure_family((enum kiln_hostile_family)family, &target);
    }
    return 0;
}
