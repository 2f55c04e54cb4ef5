#include "cache/cache_warning.h"

#include "runtime/support/hash.h"
#include "runtime/support/log.h"
#include "runtime/support/told_once.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = KILN_ERROR_TEXT_BYTES + 512 };

static struct kiln_told told; /* causes; what comes after its limit is told at info level */

static uint64_t hash_cause(const char *activity, const char *reason)
{
    size_t size = strcspn(reason, "\n");
    const char *cause = reason;
    for (const char *colon = reason; (colon = strstr(colon, ": ")) != NULL; colon += 2)
        if (colon < reason + size)
            cause = colon + 2;
    return kiln_hash64(activity, strlen(activity)) * 31 +
           kiln_hash64(cause, (size_t)(reason + size - cause));
}

void kiln_cache_warn_once(const char *activity, const char *reason, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    kiln_log(kiln_told_add(&told, hash_cause(activity, reason)) ? KILN_LOG_WARN : KILN_LOG_INFO,
             "%s", message);
}

void kiln_cache_warnings_forget(void)
{
    kiln_told_forget(&told);
}
