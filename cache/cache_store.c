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
    if (system_layer == NULL)
        system_layer = is_disabled ? "" : KILN_SYSTEM_CACHE_DIR;
    if (status == KILN_OK && *system_layer != '\0')
        status = add_layer(store, system_layer, true, error);
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
static enum kiln_status write_entry(struct kiln_cache_store *store, struct kiln_hash128 hash,
                                    const void *bytes, size_t size, struct kiln_error *error)
{
    struct kiln_entry_name name;
    kiln_entry_name_set_hash(&name, hash);
    int fanout;
    enum kiln_status status =
        kiln_cache_directory_open_fanout(&store->directory, name.fanout, true, &fanout, error);
    if (status != KILN_OK)
        return status;
    /* Whoever may leave a piece here removes what the dead have left here: so it does not add up,
     * however few inserts there are. */
    kiln_cache_census_clean(fanout, name.fanout);
    /* Without fsync: after a power failure the name may stand for a file that is short or full of
     * zeros, which the next lookup takes for a miss, and no compile has to wait for a disk. */
    status = kiln_file_write_at(fanout, name.file, bytes, size, KILN_FILE_PRIVATE, error);
    (void)close(fanout);
    if (status != KILN_OK) {
        kiln_error_prefix(error, "cache directory '%s/%s'", store->directory.path, name.fanout);
        return status;
    }
    kiln_cache_budget_spend(&store->budget, &store->directory, hash, size);
    return KILN_OK;
}

/* Whether an entry of that size may be in the directory at all. */
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

/* Writes an entry to the directory, if there is one and it may hold the entry. */
static enum kiln_status keep_entry(struct kiln_cache_store *store, const struct kiln_cache_key *key,
                                   const struct kiln_buffer *entry, struct kiln_error *error)
{
    if (!kiln_cache_store_has_directory(store))
        return KILN_OK;
    bool is_small = fits(store, entry->size);
    enum kiln_status status = KILN_OK;
    if (is_small)
        status = write_entry(store, (struct kiln_hash128){key->hash_high, key->hash_low},
                             entry->data, entry->size, error);
    store->unwritten += !is_small || status != KILN_OK;
    return status;
}

/*
 * What a tier gave: KILN_OK when it is the entry of the key, KILN_NO_MEMORY, else KILN_NOT_FOUND
 * with what there is to say logged. `place` names the tier; `consequence` says what became of a
 * damaged entry.
 */
static enum kiln_status judge(enum kiln_status status, const struct kiln_cache_key *key,
                              const char *place, const char *consequence, struct kiln_entry *entry,
                              struct kiln_error *error)
{
    if (status == KILN_OK && kiln_entry_view_has_key(&entry->view, key))
        return KILN_OK;
    if (status == KILN_NOT_FOUND || status == KILN_NO_MEMORY)
        return status;
    if (status == KILN_OK) {
        kiln_entry_fini(entry);
        (void)kiln_error_set(error, KILN_NOT_FOUND, "it is of another key with the same hash");
    }
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key);
    /* What was removed does not come back; the rest does, with every kernel. */
    if (*consequence != '\0')
        kiln_log(KILN_LOG_WARN, "cache entry '%s/%s/%s' is not used%s: %s", place, name.fanout,
                 name.file, consequence, error->text);
    else
        kiln_cache_warn_once(place, error->text, "cache entry '%s/%s/%s' is not used: %s", place,
                             name.fanout, name.file, error->text);
    return KILN_NOT_FOUND;
}

static enum kiln_status look_up_directory(struct kiln_cache_store *store,
                                          const struct kiln_cache_key *key,
                                          struct kiln_entry *ret_entry, struct kiln_error *error)
{
    if (!kiln_cache_store_has_directory(store))
        return KILN_NOT_FOUND;
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key);
    int fanout;
    const char *consequence = "";
    enum kiln_status status =
        kiln_cache_directory_open_fanout(&store->directory, name.fanout, false, &fanout, error);
    if (status == KILN_OK) {
        struct stat damaged;
        status = kiln_entry_file_read(fanout, name.file, KILN_ENTRY_FILE_NOTE_USE, ret_entry,
                                      &damaged, error);
        if (status == KILN_CORRUPT && kiln_entry_file_remove(fanout, name.file, &damaged))
            consequence = " and was removed";
        (void)close(fanout);
    }
    /* The sound entry of another key with the same hash stays: the insert that follows a miss
     * replaces it. */
    return judge(status, key, store->directory.path, consequence, ret_entry, error);
}

