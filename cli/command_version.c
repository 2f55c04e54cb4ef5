/*
 * kiln version.
 */
#include "cli/command_line.h"
#include "cli/text.h"
#include "compiler/program.h"
#include "runtime/support/version.h"

#include <stdio.h>

static void print_json(void)
{
    const char *commit = kiln_version.commit;
    json_t *document = kiln_json_object();
    kiln_json_set(document, "version", json_string(kiln_version.number));
    kiln_json_set(document, "commit", commit ? json_string(commit) : json_null());
    kiln_json_set(document, "modified",
                  commit ? json_boolean(kiln_version.is_modified) : json_null());
    kiln_json_set(document, "templates_digest", json_string(kiln_templates_digest()));
    kiln_json_print(document);
}

int kiln_command_version(struct kiln_command_line *line)
{
    bool json = false;
    while (kiln_command_line_next(line) != KILN_OPTION_END)
        json = true; /* its only option */
    if (line->stopped)
        return line->exit_code;
    if (json) {
        print_json();
        return KILN_EXIT_OK;
    }
    printf("kiln %s\ncommit %s%s\nkernel templates %s\n", kiln_version.number,
           kiln_version.commit ? kiln_version.commit : "unknown",
           kiln_version.is_modified ? ", modified" : "", kiln_templates_digest());
    return KILN_EXIT_OK;
}
