#include "cache/cache_budget.h"

#include "cache/cache_inventory.h"
#include "runtime/support/file.h"
#include "runtime/support/temporary_name.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* An entry is 82 bytes more than its payload: a frame of 56 and the sample key of 26. */
enum { KIB = 1024, FRAME = 82, HOUR_S = 3600 };

static char directory[4096];
static struct kiln_error error;

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("cache"));
    kiln_error_init(&error);
    captured_log_start(KILN_LOG_INFO);
}

TestSuite(cache_budget, .init = set_up, .fini = temporary_directory_remove, .timeout = 60);

static struct kiln_cache_stats stats_of(struct kiln_cache_store *store)
{
    struct kiln_cache_stats stats = {0};
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK, "%s", error.text);
    return stats;
}

static const char *path_of(unsigned number)
{
    return store_fixture_path(directory, number);
}

Test(cache_budget, the_least_recently_used_go_until_nine_tenths_are_left)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 10 * KIB);
    for (unsigned i = 0; i < 10; i++) {
        store_fixture_insert(store, i, KIB - FRAME);
        store_fixture_age(path_of(i), 100 * (10 - i));
    }
    cr_assert_eq(stats_of(store).bytes, 10 * KIB, "at the limit nothing goes");
    store_fixture_insert(store, 10, KIB - FRAME);
    cr_assert_eq(stats_of(store).bytes, 9 * KIB);
    for (unsigned i = 0; i <= 10; i++)
        cr_assert_eq(store_fixture_is_file(directory, i), i >= 2, "%u", i);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
    kiln_cache_store_close(store);
}

Test(cache_budget, zero_is_no_limit)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    for (unsigned i = 0; i < 50; i++)
        store_fixture_insert(store, i, 100 * KIB);
    cr_assert_eq(stats_of(store).entries, 50);
    kiln_cache_store_close(store);
}

Test(cache_budget, a_use_saves_an_entry)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 4 * KIB);
    for (unsigned i = 0; i < 4; i++) {
        store_fixture_insert(store, i, KIB - FRAME);
        store_fixture_age(path_of(i), 10 * HOUR_S - i);
    }
    cr_assert(store_fixture_has(store, 0));
    store_fixture_insert(store, 4, KIB - FRAME);
    for (unsigned i = 0; i <= 4; i++)
        cr_assert_eq(store_fixture_is_file(directory, i), i != 1 && i != 2, "%u", i);
    kiln_cache_store_close(store);
}

Test(cache_budget, a_use_is_noted_once_an_hour)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    store_fixture_insert(store, 1, KIB);
    store_fixture_age(path_of(1), HOUR_S - 60);
    cr_assert(store_fixture_has(store, 1));
    cr_assert_geq(store_fixture_age_of(path_of(1)), HOUR_S - 60);
    store_fixture_age(path_of(1), HOUR_S + 60);
    cr_assert(store_fixture_has(store, 1));
    cr_assert_lt(store_fixture_age_of(path_of(1)), HOUR_S / 2);
    /* A time a little ahead is a difference of clocks; one far ahead would look new for ever. */
    store_fixture_age(path_of(1), -60);
    cr_assert(store_fixture_has(store, 1));
    cr_assert_lt(store_fixture_age_of(path_of(1)), 0);
    store_fixture_age(path_of(1), -1000 * HOUR_S);
    cr_assert(store_fixture_has(store, 1));
    cr_assert_geq(store_fixture_age_of(path_of(1)), 0);
    kiln_cache_store_close(store);
}

Test(cache_budget, verifying_and_listing_are_no_uses)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    struct kiln_cache_stats stats;
    store_fixture_insert(store, 1, KIB);
    store_fixture_age(path_of(1), 5 * HOUR_S);
    cr_assert_eq(kiln_cache_store_verify(store, NULL, NULL, &stats, &error), KILN_OK);
    struct kiln_cache_item item;
    struct kiln_buffer bytes;
    struct kiln_entry_view view;
    struct kiln_cache_key key = sample_key(1);
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_cache_key_hex(&key, hex);
    kiln_buffer_init(&bytes);
    cr_assert_eq(kiln_cache_store_read(store, hex, &item, &bytes, &view, &error), KILN_OK);
    kiln_buffer_fini(&bytes);
    kiln_cache_key_fini(&key);
    cr_assert_geq(store_fixture_age_of(path_of(1)), 5 * HOUR_S);
    kiln_cache_store_close(store);
}

