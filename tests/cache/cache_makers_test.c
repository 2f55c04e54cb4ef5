/* Entries of several compilers: whose is found, in which order, and that none replaces another's.
 */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/cache_visit.h"
#include "cache/entry_file.h"
#include "cache/pack_file.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include "runtime/support/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OURS   "clang 19"
#define THEIRS "clang 20"

static struct kiln_error error;
static struct kiln_cache_key key;
static char directory[1024];
static char layer[1024];
static char pack[1024];

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    captured_log_start(KILN_LOG_WARN);
    key = sample_key(1);
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("directory"));
    (void)snprintf(layer, sizeof layer, "%s", temporary_path("layer"));
    (void)snprintf(pack, sizeof pack, "%s", temporary_path("all.pack"));
}

static void tear_down(void)
{
    kiln_cache_key_fini(&key);
    temporary_directory_remove();
}

TestSuite(cache_makers, .init = set_up, .fini = tear_down, .timeout = 60);

/* The payload says who made it. */
static void insert(struct kiln_cache_store *store, const char *compiler)
{
    const struct kiln_cache_maker maker = {.compiler = compiler, .build = "0.1.0"};
    const char *payload = compiler != NULL ? compiler : "unknown";
    cr_assert_eq(kiln_cache_store_insert(store, &key, &maker, payload, strlen(payload), &error),
                 KILN_OK, "%s", error.text);
}

static void insert_into(const char *path, const char *compiler)
{
    struct kiln_cache_store *store = store_fixture_open(path, 0);
    insert(store, compiler);
    kiln_cache_store_close(store);
}

/* Fails the test unless the lookup finds what `expected` made; NULL: nothing. */
static void expect(struct kiln_cache_store *store, const char *compiler,
                   enum kiln_cache_reach reach, const char *expected)
{
    const struct kiln_cache_query query = {.key = &key, .compiler = compiler, .reach = reach};
    struct kiln_cache_found found;
    enum kiln_status status = kiln_cache_store_find(store, &query, &found, &error);
    cr_assert_eq(status, expected != NULL ? KILN_OK : KILN_NOT_FOUND, "%s", error.text);
    if (expected == NULL)
        return;
    cr_assert_eq(found.view.payload_bytes, strlen(expected));
    cr_assert_eq(memcmp(found.view.payload, expected, strlen(expected)), 0, "%.*s instead of %s",
                 (int)found.view.payload_bytes, (const char *)found.view.payload, expected);
    cr_assert_eq(kiln_entry_view_mark(&found.view), kiln_cache_compiler_mark(expected));
    kiln_cache_found_fini(&found);
}

static void pack_all(const char *path)
{
    struct kiln_pack_writer *writer = NULL;
    struct kiln_cache_store *store = store_fixture_open(path, 0);
    const char *const compilers[] = {OURS, THEIRS};
    cr_assert_eq(kiln_pack_writer_create(pack, &writer, &error), KILN_OK, "%s", error.text);
    for (size_t i = 0; i < 2; i++) {
        const struct kiln_cache_query query = {
            .key = &key, .compiler = compilers[i], .reach = KILN_CACHE_OWN_DIRECTORY};
        struct kiln_cache_found found;
        bool added = false;
        if (kiln_cache_store_find(store, &query, &found, &error) != KILN_OK)
            continue;
        cr_assert_eq(
            kiln_pack_writer_add(writer, found.entry.data, found.entry.size, &added, &error),
            KILN_OK);
        cr_assert(added, "one of each compiler");
        kiln_cache_found_fini(&found);
    }
    cr_assert_eq(kiln_pack_writer_finish(writer, &error), KILN_OK, "%s", error.text);
    kiln_pack_writer_destroy(writer);
    kiln_cache_store_close(store);
}

