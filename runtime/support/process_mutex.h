/*
 * Mutexes that a forked child finds free.
 *
 * A child has one thread only: a mutex that another one held at the fork would never be given back
 * there, and what it guards could be half changed. So a fork waits until it has all of these, and
 * gives them back in the parent and in the child. They are for short stretches: what a fork does
 * not get within a second it leaves, since the forking thread itself may hold it.
 *
 * A thread may hold several, in any order.
 */
#ifndef KILN_RUNTIME_SUPPORT_FORK_SAFE_MUTEX_H
#define KILN_RUNTIME_SUPPORT_FORK_SAFE_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

struct kiln_fork_safe_mutex {
    pthread_mutex_t mutex; /* to lock, unlock and wait with */
    struct kiln_fork_safe_mutex *next;
    struct kiln_fork_safe_mutex *previous;
    bool is_taken; /* by the fork that goes on */
};

/* Where the system has no memory for fork handlers it is a mutex like any other. */
void kiln_fork_safe_mutex_init(struct kiln_fork_safe_mutex *mutex);
/* Nobody holds it. */
void kiln_fork_safe_mutex_fini(struct kiln_fork_safe_mutex *mutex);

#endif
