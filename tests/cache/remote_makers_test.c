/* The shared tier among machines with several compilers: a server of the test's own. */
#include "cache/cache_store.h"
#include "cache/entry_file.h"
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

#define OURS   "clang 19"
#define THEIRS "clang 20"

enum { VALUES = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char key[128]; /* "": free */
    struct kiln_buffer bytes;
} values[VALUES];
static atomic_uint gets;
static struct kiln_error error;
static struct kiln_cache_key key;

/* The value of a key, or a free place. */
static unsigned find_value(const char *name)
{
    unsigned i = 0;
    while (i + 1 < VALUES && values[i].key[0] != '\0' && strcmp(values[i].key, name) != 0)
        i++;
    return i;
}

static bool keep_values(int connection, const struct fake_redis_command *command)
{
    bool sent;
    pthread_mutex_lock(&mutex);
    unsigned i = command->count > 1 ? find_value(command->arguments[1]) : 0;
    if (strcasecmp(command->arguments[0], "GET") == 0) {
        gets++;
        sent = values[i].key[0] != '\0'
                   ? fake_redis_send_value(connection, values[i].bytes.data, values[i].bytes.size)
                   : fake_redis_send_text(connection, "$-1\r\n");
    } else {
        if (strcasecmp(command->arguments[0], "SET") == 0) {
            (void)snprintf(values[i].key, sizeof values[i].key, "%s", command->arguments[1]);
            kiln_buffer_clear(&values[i].bytes);
            kiln_buffer_append(&values[i].bytes, command->arguments[2], command->sizes[2]);
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
    key = sample_key(1);
    fake_redis_start(keep_values);
}

static void tear_down(void)
{
    fake_redis_stop();
    for (unsigned i = 0; i < VALUES; i++)
        kiln_buffer_fini(&values[i].bytes);
    kiln_cache_key_fini(&key);
    temporary_directory_remove();
}

TestSuite(remote_makers, .init = set_up, .fini = tear_down, .timeout = 120);

/* Fails the test unless a machine's lookup finds what `expected` made; NULL: nothing. */
static void expect(const char *machine, const char *compiler, const char *expected)
{
    struct kiln_cache_store *store = NULL;
    const struct kiln_cache_options options = {.directory = temporary_path(machine),
                                               .layers = "",
                                               .system_layer = "",
                                               .remote = fake_redis_url("", "/?timeout=60000")};
    const struct kiln_cache_query query = {.key = &key, .compiler = compiler};
    struct kiln_cache_found found;
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    enum kiln_status status = kiln_cache_store_find(store, &query, &found, &error);
    cr_assert_eq(status, expected != NULL ? KILN_OK : KILN_NOT_FOUND, "%s", error.text);
    if (expected != NULL) {
        cr_expect_eq(kiln_entry_view_mark(&found.view), kiln_cache_compiler_mark(expected));
        kiln_cache_found_fini(&found);
    }
    kiln_cache_store_close(store);
}

static void insert(const char *machine, const char *compiler)
{
    struct kiln_cache_store *store = NULL;
    const struct kiln_cache_options options = {.directory = temporary_path(machine),
                                               .layers = "",
                                               .system_layer = "",
                                               .remote = fake_redis_url("", "/?timeout=60000")};
    const struct kiln_cache_maker maker = {.compiler = compiler};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_cache_store_insert(store, &key, &maker, "payload", 7, &error), KILN_OK);
    kiln_cache_store_close(store); /* sends what waits */
}

/* The copy in the directory stays usable: the second lookup asks no server for it again. */
Test(remote_makers, what_another_compiler_sent_is_used_and_kept_as_shipped)
{
    struct kiln_entry_name name;
    char path[1200];
    struct stat attributes;
    insert("theirs", THEIRS);
    expect("ours", OURS, THEIRS);
    cr_expect_eq(gets, 1, "it is asked once");
    kiln_entry_name_set(&name, &key, 0);
    (void)snprintf(path, sizeof path, "%s/%s/%s", temporary_path("ours"), name.fanout, name.file);
    cr_expect_eq(stat(path, &attributes), 0, "a name without a compiler");
    fake_redis_stop();
    fake_redis_start(keep_values);
    expect("ours", OURS, THEIRS);
    values[0].key[0] = '\0';
    expect("ours", OURS, THEIRS);
    expect("ours", NULL, THEIRS);
    insert("ours", OURS);
    expect("ours", OURS, OURS);
}

Test(remote_makers, a_machine_without_a_compiler_is_served)
{
    insert("theirs", THEIRS);
    expect("bare", NULL, THEIRS);
    cr_expect_eq(gets, 1);
    expect("bare", NULL, THEIRS);
    cr_expect_eq(gets, 1, "a copy is in the directory now");
    expect("bare", OURS, THEIRS);
}

/* A copy of this compiler's own is as if it had been made here. */
Test(remote_makers, what_the_same_compiler_sent_is_kept_as_made_here)
{
    insert("first", OURS);
    expect("second", OURS, OURS);
    expect("second", OURS, OURS);
    cr_expect_eq(gets, 1);
    values[0].key[0] = '\0';
    expect("second", THEIRS, NULL);
}

/* As `kiln cache why` looks where nothing was ever compiled. */
Test(remote_makers, a_store_that_only_looks_needs_no_directory)
{
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_found found;
    insert("theirs", THEIRS);
    cr_assert_eq(setenv("KILN_CACHE_DIR", temporary_path("missing"), 1), 0);
    const struct kiln_cache_options options = {.layers = "",
                                               .system_layer = "",
                                               .remote = fake_redis_url("", "/?timeout=60000"),
                                               .no_create = true};
    const struct kiln_cache_query query = {.key = &key, .compiler = OURS};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_cache_store_find(store, &query, &found, &error), KILN_OK, "%s", error.text);
    kiln_cache_found_fini(&found);
    kiln_cache_store_close(store);
    cr_expect_eq(captured_log_count(KILN_LOG_WARN), 0, "%s", captured_log_last());
}

Test(remote_makers, strict_fleets_have_values_of_their_own)
{
    cr_assert_eq(setenv("KILN_CACHE_ACCEPT", "same-compiler", 1), 0);
    insert("theirs", THEIRS);
    expect("ours", OURS, NULL);
    insert("ours", OURS);
    expect("third", THEIRS, THEIRS);
    expect("fourth", OURS, OURS);
    expect("fifth", NULL, NULL);
    cr_expect_eq(strncmp(values[0].key, "kiln:3:", 7), 0);
    cr_expect_eq(strlen(values[0].key), 7 + 32 + 1 + 16);
    cr_expect_neq(strcmp(values[0].key, values[1].key), 0);
}
