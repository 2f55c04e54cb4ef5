/*
 * The command line: commands and their options, from cli_commands.def and cli_options.def.
 *
 * Calling sequence of a command: kiln_command_line_next until it returns KILN_OPTION_END, acting on
 * each option; then, when `stopped` is set, return exit_code at once (a usage error was reported,
 * or help printed); operands[0..operand_count) are checked against the command's row by then.
 */
#ifndef KILN_CLI_COMMAND_LINE_H
#define KILN_CLI_COMMAND_LINE_H

#include "runtime/support/error.h"
#include "runtime/support/suggest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kiln_exit_code {
#define KILN_EXIT_CODE(name, number, text) KILN_EXIT_##name = number,
#include "cli/exit_codes.def"
};

enum { KILN_OPERANDS_ANY = 1 << 30 };

enum kiln_command_id {
#define KILN_COMMAND(id, name, operands, least, most, summary, text) KILN_COMMAND_##id,
#include "cli/cli_commands.def"
    KILN_COMMAND_COUNT,
    KILN_COMMAND_EVERY = KILN_COMMAND_COUNT
};

enum kiln_option_id {
    KILN_OPTION_END = -1,
#define KILN_OPTION(command, id, name, letter, argument, text) KILN_OPTION_##command##_##id,
#include "cli/cli_options.def"
    KILN_OPTION_COUNT
};

/* Actions of `kiln cache`. */
enum kiln_cache_action_id {
#define KILN_CACHE_ACTION(name, operands, least, most, options, needs, run, text)                  \
    KILN_CACHE_ACTION_##name,
#include "cli/cache/cache_actions.def"
    KILN_CACHE_ACTION_COUNT
};

struct kiln_command_line;

/* The columns of cache_actions.def that describe the command line. */
struct kiln_cache_action_row {
    const char *name;
    const char *operands;
    int least;
    int most;
    const char *options;
    const char *text;
};

struct kiln_command {
    const char *name;
    const char *operands;
    int least;
    int most;
    const char *summary;
    const char *text;
    int (*run)(struct kiln_command_line *line); /* returns the exit code */
};

struct kiln_option {
    enum kiln_command_id command;
    const char *name;
    char letter;
    const char *argument;
    const char *text;
};

struct kiln_command_line {
    enum kiln_command_id command;
    int argc; /* argv[0] is the command's name */
    char **argv;
    bool started;
    const char *value; /* of the option just returned; NULL for switches */
    enum kiln_option_id option;
    bool stopped;
    int exit_code;
    int operand_count;
    char **operands;
};

const struct kiln_command *kiln_command(enum kiln_command_id id);
const struct kiln_option *kiln_option(enum kiln_option_id id);
const struct kiln_cache_action_row *kiln_cache_action_row(enum kiln_cache_action_id id);
/* Null when no action has the name. */
const struct kiln_cache_action_row *kiln_cache_action_find(const char *name);
/* The hint for a name that no action has: near misses, otherwise all of them. */
void kiln_cache_action_hint(char ret_hint[KILN_WORD_HINT_BYTES], const char *name);
/* True when the option may be given to the command and, unless that is NULL, to its action. */
bool kiln_option_applies(enum kiln_option_id option, enum kiln_command_id command,
                         const struct kiln_cache_action_row *action);
/* False when no command has the name. */
bool kiln_command_find(const char *name, enum kiln_command_id *ret_id);
/* The hint for a name that no command has: near misses, otherwise where the list is. */
void kiln_command_hint(char ret_hint[KILN_WORD_HINT_BYTES], const char *name);

void kiln_command_line_init(struct kiln_command_line *line, enum kiln_command_id command, int argc,
                            char **argv);
enum kiln_option_id kiln_command_line_next(struct kiln_command_line *line);
/* The value of the option just returned as a number within [low, high]; else reports and stops. */
bool kiln_command_line_number(struct kiln_command_line *line, uint64_t low, uint64_t high,
                              uint64_t *ret_number);
/* Reports "kiln COMMAND: sentence", stops the line with KILN_EXIT_USAGE and returns that. `hint`
 * may be NULL. */
int kiln_command_line_fail(struct kiln_command_line *line, const char *hint, const char *format,
                           ...) KILN_PRINTF(3, 4);

/* Help of one command, of one of its actions unless that is NULL, or of all commands for
 * KILN_COMMAND_EVERY, on stdout. */
void kiln_command_print_help(enum kiln_command_id id, const struct kiln_cache_action_row *action);

#define KILN_COMMAND(id, name, operands, least, most, summary, text)                               \
    int kiln_command_##name(struct kiln_command_line *line);
#include "cli/cli_commands.def"

#endif
