#include "runtime/support/thread.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <unistd.h>

static void *read_mask(void *context)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, context);
    return NULL;
}

Test(thread, leaves_signals_to_the_host)
{
    sigset_t before;
    sigset_t mask;
    sigset_t after;
    cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    pthread_t thread;
    cr_assert_eq(kiln_thread_start(read_mask, &mask, 0, &thread), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    static const int sent[] = {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM, SIGPROF, SIGPIPE};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        cr_expect_eq(sigismember(&mask, sent[i]), 1, "signal %d is taken", sent[i]);
        cr_expect_eq(sigismember(&after, sent[i]), sigismember(&before, sent[i]));
    }
    cr_expect_eq(sigismember(&mask, SIGSEGV), 0, "no crash handler would see a fault");
}

/* Touches most of a stack that is larger than the usual one. */
static void *use_stack(void *context)
{
    volatile char large[24 << 20];
    for (size_t i = 0; i < sizeof large; i += 4096)
        large[i] = 1;
    *(bool *)context = large[0] == 1;
    return NULL;
}

Test(thread, has_the_stack_that_was_asked_for)
{
    bool is_done = false;
    pthread_t thread;
    cr_assert_eq(kiln_thread_start(use_stack, &is_done, (size_t)32 << 20, &thread), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_expect(is_done);
}
