/*
 * Places that are not as they should be: what cannot be cached is left out, and each cause is told
 * of once, not once per kernel.
 */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/cache_warning.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/runtime/support/unprivileged.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNELS = 20 };

static char directory[2048];
static struct kiln_error error;

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("cache"));
    kiln_error_init(&error);
    captured_log_start(KILN_LOG_WARN);
}

TestSuite(incomplete_environment, .init = set_up, .fini = temporary_directory_remove,
          .timeout = 60);

/* As the engine does it. Returns how many kernels were not cached. */
static unsigned compile_all(struct kiln_cache_store *store, size_t size)
{
    static char payload[64 * 1024];
    unsigned failures = 0;
    for (unsigned i = 0; i < KERNELS; i++) {
        struct kiln_cache_key key = sample_key(i);
        void *found = NULL;
        size_t found_bytes;
        kiln_error_init(&error);
        if (kiln_cache_store_lookup(store, &key, &found, &found_bytes, &error) != KILN_OK &&
            kiln_cache_store_insert(store, &key, NULL, payload, size, &error) != KILN_OK) {
            kiln_cache_warn_once("insert", error.text, "not cached: %s", error.text);
            failures++;
        }
        free(found);
        kiln_cache_key_fini(&key);
    }
    return failures;
}

Test(incomplete_environment, fan_out_directories_swapped_for_links)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    cr_assert_eq(mkdir(temporary_path("elsewhere"), 0700), 0);
    for (unsigned i = 0; i < 256; i++) {
        char path[4200];
        (void)snprintf(path, sizeof path, "%s/%02x", directory, i);
        cr_assert_eq(symlink(temporary_path("elsewhere"), path), 0);
    }
    cr_assert_eq(compile_all(store, 10), KERNELS);
    /* One of looking up, one of inserting. */
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 2, "%s", captured_log_last());
    cr_assert_eq(directory_count(temporary_path("elsewhere")), 0);
    kiln_cache_store_close(store);
}

/* A file system of 256 KiB, in a mount name space of this process's own. */
static bool mount_small(const char *path)
{
    return mkdir(path, 0700) == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("kiln", path, "tmpfs", 0, "size=256k,mode=700") == 0;
}

Test(incomplete_environment, a_full_disk)
{
    if (!mount_small(directory))
        skip_test("this user may not mount a small file system");
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    unsigned failures = compile_all(store, 40000);
    cr_assert_gt(failures, 0);
    cr_assert_lt(failures, KERNELS);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_not_null(strstr(captured_log_last(), "No space left on device"), "%s",
                       captured_log_last());
    struct kiln_cache_stats stats;
    cr_assert_eq(kiln_cache_store_verify(store, NULL, NULL, &stats, &error), KILN_OK);
    cr_assert_eq(stats.entries, KERNELS - failures);
    cr_assert_eq(stats.damaged, 0);
    cr_assert_eq(stats.temporary_files, 0);

    /* Once there is room again, what was left out is written. */
    struct kiln_cache_cleared cleared;
    cr_assert_eq(kiln_cache_store_clear(store, &cleared, &error), KILN_OK);
    cr_assert_eq(compile_all(store, 1000), 0);
    kiln_cache_store_close(store);
    cr_assert_eq(umount(directory), 0);
}

static int use_read_only_directory(void)
{
    const uint64_t max_bytes = 1000; /* less than there is: it would have to evict */
    const struct kiln_cache_options options = {.directory = directory,
                                               .max_bytes = &max_bytes,
                                               .layers = "",
                                               .system_layer = "",
                                               .remote = ""};
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    captured_log_start(KILN_LOG_WARN);
    if (kiln_cache_store_open(&options, &store, &error) != KILN_OK)
        return 2;
    unsigned failures = compile_all(store, 100);
    unsigned warnings = captured_log_count(KILN_LOG_WARN);
    kiln_cache_store_close(store);
    if (failures != KERNELS - 2)
        return 3;
    return warnings <= 2 ? 0 : 4; /* one of inserting, one of evicting */
}

static int fill_and_close_directory(void)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    store_fixture_insert(store, 3, 2000);
    store_fixture_insert(store, 4, 2000);
    kiln_cache_store_close(store);
    char command[4200];
    (void)snprintf(command, sizeof command, "chmod -R a-w '%s'", directory);
    return system(command) == 0 ? use_read_only_directory() : 1;
}

Test(incomplete_environment, a_read_only_directory)
{
    cr_assert_eq(unprivileged_run(temporary_path("."), fill_and_close_directory), 0);
}

/* A clock before 1970 or long after now: entries are found, and the budget holds. */
Test(incomplete_environment, times_from_a_wrong_clock)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 10 * (100 + 74));
    for (unsigned i = 0; i < 10; i++) {
        store_fixture_insert(store, i, 100);
        store_fixture_age(store_fixture_path(directory, i),
                          i % 2 == 0 ? (int64_t)3000000000 : -(int64_t)3000000000);
        cr_assert(store_fixture_has(store, i));
    }
    for (unsigned i = 10; i < 30; i++)
        store_fixture_insert(store, i, 100);
    struct kiln_cache_stats stats;
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK);
    cr_assert_leq(stats.bytes, 10 * (100 + 74));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
    kiln_cache_store_close(store);
}
