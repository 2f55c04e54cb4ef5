#include "cache/cache_warning.h"

#include "runtime/support/hash.h"
#include "runtime/support/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Enough for every activity with every errno that a machine in trouble gives; what comes after is
 * told at info level. */
enum { CAUSE_LIMIT = 64, MESSAGE_BYTES = KILN_ERROR_TEXT_BYTES + 512 };

static _Atomic(uint64_t) told[CAUSE_LIMIT]; /* hashes of causes; 0: free */

static uint64_t hash_cause(const char *activity, const char *reason)
{
    size_t size = strcspn(reason, "\n");
    const char *cause = reason;
    for (const char *colon = reason; (colon = strstr(colon, ": ")) != NULL; colon += 2)
        if (colon < reason + size)
            cause = colon + 2;
    uint64_t hash = kiln_hash64(activity, strlen(activity)) * 31 +
                    kiln_hash64(cause, (size_t)(reason + size - cause));
    return hash != 0 ? hash : 1;
}

static bool is_first(uint64_t hash)
{
    for (unsigned i = 0; i < CAUSE_LIMIT; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&told[i], &found, hash))
            return true;
        if (found == hash)
            return false;
    }
    return false;
}

void kiln_cache_warn_once(const char *activity, const char *reason, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    kiln_log(is_first(hash_cause(activity, reason)) ? KILN_LOG_WARN : KILN_LOG_INFO, "%s", message);
}

void kiln_cache_warnings_forget(void)
{
    for (unsigned i = 0; i < CAUSE_LIMIT; i++)
        atomic_store(&told[i], 0);
}
