/*
 * Where a program came from, in a word.
 */
#ifndef KILN_CLI_PROGRAM_ORIGIN_H
#define KILN_CLI_PROGRAM_ORIGIN_H

#include "runtime/engine/engine.h"

/* "memory", "disk" or "compiled"; static. */
const char *kiln_program_origin_text(enum kiln_program_origin origin);

#endif
