#include "runtime/support/temporary_name.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

Test(temporary_name, matches_its_own_names_and_those_of_others)
{
    char name[KILN_TEMPORARY_NAME_BYTES];
    kiln_temporary_name_make(name, 0);
    cr_assert(kiln_temporary_name_matches(name), "%s", name);
    cr_assert(kiln_temporary_name_matches(".kiln-0123456789abcdef.tmp"));
    cr_assert_not(kiln_temporary_name_matches(".kiln-0123456789abcde.tmp"));
    cr_assert_not(kiln_temporary_name_matches(".kiln-0123456789ABCDEF.tmp"));
    cr_assert_not(kiln_temporary_name_matches(".kiln-0123456789abcdef.tmpx"));
    cr_assert_not(kiln_temporary_name_matches(".kiln-0123456789abcdef/a.tmp"));
    cr_assert_not(kiln_temporary_name_matches("kiln-0123456789abcdef.tmp"));
    cr_assert_not(kiln_temporary_name_matches(".kiln-"));
    cr_assert_not(kiln_temporary_name_matches(""));
}

Test(temporary_name, is_new_each_time)
{
    char first[KILN_TEMPORARY_NAME_BYTES];
    char second[KILN_TEMPORARY_NAME_BYTES];
    kiln_temporary_name_make(first, 0);
    kiln_temporary_name_make(second, 0);
    cr_assert_str_neq(first, second);
    cr_assert_lt(strlen(first), KILN_TEMPORARY_NAME_BYTES - 1, "cut off: %s", first);
}

/* The name that a child makes, which then waits to be killed. */
Test(temporary_name, an_orphan_is_known_once_its_writer_is_gone)
{
    char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(name, MAP_FAILED);
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        kiln_temporary_name_make(name, 0);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    char byte;
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    cr_assert_not(kiln_temporary_name_is_orphan(name), "the writer lives: %s", name);
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert(kiln_temporary_name_is_orphan(name), "the writer is gone: %s", name);

    /* Its number belongs to another process now, which started at another time: ours, which may
     * have started in the same tick as the child or the one before. */
    char machine[20];
    unsigned process;
    unsigned long long start;
    cr_assert_eq(sscanf(name, ".kiln-%16[0-9a-f]-%x-%llx-", machine, &process, &start), 3);
    char reused[KILN_TEMPORARY_NAME_BYTES];
    (void)snprintf(reused, sizeof reused, ".kiln-%s-%x-%llx-0123456789abcdef.tmp", machine,
                   (unsigned)getpid(), start + 100000);
    cr_assert(kiln_temporary_name_is_orphan(reused), "%s", reused);

    /* Of another machine, of one that could not say, and no such name at all. */
    machine[0] = machine[0] == '0' ? '1' : '0';
    (void)snprintf(reused, sizeof reused, ".kiln-%s-%x-%llx-0123456789abcdef.tmp", machine, process,
                   start);
    cr_assert_not(kiln_temporary_name_is_orphan(reused));
    (void)snprintf(reused, sizeof reused, ".kiln-%016x-%x-%llx-0123456789abcdef.tmp", 0, process,
                   start);
    cr_assert_not(kiln_temporary_name_is_orphan(reused));
    cr_assert_not(kiln_temporary_name_is_orphan(".kiln-0123456789abcdef.tmp"));
    cr_assert_not(kiln_temporary_name_is_orphan(".kiln-----------------------.tmp"));
    cr_assert_not(kiln_temporary_name_is_orphan("notes.txt"));
}

/* What the next two share: a child that has made a name and lives as a zombie or with one, as after
 * a SIGKILL whose parent does not wait. */
static char *shared_name;

static pid_t start_writer(void (*end)(int ready))
{
    shared_name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(shared_name, MAP_FAILED);
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        /* What may be in the second field of its stat file. */
        (void)prctl(PR_SET_NAME, "a) Z 1 (b) R");
        kiln_temporary_name_make(shared_name, 0);
        end(ready[1]);
        _exit(0);
    }
    char byte;
    (void)close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return child;
}

static void stay(int ready)
{
    (void)!write(ready, "x", 1);
    for (;;)
        pause();
}

Test(temporary_name, a_writer_that_nobody_waits_for_has_ended)
{
    pid_t child = start_writer(stay);
    cr_assert_not(kiln_temporary_name_is_orphan(shared_name), "the writer lives: %s", shared_name);
    cr_assert_eq(kill(child, SIGKILL), 0);
    siginfo_t ended;
    cr_assert_eq(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    cr_expect(kiln_temporary_name_is_orphan(shared_name), "the writer is a zombie: %s",
              shared_name);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

static pthread_t main_thread;

static void *tell_when_alone(void *context)
{
    (void)pthread_join(main_thread, NULL);
    stay(*(int *)context);
    return NULL;
}

static void end_main_thread(int ready)
{
    static int descriptor;
    pthread_t thread;
    descriptor = ready;
    main_thread = pthread_self();
    if (pthread_create(&thread, NULL, tell_when_alone, &descriptor) == 0)
        pthread_exit(NULL);
}

/* The letter behind the name in the process's stat file. */
static char state_of(pid_t process)
{
    char path[64];
    char text[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file);
    (void)!fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    const char *end = strrchr(text, ')');
    cr_assert_not_null(end);
    return end[1] == ' ' ? end[2] : '?';
}

Test(temporary_name, a_writer_whose_main_thread_has_ended_lives)
{
    pid_t child = start_writer(end_main_thread);
    while (state_of(child) != 'Z')
        (void)usleep(1000);
    cr_expect_not(kiln_temporary_name_is_orphan(shared_name), "%s", shared_name);
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}
