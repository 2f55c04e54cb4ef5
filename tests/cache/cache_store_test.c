#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/cache_warning.h"

#include "cache/entry_file.h"
#include "cache/entry_format.h"
#include "runtime/support/file.h"
#include "tests/cache/sample_key.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char sample_payload[] = "a payload of some bytes";

static struct kiln_cache_store *store;
static struct kiln_cache_key key;
static char fanout_path[4096];
static char entry_path[4096];
static struct kiln_error error;

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    captured_log_start(KILN_LOG_WARN);
    cr_assert_eq(
        kiln_cache_store_open(&(struct kiln_cache_options){.directory = temporary_path("cache")},
                              &store, &error),
        KILN_OK, "%s", error.text);
    key = sample_key(7);
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, &key, 0);
    (void)snprintf(fanout_path, sizeof fanout_path, "%s/%s", kiln_cache_store_directory(store),
                   name.fanout);
    (void)snprintf(entry_path, sizeof entry_path, "%s/%s/%s", kiln_cache_store_directory(store),
                   name.fanout, name.file);
}

static void tear_down(void)
{
    kiln_cache_store_close(store);
    kiln_cache_key_fini(&key);
    temporary_directory_remove();
}

TestSuite(cache_store, .init = set_up, .fini = tear_down, .timeout = 120);

static void insert_sample(void)
{
    cr_assert_eq(
        kiln_cache_store_insert(store, &key, NULL, sample_payload, sizeof sample_payload, &error),
        KILN_OK, "%s", error.text);
}

Test(cache_store, empty_fanout_directories_leave_no_error_behind)
{
    insert_sample();
    struct kiln_cache_stats stats;
    kiln_error_init(&error);
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK);
    cr_assert_eq(stats.entries, 1);
    cr_assert_str_empty(error.text);
}

static void assert_hit(const struct kiln_cache_key *sought, const void *bytes, size_t size)
{
    void *payload = NULL;
    size_t payload_bytes = 0;
    cr_assert_eq(kiln_cache_store_lookup(store, sought, &payload, &payload_bytes, &error), KILN_OK,
                 "%s", error.text);
    cr_assert_eq(payload_bytes, size);
    cr_assert(size == 0 || memcmp(payload, bytes, size) == 0);
    free(payload);
}

static void assert_miss(void)
{
    void *payload = NULL;
    size_t size = 77;
    cr_assert_eq(kiln_cache_store_lookup(store, &key, &payload, &size, &error), KILN_NOT_FOUND);
    cr_assert_null(payload);
    cr_assert_eq(size, 77);
}

/* A miss with one warning that has `reason` in it. */
static void assert_doubt(const char *reason)
{
    captured_log_start(KILN_LOG_WARN);
    kiln_cache_warnings_forget();
    assert_miss();
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_not_null(strstr(captured_log_last(), reason), "'%s' lacks '%s'", captured_log_last(),
                       reason);
}

static bool exists(const char *path)
{
    struct stat attributes;
    return lstat(path, &attributes) == 0;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    cr_assert_eq(kiln_file_write(path, bytes, size, KILN_FILE_PRIVATE, &error), KILN_OK, "%s",
                 error.text);
}

Test(cache_store, what_was_inserted_is_found)
{
    assert_miss();
    insert_sample();
    assert_hit(&key, sample_payload, sizeof sample_payload);
    cr_assert(exists(entry_path));
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, "newer", 5, &error), KILN_OK);
    assert_hit(&key, "newer", 5);
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, NULL, 0, &error), KILN_OK);
    assert_hit(&key, NULL, 0);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0, "%s", captured_log_last());
    cr_assert_eq(directory_count(fanout_path), 1);
}

Test(cache_store, another_store_and_large_entries)
{
    enum { SIZE = 3 << 20 };
    unsigned char *large = malloc(SIZE);
    for (unsigned i = 0; i < SIZE; i++)
        large[i] = (unsigned char)(i * 2654435761U >> 24);
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, large, SIZE, &error), KILN_OK);
    struct kiln_cache_store *first = store;
    cr_assert_eq(
        kiln_cache_store_open(&(struct kiln_cache_options){.directory = temporary_path("cache")},
                              &store, &error),
        KILN_OK);
    assert_hit(&key, large, SIZE);
    kiln_cache_store_close(first);
    free(large);
}

Test(cache_store, files_are_private)
{
    umask(0);
    insert_sample();
    struct stat attributes;
    cr_assert_eq(stat(entry_path, &attributes), 0);
    cr_assert_eq(attributes.st_mode & 07777, 0600);
    cr_assert_eq(stat(fanout_path, &attributes), 0);
    cr_assert_eq(attributes.st_mode & 07777, 0700);
}

Test(cache_store, every_flipped_bit_is_a_miss_and_the_file_goes)
{
    insert_sample();
    struct kiln_buffer good;
    kiln_buffer_init(&good);
    cr_assert_eq(kiln_file_read(entry_path, 1 << 20, &good, &error), KILN_OK);
    for (size_t bit = 0; bit < 8 * good.size; bit++) {
        good.data[bit / 8] ^= (char)(1 << bit % 8);
        write_file(entry_path, good.data, good.size);
        good.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_doubt(" and was removed: ");
        cr_assert_not(exists(entry_path), "bit %zu", bit);
    }
    write_file(entry_path, good.data, good.size);
    assert_hit(&key, sample_payload, sizeof sample_payload);
    kiln_buffer_fini(&good);
}

