/*
 * One kernel of a plan as it was measured: what it has to do, its time, and how close that is to
 * what the device allows. `kiln run --profile` and `kiln bench` show the same figures.
 */
#ifndef KILN_CLI_KERNEL_PROFILE_H
#define KILN_CLI_KERNEL_PROFILE_H

#include "cli/roofline.h"
#include "cli/table.h"

#include <jansson.h>

struct kiln_kernel_profile {
    char *symbol; /* owned */
    struct kiln_kernel_work work;
    double seconds; /* median */
    enum kiln_bound bound;
    double share; /* of the bound; 0: not known */
};

/* All members are measured or computed before. The object's times are microseconds, its rates per
 * second; the caller owns it. */
json_t *kiln_kernel_profile_to_json(const struct kiln_kernel_profile *profile, uint32_t kernel);

/* Prints a table with a row per kernel. */
void kiln_kernel_profiles_print(const struct kiln_kernel_profile *profiles, uint32_t count);

/* The cells of a table that a kernel and a graph share: time in microseconds, GB/s, GFLOP/s, and
 * the bound with the share of it. What is not known is a dash. `bytes` are those that have to be
 * moved. */
void kiln_profile_add_time(struct kiln_table *table, double seconds);
void kiln_profile_add_rates(struct kiln_table *table, double bytes, double flop, double seconds);
void kiln_profile_add_bound(struct kiln_table *table, enum kiln_bound bound, double share);

#endif
