#include "cli/table.h"

#include "cli/progress.h"
#include "cli/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NARROWEST_COLUMNS = 12 };

void kiln_table_init(struct kiln_table *table, unsigned columns, unsigned right)
{
    assert(columns <= KILN_TABLE_MOST_COLUMNS);
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

/* Narrows the widest columns that are aligned left until a line fits. */
static void fit_widths(const struct kiln_table *table, int *widths)
{
    int total = 2 * ((int)table->columns - 1);
    for (unsigned i = 0; i < table->columns; i++)
        total += widths[i];
    while (total > KILN_TEXT_LINE_COLUMNS) {
        int *widest = NULL;
        for (unsigned i = 0; i < table->columns; i++)
            if (!(table->right >> i & 1) && (!widest || widths[i] > *widest))
                widest = &widths[i];
        if (!widest || *widest <= NARROWEST_COLUMNS)
            return;
        (*widest)--;
        total--;
    }
}

/* Prints one row; cells that are wider than their column go on in the lines below. */
static void print_row(const struct kiln_table *table, char *const *cells, const int *widths)
{
    const char *rest[KILN_TABLE_MOST_COLUMNS];
    unsigned left = 0; /* columns with text that is not printed yet */
    for (unsigned i = 0; i < table->columns; i++)
        rest[i] = cells[i];
    do {
        int gap = 0;
        left = 0;
        for (unsigned i = 0; i < table->columns; i++) {
            size_t bytes, blanks;
            bool is_right = table->right >> i & 1;
            int width = is_right ? kiln_text_columns(rest[i]) : widths[i];
            int columns = kiln_text_next_line(rest[i], width, &bytes, &blanks);
            int padding = widths[i] - columns;
            if (bytes) /* no blanks at the end of a line */
                printf("%*s%.*s", gap + (is_right ? padding : 0), "", (int)bytes, rest[i]);
            gap = bytes ? (is_right ? 0 : padding) + 2 : gap + widths[i] + 2;
            rest[i] += bytes + blanks;
            left += *rest[i] != '\0';
        }
        putchar('\n');
    } while (left);
}

void kiln_table_print(const struct kiln_table *table)
{
    kiln_progress_finish();
    int widths[KILN_TABLE_MOST_COLUMNS] = {0};
    for (size_t i = 0; i < table->count; i++) {
        int columns = kiln_text_columns(table->cells[i]);
        int *width = &widths[i % table->columns];
        *width = columns > *width ? columns : *width;
    }
    fit_widths(table, widths);
    for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
        print_row(table, table->cells + i, widths);
}
