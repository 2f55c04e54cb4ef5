/* The store with a shared tier behind it: a server of the test's own. */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/cache_warning.h"
#include "tests/cache/fake_redis.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include "runtime/support/buffer.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kiln_buffer value; /* the one that the server has; empty: none */
static atomic_uint gets;
static struct kiln_error error;

static bool keep_value(int connection, const struct fake_redis_command *command)
{
    bool sent;
    pthread_mutex_lock(&mutex);
    if (strcasecmp(command->arguments[0], "GET") == 0) {
        gets++;
        sent = value.size != 0 ? fake_redis_send_value(connection, value.data, value.size)
                               : fake_redis_send_text(connection, "$-1\r\n");
    } else {
        if (strcasecmp(command->arguments[0], "SET") == 0) {
            kiln_buffer_clear(&value);
            kiln_buffer_append(&value, command->arguments[2], command->sizes[2]);
        }
        sent = fake_redis_send_text(connection, "+OK\r\n");
    }
    pthread_mutex_unlock(&mutex);
    return sent;
}

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    captured_log_start(KILN_LOG_WARN);
    fake_redis_start(keep_value);
}

static void tear_down(void)
{
    fake_redis_stop();
    kiln_buffer_fini(&value);
    temporary_directory_remove();
}

TestSuite(remote_tier, .init = set_up, .fini = tear_down, .timeout = 120);

static struct kiln_cache_store *open_shared(const char *name)
{
    struct kiln_cache_store *store = NULL;
    const uint64_t max_bytes = 100000;
    const struct kiln_cache_options options = {.directory = temporary_path(name),
                                               .max_bytes = &max_bytes,
                                               .layers = "",
                                               .system_layer = "",
                                               .remote = fake_redis_url("", "/?timeout=60000")};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    return store;
}

Test(remote_tier, what_one_machine_inserts_another_finds_and_keeps)
{
    struct kiln_cache_store *store = open_shared("one");
    store_fixture_insert(store, 1, 500);
    cr_assert(store_fixture_is_file(temporary_path("one"), 1));
    cr_assert(store_fixture_has(store, 1));
    cr_assert_eq(gets, 0, "the directory comes first");
    cr_assert_not_null(kiln_cache_store_remote(store));
    kiln_cache_store_close(store); /* sends what waits */
    cr_assert_gt(value.size, 500);

    store = open_shared("two");
    cr_assert(store_fixture_has(store, 1));
    cr_assert_eq(gets, 1);
    cr_assert(store_fixture_is_file(temporary_path("two"), 1));
    cr_assert(store_fixture_has(store, 1));
    cr_assert_eq(gets, 1, "a copy is in the directory now");
    /* The server has one value only: of another key, whatever it is asked for. */
    cr_assert_not(store_fixture_has(store, 2));
    cr_assert_not(store_fixture_is_file(temporary_path("two"), 2));
    kiln_cache_store_close(store);
}

/* By the hash of the key alone: the server has one value only, of key 1, whatever it is asked for.
 */
Test(remote_tier, what_is_sought_by_name_is_checked_by_name)
{
    struct kiln_cache_store *store = open_shared("one");
    store_fixture_insert(store, 1, 500);
    kiln_cache_store_close(store);
    store = open_shared("two");
    for (unsigned number = 2; number >= 1; number--) {
        struct kiln_cache_key key = sample_key(number);
        const struct kiln_hash128 hash = {.high = key.hash_high, .low = key.hash_low};
        const struct kiln_cache_key name = kiln_cache_key_of_hash(hash);
        const struct kiln_cache_query query = {.key = &name};
        struct kiln_cache_found found;
        enum kiln_status status = kiln_cache_store_find(store, &query, &found, &error);
        cr_assert_eq(status, number == 1 ? KILN_OK : KILN_NOT_FOUND, "%s", error.text);
        cr_assert_eq(store_fixture_is_file(temporary_path("two"), number), number == 1);
        if (status == KILN_OK) {
            cr_assert(kiln_entry_view_has_key(&found.view, &key));
            kiln_cache_found_fini(&found);
        }
        kiln_cache_key_fini(&key);
    }
    kiln_cache_store_close(store);
}

Test(remote_tier, a_value_larger_than_the_limit_is_used_and_not_kept)
{
    struct kiln_cache_store *store = open_shared("one");
    store_fixture_insert(store, 1, 200000);
    cr_assert_not(store_fixture_is_file(temporary_path("one"), 1));
    kiln_cache_store_close(store);
    store = open_shared("two");
    cr_assert(store_fixture_has(store, 1));
    cr_assert_not(store_fixture_is_file(temporary_path("two"), 1));
    kiln_cache_store_close(store);
}

/* Every flipped bit of what the server says, through the store. */
Test(remote_tier, a_damaged_value_is_a_miss_and_is_not_kept)
{
    struct kiln_cache_store *store = open_shared("one");
    store_fixture_insert(store, 1, 40);
    kiln_cache_store_close(store);
    store = open_shared("two");
    unsigned faults = 0;
    for (size_t bit = 0; bit < 8 * value.size; bit++) {
        pthread_mutex_lock(&mutex);
        value.data[bit / 8] ^= (char)(1 << bit % 8);
        pthread_mutex_unlock(&mutex);
        faults += store_fixture_has(store, 1);
        pthread_mutex_lock(&mutex);
        value.data[bit / 8] ^= (char)(1 << bit % 8);
        pthread_mutex_unlock(&mutex);
    }
    cr_assert_eq(faults, 0);
    cr_assert_leq(directory_count(temporary_path("two")), 0);
    kiln_cache_store_close(store);
}

Test(remote_tier, a_store_without_a_directory_shares_too)
{
    setenv("KILN_CACHE_DIR", "", 1);
    setenv("KILN_CACHE_REMOTE", fake_redis_url("", "/?timeout=60000"), 1);
    struct kiln_cache_store *store = NULL;
    const struct kiln_cache_options options = {.layers = "", .system_layer = ""};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    store_fixture_insert(store, 1, 100);
    kiln_cache_store_close(store);
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert(store_fixture_has(store, 1));
    kiln_cache_store_close(store);
}

Test(remote_tier, a_url_that_is_none_is_a_warning_or_an_error)
{
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_options options = {
        .directory = temporary_path("one"), .layers = "", .system_layer = ""};
    setenv("KILN_CACHE_REMOTE", "http://user:secret@host/", 1);
    captured_log_start(KILN_LOG_WARN);
    kiln_cache_warnings_forget();
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_null(strstr(captured_log_last(), "secret"));
    cr_assert_null(kiln_cache_store_remote(store));
    kiln_cache_store_close(store);
    options.remote = "nonsense";
    store = NULL;
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_BAD_ARGUMENT);
    cr_assert_null(store);
    options.remote = "";
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK);
    cr_assert_null(kiln_cache_store_remote(store));
    kiln_cache_store_close(store);
}
