#include "runtime/support/process_mutex.h"

#include <sched.h>
#include <unistd.h>

void kiln_process_mutex_init(struct kiln_process_mutex *mutex)
{
    (void)pthread_mutex_init(&mutex->mutex, NULL);
    atomic_init(&mutex->process, getpid());
}

void kiln_process_mutex_fini(struct kiln_process_mutex *mutex)
{
    (void)pthread_mutex_destroy(&mutex->mutex);
}

bool kiln_process_mutex_lock(struct kiln_process_mutex *mutex)
{
    pid_t here = getpid();
    pid_t process = atomic_load_explicit(&mutex->process, memory_order_acquire);
    while (process != here) {
        if (process == -here) {
            (void)sched_yield();
            process = atomic_load_explicit(&mutex->process, memory_order_acquire);
        } else if (atomic_compare_exchange_strong(&mutex->process, &process, -here)) {
            bool is_free = pthread_mutex_trylock(&mutex->mutex) == 0;
            if (!is_free) {
                (void)pthread_mutex_init(&mutex->mutex, NULL);
                (void)pthread_mutex_lock(&mutex->mutex);
            }
            atomic_store_explicit(&mutex->process, here, memory_order_release);
            return is_free;
        }
    }
    (void)pthread_mutex_lock(&mutex->mutex);
    return true;
}

void kiln_process_mutex_unlock(struct kiln_process_mutex *mutex)
{
    (void)pthread_mutex_unlock(&mutex->mutex);
}
