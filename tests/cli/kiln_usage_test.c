/* Wrong command lines: one sentence, a near miss where there is one, exit code 2, nothing on
 * stdout but the same as JSON where that is asked for. */
#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ARGUMENTS = 6 };

static const struct {
    const char *arguments[MAX_ARGUMENTS];
    const char *sentence; /* on stderr */
    const char *hint;     /* on stderr; NULL: none expected in particular */
} wrong[] = {
    {{NULL}, "COMMAND is missing", "kiln help"},
    {{"complie"}, "unknown command 'complie'", "did you mean 'compile'?"},
    {{"frobnicate"}, "unknown command 'frobnicate'", "'kiln help' lists the commands"},
    {{"--frobnicate"}, "unknown option '--frobnicate'", NULL},
    {{"help", "targest"}, "unknown command 'targest'", "did you mean 'targets'?"},
    {{"compile"}, "GRAPH is missing", "usage: kiln compile"},
    {{"explain", "--schedule", "fast", "x"},
     "does not know 'fast'",
     "plain, pingpong, streamed, specialized, direct or small"},
    {{"run", "--tile", "64", "x"}, "takes MxN or MxNxK, not '64'", "rows x columns"},
    {{"bench", "--tile", "64x0", "x"}, "not '64x0'", "from 1 to 4096"},
    {{"run", "--waves", "1x2x3x4", "x"}, "not '1x2x3x4'", "along k"},
    {{"explain", "--split-k", "65", "x"}, "from 0 to 64, not '65'", "1 cuts nothing"},
    {{"bench", "--split-k", "4k", "x"}, "not '4k'", "1 cuts nothing"},
    {{"run"}, "GRAPH is missing", "usage: kiln run"},
    {{"run", "a", "b"}, "unexpected argument 'b'", "usage: kiln run"},
    {{"targets", "x"}, "unexpected argument 'x'", NULL},
    {{"version", "x"}, "unexpected argument 'x'", "usage: kiln version [OPTION...]\n"},
    {{"compile", "--tarqet", "gfx90a", "x"},
     "unknown option '--tarqet'",
     "did you mean '--target'?"},
    {{"compile", "--tarqet=gfx90a", "x"}, "unknown option '--tarqet'", "did you mean '--target'?"},
    {{"run", "--verfy", "x"}, "unknown option '--verfy'", "did you mean '--verify'?"},
    {{"compile", "-x", "g"}, "unknown option '-x'", "'kiln help compile' lists the options"},
    {{"compile", "-qx", "g"}, "unknown option '-x'", NULL},
    {{"run", "--ver", "x"},
     "option '--ver' is ambiguous",
     "did you mean '--verify' or '--verbose'?"},
    {{"run", "--s", "x"},
     "'--s' is ambiguous",
     "'--seed', '--shapes', '--schedule' or '--split-k'"},
    {{"co"}, "unknown command 'co'", "did you mean 'compile' or 'config'?"},
    {{"-v", "run"}, "unknown option '-v'", "options follow the command"},
    {{"help", "cache", "lss"}, "unknown action 'lss'", "did you mean 'ls'?"},
    {{"help", "run", "ls"}, "'run' has no actions", NULL},
    {{"bench", "--report", "r", "--plot", "r"}, "both write 'r'", "name two files"},
    {{"bench", "softmx"}, "neither a case", "did you mean 'softmax'?"},
    {{"bench", "softmx_fp16"}, "neither a case", "did you mean 'softmax_fp16'?"},
    {{"bench", "gelu"}, "neither a case", "did you mean 'bias_gelu_tanh' or 'bias_gelu_erf'?"},
    {{"bench", "SwiGLU"}, "neither a case", "did you mean 'swiglu'?"},
    {{"compile", "x", "--target"}, "option '--target' needs a value: LIST", NULL},
    {{"compile", "x", "-t"}, "option '--target' needs a value: LIST", NULL},
    {{"compile", "--json=yes", "x"}, "option '--json' takes no value", NULL},
    {{"compile", "-j", "0", "x"}, "option '--jobs' takes a number from 1 to 256, not '0'", NULL},
    {{"compile", "-j", "257", "x"}, "takes a number from 1 to 256", NULL},
    {{"compile", "-j", "-1", "x"}, "takes a number from 1 to 256", NULL},
    {{"compile", "-j", "2x", "x"}, "takes a number from 1 to 256", NULL},
    {{"compile", "-j", "", "x"}, "takes a number from 1 to 256", NULL},
    {{"compile", "-j", "99999999999999999999", "x"}, "takes a number from 1 to 256", NULL},
    {{"run", "--seed", "x", "g"}, "option '--seed' takes a number", NULL},
    {{"run", "--input", "3", "g"}, "option '--input' takes TENSOR=FILE, not '3'", NULL},
    {{"run", "--input", "=f", "g"}, "option '--input' takes TENSOR=FILE, not '=f'", NULL},
    {{"run", "--input", "3=", "g"}, "option '--input' takes TENSOR=FILE, not '3='", NULL},
    {{"run", "-i1=a", "-i1=b", "g"}, "names the tensor '1' twice", NULL},
    {{"explain", "--dot", "--json", "g"},
     "option '--dot' prints a Graphviz graph and nothing else",
     NULL},
    {{"explain", "--kernel", "0", "g"}, "'--kernel' goes with --source and --isa", NULL},
    {{"help", "--completion", "tcsh"}, "there is no completion for 'tcsh'", "bash, zsh or fish"},
    {{"cache"}, "ACTION is missing", NULL},
    {{"cache", "stat"}, "unknown action 'stat'", "did you mean 'stats'?"},
    {{"cache", "stats", "x"}, "unexpected argument 'x'", "usage: kiln cache stats [OPTION...]\n"},
    {{"cache", "why", "x", "-t", "all"}, "'why' takes one target, not 'all'", NULL},
    {{"cache", "frobnicate"}, "unknown action 'frobnicate'", "import or merge"},
};

