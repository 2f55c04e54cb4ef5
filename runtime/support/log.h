/*
 * Log lines. Library code never prints: it logs, and a sink decides (the plugin's callback, stderr
 * in the CLI).
 */
#ifndef KILN_RUNTIME_SUPPORT_LOG_H
#define KILN_RUNTIME_SUPPORT_LOG_H

#include "runtime/support/error.h"

/* Same numbers as hipdnnSeverity_t. */
enum kiln_log_level {
    KILN_LOG_INFO = 0,
    KILN_LOG_WARN = 1,
    KILN_LOG_ERROR = 2,
    KILN_LOG_FATAL = 3,
    KILN_LOG_OFF = 4,
};

/* Bytes of one message with its NUL; longer ones end in "...". */
#define KILN_LOG_MESSAGE_BYTES 4096

/* Receives one message without newline, valid during the call; may be called from any thread, also
 * from inside other calls. */
typedef void (*kiln_log_sink)(enum kiln_log_level level, const char *message);

/* NULL: messages are dropped (the initial state). Atomic. */
void kiln_log_set_sink(kiln_log_sink sink);
/* Messages below the level are dropped before they are formatted. Initially OFF. Atomic. */
void kiln_log_set_level(enum kiln_log_level level);
enum kiln_log_level kiln_log_level(void);
/* Reads "info", "warn", "error", "fatal" or "off", in any case. False for other texts and NULL. */
bool kiln_log_level_parse(const char *text, enum kiln_log_level *ret_level);
/* True where a message of the level reaches a sink. */
bool kiln_log_takes(enum kiln_log_level level);
/* A message of several lines, a sentence with its hint, becomes one. Keeps errno, so that it may
 * stand between a failing call and the report of its error. */
void kiln_log(enum kiln_log_level level, const char *format, ...) KILN_PRINTF(2, 3);

#endif
