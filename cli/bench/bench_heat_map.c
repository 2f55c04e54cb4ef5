#include "cli/bench/bench_heat_map.h"

#include "cli/bench/bench_timing.h"
#include "cli/table.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Percentiles of the shares of all graphs that were measured. */
struct shares {
    uint32_t count;
    double min, p10, p25, median;
};

static struct shares find_shares(const struct kiln_bench_results *results)
{
    struct shares shares = {.count = 0};
    double *numbers = kiln_cli_calloc(results->count + 1, sizeof *numbers);
    for (size_t i = 0; i < results->count; i++) {
        double share = kiln_bench_share_of_copy(&results->results[i]);
        if (results->results[i].shape.row_elems != 0 && share > 0)
            numbers[shares.count++] = share;
    }
    if (shares.count != 0) {
        shares.median = kiln_bench_median(numbers, shares.count); /* it sorts them */
        shares.min = numbers[0];
        shares.p10 = kiln_bench_percentile(numbers, shares.count, 0.1);
        shares.p25 = kiln_bench_percentile(numbers, shares.count, 0.25);
    }
    free(numbers);
    return shares;
}

/* 0: not measured. */
static double share_at(const struct kiln_bench_results *results, unsigned row, unsigned column)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct kiln_bench_shape *shape = &results->results[i].shape;
        if (shape->row_elems != 0 && shape->row == row && shape->column == column)
            return kiln_bench_share_of_copy(&results->results[i]);
    }
    return 0;
}

static bool has_row(const struct kiln_bench_results *results, unsigned row)
{
    for (unsigned column = 0; column < kiln_bench_shape_column_count(); column++)
        if (share_at(results, row, column) > 0)
            return true;
    return false;
}

static void add_row(struct kiln_table *table, const struct kiln_bench_results *results,
                    unsigned row)
{
    char name[KILN_BENCH_NAME_BYTES];
    const struct kiln_bench_case which = kiln_bench_shape_case(row);
    kiln_bench_case_name(&which, name);
    kiln_table_add(table, "%s", name);
    for (unsigned column = 0; column < kiln_bench_shape_column_count(); column++) {
        double share = share_at(results, row, column);
        if (share > 0)
            kiln_table_add(table, "%.0f", 100 * share);
        else
            kiln_table_add(table, "%s", "");
    }
}

void kiln_bench_print_heat_map(const struct kiln_bench_results *results)
{
    const struct shares shares = find_shares(results);
    if (shares.count != 0) {
        struct kiln_table table;
        kiln_bench_print_origin(results);
        printf("seed %" PRIu64 ", %" PRIu32 " %s: shares of a copy of as many bytes\n",
               results->seed, shares.count, KILN_NOUN(shares.count, "graph"));
        printf("min %.0f%%, p10 %.0f%%, p25 %.0f%%, median %.0f%%\n\n", 100 * shares.min,
               100 * shares.p10, 100 * shares.p25, 100 * shares.median);
        kiln_table_init(&table, 1 + kiln_bench_shape_column_count(), ~1U);
        kiln_table_add(&table, "%s", "");
        for (unsigned column = 0; column < kiln_bench_shape_column_count(); column++)
            kiln_table_add(&table, "%" PRId64, kiln_bench_shape_length(column));
        for (unsigned row = 0; row < kiln_bench_shape_row_count(); row++)
            if (has_row(results, row))
                add_row(&table, results, row);
        kiln_table_print(&table);
        kiln_table_fini(&table);
    }
    kiln_bench_print_failures(results);
}

json_t *kiln_bench_heat_map_to_json(const struct kiln_bench_results *results)
{
    const struct shares shares = find_shares(results);
    if (shares.count == 0)
        return json_null();
    json_t *object = kiln_json_object();
    json_t *lengths = kiln_json_array();
    json_t *rows = kiln_json_array();
    for (unsigned column = 0; column < kiln_bench_shape_column_count(); column++)
        kiln_json_append(lengths, json_integer(kiln_bench_shape_length(column)));
    for (unsigned row = 0; row < kiln_bench_shape_row_count(); row++) {
        if (!has_row(results, row))
            continue;
        char name[KILN_BENCH_NAME_BYTES];
        const struct kiln_bench_case which = kiln_bench_shape_case(row);
        kiln_bench_case_name(&which, name);
        json_t *values = kiln_json_array();
        for (unsigned column = 0; column < kiln_bench_shape_column_count(); column++) {
            double share = share_at(results, row, column);
            kiln_json_append(values, share > 0 ? kiln_json_real(share) : json_null());
        }
        json_t *line = kiln_json_object();
        kiln_json_set(line, "name", kiln_json_text(name));
        kiln_json_set(line, "shares", values);
        kiln_json_append(rows, line);
    }
    kiln_json_set(object, "seed", json_integer((json_int_t)results->seed));
    kiln_json_set(object, "min", kiln_json_real(shares.min));
    kiln_json_set(object, "p10", kiln_json_real(shares.p10));
    kiln_json_set(object, "p25", kiln_json_real(shares.p25));
    kiln_json_set(object, "median", kiln_json_real(shares.median));
    kiln_json_set(object, "lengths", lengths);
    kiln_json_set(object, "rows", rows);
    return object;
}
