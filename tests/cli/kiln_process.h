/* Runs the kiln that was built, and keeps what it said. */
#ifndef KILN_TESTS_CLI_KILN_PROCESS_H
#define KILN_TESTS_CLI_KILN_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

struct kiln_process {
    /* What to run; zero what is not needed. */
    const char *const *arguments; /* without the program, NULL at the end */
    const void *input;            /* bytes on standard input; NULL: /dev/null */
    size_t input_bytes;
    const char *const *environment; /* "NAME=VALUE" pairs, NULL at the end */
    bool close_stdout;              /* starts with descriptor 1 closed */
    bool full_stdout;               /* writes to a device without room */
    bool broken_stdout;             /* writes to a pipe that nobody reads */
    bool terminal;                  /* stdout and stderr are one terminal; all text is in `out` */
    /* What came of it; the texts live as long as the process. */
    int exit_code; /* 128 + signal when it was killed */
    char *out;
    char *err;
};

void kiln_process_run(struct kiln_process *process);

/* Runs with arguments only. */
struct kiln_process kiln_process_of(const char *const *arguments);
#define KILN(...) kiln_process_of((const char *const[]){__VA_ARGS__, NULL})

/* The path of a sample graph, "current/chain_of_24_fp32.json"; of the whole folder for "". */
const char *sample_path(const char *name);
/* Writes a file into the test's temporary directory; returns its path. */
const char *write_file(const char *name, const void *bytes, size_t size);

#endif
