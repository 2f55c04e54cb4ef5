/*
 * Entries that are looked up by the hash of their key alone, as recipes name kernels, and entries
 * of the format before this one.
 */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/entry_file.h"
#include "cache/pack_file.h"
#include "runtime/support/file.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES = 3, PAYLOAD_BYTES = 300 };

static char directory[1024];
static struct kiln_cache_store *store;
static struct kiln_error error;

static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("cache"));
    kiln_error_init(&error);
    store = store_fixture_open(directory, 0);
    for (unsigned i = 1; i <= ENTRIES; i++)
        store_fixture_insert(store, i, PAYLOAD_BYTES);
}

static void tear_down(void)
{
    kiln_cache_store_close(store);
    temporary_directory_remove();
}

TestSuite(cache_named, .init = set_up, .fini = tear_down, .timeout = 120);

static struct kiln_hash128 name_of(unsigned number)
{
    struct kiln_cache_key key = sample_key(number);
    struct kiln_hash128 name = {.high = key.hash_high, .low = key.hash_low};
    kiln_cache_key_fini(&key);
    return name;
}

/* True if the entry is found by its name; fails the test when something else is. */
static bool finds(struct kiln_cache_store *in, unsigned number)
{
    struct kiln_cache_key key = sample_key(number);
    const struct kiln_cache_key name = kiln_cache_key_of_hash(name_of(number));
    const struct kiln_cache_query query = {.key = &name};
    struct kiln_cache_found found;
    kiln_error_init(&error);
    enum kiln_status status = kiln_cache_store_find(in, &query, &found, &error);
    if (status == KILN_OK) {
        cr_assert(kiln_entry_view_has_key(&found.view, &key));
        cr_assert_eq(found.view.payload_bytes, PAYLOAD_BYTES);
        cr_assert(sample_payload_is_whole(found.view.payload, found.view.payload_bytes, number));
        cr_assert_not_null(found.place);
        kiln_cache_found_fini(&found);
    } else {
        cr_assert_eq(status, KILN_NOT_FOUND, "%s", error.text);
    }
    kiln_cache_key_fini(&key);
    return status == KILN_OK;
}

Test(cache_named, an_entry_is_found_by_the_hash_of_its_key)
{
    for (unsigned i = 1; i <= ENTRIES; i++)
        cr_assert(finds(store, i));
    cr_assert_not(finds(store, ENTRIES + 1));
    struct kiln_cache_store *above = store_fixture_open_layers(temporary_path("empty"), directory);
    for (unsigned i = 1; i <= ENTRIES; i++)
        cr_assert(finds(above, i), "in a layer");
    kiln_cache_store_close(above);
}

static void write_pack(const char *path)
{
    struct kiln_pack_writer *writer = NULL;
    cr_assert_eq(kiln_pack_writer_create(path, &writer, &error), KILN_OK, "%s", error.text);
    for (unsigned i = 1; i <= ENTRIES; i++) {
        struct kiln_buffer bytes;
        bool added = false;
        kiln_buffer_init(&bytes);
        cr_assert_eq(kiln_file_read(store_fixture_path(directory, i), 1 << 20, &bytes, &error),
                     KILN_OK);
        cr_assert_eq(kiln_pack_writer_add(writer, bytes.data, bytes.size, &added, &error), KILN_OK);
        kiln_buffer_fini(&bytes);
    }
    cr_assert_eq(kiln_pack_writer_finish(writer, &error), KILN_OK, "%s", error.text);
    kiln_pack_writer_destroy(writer);
}

Test(cache_named, a_pack_gives_it_too)
{
    char pack[1100];
    (void)snprintf(pack, sizeof pack, "%s", temporary_path("all.pack"));
    write_pack(pack);
    struct kiln_cache_store *above = store_fixture_open_layers(temporary_path("empty"), pack);
    for (unsigned i = 1; i <= ENTRIES; i++)
        cr_assert(finds(above, i));
    cr_assert_not(finds(above, ENTRIES + 1));
    kiln_cache_store_close(above);
}

static void write_entry(unsigned number, const void *bytes, size_t size)
{
    cr_assert_eq(kiln_file_write(store_fixture_path(directory, number), bytes, size,
                                 KILN_FILE_PRIVATE, &error),
                 KILN_OK, "%s", error.text);
}

/* Nobody has the key to compare: what is found is right all the same, or it is not found. */
Test(cache_named, no_flipped_bit_and_no_truncation_is_taken)
{
    struct kiln_buffer good;
    kiln_buffer_init(&good);
    cr_assert_eq(kiln_file_read(store_fixture_path(directory, 1), 1 << 20, &good, &error), KILN_OK);
    for (size_t bit = 0; bit < 8 * good.size; bit += 3) {
        good.data[bit / 8] = (char)(good.data[bit / 8] ^ (1 << bit % 8));
        write_entry(1, good.data, good.size);
        good.data[bit / 8] = (char)(good.data[bit / 8] ^ (1 << bit % 8));
        cr_assert_not(finds(store, 1), "bit %zu", bit);
    }
    for (size_t size = 0; size < good.size; size += 3) {
        write_entry(1, good.data, size);
        cr_assert_not(finds(store, 1), "%zu bytes", size);
    }
    write_entry(1, good.data, good.size);
    cr_assert(finds(store, 1));
    kiln_buffer_fini(&good);
}

