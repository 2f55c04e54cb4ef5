/* Where output goes and what happens when it cannot. */
#include "tests/cli/kiln_process.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

static struct kiln_process help_with(struct kiln_process process)
{
    static const char *const arguments[] = {"help", "--markdown", NULL};
    process.arguments = arguments;
    kiln_process_run(&process);
    return process;
}

Test(kiln_output, a_full_device_is_an_error)
{
    struct kiln_process kiln = help_with((struct kiln_process){.full_stdout = true});
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "cannot write to standard output"), "%s", kiln.err);
}

Test(kiln_output, a_closed_stdout_is_an_error)
{
    struct kiln_process kiln = help_with((struct kiln_process){.close_stdout = true});
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "cannot write to standard output"), "%s", kiln.err);
}

Test(kiln_output, a_reader_that_left_is_a_silent_failure)
{
    struct kiln_process kiln = help_with((struct kiln_process){.broken_stdout = true});
    cr_assert_eq(kiln.exit_code, 3, "not killed by SIGPIPE, not a success: %d", kiln.exit_code);
    cr_assert_str_empty(kiln.err);
}

Test(kiln_output, colour_is_for_terminals)
{
    static const char *const arguments[] = {"run", "no-such-graph", NULL};
    struct kiln_process on_terminal = {.arguments = arguments, .terminal = true};
    kiln_process_run(&on_terminal);
    cr_assert(strstr(on_terminal.out, "\033[1;31merror:"), "%s", on_terminal.out);
    static const char *const no_color[] = {"NO_COLOR=1", NULL};
    struct kiln_process without = {
        .arguments = arguments, .terminal = true, .environment = no_color};
    kiln_process_run(&without);
    cr_assert_null(strchr(without.out, '\033'), "%s", without.out);
    static const char *const dumb[] = {"TERM=dumb", NULL};
    struct kiln_process on_dumb = {.arguments = arguments, .terminal = true, .environment = dumb};
    kiln_process_run(&on_dumb);
    cr_assert_null(strchr(on_dumb.out, '\033'), "%s", on_dumb.out);
    struct kiln_process in_file = {.arguments = arguments};
    kiln_process_run(&in_file);
    cr_assert_null(strchr(in_file.err, '\033'), "%s", in_file.err);
    cr_assert(strstr(in_file.err, "kiln: error: "), "%s", in_file.err);
}

Test(kiln_output, a_wrong_log_level_is_a_warning)
{
    static const char *const arguments[] = {"version", NULL};
    static const char *const environment[] = {"KILN_LOG_LEVEL=loud", NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.err, "KILN_LOG_LEVEL is 'loud'"), "%s", kiln.err);
}

Test(kiln_output, names_of_files_cannot_move_the_cursor)
{
    struct kiln_process kiln = KILN("run", "no\033[2Jfile\n");
    cr_assert_null(strchr(kiln.err, '\033'));
    cr_assert(strstr(kiln.err, "\\x1b[2J"), "%s", kiln.err);
}
