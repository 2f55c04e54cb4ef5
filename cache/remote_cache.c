#include "cache/remote_cache.h"

#include "cache/circuit_breaker.h"
#include "cache/entry_format.h"
#include "cache/remote_connection.h"
#include "cache/remote_writer.h"
#include "runtime/support/log.h"
#include "runtime/support/subprocess.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    /* Lookups that are under way at once; more wait for one of them. */
    CONNECTIONS = 8,
    /* Of each step of a write, for which nobody waits. */
    WRITE_TIMEOUT_MS = 1000,
    KEY_BYTES = 80,
};

struct slot {
    struct kiln_remote_connection connection;
    bool busy;
};

/*
 * What belongs to one process. A forked child finds its parent's here, in whatever state other
 * threads had left it at that moment: it closes the descriptors, touches nothing else, and makes
 * one of its own.
 */
struct session {
    struct kiln_remote_cache *remote;
    pid_t process;
    struct kiln_host_resolver *resolver;
    struct kiln_remote_writer *writer;
    struct kiln_remote_connection writer_connection; /* of the writer's thread */
    pthread_mutex_t mutex;                           /* of all below; never held while asking */
    pthread_cond_t slot_freed;
    struct slot slots[CONNECTIONS];
    struct kiln_circuit_breaker server;
    struct kiln_circuit_breaker writes; /* of a server that answers but takes nothing */
    bool is_read_only;                  /* and that was made so by somebody */
};

struct kiln_remote_cache {
    struct kiln_remote_url url;
    char name[sizeof "redis://[]:65535/4294967295" + sizeof(((struct kiln_remote_url *)0)->host)];
    _Atomic(struct session *) session; /* NULL before the first use */
    _Atomic uint64_t dropped;
};

/* Of this process and all stores in it. */
static atomic_bool told_of_failure;
static atomic_bool told_of_refusal;
static atomic_bool told_of_damage;

static enum kiln_log_level level_of(atomic_bool *told)
{
    return atomic_exchange(told, true) ? KILN_LOG_INFO : KILN_LOG_WARN;
}

