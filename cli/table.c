#include "cli/table.h"

#include "cli/progress.h"
#include "cli/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kiln_table_init(struct kiln_table *table, unsigned columns, unsigned right)
{
    memset(table, 0, sizeof(*table));
    table->columns = columns;
    table->right = right;
}

void kiln_table_fini(struct kiln_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->count = table->capacity = 0;
}

void kiln_table_add(struct kiln_table *table, const char *format, ...)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? table->capacity * 2 : 64;
        char **cells = kiln_cli_calloc(capacity, sizeof(*cells));
        if (table->count)
            memcpy(cells, table->cells, table->count * sizeof(*cells));
        free(table->cells);
        table->cells = cells;
        table->capacity = capacity;
    }
    char cell[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell, sizeof(cell), format, arguments);
    va_end(arguments);
    table->cells[table->count++] = kiln_text_escape(cell);
}

void kiln_table_print(const struct kiln_table *table)
{
    kiln_progress_finish();
    int *widths = kiln_cli_calloc(table->columns, sizeof(*widths));
    for (size_t i = 0; i < table->count; i++) {
        int columns = kiln_text_columns(table->cells[i]);
        int *width = &widths[i % table->columns];
        *width = columns > *width ? columns : *width;
    }
    for (size_t i = 0; i < table->count; i++) {
        unsigned column = (unsigned)(i % table->columns);
        int gap = widths[column] - kiln_text_columns(table->cells[i]);
        bool last = column + 1 == table->columns;
        if (table->right >> column & 1) {
            printf("%*s%s%s", gap, "", table->cells[i], last ? "\n" : "  ");
        } else {
            printf("%s%*s", table->cells[i], last ? 0 : gap + 2, "");
            if (last)
                putchar('\n');
        }
    }
    free(widths);
}
