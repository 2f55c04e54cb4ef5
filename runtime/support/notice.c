#include "runtime/support/notice.h"

#include "runtime/support/hash.h"
#include "runtime/support/library_lifetime.h"
#include "runtime/support/log.h"
#include "runtime/support/standard_error.h"
#include "runtime/support/told_once.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LEAD "kiln: "
enum { LEAD_BYTES = sizeof LEAD - 1 };

static struct kiln_told told; /* sentences */

void kiln_notice(const char *format, ...)
{
    int saved_errno = errno;
    char text[KILN_LOG_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (kiln_told_add(&told, kiln_hash64(text, strlen(text)))) {
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
    kiln_told_forget(&told);
}
