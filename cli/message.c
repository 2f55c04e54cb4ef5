#include "cli/message.h"

#include "cli/command_line.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "runtime/support/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool kiln_message_has_color(int descriptor)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return !(no_color && *no_color) && isatty(descriptor) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

/* Results before talk, when both go to the same place. */
static void print_message(const char *who, const char *kind, const char *color, const char *text)
{
    flockfile(stdout);
    flockfile(stderr);
    kiln_progress_wipe_locked();
    fflush(stdout);
    fputs(who, stderr);
    if (kind) {
        bool colored = kiln_message_has_color(STDERR_FILENO);
        fprintf(stderr, ": %s%s:%s ", colored ? color : "", kind, colored ? "\033[0m" : "");
    } else {
        fputs(": ", stderr);
    }
    kiln_text_write(stderr, text, true);
    fputc('\n', stderr);
    fflush(stderr);
    funlockfile(stderr);
    funlockfile(stdout);
}

/* The sentence that --json prints for a command without a result. */
static char last_error[KILN_ERROR_TEXT_BYTES + 512];

static void keep_error(const char *text)
{
    flockfile(stderr);
    (void)snprintf(last_error, sizeof(last_error), "%s", text);
    funlockfile(stderr);
}

void kiln_message_print_json(int exit_code)
{
    const char *hints = kiln_text_split_hints(last_error);
    json_t *error = kiln_json_object();
    kiln_json_set(error, "message", kiln_json_text(last_error));
    kiln_json_set(error, "hint", hints != NULL ? kiln_json_text(hints) : json_null());
    kiln_json_set(error, "exit_code", json_integer(exit_code));
    json_t *document = kiln_json_object();
    kiln_json_set(document, "error", error);
    kiln_json_print(document);
}

#define PRINT_FORMATTED(kind, color)                                                               \
    do {                                                                                           \
        char text[KILN_ERROR_TEXT_BYTES + 512];                                                    \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        vsnprintf(text, sizeof(text), format, arguments);                                          \
        va_end(arguments);                                                                         \
        print_message("kiln", kind, color, text);                                                  \
    } while (0)

void kiln_message_error(const char *format, ...)
{
    char text[sizeof(last_error)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    keep_error(text);
    print_message("kiln", "error", "\033[1;31m", text);
}

void kiln_message_warning(const char *format, ...)
{
    PRINT_FORMATTED("warning", "\033[1;33m");
}

void kiln_message_note(const char *format, ...)
{
    PRINT_FORMATTED("note", "\033[1m");
}

void kiln_message_usage(const char *command, const char *sentence, const char *hint)
{
    char who[64];
    snprintf(who, sizeof(who), command ? "kiln %s" : "kiln", command);
    char text[2048];
    snprintf(text, sizeof(text), "%s%s%s", sentence, hint ? "\nhint: " : "", hint ? hint : "");
    keep_error(text);
    print_message(who, NULL, NULL, text);
}

void kiln_message_log(enum kiln_log_level level, const char *message)
{
    switch (level) {
    case KILN_LOG_INFO:
        print_message("kiln", "info", "", message);
        break;
    case KILN_LOG_WARN:
        print_message("kiln", "warning", "\033[1;33m", message);
        break;
    default:
        print_message("kiln", "error", "\033[1;31m", message);
        break;
    }
}

enum kiln_log_level kiln_message_log_level(void)
{
    enum kiln_log_level level;
    const char *name = "KILN_LOG_LEVEL";
    const char *word = kiln_environment_text(KILN_ENVIRONMENT_KILN_LOG_LEVEL);
    if (!word || !*word) {
        name = "HIPDNN_LOG_LEVEL";
        word = getenv(name);
    }
    if (!word || !*word)
        return KILN_LOG_WARN;
    if (kiln_log_level_parse(word, &level))
        return level;
    kiln_message_warning("%s is '%s', which is no log level\nhint: off, info, warn, error or fatal",
                         name, word);
    return KILN_LOG_WARN;
}

int kiln_message_exit_code(enum kiln_status status)
{
    switch (status) {
    case KILN_OK:
        return KILN_EXIT_OK;
    case KILN_UNSUPPORTED:
    case KILN_IO:
    case KILN_NO_MEMORY:
    case KILN_SHORTAGE:
    case KILN_DEVICE:
    case KILN_REFUSED:
        return KILN_EXIT_ENVIRONMENT;
    default:
        return KILN_EXIT_FAILED;
    }
}