enum kiln_status kiln_remote_cache_open(const char *url, struct kiln_remote_cache **ret_remote,
                                        struct kiln_error *error)
{
    struct kiln_remote_cache *remote = calloc(1, sizeof *remote);
    if (remote == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening a shared cache");
    enum kiln_status status = kiln_remote_url_parse(url, &remote->url, error);
    if (status != KILN_OK) {
        free(remote);
        return status;
    }
    bool is_bracketed = strchr(remote->url.host, ':') != NULL;
    (void)snprintf(remote->name, sizeof remote->name, "redis://%s%s%s:%u/%" PRIu32,
                   is_bracketed ? "[" : "", remote->url.host, is_bracketed ? "]" : "",
                   (unsigned)remote->url.port, remote->url.database);
    *ret_remote = remote;
    return KILN_OK;
}

const char *kiln_remote_cache_name(const struct kiln_remote_cache *remote)
{
    return remote->name;
}

/* What a server says is not trusted to leave out what it was told. */
static const char *reason_of(const struct kiln_remote_cache *remote, const struct kiln_error *error)
{
    const char *password = remote->url.password;
    if (password[0] != '\0' && strstr(error->text, password) != NULL)
        return "a reason that cannot be shown, since it has the password in it";
    return error->text;
}

enum outcome { OUTCOME_UNKNOWN, OUTCOME_GOOD, OUTCOME_BAD };

static enum outcome outcome_of(enum kiln_remote_answer answer)
{
    switch (answer) {
    case KILN_REMOTE_DONE:
    case KILN_REMOTE_NOTHING:
    case KILN_REMOTE_TOO_LARGE:
        return OUTCOME_GOOD;
    case KILN_REMOTE_REFUSED:
    case KILN_REMOTE_GONE:
    case KILN_REMOTE_FAILED:
        return OUTCOME_BAD;
    case KILN_REMOTE_NO_MEMORY:
        break;
    }
    return OUTCOME_UNKNOWN;
}

/* What a breaker was told, for the log: nobody logs while holding the lock. */
struct change {
    bool paused;
    bool recovered;
    uint32_t pause_ms;
};

/* Called with the lock held. */
static struct change report(struct kiln_circuit_breaker *breaker, uint32_t ticket,
                            enum outcome outcome)
{
    struct change change = {.paused = false};
    if (outcome == OUTCOME_GOOD)
        change.recovered = kiln_breaker_succeed(breaker, ticket);
    else if (outcome == OUTCOME_BAD)
        change.paused = kiln_breaker_fail(breaker, ticket, kiln_monotonic_milliseconds());
    change.pause_ms = breaker->pause_ms;
    return change;
}

static void log_change(const struct session *session, struct change change,
                       enum kiln_log_level (*level)(const struct kiln_error *error),
                       const char *what, const struct kiln_error *error)
{
    if (change.paused)
        kiln_log(level(error), "the shared cache '%s' %s for %u s: %s", session->remote->name, what,
                 (unsigned)change.pause_ms / 1000, reason_of(session->remote, error));
    if (change.recovered)
        kiln_log(KILN_LOG_INFO, "the shared cache '%s' works again", session->remote->name);
}

static enum kiln_log_level failure_level(const struct kiln_error *error)
{
    (void)error;
    return level_of(&told_of_failure);
}

/* A user or a replica that may only read was made so by somebody. */
static bool is_intended(const struct kiln_error *refusal)
{
    return strstr(refusal->text, "': NOPERM ") != NULL ||
           strstr(refusal->text, "': READONLY ") != NULL;
}

static enum kiln_log_level refusal_level(const struct kiln_error *error)
{
    return is_intended(error) ? KILN_LOG_INFO : level_of(&told_of_refusal);
}

/* One question, on a connection that may be open; a value is taken in or given out. */
struct request {
    const char *key;
    struct kiln_buffer *ret_value; /* else what follows is stored */
    const void *value;
    size_t size;
    uint32_t timeout_ms; /* of each step */
    const _Atomic uint64_t *give_up_ms;
};

static enum kiln_remote_answer perform(struct session *session,
                                       struct kiln_remote_connection *connection,
                                       const struct request *request, struct kiln_error *error)
{
    bool is_fresh = !kiln_remote_connection_is_usable(connection);
    for (;;) {
        struct kiln_remote_wait wait = {.give_up_ms = request->give_up_ms};
        enum kiln_remote_answer answer = KILN_REMOTE_DONE;
        if (is_fresh) {
            wait.deadline_ms = kiln_monotonic_milliseconds() + request->timeout_ms;
            answer = kiln_remote_connection_open(connection, &session->remote->url,
                                                 session->resolver, &wait, error);
        }
        if (answer != KILN_REMOTE_DONE)
            return answer;
        wait.deadline_ms = kiln_monotonic_milliseconds() + request->timeout_ms;
        if (request->ret_value != NULL)
            answer = kiln_remote_connection_get(connection, request->key, &wait, request->ret_value,
                                                error);
        else
            answer = kiln_remote_connection_set(connection, request->key, request->value,
                                                request->size, &wait, error);
        /* A server closes connections that were idle, or all of them when it starts anew. */
        if (answer != KILN_REMOTE_GONE || is_fresh)
            return answer;
        is_fresh = true;
    }
}

/* The writer's sender. */
static void send_value(void *context, const char *key, const void *value, size_t size,
                       const _Atomic uint64_t *give_up_ms)
{
    struct session *session = context;
    uint32_t timeout_ms = session->remote->url.timeout_ms;
    struct request request = {.key = key,
                              .value = value,
                              .size = size,
                              .timeout_ms =
                                  timeout_ms > WRITE_TIMEOUT_MS ? timeout_ms : WRITE_TIMEOUT_MS,
                              .give_up_ms = give_up_ms};
    uint64_t now = kiln_monotonic_milliseconds();
    uint32_t server_ticket = 0;
    uint32_t writes_ticket = 0;
    pthread_mutex_lock(&session->mutex);
    bool admitted = kiln_breaker_admit(&session->writes, now, &writes_ticket) &&
                    kiln_breaker_admit(&session->server, now, &server_ticket);
    bool is_wanted = !session->is_read_only;
    pthread_mutex_unlock(&session->mutex);
    if (!admitted) {
        session->remote->dropped += is_wanted;
        return;
    }

    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_remote_answer answer =
        perform(session, &session->writer_connection, &request, &error);
    bool refused = answer == KILN_REMOTE_REFUSED;
    bool is_read_only = refused && is_intended(&error);
    session->remote->dropped += answer != KILN_REMOTE_DONE && !is_read_only;
    /* Of a write that was cut short because the process ends nobody has to hear. */
    if (answer != KILN_REMOTE_DONE && kiln_monotonic_milliseconds() >= atomic_load(give_up_ms))
        return;
    pthread_mutex_lock(&session->mutex);
    if (refused || answer == KILN_REMOTE_DONE)
        session->is_read_only = is_read_only;
    struct change server =
        report(&session->server, server_ticket, refused ? OUTCOME_GOOD : outcome_of(answer));
    struct change writes = report(&session->writes, writes_ticket,
                                  refused                      ? OUTCOME_BAD
                                  : answer == KILN_REMOTE_DONE ? OUTCOME_GOOD
                                                               : OUTCOME_UNKNOWN);
    pthread_mutex_unlock(&session->mutex);
    log_change(session, server, failure_level, "is not asked", &error);
    log_change(session, writes, refusal_level, "takes no entries, and is given none", &error);
}

static void session_destroy(struct session *session)
{
    kiln_remote_writer_destroy(session->writer);
    kiln_host_resolver_destroy(session->resolver);
    kiln_remote_connection_close(&session->writer_connection);
    for (size_t i = 0; i < CONNECTIONS; i++)
        kiln_remote_connection_close(&session->slots[i].connection);
    pthread_cond_destroy(&session->slot_freed);
    pthread_mutex_destroy(&session->mutex);
    free(session);
}

static struct session *session_create(struct kiln_remote_cache *remote)
{
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL || pthread_mutex_init(&session->mutex, NULL) != 0) {
        free(session);
        return NULL;
    }
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&session->slot_freed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    session->remote = remote;
    session->process = getpid();
    kiln_remote_connection_init(&session->writer_connection);
    for (size_t i = 0; i < CONNECTIONS; i++)
        kiln_remote_connection_init(&session->slots[i].connection);
    session->resolver = kiln_host_resolver_create(remote->url.host, remote->url.port);
    session->writer = kiln_remote_writer_create(send_value, session);
    if (session->resolver == NULL || session->writer == NULL) {
        session_destroy(session);
        return NULL;
    }
    return session;
}

