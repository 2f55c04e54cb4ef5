#include "tests/cli/bench/fake_results.h"

#include "cli/bench/bench_suite.h"
#include "cli/text.h"
#include "compiler/plan/kernel_plan.h"

#include <stdlib.h>
#include <string.h>

/* Of an imaginary device: bytes per second, seconds that a kernel takes at least. */
static const double copy_rate = 4e12;
static const double launch_s = 3e-6;

static struct kiln_bench_time time_of(double seconds)
{
    return (struct kiln_bench_time){
        .median_s = seconds, .low_s = 0.99 * seconds, .high_s = 1.02 * seconds, .samples = 30};
}

static struct kiln_bench_result *append(struct kiln_bench_results *results, const char *name)
{
    if (results->device == NULL) {
        results->device = kiln_cli_strdup("hip");
        results->target = kiln_cli_strdup("gfx942");
    }
    struct kiln_bench_result *larger = kiln_cli_calloc(results->count + 1, sizeof *larger);
    if (results->count != 0)
        memcpy(larger, results->results, results->count * sizeof *larger);
    free(results->results);
    results->results = larger;
    struct kiln_bench_result *result = &larger[results->count++];
    result->name = kiln_cli_strdup(name);
    return result;
}

static struct kiln_bench_contestant contestant(const struct kiln_kernel_plan *plan, double rate)
{
    struct kiln_bench_contestant contestant = {
        .kernels = plan->partition.group_count,
        .bytes_moved = kiln_kernel_plan_bytes(plan),
        .compile_cold_s = 0.031 * plan->partition.group_count,
        .compile_cached_s = 0.0004,
    };
    contestant.time =
        time_of(launch_s * contestant.kernels + (double)contestant.bytes_moved / rate);
    return contestant;
}

static const struct kiln_bench_case *find_case(const char *name)
{
    for (unsigned i = 0; i < kiln_bench_suite_count; i++) {
        char other[KILN_BENCH_NAME_BYTES];
        kiln_bench_case_name(&kiln_bench_suite[i], other);
        if (strcmp(name, other) == 0)
            return &kiln_bench_suite[i];
    }
    abort();
}

void fake_results_append(struct kiln_bench_results *results, const char *name, int64_t elements,
                         double share)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_target target;
    struct kiln_graph graph;
    struct kiln_kernel_plan fused, unfused;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    if (kiln_target_parse("gfx942", &target, &error) != KILN_OK ||
        kiln_bench_case_make(find_case(name), elements, &arena, &graph, &error) != KILN_OK ||
        kiln_kernel_plan_make(&graph, &target, &(struct kiln_lower_options){.no_fusion = false},
                              &arena, &fused, &error) != KILN_OK ||
        kiln_kernel_plan_make(&graph, &target, &(struct kiln_lower_options){.no_fusion = true},
                              &arena, &unfused, &error) != KILN_OK)
        abort();
    struct kiln_bench_result *result = append(results, name);
    result->elements = (uint64_t)elements;
    result->bytes_fewest = kiln_graph_fewest_bytes(&graph);
    result->flop = kiln_kernel_plan_operations(&fused);
    result->fused = contestant(&fused, share * copy_rate);
    result->unfused = contestant(&unfused, 0.93 * copy_rate);
    result->copy_bytes = result->bytes_fewest;
    result->copy = time_of(launch_s + (double)result->copy_bytes / copy_rate);
    result->host_overhead_s = 0.8e-6;
    kiln_arena_fini(&arena);
}

struct kiln_bench_result *fake_results_append_named(struct kiln_bench_results *results,
                                                    const char *name)
{
    struct kiln_bench_result *result = append(results, name);
    result->elements = 1000;
    result->bytes_fewest = result->copy_bytes = 8000;
    result->flop = 3000;
    result->bound = KILN_BOUND_MEMORY;
    result->share_of_bound = 0.8;
    result->fused = (struct kiln_bench_contestant){.kernels = 1,
                                                   .bytes_moved = 8000,
                                                   .time = time_of(4e-6),
                                                   .compile_cold_s = 0.025,
                                                   .compile_cached_s = 0.0003};
    result->unfused = (struct kiln_bench_contestant){.kernels = 3,
                                                     .bytes_moved = 24000,
                                                     .time = time_of(10e-6),
                                                     .compile_cold_s = 0.07,
                                                     .compile_cached_s = 0.0009};
    result->copy = time_of(3.2e-6);
    result->host_overhead_s = 0.5e-6;
    return result;
}