/* Entries of one time go in the order of their names, whoever evicts. */
Test(cache_budget, ties_go_by_name)
{
    enum { ENTRIES = 20 };
    struct kiln_cache_store *store = store_fixture_open(directory, ENTRIES * KIB);
    for (unsigned i = 0; i < ENTRIES; i++)
        store_fixture_insert(store, i, KIB - FRAME);
    struct stat first;
    cr_assert_eq(stat(path_of(0), &first), 0);
    for (unsigned i = 0; i < ENTRIES; i++) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
        cr_assert_eq(utimensat(AT_FDCWD, path_of(i), times, 0), 0);
    }
    store_fixture_insert(store, ENTRIES, KIB - FRAME);
    char last_gone[64] = "";
    char first_left[64] = "g";
    for (unsigned i = 0; i < ENTRIES; i++) {
        const char *name = strrchr(path_of(i), '/') + 1;
        if (store_fixture_is_file(directory, i) && strcmp(name, first_left) < 0)
            (void)snprintf(first_left, sizeof first_left, "%s", name);
        if (!store_fixture_is_file(directory, i) && strcmp(name, last_gone) > 0)
            (void)snprintf(last_gone, sizeof last_gone, "%s", name);
    }
    cr_assert_str_not_empty(last_gone);
    cr_assert_lt(strcmp(last_gone, first_left), 0);
    kiln_cache_store_close(store);
}

Test(cache_budget, what_was_just_written_stays_even_when_it_looks_oldest)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 4 * KIB);
    for (unsigned i = 0; i < 3; i++) {
        store_fixture_insert(store, i, KIB - FRAME);
        store_fixture_age(path_of(i), -HOUR_S / 2);
    }
    store_fixture_insert(store, 9, 4 * KIB - FRAME);
    cr_assert(store_fixture_is_file(directory, 9));
    cr_assert_eq(stats_of(store).entries, 1);
    kiln_cache_store_close(store);
}

/* A clock that was ahead by years must not keep its entries for ever, nor one that is behind by
 * half an hour keep all of them. */
Test(cache_budget, times_in_the_future_count_as_now)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 4 * KIB);
    for (unsigned i = 0; i < 4; i++) {
        store_fixture_insert(store, i, KIB - FRAME);
        store_fixture_age(path_of(i), i == 0 ? -100000 * HOUR_S : -HOUR_S / 2);
    }
    store_fixture_insert(store, 4, 2 * KIB - FRAME);
    cr_assert_leq(stats_of(store).bytes, 4 * KIB);
    if (store_fixture_is_file(directory, 0))
        cr_assert_geq(store_fixture_age_of(path_of(0)), 0, "set back by the count");
    kiln_cache_store_close(store);
}

Test(cache_budget, an_entry_larger_than_the_limit_is_left_out_and_told_of_once)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 4 * KIB);
    captured_log_start(KILN_LOG_INFO);
    store_fixture_insert(store, 1, 100);
    unsigned before = captured_log_count(KILN_LOG_INFO);
    for (unsigned i = 2; i < 5; i++) {
        store_fixture_insert(store, i, 4 * KIB - FRAME + 1);
        cr_assert_not(store_fixture_is_file(directory, i));
    }
    cr_assert_eq(captured_log_count(KILN_LOG_INFO), before + 1);
    cr_assert_not_null(strstr(captured_log_last(), "larger than the limit"));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
    cr_assert(store_fixture_is_file(directory, 1));
    kiln_cache_store_close(store);
}

/* A file that cannot stay, however new it looks, costs no entry. */
Test(cache_budget, what_cannot_be_an_entry_goes_first)
{
    static const off_t sizes[] = {(off_t)5 << 30, (off_t)257 << 20, 10 * KIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct kiln_cache_store *store = store_fixture_open(directory, 0);
        for (unsigned j = 0; j < 6; j++) {
            store_fixture_insert(store, j, KIB - FRAME);
            store_fixture_age(path_of(j), 100);
        }
        store_fixture_insert(store, 9, 10);
        cr_assert_eq(truncate(path_of(9), sizes[i]), 0, "%m"); /* no room is taken */
        kiln_cache_store_close(store);
        store = store_fixture_open(directory, 9 * KIB);
        store_fixture_insert(store, 6, KIB - FRAME);
        for (unsigned j = 0; j <= 6; j++)
            cr_assert(store_fixture_is_file(directory, j), "%zu: %u", i, j);
        cr_assert_not(store_fixture_is_file(directory, 9));
        kiln_cache_store_close(store);
    }
}

