#include "cache/cache_directory.h"
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/cache_warning.h"

#include "tests/cache/sample_key.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/runtime/support/unprivileged.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    unsetenv("KILN_CACHE_DIR");
    unsetenv("HIPDNN_CACHE_DIR");
    unsetenv("HIPDNN_DISABLE_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
}

TestSuite(cache_directory, .init = set_up, .fini = temporary_directory_remove);

static struct kiln_cache_store *open_default(void)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    kiln_cache_warnings_forget();
    captured_log_start(KILN_LOG_WARN);
    cr_assert_eq(
        kiln_cache_store_open(&(struct kiln_cache_options){.directory = NULL}, &store, &error),
        KILN_OK, "%s", error.text);
    return store;
}

/* Opens with the current environment; NULL: memory only. */
static void assert_default(const char *path, unsigned warnings)
{
    struct kiln_cache_store *store = open_default();
    if (path != NULL)
        cr_assert_str_eq(kiln_cache_store_directory(store), path);
    else
        cr_assert_null(kiln_cache_store_directory(store));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), warnings, "%s", captured_log_last());
    kiln_cache_store_close(store);
}

Test(cache_directory, the_first_variable_that_is_set_decides)
{
    setenv("HOME", temporary_path("home"), 1);
    assert_default(temporary_path("home/.cache/kiln"), 0);
    setenv("XDG_CACHE_HOME", temporary_path("xdg"), 1);
    assert_default(temporary_path("xdg/kiln"), 0);
    setenv("HIPDNN_CACHE_DIR", temporary_path("hipdnn"), 1);
    assert_default(temporary_path("hipdnn/kiln"), 0);
    setenv("KILN_CACHE_DIR", temporary_path("own//"), 1);
    assert_default(temporary_path("own"), 0);

    struct stat attributes;
    cr_assert_eq(stat(temporary_path("home/.cache/kiln"), &attributes), 0);
    cr_assert_eq(attributes.st_mode & 07777, 0700);
}

Test(cache_directory, empty_and_relative_values)
{
    setenv("HOME", temporary_path("home"), 1);
    setenv("HIPDNN_CACHE_DIR", "", 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_default(temporary_path("home/.cache/kiln"), 0);
    setenv("XDG_CACHE_HOME", "", 1);
    assert_default(temporary_path("home/.cache/kiln"), 0);
}

/* It would be another directory wherever a program is started. */
Test(cache_directory, a_relative_home_is_none)
{
    cr_assert_eq(chdir(temporary_path(".")), 0);
    setenv("HOME", "home", 1);
    assert_default(NULL, 1);
    cr_assert_not_null(strstr(captured_log_last(), "no environment variable names a place"));
    setenv("XDG_CACHE_HOME", temporary_path("xdg"), 1);
    assert_default(temporary_path("xdg/kiln"), 0);
    cr_assert_eq(directory_count(temporary_path(".")), 1);
}

/* Who only looks. */
Test(cache_directory, none_is_created_on_request)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_options options = {.directory = temporary_path("a/b"), .no_create = true};
    kiln_error_init(&error);
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "/a/b': No such file"), "%s", error.text);

    /* One that the environment names is where entries will be. */
    options.directory = NULL;
    setenv("KILN_CACHE_DIR", temporary_path("a/b"), 1);
    captured_log_start(KILN_LOG_WARN);
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert_str_eq(kiln_cache_store_directory(store), temporary_path("a/b"));
    struct kiln_cache_key key = sample_key(1);
    struct kiln_cache_stats stats = {.entries = 99};
    void *payload = NULL;
    size_t size = 0;
    struct kiln_cache_cleared cleared = {.files = 99};
    kiln_error_init(&error);
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(stats.entries, 0);
    cr_assert_eq(kiln_cache_store_clear(store, &cleared, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(cleared.files, 0);
    const struct kiln_cache_prune prune = {0, 0};
    struct kiln_cache_pruned pruned = {.removed_files = 99};
    cr_assert_eq(kiln_cache_store_prune(store, &prune, &pruned, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(pruned.removed_files, 0);
    cr_assert_eq(kiln_cache_store_lookup(store, &key, &payload, &size, &error), KILN_NOT_FOUND);
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, "x", 1, &error), KILN_NOT_FOUND);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
    kiln_cache_key_fini(&key);
    kiln_cache_store_close(store);
    cr_assert_eq(directory_count(temporary_path(".")), 0);

    /* What is no directory is no empty one. */
    cr_assert_eq(close(open(temporary_path("a"), O_CREAT | O_WRONLY, 0600)), 0);
    kiln_cache_warnings_forget();
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK);
    cr_assert_null(kiln_cache_store_directory(store));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    kiln_cache_store_close(store);
}

