/*
 * The option --dump: stages of lowering (compiler/dump.def), comma separated.
 */
#ifndef KILN_CLI_DUMP_CHOICE_H
#define KILN_CLI_DUMP_CHOICE_H

#include "cli/command_line.h"
#include "compiler/dump.h"

/* Adds the stages that the option's value names; reports and stops the line if it names another. */
void kiln_dump_choice_take(struct kiln_command_line *line, uint32_t *stages);

/* Names of stages, from 0 on; NULL after the last. */
const char *kiln_dump_choice_name(size_t index);

#endif
