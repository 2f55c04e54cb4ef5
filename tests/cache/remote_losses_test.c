/* A store that is to be filled: what waits for the shared tier, what is lost, and who is asked
 * again. */
#include "cache/cache_store.h"

#include "tests/cache/fake_redis.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { ENTRIES = 4, PATIENCE_MILLISECONDS = 60000 };

static struct kiln_cache_store *store;
static struct kiln_error error;
static atomic_uint gets;
static atomic_uint sets;
static atomic_bool is_blocked; /* no SET is answered */
static const char *_Atomic answer;

static bool serve(int connection, const struct fake_redis_command *command)
{
    if (strcasecmp(command->arguments[0], "GET") == 0) {
        gets++;
        return fake_redis_send_text(connection, "$-1\r\n");
    }
    while (is_blocked && !fake_redis_is_stopping())
        (void)usleep(1000);
    sets += strcasecmp(command->arguments[0], "SET") == 0;
    return fake_redis_send_text(connection, answer);
}

static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    captured_log_start(KILN_LOG_WARN);
    answer = "+OK\r\n";
    fake_redis_start(serve);
    const uint64_t max_bytes = 100000;
    const struct kiln_cache_options options = {.directory = temporary_path("cache"),
                                               .max_bytes = &max_bytes,
                                               .layers = "",
                                               .system_layer = "",
                                               .remote = fake_redis_url("", "/?timeout=60000")};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
}

static void tear_down(void)
{
    kiln_cache_store_close(store);
    fake_redis_stop();
    temporary_directory_remove();
}

TestSuite(remote_losses, .init = set_up, .fini = tear_down, .timeout = 120);

static void insert_entries(void)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        store_fixture_insert(store, i, 100);
}

static void expect_losses(uint64_t unwritten, uint64_t unsent)
{
    struct kiln_cache_losses losses = kiln_cache_store_losses(store);
    cr_expect_eq(losses.unwritten, unwritten, "%llu", (unsigned long long)losses.unwritten);
    cr_expect_eq(losses.unsent, unsent, "%llu", (unsigned long long)losses.unsent);
}

Test(remote_losses, what_waits_is_flushed_and_lost_until_then)
{
    cr_expect_eq(kiln_cache_store_flush(store, PATIENCE_MILLISECONDS), 0, "nothing was inserted");
    is_blocked = true;
    insert_entries();
    cr_expect_eq(kiln_cache_store_flush(store, 10), ENTRIES);
    expect_losses(0, ENTRIES);
    is_blocked = false;
    cr_expect_eq(kiln_cache_store_flush(store, PATIENCE_MILLISECONDS), 0);
    cr_expect_eq(sets, ENTRIES);
    expect_losses(0, 0);
}

/* The first is refused, and the others are not sent then. */
Test(remote_losses, what_the_server_refuses_is_lost)
{
    answer = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    insert_entries();
    cr_expect_eq(kiln_cache_store_flush(store, PATIENCE_MILLISECONDS), 0);
    expect_losses(0, ENTRIES);
}

Test(remote_losses, a_user_who_may_only_read_loses_nothing)
{
    answer = "-NOPERM this user has no permissions to run the 'set' command\r\n";
    insert_entries();
    cr_expect_eq(kiln_cache_store_flush(store, PATIENCE_MILLISECONDS), 0);
    expect_losses(0, 0);
}

Test(remote_losses, what_is_larger_than_the_limit_is_lost_to_the_directory)
{
    store_fixture_insert(store, 1, 200000);
    cr_expect_eq(kiln_cache_store_flush(store, PATIENCE_MILLISECONDS), 0);
    expect_losses(1, 0);
}

Test(remote_losses, a_second_look_asks_no_server)
{
    struct kiln_cache_key key = sample_key(1);
    void *payload = NULL;
    size_t size = 0;
    const struct kiln_cache_query query = {.key = &key, .reach = KILN_CACHE_OWN_DIRECTORY};
    struct kiln_cache_found found;
    cr_expect_eq(kiln_cache_store_find(store, &query, &found, &error), KILN_NOT_FOUND);
    cr_expect_eq(gets, 0);
    cr_expect_eq(kiln_cache_store_lookup(store, &key, &payload, &size, &error), KILN_NOT_FOUND);
    cr_expect_eq(gets, 1);
    store_fixture_insert(store, 1, 100);
    cr_expect_eq(kiln_cache_store_find(store, &query, &found, &error), KILN_OK);
    cr_expect_eq(gets, 1);
    kiln_cache_found_fini(&found);
    kiln_cache_key_fini(&key);
}