Test(cache_directory, empty_own_variable_asks_for_memory_only)
{
    setenv("HOME", temporary_path("home"), 1);
    setenv("KILN_CACHE_DIR", "", 1);
    assert_default(NULL, 0);
    cr_assert_eq(directory_count(temporary_path(".")), 0);
}

/* hipDNN's switch goes before every variable that names a directory, and not before a caller who
 * names one. */
Test(cache_directory, disabled_caches_are_memory_only)
{
    static const char *const off[] = {"", "0", "false", "no"};
    static const char *const on[] = {"1", "true", "ON", "yes", "enable", "Enabled"};
    setenv("HIPDNN_CACHE_DIR", temporary_path("theirs"), 1);
    setenv("KILN_CACHE_DIR", temporary_path("own"), 1);
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        setenv("HIPDNN_DISABLE_CACHE", on[i], 1);
        captured_log_start(KILN_LOG_INFO);
        assert_default(NULL, 0);
        cr_assert_eq(directory_count(temporary_path(".")), 0, "%s", on[i]);
    }
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    const struct kiln_cache_options options = {.directory = temporary_path("named")};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert_str_eq(kiln_cache_store_directory(store), temporary_path("named"));
    kiln_cache_store_close(store);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        setenv("HIPDNN_DISABLE_CACHE", off[i], 1);
        assert_default(temporary_path("own"), 0);
    }
}

Test(cache_directory, no_variable_is_one_warning)
{
    assert_default(NULL, 1);
    cr_assert_str_eq(captured_log_last(),
                     "kernels are kept in memory only, without a cache directory: no environment "
                     "variable names a place for it; hint: set KILN_CACHE_DIR");
}

static void assert_refused(const char *path, const char *reason)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    cr_assert_neq(
        kiln_cache_store_open(&(struct kiln_cache_options){.directory = path}, &store, &error),
        KILN_OK, "'%s'", path);
    cr_assert_not_null(strstr(error.text, reason), "'%s' lacks '%s'", error.text, reason);
    cr_assert_null(store);

    /* The same place, not named by the caller: one warning, and a store that works. */
    setenv("KILN_CACHE_DIR", path, 1);
    assert_default(NULL, 1);
    cr_assert_not_null(strstr(captured_log_last(), reason), "%s", captured_log_last());
    unsetenv("KILN_CACHE_DIR");
}

Test(cache_directory, others_may_not_write)
{
    const char *path = temporary_path("d");
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(chmod(path, 0770), 0);
    assert_refused(path, "other users may write to it");
    cr_assert_eq(chmod(path, 0702), 0);
    assert_refused(path, "other users may write to it");
    cr_assert_eq(chmod(path, 0755), 0);
    setenv("KILN_CACHE_DIR", path, 1);
    assert_default(path, 0);
}

Test(cache_directory, the_owner_is_this_user)
{
    if (geteuid() != 0)
        skip_test("only root can give a directory away");
    const char *path = temporary_path("d");
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(chown(path, 12345, 12345), 0);
    assert_refused(path, "it belongs to another user");
}

Test(cache_directory, a_file_is_no_directory)
{
    const char *path = temporary_path("f");
    cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    assert_refused(path, "Not a directory");
    assert_refused(temporary_path("f/below"), "Not a directory");
}

Test(cache_directory, a_link_is_not_followed)
{
    cr_assert_eq(mkdir(temporary_path("real"), 0700), 0);
    cr_assert_eq(symlink(temporary_path("real"), temporary_path("link")), 0);
    assert_refused(temporary_path("link"), "it is a symbolic link");
    assert_refused(temporary_path("link//"), "it is a symbolic link");
    cr_assert_eq(symlink(temporary_path("nowhere"), temporary_path("dangling")), 0);
    assert_refused(temporary_path("dangling"), "dangling");
    cr_assert_eq(directory_count(temporary_path("real")), 0);
}

Test(cache_directory, a_link_above_is_the_users_own_choice)
{
    cr_assert_eq(mkdir(temporary_path("real"), 0700), 0);
    cr_assert_eq(symlink(temporary_path("real"), temporary_path("link")), 0);
    setenv("KILN_CACHE_DIR", temporary_path("link/d"), 1);
    assert_default(temporary_path("link/d"), 0);
    cr_assert_eq(directory_count(temporary_path("real/d")), 0);
}

