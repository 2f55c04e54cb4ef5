#include "cache/cache_layer.h"

#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/cache_warning.h"
#include "cache/pack_file.h"
#include "runtime/support/file.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/runtime/support/unprivileged.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[2048];
static char first[2048];
static char second[2048];
static struct kiln_error error;

/* The layer `first` has the entries 1 and 2, `second` 2 and 3. */
static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("cache"));
    (void)snprintf(first, sizeof first, "%s", temporary_path("first"));
    (void)snprintf(second, sizeof second, "%s", temporary_path("second"));
    kiln_error_init(&error);
    unsetenv("KILN_CACHE_LAYERS");
    unsetenv("KILN_CACHE_REMOTE");
    captured_log_start(KILN_LOG_WARN);
    struct kiln_cache_store *store = store_fixture_open(first, 0);
    store_fixture_insert(store, 1, 100);
    store_fixture_insert(store, 2, 100);
    kiln_cache_store_close(store);
    store = store_fixture_open(second, 0);
    store_fixture_insert(store, 2, 200);
    store_fixture_insert(store, 3, 200);
    kiln_cache_store_close(store);
}

TestSuite(cache_layer, .init = set_up, .fini = temporary_directory_remove, .timeout = 60);

static struct kiln_cache_store *open_both(void)
{
    char layers[4200];
    (void)snprintf(layers, sizeof layers, ":%s::%s:", first, second);
    return store_fixture_open_layers(directory, layers);
}

Test(cache_layer, layers_are_looked_up_in_order_and_nothing_is_copied)
{
    struct kiln_cache_store *store = open_both();
    cr_assert_eq(kiln_cache_store_layer_count(store), 2);
    cr_assert_str_eq(kiln_cache_store_layer(store, 0).path, first);
    cr_assert_str_eq(kiln_cache_store_layer(store, 1).path, second);
    cr_assert_not(kiln_cache_store_layer(store, 0).is_pack);
    cr_assert_not(kiln_cache_store_layer(store, 0).is_system);
    for (unsigned i = 1; i <= 3; i++)
        cr_assert(store_fixture_has(store, i));
    cr_assert_not(store_fixture_has(store, 4));
    struct kiln_cache_key key = sample_key(2);
    void *payload = NULL;
    size_t size = 0;
    cr_assert_eq(kiln_cache_store_lookup(store, &key, &payload, &size, &error), KILN_OK);
    cr_assert_eq(size, 100, "the first layer comes first");
    free(payload);
    cr_assert_eq(directory_count(directory), 0);

    /* The directory comes before both. */
    store_fixture_insert(store, 2, 300);
    cr_assert_eq(kiln_cache_store_lookup(store, &key, &payload, &size, &error), KILN_OK);
    cr_assert_eq(size, 300);
    free(payload);
    kiln_cache_key_fini(&key);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0, "%s", captured_log_last());
    kiln_cache_store_close(store);
}

Test(cache_layer, a_layer_is_not_changed)
{
    store_fixture_age(store_fixture_path(first, 1), 100000);
    struct kiln_cache_store *store = open_both();
    cr_assert(store_fixture_has(store, 1));
    cr_assert_geq(store_fixture_age_of(store_fixture_path(first, 1)), 100000);
    struct kiln_cache_cleared cleared;
    cr_assert_eq(kiln_cache_store_clear(store, &cleared, &error), KILN_OK);
    cr_assert_eq(cleared.files, 0);
    const struct kiln_cache_prune prune = {0, 0};
    struct kiln_cache_pruned pruned;
    cr_assert_eq(kiln_cache_store_prune(store, &prune, &pruned, &error), KILN_OK);
    cr_assert_eq(pruned.removed_files, 0);
    cr_assert(store_fixture_has(store, 1));
    kiln_cache_store_close(store);
}

Test(cache_layer, a_damaged_entry_of_a_layer_is_a_miss_there_and_stays)
{
    cr_assert_eq(truncate(store_fixture_path(first, 1), 90), 0);
    cr_assert_eq(truncate(store_fixture_path(first, 2), 90), 0);
    struct kiln_cache_store *store = open_both();
    cr_assert_not(store_fixture_has(store, 1));
    cr_assert(store_fixture_is_file(first, 1));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_not_null(strstr(captured_log_last(), "is not used: "), "%s", captured_log_last());
    cr_assert(store_fixture_has(store, 2), "the second layer has it too");
    cr_assert_not(store_fixture_has(store, 1));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1, "told once");
    kiln_cache_store_close(store);
}

Test(cache_layer, a_damaged_entry_of_the_directory_falls_through)
{
    struct kiln_cache_store *store = open_both();
    store_fixture_insert(store, 1, 50);
    cr_assert_eq(truncate(store_fixture_path(directory, 1), 60), 0);
    cr_assert(store_fixture_has(store, 1));
    cr_assert_not(store_fixture_is_file(directory, 1));
    kiln_cache_store_close(store);
}

