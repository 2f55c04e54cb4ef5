/* Every entry of a directory, of a layer, of a pack: whole ones with their bytes, others with a
 * reason. */
#include "cache/cache_visit.h"

#include "cache/cache_inventory.h"
#include "cache/pack_file.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 20, DAMAGED = 3, ENTRY_BYTES = 1000 };

static struct kiln_error error;
static char directory[4096];

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("cache"));
    captured_log_start(KILN_LOG_WARN);
}

TestSuite(cache_visit, .init = set_up, .fini = temporary_directory_remove, .timeout = 60);

static struct kiln_cache_store *open_and_fill(void)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    for (unsigned i = 0; i < COUNT; i++)
        store_fixture_insert(store, i, ENTRY_BYTES);
    return store;
}

struct seen {
    struct kiln_pack_writer *writer; /* gets the whole ones */
    unsigned whole;
    unsigned damaged;
    bool has_times;
    unsigned end_after;
    char last[KILN_CACHE_HASH_HEX + 1];
};

static enum kiln_status see(void *context, const struct kiln_cache_visited *entry,
                            struct kiln_error *ret_error)
{
    struct seen *seen = context;
    cr_assert_lt(strcmp(seen->last, entry->hex), 0, "in the order of names");
    memcpy(seen->last, entry->hex, sizeof seen->last);
    cr_assert_eq(entry->last_use_s != 0, seen->has_times);
    if (entry->status != KILN_OK) {
        cr_assert_eq(entry->status, KILN_CORRUPT);
        cr_assert_gt(strlen(entry->reason), 10);
        cr_assert_null(entry->entry);
        seen->damaged++;
        return KILN_OK;
    }
    unsigned number;
    memcpy(&number, entry->view.payload, sizeof number);
    struct kiln_cache_key key = sample_key(number);
    cr_assert_eq(entry->view.key_bytes, key.bytes.size);
    cr_assert_eq(memcmp(entry->view.key, key.bytes.data, key.bytes.size), 0);
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_cache_key_hex(&key, hex);
    cr_assert_str_eq(hex, entry->hex);
    kiln_cache_key_fini(&key);
    cr_assert_eq(entry->view.payload_bytes, ENTRY_BYTES);
    cr_assert(sample_payload_is_whole(entry->view.payload, ENTRY_BYTES, number));
    bool added;
    if (seen->writer != NULL)
        cr_assert_eq(kiln_pack_writer_add(seen->writer, entry->entry, (size_t)entry->bytes, &added,
                                          ret_error),
                     KILN_OK);
    seen->whole++;
    if (seen->whole == seen->end_after)
        return kiln_error_set(ret_error, KILN_TIMEOUT, "enough of it");
    return KILN_OK;
}

static enum kiln_status see_places(void *context, const struct kiln_cache_visited *entry,
                                   struct kiln_error *ret_error)
{
    if (!entry->is_directory)
        return see(context, entry, ret_error);
    struct seen *seen = context;
    cr_assert_str_eq(entry->hex, "00");
    cr_assert_eq(entry->status, KILN_IO);
    cr_assert_not_null(strstr(entry->reason, "symbolic link"), "%s", entry->reason);
    cr_assert_eq(seen->whole, 0, "in the order of names");
    seen->damaged++;
    return KILN_OK;
}

Test(cache_visit, a_place_that_cannot_be_used_is_one_damaged_item)
{
    struct kiln_cache_store *store = open_and_fill();
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/00", directory);
    cr_assert_eq(symlink("/", path), 0);
    struct seen seen = {.has_times = true};
    cr_assert_eq(
        kiln_cache_store_visit(store, KILN_CACHE_SOURCE_DIRECTORY, see_places, &seen, &error),
        KILN_OK, "%s", error.text);
    cr_assert_eq(seen.whole, COUNT);
    cr_assert_eq(seen.damaged, 1);
    kiln_cache_store_close(store);
}

Test(cache_visit, directory_layer_and_pack)
{
    struct kiln_cache_store *store = open_and_fill();
    struct seen seen = {.has_times = true};
    const char *pack = temporary_path("pack");
    cr_assert_eq(kiln_pack_writer_create(pack, &seen.writer, &error), KILN_OK);
    cr_assert_eq(kiln_cache_store_visit(store, KILN_CACHE_SOURCE_DIRECTORY, see, &seen, &error),
                 KILN_OK, "%s", error.text);
    cr_assert_eq(seen.whole, COUNT);
    cr_assert_eq(kiln_pack_writer_finish(seen.writer, &error), KILN_OK);
    kiln_pack_writer_destroy(seen.writer);

    cr_assert_eq(truncate(store_fixture_path(directory, DAMAGED), 500), 0);
    seen = (struct seen){.has_times = true};
    cr_assert_eq(kiln_cache_store_visit(store, KILN_CACHE_SOURCE_DIRECTORY, see, &seen, &error),
                 KILN_OK);
    cr_assert_eq(seen.whole, COUNT - 1);
    cr_assert_eq(seen.damaged, 1);
    cr_assert(store_fixture_is_file(directory, DAMAGED), "nothing is removed");
    kiln_cache_store_close(store);

    char layers[8400];
    (void)snprintf(layers, sizeof layers, "%s:%s", directory, pack);
    store = store_fixture_open_layers(temporary_path("empty"), layers);
    seen = (struct seen){0};
    cr_assert_eq(kiln_cache_store_visit(store, KILN_CACHE_SOURCE_DIRECTORY, see, &seen, &error),
                 KILN_OK);
    cr_assert_eq(seen.whole, 0);
    seen = (struct seen){.has_times = true};
    cr_assert_eq(kiln_cache_store_visit(store, 0, see, &seen, &error), KILN_OK);
    cr_assert_eq(seen.whole, COUNT - 1);
    cr_assert_eq(seen.damaged, 1);
    seen = (struct seen){0};
    cr_assert_eq(kiln_cache_store_visit(store, 1, see, &seen, &error), KILN_OK);
    cr_assert_eq(seen.whole, COUNT);
    kiln_cache_store_close(store);
}

Test(cache_visit, a_visitor_ends_the_walk)
{
    struct kiln_cache_store *store = open_and_fill();
    struct seen seen = {.has_times = true, .end_after = 5};
    cr_assert_eq(kiln_cache_store_visit(store, KILN_CACHE_SOURCE_DIRECTORY, see, &seen, &error),
                 KILN_TIMEOUT);
    cr_assert_str_eq(error.text, "enough of it");
    cr_assert_eq(seen.whole, 5);
    kiln_cache_store_close(store);
}
