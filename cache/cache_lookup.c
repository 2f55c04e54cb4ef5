/*
 * In which order the tiers are asked: docs/cache-format.md.
 */
#include "cache/cache_store.h"
#include "cache/cache_store_state.h"
#include "cache/cache_warning.h"
#include "cache/directory_lookup.h"

#include <stdlib.h>
#include <string.h>

/* One lookup on its way through the tiers. */
struct lookup {
    struct kiln_cache_store *store;
    const struct kiln_cache_key *key;
    uint64_t mark; /* of the compiler here; 0: none */
    /* The shared tier is asked once; `held` is its answer. */
    bool has_asked;
    bool is_held;
    struct kiln_entry held;
    /* The result, with KILN_OK. */
    struct kiln_entry entry;
    const char *place;
};

static enum kiln_status ask_directory(struct lookup *lookup, enum kiln_entry_makers makers,
                                      struct kiln_error *error)
{
    struct kiln_cache_store *store = lookup->store;
    if (!kiln_cache_store_has_directory(store))
        return KILN_NOT_FOUND;
    lookup->place = store->directory.path;
    return kiln_cache_directory_lookup(&store->directory, lookup->key, makers, lookup->mark,
                                       &lookup->entry, error);
}

static enum kiln_status ask_pack(struct lookup *lookup, const struct kiln_cache_layer *layer,
                                 uint64_t mark, struct kiln_error *error)
{
    struct kiln_entry *entry = &lookup->entry;
    kiln_buffer_init(&entry->bytes);
    enum kiln_status status =
        kiln_pack_file_lookup(layer->pack, lookup->key, mark, &entry->bytes, error);
    /* Verified by the pack already: this is for the view, and keeps to the folder's rule. */
    if (status == KILN_OK)
        status = kiln_entry_decode(entry->bytes.data, entry->bytes.size, &entry->view, error);
    if (status != KILN_OK)
        kiln_buffer_fini(&entry->bytes);
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, lookup->key, mark);
    return kiln_cache_judge(status, lookup->key, layer->path, name.file, "", entry, error);
}

/* `mark`: 0 takes the entries of all compilers. */
static enum kiln_status ask_layers(struct lookup *lookup, uint64_t mark, struct kiln_error *error)
{
    enum kiln_status status = KILN_NOT_FOUND;
    for (size_t i = 0; i < lookup->store->layer_count && status == KILN_NOT_FOUND; i++) {
        const struct kiln_cache_layer *layer = &lookup->store->layers[i];
        lookup->place = layer->path;
        status = layer->pack != NULL ? ask_pack(lookup, layer, mark, error)
                                     : kiln_cache_directory_lookup(&layer->directory, lookup->key,
                                                                   mark != 0 ? KILN_ENTRY_OF_MARK
                                                                             : KILN_ENTRY_OF_ANY,
                                                                   mark, &lookup->entry, error);
    }
    return status;
}

/* Puts what the shared tier has into `held`, at the first call. */
static enum kiln_status fetch(struct lookup *lookup, struct kiln_error *error)
{
    struct kiln_cache_store *store = lookup->store;
    if (lookup->has_asked || store->remote == NULL)
        return KILN_OK;
    lookup->has_asked = true;
    struct kiln_entry *held = &lookup->held;
    kiln_buffer_init(&held->bytes);
    enum kiln_status status = kiln_remote_cache_lookup(
        store->remote, lookup->key, store->needs_same_compiler ? lookup->mark : 0, &held->bytes,
        error);
    if (status == KILN_OK) /* what a server says is not believed */
        status = kiln_entry_decode(held->bytes.data, held->bytes.size, &held->view, error);
    if (status == KILN_OK && kiln_entry_view_has_key(&held->view, lookup->key)) {
        lookup->is_held = true;
        return KILN_OK;
    }
    kiln_buffer_fini(&held->bytes);
    return status == KILN_NO_MEMORY ? status : KILN_OK;
}