Test(cache_makers, what_another_compiler_made_here_is_for_those_without_one)
{
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    insert(store, THEIRS);
    expect(store, OURS, KILN_CACHE_SHIPPED, NULL);
    expect(store, OURS, KILN_CACHE_OWN_DIRECTORY, NULL);
    expect(store, OURS, KILN_CACHE_ALL, THEIRS);
    expect(store, NULL, KILN_CACHE_SHIPPED, THEIRS);
    expect(store, THEIRS, KILN_CACHE_SHIPPED, THEIRS);
    kiln_cache_store_close(store);
}

/* A machine and a container with one home: none replaces what the other has made. */
Test(cache_makers, two_compilers_share_a_directory)
{
    struct kiln_cache_store *ours = store_fixture_open(directory, 0);
    struct kiln_cache_store *theirs = store_fixture_open(directory, 0);
    for (int i = 0; i < 3; i++) {
        insert(ours, OURS);
        insert(theirs, THEIRS);
        expect(ours, OURS, KILN_CACHE_SHIPPED, OURS);
        expect(theirs, THEIRS, KILN_CACHE_SHIPPED, THEIRS);
    }
    struct kiln_cache_stats stats;
    cr_assert_eq(kiln_cache_store_verify(ours, NULL, NULL, &stats, &error), KILN_OK);
    cr_expect_eq(stats.entries, 2);
    cr_expect_eq(stats.damaged, 0);
    struct kiln_hash128 hash = {.high = key.hash_high, .low = key.hash_low};
    cr_expect(kiln_cache_store_note_use(ours, hash, kiln_cache_compiler_mark(OURS), true));
    cr_expect_not(kiln_cache_store_note_use(ours, hash, kiln_cache_compiler_mark("gcc"), true));
    struct kiln_cache_cleared cleared;
    cr_assert_eq(kiln_cache_store_clear(ours, &cleared, &error), KILN_OK);
    cr_expect_eq(cleared.files, 2);
    kiln_cache_store_close(ours);
    kiln_cache_store_close(theirs);
}

Test(cache_makers, ours_is_found_before_theirs_wherever_it_is)
{
    insert_into(directory, THEIRS);
    insert_into(layer, OURS);
    struct kiln_cache_store *store = store_fixture_open_layers(directory, layer);
    expect(store, OURS, KILN_CACHE_SHIPPED, OURS);
    expect(store, OURS, KILN_CACHE_ALL, OURS);
    expect(store, OURS, KILN_CACHE_OWN_DIRECTORY, NULL);
    expect(store, "a third one", KILN_CACHE_SHIPPED, OURS);
    kiln_cache_store_close(store);
}

/* The layer with our entry wins, although the one before it has an entry too. */
Test(cache_makers, a_layer_gives_ours_else_any)
{
    char second[1024];
    char both[2100];
    (void)snprintf(second, sizeof second, "%s", temporary_path("second"));
    insert_into(layer, THEIRS);
    insert_into(second, OURS);
    (void)snprintf(both, sizeof both, "%s:%s", layer, second);
    struct kiln_cache_store *store = store_fixture_open_layers(directory, both);
    expect(store, OURS, KILN_CACHE_SHIPPED, OURS);
    expect(store, THEIRS, KILN_CACHE_SHIPPED, THEIRS);
    expect(store, "a third one", KILN_CACHE_SHIPPED, THEIRS);
    expect(store, NULL, KILN_CACHE_SHIPPED, THEIRS);
    kiln_cache_store_close(store);
}

Test(cache_makers, a_pack_has_both_and_gives_ours_else_any)
{
    insert_into(layer, OURS);
    insert_into(layer, THEIRS);
    pack_all(layer);
    struct kiln_cache_store *store = store_fixture_open_layers(directory, pack);
    expect(store, OURS, KILN_CACHE_SHIPPED, OURS);
    expect(store, THEIRS, KILN_CACHE_SHIPPED, THEIRS);
    const struct kiln_cache_query query = {.key = &key, .compiler = "a third one"};
    struct kiln_cache_found found;
    cr_assert_eq(kiln_cache_store_find(store, &query, &found, &error), KILN_OK);
    cr_assert_str_eq(found.place, pack);
    kiln_cache_found_fini(&found);
    kiln_cache_store_close(store);
}

