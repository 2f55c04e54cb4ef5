/*
 * `kiln compile` with a host compiler that is a script and copies one shared object, so that
 * hundreds of graphs take seconds; and the graphs. All in the test's temporary directory.
 */
#ifndef KILN_TESTS_CLI_COMPILE_FIXTURE_H
#define KILN_TESTS_CLI_COMPILE_FIXTURE_H

#include "tests/cli/kiln_process.h"

#include <jansson.h>

/* A suite's .init: makes the temporary directory and the compiler, and has sizes as constants, so
 * that each graph has a kernel of its own. */
void compile_fixture_set_up(void);
/* Another compiler. `extra` is shell to run before it copies; $call is the number of the call. */
void compile_fixture_write_compiler(const char *extra);
/* "KILN_HOST_CXX=...", for tests that start kiln themselves. */
const char *compile_fixture_compiler(void);
/* How often the compiler was called. */
int compile_fixture_calls(void);

/* Writes a graph and returns its path; another `size` makes it another graph. */
const char *compile_fixture_write_graph(const char *name, int size);
/* The same for one that names a tensor that is not there: UNKNOWN_UID. */
const char *compile_fixture_write_declined(const char *name);
/* A folder of `count` different graphs: 0000.json and so on. */
void compile_fixture_write_graphs(const char *folder, int first_size, int count);

/* kiln compile -t host ARGUMENT... `pairs`: "NAME=VALUE", at most four of them; both lists end with
 * NULL. `input`: text on standard input, or NULL. */
struct kiln_process compile_fixture_run(const char *const *arguments, const char *const *pairs,
                                        const char *input);
#define COMPILE(...) compile_fixture_run((const char *const[]){__VA_ARGS__, NULL}, NULL, NULL)
#define COMPILE_WITH(pair, ...)                                                                    \
    compile_fixture_run((const char *const[]){__VA_ARGS__, NULL},                                  \
                        (const char *const[]){pair, NULL}, NULL)

/* A number in the summary that a run with --json has printed. */
json_int_t compile_fixture_summary(const struct kiln_process *kiln, const char *member);
/* The content of a file; the next call uses the memory again. */
char *compile_fixture_slurp(const char *path);
/* Line `number` of a text, which is JSON; the caller's. */
json_t *compile_fixture_line(const char *text, size_t number);

#endif