static enum kiln_status look_up_remote(struct kiln_cache_store *store,
                                       const struct kiln_cache_key *key,
                                       struct kiln_entry *ret_entry, struct kiln_error *error)
{
    struct kiln_entry entry;
    kiln_buffer_init(&entry.bytes);
    enum kiln_status status = kiln_remote_cache_lookup(store->remote, key, &entry.bytes, error);
    if (status == KILN_OK) /* what a server says is not believed */
        status = kiln_entry_decode(entry.bytes.data, entry.bytes.size, &entry.view, error);
    if (status == KILN_OK && !kiln_entry_view_has_key(&entry.view, key))
        status = KILN_NOT_FOUND;
    if (status != KILN_OK) {
        kiln_buffer_fini(&entry.bytes);
        return status == KILN_NO_MEMORY ? status : KILN_NOT_FOUND;
    }
    if (keep_entry(store, key, &entry.bytes, error) != KILN_OK)
        kiln_cache_warn_once("insert", error->text, "a shared cache entry is not kept: %s",
                             error->text);
    *ret_entry = entry;
    return KILN_OK;
}

/* The payload at the start of memory of its own, which is the entry's memory used again. */
static void *take_payload(struct kiln_entry *entry)
{
    char *memory = entry->bytes.data;
    memmove(memory, entry->view.payload, entry->view.payload_bytes);
    kiln_buffer_init(&entry->bytes);
    return memory;
}

static enum kiln_status fail_to_find(const struct kiln_cache_key *key, struct kiln_error *error)
{
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_cache_key_hex(key, hex);
    return kiln_error_set(error, KILN_NOT_FOUND, "the cache has no usable entry '%s'", hex);
}

/* What a lookup in one tier or all of them came to. */
static enum kiln_status finish_lookup(enum kiln_status status, const struct kiln_cache_key *key,
                                      struct kiln_entry *entry, void **ret_payload,
                                      size_t *ret_size, struct kiln_error *error)
{
    if (status == KILN_NO_MEMORY)
        return status;
    if (status != KILN_OK)
        return fail_to_find(key, error);
    kiln_error_init(error);
    *ret_size = entry->view.payload_bytes;
    *ret_payload = take_payload(entry);
    return KILN_OK;
}

enum kiln_status kiln_cache_store_lookup(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key, void **ret_payload,
                                         size_t *ret_size, struct kiln_error *error)
{
    const char *place;
    return kiln_cache_store_lookup_from(store, key, ret_payload, ret_size, &place, error);
}

/* In all tiers; `ret_place` is set with KILN_OK. */
static enum kiln_status look_up(struct kiln_cache_store *store, const struct kiln_cache_key *key,
                                struct kiln_entry *ret_entry, const char **ret_place,
                                struct kiln_error *error)
{
    struct kiln_entry entry;
    const char *place = store->directory.path;
    enum kiln_status status = look_up_directory(store, key, &entry, error);
    for (size_t i = 0; i < store->layer_count && status == KILN_NOT_FOUND; i++) {
        const struct kiln_cache_layer *layer = &store->layers[i];
        place = layer->path;
        status = kiln_cache_layer_lookup(layer, key, &entry, error);
        status = judge(status, key, layer->path, "", &entry, error);
    }
    if (status == KILN_NOT_FOUND && store->remote != NULL) {
        place = kiln_cache_store_remote(store);
        status = look_up_remote(store, key, &entry, error);
    }
    if (status == KILN_OK) {
        *ret_place = place;
        *ret_entry = entry;
    }
    return status;
}

