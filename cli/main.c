/*
 * kiln: compile, run and explain operation graphs.
 */
#include "cli/command_line.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "runtime/engine/settings_check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file opened while a standard descriptor is closed would take its number, and get our messages.
 * /dev/null is opened the wrong way round on purpose: writing to a closed stdout must fail, not
 * vanish. */
static void occupy_standard_descriptors(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
            int opened = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
            if (opened >= 0 && opened != descriptor)
                close(opened);
        }
    }
}

/* True for --json before the operands end, also when it is shortened. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strlen(argv[i]) > strlen("--j") && strncmp("--json", argv[i], strlen(argv[i])) == 0)
            return true;
    return false;
}

static bool has_lost_reader(void)
{
    struct pollfd state = {.fd = STDOUT_FILENO};
    return poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0;
}

/* A result that could not be written is no result. A reader that went away ends kiln as it ends
 * other programs, by SIGPIPE, which shells do not report. */
static int finish_output(int exit_code)
{
    bool failed = ferror(stdout) != 0;
    bool lost_reader = has_lost_reader();
    errno = 0;
    if (fclose(stdout) == 0 && !failed)
        return exit_code;
    int failure = errno;
    if (failure == EPIPE || lost_reader) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    kiln_message_error("cannot write to standard output%s%s", failure ? ": " : "",
                       failure ? strerror(failure) : "");
    return KILN_EXIT_ENVIRONMENT;
}

static int fail_unknown_command(const char *name)
{
    char sentence[256];
    char hint[KILN_WORD_HINT_BYTES] = "options follow the command: kiln COMMAND [OPTION...]";
    snprintf(sentence, sizeof(sentence),
             *name == '-' ? "unknown option '%s'" : "unknown command '%s'", name);
    if (*name != '-')
        kiln_command_hint(hint, name);
    kiln_message_usage(NULL, sentence, hint);
    return KILN_EXIT_USAGE;
}

static void warn_of_setting(void *context, const char *variable, const char *sentence)
{
    (void)context;
    (void)variable;
    kiln_log(KILN_LOG_WARN, "%s", sentence);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        kiln_message_usage(NULL, "COMMAND is missing", "'kiln help' lists the commands");
        return KILN_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        name = "version";
    enum kiln_command_id id;
    if (!kiln_command_find(name, &id))
        return fail_unknown_command(name);
    struct kiln_command_line line;
    kiln_command_line_init(&line, id, argc - 1, argv + 1);
    return kiln_command(id)->run(&line);
}

int main(int argc, char **argv)
{
    occupy_standard_descriptors();
    /* A reader that goes away shows as a write error, here and in the pipes to compile workers. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* the same for a file that may not grow */
    kiln_log_set_sink(kiln_message_log);
    kiln_log_set_level(kiln_message_log_level());
    kiln_settings_check_names(warn_of_setting, NULL);
    int exit_code = dispatch(argc, argv);
    kiln_progress_finish();
    if (exit_code != KILN_EXIT_OK && wants_json(argc, argv) && !kiln_json_has_printed())
        kiln_message_print_json(exit_code);
    return finish_output(exit_code);
}
