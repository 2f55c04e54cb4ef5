#include "compiler/codegen/compile_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOG_SHOWN_BYTES = 900, /* of the error text */
    LINE_SHOWN_BYTES = 160,
    REASON_SHOWN_BYTES = 300,
};

struct diagnostic {
    const char *reason; /* behind "error: ", up to the end of the line */
    size_t reason_length;
    unsigned long line; /* of the source, from 1; 0: not told */
};

/* Reads the first "file:line:column: error: reason", or NVRTC's "file(line): error: reason", of a
 * log. */
static bool find_diagnostic(const char *log, struct diagnostic *ret_diagnostic)
{
    static const char mark[] = "error: ";
    const char *at = strstr(log, mark);
    if (at == NULL)
        return false;
    struct diagnostic diagnostic = {.reason = at + sizeof mark - 1};
    diagnostic.reason_length = strcspn(diagnostic.reason, "\n");
    const char *start = at;
    while (start > log && start[-1] != '\n')
        start--;
    /* The first number between two colons or in parentheses; a file name may hold neither. */
    for (const char *colon = start; colon < at && diagnostic.line == 0; colon++) {
        char *end;
        if ((*colon != ':' && *colon != '(') || colon[1] < '0' || colon[1] > '9')
            continue;
        unsigned long number = strtoul(colon + 1, &end, 10);
        if (*end == (*colon == '(' ? ')' : ':'))
            diagnostic.line = number;
    }
    *ret_diagnostic = diagnostic;
    return true;
}

/* Line `number` of the source without leading blanks; NULL when there is none. */
static const char *find_line(const struct kiln_compile_source *source, unsigned long number,
                             size_t *ret_length)
{
    const char *at = source->text;
    const char *end = source->text + source->size_bytes;
    for (unsigned long line = 1; line < number && at != NULL; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at != NULL)
            at++;
    }
    if (at == NULL || number == 0)
        return NULL;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    *ret_length = (size_t)((newline != NULL ? newline : end) - at);
    return at;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n' || at[1] == '\0';
    return lines;
}

static void append_log(struct kiln_buffer *text, const char *log)
{
    size_t shown = strlen(log);
    while (shown != 0 && log[shown - 1] == '\n')
        shown--;
    if (shown == 0)
        return;
    bool is_cut = shown > LOG_SHOWN_BYTES;
    if (is_cut) {
        shown = LOG_SHOWN_BYTES;
        while (shown != 0 && log[shown] != '\n')
            shown--;
        if (shown == 0)
            shown = LOG_SHOWN_BYTES;
    }
    kiln_buffer_printf(text, "\nlog:\n%.*s", (int)shown, log);
    if (is_cut)
        kiln_buffer_printf(text, "\n[%zu more lines]", count_lines(log + shown + 1));
}

/* Compilers say it in words only. */
static bool is_out_of_memory(const char *text)
{
    static const char *const words[] = {"out of memory", "memory exhausted", "bad_alloc",
                                        "Cannot allocate memory", "OUT_OF_MEMORY"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(text, words[i]) != NULL)
            return true;
    }
    return false;
}

void kiln_compile_error_complete(const struct kiln_compile_request *request, const char *compiler,
                                 const struct kiln_buffer *log, struct kiln_error *error)
{
    struct kiln_buffer text;
    struct diagnostic diagnostic;
    const char *log_text = kiln_buffer_text(log);
    enum kiln_status status = error->status;
    kiln_buffer_init(&text);
    /* Hints stand behind the log. */
    char *hint = strstr(error->text, "\nhint: ");
    if (hint != NULL)
        *hint = '\0';
    char *hint_copy = hint != NULL ? strdup(hint + sizeof "\nhint: " - 1) : NULL;
    bool out_of_memory = is_out_of_memory(error->text) || is_out_of_memory(log_text);
    if (out_of_memory) {
        kiln_buffer_printf(&text,
                           "the compiler ran out of memory, for kernel '%.200s' of target '%s' "
                           "(%.300s)",
                           request->source.symbol, request->target.name, error->text);
    } else if (find_diagnostic(log_text, &diagnostic)) {
        kiln_buffer_printf(&text, "compiler '%s' refused kernel '%.200s' for '%s': %.*s", compiler,
                           request->source.symbol, request->target.name,
                           diagnostic.reason_length < REASON_SHOWN_BYTES
                               ? (int)diagnostic.reason_length
                               : REASON_SHOWN_BYTES,
                           diagnostic.reason);
        size_t length = 0;
        const char *line = find_line(&request->source, diagnostic.line, &length);
        if (line != NULL)
            kiln_buffer_printf(&text, ", in line %lu: '%.*s'", diagnostic.line,
                               length < LINE_SHOWN_BYTES ? (int)length : LINE_SHOWN_BYTES, line);
    } else {
        kiln_buffer_printf(&text, "%.700s, for kernel '%.200s' of target '%s'", error->text,
                           request->source.symbol, request->target.name);
    }
    append_log(&text, log_text);
    if (!text.failed)
        (void)kiln_error_set(error, status, "%s", text.data);
    kiln_buffer_fini(&text);
    if (hint_copy != NULL)
        kiln_error_hint(error, "%s", hint_copy);
    free(hint_copy);
    if (out_of_memory)
        kiln_error_hint(error, "KILN_COMPILE_MEMORY is the memory of a compiler, in MiB");
    if (status == KILN_TIMEOUT)
        kiln_error_hint(error, "KILN_COMPILE_TIMEOUT is the time for a kernel, in seconds");
}
