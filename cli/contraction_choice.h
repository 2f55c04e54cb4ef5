/*
 * --schedule, --tile, --waves and --split-k: how matrix products are done, instead of what the
 * schedule would choose.
 */
#ifndef KILN_CLI_CONTRACTION_CHOICE_H
#define KILN_CLI_CONTRACTION_CHOICE_H

#include "cli/command_line.h"
#include "compiler/program.h"

/* Takes the option just returned if it is one of them; reports and stops the line when its value is
 * none. Whether a target can do it shows when a product is scheduled. */
void kiln_contraction_choice_take(struct kiln_command_line *line,
                                  struct kiln_contraction_options *options);

/* What --schedule takes, from 0 on; NULL after the last. */
const char *kiln_contraction_choice_name(size_t index);

#endif
