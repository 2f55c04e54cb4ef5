#include "runtime/support/thread.h"

#include <signal.h>

static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

int kiln_thread_start(void *(*run)(void *), void *context, size_t stack_bytes,
                      pthread_t *ret_thread)
{
    pthread_attr_t attributes;
    int failure = pthread_attr_init(&attributes);
    if (failure != 0)
        return failure;
    if (stack_bytes != 0)
        failure = pthread_attr_setstacksize(&attributes, stack_bytes);
    /* A thread starts with the mask of its creator. */
    sigset_t mask;
    sigset_t previous;
    (void)sigfillset(&mask);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        (void)sigdelset(&mask, own_faults[i]);
    if (failure == 0)
        failure = pthread_sigmask(SIG_SETMASK, &mask, &previous);
    if (failure == 0) {
        failure = pthread_create(ret_thread, &attributes, run, context);
        (void)pthread_sigmask(SIG_SETMASK, &previous, NULL);
    }
    (void)pthread_attr_destroy(&attributes);
    return failure;
}
