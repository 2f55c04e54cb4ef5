#include "runtime/support/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static _Atomic(kiln_log_sink) current_sink;
static _Atomic(enum kiln_log_level) current_level = KILN_LOG_OFF;

void kiln_log_set_sink(kiln_log_sink sink)
{
    atomic_store(&current_sink, sink);
}

void kiln_log_set_level(enum kiln_log_level level)
{
    atomic_store(&current_level, level);
}

enum kiln_log_level kiln_log_level(void)
{
    return atomic_load_explicit(&current_level, memory_order_relaxed);
}

bool kiln_log_level_parse(const char *text, enum kiln_log_level *ret_level)
{
    static const char *const names[] = {"info", "warn", "error", "fatal", "off"};
    for (size_t i = 0; text != NULL && i < sizeof names / sizeof *names; i++) {
        if (strcasecmp(text, names[i]) == 0) {
            *ret_level = (enum kiln_log_level)i;
            return true;
        }
    }
    return false;
}

bool kiln_log_takes(enum kiln_log_level level)
{
    return level >= kiln_log_level() && level < KILN_LOG_OFF && atomic_load(&current_sink) != NULL;
}

void kiln_log(enum kiln_log_level level, const char *format, ...)
{
    if (!kiln_log_takes(level))
        return;
    kiln_log_sink sink = atomic_load(&current_sink);
    if (sink == NULL)
        return;
    int saved_errno = errno;
    char text[KILN_LOG_MESSAGE_BYTES + 1]; /* so that a longer message is seen to be longer */
    char message[KILN_LOG_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        (void)kiln_one_line(message, sizeof message, text);
        sink(level, message);
    }
    errno = saved_errno;
}
