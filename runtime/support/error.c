#include "runtime/support/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void kiln_error_init(struct kiln_error *error)
{
    error->status = KILN_OK;
    error->reject_reason = 0;
    error->text[0] = '\0';
}

size_t kiln_utf8_whole(const char *text, size_t length)
{
    size_t start = length; /* of the last character */
    while (start != 0 && length - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0)
        return length;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return length - (start - 1) < needed ? start - 1 : length;
}

/* Formats into `capacity` bytes, the NUL included. */
static void format_text(char *ret_text, size_t capacity, const char *format, va_list arguments)
{
    int length = vsnprintf(ret_text, capacity, format, arguments);
    if (length >= 0 && (size_t)length >= capacity)
        ret_text[kiln_utf8_whole(ret_text, capacity - 1)] = '\0';
}

enum kiln_status kiln_error_set_v(struct kiln_error *error, enum kiln_status status,
                                  const char *format, va_list arguments)
{
    error->status = status;
    error->reject_reason = 0;
    format_text(error->text, sizeof error->text, format, arguments);
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
    static const char lead[] = "\nhint: ";
    size_t used = strlen(error->text);
    if (sizeof error->text - used <= sizeof lead)
        return;
    memcpy(error->text + used, lead, sizeof lead);
    used += sizeof lead - 1;
    va_list arguments;
    va_start(arguments, format);
    format_text(error->text + used, sizeof error->text - used, format, arguments);
    va_end(arguments);
}

/* Allocates nothing: the sentence may be about memory that ran out. */
void kiln_error_prefix(struct kiln_error *error, const char *format, ...)
{
    char prefix[256];
    va_list arguments;
    va_start(arguments, format);
    format_text(prefix, sizeof prefix - 2, format, arguments);
    va_end(arguments);
    size_t length = strlen(prefix);
    memcpy(prefix + length, ": ", 2);
    length += 2;

    size_t kept = strlen(error->text);
    if (kept > sizeof error->text - 1 - length)
        kept = kiln_utf8_whole(error->text, sizeof error->text - 1 - length);
    memmove(error->text + length, error->text, kept);
    error->text[length + kept] = '\0';
    memcpy(error->text, prefix, length);
}

enum kiln_status kiln_status_of_errno(int number)
{
    switch (number) {
    case ENOENT:
        return KILN_NOT_FOUND;
    case ENOMEM:
        return KILN_NO_MEMORY;
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case EINTR:
        return KILN_SHORTAGE;
    default:
        return KILN_IO;
    }
}

bool kiln_status_may_pass(enum kiln_status status)
{
    return status == KILN_NO_MEMORY || status == KILN_SHORTAGE;
}

const char *kiln_status_name(enum kiln_status status)
{
    static const char *const names[] = {
#define KILN_STATUS(name, text, advice) "KILN_" #name,
#include "runtime/support/status.def"
    };
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "KILN_UNKNOWN";
}

const char *kiln_status_advice(enum kiln_status status)
{
    static const char *const advices[] = {
#define KILN_STATUS(name, text, advice) advice,
#include "runtime/support/status.def"
    };
    return (size_t)status < sizeof advices / sizeof *advices ? advices[status] : "";
}

size_t kiln_one_line(char *ret_line, size_t capacity, const char *text)
{
    static const char separator[] = "; ";
    static const char dots[] = "...";
    size_t used = 0;
    bool is_cut = false;
    for (const char *at = text; *at != '\0' && !is_cut; at++) {
        char one[] = {*at, '\0'};
        const char *piece = one;
        if (*at == '\n')
            piece = at[1] != '\0' && at[1] != '\n' && used != 0 ? separator : "";
        else if ((unsigned char)*at < ' ' || *at == 0x7f)
            one[0] = ' ';
        size_t length = strlen(piece);
        is_cut = length >= capacity - used;
        if (!is_cut)
            memcpy(ret_line + used, piece, length);
        used += is_cut ? 0 : length;
    }
    if (is_cut && capacity >= sizeof dots) {
        if (used > capacity - sizeof dots)
            used = capacity - sizeof dots;
        used = kiln_utf8_whole(ret_line, used);
        memcpy(ret_line + used, dots, sizeof dots);
        return used + sizeof dots - 1;
    }
    ret_line[used] = '\0';
    return used;
}
