#include "cache/cache_store.h"

#include "cache/cache_census.h"
#include "cache/cache_settings.h"
#include "cache/cache_store_state.h"
#include "cache/cache_warning.h"
#include "cache/entry_format.h"
#include "runtime/support/environment.h"
#include "runtime/support/file.h"
#include "runtime/support/log.h"
#include "runtime/support/notice.h"
#include "runtime/support/own_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum kiln_status open_directory(struct kiln_cache_store *store, const char *directory,
                                       bool no_create, struct kiln_error *error)
{
    char *path = NULL;
    enum kiln_status status = kiln_cache_directory_choose(directory, &path, error);
    if (status == KILN_OK && path != NULL && no_create)
        status = kiln_cache_directory_open_existing(path, &store->directory, error);
    else if (status == KILN_OK && path != NULL)
        status = kiln_cache_directory_open(path, &store->directory, error);
    if (status == KILN_NOT_FOUND && no_create && path != NULL && directory == NULL) {
        store->directory = (struct kiln_cache_directory){.descriptor = -1, .path = path};
        return KILN_OK;
    }
    free(path);
    if (status != KILN_OK && (kiln_status_may_pass(status) || directory != NULL))
        return status;
    if (status != KILN_OK)
        kiln_notice("kernels are kept in memory only, without a cache directory: %s", error->text);
    else if (!kiln_cache_store_has_directory(store))
        kiln_log(KILN_LOG_INFO, "kernels are kept in memory only: %s",
                 kiln_cache_is_disabled() ? "HIPDNN_DISABLE_CACHE is set"
                                          : "KILN_CACHE_DIR is empty");
    else
        kiln_log(KILN_LOG_INFO, "kernels are cached in '%s'", store->directory.path);
    return KILN_OK;
}

/* KILN_OK also when the layer is left out. */
static enum kiln_status add_layer(struct kiln_cache_store *store, const char *path, bool is_system,
                                  struct kiln_error *error)
{
    struct kiln_cache_layer layer;
    enum kiln_status status = kiln_cache_layer_open(path, &layer, error);
    if (kiln_status_may_pass(status))
        return status;
    if (status != KILN_OK) {
        if (!is_system || status != KILN_NOT_FOUND)
            kiln_notice("a cache layer is left out: %s", error->text);
        return KILN_OK;
    }
    layer.is_system = is_system;
    struct kiln_cache_layer *layers =
        realloc(store->layers, (store->layer_count + 1) * sizeof *store->layers);
    if (layers == NULL) {
        kiln_cache_layer_close(&layer);
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening the cache");
    }
    store->layers = layers;
    store->layers[store->layer_count++] = layer;
    kiln_log(KILN_LOG_INFO, "kernels are looked up in '%s' too", path);
    return KILN_OK;
}

static enum kiln_status open_layers(struct kiln_cache_store *store, const char *list,
                                    const char *system_layer, struct kiln_error *error)
{
    bool is_disabled = kiln_cache_is_disabled();
    if (list == NULL && !is_disabled)
        list = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_LAYERS);
    char *paths = strdup(list != NULL ? list : "");
    if (paths == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening the cache");
    enum kiln_status status = KILN_OK;
    char *rest = NULL;
    for (char *path = strtok_r(paths, ":", &rest); path != NULL && status == KILN_OK;
         path = strtok_r(NULL, ":", &rest))
        status = add_layer(store, path, false, error);
    free(paths);
    char *own_layer = NULL;
    if (system_layer == NULL && !is_disabled)
        system_layer = own_layer =
            kiln_path_from_own(KILN_SYSTEM_CACHE_FROM_PLUGIN, KILN_SYSTEM_CACHE_FROM_PROGRAM);
    if (status == KILN_OK && system_layer != NULL && *system_layer != '\0')
        status = add_layer(store, system_layer, true, error);
    free(own_layer);
    return status;
}

static enum kiln_status open_remote(struct kiln_cache_store *store, const char *option,
                                    struct kiln_error *error)
{
    const char *url =
        option != NULL ? option : kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_REMOTE);
    if (url == NULL || *url == '\0')
        return KILN_OK;
    enum kiln_status status = kiln_remote_cache_open(url, &store->remote, error);
    if (status != KILN_OK && (kiln_status_may_pass(status) || option != NULL))
        return status;
    if (status != KILN_OK)
        kiln_notice("no cache is shared: %s", error->text);
    return KILN_OK;
}

