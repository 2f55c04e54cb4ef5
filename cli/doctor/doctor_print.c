/* Findings as text: a line each, wrapped, with the remedy under it. */
#include "cli/doctor/doctor.h"

#include "cli/message.h"
#include "cli/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_COLUMNS = 100,
    NAME_COLUMNS = 14,
    TEXT_COLUMN = 2 + 9 + NAME_COLUMNS + 2,
    REMEDY_COLUMN = 11,
};

static const char *const colors[KILN_DOCTOR_STATE_COUNT] = {
    [KILN_DOCTOR_OK] = "\033[32m",
    [KILN_DOCTOR_WARNING] = "\033[1;33m",
    [KILN_DOCTOR_WRONG] = "\033[1;31m",
    [KILN_DOCTOR_SKIPPED] = "\033[2m",
};

/* Prints words from `column` on, with `indent` blanks before each further line. A word that does
 * not fit into a line is not broken. Takes control characters out. */
static void print_wrapped(const char *line, size_t length, int column, int indent)
{
    char *copy = kiln_cli_calloc(length + 1, 1);
    memcpy(copy, line, length);
    char *text = kiln_text_escape(copy);
    char *rest = NULL;
    bool is_first = true;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        int columns = kiln_text_columns(word);
        if (!is_first && column + 1 + columns > MOST_COLUMNS) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (!is_first) {
            putchar(' ');
            column++;
        }
        fputs(word, stdout);
        column += columns;
        is_first = false;
    }
    putchar('\n');
    free(text);
    free(copy);
}

/* Every line of the text starts in the column; what is wrapped is indented by `hang` more. */
static void print_lines(const char *text, int column, int hang)
{
    for (;;) {
        size_t length = strcspn(text, "\n");
        print_wrapped(text, length, column, column + hang);
        if (!text[length])
            return;
        text += length + 1;
        printf("%*s", column, "");
    }
}

static const char *member(const json_t *finding, const char *name)
{
    const char *text = json_string_value(json_object_get(finding, name));
    return text ? text : "";
}

void kiln_doctor_print(const json_t *findings)
{
    bool has_color = kiln_message_has_color(STDOUT_FILENO);
    size_t index;
    const json_t *finding;
    json_array_foreach(findings, index, finding)
    {
        enum kiln_doctor_state state = kiln_doctor_state_of(finding);
        printf("  %s%-7s%s  %-*s  ", has_color ? colors[state] : "", kiln_doctor_state_name(state),
               has_color ? "\033[0m" : "", NAME_COLUMNS, member(finding, "name"));
        print_lines(member(finding, "text"), TEXT_COLUMN, 0);
        if (*member(finding, "remedy")) {
            printf("%*s", REMEDY_COLUMN, "");
            print_lines(member(finding, "remedy"), REMEDY_COLUMN, 2);
        }
    }
}