static enum kiln_status ask_remote(struct lookup *lookup, uint64_t mark, struct kiln_error *error)
{
    enum kiln_status status = fetch(lookup, error);
    if (status != KILN_OK)
        return status;
    if (!lookup->is_held)
        return KILN_NOT_FOUND;
    uint64_t held = kiln_entry_view_mark(&lookup->held.view);
    if (mark != 0 && held != mark)
        return KILN_NOT_FOUND;
    lookup->place = kiln_cache_store_remote(lookup->store);
    lookup->entry = lookup->held;
    lookup->is_held = false;
    /* A store that is opened with no_create may lack its directory. A copy of another compiler's
     * entry has to stay usable as shipped. */
    if (lookup->store->directory.descriptor >= 0 &&
        kiln_cache_store_keep(lookup->store, lookup->key, held == lookup->mark ? held : 0,
                              &lookup->entry.bytes, error) != KILN_OK)
        kiln_cache_warn_once("insert", error->text, "a shared cache entry is not kept: %s",
                             error->text);
    return KILN_OK;
}

static enum kiln_status ask_all(struct lookup *lookup, enum kiln_cache_reach reach,
                                struct kiln_error *error)
{
    bool has_own = lookup->mark != 0;
    bool is_local = reach == KILN_CACHE_OWN_DIRECTORY;
    bool takes_others = !lookup->store->needs_same_compiler && !(has_own && is_local);
    enum kiln_status status = KILN_NOT_FOUND;
    if (has_own)
        status = ask_directory(lookup, KILN_ENTRY_OF_MARK, error);
    if (status == KILN_NOT_FOUND && has_own && !is_local)
        status = ask_layers(lookup, lookup->mark, error);
    /* Before the shared tier, which has one entry of a key: this is the copy of it, and the server
     * is not asked again. */
    if (status == KILN_NOT_FOUND && takes_others)
        status = ask_directory(lookup, KILN_ENTRY_SHIPPED, error);
    if (status == KILN_NOT_FOUND && has_own && !is_local)
        status = ask_remote(lookup, lookup->mark, error);
    if (status == KILN_NOT_FOUND && takes_others && !is_local)
        status = ask_layers(lookup, 0, error);
    if (status == KILN_NOT_FOUND && takes_others && !is_local)
        status = ask_remote(lookup, 0, error);
    if (status == KILN_NOT_FOUND && takes_others && (!has_own || reach == KILN_CACHE_ALL))
        status = ask_directory(lookup, KILN_ENTRY_OF_ANY, error);
    if (lookup->is_held)
        kiln_entry_fini(&lookup->held);
    return status;
}

enum kiln_status kiln_cache_store_find(struct kiln_cache_store *store,
                                       const struct kiln_cache_query *query,
                                       struct kiln_cache_found *ret_found, struct kiln_error *error)
{
    struct lookup lookup = {
        .store = store, .key = query->key, .mark = kiln_cache_compiler_mark(query->compiler)};
    enum kiln_status status = ask_all(&lookup, query->reach, error);
    if (status == KILN_OK) {
        kiln_error_init(error);
        *ret_found = (struct kiln_cache_found){
            .entry = lookup.entry.bytes, .view = lookup.entry.view, .place = lookup.place};
        return KILN_OK;
    }
    if (status == KILN_NO_MEMORY)
        return status;
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_cache_key_hex(query->key, hex);
    return kiln_error_set(error, KILN_NOT_FOUND, "the cache has no usable entry '%s'", hex);
}

void kiln_cache_found_fini(struct kiln_cache_found *found)
{
    kiln_buffer_fini(&found->entry);
}

enum kiln_status kiln_cache_store_lookup(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key, void **ret_payload,
                                         size_t *ret_size, struct kiln_error *error)
{
    const struct kiln_cache_query query = {.key = key};
    struct kiln_cache_found found = {0};
    enum kiln_status status = kiln_cache_store_find(store, &query, &found, error);
    if (status != KILN_OK)
        return status;
    /* The payload at the start of memory of its own, which is the entry's memory used again. */
    char *memory = found.entry.data;
    memmove(memory, found.view.payload, found.view.payload_bytes);
    *ret_size = found.view.payload_bytes;
    *ret_payload = memory;
    return KILN_OK;
}
