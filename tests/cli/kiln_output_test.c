/* Where output goes and what happens when it cannot. */
#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

TestSuite(kiln_output, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 60);

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

Test(kiln_output, a_reader_that_left_ends_it_by_sigpipe)
{
    struct kiln_process kiln = help_with((struct kiln_process){.broken_stdout = true});
    cr_assert_eq(kiln.exit_code, 128 + SIGPIPE, "as other programs: %d", kiln.exit_code);
    cr_assert_str_empty(kiln.err);
    static const char *const failing[] = {"run", "no-such-graph", "--json", NULL};
    kiln = (struct kiln_process){.arguments = failing, .broken_stdout = true};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 128 + SIGPIPE);
}

/* Checks the document that --json prints without a result. */
static void expect_json_error(struct kiln_process kiln, int exit_code, const char *message,
                              const char *hint)
{
    json_t *document = parse_json(kiln.out);
    cr_assert_eq(integer_member(document, "schema_version"), 1);
    const json_t *error = json_object_get(document, "error");
    cr_assert_eq(kiln.exit_code, exit_code, "%s", kiln.err);
    cr_assert_eq(integer_member(error, "exit_code"), exit_code);
    cr_assert(strstr(text_member(error, "message"), message), "%s", kiln.out);
    cr_assert(strstr(kiln.err, message), "standard error has it too: %s", kiln.err);
    const char *said = json_string_value(json_object_get(error, "hint"));
    cr_assert(hint ? said && strstr(said, hint) : !said, "%s", kiln.out);
    json_decref(document);
}

Test(kiln_output, json_tells_errors_too)
{
    expect_json_error(KILN("run", "no-such-graph", "--json"), 1, "'no-such-graph'", NULL);
    expect_json_error(KILN("explain", "--json", "no-such-graph"), 1, "'no-such-graph'", NULL);
    expect_json_error(KILN("run", "--js", "no\"such\ngraph"), 1, "'no\"such", NULL);
    expect_json_error(KILN("bench", "softmx", "--json"), 2, "'softmx'", "'softmax'");
    expect_json_error(KILN("cache", "shwo", "--json"), 2, "unknown action 'shwo'", "'show'");
    expect_json_error(KILN("cache", "show", "ff", "--json", "--cache", "/dev/null/x"), 1,
                      "/dev/null/x", NULL);
    expect_json_error(KILN("targets", "--json", "--frobnicate"), 2, "'--frobnicate'",
                      "lists the options");
    expect_json_error(KILN("compile", "--json", "--manifest", "no-such-list"), 1, "no-such-list",
                      NULL);
    cr_assert_str_empty(KILN("run", "--", "--json").out, "an operand is no option");
}

Test(kiln_output, json_begins_with_the_version_of_its_schema)
{
    static const char begin[] = "{\n  \"schema_version\": 1,";
    struct kiln_process version = KILN("version", "--json");
    cr_assert_eq(strncmp(version.out, begin, strlen(begin)), 0, "%s", version.out);
    json_t *document = parse_json(version.out);
    cr_assert(strstr(KILN("version").out, text_member(document, "version")));
    cr_assert(strstr(KILN("version").out, text_member(document, "templates_digest")));
    json_decref(document);
    struct kiln_process list = KILN("bench", "--list", "--json");
    cr_assert_eq(strncmp(list.out, begin, strlen(begin)), 0, "%s", list.out);
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

static void *write_late(void *path)
{
    static const struct timespec delay = {.tv_sec = 1, .tv_nsec = 300000000};
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    nanosleep(&delay, NULL);
    (void)close(descriptor);
    return NULL;
}

/* A command that waits is one that works, for those who watch it. */
Test(kiln_output, a_long_command_tells_a_terminal_what_it_does)
{
    static char path[1024];
    (void)snprintf(path, sizeof(path), "%s", temporary_path("pipe"));
    cr_assert_eq(mkfifo(path, 0600), 0);
    pthread_t writer;
    cr_assert_eq(pthread_create(&writer, NULL, write_late, path), 0);
    const char *const arguments[] = {"run", "-d", "host", path, NULL};
    struct kiln_process kiln = {.arguments = arguments, .terminal = true};
    kiln_process_run(&kiln);
    cr_assert_eq(pthread_join(writer, NULL), 0);
    const char *line = strstr(kiln.out, "\r\033[Kreading the graph: 1 s");
    cr_assert(line, "%s", kiln.out);
    const char *error = strstr(line, "\r\033[Kkiln: ");
    cr_assert(error, "the line is wiped first: %s", kiln.out);
    cr_assert_eq(kiln.exit_code, 1);
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

/* Columns of the widest line, of ASCII text. */
static size_t widest(const char *text)
{
    size_t most = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        most = length > most ? length : most;
        text += length + (text[length] != '\0');
    }
    return most;
}

Test(kiln_output, tables_have_at_most_100_columns)
{
    char directory[512] = "KILN_CACHE_DIR=";
    size_t used = strlen(directory);
    used +=
        (size_t)snprintf(directory + used, sizeof(directory) - used, "%s", temporary_path("cache"));
    for (int i = 0; i < 6; i++)
        used +=
            (size_t)snprintf(directory + used, sizeof(directory) - used, "/a-folder-of-many-%d", i);
    const char *const environment[] = {directory, NULL};
    static const char *const commands[][2] = {
        {"config"},
        {"targets"},
        {"bench", "--list"},
    };
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        const char *arguments[3] = {NULL};
        memcpy(arguments, commands[i], sizeof(commands[i]));
        struct kiln_process kiln = {.arguments = arguments, .environment = environment};
        kiln_process_run(&kiln);
        cr_expect_leq(widest(kiln.out), 100, "%s: %s", arguments[0], kiln.out);
    }
    struct kiln_process explain = KILN(
        "explain", "-t", "gfx90a", sample_path("current/attention_backward_causal_gqa_bf16.json"));
    cr_expect_leq(widest(explain.out), 100, "%s", explain.out);
    static const char *const arguments[] = {"config", NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    const char *begin = strstr(kiln.out, "KILN_CACHE_DIR ");
    cr_assert(begin);
    const char *below = strchr(begin, '\n');
    cr_assert(strstr(begin, "  environment\n  ") < strstr(begin, "/a-folder-of-many-5"),
              "the rest is below: %s", begin);
    cr_assert_eq(strspn(below + 1, " "), strcspn(begin, "/"), "and under the value: %s", begin);
}
