/*
 * The shared tier with a real server, started here: what some threads store, others and a child
 * find; another database, a wrong password, no room, and the server killed while everybody is at
 * it. A program of its own, so that the thread sanitizer can watch.
 *
 * Exit code 77: there is no redis-server.
 */
#include "cache/entry_format.h"
#include "cache/remote_cache.h"
#include "runtime/support/log.h"
#include "tests/cache/redis_server.h"
#include "tests/cache/sample_key.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, KEYS = 64, SKIPPED = 77 };

static struct redis_server server;
static atomic_uint warnings;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void count_warnings(enum kiln_log_level level, const char *message)
{
    (void)fprintf(stderr, "%s\n", message);
    if (level == KILN_LOG_WARN)
        warnings++;
}

static struct kiln_remote_cache *open_remote(const char *password, const char *rest)
{
    char url[256];
    struct kiln_remote_cache *remote;
    struct kiln_error error;
    kiln_error_init(&error);
    (void)snprintf(url, sizeof url, "redis://:%s@127.0.0.1:%u%s", password, server.port, rest);
    CHECK(kiln_remote_cache_open(url, &remote, &error) == KILN_OK);
    return remote;
}

/* An entry whose size and bytes follow from its number: from nothing to some 300 kB. */
static struct kiln_buffer make_entry(unsigned number)
{
    struct kiln_cache_key key = sample_key(number);
    struct kiln_buffer entry;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_buffer_init(&entry);
    size_t size = (size_t)number * number * 80;
    char *payload = malloc(size + 1);
    CHECK(payload != NULL);
    for (size_t i = 0; i < size; i++)
        payload[i] = (char)(i * 31 + number);
    CHECK(kiln_entry_encode(&key, NULL, payload, size, &entry, &error) == KILN_OK);
    free(payload);
    kiln_cache_key_fini(&key);
    return entry;
}

static void store(struct kiln_remote_cache *remote, unsigned number)
{
    struct kiln_cache_key key = sample_key(number);
    struct kiln_buffer entry = make_entry(number);
    kiln_remote_cache_store(remote, &key, 0, entry.data, entry.size);
    kiln_buffer_fini(&entry);
    kiln_cache_key_fini(&key);
}

/* True if the entry is there; ends the program when it is a wrong one. */
static bool is_found(struct kiln_remote_cache *remote, unsigned number)
{
    struct kiln_cache_key key = sample_key(number);
    struct kiln_buffer found;
    struct kiln_error error;
    kiln_buffer_init(&found);
    kiln_error_init(&error);
    enum kiln_status status = kiln_remote_cache_lookup(remote, &key, 0, &found, &error);
    CHECK(status == KILN_OK || status == KILN_NOT_FOUND);
    if (status == KILN_OK) {
        struct kiln_buffer entry = make_entry(number);
        CHECK(found.size == entry.size && memcmp(found.data, entry.data, entry.size) == 0);
        kiln_buffer_fini(&entry);
    }
    kiln_buffer_fini(&found);
    kiln_cache_key_fini(&key);
    return status == KILN_OK;
}

static struct kiln_remote_cache *shared;
static unsigned first_key;
static atomic_bool server_is_gone;
static atomic_uint hits;

static void *work(void *context)
{
    unsigned thread = (unsigned)(size_t)context;
    for (unsigned i = 0; i < KEYS; i++) {
        unsigned number = first_key + (i * 7 + thread * 5) % KEYS;
        if (!is_found(shared, number))
            store(shared, number);
        else
            hits++;
        (void)usleep(2000);
    }
    return NULL;
}

static void *kill_later(void *context)
{
    (void)context;
    while (hits < KEYS)
        (void)usleep(1000);
    redis_server_kill(&server);
    server_is_gone = true;
    return NULL;
}

static void run_threads(void *(*another)(void *))
{
    pthread_t threads[THREADS + 1];
    unsigned count = 0;
    for (; count < THREADS; count++)
        CHECK(pthread_create(&threads[count], NULL, work, (void *)(size_t)count) == 0);
    if (another != NULL)
        CHECK(pthread_create(&threads[count++], NULL, another, NULL) == 0);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}

static void await_all(struct kiln_remote_cache *remote)
{
    for (unsigned i = 0; i < KEYS; i++)
        while (!is_found(remote, i)) {
            store(remote, i);
            (void)usleep(20000);
        }
}

int main(void)
{
    kiln_log_set_sink(count_warnings);
    kiln_log_set_level(KILN_LOG_WARN);
    if (!redis_server_start(&server, "secret")) {
        (void)fprintf(stderr, "skipped: there is no redis-server (package redis-server)\n");
        return SKIPPED;
    }

    shared = open_remote("secret", "/?timeout=60000");
    CHECK(!is_found(shared, 1));
    run_threads(NULL);
    await_all(shared);

    /* In another process. It stores nothing: the thread sanitizer wants no thread in a child. */
    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < KEYS; i++)
            CHECK(is_found(shared, i));
        kiln_remote_cache_close(shared);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);

    /* Another database, and what is stored right before the end. */
    struct kiln_remote_cache *other = open_remote("secret", "/3?timeout=60000");
    CHECK(!is_found(other, 1));
    store(other, 1);
    kiln_remote_cache_close(other);
    other = open_remote("secret", "/3?timeout=60000");
    CHECK(is_found(other, 1));
    CHECK(!is_found(other, 2));
    kiln_remote_cache_close(other);
    CHECK(warnings == 0);

    other = open_remote("wrong", "/?timeout=60000");
    CHECK(!is_found(other, 1));
    kiln_remote_cache_close(other);
    CHECK(warnings == 1);

    /* Keys that nobody has stored yet, so that there is something to send when the server goes. */
    hits = 0;
    first_key = KEYS / 2;
    run_threads(kill_later);
    CHECK(server_is_gone);
    CHECK(!is_found(shared, 1));
    store(shared, 1);
    kiln_remote_cache_close(shared);
    CHECK(warnings == 1);
    (void)fprintf(stderr, "passed\n");
    return 0;
}
