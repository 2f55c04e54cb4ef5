/*
 * Two files of results, case by case: kiln bench --compare.
 */
#ifndef KILN_CLI_BENCH_BENCH_COMPARE_H
#define KILN_CLI_BENCH_BENCH_COMPARE_H

#include "runtime/support/error.h"

#include <stdbool.h>

/*
 * Prints the times of both, their ratio (second over first) and its noise, as a table or as JSON.
 * The noise of a time is half the way from the 10th to the 90th percentile, as a share of the
 * median; the noise of a ratio is the root of the sum of both squares. Warns where the devices
 * differ. KILN_BAD_ARGUMENT when a file holds no results of this schema version, KILN_NOT_FOUND
 * when the files have no measured case in common, errors of kiln_input_file_read otherwise.
 */
enum kiln_status kiln_bench_compare(const char *first_path, const char *second_path, bool json,
                                    struct kiln_error *error) KILN_NODISCARD;

#endif
