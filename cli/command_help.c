/*
 * kiln help, and what --help prints: from the command and option tables.
 */
#include "cli/command_line.h"
#include "cli/reference.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int number;
    const char *text;
} exit_codes[] = {
#define KILN_EXIT_CODE(name, number, text) {#name, number, text},
#include "cli/exit_codes.def"
};

static void print_command_list(void)
{
    puts("usage: kiln COMMAND [OPTION...] [ARGUMENT...]\n\ncommands:");
    for (unsigned i = 0; i < KILN_COMMAND_COUNT; i++) {
        const struct kiln_command *command = kiln_command((enum kiln_command_id)i);
        printf("  %-10s", command->name);
        kiln_reference_print_wrapped(command->summary, 12, 12);
    }
    puts("\n'kiln help COMMAND' explains a command. An option that is given twice counts as given\n"
         "the last time, unless it is repeatable. Variables: docs/environment.md.");
}

static void print_usage(const struct kiln_command *command,
                        const struct kiln_cache_action_row *action)
{
    const char *operands = action ? action->operands : command->operands;
    printf("usage: kiln %s", command->name);
    if (action)
        printf(" %s", action->name);
    printf(" [OPTION...]%s%s\n\n", *operands ? " " : "", operands);
}

static void print_actions(void)
{
    puts("\nactions:");
    for (unsigned i = 0; i < KILN_CACHE_ACTION_COUNT; i++) {
        const struct kiln_cache_action_row *action =
            kiln_cache_action_row((enum kiln_cache_action_id)i);
        int column = printf("  %s %s", action->name, action->operands);
        if (column > 24) {
            putchar('\n');
            column = 0;
        }
        printf("%*s", 26 - column, "");
        kiln_reference_print_wrapped(action->text, 26, 26);
    }
}

void kiln_command_print_help(enum kiln_command_id id, const struct kiln_cache_action_row *action)
{
    if (id == KILN_COMMAND_EVERY) {
        print_command_list();
        return;
    }
    const struct kiln_command *command = kiln_command(id);
    print_usage(command, action);
    kiln_reference_print_wrapped(action ? action->text : command->text, 0, 0);
    if (id == KILN_COMMAND_CACHE && !action)
        print_actions();
    puts("\noptions:");
    for (unsigned i = 0; i < KILN_OPTION_COUNT; i++) {
        const struct kiln_option *option = kiln_option((enum kiln_option_id)i);
        if (!kiln_option_applies((enum kiln_option_id)i, id, action))
            continue;
        int column = option->letter ? printf("  -%c, ", option->letter) : printf("      ");
        column += printf("--%s", option->name);
        if (option->argument)
            column += printf(" %s", option->argument);
        if (column > 24) {
            putchar('\n');
            column = 0;
        }
        printf("%*s", 26 - column, "");
        kiln_reference_print_wrapped(option->text, 26, 26);
    }
    puts("\nexit codes:");
    for (size_t i = 0; i < sizeof(exit_codes) / sizeof(*exit_codes); i++) {
        printf("  %d  ", exit_codes[i].number);
        kiln_reference_print_wrapped(exit_codes[i].text, 5, 5);
    }
}

int kiln_command_help(struct kiln_command_line *line)
{
    const struct kiln_reference_format *format = NULL;
    const char *shell = NULL;
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END) {
        if (option == KILN_OPTION_HELP_COMPLETION)
            shell = line->value;
        else
            format =
                option == KILN_OPTION_HELP_MAN ? &kiln_reference_man : &kiln_reference_markdown;
    }
    if (line->stopped)
        return line->exit_code;
    if (shell) {
        return kiln_completion_print(shell)
                   ? KILN_EXIT_OK
                   : kiln_command_line_fail(line, "bash, zsh or fish",
                                            "there is no completion for '%s'", shell);
    }
    if (format) {
        kiln_reference_print(format);
        return KILN_EXIT_OK;
    }
    enum kiln_command_id id = KILN_COMMAND_EVERY;
    if (line->operand_count && !kiln_command_find(line->operands[0], &id)) {
        char hint[KILN_WORD_HINT_BYTES];
        kiln_command_hint(hint, line->operands[0]);
        return kiln_command_line_fail(line, hint, "unknown command '%s'", line->operands[0]);
    }
    const struct kiln_cache_action_row *action = NULL;
    if (line->operand_count == 2) {
        if (id != KILN_COMMAND_CACHE)
            return kiln_command_line_fail(line, NULL, "'%s' has no actions", line->operands[0]);
        action = kiln_cache_action_find(line->operands[1]);
        if (!action) {
            char hint[KILN_WORD_HINT_BYTES];
            kiln_cache_action_hint(hint, line->operands[1]);
            return kiln_command_line_fail(line, hint, "unknown action '%s'", line->operands[1]);
        }
    }
    kiln_command_print_help(id, action);
    return KILN_EXIT_OK;
}
