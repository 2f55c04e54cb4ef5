/*
 * Lines on standard error of a process that Kiln is a guest in.
 */
#ifndef KILN_SUPPORT_STANDARD_ERROR_H
#define KILN_SUPPORT_STANDARD_ERROR_H

/* Writes the line and a newline. Nothing is written if standard error is
 * closed, a pipe without a reader or a file at its limit; no signal ends the process then. */
void kiln_standard_error_write(const char *line);

#endif
