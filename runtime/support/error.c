#include "runtime/support/error.h"

#include "runtime/support/buffer.h"

#include <stdio.h>
#include <string.h>

void kiln_error_init(struct kiln_error *error)
{
    error->status = KILN_OK;
    error->reject_reason = 0;
    error->text[0] = '\0';
}

enum kiln_status kiln_error_set_v(struct kiln_error *error, enum kiln_status status,
                                  const char *format, va_list arguments)
{
    error->status = status;
    error->reject_reason = 0;
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    return status;
}

enum kiln_status kiln_error_set(struct kiln_error *error, enum kiln_status status,
                                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kiln_error_set_v(error, status, format, arguments);
    va_end(arguments);
    return status;
}

void kiln_error_hint(struct kiln_error *error, const char *format, ...)
{
    size_t used = strlen(error->text);
    int written = snprintf(error->text + used, sizeof error->text - used, "\nhint: ");
    if (written < 0 || used + (size_t)written >= sizeof error->text)
        return;
    used += (size_t)written;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text + used, sizeof error->text - used, format, arguments);
    va_end(arguments);
}

void kiln_error_prefix(struct kiln_error *error, const char *format, ...)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    va_list arguments;
    va_start(arguments, format);
    char prefix[256];
    (void)vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    kiln_buffer_printf(&text, "%s: %s", prefix, error->text);
    if (!text.failed) {
        size_t length = text.size < sizeof error->text ? text.size : sizeof error->text - 1;
        memcpy(error->text, text.data, length);
        error->text[length] = '\0';
    }
    kiln_buffer_fini(&text);
}

const char *kiln_status_name(enum kiln_status status)
{
    static const char *const names[] = {
#define KILN_STATUS(name, text) "KILN_" #name,
#include "runtime/support/status.def"
    };
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "KILN_UNKNOWN";
}
