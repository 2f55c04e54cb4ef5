/*
 * Talk on standard error: errors, warnings, notes and log lines.
 */
#ifndef KILN_CLI_MESSAGE_H
#define KILN_CLI_MESSAGE_H

#include "runtime/support/error.h"
#include "runtime/support/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "kiln: error: ..."; text of any origin, control characters are escaped; may have hint lines. */
void kiln_message_error(const char *format, ...) KILN_PRINTF(1, 2);
void kiln_message_warning(const char *format, ...) KILN_PRINTF(1, 2);
void kiln_message_note(const char *format, ...) KILN_PRINTF(1, 2);
/* "kiln COMMAND: sentence"; command may be NULL, hint too. */
void kiln_message_usage(const char *command, const char *sentence, const char *hint);
/* True if text on the descriptor may be coloured: a terminal, and no NO_COLOR. */
bool kiln_message_has_color(int descriptor);
/* The last error or usage sentence as a JSON document on stdout, for --json without a result:
 * {"error": {"message": ..., "hint": ... or null, "exit_code": ...}}. */
void kiln_message_print_json(int exit_code);
/* Sink for kiln_log_set_sink. */
void kiln_message_log(enum kiln_log_level level, const char *message);
/* KILN_LOG_LEVEL, else HIPDNN_LOG_LEVEL, else warnings; a word that is no level gives a warning. */
enum kiln_log_level kiln_message_log_level(void);

/* Environment trouble (3) or a graph's own failure (1). */
int kiln_message_exit_code(enum kiln_status status);

#endif