static void close_copy(struct kiln_remote_connection *connection)
{
    int descriptor = atomic_exchange(&connection->descriptor, -1);
    if (descriptor >= 0)
        (void)close(descriptor);
}

/* In a child, of its parent's session. Its memory stays: it may be half changed. */
static void session_abandon(struct session *session)
{
    close_copy(&session->writer_connection);
    for (size_t i = 0; i < CONNECTIONS; i++)
        close_copy(&session->slots[i].connection);
}

/* The session of this process; NULL when memory is out. */
static struct session *session_of(struct kiln_remote_cache *remote)
{
    struct session *session = atomic_load(&remote->session);
    if (session != NULL && session->process == getpid())
        return session;
    struct session *fresh = session_create(remote);
    if (fresh == NULL)
        return NULL;
    if (!atomic_compare_exchange_strong(&remote->session, &session, fresh)) {
        /* Another thread of this process was faster. */
        session_destroy(fresh);
        return session;
    }
    if (session != NULL)
        session_abandon(session);
    return fresh;
}

void kiln_remote_cache_close(struct kiln_remote_cache *remote)
{
    if (remote == NULL)
        return;
    struct session *session = atomic_load(&remote->session);
    if (session != NULL && session->process == getpid())
        session_destroy(session);
    else if (session != NULL)
        session_abandon(session);
    explicit_bzero(&remote->url, sizeof remote->url);
    free(remote);
}

