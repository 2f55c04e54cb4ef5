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

/* Frees what kiln_cli_calloc made; NULL is fine. */
void kiln_kernel_profiles_free(struct kiln_kernel_profile *profiles, uint32_t count);

/* All members are measured or computed before. The object's times are microseconds, its rates per
 * second; the caller owns it. */
json_t *kiln_kernel_profile_to_json(const struct kiln_kernel_profile *profile, uint32_t kernel);

/* Prints a table with a row per kernel. */
void kiln_kernel_profiles_print(const struct kiln_kernel_profile *profiles, uint32_t count);

/* Cells of a table: a number with four digits or a dash where it is 0, and the bound with the share
 * of it. */
void kiln_profile_add_number(struct kiln_table *table, double number);
void kiln_profile_add_bound(struct kiln_table *table, enum kiln_bound bound, double share);

#endif
