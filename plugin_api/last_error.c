#include "plugin_api/last_error.h"

#include "runtime/support/buffer.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A plain array: a thread-local destructor would keep the library from being unloaded. */
static _Thread_local char last_error[HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH];

const char *kiln_last_error(void)
{
    return last_error;
}

/* Of a failure: never success, which would have the host use an output that was not written. Only
 * statuses that hosts of Nov 2025 know too. */
static hipdnnPluginStatus_t plugin_status(enum kiln_status status)
{
    switch (status) {
    case KILN_BAD_ARGUMENT:
        return HIPDNN_PLUGIN_STATUS_BAD_PARAM;
    case KILN_REJECTED:
        return HIPDNN_PLUGIN_STATUS_INVALID_VALUE;
    case KILN_NO_MEMORY:
        return HIPDNN_PLUGIN_STATUS_ALLOC_FAILED;
    default:
        return HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR;
    }
}

/* A piece of an error's text: not ended by a NUL. */
struct piece {
    const char *text;
    size_t length;
};

enum {
    NAME_SHOWN_BYTES = 36,   /* of a path or a name in the first words */
    ADVICE_SHOWN_BYTES = 80, /* of the advice there */
};

/* The end of the quoted name, or of the path, that starts at `at`; `at` if there is none. */
static const char *name_end(struct piece piece, const char *at, bool is_quoted)
{
    const char *end = piece.text + piece.length;
    if (!is_quoted && !(*at == '/' && (at == piece.text || at[-1] == ' ')))
        return at;
    const char *stop = at;
    while (stop < end && (is_quoted ? *stop != '\'' : strchr(" ,;:)", *stop) == NULL))
        stop++;
    return is_quoted && stop == end ? at : stop;
}

/* Appends a name: of a long path its end, of another long name its beginning. */
static void append_name(struct kiln_buffer *text, const char *name, size_t length)
{
    if (length <= NAME_SHOWN_BYTES) {
        kiln_buffer_append(text, name, length);
    } else if (*name == '/') {
        const char *tail = name + length - NAME_SHOWN_BYTES;
        const char *slash = memchr(tail, '/', NAME_SHOWN_BYTES);
        tail = slash ? slash : tail;
        while (((unsigned char)*tail & 0xc0) == 0x80 && tail < name + length)
            tail++;
        kiln_buffer_printf(text, "...%.*s", (int)(name + length - tail), tail);
    } else {
        kiln_buffer_append(text, name, kiln_utf8_whole(name, NAME_SHOWN_BYTES));
        kiln_buffer_append_text(text, "...");
    }
}

/* Appends the piece in at most `capacity` bytes: long names are shortened, and what is still too
 * long is cut. True when all of it is there. */
static bool append_short(struct kiln_buffer *text, struct piece piece, size_t capacity)
{
    size_t before = text->size;
    const char *end = piece.text + piece.length;
    bool is_whole = piece.length <= capacity;
    if (is_whole) {
        kiln_buffer_append(text, piece.text, piece.length);
        return true;
    }
    bool is_quoted = false;
    for (const char *at = piece.text; at < end;) {
        const char *stop = name_end(piece, at, is_quoted);
        if (stop != at) {
            append_name(text, at, (size_t)(stop - at));
            kiln_buffer_append(text, stop, is_quoted);
            at = stop + is_quoted;
            is_quoted = false;
            continue;
        }
        /* An apostrophe opens nothing. */
        is_quoted = !is_quoted && *at == '\'' && (at == piece.text || strchr(" (", at[-1]));
        kiln_buffer_append(text, at++, 1);
    }
    if (!text->failed && text->size - before > capacity) {
        text->size = before + kiln_utf8_whole(text->data + before, capacity - 3);
        kiln_buffer_append_text(text, "...");
    }
    return false;
}

/* The advice of an error: its first hint, otherwise what its status advises. `ret_end` is where the
 * hint ends; NULL without one. */
static struct piece find_advice(const struct kiln_error *error, const char **ret_end)
{
    static const char mark[] = "\nhint: ";
    const char *hint = strstr(error->text, mark);
    const char *advice = hint ? hint + sizeof(mark) - 1 : kiln_status_advice(error->status);
    size_t length = strcspn(advice, "\n");
    /* A hint right after the sentence need not be told twice. */
    bool is_next = hint && hint == error->text + strcspn(error->text, "\n");
    *ret_end = is_next ? advice + length : NULL;
    return (struct piece){advice, length};
}

/*
 * hipDNN's frontend shows 256 characters, some 90 of them its own words. So what failed and what to
 * do about it come in the first KILN_LAST_ERROR_SEEN, with long paths and names shortened; after
 * that comes the whole text, where something was shortened, otherwise the rest. One line, since
 * hosts log it.
 */
hipdnnPluginStatus_t kiln_last_error_set(const struct kiln_error *error)
{
    const char *hint_end;
    struct piece sentence = {error->text, strcspn(error->text, "\n")};
    struct piece advice = find_advice(error, &hint_end);
    struct kiln_buffer advice_text;
    struct kiln_buffer text;
    kiln_buffer_init(&advice_text);
    kiln_buffer_init(&text);
    size_t separator = advice.length ? 2 : 0;
    /* The advice may have what the sentence leaves. */
    size_t left = sentence.length + separator < KILN_LAST_ERROR_SEEN
                      ? KILN_LAST_ERROR_SEEN - sentence.length - separator
                      : 0;
    bool is_whole =
        append_short(&advice_text, advice, left > ADVICE_SHOWN_BYTES ? left : ADVICE_SHOWN_BYTES);
    is_whole &= append_short(&text, sentence, KILN_LAST_ERROR_SEEN - separator - advice_text.size);
    if (separator)
        kiln_buffer_append_text(&text, "; ");
    kiln_buffer_append(&text, advice_text.data, advice_text.size);
    if (!is_whole)
        kiln_buffer_printf(&text, "; in full: %s", error->text);
    else
        kiln_buffer_append_text(&text, hint_end ? hint_end : error->text + sentence.length);
    /* Out of memory: the error may be about just that. */
    (void)kiln_one_line(last_error, sizeof(last_error),
                        text.failed || advice_text.failed ? error->text : kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    kiln_buffer_fini(&advice_text);
    return plugin_status(error->status);
}

hipdnnPluginStatus_t kiln_last_error_bad_param(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(last_error, sizeof(last_error), format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof(last_error))
        last_error[kiln_utf8_whole(last_error, sizeof(last_error) - 1)] = '\0';
    return HIPDNN_PLUGIN_STATUS_BAD_PARAM;
}
