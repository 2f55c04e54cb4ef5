#include "cli/bench/bench_result.h"

#include <stdlib.h>

void kiln_bench_result_fini(struct kiln_bench_result *result)
{
    free(result->name);
    free(result->failure);
    kiln_kernel_profiles_free(result->profiles, result->fused.kernels);
    *result = (struct kiln_bench_result){.name = NULL};
}

void kiln_bench_results_fini(struct kiln_bench_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        kiln_bench_result_fini(&results->results[i]);
    free(results->results);
    free(results->device);
    free(results->target);
    *results = (struct kiln_bench_results){.device = NULL};
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

double kiln_bench_rate(const struct kiln_bench_result *result,
                       const struct kiln_bench_contestant *contestant)
{
    return ratio((double)result->bytes_fewest, contestant->time.median_s);
}

double kiln_bench_copy_rate(const struct kiln_bench_result *result)
{
    return ratio((double)result->copy_bytes, result->copy.median_s);
}

double kiln_bench_flop_rate(const struct kiln_bench_result *result)
{
    return ratio((double)result->flop, result->fused.time.median_s);
}

double kiln_bench_share_of_copy(const struct kiln_bench_result *result)
{
    return ratio(kiln_bench_rate(result, &result->fused), kiln_bench_copy_rate(result));
}

double kiln_bench_moved_share_of_copy(const struct kiln_bench_result *result)
{
    double rate = ratio((double)result->fused.bytes_moved, result->fused.time.median_s);
    return ratio(rate, kiln_bench_copy_rate(result));
}

double kiln_bench_argument_speed(const struct kiln_bench_result *result)
{
    return ratio(result->fused.time.median_s, result->argument.time.median_s);
}

double kiln_bench_speed_up(const struct kiln_bench_result *result)
{
    return ratio(result->unfused.time.median_s, result->fused.time.median_s);
}

double kiln_bench_promised_speed_up(const struct kiln_bench_result *result)
{
    return ratio((double)result->unfused.bytes_moved, (double)result->fused.bytes_moved);
}

double kiln_bench_spread(const struct kiln_bench_time *time)
{
    return ratio(time->high_s - time->low_s, time->median_s);
}
