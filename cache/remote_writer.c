#include "cache/remote_writer.h"

#include "runtime/support/subprocess.h"
#include "runtime/support/thread.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct item {
    struct item *next;
    size_t size;
    char *key;
    char value[];
};

struct kiln_remote_writer {
    kiln_remote_sender sender;
    void *context;
    _Atomic uint64_t give_up_ms;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    pthread_cond_t idle; /* nothing waits and nothing is being sent */
    pthread_t thread;
    bool has_thread;
    bool is_sending;
    bool closing;
    struct item *first;
    struct item **last; /* where the next one is linked */
    size_t values;
    size_t bytes;
};

struct kiln_remote_writer *kiln_remote_writer_create(kiln_remote_sender sender, void *context)
{
    struct kiln_remote_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return NULL;
    if (pthread_mutex_init(&writer->mutex, NULL) != 0) {
        free(writer);
        return NULL;
    }
    (void)pthread_cond_init(&writer->changed, NULL);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&writer->idle, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    writer->sender = sender;
    writer->context = context;
    atomic_init(&writer->give_up_ms, UINT64_MAX);
    writer->last = &writer->first;
    return writer;
}

/* The next value, or NULL for the end; called with the lock held. */
static struct item *take(struct kiln_remote_writer *writer)
{
    writer->is_sending = false;
    if (writer->first == NULL)
        pthread_cond_broadcast(&writer->idle);
    while (writer->first == NULL && !writer->closing)
        pthread_cond_wait(&writer->changed, &writer->mutex);
    struct item *item = writer->first;
    if (item == NULL || kiln_monotonic_milliseconds() >= atomic_load(&writer->give_up_ms))
        return NULL;
    writer->first = item->next;
    if (writer->first == NULL)
        writer->last = &writer->first;
    writer->values--;
    writer->bytes -= item->size;
    writer->is_sending = true;
    return item;
}

static void *send_main(void *context)
{
    struct kiln_remote_writer *writer = context;
    for (;;) {
        pthread_mutex_lock(&writer->mutex);
        struct item *item = take(writer);
        pthread_mutex_unlock(&writer->mutex);
        if (item == NULL)
            return NULL;
        writer->sender(writer->context, item->key, item->value, item->size, &writer->give_up_ms);
        free(item);
    }
}

void kiln_remote_writer_destroy(struct kiln_remote_writer *writer)
{
    if (writer == NULL)
        return;
    pthread_mutex_lock(&writer->mutex);
    writer->closing = true;
    atomic_store(&writer->give_up_ms, kiln_monotonic_milliseconds() + KILN_REMOTE_FLUSH_MS);
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    if (writer->has_thread)
        (void)pthread_join(writer->thread, NULL);
    while (writer->first != NULL) {
        struct item *item = writer->first;
        writer->first = item->next;
        free(item);
    }
    pthread_cond_destroy(&writer->idle);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    free(writer);
}

/* Called with the lock held. */
static size_t count_unsent(const struct kiln_remote_writer *writer)
{
    return writer->values + writer->is_sending;
}

size_t kiln_remote_writer_flush(struct kiln_remote_writer *writer, uint32_t milliseconds)
{
    uint64_t end_ms = kiln_monotonic_milliseconds() + milliseconds;
    struct timespec end = {.tv_sec = (time_t)(end_ms / 1000),
                           .tv_nsec = (long)(end_ms % 1000) * 1000000};
    int failure = 0;
    pthread_mutex_lock(&writer->mutex);
    while (failure == 0 && count_unsent(writer) != 0)
        failure = pthread_cond_timedwait(&writer->idle, &writer->mutex, &end);
    size_t unsent = count_unsent(writer);
    pthread_mutex_unlock(&writer->mutex);
    return unsent;
}

/* Called with the lock held. */
static bool has_room(const struct kiln_remote_writer *writer, size_t size)
{
    return writer->values < KILN_REMOTE_QUEUE_VALUES &&
           writer->bytes + size <= KILN_REMOTE_QUEUE_BYTES;
}

bool kiln_remote_writer_push(struct kiln_remote_writer *writer, const char *key, const void *value,
                             size_t size)
{
    if (size > KILN_REMOTE_QUEUE_BYTES)
        return false;
    size_t key_size = strlen(key) + 1;
    struct item *item = malloc(sizeof *item + size + key_size);
    if (item == NULL)
        return false;
    *item = (struct item){.size = size, .key = item->value + size};
    if (size > 0)
        memcpy(item->value, value, size);
    memcpy(item->key, key, key_size);

    pthread_mutex_lock(&writer->mutex);
    bool taken = has_room(writer, size);
    if (taken && !writer->has_thread)
        taken = writer->has_thread = kiln_thread_start(send_main, writer, 0, &writer->thread) == 0;
    if (taken) {
        *writer->last = item;
        writer->last = &item->next;
        writer->values++;
        writer->bytes += size;
        pthread_cond_signal(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    if (!taken)
        free(item);
    return taken;
}