Test(cache_store, every_truncation_is_a_miss)
{
    insert_sample();
    struct kiln_buffer good;
    kiln_buffer_init(&good);
    cr_assert_eq(kiln_file_read(entry_path, 1 << 20, &good, &error), KILN_OK);
    for (size_t size = 0; size < good.size; size++) {
        write_file(entry_path, good.data, size);
        assert_doubt("bytes");
        cr_assert_not(exists(entry_path), "%zu bytes", size);
    }
    kiln_buffer_append(&good, "", 1);
    write_file(entry_path, good.data, good.size);
    assert_doubt("bytes");
    kiln_buffer_fini(&good);
}

Test(cache_store, an_enormous_file_is_a_miss)
{
    insert_sample();
    if (truncate(entry_path, (off_t)1 << 40) != 0)
        skip_test("this file system has no sparse files of that size");
    assert_doubt("more than 268435456 bytes");
    cr_assert_not(exists(entry_path));
}

/* A good entry under a name that its key does not hash to. */
Test(cache_store, an_entry_under_a_wrong_name_is_a_miss)
{
    struct kiln_cache_key other = sample_key(8);
    struct kiln_buffer forged;
    kiln_buffer_init(&forged);
    insert_sample();
    cr_assert_eq(kiln_entry_encode(&other, NULL, "other", 5, &forged, &error), KILN_OK);
    write_file(entry_path, forged.data, forged.size);
    assert_doubt("its key does not hash to its name");
    cr_assert_not(exists(entry_path));
    kiln_buffer_fini(&forged);
    kiln_cache_key_fini(&other);
}

/* Two keys of one hash: XXH3 is no cryptographic hash, so the bytes decide. Here the sought key
 * lies about its own hash, which no caller can do and which looks just like a collision from the
 * store's side. */
Test(cache_store, a_key_of_equal_hash_and_other_bytes_is_a_miss)
{
    insert_sample();
    struct kiln_cache_key collision = sample_key(8);
    collision.hash_high = key.hash_high;
    collision.hash_low = key.hash_low;
    struct kiln_cache_key genuine = key;
    key = collision;
    assert_doubt("another key with the same hash");
    key = genuine;
    cr_assert(exists(entry_path), "the entry of the other key is sound");
    assert_hit(&key, sample_payload, sizeof sample_payload);

    /* A prefix of the stored key is another key too. */
    collision.bytes.size--;
    memcpy(collision.bytes.data, key.bytes.data, collision.bytes.size);
    key = collision;
    assert_doubt("another key with the same hash");
    key = genuine;
    kiln_cache_key_fini(&collision);
}

Test(cache_store, an_entry_that_others_can_write_is_a_miss)
{
    insert_sample();
    cr_assert_eq(chmod(entry_path, 0620), 0);
    assert_doubt("other users may write to it");
    cr_assert_not(exists(entry_path));
    if (geteuid() == 0) {
        insert_sample();
        cr_assert_eq(chown(entry_path, 12345, 12345), 0);
        assert_doubt("it belongs to another user");
    }
}

Test(cache_store, a_link_in_place_of_an_entry_is_not_followed)
{
    insert_sample();
    cr_assert_eq(rename(entry_path, temporary_path("outside")), 0);
    cr_assert_eq(symlink(temporary_path("outside"), entry_path), 0);
    assert_doubt("it is a symbolic link");
    cr_assert_not(exists(entry_path));
    cr_assert(exists(temporary_path("outside")), "what the link named is not ours to remove");
    insert_sample();
    assert_hit(&key, sample_payload, sizeof sample_payload);
}

Test(cache_store, a_link_in_place_of_a_fanout_directory_is_not_followed)
{
    insert_sample();
    cr_assert_eq(rename(fanout_path, temporary_path("outside")), 0);
    cr_assert_eq(symlink(temporary_path("outside"), fanout_path), 0);
    assert_doubt("it is a symbolic link");
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, "x", 1, &error), KILN_IO);
    cr_assert_not_null(strstr(error.text, "it is a symbolic link"), "%s", error.text);
}

Test(cache_store, things_that_are_no_files_are_misses)
{
    cr_assert_eq(mkdir(fanout_path, 0700), 0);
    cr_assert_eq(mkfifo(entry_path, 0600), 0);
    assert_doubt("it is not an ordinary file");
    cr_assert_not(exists(entry_path));
    cr_assert_eq(mkdir(entry_path, 0700), 0);
    assert_doubt("it is not an ordinary file");
    cr_assert_not(exists(entry_path));
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, "x", 1, &error), KILN_OK, "%s",
                 error.text);
    cr_assert_eq(unlink(entry_path), 0);
    cr_assert_eq(rmdir(fanout_path), 0);
    write_file(fanout_path, "", 0);
    assert_doubt("Not a directory");
}

