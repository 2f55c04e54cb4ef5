/*
 * Aligned tables on stdout: cells are collected, then printed with two spaces between columns.
 * Lines have at most 100 columns: text that is too wide for that goes on below.
 */
#ifndef KILN_CLI_TABLE_H
#define KILN_CLI_TABLE_H

#include "runtime/support/error.h"

#include <stddef.h>

enum { KILN_TABLE_MOST_COLUMNS = 32 }; /* bits of `right` */

struct kiln_table {
    unsigned columns;
    unsigned right; /* bit i: column i is aligned right */
    char **cells;   /* owned, escaped */
    size_t count;
    size_t capacity;
};

void kiln_table_init(struct kiln_table *table, unsigned columns, unsigned right);
void kiln_table_fini(struct kiln_table *table);
/* Cells come row by row; the first row is the heading. */
void kiln_table_add(struct kiln_table *table, const char *format, ...) KILN_PRINTF(2, 3);
void kiln_table_print(const struct kiln_table *table);

#endif
