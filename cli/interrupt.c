#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* timeout(1) and batch systems signal a process and then its whole group: that is one wish, not
 * two. */
enum { ONE_WISH_MILLISECONDS = 500 };

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { NUMBERS = sizeof(numbers) / sizeof(*numbers) };

static volatile sig_atomic_t noted;
static struct timespec noted_at; /* written before `noted` */

static int64_t milliseconds_since(const struct timespec *start, const struct timespec *now)
{
    return (int64_t)(now->tv_sec - start->tv_sec) * 1000 +
           (now->tv_nsec - start->tv_nsec) / 1000000;
}

static void note(int number)
{
    int saved_errno = errno;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (noted == 0) {
        noted_at = now;
        noted = number;
    } else if (milliseconds_since(&noted_at, &now) >= ONE_WISH_MILLISECONDS) {
        (void)signal(number, SIG_DFL);
        (void)raise(number); /* as soon as this returns */
    }
    errno = saved_errno;
}

void kiln_interrupt_watch(void)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN)
            continue;
        struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        (void)sigaction(numbers[i], &action, NULL);
    }
}

bool kiln_interrupt_pending(void)
{
    return noted != 0;
}

void kiln_interrupt_unwatch(void)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == note)
            (void)signal(numbers[i], SIG_DFL);
    }
    /* Afterwards, so that none is noted and forgotten in between. */
    kiln_interrupt_deliver();
}

void kiln_interrupt_deliver(void)
{
    if (noted == 0)
        return;
    (void)signal(noted, SIG_DFL);
    (void)raise(noted);
}