Test(cache_layer, the_environment_names_layers)
{
    setenv("KILN_CACHE_LAYERS", second, 1);
    const struct kiln_cache_options options = {.directory = directory, .system_layer = first};
    struct kiln_cache_store *store = NULL;
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_cache_store_layer_count(store), 2);
    cr_assert_str_eq(kiln_cache_store_layer(store, 0).path, second);
    cr_assert_str_eq(kiln_cache_store_layer(store, 1).path, first);
    cr_assert(kiln_cache_store_layer(store, 1).is_system);
    kiln_cache_store_close(store);
}

Test(cache_layer, layers_serve_a_store_without_a_directory)
{
    setenv("KILN_CACHE_DIR", "", 1);
    struct kiln_cache_store *store = NULL;
    const struct kiln_cache_options options = {.layers = first, .system_layer = ""};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert(store_fixture_has(store, 1));
    cr_assert_not(store_fixture_has(store, 3));
    store_fixture_insert(store, 3, 10);
    cr_assert_not(store_fixture_has(store, 3));
    kiln_cache_store_close(store);
}

/* hipDNN's switch leaves out the layers of the environment; those that a caller names stay. */
Test(cache_layer, disabled_caches_have_no_layers_of_the_environment)
{
    const struct kiln_cache_options options = {.directory = directory, .system_layer = first};
    struct kiln_cache_store *store = NULL;
    setenv("KILN_CACHE_LAYERS", second, 1);
    setenv("HIPDNN_DISABLE_CACHE", "1", 1);
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_cache_store_layer_count(store), 1);
    cr_assert_str_eq(kiln_cache_store_layer(store, 0).path, first);
    kiln_cache_store_close(store);
}

static size_t layers_of(const char *layers, const char *system_layer)
{
    const struct kiln_cache_options options = {
        .directory = directory, .layers = layers, .system_layer = system_layer};
    struct kiln_cache_store *store = NULL;
    captured_log_start(KILN_LOG_WARN);
    kiln_cache_warnings_forget();
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    size_t count = kiln_cache_store_layer_count(store);
    kiln_cache_store_close(store);
    return count;
}

/* One warning that has `reason` in it. */
static void assert_left_out(const char *path, const char *reason)
{
    cr_assert_eq(layers_of(path, ""), 0, "%s", path);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_not_null(strstr(captured_log_last(), reason), "'%s' lacks '%s'", captured_log_last(),
                       reason);
}

Test(cache_layer, a_layer_that_cannot_be_used_is_left_out)
{
    assert_left_out(temporary_path("nowhere"), "No such file or directory");
    cr_assert_eq(chmod(first, 0775), 0);
    assert_left_out(first, "other users may write to it");
    cr_assert_eq(chmod(first, 0757), 0);
    assert_left_out(first, "other users may write to it; hint: chmod go-w '");
    cr_assert_eq(chmod(first, 0755), 0);
    const char *file = temporary_path("file");
    cr_assert_eq(close(open(file, O_CREAT | O_WRONLY, 0600)), 0);
    assert_left_out(file, file); /* no pack */
    cr_assert_eq(chmod(file, 0666), 0);
    assert_left_out(file, "other users may write to it; hint: chmod go-w '");
    const char *fifo = temporary_path("fifo");
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    assert_left_out(fifo, "neither a directory nor an ordinary file");
    char both[4200];
    (void)snprintf(both, sizeof both, "%s:%s", temporary_path("nowhere"), first);
    cr_assert_eq(layers_of(both, ""), 1);
    if (geteuid() == 0) {
        cr_assert_eq(chown(first, 12345, 12345), 0);
        assert_left_out(first, "it belongs to another user");
    }
}

Test(cache_layer, the_system_layer_may_be_missing)
{
    cr_assert_eq(layers_of("", temporary_path("nowhere")), 0);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
    cr_assert_eq(layers_of("", temporary_path("first/../second/below/more")), 0);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
    cr_assert_eq(chmod(first, 0777), 0);
    cr_assert_eq(layers_of("", first), 0);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
}

Test(cache_layer, a_link_to_a_layer_is_the_users_own_choice)
{
    const char *link = temporary_path("link");
    cr_assert_eq(symlink(first, link), 0);
    cr_assert_eq(layers_of(link, ""), 1);
}

static int use_layers_of_root(void)
{
    const struct kiln_cache_options options = {.directory = temporary_path("own/cache"),
                                               .layers = first,
                                               .system_layer = "",
                                               .remote = ""};
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    if (kiln_cache_store_open(&options, &store, &error) != KILN_OK)
        return 2;
    struct kiln_cache_key key = sample_key(1);
    void *payload = NULL;
    size_t size = 0;
    int result = kiln_cache_store_lookup(store, &key, &payload, &size, &error) == KILN_OK ? 0 : 3;
    free(payload);
    kiln_cache_key_fini(&key);
    kiln_cache_store_close(store);
    return result;
}

Test(cache_layer, root_may_own_a_layer_that_others_use)
{
    if (geteuid() != 0)
        skip_test("only root can make a layer of root's");
    cr_assert_eq(chmod(temporary_path("."), 0755), 0);
    cr_assert_eq(chmod(first, 0755), 0);
    char command[4200];
    (void)snprintf(command, sizeof command, "chmod -R a+rX '%s'", first);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(mkdir(temporary_path("own"), 0700), 0);
    cr_assert_eq(unprivileged_run(temporary_path("own"), use_layers_of_root), 0);
}