Test(cache_budget, no_ordinary_file_and_no_directory)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    for (unsigned i = 0; i < 4; i++) {
        store_fixture_insert(store, i, KIB - FRAME);
        store_fixture_age(path_of(i), 100);
    }
    for (unsigned i = 8; i < 10; i++) {
        store_fixture_insert(store, i, 10);
        cr_assert_eq(unlink(path_of(i)), 0);
    }
    cr_assert_eq(mkfifo(path_of(8), 0600), 0);
    cr_assert_eq(mkdir(path_of(9), 0700), 0);
    const struct kiln_cache_prune prune = {4 * KIB, 50};
    struct kiln_cache_pruned pruned;
    cr_assert_eq(kiln_cache_store_prune(store, &prune, &pruned, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(pruned.removed_files, 6, "the FIFO, the directory, and all that is old");
    cr_assert_not(store_fixture_is_file(directory, 9));
    kiln_cache_store_close(store);
}

Test(cache_budget, a_smaller_limit_takes_hold)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    for (unsigned i = 0; i < 20; i++)
        store_fixture_insert(store, i, KIB - FRAME);
    kiln_cache_store_close(store);
    store = store_fixture_open(directory, 10 * KIB);
    store_fixture_insert(store, 30, 10);
    cr_assert_leq(stats_of(store).bytes, 10 * KIB);
    kiln_cache_store_close(store);
}

/* Next to the entry `number`, where its insert looks. */
static const char *temporary_path_of(unsigned number, const char *name)
{
    static char path[4200];
    (void)snprintf(path, sizeof path, "%s", path_of(number));
    char *slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(directory, 0700);
    (void)mkdir(path, 0700);
    (void)snprintf(slash, sizeof path - (size_t)(slash - path), "/%s", name);
    return path;
}

static void write_temporary(unsigned number, const char *name, int64_t age_s)
{
    static const char bytes[3 * KIB];
    const char *path = temporary_path_of(number, name);
    cr_assert_eq(kiln_file_write(path, bytes, sizeof bytes, KILN_FILE_PRIVATE, &error), KILN_OK);
    store_fixture_age(path, age_s);
}

static bool has_temporary(unsigned number, const char *name)
{
    struct stat attributes;
    return stat(temporary_path_of(number, name), &attributes) == 0;
}

/* A name of a process that is gone: a child's that made it, ran and was reaped. */
static void make_orphan_name(char name[KILN_TEMPORARY_NAME_BYTES])
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        kiln_temporary_name_make(name, 0);
        _exit(write(ends[1], name, KILN_TEMPORARY_NAME_BYTES) != KILN_TEMPORARY_NAME_BYTES);
    }
    cr_assert_eq(read(ends[0], name, KILN_TEMPORARY_NAME_BYTES), KILN_TEMPORARY_NAME_BYTES);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

Test(cache_budget, an_insert_removes_what_dead_writers_left_where_it_writes)
{
    char orphan[KILN_TEMPORARY_NAME_BYTES];
    char living[KILN_TEMPORARY_NAME_BYTES];
    static const char unknown_new[] = ".kiln-0123456789abcdef.tmp";
    static const char unknown_old[] = ".kiln-0-0-0-0123456789abcdef.tmp";
    static const char future[] = ".kiln-0-0-0-0123456789abcdee.tmp";
    make_orphan_name(orphan);
    kiln_temporary_name_make(living, 0);
    write_temporary(1, orphan, 0);
    write_temporary(1, living, 60);
    write_temporary(1, unknown_new, HOUR_S - 60);
    write_temporary(1, unknown_old, HOUR_S + 60);
    write_temporary(1, future, -100000 * HOUR_S);
    write_temporary(2, orphan, 0);
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    cr_assert_not(store_fixture_has(store, 1));
    cr_assert(has_temporary(1, orphan), "a lookup does not clean");
    store_fixture_insert(store, 1, 10);
    cr_assert_not(has_temporary(1, orphan));
    cr_assert_not(has_temporary(1, unknown_old));
    cr_assert(has_temporary(1, living));
    cr_assert(has_temporary(1, unknown_new));
    cr_assert(has_temporary(1, future));
    cr_assert_geq(store_fixture_age_of(temporary_path_of(1, future)), 0,
                  "an hour from now it goes");
    cr_assert(has_temporary(2, orphan), "elsewhere");
    store_fixture_insert(store, 2, 10);
    cr_assert_not(has_temporary(2, orphan));
    kiln_cache_store_close(store);
}

/* As old as a file system can say, which is before what 64 bits of nanoseconds reach. Not all file
 * systems can. */
Test(cache_budget, times_before_all_history_are_old)
{
    const int64_t ages_s = INT64_MAX / 2;
    static const char ancient[] = ".kiln-0-0-0-0123456789abcdef.tmp";
    if (access("/dev/shm", W_OK) == 0) {
        temporary_directory_remove();
        cr_assert_eq(setenv("TMPDIR", "/dev/shm", 1), 0);
        cr_assert_not_null(temporary_directory_make());
        (void)snprintf(directory, sizeof directory, "%s", temporary_path("cache"));
    }
    struct kiln_cache_store *store = store_fixture_open(directory, 10 * KIB);
    store_fixture_insert(store, 1, 10);
    store_fixture_age(path_of(1), ages_s);
    cr_assert(store_fixture_has(store, 1));
    cr_assert_leq(store_fixture_age_of(path_of(1)), HOUR_S, "the use is noted");
    store_fixture_age(path_of(1), ages_s);
    write_temporary(1, ancient, 10000000000);
    store_fixture_insert(store, 2, 10 * KIB - FRAME);
    cr_assert_not(has_temporary(1, ancient));
    cr_assert_not(store_fixture_is_file(directory, 1));
    kiln_cache_store_close(store);
}

