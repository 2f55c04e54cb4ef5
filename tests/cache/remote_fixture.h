/*
 * A shared cache, a server of the test's own that it asks, one key with its entry, and what is
 * logged about it.
 *
 * No test waits for a time-out by the clock of a busy machine: servers that answer get a long one,
 * servers that do not a short one, and "did not hang" is the limit of the test.
 */
#ifndef KILN_TESTS_CACHE_REMOTE_FIXTURE_H
#define KILN_TESTS_CACHE_REMOTE_FIXTURE_H

#include "cache/remote_cache.h"
#include "tests/cache/fake_redis.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdbool.h>

#define REMOTE_PATIENT   "/?timeout=60000"
#define REMOTE_IMPATIENT "/?timeout=50"

/* All that is in it is made by the set-up and released by the tear-down. */
struct remote_fixture {
    struct kiln_cache_key key;
    struct kiln_buffer entry;
    struct kiln_error error;   /* of the last lookup */
    struct kiln_buffer served; /* the server's value; not to be touched while it is asked */
    atomic_uint gets;          /* that handlers were asked for */
    atomic_uint sets;
};
extern struct remote_fixture remote_fixture;

/* A suite's .init and .fini. The tear-down stops the server, so that each test has to start one. */
void remote_fixture_set_up(void);
void remote_fixture_tear_down(void);

/* A handler: a server that keeps one value, whatever its key, and counts. */
bool remote_fixture_keep_value(int connection, const struct fake_redis_command *command);
/* Gives that server a value, or the entry. */
void remote_fixture_serve(const void *bytes, size_t size);
void remote_fixture_serve_entry(void);

/* A cache of the server that runs, the caller's to close; `login` and `rest` as fake_redis_url has
 * them. */
struct kiln_remote_cache *remote_fixture_open(const char *login, const char *rest);
/* Starts the server and opens a patient cache of it. */
struct kiln_remote_cache *remote_fixture_start(fake_redis_handler handler);

/* Looks the key up; fails the test when anything but the entry is found. */
enum kiln_status remote_fixture_look_up(struct kiln_remote_cache *remote);
/* Stores the entry. */
void remote_fixture_store(struct kiln_remote_cache *remote);
/* Waits until so many are counted. */
void remote_fixture_await(const atomic_uint *counter, unsigned count);

bool remote_fixture_has_logged(const char *text);
unsigned remote_fixture_warnings(void);
/* All messages, one in a line. Not for use while other threads log. */
const char *remote_fixture_log(void);

#define assert_hit(remote)                                                                         \
    cr_assert_eq(remote_fixture_look_up(remote), KILN_OK, "%s", remote_fixture.error.text)
#define assert_miss(remote) cr_assert_eq(remote_fixture_look_up(remote), KILN_NOT_FOUND)
#define assert_logged(text) cr_assert(remote_fixture_has_logged(text), "%s", remote_fixture_log())
#define assert_warned(count)                                                                       \
    cr_assert_eq(remote_fixture_warnings(), count, "%s", remote_fixture_log())

#endif
