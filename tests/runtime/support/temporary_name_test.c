#include "runtime/support/temporary_name.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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