Test(kiln_usage, says_what_is_wrong)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct kiln_process kiln = kiln_process_of(wrong[i].arguments);
        const char *first = wrong[i].arguments[0] ? wrong[i].arguments[0] : "(none)";
        cr_assert_eq(kiln.exit_code, 2, "case %zu (%s): exit code %d: %s", i, first, kiln.exit_code,
                     kiln.err);
        cr_assert(!*kiln.out || strncmp(kiln.out, "{\n", 2) == 0, "only JSON: %s", kiln.out);
        cr_assert(strstr(kiln.err, wrong[i].sentence), "case %zu: %s", i, kiln.err);
        cr_assert(!wrong[i].hint || strstr(kiln.err, wrong[i].hint), "case %zu: %s", i, kiln.err);
        size_t lines = 0;
        for (const char *at = kiln.err; *at; at++)
            lines += *at == '\n';
        cr_assert_leq(lines, 2, "a sentence and a hint, no help: %s", kiln.err);
    }
}

Test(kiln_usage, unknown_targets_and_devices_are_usage_errors)
{
    const char *graph = sample_path("current/bias_gelu_fp16.json");
    struct kiln_process kiln = KILN("compile", "--target", "gfx90b", graph);
    cr_assert_eq(kiln.exit_code, 2);
    cr_assert(strstr(kiln.err, "gfx90b"), "%s", kiln.err);
    cr_assert(strstr(kiln.err, "hint:"), "%s", kiln.err);
    kiln = KILN("compile", "--target", "gfx90a,,gfx1030", graph);
    cr_assert_eq(kiln.exit_code, 2);
    cr_assert(strstr(kiln.err, "has no name"), "%s", kiln.err);
    kiln = KILN("explain", "--target", "gfx90a,gfx1030", graph);
    cr_assert_eq(kiln.exit_code, 2);
    kiln = KILN("run", "--device", "gpu", graph);
    cr_assert_eq(kiln.exit_code, 2, "%s", kiln.err);
}

Test(kiln_usage, help_goes_to_stdout)
{
    static const char *const commands[] = {"compile", "run",     "explain", "targets",
                                           "cache",   "version", "help"};
    struct kiln_process list = KILN("help");
    cr_assert_eq(list.exit_code, 0);
    cr_assert_str_empty(list.err);
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        cr_assert(strstr(list.out, commands[i]));
        struct kiln_process help = KILN("help", commands[i]);
        cr_assert_eq(help.exit_code, 0);
        cr_assert(strstr(help.out, "usage: kiln "));
        cr_assert(strstr(help.out, "exit codes:"));
        struct kiln_process same = KILN(commands[i], "--help");
        cr_assert_str_eq(help.out, same.out);
        cr_assert_eq(same.exit_code, 0);
        for (const char *line = help.out; line; line = strchr(line + 1, '\n')) {
            const char *end = strchr(line + 1, '\n');
            cr_assert(!end || end - line <= 81, "a line is too long: %s", line);
        }
    }
    cr_assert_str_eq(KILN("--help").out, list.out);
}

