#include "runtime/support/notice.h"
#include "runtime/support/standard_error.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(standard_error, .timeout = 20);

enum { IS_CLOSED, IS_WITHOUT_READER, IS_AT_LIMIT, STATES };

/* In a child: standard error takes nothing. */
static void spoil(int state, const char *file)
{
    int ends[2];
    const struct rlimit limit = {.rlim_cur = 0, .rlim_max = 0};
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    if (state == IS_CLOSED) {
        (void)close(STDERR_FILENO);
    } else if (state == IS_WITHOUT_READER && pipe(ends) == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
    } else if (state == IS_AT_LIMIT) {
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        (void)dup2(open(file, O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    }
}

Test(standard_error, that_takes_nothing_does_not_end_the_process)
{
    cr_assert_not_null(temporary_directory_make());
    const char *file = temporary_path("errors");
    for (int state = IS_CLOSED; state < STATES; state++) {
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            sigset_t mask;
            spoil(state, file);
            kiln_notice("a notice");
            kiln_standard_error_write("a line");
            bool is_open = pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 &&
                           !sigismember(&mask, SIGPIPE) && !sigismember(&mask, SIGXFSZ);
            _exit(is_open ? 0 : 1);
        }
        int outcome = 0;
        cr_assert_eq(waitpid(child, &outcome, 0), child);
        cr_expect(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0, "state %d: %x", state,
                  (unsigned)outcome);
    }
    temporary_directory_remove();
}

/* A host that has blocked the signal gets its own one. */
Test(standard_error, a_pending_signal_stays)
{
    sigset_t mask, pending;
    pid_t child = fork();
    if (child == 0) {
        spoil(IS_WITHOUT_READER, NULL);
        (void)sigemptyset(&mask);
        (void)sigaddset(&mask, SIGPIPE);
        (void)pthread_sigmask(SIG_BLOCK, &mask, NULL);
        (void)raise(SIGPIPE);
        kiln_standard_error_write("a line");
        (void)sigpending(&pending);
        _exit(sigismember(&pending, SIGPIPE) ? 0 : 1);
    }
    int outcome = 0;
    cr_assert_eq(waitpid(child, &outcome, 0), child);
    cr_expect(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0);
}
