/*
 * A mutex that a forked child can lock.
 *
 * A child has one thread only: a mutex that another one held at the fork is never given back there,
 * and what it guards may be half changed. The first call that locks it in the child is told, and
 * creates that state again. There are no fork handlers: they would run while a host unloads the
 * library, and wait for locks in an order that hosts do not know.
 */
#ifndef KILN_RUNTIME_SUPPORT_PROCESS_MUTEX_H
#define KILN_RUNTIME_SUPPORT_PROCESS_MUTEX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct kiln_process_mutex {
    pthread_mutex_t mutex; /* to wait for conditions with */
    _Atomic pid_t process; /* whose threads lock it; negative: that is being made this process */
};

#define KILN_PROCESS_MUTEX_INITIALIZER {.mutex = PTHREAD_MUTEX_INITIALIZER}

void kiln_process_mutex_init(struct kiln_process_mutex *mutex);
/* Nobody holds it. */
void kiln_process_mutex_fini(struct kiln_process_mutex *mutex);

/* False where a thread that stayed in the parent had it: it is locked, and what it guards may be
 * half changed. */
bool kiln_process_mutex_lock(struct kiln_process_mutex *mutex);
void kiln_process_mutex_unlock(struct kiln_process_mutex *mutex);

#endif