/* In a pack too: the other one is sound and is used. */
Test(cache_makers, a_damaged_entry_of_a_pack_gives_way_to_another_compilers)
{
    insert_into(layer, OURS);
    insert_into(layer, THEIRS);
    pack_all(layer);
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    cr_assert_eq(kiln_file_read(pack, 1 << 20, &bytes, &error), KILN_OK);
    for (size_t i = 0; i + sizeof OURS "0.1.0" <= bytes.size; i++)
        if (memcmp(bytes.data + i, OURS "0.1.0", sizeof OURS "0.1.0" - 1) == 0)
            bytes.data[i] = 'x';
    cr_assert_eq(kiln_file_write(pack, bytes.data, bytes.size, KILN_FILE_PRIVATE, &error), KILN_OK);
    kiln_buffer_fini(&bytes);
    struct kiln_cache_store *store = store_fixture_open_layers(directory, pack);
    expect(store, OURS, KILN_CACHE_SHIPPED, THEIRS);
    expect(store, THEIRS, KILN_CACHE_SHIPPED, THEIRS);
    kiln_cache_store_close(store);
}

static void path_of(const char *place, const char *compiler, char path[1200])
{
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, &key, kiln_cache_compiler_mark(compiler));
    (void)snprintf(path, 1200, "%s/%s/%s", place, name.fanout, name.file);
}

Test(cache_makers, a_damaged_entry_is_removed_and_another_compilers_is_left)
{
    char path[1200];
    char other[1200];
    insert_into(directory, OURS);
    insert_into(directory, THEIRS);
    path_of(directory, OURS, path);
    path_of(directory, THEIRS, other);
    cr_assert_eq(truncate(path, 60), 0);
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    expect(store, OURS, KILN_CACHE_SHIPPED, NULL);
    cr_expect_neq(access(path, F_OK), 0);
    cr_expect_eq(access(other, F_OK), 0);
    expect(store, OURS, KILN_CACHE_ALL, THEIRS);
    /* An entry under the name of another compiler is damaged. */
    cr_assert_eq(rename(other, path), 0);
    expect(store, OURS, KILN_CACHE_SHIPPED, NULL);
    cr_expect_neq(access(path, F_OK), 0);
    kiln_cache_store_close(store);
}

/* As `kiln cache show` and `export` read it. */
Test(cache_makers, a_damaged_entry_does_not_hide_another_compilers)
{
    const char *const compilers[] = {OURS, THEIRS};
    char hex[KILN_CACHE_HASH_HEX + 1];
    char path[1200];
    kiln_cache_key_hex(&key, hex);
    for (size_t i = 0; i < 2; i++) {
        struct kiln_cache_item item;
        struct kiln_buffer entry;
        struct kiln_entry_view view;
        insert_into(directory, OURS);
        insert_into(directory, THEIRS);
        struct kiln_cache_store *store = store_fixture_open(directory, 0);
        path_of(directory, compilers[i], path);
        cr_assert_eq(truncate(path, 60), 0);
        kiln_buffer_init(&entry);
        cr_assert_eq(kiln_cache_store_read(store, hex, &item, &entry, &view, &error), KILN_OK, "%s",
                     error.text);
        cr_expect_eq(item.mark, kiln_cache_compiler_mark(compilers[1 - i]));
        kiln_buffer_fini(&entry);
        path_of(directory, compilers[1 - i], path);
        cr_assert_eq(truncate(path, 60), 0);
        cr_expect_eq(kiln_cache_store_read(store, hex, &item, &entry, &view, &error), KILN_CORRUPT);
        kiln_cache_store_close(store);
    }
}

