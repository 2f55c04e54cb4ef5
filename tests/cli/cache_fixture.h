/* A cache that `kiln compile` has filled, and `kiln cache` on it. All in the test's temporary
 * directory, where files are named without it. */
#ifndef KILN_TESTS_CLI_CACHE_FIXTURE_H
#define KILN_TESTS_CLI_CACHE_FIXTURE_H

#include "runtime/support/buffer.h"
#include "tests/cli/kiln_process.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* A suite's .init. */
void cache_fixture_set_up(void);
/* Two entries for the host, of GELU_FWD and RELU_FWD, in "cache". */
void cache_fixture_fill(void);

/* Runs with one more "NAME=VALUE". */
struct kiln_process cache_fixture_run(const char *variable, const char *const *arguments);
#define KILN_WITH(variable, ...)                                                                   \
    cache_fixture_run(variable, (const char *const[]){__VA_ARGS__, NULL})
/* "NAME=path in the temporary directory". */
const char *cache_fixture_variable(const char *name, const char *file);
/* What was printed; the caller's. */
json_t *cache_fixture_json(const struct kiln_process *kiln, int exit_code);

/* The caller finis it. */
struct kiln_buffer cache_fixture_content(const char *file);
bool cache_fixture_is_same(const char *file, const char *other);
/* The file of an entry in a directory; "" for any. */
const char *cache_fixture_entry(const char *directory, const char *key);
void cache_fixture_flip_byte(const char *path, off_t at);
/* The key of the entry of a graph, from ls. */
const char *cache_fixture_key(const char *graph);

#endif