/* A connection for one lookup, one that is open if there is one; NULL when none gets free in time,
 * or when the others that are asking show that there is no point. Called with the lock held. */
static struct slot *claim_slot(struct session *session, uint32_t ticket)
{
    uint64_t end_ms = kiln_monotonic_milliseconds() + session->remote->url.timeout_ms;
    struct timespec end = {.tv_sec = (time_t)(end_ms / 1000),
                           .tv_nsec = (long)(end_ms % 1000) * 1000000};
    for (;;) {
        struct slot *slot = NULL;
        for (size_t i = 0; i < CONNECTIONS; i++) {
            struct slot *one = &session->slots[i];
            if (!one->busy && (slot == NULL || atomic_load(&one->connection.descriptor) >= 0))
                slot = one;
        }
        if (slot != NULL) {
            slot->busy = true;
            return slot;
        }
        if (pthread_cond_timedwait(&session->slot_freed, &session->mutex, &end) != 0 ||
            !kiln_breaker_holds(&session->server, ticket))
            return NULL;
    }
}

/* Asks, without a word about what the value is worth. */
static enum kiln_remote_answer fetch(struct session *session, const char *key,
                                     struct kiln_buffer *ret_value, struct kiln_error *error)
{
    struct request request = {
        .key = key, .ret_value = ret_value, .timeout_ms = session->remote->url.timeout_ms};
    uint32_t ticket = 0;
    struct slot *slot = NULL;
    pthread_mutex_lock(&session->mutex);
    if (kiln_breaker_admit(&session->server, kiln_monotonic_milliseconds(), &ticket))
        slot = claim_slot(session, ticket);
    pthread_mutex_unlock(&session->mutex);
    if (slot == NULL)
        return KILN_REMOTE_NOTHING;

    enum kiln_remote_answer answer = perform(session, &slot->connection, &request, error);
    pthread_mutex_lock(&session->mutex);
    slot->busy = false;
    struct change change = report(&session->server, ticket, outcome_of(answer));
    if (change.paused)
        pthread_cond_broadcast(&session->slot_freed);
    else
        pthread_cond_signal(&session->slot_freed);
    pthread_mutex_unlock(&session->mutex);
    log_change(session, change, failure_level, "is not asked", error);
    return answer;
}

/* True if the bytes are a sound entry of this very key. */
static bool is_sound(const struct kiln_cache_key *key, const struct kiln_buffer *value,
                     struct kiln_error *error)
{
    struct kiln_entry_view view;
    if (kiln_entry_decode(value->data, value->size, &view, error) != KILN_OK)
        return false;
    if (kiln_entry_view_has_key(&view, key))
        return true;
    (void)kiln_error_set(error, KILN_CORRUPT, "it is of another key");
    return false;
}

static void key_text(const struct kiln_cache_key *key, uint64_t mark, char ret_text[KEY_BYTES])
{
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_cache_key_hex(key, hex);
    int size = snprintf(ret_text, KEY_BYTES, "kiln:%d:%s", KILN_ENTRY_FORMAT_VERSION, hex);
    if (mark != 0)
        (void)snprintf(ret_text + size, KEY_BYTES - (size_t)size, ":%016" PRIx64, mark);
}

