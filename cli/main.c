/*
 * kiln: compile, run and explain operation graphs.
 */
#include "cli/command_line.h"
#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
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

/* A result that could not be written is no result. */
static int finish_output(int exit_code)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) != 0 || failed) {
        if (errno != EPIPE) {
            kiln_message_error("cannot write to standard output%s%s", errno ? ": " : "",
                               errno ? strerror(errno) : "");
        }
        return KILN_EXIT_ENVIRONMENT;
    }
    return exit_code;
}

static int fail_unknown_command(const char *name)
{
    char sentence[256];
    char hint[128] = "'kiln help' lists the commands";
    const char *near = kiln_command_suggest(name);
    snprintf(sentence, sizeof(sentence),
             *name == '-' ? "unknown option '%s'" : "unknown command '%s'", name);
    if (near)
        snprintf(hint, sizeof(hint), "did you mean '%s'?", near);
    kiln_message_usage(NULL, sentence, hint);
    return KILN_EXIT_USAGE;
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
    else if (strcmp(name, "--version") == 0)
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
    kiln_log_set_sink(kiln_message_log);
    kiln_log_set_level(kiln_message_log_level());
    return finish_output(dispatch(argc, argv));
}
