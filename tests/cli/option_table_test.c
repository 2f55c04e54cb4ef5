/* What the tables must hold for parsing and help to work. */
#include "cli/command_line.h"

#include <criterion/criterion.h>
#include <string.h>

static bool applies(const struct kiln_option *option, unsigned command)
{
    return option->command == (enum kiln_command_id)command ||
           option->command == KILN_COMMAND_EVERY;
}

Test(option_table, names_and_letters_are_unique_per_command)
{
    for (unsigned command = 0; command < KILN_COMMAND_COUNT; command++)
        for (unsigned i = 0; i < KILN_OPTION_COUNT; i++)
            for (unsigned j = i + 1; j < KILN_OPTION_COUNT; j++) {
                const struct kiln_option *one = kiln_option((enum kiln_option_id)i);
                const struct kiln_option *other = kiln_option((enum kiln_option_id)j);
                if (!applies(one, command) || !applies(other, command))
                    continue;
                cr_assert_str_neq(one->name, other->name);
                cr_assert(!one->letter || one->letter != other->letter, "-%c is both --%s and --%s",
                          one->letter, one->name, other->name);
            }
}

Test(option_table, one_option_has_one_meaning_everywhere)
{
    for (unsigned i = 0; i < KILN_OPTION_COUNT; i++)
        for (unsigned j = i + 1; j < KILN_OPTION_COUNT; j++) {
            const struct kiln_option *one = kiln_option((enum kiln_option_id)i);
            const struct kiln_option *other = kiln_option((enum kiln_option_id)j);
            if (strcmp(one->name, other->name) != 0)
                continue;
            cr_assert_eq(one->letter, other->letter, "--%s", one->name);
            cr_assert_eq(!one->argument, !other->argument, "--%s", one->name);
        }
}

Test(option_table, commands_are_found_by_name_only)
{
    enum kiln_command_id id;
    cr_assert(kiln_command_find("run", &id));
    cr_assert_eq(id, KILN_COMMAND_RUN);
    cr_assert_not(kiln_command_find("ru", &id));
    cr_assert_not(kiln_command_find("", &id));
    char hint[KILN_WORD_HINT_BYTES];
    kiln_command_hint(hint, "ru");
    cr_assert_str_eq(hint, "did you mean 'run'?");
}
