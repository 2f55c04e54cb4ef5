#include "cli/command_line.h"

#include "cli/message.h"
#include "cli/text.h"
#include "runtime/support/log.h"
#include "runtime/support/suggest.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kiln_command commands[] = {
#define KILN_COMMAND(id, name, operands, least, most, summary, text)                               \
    {#name, operands, least, most, summary, text, kiln_command_##name},
#include "cli/cli_commands.def"
};

static const struct kiln_option options[] = {
#define KILN_OPTION(command, id, name, letter, argument, text)                                     \
    {KILN_COMMAND_##command, name, letter, argument, text},
#include "cli/cli_options.def"
};

static const struct kiln_cache_action_row cache_actions[] = {
#define KILN_CACHE_ACTION(name, operands, least, most, options, needs, run, text)                  \
    {#name, operands, least, most, options, text},
#include "cli/cache/cache_actions.def"
};

const struct kiln_command *kiln_command(enum kiln_command_id id)
{
    return &commands[id];
}

const struct kiln_option *kiln_option(enum kiln_option_id id)
{
    return &options[id];
}

bool kiln_command_find(const char *name, enum kiln_command_id *ret_id)
{
    for (unsigned i = 0; i < KILN_COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            *ret_id = (enum kiln_command_id)i;
            return true;
        }
    }
    return false;
}

void kiln_command_hint(char ret_hint[KILN_WORD_HINT_BYTES], const char *name)
{
    const char *names[KILN_COMMAND_COUNT];
    for (unsigned i = 0; i < KILN_COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    if (!kiln_word_hint(ret_hint, name, "", names, KILN_COMMAND_COUNT))
        (void)snprintf(ret_hint, KILN_WORD_HINT_BYTES, "'kiln help' lists the commands");
}

const struct kiln_cache_action_row *kiln_cache_action_row(enum kiln_cache_action_id id)
{
    return &cache_actions[id];
}

const struct kiln_cache_action_row *kiln_cache_action_find(const char *name)
{
    for (unsigned i = 0; i < KILN_CACHE_ACTION_COUNT; i++)
        if (strcmp(cache_actions[i].name, name) == 0)
            return &cache_actions[i];
    return NULL;
}

void kiln_cache_action_hint(char ret_hint[KILN_WORD_HINT_BYTES], const char *name)
{
    const char *names[KILN_CACHE_ACTION_COUNT];
    for (unsigned i = 0; i < KILN_CACHE_ACTION_COUNT; i++)
        names[i] = cache_actions[i].name;
    if (kiln_word_hint(ret_hint, name, "", names, KILN_CACHE_ACTION_COUNT))
        return;
    size_t used = 0;
    for (unsigned i = 0; i < KILN_CACHE_ACTION_COUNT; i++) {
        const char *separator = i + 1 == KILN_CACHE_ACTION_COUNT ? " or " : ", ";
        used += (size_t)snprintf(ret_hint + used, KILN_WORD_HINT_BYTES - used, "%s%s",
                                 i ? separator : "", names[i]);
    }
}

static bool option_belongs(unsigned option, enum kiln_command_id command)
{
    return options[option].command == command || options[option].command == KILN_COMMAND_EVERY;
}

/* True when a list with spaces has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (; *list; list += strcspn(list, " "), list += strspn(list, " "))
        if (strcspn(list, " ") == length && strncmp(list, word, length) == 0)
            return true;
    return false;
}

bool kiln_option_applies(enum kiln_option_id option, enum kiln_command_id command,
                         const struct kiln_cache_action_row *action)
{
    if (!option_belongs((unsigned)option, command))
        return false;
    bool is_of_some = false;
    for (unsigned i = 0; action != NULL && i < KILN_CACHE_ACTION_COUNT; i++)
        is_of_some = is_of_some || has_word(cache_actions[i].options, options[option].name);
    return !is_of_some || has_word(action->options, options[option].name);
}

void kiln_command_line_init(struct kiln_command_line *line, enum kiln_command_id command, int argc,
                            char **argv)
{
    memset(line, 0, sizeof(*line));
    line->command = command;
    line->argc = argc;
    line->argv = argv;
}

int kiln_command_line_fail(struct kiln_command_line *line, const char *hint, const char *format,
                           ...)
{
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    kiln_message_usage(commands[line->command].name, sentence, hint);
    line->stopped = true;
    line->exit_code = KILN_EXIT_USAGE;
    return line->exit_code;
}

static void fail_unknown_option(struct kiln_command_line *line, const char *given)
{
    char hint[KILN_WORD_HINT_BYTES];
    snprintf(hint, sizeof(hint), "'kiln help %s' lists the options", commands[line->command].name);
    if (strncmp(given, "--", 2) == 0) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(given + 2, "="), given + 2);
        const char *names[KILN_OPTION_COUNT];
        size_t count = 0;
        size_t beginnings = 0;
        for (unsigned i = 0; i < KILN_OPTION_COUNT; i++) {
            if (option_belongs(i, line->command)) {
                names[count++] = options[i].name;
                beginnings += name[0] && strncmp(options[i].name, name, strlen(name)) == 0;
            }
        }
        char near[KILN_WORD_HINT_BYTES];
        if (kiln_word_hint(near, name, "--", names, count))
            memcpy(hint, near, sizeof(hint));
        kiln_command_line_fail(
            line, hint, beginnings > 1 ? "option '--%s' is ambiguous" : "unknown option '--%s'",
            name);
    } else {
        kiln_command_line_fail(line, hint, "unknown option '-%c'", optopt ? optopt : given[1]);
    }
}

static void check_operands(struct kiln_command_line *line)
{
    const struct kiln_command *command = &commands[line->command];
    line->operand_count = line->argc - optind;
    line->operands = line->argv + optind;
    char hint[128];
    snprintf(hint, sizeof(hint), "usage: kiln %s [OPTION...]%s%s", command->name,
             *command->operands ? " " : "", command->operands);
    if (line->operand_count < command->least) {
        kiln_command_line_fail(line, hint, "%.*s is missing", (int)strcspn(command->operands, " ."),
                               command->operands);
    } else if (line->operand_count > command->most) {
        kiln_command_line_fail(line, hint, "unexpected argument '%s'",
                               line->operands[command->most]);
    }
}

/* The action that help is wanted of, when the arguments name one. */
static const struct kiln_cache_action_row *action_among(const struct kiln_command_line *line)
{
    const struct kiln_cache_action_row *action = NULL;
    for (int i = 1; line->command == KILN_COMMAND_CACHE && i < line->argc && action == NULL; i++)
        action = kiln_cache_action_find(line->argv[i]);
    return action;
}

enum kiln_option_id kiln_command_line_next(struct kiln_command_line *line)
{
    struct option long_options[KILN_OPTION_COUNT + 1];
    char letters[KILN_OPTION_COUNT * 2 + 2];
    size_t long_count = 0;
    size_t letter_count = 0;
    /* getopt returns a letter or, for options without one, 256 + the row. ':' asks for "missing
     * value" apart. */
    letters[letter_count++] = ':';
    for (unsigned i = 0; i < KILN_OPTION_COUNT; i++) {
        if (!option_belongs(i, line->command))
            continue;
        long_options[long_count++] =
            (struct option){options[i].name, options[i].argument ? required_argument : no_argument,
                            NULL, (int)(256 + i)};
        if (options[i].letter) {
            letters[letter_count++] = options[i].letter;
            if (options[i].argument)
                letters[letter_count++] = ':';
        }
    }
    long_options[long_count] = (struct option){0};
    letters[letter_count] = '\0';

    if (line->stopped)
        return KILN_OPTION_END;
    if (!line->started) {
        line->started = true;
        optind = 0; /* GNU: starts a new scan */
        opterr = 0;
    }
    for (;;) {
        int scanned = optind ? optind : 1;
        int code = getopt_long(line->argc, line->argv, letters, long_options, NULL);
        if (code == -1) {
            check_operands(line);
            return KILN_OPTION_END;
        }
        const char *given = line->argv[optind > scanned ? optind - 1 : scanned];
        if (code == ':') {
            unsigned row = optopt >= 256 ? (unsigned)optopt - 256 : 0;
            for (unsigned i = 0; optopt < 256 && i < KILN_OPTION_COUNT; i++)
                if (option_belongs(i, line->command) && options[i].letter == optopt)
                    row = i;
            kiln_command_line_fail(line, NULL, "option '--%s' needs a value: %s", options[row].name,
                                   options[row].argument);
            return KILN_OPTION_END;
        }
        if (code == '?') {
            if (optopt >= 256) {
                kiln_command_line_fail(line, NULL, "option '--%s' takes no value",
                                       options[optopt - 256].name);
            } else {
                fail_unknown_option(line, given);
            }
            return KILN_OPTION_END;
        }
        unsigned row = code >= 256 ? (unsigned)code - 256 : 0;
        for (unsigned i = 0; code < 256 && i < KILN_OPTION_COUNT; i++)
            if (option_belongs(i, line->command) && options[i].letter == code)
                row = i;
        if (row == KILN_OPTION_EVERY_HELP) {
            kiln_command_print_help(line->command, action_among(line));
            line->stopped = true;
            line->exit_code = KILN_EXIT_OK;
            return KILN_OPTION_END;
        }
        if (row == KILN_OPTION_EVERY_VERBOSE) {
            kiln_log_set_level(KILN_LOG_INFO);
            continue;
        }
        line->value = optarg;
        line->option = (enum kiln_option_id)row;
        return line->option;
    }
}

bool kiln_command_line_number(struct kiln_command_line *line, uint64_t low, uint64_t high,
                              uint64_t *ret_number)
{
    const char *text = line->value;
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    /* strtoull takes a sign and leading blanks; a count has neither. */
    if (text[0] < '0' || text[0] > '9' || *end || errno || number < low || number > high) {
        kiln_command_line_fail(
            line, NULL, "option '--%s' takes a number from %llu to %llu, not '%s'",
            options[line->option].name, (unsigned long long)low, (unsigned long long)high, text);
        return false;
    }
    *ret_number = number;
    return true;
}
