#include "runtime/support/standard_error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

void kiln_standard_error_write(const char *line)
{
    /* The signals that a write may raise in the writing thread. */
    static const int raised[] = {SIGPIPE, SIGXFSZ};
    static const struct timespec no_time;
    sigset_t blocked, before, pending;
    (void)sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof raised / sizeof *raised; i++)
        (void)sigaddset(&blocked, raised[i]);
    if (sigpending(&pending) != 0 || pthread_sigmask(SIG_BLOCK, &blocked, &before) != 0)
        return;
    (void)dprintf(STDERR_FILENO, "%s\n", line);
    for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) {
        sigset_t one;
        (void)sigemptyset(&one);
        (void)sigaddset(&one, raised[i]);
        /* One that the host was to get already stays. */
        while (!sigismember(&pending, raised[i]) && sigtimedwait(&one, NULL, &no_time) < 0 &&
               errno == EINTR)
            ;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}
