#include "cache/cache_inventory.h"

#include "cache/entry_format.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 82 }; /* as in cache_budget_test.c */

static char directory[2048];
static char layer[2048];
static struct kiln_cache_store *store;
static struct kiln_error error;

/* The directory has the entries 1 to 3, the layer 3 to 5. */
static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("cache"));
    (void)snprintf(layer, sizeof layer, "%s", temporary_path("layer"));
    kiln_error_init(&error);
    captured_log_start(KILN_LOG_WARN);
    store = store_fixture_open(layer, 0);
    for (unsigned i = 3; i <= 5; i++)
        store_fixture_insert(store, i, 100);
    kiln_cache_store_close(store);
    store = store_fixture_open_layers(directory, layer);
    for (unsigned i = 1; i <= 3; i++)
        store_fixture_insert(store, i, 50);
}

static void tear_down(void)
{
    kiln_cache_store_close(store);
    temporary_directory_remove();
}

TestSuite(cache_inventory, .init = set_up, .fini = tear_down, .timeout = 60);

struct listed {
    struct kiln_cache_item items[16];
    unsigned count;
    unsigned end_at; /* 0: never */
};

static enum kiln_status keep_item(void *context, const struct kiln_cache_item *item,
                                  struct kiln_error *ret_error)
{
    struct listed *listed = context;
    listed->items[listed->count++] = *item;
    if (listed->count == listed->end_at)
        return kiln_error_set(ret_error, KILN_INTERNAL, "enough");
    return KILN_OK;
}

static void hex_of(unsigned number, char hex[KILN_CACHE_HASH_HEX + 1])
{
    struct kiln_cache_key key = sample_key(number);
    kiln_cache_key_hex(&key, hex);
    kiln_cache_key_fini(&key);
}

Test(cache_inventory, list)
{
    store_fixture_age(store_fixture_path(directory, 1), 5000);
    struct listed listed = {.count = 0};
    cr_assert_eq(kiln_cache_store_list(store, keep_item, &listed, &error), KILN_OK);
    cr_assert_eq(listed.count, 6);
    for (unsigned i = 0; i < 6; i++) {
        const struct kiln_cache_item *item = &listed.items[i];
        cr_assert_eq(item->source, i < 3 ? KILN_CACHE_SOURCE_DIRECTORY : 0);
        cr_assert_eq(item->bytes, (i < 3 ? 50 : 100) + FRAME);
        if (i != 0 && i != 3)
            cr_assert_lt(strcmp(listed.items[i - 1].hex, item->hex), 0);
        char hex[KILN_CACHE_HASH_HEX + 1];
        hex_of(1, hex);
        int64_t age_s = (int64_t)time(NULL) - item->last_use_s;
        cr_assert_eq(age_s >= 5000, strcmp(item->hex, hex) == 0);
        cr_assert_lt(age_s, 6000);
    }
    listed = (struct listed){.end_at = 2};
    cr_assert_eq(kiln_cache_store_list(store, keep_item, &listed, &error), KILN_INTERNAL);
    cr_assert_eq(listed.count, 2);
    cr_assert_str_eq(error.text, "enough");
}

static enum kiln_status read_one(const char *prefix, struct kiln_cache_item *item,
                                 size_t *payload_bytes)
{
    struct kiln_buffer bytes;
    struct kiln_entry_view view;
    kiln_buffer_init(&bytes);
    kiln_error_init(&error);
    enum kiln_status status = kiln_cache_store_read(store, prefix, item, &bytes, &view, &error);
    if (status == KILN_OK) {
        struct kiln_reader reader;
        kiln_reader_init(&reader, view.key, view.key_bytes);
        size_t size = 0;
        const void *field = kiln_reader_field(&reader, &size);
        cr_assert_eq(size, 6);
        cr_assert_eq(memcmp(field, "sample", 6), 0);
        cr_assert_eq(item->bytes, bytes.size);
        *payload_bytes = view.payload_bytes;
    } else {
        cr_assert_str_not_empty(error.text);
        cr_assert_eq(bytes.size, 0);
    }
    kiln_buffer_fini(&bytes);
    return status;
}

