/*
 * The line on a terminal that tells what a long command is at, and how far. Drawn on standard error
 * when that is a terminal and the command has run for a second. Messages and results wipe it.
 */
#ifndef KILN_CLI_PROGRESS_H
#define KILN_CLI_PROGRESS_H

#include <stddef.h>

/* Begins the line, or goes on to the next part of the work. "compiling: 3 of 10 (30%)" with a
 * total, "verifying: 12 s" for 0. The verb is kept, not copied. */
void kiln_progress_start(const char *verb, size_t total);
void kiln_progress_update(size_t done, size_t failed);
/* Wipes the line and writes what stdout holds, as for results that come one by one. */
void kiln_progress_flush_results(void);
/* Wipes the line until it is drawn again. The caller holds the locks of stdout and stderr. */
void kiln_progress_wipe_locked(void);
/* Wipes the line for good. Call before results that may be long. */
void kiln_progress_finish(void);

#endif