/* A sound entry under the name of another. */
Test(cache_named, an_entry_of_another_name_is_a_miss)
{
    char own[1100];
    (void)snprintf(own, sizeof own, "%s", store_fixture_path(directory, 2));
    cr_assert_eq(rename(own, store_fixture_path(directory, 1)), 0);
    cr_assert_not(finds(store, 1));
    cr_assert_not(finds(store, 2));
    cr_assert(finds(store, 3));
}

Test(cache_named, a_use_is_noted_without_reading)
{
    char path[1100];
    (void)snprintf(path, sizeof path, "%s", store_fixture_path(directory, 1));
    store_fixture_age(path, 1800);
    cr_assert(kiln_cache_store_note_use(store, name_of(1), 0, false));
    cr_assert_geq(store_fixture_age_of(path), 1700, "that is no news");
    cr_assert(kiln_cache_store_note_use(store, name_of(1), 0, true));
    cr_assert_lt(store_fixture_age_of(path), 60);
    store_fixture_age(path, 7200);
    cr_assert(kiln_cache_store_note_use(store, name_of(1), 0, false));
    cr_assert_lt(store_fixture_age_of(path), 60);
    cr_assert_not(kiln_cache_store_note_use(store, name_of(ENTRIES + 1), 0, true));
    /* What somebody put there is not touched. */
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(symlink("/etc/passwd", path), 0);
    cr_assert_not(kiln_cache_store_note_use(store, name_of(1), 0, true));
}

/* ---- the format before this one ---- */

enum { OLD_FORMAT = KILN_ENTRY_FORMAT_VERSION - 1 };

/* Entry 1 as that version had it, as far as anybody looks: name and version. */
static void make_old(char path[1100])
{
    struct kiln_buffer bytes;
    struct kiln_entry_name name;
    kiln_buffer_init(&bytes);
    (void)snprintf(path, 1100, "%s", store_fixture_path(directory, 1));
    cr_assert_eq(kiln_file_read(path, 1 << 20, &bytes, &error), KILN_OK);
    cr_assert_eq(unlink(path), 0);
    bytes.data[8] = OLD_FORMAT;
    struct kiln_hash128 checksum = kiln_hash128(bytes.data, bytes.size - 16);
    memcpy(bytes.data + bytes.size - 16, &checksum.low, 8);
    memcpy(bytes.data + bytes.size - 8, &checksum.high, 8);
    const struct kiln_entry_file_id id = {.hash = name_of(1), .format = OLD_FORMAT};
    kiln_entry_name_set_id(&name, &id);
    (void)snprintf(path, 1100, "%s/%s/%s", directory, name.fanout, name.file);
    cr_assert_eq(kiln_file_write(path, bytes.data, bytes.size, KILN_FILE_PRIVATE, &error), KILN_OK);
    kiln_buffer_fini(&bytes);
}

static struct kiln_cache_stats stats_of(void)
{
    struct kiln_cache_stats stats = {0};
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK, "%s", error.text);
    return stats;
}

Test(cache_named, an_old_entry_is_a_miss_that_is_counted)
{
    char path[1100];
    make_old(path);
    cr_assert_not(finds(store, 1));
    cr_assert_not(store_fixture_has(store, 1));
    cr_assert_eq(access(path, F_OK), 0, "it is an older Kiln's");
    struct kiln_cache_stats stats = stats_of();
    cr_assert_eq(stats.entries, ENTRIES - 1);
    cr_assert_eq(stats.old_entries, 1);
    cr_assert_gt(stats.old_bytes, PAYLOAD_BYTES);
    cr_assert_eq(kiln_cache_store_verify(store, NULL, NULL, &stats, &error), KILN_OK);
    cr_assert_eq(stats.damaged, 0, "not read, so not damaged");
    cr_assert_eq(stats.old_entries, 1);
}

Test(cache_named, old_entries_are_pruned_and_cleared)
{
    char path[1100];
    struct kiln_cache_pruned pruned;
    const struct kiln_cache_prune everything_stays = {UINT64_MAX, UINT64_MAX};
    make_old(path);
    cr_assert_eq(kiln_cache_store_prune(store, &everything_stays, &pruned, &error), KILN_OK);
    cr_assert_eq(pruned.removed_files, 1);
    cr_assert_eq(pruned.kept_files, ENTRIES - 1);
    cr_assert_neq(access(path, F_OK), 0);
    store_fixture_insert(store, 1, PAYLOAD_BYTES);
    make_old(path);
    struct kiln_cache_cleared cleared = {0};
    cr_assert_eq(kiln_cache_store_clear(store, &cleared, &error), KILN_OK);
    cr_assert_eq(cleared.files, ENTRIES);
    cr_assert_neq(access(path, F_OK), 0);
}

/* They count, and go when they were used longest ago. */
Test(cache_named, old_entries_have_their_part_of_the_limit)
{
    char path[1100];
    make_old(path);
    store_fixture_age(path, 7200);
    uint64_t bytes = stats_of().bytes + stats_of().old_bytes;
    struct kiln_cache_pruned pruned;
    kiln_cache_store_close(store);
    store = store_fixture_open(directory, bytes);
    for (unsigned i = ENTRIES + 1; i <= 2 * ENTRIES && access(path, F_OK) == 0; i++)
        store_fixture_insert(store, i, PAYLOAD_BYTES);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert(finds(store, 2) || finds(store, 3), "it went first");
    const struct kiln_cache_prune everything_stays = {UINT64_MAX, UINT64_MAX};
    cr_assert_eq(kiln_cache_store_prune(store, &everything_stays, &pruned, &error), KILN_OK);
    cr_assert_eq(pruned.removed_files, 0);
}
