#include "tests/cache/remote_fixture.h"

#include "cache/entry_format.h"
#include "runtime/support/log.h"
#include "tests/cache/sample_key.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct remote_fixture remote_fixture;

static pthread_mutex_t served_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
    pthread_mutex_t mutex;
    unsigned warnings;
    struct kiln_buffer text;
} logged = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void keep_message(enum kiln_log_level level, const char *message)
{
    pthread_mutex_lock(&logged.mutex);
    logged.warnings += level == KILN_LOG_WARN;
    kiln_buffer_printf(&logged.text, "%s\n", message);
    pthread_mutex_unlock(&logged.mutex);
}

bool remote_fixture_has_logged(const char *text)
{
    pthread_mutex_lock(&logged.mutex);
    bool has = strstr(kiln_buffer_text(&logged.text), text) != NULL;
    pthread_mutex_unlock(&logged.mutex);
    return has;
}

unsigned remote_fixture_warnings(void)
{
    pthread_mutex_lock(&logged.mutex);
    unsigned warnings = logged.warnings;
    pthread_mutex_unlock(&logged.mutex);
    return warnings;
}

const char *remote_fixture_log(void)
{
    return kiln_buffer_text(&logged.text);
}

void remote_fixture_set_up(void)
{
    kiln_error_init(&remote_fixture.error);
    kiln_log_set_sink(keep_message);
    kiln_log_set_level(KILN_LOG_INFO);
    remote_fixture.key = sample_key(7);
    char payload[1000];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (char)(i * 37);
    cr_assert_eq(kiln_entry_encode(&remote_fixture.key, NULL, payload, sizeof payload,
                                   &remote_fixture.entry, &remote_fixture.error),
                 KILN_OK);
}

void remote_fixture_tear_down(void)
{
    fake_redis_stop();
    kiln_cache_key_fini(&remote_fixture.key);
    kiln_buffer_fini(&remote_fixture.entry);
    kiln_buffer_fini(&remote_fixture.served);
    kiln_buffer_fini(&logged.text);
}

void remote_fixture_serve(const void *bytes, size_t size)
{
    pthread_mutex_lock(&served_mutex);
    kiln_buffer_clear(&remote_fixture.served);
    kiln_buffer_append(&remote_fixture.served, bytes, size);
    pthread_mutex_unlock(&served_mutex);
}

void remote_fixture_serve_entry(void)
{
    remote_fixture_serve(remote_fixture.entry.data, remote_fixture.entry.size);
}

bool remote_fixture_keep_value(int connection, const struct fake_redis_command *command)
{
    bool sent;
    if (strcmp(command->arguments[0], "SET") == 0) {
        remote_fixture_serve(command->arguments[2], command->sizes[2]);
        remote_fixture.sets++;
        return fake_redis_send_text(connection, "+OK\r\n");
    }
    remote_fixture.gets++;
    pthread_mutex_lock(&served_mutex);
    if (remote_fixture.served.data == NULL)
        sent = fake_redis_send_text(connection, "$-1\r\n");
    else
        sent = fake_redis_send_value(connection, remote_fixture.served.data,
                                     remote_fixture.served.size);
    pthread_mutex_unlock(&served_mutex);
    return sent;
}

struct kiln_remote_cache *remote_fixture_open(const char *login, const char *rest)
{
    struct kiln_remote_cache *remote;
    cr_assert_eq(
        kiln_remote_cache_open(fake_redis_url(login, rest), &remote, &remote_fixture.error),
        KILN_OK, "%s", remote_fixture.error.text);
    return remote;
}

struct kiln_remote_cache *remote_fixture_start(fake_redis_handler handler)
{
    fake_redis_start(handler);
    return remote_fixture_open("", REMOTE_PATIENT);
}

enum kiln_status remote_fixture_look_up(struct kiln_remote_cache *remote)
{
    const struct kiln_buffer *entry = &remote_fixture.entry;
    struct kiln_buffer found;
    kiln_buffer_init(&found);
    enum kiln_status status =
        kiln_remote_cache_lookup(remote, &remote_fixture.key, 0, &found, &remote_fixture.error);
    if (status == KILN_OK) {
        cr_assert_eq(found.size, entry->size);
        cr_assert_eq(memcmp(found.data, entry->data, entry->size), 0);
    } else {
        cr_assert_eq(found.size, 0);
    }
    kiln_buffer_fini(&found);
    return status;
}

void remote_fixture_store(struct kiln_remote_cache *remote)
{
    kiln_remote_cache_store(remote, &remote_fixture.key, 0, remote_fixture.entry.data,
                            remote_fixture.entry.size);
}

void remote_fixture_await(const atomic_uint *counter, unsigned count)
{
    while (*counter < count)
        (void)usleep(1000);
}