enum kiln_status kiln_remote_cache_lookup(struct kiln_remote_cache *remote,
                                          const struct kiln_cache_key *key, uint64_t mark,
                                          struct kiln_buffer *ret_entry, struct kiln_error *error)
{
    char name[KEY_BYTES];
    key_text(key, mark, name);
    struct session *session = session_of(remote);
    if (session == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while asking a shared cache");

    struct kiln_buffer value;
    kiln_buffer_init(&value);
    enum kiln_remote_answer answer = fetch(session, name, &value, error);
    if (answer == KILN_REMOTE_DONE && is_sound(key, &value, error)) {
        *ret_entry = value;
        return KILN_OK;
    }
    kiln_buffer_fini(&value);
    if (answer == KILN_REMOTE_NO_MEMORY)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while asking a shared cache");
    if (answer == KILN_REMOTE_DONE || answer == KILN_REMOTE_TOO_LARGE)
        kiln_log(level_of(&told_of_damage),
                 "the entry '%s' of the shared cache '%s' is not used: %s", name, remote->name,
                 reason_of(session->remote, error));
    return kiln_error_set(error, KILN_NOT_FOUND, "the shared cache has no usable entry '%s'", name);
}

void kiln_remote_cache_store(struct kiln_remote_cache *remote, const struct kiln_cache_key *key,
                             uint64_t mark, const void *entry, size_t size)
{
    char name[KEY_BYTES];
    key_text(key, mark, name);
    struct session *session = session_of(remote);
    if (session != NULL && size <= KILN_REMOTE_VALUE_LIMIT_BYTES &&
        kiln_remote_writer_push(session->writer, name, entry, size))
        return;
    remote->dropped++;
    if (size > KILN_REMOTE_VALUE_LIMIT_BYTES)
        kiln_log(KILN_LOG_INFO, "the entry '%s' of %zu bytes is too large for the shared cache",
                 name, size);
    else
        kiln_log(KILN_LOG_INFO,
                 "the entry '%s' is not sent to the shared cache '%s': too much waits, or "
                 "there is no memory or thread to send it",
                 name, remote->name);
}

size_t kiln_remote_cache_flush(struct kiln_remote_cache *remote, uint32_t milliseconds)
{
    struct session *session = atomic_load(&remote->session);
    if (session == NULL || session->process != getpid())
        return 0;
    return kiln_remote_writer_flush(session->writer, milliseconds);
}

uint64_t kiln_remote_cache_dropped(const struct kiln_remote_cache *remote)
{
    return remote->dropped;
}

enum kiln_status kiln_remote_cache_probe(struct kiln_remote_cache *remote, uint64_t *ret_ns,
                                         struct kiln_error *error)
{
    struct kiln_remote_connection connection;
    struct kiln_error reason;
    struct kiln_buffer value;
    struct timespec start = {0};
    struct timespec end = {0};
    kiln_error_init(&reason);
    kiln_buffer_init(&value);
    kiln_remote_connection_init(&connection);
    struct kiln_host_resolver *resolver =
        kiln_host_resolver_create(remote->url.host, remote->url.port);
    if (resolver == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while asking a shared cache");
    struct kiln_remote_wait wait = {.deadline_ms =
                                        kiln_monotonic_milliseconds() + remote->url.timeout_ms};
    enum kiln_remote_answer answer =
        kiln_remote_connection_open(&connection, &remote->url, resolver, &wait, &reason);
    if (answer == KILN_REMOTE_DONE) {
        wait.deadline_ms = kiln_monotonic_milliseconds() + remote->url.timeout_ms;
        (void)clock_gettime(CLOCK_MONOTONIC, &start);
        answer = kiln_remote_connection_get(&connection, "kiln:probe", &wait, &value, &reason);
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
    }
    kiln_remote_connection_close(&connection);
    kiln_host_resolver_destroy(resolver);
    kiln_buffer_fini(&value);
    if (outcome_of(answer) != OUTCOME_GOOD)
        return kiln_error_set(error, KILN_IO, "the shared cache '%s' cannot be used: %s",
                              remote->name, reason_of(remote, &reason));
    *ret_ns = (uint64_t)((end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec);
    return KILN_OK;
}
