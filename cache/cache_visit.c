#include "cache/cache_visit.h"

#include "cache/cache_inventory.h"
#include "cache/cache_store_state.h"
#include "cache/cache_walk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct visit {
    kiln_cache_entry_visitor visit;
    void *context;
    bool is_layer;
    uint64_t most_bytes; /* larger entries are left out */
};

/* Hands over an entry that was read, or could not be, and drops it. */
static enum kiln_status hand_over(const struct visit *visit, struct kiln_cache_visited *visited,
                                  enum kiln_status status, struct kiln_entry *entry,
                                  const struct kiln_error *judgement, struct kiln_error *error)
{
    if (status == KILN_NO_MEMORY) {
        *error = *judgement;
        return status;
    }
    visited->status = status;
    visited->reason = status == KILN_OK ? "" : judgement->text;
    if (status == KILN_OK) {
        visited->bytes = entry->bytes.size;
        visited->entry = entry->bytes.data;
        visited->view = entry->view;
    }
    enum kiln_status result = visit->visit(visit->context, visited, error);
    if (status == KILN_OK)
        kiln_entry_fini(entry);
    return result;
}

static enum kiln_status visit_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                   const char *fanout_name, const char *file,
                                   struct kiln_error *error)
{
    (void)fanout_name;
    const struct visit *visit = context;
    struct stat attributes;
    if (kind != KILN_CACHE_FILE_ENTRY ||
        fstatat(fanout, file, &attributes, AT_SYMLINK_NOFOLLOW) != 0 ||
        (uint64_t)attributes.st_size > visit->most_bytes)
        return KILN_OK;
    struct kiln_cache_visited visited = {.bytes = (uint64_t)attributes.st_size,
                                         .last_use_s = (int64_t)attributes.st_mtim.tv_sec};
    memcpy(visited.hex, file, KILN_CACHE_HASH_HEX);
    struct kiln_entry entry;
    struct stat damaged;
    struct kiln_error judgement;
    kiln_error_init(&judgement);
    enum kiln_status status = kiln_entry_file_read(
        fanout, file, visit->is_layer ? KILN_ENTRY_FILE_OF_LAYER : 0, &entry, &damaged, &judgement);
    if (status == KILN_NOT_FOUND)
        return KILN_OK;
    return hand_over(visit, &visited, status, &entry, &judgement, error);
}

static enum kiln_status visit_skipped(void *context, const char *fanout_name, const char *reason,
                                      struct kiln_error *error)
{
    const struct visit *visit = context;
    struct kiln_cache_visited visited = {.is_directory = true, .status = KILN_IO, .reason = reason};
    memcpy(visited.hex, fanout_name, KILN_ENTRY_FANOUT_NAME_BYTES);
    return visit->visit(visit->context, &visited, error);
}

static enum kiln_status visit_pack(const struct kiln_pack_file *pack, const struct visit *visit,
                                   struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    size_t count = kiln_pack_file_entry_count(pack);
    for (size_t i = 0; i < count && status == KILN_OK; i++) {
        const struct kiln_cache_key key =
            kiln_cache_key_of_hash(kiln_pack_file_entry_hash(pack, i));
        struct kiln_cache_visited visited = {.bytes = kiln_pack_file_entry_bytes(pack, i)};
        if (visited.bytes > visit->most_bytes)
            continue;
        struct kiln_entry entry;
        struct kiln_error judgement;
        kiln_error_init(&judgement);
        kiln_buffer_init(&entry.bytes);
        kiln_cache_key_hex(&key, visited.hex);
        enum kiln_status read = kiln_pack_file_read_entry(pack, i, &entry.bytes, &judgement);
        if (read == KILN_OK)
            read = kiln_entry_decode(entry.bytes.data, entry.bytes.size, &entry.view, &judgement);
        status = hand_over(visit, &visited, read, &entry, &judgement, error);
    }
    return status;
}

static enum kiln_status visit_layer(const struct kiln_cache_layer *layer, const struct visit *visit,
                                    struct kiln_error *error)
{
    if (layer->pack != NULL)
        return visit_pack(layer->pack, visit, error);
    struct visit state = *visit;
    return kiln_cache_walk(&layer->directory, visit_file, visit_skipped, &state, error);
}

enum kiln_status kiln_cache_layer_visit(const struct kiln_cache_layer *layer,
                                        kiln_cache_entry_visitor visit, void *context,
                                        struct kiln_error *error)
{
    const struct visit state = {visit, context, true, UINT64_MAX};
    return visit_layer(layer, &state, error);
}

enum kiln_status kiln_cache_store_visit_small(struct kiln_cache_store *store, int source,
                                              uint64_t most_bytes, kiln_cache_entry_visitor visit,
                                              void *context, struct kiln_error *error)
{
    struct visit state = {visit, context, source != KILN_CACHE_SOURCE_DIRECTORY, most_bytes};
    if (state.is_layer)
        return visit_layer(&store->layers[source], &state, error);
    if (!kiln_cache_store_has_directory(store))
        return KILN_OK;
    return kiln_cache_walk(&store->directory, visit_file, visit_skipped, &state, error);
}

enum kiln_status kiln_cache_store_visit(struct kiln_cache_store *store, int source,
                                        kiln_cache_entry_visitor visit, void *context,
                                        struct kiln_error *error)
{
    return kiln_cache_store_visit_small(store, source, UINT64_MAX, visit, context, error);
}
