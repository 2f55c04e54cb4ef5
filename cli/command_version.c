/*
 * kiln version.
 */
#include "cli/command_line.h"
#include "compiler/program.h"

#include <stdio.h>

int kiln_command_version(struct kiln_command_line *line)
{
    while (kiln_command_line_next(line) != KILN_OPTION_END) {
    }
    if (line->stopped)
        return line->exit_code;
    printf("kiln %s\nkernel templates %s\n", KILN_VERSION, kiln_templates_digest());
    return KILN_EXIT_OK;
}
