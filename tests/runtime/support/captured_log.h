/* Log messages kept for a test to look at. */
#ifndef KILN_TESTS_RUNTIME_SUPPORT_CAPTURED_LOG_H
#define KILN_TESTS_RUNTIME_SUPPORT_CAPTURED_LOG_H

#include "runtime/support/log.h"

/* Installs a sink that counts and keeps messages of `level` and above, and forgets earlier ones,
 * and which notices were given. */
void captured_log_start(enum kiln_log_level level);
unsigned captured_log_count(enum kiln_log_level level);
/* The last message; "" before the first. Not for use while other threads log. */
const char *captured_log_last(void);

#endif