enum kiln_status kiln_cache_store_open(const struct kiln_cache_options *options,
                                       struct kiln_cache_store **ret_store,
                                       struct kiln_error *error)
{
    static const struct kiln_cache_options no_options;
    if (options == NULL)
        options = &no_options;
    struct kiln_cache_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening the cache");
    store->directory.descriptor = -1;
    atomic_init(&store->told_of_large_entry, false);
    atomic_init(&store->unwritten, 0);
    store->needs_same_compiler = kiln_cache_same_compiler_setting();
    kiln_cache_budget_init(&store->budget, options->max_bytes != NULL
                                               ? *options->max_bytes
                                               : kiln_cache_max_bytes_setting());
    enum kiln_status status = open_directory(store, options->directory, options->no_create, error);
    if (status == KILN_OK)
        status = open_layers(store, options->layers, options->system_layer, error);
    if (status == KILN_OK)
        status = open_remote(store, options->remote, error);
    if (status != KILN_OK) {
        kiln_cache_store_close(store);
        return status;
    }
    *ret_store = store;
    return KILN_OK;
}

void kiln_cache_store_close(struct kiln_cache_store *store)
{
    if (store == NULL)
        return;
    if (store->remote != NULL)
        kiln_remote_cache_close(store->remote);
    for (size_t i = 0; i < store->layer_count; i++)
        kiln_cache_layer_close(&store->layers[i]);
    free(store->layers);
    kiln_cache_directory_close(&store->directory);
    free(store);
}

const char *kiln_cache_store_directory(const struct kiln_cache_store *store)
{
    return store->directory.path;
}

uint64_t kiln_cache_store_max_bytes(const struct kiln_cache_store *store)
{
    return store->budget.max_bytes;
}

const char *kiln_cache_store_remote(const struct kiln_cache_store *store)
{
    return store->remote != NULL ? kiln_remote_cache_name(store->remote) : NULL;
}

size_t kiln_cache_store_layer_count(const struct kiln_cache_store *store)
{
    return store->layer_count;
}

struct kiln_cache_layer_info kiln_cache_store_layer(const struct kiln_cache_store *store,
                                                    size_t index)
{
    const struct kiln_cache_layer *layer = &store->layers[index];
    return (struct kiln_cache_layer_info){layer->path, layer->pack != NULL, layer->is_system};
}

/* Writes the bytes of an entry to the directory, within the budget. */
static enum kiln_status write_entry(struct kiln_cache_store *store,
                                    const struct kiln_cache_key *key, uint64_t mark,
                                    const void *bytes, size_t size, struct kiln_error *error)
{
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key, mark);
    int fanout;
    enum kiln_status status =
        kiln_cache_directory_open_fanout(&store->directory, name.fanout, true, &fanout, error);
    if (status != KILN_OK)
        return status;
    /* Each insert removes what dead writers have left in this fan-out directory, so that it does
     * not add up, however few inserts there are. */
    kiln_cache_census_clean(fanout, name.fanout);
    /* Without fsync: after a power failure the name may stand for a file that is short or full of
     * zeros, which the next lookup takes for a miss, and no compile has to wait for a disk. */
    status = kiln_file_write_at(fanout, name.file, bytes, size, KILN_FILE_PRIVATE, error);
    (void)close(fanout);
    if (status != KILN_OK) {
        kiln_error_prefix(error, "cache directory '%s/%s'", store->directory.path, name.fanout);
        return status;
    }
    kiln_cache_budget_spend(&store->budget, &store->directory,
                            (struct kiln_hash128){.high = key->hash_high, .low = key->hash_low},
                            size);
    return KILN_OK;
}

/* True if an entry of that size may be in the directory at all. */
static bool fits(struct kiln_cache_store *store, size_t size)
{
    if (store->budget.max_bytes == 0 || size <= store->budget.max_bytes)
        return true;
    if (!atomic_exchange(&store->told_of_large_entry, true))
        kiln_log(KILN_LOG_INFO,
                 "an entry of %zu bytes is not cached: it is larger than the limit of %" PRIu64
                 " bytes",
                 size, store->budget.max_bytes);
    return false;
}

enum kiln_status kiln_cache_store_keep(struct kiln_cache_store *store,
                                       const struct kiln_cache_key *key, uint64_t mark,
                                       const struct kiln_buffer *entry, struct kiln_error *error)
{
    if (!kiln_cache_store_has_directory(store))
        return KILN_OK;
    bool is_small = fits(store, entry->size);
    enum kiln_status status = KILN_OK;
    if (is_small)
        status = write_entry(store, key, mark, entry->data, entry->size, error);
    store->unwritten += !is_small || status != KILN_OK;
    return status;
}

bool kiln_cache_store_note_use(struct kiln_cache_store *store, struct kiln_hash128 hash,
                               uint64_t mark, bool is_now)
{
    const struct kiln_cache_key key = kiln_cache_key_of_hash(hash);
    struct kiln_error ignored;
    struct kiln_entry_name name;
    int fanout;
    kiln_error_init(&ignored);
    kiln_entry_name_set(&name, &key, mark);
    if (!kiln_cache_store_has_directory(store) ||
        kiln_cache_directory_open_fanout(&store->directory, name.fanout, false, &fanout,
                                         &ignored) != KILN_OK)
        return false;
    bool is_there = kiln_entry_file_note_use(fanout, name.file, is_now);
    if (!is_there && mark != 0) {
        kiln_entry_name_set(&name, &key, 0);
        is_there = kiln_entry_file_note_use(fanout, name.file, is_now);
    }
    (void)close(fanout);
    return is_there;
}