enum kiln_status kiln_cache_store_lookup_from(struct kiln_cache_store *store,
                                              const struct kiln_cache_key *key, void **ret_payload,
                                              size_t *ret_size, const char **ret_place,
                                              struct kiln_error *error)
{
    struct kiln_entry entry;
    enum kiln_status status = look_up(store, key, &entry, ret_place, error);
    return finish_lookup(status, key, &entry, ret_payload, ret_size, error);
}

enum kiln_status kiln_cache_store_lookup_named(struct kiln_cache_store *store,
                                               struct kiln_hash128 name,
                                               struct kiln_buffer *ret_entry,
                                               struct kiln_entry_view *ret_view,
                                               const char **ret_place, struct kiln_error *error)
{
    const struct kiln_cache_key key = kiln_cache_key_of_hash(name);
    struct kiln_entry entry;
    enum kiln_status status = look_up(store, &key, &entry, ret_place, error);
    if (status != KILN_OK)
        return status == KILN_NO_MEMORY ? status : fail_to_find(&key, error);
    kiln_error_init(error);
    kiln_buffer_fini(ret_entry);
    *ret_entry = entry.bytes;
    *ret_view = entry.view;
    return KILN_OK;
}

bool kiln_cache_store_note_use(struct kiln_cache_store *store, struct kiln_hash128 name,
                               bool is_now)
{
    struct kiln_error ignored;
    struct kiln_entry_name entry;
    int fanout;
    kiln_error_init(&ignored);
    kiln_entry_name_set_hash(&entry, name);
    if (!kiln_cache_store_has_directory(store) ||
        kiln_cache_directory_open_fanout(&store->directory, entry.fanout, false, &fanout,
                                         &ignored) != KILN_OK)
        return false;
    bool is_there = kiln_entry_file_note_use(fanout, entry.file, is_now);
    (void)close(fanout);
    return is_there;
}

enum kiln_status kiln_cache_store_lookup_again(struct kiln_cache_store *store,
                                               const struct kiln_cache_key *key, void **ret_payload,
                                               size_t *ret_size, struct kiln_error *error)
{
    struct kiln_entry entry;
    enum kiln_status status = look_up_directory(store, key, &entry, error);
    return finish_lookup(status, key, &entry, ret_payload, ret_size, error);
}

enum kiln_status kiln_cache_store_insert(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key, const void *payload,
                                         size_t size, struct kiln_error *error)
{
    if (!kiln_cache_store_has_directory(store) && store->remote == NULL)
        return KILN_OK;
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    enum kiln_status status = kiln_entry_encode(key, payload, size, &bytes, error);
    if (status != KILN_OK) {
        store->unwritten++;
        return status;
    }
    if (store->remote != NULL)
        kiln_remote_cache_store(store->remote, key, bytes.data, bytes.size);
    status = keep_entry(store, key, &bytes, error);
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

/* Whether the directory has a good entry with the same key. */
static bool is_present(struct kiln_cache_store *store, struct kiln_hash128 hash,
                       const struct kiln_entry_view *view)
{
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    struct kiln_entry_name name;
    kiln_entry_name_set_hash(&name, hash);
    int fanout;
    if (kiln_cache_directory_open_fanout(&store->directory, name.fanout, false, &fanout,
                                         &ignored) != KILN_OK)
        return false;
    struct kiln_entry entry;
    struct stat damaged;
    bool present =
        kiln_entry_file_read(fanout, name.file, 0, &entry, &damaged, &ignored) == KILN_OK;
    (void)close(fanout);
    if (!present)
        return false;
    present = entry.view.key_bytes == view->key_bytes &&
              (view->key_bytes == 0 || memcmp(entry.view.key, view->key, view->key_bytes) == 0);
    kiln_entry_fini(&entry);
    return present;
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
    struct kiln_hash128 hash = kiln_hash128(view.key, view.key_bytes);
    bool present = is_present(store, hash, &view);
    if (!present)
        status = write_entry(store, hash, entry, size, error);
    if (status == KILN_OK)
        *ret_added = !present;
    return status;
}
