/*
 * Sentences that a user has to see even with logging off: a setting that is not as it should be.
 */
#ifndef KILN_RUNTIME_SUPPORT_NOTICE_H
#define KILN_RUNTIME_SUPPORT_NOTICE_H

#include "runtime/support/error.h"

/*
 * Tells a sentence once per process: to the log as a warning where the log takes warnings,
 * otherwise to standard error as a line "kiln: sentence". Equal sentences of any thread, and of
 * forked children, count as one. A host may unload and load the plugin again in between: the first
 * notice keeps the library loaded, so that it stays told. Takes no lock.
 */
void kiln_notice(const char *format, ...) KILN_PRINTF(1, 2);
/* As if nothing had been told yet: for tests. */
void kiln_notices_forget(void);

#endif
