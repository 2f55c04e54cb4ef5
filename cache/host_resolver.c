#include "cache/host_resolver.h"

#include "runtime/support/library_lifetime.h"
#include "runtime/support/subprocess.h"
#include "runtime/support/thread.h"

#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A server that moves to another address is found again within this time and that of a pause. */
enum { LIFETIME_MS = 60000 };

struct kiln_host_resolver {
    char *host;
    char port[sizeof "65535"];
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread; /* to be joined */
    bool searching;
    bool abandoned; /* whoever is searching frees all this */
    int failure;    /* of the last search: of getaddrinfo; 0: none */
    uint64_t found_at_ms;
    struct kiln_host_addresses found; /* the last that were, also while searching again */
};

static void release(struct kiln_host_resolver *resolver)
{
    pthread_cond_destroy(&resolver->changed);
    pthread_mutex_destroy(&resolver->mutex);
    free(resolver->host);
    free(resolver);
}

static int search(const struct kiln_host_resolver *resolver, int flags,
                  struct kiln_host_addresses *ret_found)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int failure = getaddrinfo(resolver->host, resolver->port, &hints, &list);
    if (failure != 0)
        return failure;
    ret_found->count = 0;
    for (struct addrinfo *one = list; one != NULL && ret_found->count < KILN_HOST_ADDRESSES;
         one = one->ai_next) {
        if (one->ai_addrlen > sizeof ret_found->all[0].bytes)
            continue;
        memcpy(&ret_found->all[ret_found->count].bytes, one->ai_addr, one->ai_addrlen);
        ret_found->all[ret_found->count++].size = one->ai_addrlen;
    }
    freeaddrinfo(list);
    return ret_found->count == 0 ? EAI_NONAME : 0;
}

static void *search_main(void *context)
{
    struct kiln_host_resolver *resolver = context;
    struct kiln_host_addresses found = {.count = 0};
    int failure = search(resolver, 0, &found);
    pthread_mutex_lock(&resolver->mutex);
    resolver->searching = false;
    resolver->failure = failure;
    if (failure == 0) {
        resolver->found = found;
        resolver->found_at_ms = kiln_monotonic_milliseconds();
    }
    pthread_cond_broadcast(&resolver->changed);
    bool abandoned = resolver->abandoned;
    pthread_mutex_unlock(&resolver->mutex);
    if (abandoned)
        release(resolver);
    return NULL;
}

struct kiln_host_resolver *kiln_host_resolver_create(const char *host, uint16_t port)
{
    struct kiln_host_resolver *resolver = calloc(1, sizeof *resolver);
    if (resolver == NULL)
        return NULL;
    resolver->host = strdup(host);
    if (resolver->host == NULL || pthread_mutex_init(&resolver->mutex, NULL) != 0) {
        free(resolver->host);
        free(resolver);
        return NULL;
    }
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&resolver->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)snprintf(resolver->port, sizeof resolver->port, "%u", (unsigned)port);
    /* Never old: numbers stay what they are. */
    if (search(resolver, AI_NUMERICHOST, &resolver->found) == 0)
        resolver->found_at_ms = UINT64_MAX;
    return resolver;
}

void kiln_host_resolver_destroy(struct kiln_host_resolver *resolver)
{
    if (resolver == NULL)
        return;
    pthread_mutex_lock(&resolver->mutex);
    bool searching = resolver->searching;
    bool has_thread = resolver->has_thread;
    pthread_t thread = resolver->thread;
    if (searching) {
        kiln_library_keep_loaded(); /* the thread's code stays where it is until the thread ends */
        (void)pthread_detach(thread);
        resolver->abandoned = true;
    }
    pthread_mutex_unlock(&resolver->mutex);
    if (searching)
        return;
    if (has_thread)
        (void)pthread_join(thread, NULL);
    release(resolver);
}

static bool are_fresh(const struct kiln_host_resolver *resolver)
{
    return resolver->found.count != 0 &&
           (resolver->found_at_ms == UINT64_MAX ||
            kiln_monotonic_milliseconds() - resolver->found_at_ms < LIFETIME_MS);
}

/* Called with the lock held. */
static int start_search(struct kiln_host_resolver *resolver)
{
    /* One that has ended, or is about to without this lock. */
    if (resolver->has_thread)
        (void)pthread_join(resolver->thread, NULL);
    resolver->has_thread = false;
    int failure = kiln_thread_start(search_main, resolver, 0, &resolver->thread);
    if (failure == 0)
        resolver->has_thread = resolver->searching = true;
    return failure;
}

enum kiln_status kiln_host_resolve(struct kiln_host_resolver *resolver, uint64_t deadline_ms,
                                   struct kiln_host_addresses *ret_addresses,
                                   struct kiln_error *error)
{
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ms / 1000),
                                .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
    enum kiln_status status = KILN_OK;
    pthread_mutex_lock(&resolver->mutex);
    if (!are_fresh(resolver)) {
        int failure = resolver->searching ? 0 : start_search(resolver);
        if (failure != 0 && resolver->found.count == 0)
            status = kiln_error_set(error, KILN_IO, "cannot start a thread: %s", strerror(failure));
        while (resolver->searching && failure == 0)
            failure = pthread_cond_timedwait(&resolver->changed, &resolver->mutex, &deadline);
        /* Addresses that are old are better than none. */
        if (status == KILN_OK && resolver->found.count == 0)
            status = resolver->searching
                         ? kiln_error_set(error, KILN_TIMEOUT, "the name is not resolved in time")
                         : kiln_error_set(error, KILN_IO, "cannot resolve the name: %s",
                                          gai_strerror(resolver->failure));
    }
    if (status == KILN_OK)
        *ret_addresses = resolver->found;
    pthread_mutex_unlock(&resolver->mutex);
    return status;
}
