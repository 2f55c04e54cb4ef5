#include "runtime/support/process_mutex.h"

#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kiln_process_mutex mutex;
static struct kiln_process_mutex plain = KILN_PROCESS_MUTEX_INITIALIZER;
static int halves[2]; /* equal whenever nobody holds the mutex */
static atomic_bool is_over;

static void init_mutex(void)
{
    kiln_process_mutex_init(&mutex);
}

static void fini_mutex(void)
{
    kiln_process_mutex_fini(&mutex);
}

TestSuite(process_mutex, .init = init_mutex, .fini = fini_mutex, .timeout = 60);

static void expect_child(bool (*check)(void), int round)
{
    enum { CHILD_SECONDS = 5 };
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        _exit(check() ? 0 : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "round %d", round);
}

static void *change(void *unused)
{
    while (!atomic_load(&is_over)) {
        (void)kiln_process_mutex_lock(&mutex);
        halves[0]++;
        (void)usleep(1);
        halves[1]++;
        kiln_process_mutex_unlock(&mutex);
        (void)usleep(1);
    }
    return unused;
}

static bool is_whole_or_told(void)
{
    bool is_kept = kiln_process_mutex_lock(&mutex);
    bool is_right = !is_kept || halves[0] == halves[1];
    kiln_process_mutex_unlock(&mutex);
    is_right &= kiln_process_mutex_lock(&mutex); /* told once */
    kiln_process_mutex_unlock(&mutex);
    return is_right;
}

Test(process_mutex, a_child_locks_it_at_any_time)
{
    enum { ROUNDS = 100 };
#if defined(__SANITIZE_ADDRESS__)
    cr_skip_test("a child may find the sanitizer's own locks taken");
#endif
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, change, NULL), 0);
    for (int i = 0; i < ROUNDS; i++)
        expect_child(is_whole_or_told, i);
    atomic_store(&is_over, true);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

static bool is_told_in_grandchild(void)
{
    if (kiln_process_mutex_lock(&mutex)) /* this thread's parent held it */
        return false;
    expect_child(is_whole_or_told, 1);
    kiln_process_mutex_unlock(&mutex);
    return true;
}

Test(process_mutex, a_child_is_told_that_it_was_held)
{
    cr_assert(kiln_process_mutex_lock(&mutex));
    expect_child(is_told_in_grandchild, 0);
    kiln_process_mutex_unlock(&mutex);
    cr_assert(kiln_process_mutex_lock(&mutex));
    kiln_process_mutex_unlock(&mutex);
}

static bool is_kept(void)
{
    return kiln_process_mutex_lock(&plain);
}

Test(process_mutex, one_that_is_free_keeps_what_it_guards)
{
    cr_assert(kiln_process_mutex_lock(&plain), "initialized without a call");
    kiln_process_mutex_unlock(&plain);
    expect_child(is_kept, 0);
}
