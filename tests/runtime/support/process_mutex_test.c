#include "runtime/support/fork_safe_mutex.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kiln_fork_safe_mutex first, second;
static int halves[2]; /* equal whenever nobody holds `first` */
static atomic_bool is_over;

static void *hold_both(void *is_reversed)
{
    struct kiln_fork_safe_mutex *outer = is_reversed != NULL ? &second : &first;
    struct kiln_fork_safe_mutex *inner = is_reversed != NULL ? &first : &second;
    while (!atomic_load(&is_over)) {
        pthread_mutex_lock(&outer->mutex);
        if (pthread_mutex_trylock(&inner->mutex) == 0) {
            halves[0]++;
            (void)usleep(1);
            halves[1]++;
            pthread_mutex_unlock(&inner->mutex);
        }
        pthread_mutex_unlock(&outer->mutex);
        (void)usleep(1);
    }
    return NULL;
}

static bool is_whole(void)
{
    pthread_mutex_lock(&first.mutex);
    pthread_mutex_lock(&second.mutex);
    bool are_equal = halves[0] == halves[1];
    pthread_mutex_unlock(&second.mutex);
    pthread_mutex_unlock(&first.mutex);
    return are_equal;
}

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

static void init_both(void)
{
    kiln_fork_safe_mutex_init(&first);
    kiln_fork_safe_mutex_init(&second);
}

static void fini_both(void)
{
    kiln_fork_safe_mutex_fini(&first);
    kiln_fork_safe_mutex_fini(&second);
}

TestSuite(fork_safe_mutex, .init = init_both, .fini = fini_both, .timeout = 60);

Test(fork_safe_mutex, a_child_finds_them_free_and_what_they_guard_whole)
{
    enum { ROUNDS = 100 };
#if defined(__SANITIZE_ADDRESS__)
    cr_skip_test("a child may find the sanitizer's own locks taken");
#endif
    pthread_t threads[2];
    cr_assert_eq(pthread_create(&threads[0], NULL, hold_both, NULL), 0);
    cr_assert_eq(pthread_create(&threads[1], NULL, hold_both, &first), 0);
    for (int i = 0; i < ROUNDS; i++)
        expect_child(is_whole, i);
    cr_expect(is_whole());
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
}

static bool second_is_free(void)
{
    return pthread_mutex_trylock(&second.mutex) == 0;
}

/* As from a callback of the host. */
Test(fork_safe_mutex, a_fork_by_the_thread_that_holds_one_goes_on)
{
    pthread_mutex_lock(&first.mutex);
    expect_child(second_is_free, 0);
    pthread_mutex_unlock(&first.mutex);
    cr_expect(second_is_free());
    pthread_mutex_unlock(&second.mutex);
}

Test(fork_safe_mutex, one_that_is_gone_is_not_waited_for)
{
    struct kiln_fork_safe_mutex third;
    kiln_fork_safe_mutex_init(&third);
    kiln_fork_safe_mutex_fini(&third);
    expect_child(second_is_free, 0);
}
