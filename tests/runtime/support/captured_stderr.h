/* What a test's process writes to standard error. */
#ifndef KILN_TESTS_RUNTIME_SUPPORT_CAPTURED_STDERR_H
#define KILN_TESTS_RUNTIME_SUPPORT_CAPTURED_STDERR_H

/* From now on standard error goes to a file without a name. */
void captured_stderr_start(void);
/* All that was written since; cut at 8 KiB. Standard error stays captured. */
const char *captured_stderr_text(void);
/* How often `part` is in it. */
unsigned captured_stderr_count(const char *part);

#endif