Test(cache_store, a_good_file_that_replaced_a_damaged_one_is_kept)
{
    insert_sample();
    int fanout = open(fanout_path, O_RDONLY | O_DIRECTORY);
    const char *file = strrchr(entry_path, '/') + 1;
    struct stat damaged;
    cr_assert_eq(stat(entry_path, &damaged), 0);
    int keeps_inode_in_use = open(entry_path, O_RDONLY);
    insert_sample();
    cr_assert_not(kiln_entry_file_remove(fanout, file, &damaged));
    cr_assert(exists(entry_path));
    cr_assert_eq(stat(entry_path, &damaged), 0);
    cr_assert(kiln_entry_file_remove(fanout, file, &damaged));
    (void)close(keeps_inode_in_use);
    (void)close(fanout);
}

Test(cache_store, a_failed_insert_leaves_the_old_entry_and_no_piece)
{
    insert_sample();
    struct rlimit limit = {.rlim_cur = 150, .rlim_max = 150};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    static char large[1000];
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, large, sizeof large, &error), KILN_IO);
    cr_assert_not_null(strstr(error.text, "File too large"), "%s", error.text);
    cr_assert_eq(directory_count(fanout_path), 1);
    assert_hit(&key, sample_payload, sizeof sample_payload);
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, large, SIZE_MAX, &error),
                 KILN_BAD_ARGUMENT);
}

Test(cache_store, too_few_descriptors_is_a_miss)
{
    insert_sample();
    struct rlimit limit;
    void *payload = NULL;
    size_t size = 0;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    captured_log_start(KILN_LOG_WARN);
    /* The test framework needs descriptors too: no assertion before the limit is as it was. */
    (void)setrlimit(RLIMIT_NOFILE, &none);
    enum kiln_status status = kiln_cache_store_lookup(store, &key, &payload, &size, &error);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    cr_assert_eq(status, KILN_NOT_FOUND);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_not_null(strstr(captured_log_last(), "Too many open files"), "%s",
                       captured_log_last());
    cr_assert(exists(entry_path));
}

struct reported {
    unsigned good;
    unsigned damaged;
    char last[128];
    bool sorted;
};

static void count_report(void *context, const char *file, bool ok, const char *reason)
{
    struct reported *reported = context;
    *(ok ? &reported->good : &reported->damaged) += 1;
    reported->sorted = reported->sorted && strcmp(reported->last, file) < 0;
    (void)snprintf(reported->last, sizeof reported->last, "%s", file);
    cr_assert_eq(strlen(reason) == 0, ok);
}

Test(cache_store, stats_verify_and_clear)
{
    enum { ENTRIES = 300 };
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct kiln_cache_key one = sample_key(i);
        cr_assert_eq(kiln_cache_store_insert(store, &one, NULL, "12345", 5, &error), KILN_OK);
        kiln_cache_key_fini(&one);
    }
    /* One damaged entry, one left by a dead writer, and things that are not the store's. */
    write_file(entry_path, "damaged", 7);
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/.kiln-0123456789abcdef.tmp", fanout_path);
    write_file(path, "x", 1);
    (void)snprintf(path, sizeof path, "%s/notes.txt", fanout_path);
    write_file(path, "x", 1);
    (void)snprintf(path, sizeof path, "%s/00000000000000000000000000000000.kiln3", fanout_path);
    write_file(path, "x", 1);
    (void)snprintf(path, sizeof path, "%s/README", kiln_cache_store_directory(store));
    write_file(path, "x", 1);

    struct kiln_cache_stats stats;
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK, "%s", error.text);
    size_t entry_bytes = 56 + key.bytes.size + 5;
    cr_assert_eq(stats.entries, ENTRIES);
    cr_assert_eq(stats.bytes, (ENTRIES - 1) * entry_bytes + 7);
    cr_assert_eq(stats.temporary_files, 1);
    cr_assert_eq(stats.damaged, 0);

    struct reported reported = {.sorted = true};
    cr_assert_eq(kiln_cache_store_verify(store, count_report, &reported, &stats, &error), KILN_OK);
    cr_assert_eq(reported.good, ENTRIES - 1);
    cr_assert_eq(reported.damaged, 1);
    cr_assert(reported.sorted);
    cr_assert_eq(stats.entries, ENTRIES);
    cr_assert_eq(stats.damaged, 1);
    cr_assert(exists(entry_path), "verify removes nothing");
    cr_assert_eq(kiln_cache_store_verify(store, NULL, NULL, &stats, &error), KILN_OK);

    struct kiln_cache_cleared cleared = {0};
    cr_assert_eq(kiln_cache_store_clear(store, &cleared, &error), KILN_OK);
    cr_assert_eq(cleared.files, ENTRIES + 1);
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK);
    cr_assert_eq(stats.entries + stats.bytes + stats.temporary_files, 0);
    cr_assert_eq(directory_count(fanout_path), 2, "others' files have to stay");
    cr_assert(exists(path));
    assert_miss();
    insert_sample();
    assert_hit(&key, sample_payload, sizeof sample_payload);
}
