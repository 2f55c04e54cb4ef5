#include "runtime/support/notice.h"

#include "runtime/support/hash.h"
#include "runtime/support/library_lifetime.h"
#include "runtime/support/log.h"
#include "runtime/support/standard_error.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A machine has a handful of wrong settings. Notices beyond the limit are dropped. */
enum { NOTICE_LIMIT = 64 };

#define LEAD "kiln: "
enum { LEAD_BYTES = sizeof LEAD - 1 };

static _Atomic(uint64_t) told[NOTICE_LIMIT]; /* hashes of sentences; 0: free */

static bool is_first(const char *sentence)
{
    uint64_t hash = kiln_hash64(sentence, strlen(sentence)) | 1;
    for (unsigned i = 0; i < NOTICE_LIMIT; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&told[i], &found, hash))
            return true;
        if (found == hash)
            return false;
    }
    return false;
}

void kiln_notice(const char *format, ...)
{
    int saved_errno = errno;
    char text[KILN_LOG_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (is_first(text)) {
        kiln_library_keep_loaded();
        if (!kiln_log_takes(KILN_LOG_WARN)) {
            char line[LEAD_BYTES + KILN_LOG_MESSAGE_BYTES] = LEAD;
            (void)kiln_one_line(line + LEAD_BYTES, KILN_LOG_MESSAGE_BYTES, text);
            kiln_standard_error_write(line);
        } else {
            kiln_log(KILN_LOG_WARN, "%s", text);
        }
    }
    errno = saved_errno;
}

void kiln_notices_forget(void)
{
    for (unsigned i = 0; i < NOTICE_LIMIT; i++)
        atomic_store(&told[i], 0);
}