Test(cache_budget, a_count_removes_litter_everywhere)
{
    char orphan[KILN_TEMPORARY_NAME_BYTES];
    make_orphan_name(orphan);
    write_temporary(2, orphan, 0);
    struct kiln_cache_store *store = store_fixture_open(directory, 100 * KIB);
    store_fixture_insert(store, 1, 100); /* a whole share */
    cr_assert_not(has_temporary(2, orphan));
    write_temporary(2, orphan, 0);
    const struct kiln_cache_prune prune = {UINT64_MAX, UINT64_MAX};
    struct kiln_cache_pruned pruned;
    cr_assert_eq(kiln_cache_store_prune(store, &prune, &pruned, &error), KILN_OK);
    cr_assert_eq(pruned.removed_files, 1);
    cr_assert_eq(pruned.kept_files, 1);
    cr_assert_not(has_temporary(2, orphan));
    kiln_cache_store_close(store);
}

Test(cache_budget, files_being_written_count)
{
    char living[KILN_TEMPORARY_NAME_BYTES];
    kiln_temporary_name_make(living, 0);
    write_temporary(5, living, 0); /* 3 KiB */
    struct kiln_cache_store *store = store_fixture_open(directory, 4 * KIB);
    store_fixture_insert(store, 1, KIB - FRAME);
    store_fixture_age(path_of(1), 100);
    store_fixture_insert(store, 2, KIB - FRAME);
    cr_assert_not(store_fixture_is_file(directory, 1));
    cr_assert(store_fixture_is_file(directory, 2));
    cr_assert(has_temporary(5, living));
    kiln_cache_store_close(store);
}

enum { SHARE = 1000, LIMIT = SHARE * KILN_CACHE_BUDGET_SHARE };

/* True if spending that many bytes makes the process count, which is seen by what a count removes.
 */
static bool counts(struct kiln_cache_budget *budget, const struct kiln_cache_directory *opened,
                   const char *orphan, size_t bytes)
{
    write_temporary(1, orphan, 0);
    kiln_cache_budget_spend(budget, opened, (struct kiln_hash128){0, 0}, bytes);
    return !has_temporary(1, orphan);
}

/* The work of a count is spread: between two of them goes a share of the limit. */
Test(cache_budget, a_share_of_the_limit_goes_in_between_counts)
{
    char orphan[KILN_TEMPORARY_NAME_BYTES];
    struct kiln_cache_directory opened;
    struct kiln_cache_budget budget;
    make_orphan_name(orphan);
    cr_assert_eq(kiln_cache_directory_open(directory, &opened, &error), KILN_OK);
    kiln_cache_budget_init(&budget, LIMIT);
    cr_assert(counts(&budget, &opened, orphan, SHARE), "wherever it starts");
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_not(counts(&budget, &opened, orphan, SHARE - 1));
        cr_assert(counts(&budget, &opened, orphan, 1));
    }
    kiln_cache_budget_init(&budget, 0);
    cr_assert_not(counts(&budget, &opened, orphan, SIZE_MAX), "without a limit nobody counts");
    kiln_cache_directory_close(&opened);
}

/* Many processes that insert one small entry each, and end, count as often as one that inserts them
 * all. The chance that none of 200 does, each with one in ten, is less than one in 10^9. */
Test(cache_budget, short_processes_count_too)
{
    enum { PROCESSES = 200 };
    char orphan[KILN_TEMPORARY_NAME_BYTES];
    struct kiln_cache_directory opened;
    make_orphan_name(orphan);
    cr_assert_eq(kiln_cache_directory_open(directory, &opened, &error), KILN_OK);
    struct kiln_cache_budget budget;
    kiln_cache_budget_init(&budget, LIMIT);
    (void)counts(&budget, &opened, orphan, 0); /* a child does not go on with its parent's part */
    unsigned counted = 0;
    for (unsigned i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(counts(&budget, &opened, orphan, SHARE / 10));
        int status = 0;
        cr_assert_eq(waitpid(child, &status, 0), child);
        counted += WIFEXITED(status) && WEXITSTATUS(status) == 1;
    }
    cr_assert_gt(counted, 0);
    cr_assert_lt(counted, PROCESSES / 2);
    kiln_cache_directory_close(&opened);
}