/* As `kiln cache import` does: what was shipped is used, whatever made it. */
Test(cache_makers, what_is_imported_is_used_as_shipped_and_none_is_lost)
{
    const char *const compilers[] = {THEIRS, OURS, "a third one"};
    struct kiln_cache_store *store = store_fixture_open(directory, 0);
    for (int i = 0; i < 3; i++) {
        struct kiln_buffer entry;
        bool added = false;
        const struct kiln_cache_maker maker = {.compiler = compilers[i]};
        kiln_buffer_init(&entry);
        cr_assert_eq(
            kiln_entry_encode(&key, &maker, compilers[i], strlen(compilers[i]), &entry, &error),
            KILN_OK);
        cr_assert_eq(kiln_cache_store_insert_entry(store, entry.data, entry.size, &added, &error),
                     KILN_OK);
        cr_expect(added);
        cr_assert_eq(kiln_cache_store_insert_entry(store, entry.data, entry.size, &added, &error),
                     KILN_OK);
        cr_expect_not(added, "it is there");
        kiln_buffer_fini(&entry);
        expect(store, "the one here", KILN_CACHE_SHIPPED, THEIRS);
    }
    for (int i = 0; i < 3; i++)
        expect(store, compilers[i], KILN_CACHE_SHIPPED, compilers[i]);
    insert(store, "the one here");
    expect(store, "the one here", KILN_CACHE_SHIPPED, "the one here");
    expect(store, "a fifth one", KILN_CACHE_SHIPPED, THEIRS);
    kiln_cache_store_close(store);
}

Test(cache_makers, strict_stores_take_entries_of_the_same_compiler_only)
{
    insert_into(directory, THEIRS);
    insert_into(layer, OURS);
    cr_assert_eq(setenv("KILN_CACHE_ACCEPT", "same-compiler", 1), 0);
    struct kiln_cache_store *store = store_fixture_open_layers(directory, layer);
    expect(store, OURS, KILN_CACHE_SHIPPED, OURS);
    expect(store, THEIRS, KILN_CACHE_ALL, THEIRS);
    expect(store, "a third one", KILN_CACHE_ALL, NULL);
    expect(store, NULL, KILN_CACHE_ALL, NULL);
    kiln_cache_store_close(store);
}

Test(cache_makers, a_word_that_is_none_is_told_once)
{
    insert_into(layer, THEIRS);
    cr_assert_eq(setenv("KILN_CACHE_ACCEPT", "same", 1), 0);
    for (int i = 0; i < 2; i++) {
        struct kiln_cache_store *store = store_fixture_open_layers(directory, layer);
        expect(store, OURS, KILN_CACHE_SHIPPED, THEIRS);
        kiln_cache_store_close(store);
    }
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_not_null(strstr(captured_log_last(), "'KILN_CACHE_ACCEPT' is 'same', neither"), "%s",
                       captured_log_last());
}

/* Everything is seen by who lists: an entry of each compiler. */
Test(cache_makers, names_of_files_say_whose_they_are)
{
    static const struct {
        const char *name;
        bool is_one;
    } cases[] = {
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e.kiln3", true},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e-0123456789abcdef.kiln3", true},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e.kiln2", true},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e.kiln", true},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e-0123456789abcdef.kiln2", false},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e-0000000000000000.kiln3", false},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e-0123456789abcde.kiln3", false},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e-0123456789abcdef0.kiln3", false},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e-0123456789ABCDEF.kiln3", false},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e-.kiln3", false},
        {"ab54a98ceb1f0ad2e0e9bd2d5c3c5d6e.kiln4", false},
        {"cd54a98ceb1f0ad2e0e9bd2d5c3c5d6e.kiln3", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_entry_file_id id;
        struct kiln_entry_name name;
        bool is_one = kiln_entry_name_parse("ab", cases[i].name, &id);
        cr_expect_eq(is_one, cases[i].is_one, "%s", cases[i].name);
        if (!is_one)
            continue;
        kiln_entry_name_set_id(&name, &id);
        cr_expect_str_eq(name.file, cases[i].name);
        cr_expect_str_eq(name.fanout, "ab");
    }
}