enum kiln_status kiln_cache_store_insert(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key,
                                         const struct kiln_cache_maker *maker, const void *payload,
                                         size_t size, struct kiln_error *error)
{
    if (!kiln_cache_store_has_directory(store) && store->remote == NULL)
        return KILN_OK;
    uint64_t mark = maker != NULL ? kiln_cache_compiler_mark(maker->compiler) : 0;
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    enum kiln_status status = kiln_entry_encode(key, maker, payload, size, &bytes, error);
    if (status != KILN_OK) {
        store->unwritten++;
        return status;
    }
    if (store->remote != NULL)
        kiln_remote_cache_store(store->remote, key, store->needs_same_compiler ? mark : 0,
                                bytes.data, bytes.size);
    status = kiln_cache_store_keep(store, key, mark, &bytes, error);
    kiln_buffer_fini(&bytes);
    return status;
}

size_t kiln_cache_store_flush(struct kiln_cache_store *store, uint32_t milliseconds)
{
    return store->remote != NULL ? kiln_remote_cache_flush(store->remote, milliseconds) : 0;
}

struct kiln_cache_losses kiln_cache_store_losses(struct kiln_cache_store *store)
{
    struct kiln_cache_losses losses = {.unwritten = store->unwritten};
    if (store->remote != NULL) {
        /* First what waits: what is dropped in between is rather counted twice than not at all. */
        losses.unsent = kiln_remote_cache_flush(store->remote, 0);
        losses.unsent += kiln_remote_cache_dropped(store->remote);
    }
    return losses;
}

/* The state of the directory's file of that mark. */
enum presence { IS_ABSENT, IS_PRESENT, IS_OF_ANOTHER_COMPILER };

static enum presence find_present(struct kiln_cache_store *store, const struct kiln_cache_key *key,
                                  uint64_t mark, const struct kiln_entry_view *view)
{
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key, mark);
    int fanout;
    if (kiln_cache_directory_open_fanout(&store->directory, name.fanout, false, &fanout,
                                         &ignored) != KILN_OK)
        return IS_ABSENT;
    struct kiln_entry entry;
    struct stat damaged;
    bool is_sound =
        kiln_entry_file_read(fanout, name.file, 0, &entry, &damaged, &ignored) == KILN_OK;
    (void)close(fanout);
    if (!is_sound)
        return IS_ABSENT;
    enum presence presence = IS_ABSENT;
    if (entry.view.key_bytes == view->key_bytes &&
        (view->key_bytes == 0 || memcmp(entry.view.key, view->key, view->key_bytes) == 0))
        presence = kiln_entry_view_mark(&entry.view) == kiln_entry_view_mark(view)
                       ? IS_PRESENT
                       : IS_OF_ANOTHER_COMPILER;
    kiln_entry_fini(&entry);
    return presence;
}

enum kiln_status kiln_cache_store_insert_entry(struct kiln_cache_store *store, const void *entry,
                                               size_t size, bool *ret_added,
                                               struct kiln_error *error)
{
    if (!kiln_cache_store_has_directory(store))
        return kiln_error_set(error, KILN_NOT_FOUND, "the cache has no directory");
    struct kiln_entry_view view;
    enum kiln_status status = kiln_entry_decode(entry, size, &view, error);
    if (status != KILN_OK)
        return status;
    if (!fits(store, size))
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "it has %zu bytes, more than the cache's limit of %" PRIu64, size,
                              store->budget.max_bytes);
    const struct kiln_cache_key key =
        kiln_cache_key_of_hash(kiln_hash128(view.key, view.key_bytes));
    uint64_t mark = kiln_entry_view_mark(&view);
    /* The directory has one place for an entry that was made elsewhere. If another compiler's entry
     * takes it, this one gets a file with its own mark. */
    enum presence presence = find_present(store, &key, 0, &view);
    uint64_t place = presence == IS_OF_ANOTHER_COMPILER ? mark : 0;
    if (presence != IS_PRESENT && mark != 0 && find_present(store, &key, mark, &view) == IS_PRESENT)
        presence = IS_PRESENT;
    bool is_present = presence == IS_PRESENT || (presence == IS_OF_ANOTHER_COMPILER && mark == 0);
    if (!is_present)
        status = write_entry(store, &key, place, entry, size, error);
    if (status == KILN_OK)
        *ret_added = !is_present;
    return status;
}
