/*
 * Warnings about an environment that is not as it should be (a full disk, a directory that cannot
 * be written): the same trouble comes back with every kernel and is told once per process.
 */
#ifndef KILN_CACHE_CACHE_WARNING_H
#define KILN_CACHE_CACHE_WARNING_H

#include "runtime/support/error.h"

/*
 * Logs the sentence as a warning when the process has not done so for the same cause, else at info
 * level. The cause is `activity` together with `reason` from its last ": " to the end of its first
 * line, which leaves out names of files and keeps "No space left on device". Takes no lock.
 */
void kiln_cache_warn_once(const char *activity, const char *reason, const char *format, ...)
    KILN_PRINTF(3, 4);
/* As if nothing had been told yet: for tests. */
void kiln_cache_warnings_forget(void);

#endif