Test(kiln_usage, version_says_which)
{
    struct kiln_process kiln = KILN("version");
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert_eq(strncmp(kiln.out, "kiln ", 5), 0);
    cr_assert_str_eq(KILN("--version").out, kiln.out);
    cr_assert_str_eq(KILN("-V").out, kiln.out);
}

Test(kiln_usage, a_mistyped_variable_is_told_of)
{
    struct kiln_process kiln = {
        .arguments = (const char *const[]){"version", NULL},
        .environment = (const char *const[]){"KILN_CACHE_DRI=/tmp", NULL},
    };
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0);
    cr_expect_eq(strncmp(kiln.err, "kiln: warning: KILN_CACHE_DRI is not a variable of Kiln; ", 57),
                 0, "%s", kiln.err);
}

Test(kiln_usage, an_action_has_help_of_its_own)
{
    struct kiln_process help = KILN("help", "cache", "prune");
    cr_assert_eq(help.exit_code, 0);
    cr_assert_eq(strncmp(help.out, "usage: kiln cache prune [OPTION...]\n", 36), 0, "%s", help.out);
    cr_assert(strstr(help.out, "--max-size"), "%s", help.out);
    cr_assert_null(strstr(help.out, "--extract"), "%s", help.out);
    cr_assert_str_eq(KILN("cache", "prune", "--help").out, help.out);
    cr_assert_str_eq(KILN("cache", "--cache", "x", "prune", "--help").out, help.out);
    cr_assert(strstr(KILN("help", "cache").out, "\n  merge OUT IN..."));
}

Test(kiln_usage, version_has_a_commit_if_one_is_known)
{
    json_t *document = parse_json(KILN("version", "--json").out);
    const char *commit = json_string_value(json_object_get(document, "commit"));
    char line[192];
    (void)snprintf(line, sizeof(line), "kiln %s\ncommit %s%s\nkernel templates %s\n",
                   text_member(document, "version"), commit ? commit : "unknown",
                   json_is_true(json_object_get(document, "modified")) ? ", modified" : "",
                   text_member(document, "templates_digest"));
    cr_assert_str_eq(KILN("version").out, line);
    cr_assert_eq(json_is_null(json_object_get(document, "modified")), !commit);
    json_decref(document);
}

Test(kiln_usage, options_may_follow_operands_and_end_at_two_dashes)
{
    struct kiln_process kiln = KILN("run", "no-such-file", "--seed", "3");
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.err);
    kiln = KILN("run", "--", "--seed");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "'--seed'"), "%s", kiln.err);
}

/* Commands that read a file, which follows. */
static const struct {
    const char *arguments[MAX_ARGUMENTS];
    bool takes_directories;
} readers[] = {
    {{"run", "-d", "host"}, false},          {{"explain", "-t", "gfx90a"}, false},
    {{"compile", "-t", "gfx90a"}, true},     {{"compile", "-t", "gfx90a", "-m"}, false},
    {{"bench", "-d", "host"}, true},         {{"cache", "import"}, true},
    {{"cache", "merge", "/dev/null"}, true}, {{"cache", "verify"}, true},
};

Test(kiln_usage, what_cannot_be_read_has_one_exit_code)
{
    char cache[512];
    (void)snprintf(cache, sizeof(cache), "KILN_CACHE_DIR=%s", temporary_path("cache"));
    const char *const environment[] = {cache, NULL};
    static const char *const unusable[] = {"no/such/file.json", "/dev/null", "/"};
    for (size_t row = 0; row < sizeof(readers) / sizeof(*readers); row++) {
        size_t unusable_count = readers[row].takes_directories ? 2 : 3;
        for (size_t i = 0; i < unusable_count; i++) {
            const char *arguments[MAX_ARGUMENTS + 2] = {NULL};
            size_t count = 0;
            for (; readers[row].arguments[count]; count++)
                arguments[count] = readers[row].arguments[count];
            arguments[count] = unusable[i];
            struct kiln_process kiln = {.arguments = arguments, .environment = environment};
            kiln_process_run(&kiln);
            cr_expect_eq(kiln.exit_code, 1, "%s %s: %d: %s", arguments[0], unusable[i],
                         kiln.exit_code, kiln.err);
        }
    }
}