Test(cache_inventory, read_by_the_start_of_a_name)
{
    struct kiln_cache_item item;
    size_t size = 0;
    char hex[KILN_CACHE_HASH_HEX + 1];
    for (unsigned number = 1; number <= 5; number++) {
        hex_of(number, hex);
        for (size_t i = 0; i < KILN_CACHE_HASH_HEX; i++)
            hex[i] = (char)(hex[i] >= 'a' && i % 2 == 0 ? hex[i] - 32 : hex[i]);
        for (int digits = KILN_CACHE_HASH_HEX; digits >= 6; digits -= 13) {
            hex[digits] = '\0';
            cr_assert_eq(read_one(hex, &item, &size), KILN_OK, "%s", error.text);
            cr_assert_eq(strncasecmp(item.hex, hex, (size_t)digits), 0);
            cr_assert_eq(size, number <= 3 ? 50 : 100);
            cr_assert_eq(item.source, number <= 3 ? KILN_CACHE_SOURCE_DIRECTORY : 0);
        }
    }
    hex_of(9, hex);
    cr_assert_eq(read_one(hex, &item, &size), KILN_NOT_FOUND);
    static const char *const wrong[] = {
        "", "x", "12x", "0x12", " 1", "../../etc", "0123456789abcdef0123456789abcdef0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(read_one(wrong[i], &item, &size), KILN_BAD_ARGUMENT, "'%s'", wrong[i]);
}

Test(cache_inventory, the_start_of_several_names)
{
    for (unsigned i = 10; i < 30; i++) /* more entries than first digits */
        store_fixture_insert(store, i, 10);
    struct kiln_cache_item item;
    size_t size;
    unsigned several = 0;
    for (unsigned digit = 0; digit < 16; digit++) {
        char prefix[2] = {"0123456789abcdef"[digit], '\0'};
        enum kiln_status status = read_one(prefix, &item, &size);
        several += status == KILN_BAD_ARGUMENT;
        if (status == KILN_BAD_ARGUMENT)
            cr_assert_not_null(strstr(error.text, "several cache entries start with"));
    }
    cr_assert_gt(several, 0);
}

Test(cache_inventory, read_tells_of_damage_and_removes_nothing)
{
    struct kiln_cache_item item;
    size_t size;
    char hex[KILN_CACHE_HASH_HEX + 1];
    hex_of(1, hex);
    cr_assert_eq(truncate(store_fixture_path(directory, 1), 60), 0);
    cr_assert_eq(read_one(hex, &item, &size), KILN_CORRUPT);
    cr_assert_not_null(strstr(error.text, hex), "%s", error.text);
    cr_assert(store_fixture_is_file(directory, 1));
}

static struct kiln_cache_pruned prune(uint64_t max_bytes, uint64_t max_age_s)
{
    const struct kiln_cache_prune limits = {max_bytes, max_age_s};
    struct kiln_cache_pruned pruned = {0};
    cr_assert_eq(kiln_cache_store_prune(store, &limits, &pruned, &error), KILN_OK, "%s",
                 error.text);
    return pruned;
}

Test(cache_inventory, prune_by_age_and_bytes)
{
    store_fixture_age(store_fixture_path(directory, 1), 1000);
    store_fixture_age(store_fixture_path(directory, 2), 500);
    struct kiln_cache_pruned pruned = prune(UINT64_MAX, UINT64_MAX);
    cr_assert_eq(pruned.removed_files, 0);
    cr_assert_eq(pruned.kept_files, 3);
    cr_assert_eq(pruned.kept_bytes, 3 * (50 + FRAME));
    cr_assert_eq(prune(UINT64_MAX, 2000).removed_files, 0);
    pruned = prune(UINT64_MAX, 700);
    cr_assert_eq(pruned.removed_files, 1);
    cr_assert_eq(pruned.removed_bytes, 50 + FRAME);
    cr_assert_eq(pruned.kept_files, 2);
    cr_assert_not(store_fixture_is_file(directory, 1));
    pruned = prune(50 + FRAME, UINT64_MAX);
    cr_assert_eq(pruned.removed_files, 1);
    cr_assert(store_fixture_is_file(directory, 3));
    cr_assert_eq(prune(0, UINT64_MAX).removed_files, 1);
    cr_assert_eq(directory_count(layer), 3);
}

/* What import does: an entry from elsewhere. */
Test(cache_inventory, insert_a_whole_entry)
{
    struct kiln_cache_key key = sample_key(7);
    struct kiln_buffer bytes;
    bool added = false;
    kiln_buffer_init(&bytes);
    cr_assert_eq(kiln_entry_encode(&key, NULL, "seven", 5, &bytes, &error), KILN_OK);
    cr_assert_eq(kiln_cache_store_insert_entry(store, bytes.data, bytes.size, &added, &error),
                 KILN_OK, "%s", error.text);
    cr_assert(added);
    void *payload = NULL;
    size_t size = 0;
    cr_assert_eq(kiln_cache_store_lookup(store, &key, &payload, &size, &error), KILN_OK);
    cr_assert_eq(size, 5);
    free(payload);
    cr_assert_eq(kiln_cache_store_insert_entry(store, bytes.data, bytes.size, &added, &error),
                 KILN_OK);
    cr_assert_not(added, "it is there");
    /* A damaged one is no reason to leave the good one out. */
    cr_assert_eq(truncate(store_fixture_path(directory, 7), 60), 0);
    cr_assert_eq(kiln_cache_store_insert_entry(store, bytes.data, bytes.size, &added, &error),
                 KILN_OK);
    cr_assert(added);
    cr_assert_eq(unlink(store_fixture_path(directory, 7)), 0);
    bytes.data[40] ^= 1;
    cr_assert_eq(kiln_cache_store_insert_entry(store, bytes.data, bytes.size, &added, &error),
                 KILN_CORRUPT);
    cr_assert_not(store_fixture_is_file(directory, 7));
    kiln_buffer_fini(&bytes);
    kiln_cache_key_fini(&key);
}

Test(cache_inventory, an_entry_larger_than_the_limit_is_no_import)
{
    struct kiln_cache_store *small = store_fixture_open(temporary_path("small"), 100);
    struct kiln_cache_key key = sample_key(7);
    struct kiln_buffer bytes;
    bool added = false;
    kiln_buffer_init(&bytes);
    cr_assert_eq(
        kiln_entry_encode(&key, NULL, "sevenseven sevenseven sevenseven", 30, &bytes, &error),
        KILN_OK);
    cr_assert_eq(kiln_cache_store_insert_entry(small, bytes.data, bytes.size, &added, &error),
                 KILN_BAD_ARGUMENT);
    kiln_buffer_fini(&bytes);
    kiln_cache_key_fini(&key);
    kiln_cache_store_close(small);
}

static void keep_damaged(void *context, const char *file, bool ok, const char *reason)
{
    char *damaged = context; /* of 256 bytes */
    if (!ok)
        (void)snprintf(damaged + strlen(damaged), 256 - strlen(damaged), "%s: %s\n", file,
                       strrchr(reason, ':') + 2);
}

/* A fan-out directory that cannot be used is told of; the others are walked. */
Test(cache_inventory, a_walk_goes_on_after_a_place_that_it_cannot_use)
{
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/00", directory);
    cr_assert_eq(symlink(layer, path), 0);
    (void)snprintf(path, sizeof path, "%s/ff", directory);
    cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    captured_log_start(KILN_LOG_WARN);
    struct kiln_cache_stats stats = {.entries = 77};
    cr_assert_eq(kiln_cache_store_stats(store, &stats, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(stats.entries, 3);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 2);
    cr_assert_not_null(strstr(captured_log_last(), "/ff': Not a directory"), "%s",
                       captured_log_last());
    struct listed listed = {.count = 0};
    cr_assert_eq(kiln_cache_store_list(store, keep_item, &listed, &error), KILN_OK);
    cr_assert_eq(listed.count, 6);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 2, "each is told of once");
    char damaged[256] = "";
    cr_assert_eq(kiln_cache_store_verify(store, keep_damaged, damaged, &stats, &error), KILN_OK);
    cr_assert_str_eq(damaged, "00: it is a symbolic link\nff: Not a directory\n");
    cr_assert_eq(stats.entries, 3);
    cr_assert_eq(stats.damaged, 2);
    struct kiln_cache_cleared cleared = {0};
    cr_assert_eq(kiln_cache_store_clear(store, &cleared, &error), KILN_IO);
    cr_assert_not_null(strstr(error.text, "it is a symbolic link"), "%s", error.text);
    for (unsigned i = 1; i <= 3; i++)
        cr_assert_not(store_fixture_is_file(directory, i));
}

Test(cache_inventory, prune_removes_what_cannot_be_an_entry)
{
    const char *empty = store_fixture_path(directory, 1);
    cr_assert_eq(truncate(empty, 0), 0);
    struct kiln_cache_pruned pruned = prune(UINT64_MAX, UINT64_MAX);
    cr_expect_eq(pruned.removed_files, 1);
    cr_expect_eq(pruned.kept_files, 2);
    cr_expect_not(store_fixture_is_file(directory, 1));
    char place[4096];
    (void)snprintf(place, sizeof place, "%s", store_fixture_path(directory, 2));
    cr_assert_eq(unlink(place), 0);
    cr_assert_eq(mkdir(place, 0755), 0);
    pruned = prune(UINT64_MAX, UINT64_MAX);
    cr_expect_eq(pruned.removed_files, 1);
    cr_expect_neq(access(place, F_OK), 0);
}
