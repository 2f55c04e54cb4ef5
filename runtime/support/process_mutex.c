#include "runtime/support/fork_safe_mutex.h"

#include "runtime/support/subprocess.h"

#include <stddef.h>
#include <time.h>

enum { LONGEST_WAIT_MILLISECONDS = 1000, PAUSE_NANOSECONDS = 20000 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Of the list; a fork holds it from its beginning to its end. */
static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kiln_fork_safe_mutex *list;

static bool try_all(void)
{
    bool has_all = true;
    for (struct kiln_fork_safe_mutex *each = list; each != NULL; each = each->next) {
        each->is_taken = pthread_mutex_trylock(&each->mutex) == 0;
        has_all &= each->is_taken;
    }
    return has_all;
}

static void give_back(void)
{
    for (struct kiln_fork_safe_mutex *each = list; each != NULL; each = each->next) {
        if (each->is_taken)
            (void)pthread_mutex_unlock(&each->mutex);
        each->is_taken = false;
    }
    (void)pthread_mutex_unlock(&list_mutex);
}

/* All or none, then again: who holds one may wait for another, or for the list. */
static void take_all(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    uint64_t end = kiln_monotonic_milliseconds() + LONGEST_WAIT_MILLISECONDS;
    for (;;) {
        (void)pthread_mutex_lock(&list_mutex);
        if (try_all() || kiln_monotonic_milliseconds() >= end)
            return;
        give_back();
        (void)nanosleep(&pause, NULL);
    }
}

static void install_handlers(void)
{
    /* They go with the library that this is part of, when it is unloaded. */
    (void)pthread_atfork(take_all, give_back, give_back);
}

void kiln_fork_safe_mutex_init(struct kiln_fork_safe_mutex *mutex)
{
    (void)pthread_once(&once, install_handlers);
    *mutex = (struct kiln_fork_safe_mutex){.is_taken = false};
    (void)pthread_mutex_init(&mutex->mutex, NULL);
    (void)pthread_mutex_lock(&list_mutex);
    mutex->next = list;
    if (list != NULL)
        list->previous = mutex;
    list = mutex;
    (void)pthread_mutex_unlock(&list_mutex);
}

void kiln_fork_safe_mutex_fini(struct kiln_fork_safe_mutex *mutex)
{
    (void)pthread_mutex_lock(&list_mutex);
    *(mutex->previous != NULL ? &mutex->previous->next : &list) = mutex->next;
    if (mutex->next != NULL)
        mutex->next->previous = mutex->previous;
    (void)pthread_mutex_unlock(&list_mutex);
    (void)pthread_mutex_destroy(&mutex->mutex);
}
