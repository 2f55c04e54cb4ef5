/*
 * Options of the compiler that commands share: --shapes, and for matrix products --schedule,
 * --tile,
 * --waves and --split-k.
 */
#ifndef KILN_CLI_LOWER_CHOICE_H
#define KILN_CLI_LOWER_CHOICE_H

#include "cli/command_line.h"
#include "compiler/lower_options.h"

/* Takes the option just returned if it is one of them; reports and stops the line when its value is
 * none. A product that the target cannot do this way fails when it is scheduled. */
void kiln_lower_choice_take(struct kiln_command_line *line, struct kiln_lower_options *options);

/* Values of --schedule, from 0 on; NULL after the last. */
const char *kiln_schedule_choice_name(size_t index);

#endif