Test(cache_layer, entries_of_another_user_are_misses)
{
    if (geteuid() != 0)
        skip_test("only root can give a file away");
    cr_assert_eq(chown(store_fixture_path(first, 1), 12345, 12345), 0);
    cr_assert_eq(chmod(store_fixture_path(first, 2), 0666), 0);
    struct kiln_cache_store *store = store_fixture_open_layers(directory, first);
    cr_assert_not(store_fixture_has(store, 1));
    cr_assert_not(store_fixture_has(store, 2));
    cr_assert(store_fixture_is_file(first, 1));
    kiln_cache_store_close(store);
}

/* A pack of everything in the layer `first`. Returns its path, valid for a few calls. */
static const char *make_pack(void)
{
    const char *path = temporary_path("layer.pack");
    struct kiln_pack_writer *writer = NULL;
    cr_assert_eq(kiln_pack_writer_create(path, &writer, &error), KILN_OK, "%s", error.text);
    for (unsigned number = 1; number <= 2; number++) {
        struct kiln_buffer bytes;
        bool added = false;
        kiln_buffer_init(&bytes);
        cr_assert_eq(kiln_file_read(store_fixture_path(first, number), 1 << 20, &bytes, &error),
                     KILN_OK);
        cr_assert_eq(kiln_pack_writer_add(writer, bytes.data, bytes.size, &added, &error), KILN_OK,
                     "%s", error.text);
        kiln_buffer_fini(&bytes);
    }
    cr_assert_eq(kiln_pack_writer_finish(writer, &error), KILN_OK, "%s", error.text);
    kiln_pack_writer_destroy(writer);
    return path;
}

struct seen {
    unsigned count;
    uint64_t bytes;
};

static enum kiln_status see_item(void *context, const struct kiln_cache_item *item,
                                 struct kiln_error *ret_error)
{
    (void)ret_error;
    struct seen *seen = context;
    seen->count++;
    seen->bytes += item->bytes;
    cr_assert_eq(item->source, 0);
    cr_assert_eq(item->last_use_s, 0);
    return KILN_OK;
}

Test(cache_layer, a_pack_is_a_layer)
{
    struct kiln_cache_store *store = store_fixture_open_layers(directory, make_pack());
    cr_assert_eq(kiln_cache_store_layer_count(store), 1, "%s", captured_log_last());
    cr_assert(kiln_cache_store_layer(store, 0).is_pack);
    cr_assert(store_fixture_has(store, 1));
    cr_assert(store_fixture_has(store, 2));
    cr_assert_not(store_fixture_has(store, 3));
    cr_assert_eq(directory_count(directory), 0);

    struct seen seen = {0, 0};
    cr_assert_eq(kiln_cache_store_list(store, see_item, &seen, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(seen.count, 2);
    struct kiln_cache_key key = sample_key(2);
    char hex[KILN_CACHE_HASH_HEX + 1];
    struct kiln_cache_item item;
    struct kiln_buffer bytes;
    struct kiln_entry_view view;
    kiln_cache_key_hex(&key, hex);
    kiln_buffer_init(&bytes);
    hex[12] = '\0';
    cr_assert_eq(kiln_cache_store_read(store, hex, &item, &bytes, &view, &error), KILN_OK, "%s",
                 error.text);
    cr_assert_eq(view.payload_bytes, 100);
    cr_assert_eq(item.bytes, bytes.size);
    cr_assert_eq(seen.bytes, 2 * bytes.size);
    kiln_buffer_fini(&bytes);
    kiln_cache_key_fini(&key);
    kiln_cache_store_close(store);
}

/* Whatever bit of the pack flips: the layer is left out, or an entry is a miss; none is wrong. */
Test(cache_layer, a_damaged_pack_loads_nothing_wrong)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s", make_pack());
    struct kiln_buffer good;
    kiln_buffer_init(&good);
    cr_assert_eq(kiln_file_read(path, 1 << 20, &good, &error), KILN_OK);
    int descriptor = open(path, O_WRONLY);
    unsigned misses = 0;
    for (size_t bit = 0; bit < 8 * good.size; bit++) {
        char flipped = (char)(good.data[bit / 8] ^ 1 << bit % 8);
        cr_assert_eq(pwrite(descriptor, &flipped, 1, (off_t)(bit / 8)), 1);
        struct kiln_cache_store *store = store_fixture_open_layers(directory, path);
        unsigned hits = store_fixture_has(store, 1);
        hits += store_fixture_has(store, 2);
        misses += 2 - hits;
        cr_assert_lt(hits, 2, "bit %zu", bit);
        kiln_cache_store_close(store);
        cr_assert_eq(pwrite(descriptor, &good.data[bit / 8], 1, (off_t)(bit / 8)), 1);
    }
    cr_assert_geq(misses, 8 * good.size);
    cr_assert_eq(close(descriptor), 0);
    kiln_buffer_fini(&good);
}
