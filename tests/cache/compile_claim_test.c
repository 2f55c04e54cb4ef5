/* Claims: who waits for whom, for how long, and what is left behind. */
#include "cache/compile_claim.h"

#include "runtime/support/subprocess.h"
#include "tests/cache/sample_key.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/runtime/support/unprivileged.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kiln_cache_store *store;
static struct kiln_cache_key key;
static struct kiln_error error;
static char fanout_path[4200];

static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    cr_assert_eq(
        kiln_cache_store_open(&(struct kiln_cache_options){.directory = temporary_path("cache")},
                              &store, &error),
        KILN_OK, "%s", error.text);
    key = sample_key(7);
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, &key, 0);
    (void)snprintf(fanout_path, sizeof fanout_path, "%s/%s", kiln_cache_store_directory(store),
                   name.fanout);
}

static void tear_down(void)
{
    kiln_cache_store_close(store);
    kiln_cache_key_fini(&key);
    temporary_directory_remove();
}

TestSuite(compile_claim, .init = set_up, .fini = tear_down, .timeout = 60);

static uint64_t in_milliseconds(uint64_t count)
{
    return kiln_monotonic_milliseconds() + count;
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *directory = opendir(fanout_path);
    for (struct dirent *item; directory != NULL && (item = readdir(directory)) != NULL;)
        count += *item->d_name != '.' || strlen(item->d_name) > 2;
    if (directory != NULL)
        (void)closedir(directory);
    return count;
}

enum { LONG_MILLISECONDS = 20000, SHORT_MILLISECONDS = 100 };

/* A process that takes the claim, says so, and then does what `end` does. */
static pid_t start_owner(void (*end)(struct kiln_compile_claim *claim))
{
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t owner = fork();
    cr_assert_geq(owner, 0);
    if (owner == 0) {
        struct kiln_compile_claim claim;
        kiln_compile_claim_open(&claim, store, &key, 0);
        if (kiln_compile_claim_take(&claim, in_milliseconds(LONG_MILLISECONDS)) != KILN_CLAIM_TAKEN)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        end(&claim);
        _exit(0);
    }
    char byte;
    (void)close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1, "the claim cannot be taken");
    (void)close(ready[0]);
    return owner;
}

static void stay(struct kiln_compile_claim *claim)
{
    (void)claim;
    for (;;)
        (void)pause();
}

static void give_up(struct kiln_compile_claim *claim)
{
    (void)usleep(200000);
    kiln_compile_claim_close(claim);
}

static void insert_and_stay(struct kiln_compile_claim *claim)
{
    (void)usleep(200000);
    if (kiln_cache_store_insert(store, &key, NULL, "x", 1, &error) != KILN_OK)
        _exit(1);
    stay(claim);
}

static enum kiln_claim outcome(uint64_t milliseconds)
{
    struct kiln_compile_claim claim;
    kiln_compile_claim_open(&claim, store, &key, 0);
    enum kiln_claim claimed = kiln_compile_claim_take(&claim, in_milliseconds(milliseconds));
    kiln_compile_claim_close(&claim);
    return claimed;
}

static void expect(enum kiln_claim expected, uint64_t milliseconds)
{
    enum kiln_claim claimed = outcome(milliseconds);
    cr_expect_eq(claimed, expected, "%d instead of %d", claimed, expected);
}

static void end_owner(pid_t owner)
{
    (void)kill(owner, SIGKILL);
    cr_expect_eq(waitpid(owner, NULL, 0), owner);
}

Test(compile_claim, is_taken_and_leaves_nothing)
{
    for (int i = 0; i < 3; i++) {
        expect(KILN_CLAIM_TAKEN, 0);
        cr_expect_eq(count_files(), 0);
    }
}

Test(compile_claim, of_one_key_is_none_of_another)
{
    pid_t owner = start_owner(stay);
    kiln_cache_key_fini(&key);
    key = sample_key(8);
    expect(KILN_CLAIM_TAKEN, 0);
    end_owner(owner);
}

Test(compile_claim, that_is_given_up_ends_the_wait)
{
    pid_t owner = start_owner(give_up);
    expect(KILN_CLAIM_WAITED, LONG_MILLISECONDS);
    cr_expect_eq(waitpid(owner, NULL, 0), owner);
    cr_expect_eq(count_files(), 0);
}

Test(compile_claim, entry_ends_the_wait)
{
    pid_t owner = start_owner(insert_and_stay);
    expect(KILN_CLAIM_WAITED, LONG_MILLISECONDS);
    end_owner(owner);
}

Test(compile_claim, of_a_process_that_lives_lasts_until_the_deadline)
{
    pid_t owner = start_owner(stay);
    uint64_t start = kiln_monotonic_milliseconds();
    expect(KILN_CLAIM_NONE, SHORT_MILLISECONDS);
    cr_expect_geq(kiln_monotonic_milliseconds() - start, SHORT_MILLISECONDS);
    /* Nobody waits for it twice. */
    expect(KILN_CLAIM_TAKEN, 0);
    cr_expect_eq(count_files(), 0);
    end_owner(owner);
}

/* As it is after SIGSTOP, or when its machine swaps. */
Test(compile_claim, of_a_process_that_is_stopped_lasts_until_the_deadline)
{
    pid_t owner = start_owner(stay);
    cr_assert_eq(kill(owner, SIGSTOP), 0);
    expect(KILN_CLAIM_NONE, SHORT_MILLISECONDS);
    end_owner(owner);
}

Test(compile_claim, of_a_process_that_is_killed_is_taken)
{
    pid_t owner = start_owner(stay);
    end_owner(owner);
    cr_expect_eq(count_files(), 1);
    expect(KILN_CLAIM_TAKEN, LONG_MILLISECONDS);
    cr_expect_eq(count_files(), 0);
}

