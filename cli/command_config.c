/*
 * kiln config: every setting with where it came from.
 */
#include "cli/command_line.h"
#include "cli/config_rows.h"
#include "cli/message.h"
#include "cli/table.h"
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

static void add_lines(struct kiln_table *table, const struct kiln_config_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct kiln_config_row *row = &rows->rows[i];
        const char *value = row->value ? row->value : "-";
        kiln_table_add(table, "%s", row->name);
        kiln_table_add(table, "%s", *value ? value : "''");
        kiln_table_add(table, "%s%s", row->source, row->problem ? "  (see below)" : "");
    }
}

static size_t print_problems(const struct kiln_config_rows *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct kiln_config_row *row = &rows->rows[i];
        if (!row->problem)
            continue;
        printf("%s%s: ", count ? "" : "\n", row->name);
        kiln_text_write(stdout, row->problem, true);
        putchar('\n');
        count++;
    }
    return count;
}

static json_t *rows_json(const struct kiln_config_rows *rows)
{
    json_t *list = kiln_json_array();
    for (size_t i = 0; i < rows->count; i++) {
        const struct kiln_config_row *row = &rows->rows[i];
        json_t *object = kiln_json_object();
        kiln_json_set(object, "name", kiln_json_text(row->name));
        kiln_json_set(object, "value", row->value ? kiln_json_text(row->value) : json_null());
        kiln_json_set(object, "source", kiln_json_text(row->source));
        if (row->text)
            kiln_json_set(object, "text", kiln_json_text(row->text));
        kiln_json_set(object, "problem", row->problem ? kiln_json_text(row->problem) : json_null());
        kiln_json_append(list, object);
    }
    return list;
}

static void print_json(const struct kiln_config_rows *settings,
                       const struct kiln_config_rows *derived)
{
    json_t *document = kiln_json_object();
    kiln_json_set(document, "settings", rows_json(settings));
    kiln_json_set(document, "derived", rows_json(derived));
    kiln_json_print(document);
}

static void print_text(const struct kiln_config_rows *settings,
                       const struct kiln_config_rows *derived)
{
    struct kiln_table table;
    kiln_table_init(&table, 3, 0);
    kiln_table_add(&table, "setting");
    kiln_table_add(&table, "value");
    kiln_table_add(&table, "from");
    add_lines(&table, settings);
    kiln_table_print(&table);
    kiln_table_fini(&table);
    kiln_table_init(&table, 3, 0);
    kiln_table_add(&table, "what follows");
    kiln_table_add(&table, "value");
    kiln_table_add(&table, "from");
    add_lines(&table, derived);
    putchar('\n');
    kiln_table_print(&table);
    kiln_table_fini(&table);
    print_problems(settings);
    print_problems(derived);
}

static bool has_problem(const struct kiln_config_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].problem)
            return true;
    return false;
}

int kiln_command_config(struct kiln_command_line *line)
{
    bool json = false;
    while (kiln_command_line_next(line) != KILN_OPTION_END)
        json = true; /* its only option */
    if (line->stopped)
        return line->exit_code;
    struct kiln_config_rows settings;
    struct kiln_config_rows derived;
    kiln_config_list_settings(&settings);
    kiln_config_list_derived(&derived);
    if (json)
        print_json(&settings, &derived);
    else
        print_text(&settings, &derived);
    int exit_code =
        has_problem(&settings) || has_problem(&derived) ? KILN_EXIT_FAILED : KILN_EXIT_OK;
    kiln_config_rows_fini(&settings);
    kiln_config_rows_fini(&derived);
    return exit_code;
}
