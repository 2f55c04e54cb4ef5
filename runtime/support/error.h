/*
 * Status codes and error sentences.
 *
 * Calling sequence: a function that can fail returns enum kiln_status and takes, last or next to
 * last, a caller-owned struct kiln_error (never NULL), which it fills only when it fails. Sentences
 * are lower case, say what failed with the subject in single quotes, end without a full stop, and
 * may carry a second line that starts with "hint: ". Library code never prints, exits or aborts.
 */
#ifndef KILN_RUNTIME_SUPPORT_ERROR_H
#define KILN_RUNTIME_SUPPORT_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kiln_status {
#define KILN_STATUS(name, text, advice) KILN_##name,
#include "runtime/support/status.def"
};

/* Bytes of an error sentence with its NUL; longer ones are cut between characters. hipDNN
 * recommends 2048. */
#define KILN_ERROR_TEXT_BYTES 2048

struct kiln_error {
    enum kiln_status status;
    /* enum kiln_reject_reason when status is KILN_REJECTED, else 0. */
    uint32_t reject_reason;
    char text[KILN_ERROR_TEXT_BYTES];
};

/* The noun that goes with a count in a sentence: "kernel" for 1, otherwise "kernels". */
#define KILN_NOUN(count, noun) ((count) == 1 ? noun : noun "s")

#define KILN_NODISCARD __attribute__((warn_unused_result))
#define KILN_PRINTF(format_index, first_argument)                                                  \
    __attribute__((format(printf, format_index, first_argument)))

/* The initial value: success and an empty sentence. Cheap: it does not clear the whole text. */
void kiln_error_init(struct kiln_error *error);

/* Stores status and a formatted sentence; returns status, so that `return kiln_error_set(...)`
 * works. */
enum kiln_status kiln_error_set(struct kiln_error *error, enum kiln_status status,
                                const char *format, ...) KILN_PRINTF(3, 4);
enum kiln_status kiln_error_set_v(struct kiln_error *error, enum kiln_status status,
                                  const char *format, va_list arguments) KILN_PRINTF(3, 0);

/* Appends "\nhint: ..." to the sentence. */
void kiln_error_hint(struct kiln_error *error, const char *format, ...) KILN_PRINTF(2, 3);

/* Puts "prefix: " in front of the sentence (what was being done when it failed). */
void kiln_error_prefix(struct kiln_error *error, const char *format, ...) KILN_PRINTF(2, 3);

/* The status for an errno: KILN_NOT_FOUND, KILN_NO_MEMORY, KILN_SHORTAGE (EMFILE, ENFILE, EAGAIN,
 * EINTR), else KILN_IO. */
enum kiln_status kiln_status_of_errno(int number);
/* True if the same call may succeed a moment later, though nothing was changed for it: memory or
 * something else ran out. Such a failure must not be remembered. */
bool kiln_status_may_pass(enum kiln_status status);

/* "KILN_IO" style name of a status; static, never NULL. */
const char *kiln_status_name(enum kiln_status status);

/* What to do about a failure that has no hint of its own; static, "" for KILN_OK. */
const char *kiln_status_advice(enum kiln_status status);

/* The length of the text without a UTF-8 character at its end that is cut off. Bytes that are no
 * UTF-8 count as whole. */
size_t kiln_utf8_whole(const char *text, size_t length);

/* Copies a text as one line: "; " for a line's end, a blank for other control characters. A text
 * that is too long is cut between characters and ends in "...". Returns the length of the line. */
size_t kiln_one_line(char *ret_line, size_t capacity, const char *text);

#endif
