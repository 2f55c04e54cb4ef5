#include "plugin_api/last_error.h"

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

/* An error's text in parts: the sentence up to the first line's end, the advice (the first hint, or
 * what the status advises) and the rest. */
struct parts {
    const char *sentence;
    int sentence_length;
    const char *advice;
    int advice_length;
    const char *rest;
};

static struct parts take_apart(const struct kiln_error *error)
{
    static const char mark[] = "\nhint: ";
    struct parts parts = {.sentence = error->text, .advice = kiln_status_advice(error->status)};
    const char *end = strchr(error->text, '\n');
    parts.rest = end ? end : "";
    parts.sentence_length = (int)(end ? (size_t)(end - error->text) : strlen(error->text));
    const char *hint = strstr(error->text, mark);
    if (hint)
        parts.advice = hint + sizeof(mark) - 1;
    parts.advice_length = (int)strcspn(parts.advice, "\n");
    if (hint == parts.rest) /* it is not told twice */
        parts.rest = parts.advice + parts.advice_length;
    return parts;
}

/*
 * hipDNN's frontend shows 256 characters, some 90 of them its own words. So both what failed and
 * what to do have to begin in the first KILN_LAST_ERROR_SEEN: in their natural order where both
 * fit, else what to do first. One line, since hosts log it.
 */
hipdnnPluginStatus_t kiln_last_error_set(const struct kiln_error *error)
{
    struct parts parts = take_apart(error);
    bool fits = parts.sentence_length + 2 + parts.advice_length <= KILN_LAST_ERROR_SEEN;
    char text[HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH + 1];
    if (parts.advice_length == 0)
        snprintf(text, sizeof(text), "%s", error->text);
    else if (fits)
        snprintf(text, sizeof(text), "%.*s; %.*s%s", parts.sentence_length, parts.sentence,
                 parts.advice_length, parts.advice, parts.rest);
    else
        snprintf(text, sizeof(text), "%.*s: %.*s%s", parts.advice_length, parts.advice,
                 parts.sentence_length, parts.sentence, parts.rest);
    (void)kiln_one_line(last_error, sizeof(last_error), text);
    return plugin_status(error->status);
}

hipdnnPluginStatus_t kiln_last_error_bad_param(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof(last_error), format, arguments);
    va_end(arguments);
    return HIPDNN_PLUGIN_STATUS_BAD_PARAM;
}
