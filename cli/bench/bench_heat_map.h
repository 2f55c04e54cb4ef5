/* Results of a sweep over shapes: the shares of a copy, per kind of graph and length of rows. */
#ifndef KILN_CLI_BENCH_BENCH_HEAT_MAP_H
#define KILN_CLI_BENCH_BENCH_HEAT_MAP_H

#include "cli/bench/bench_result.h"

/* To standard output: where it was measured, the seed, percentiles and shares in per cent, if
 * anything was measured; failures. */
void kiln_bench_print_heat_map(const struct kiln_bench_results *results);
/* {"seed", "min", "p10", "p25", "median", "lengths": [...], "rows": [{"name", "shares": [...]}]};
 * null where nothing was measured. The caller owns it. */
json_t *kiln_bench_heat_map_to_json(const struct kiln_bench_results *results);

#endif
