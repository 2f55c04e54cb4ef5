/*
 * Ctrl-C for commands that have something to tidy up.
 */
#ifndef KILN_CLI_INTERRUPT_H
#define KILN_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT, SIGTERM or SIGHUP is only noted; another one, half a second later
 * or more, ends the process at once. Signals that the process was started without stay ignored. */
void kiln_interrupt_watch(void);
/* True if one was noted. Cheap. */
bool kiln_interrupt_pending(void);
/* After tidying up: ends the process as kiln_interrupt_deliver does; when no signal was noted, from
 * now on one ends it at once again. */
void kiln_interrupt_unwatch(void);
/* After tidying up: ends the process by the signal that was noted, so that whoever started it sees
 * the interruption; returns when none was. */
void kiln_interrupt_deliver(void);

#endif