Test(cache_directory, a_store_without_a_directory_works_and_misses)
{
    struct kiln_cache_store *store = open_default();
    struct kiln_cache_key key = sample_key(1);
    struct kiln_error error;
    struct kiln_cache_stats stats = {.entries = 99};
    kiln_error_init(&error);
    void *payload = NULL;
    size_t size = 0;
    struct kiln_cache_cleared cleared = {.files = 99};
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, "x", 1, &error), KILN_OK);
        cr_assert_eq(kiln_cache_store_lookup(store, &key, &payload, &size, &error), KILN_NOT_FOUND);
    }
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK);
    cr_assert_eq(stats.entries, 0);
    stats.entries = 99;
    cr_assert_eq(kiln_cache_store_verify(store, NULL, NULL, &stats, &error), KILN_OK);
    cr_assert_eq(stats.entries, 0);
    cr_assert_eq(kiln_cache_store_clear(store, &cleared, &error), KILN_OK);
    cr_assert_eq(cleared.files, 0);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1, "exactly one warning, at open");
    kiln_cache_key_fini(&key);
    kiln_cache_store_close(store);
}

/* The path is swapped for a link to a hostile place while the store is open. */
Test(cache_directory, an_open_store_stays_in_its_directory)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_key key = sample_key(1);
    kiln_error_init(&error);
    cr_assert_eq(
        kiln_cache_store_open(&(struct kiln_cache_options){.directory = temporary_path("d")},
                              &store, &error),
        KILN_OK);
    cr_assert_eq(mkdir(temporary_path("hostile"), 0777), 0);
    cr_assert_eq(rename(temporary_path("d"), temporary_path("moved")), 0);
    cr_assert_eq(symlink(temporary_path("hostile"), temporary_path("d")), 0);
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, "x", 1, &error), KILN_OK, "%s",
                 error.text);
    cr_assert_eq(directory_count(temporary_path("hostile")), 0);
    cr_assert_eq(directory_count(temporary_path("moved")), 1);
    kiln_cache_key_fini(&key);
    kiln_cache_store_close(store);
}

Test(cache_directory, a_directory_removed_under_a_store_is_a_miss_and_a_failed_insert)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_key key = sample_key(1);
    void *payload = NULL;
    size_t size = 0;
    kiln_error_init(&error);
    cr_assert_eq(
        kiln_cache_store_open(&(struct kiln_cache_options){.directory = temporary_path("d")},
                              &store, &error),
        KILN_OK);
    cr_assert_eq(rmdir(temporary_path("d")), 0);
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, "x", 1, &error), KILN_IO);
    cr_assert_eq(kiln_cache_store_lookup(store, &key, &payload, &size, &error), KILN_NOT_FOUND);
    kiln_cache_key_fini(&key);
    kiln_cache_store_close(store);
}

static int use_read_only_directory(void)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_key old_key = sample_key(1);
    struct kiln_cache_key new_key = sample_key(2);
    void *payload = NULL;
    size_t size = 0;
    int result = 2;
    kiln_error_init(&error);
    if (kiln_cache_store_open(&(struct kiln_cache_options){.directory = temporary_path("d")},
                              &store, &error) != KILN_OK ||
        kiln_cache_store_insert(store, &old_key, NULL, "x", 1, &error) != KILN_OK)
        goto done;
    result = 3;
    if (chmod(temporary_path("d"), 0500) != 0)
        goto done;
    kiln_cache_store_close(store);
    store = NULL;
    result = 4;
    if (kiln_cache_store_open(&(struct kiln_cache_options){.directory = temporary_path("d")},
                              &store, &error) != KILN_OK)
        goto done;
    result = 5;
    if (kiln_cache_store_lookup(store, &old_key, &payload, &size, &error) != KILN_OK || size != 1)
        goto done;
    result = 6;
    if (kiln_cache_store_insert(store, &new_key, NULL, "x", 1, &error) != KILN_IO ||
        strstr(error.text, "Permission denied") == NULL)
        goto done;
    /* A place under it cannot be created. */
    result = 7;
    struct kiln_cache_store *below;
    if (kiln_cache_store_open(&(struct kiln_cache_options){.directory = temporary_path("d/below")},
                              &below, &error) != KILN_IO)
        goto done;
    result = 0;
done:
    free(payload);
    kiln_cache_key_fini(&old_key);
    kiln_cache_key_fini(&new_key);
    kiln_cache_store_close(store);
    return result;
}

Test(cache_directory, a_read_only_directory_is_read)
{
    cr_assert_eq(unprivileged_run(temporary_path("."), use_read_only_directory), 0);
}