static void *kill_soon(void *context)
{
    (void)usleep(200000);
    end_owner(*(pid_t *)context);
    return NULL;
}

Test(compile_claim, of_a_process_that_is_killed_meanwhile_is_taken)
{
    pid_t owner = start_owner(stay);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, kill_soon, &owner), 0);
    expect(KILN_CLAIM_TAKEN, LONG_MILLISECONDS);
    (void)pthread_join(thread, NULL);
}

/* Another machine on a network file system, or another container: nothing can be told of it. */
Test(compile_claim, of_another_machine_is_not_waited_for)
{
    struct kiln_compile_claim claim;
    kiln_compile_claim_open(&claim, store, &key, 0);
    char *machine = claim.name + sizeof ".kiln-" - 1 + KILN_CACHE_HASH_HEX + 1;
    *machine = *machine == '0' ? '1' : '0';
    cr_assert_eq(kiln_compile_claim_take(&claim, 0), KILN_CLAIM_TAKEN);
    expect(KILN_CLAIM_TAKEN, 0);
    kiln_compile_claim_close(&claim);
    cr_expect_eq(count_files(), 0);
}

/* It makes an entry of its own, which is not the one that is wanted. */
Test(compile_claim, of_another_compiler_is_not_waited_for)
{
    struct kiln_compile_claim claim;
    kiln_compile_claim_open(&claim, store, &key, kiln_cache_compiler_mark("clang 20"));
    cr_assert_eq(kiln_compile_claim_take(&claim, 0), KILN_CLAIM_TAKEN);
    expect(KILN_CLAIM_TAKEN, 0);
    kiln_compile_claim_close(&claim);
    cr_expect_eq(count_files(), 0);
}

/* What somebody else has put there under the name is no claim. */
Test(compile_claim, of_any_other_form_is_not_waited_for)
{
    struct kiln_compile_claim claim;
    kiln_compile_claim_open(&claim, store, &key, 0);
    int file = openat(claim.fanout, claim.name, O_CREAT | O_WRONLY, 0600);
    cr_assert_geq(file, 0);
    (void)close(file);
    expect(KILN_CLAIM_WAITED, LONG_MILLISECONDS);
    cr_expect_eq(unlinkat(claim.fanout, claim.name, 0), 0);
    cr_assert_eq(symlinkat("/some/where", claim.fanout, claim.name), 0);
    expect(KILN_CLAIM_NONE, SHORT_MILLISECONDS);
    cr_expect_eq(count_files(), 0);
    kiln_compile_claim_close(&claim);
}

static int claim_unprivileged(void)
{
    struct kiln_cache_store *own;
    if (kiln_cache_store_open(
            &(struct kiln_cache_options){.directory = temporary_path("unprivileged")}, &own,
            &error) != KILN_OK)
        return 10;
    store = own;
    if (outcome(0) != KILN_CLAIM_TAKEN) /* makes the fan-out directory */
        return 11;
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, &key, 0);
    char path[4300];
    (void)snprintf(path, sizeof path, "%s/%s", kiln_cache_store_directory(own), name.fanout);
    if (chmod(path, 0500) != 0)
        return 12;
    int result = (int)outcome(LONG_MILLISECONDS);
    return chmod(path, 0700) != 0 ? 13 : result;
}

Test(compile_claim, cannot_be_made_in_a_directory_that_is_read_only)
{
    cr_expect_eq(unprivileged_run(temporary_path("."), claim_unprivileged), KILN_CLAIM_NONE);
}

/* The claim of a dead process that cannot be removed: the file system became read-only, say. */
static int claim_over_a_dead_one(void)
{
    struct kiln_cache_store *own;
    if (kiln_cache_store_open(
            &(struct kiln_cache_options){.directory = temporary_path("unprivileged")}, &own,
            &error) != KILN_OK)
        return 10;
    struct kiln_compile_claim claim;
    kiln_compile_claim_open(&claim, own, &key, 0);
    pid_t owner = fork();
    if (owner == 0)
        _exit(kiln_compile_claim_take(&claim, 0) != KILN_CLAIM_TAKEN);
    int status;
    if (waitpid(owner, &status, 0) != owner || status != 0 || fchmod(claim.fanout, 0500) != 0)
        return 11;
    int result = (int)kiln_compile_claim_take(&claim, in_milliseconds(LONG_MILLISECONDS));
    if (fchmod(claim.fanout, 0700) != 0)
        return 12;
    kiln_compile_claim_close(&claim);
    kiln_cache_store_close(own);
    return result;
}

Test(compile_claim, of_a_dead_process_that_cannot_be_removed_keeps_nobody)
{
    cr_expect_eq(unprivileged_run(temporary_path("."), claim_over_a_dead_one), KILN_CLAIM_NONE);
}

Test(compile_claim, cannot_be_made_without_a_directory)
{
    kiln_cache_store_close(store);
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
    cr_assert_eq(kiln_cache_store_open(NULL, &store, &error), KILN_OK);
    expect(KILN_CLAIM_NONE, LONG_MILLISECONDS);
}

/* A claim that is left behind is litter like a temporary file: the store counts it by its name, and
 * removes it once it is old. Its owner is not read from that name. */
Test(compile_claim, has_the_name_of_a_temporary_file)
{
    struct kiln_compile_claim claim;
    kiln_compile_claim_open(&claim, store, &key, 0);
    cr_expect(kiln_temporary_name_matches(claim.name), "%s", claim.name);
    cr_expect_not(kiln_temporary_name_is_orphan(claim.name), "%s", claim.name);
    kiln_compile_claim_close(&claim);
}
