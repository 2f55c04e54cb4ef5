#include "cache/cache_inventory.h"

#include "cache/cache_census.h"
#include "cache/cache_store_state.h"
#include "cache/cache_walk.h"
#include "cache/cache_warning.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS ((int64_t)1000000000)

static enum kiln_status count_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                   const char *fanout_name, const char *file,
                                   struct kiln_error *error)
{
    (void)fanout_name;
    (void)error;
    struct kiln_cache_stats *stats = context;
    struct stat attributes;
    if (fstatat(fanout, file, &attributes, AT_SYMLINK_NOFOLLOW) != 0)
        return KILN_OK;
    uint64_t *files = &stats->entries;
    uint64_t *bytes = &stats->bytes;
    if (kind == KILN_CACHE_FILE_TEMPORARY) {
        files = &stats->temporary_files;
        bytes = &stats->temporary_bytes;
    } else if (kind == KILN_CACHE_FILE_OLD) {
        files = &stats->old_entries;
        bytes = &stats->old_bytes;
    }
    *files += 1;
    *bytes += (uint64_t)attributes.st_size;
    return KILN_OK;
}

static enum kiln_status walk(struct kiln_cache_store *store, kiln_cache_visitor visit,
                             kiln_cache_skipper skip, void *context, struct kiln_error *error)
{
    if (!kiln_cache_store_has_directory(store))
        return KILN_OK;
    return kiln_cache_walk(&store->directory, visit, skip, context, error);
}

static enum kiln_status warn_of_skipped(void *context, const char *fanout_name, const char *reason,
                                        struct kiln_error *error)
{
    (void)context;
    (void)fanout_name;
    (void)error;
    kiln_cache_warn_once(reason, reason, "a part of the cache is left out: %s", reason);
    return KILN_OK;
}

enum kiln_status kiln_cache_store_stats(struct kiln_cache_store *store,
                                        struct kiln_cache_stats *ret_stats,
                                        struct kiln_error *error)
{
    struct kiln_cache_stats stats = {0};
    enum kiln_status status = walk(store, count_file, warn_of_skipped, &stats, error);
    if (status == KILN_OK)
        *ret_stats = stats;
    return status;
}

struct verification {
    void (*report)(void *context, const char *file, bool ok, const char *reason);
    void *context;
    struct kiln_cache_stats stats;
};

static enum kiln_status verify_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                    const char *fanout_name, const char *file,
                                    struct kiln_error *error)
{
    struct verification *verification = context;
    if (kind != KILN_CACHE_FILE_ENTRY)
        return count_file(&verification->stats, kind, fanout, fanout_name, file, error);

    struct kiln_entry entry;
    struct stat damaged;
    struct kiln_error judgement;
    kiln_error_init(&judgement);
    enum kiln_status status = kiln_entry_file_read(fanout, file, 0, &entry, &damaged, &judgement);
    if (status == KILN_NOT_FOUND)
        return KILN_OK;
    if (status == KILN_NO_MEMORY)
        return kiln_error_set(error, status, "%s", judgement.text);
    (void)count_file(&verification->stats, kind, fanout, fanout_name, file, error);
    bool ok = status == KILN_OK;
    if (ok)
        kiln_entry_fini(&entry);
    else
        verification->stats.damaged++;
    if (verification->report != NULL) {
        char name[sizeof(struct kiln_entry_name) + 1];
        (void)snprintf(name, sizeof name, "%s/%s", fanout_name, file);
        verification->report(verification->context, name, ok, ok ? "" : judgement.text);
    }
    return KILN_OK;
}

static enum kiln_status report_skipped(void *context, const char *fanout_name, const char *reason,
                                       struct kiln_error *error)
{
    (void)error;
    struct verification *verification = context;
    verification->stats.damaged++;
    if (verification->report != NULL)
        verification->report(verification->context, fanout_name, false, reason);
    return KILN_OK;
}

enum kiln_status kiln_cache_store_verify(struct kiln_cache_store *store,
                                         void (*report)(void *context, const char *file, bool ok,
                                                        const char *reason),
                                         void *context, struct kiln_cache_stats *ret_stats,
                                         struct kiln_error *error)
{
    struct verification verification = {.report = report, .context = context};
    enum kiln_status status = walk(store, verify_file, report_skipped, &verification, error);
    if (status == KILN_OK)
        *ret_stats = verification.stats;
    return status;
}

struct clearing {
    struct kiln_cache_cleared cleared;
    struct kiln_error *failure; /* the first part that could not be emptied; KILN_OK: none. The
                                   others are logged. */
};

static enum kiln_status remove_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                    const char *fanout_name, const char *file,
                                    struct kiln_error *error)
{
    (void)kind;
    struct clearing *clearing = context;
    struct stat attributes;
    bool is_file = fstatat(fanout, file, &attributes, AT_SYMLINK_NOFOLLOW) == 0 &&
                   !S_ISDIR(attributes.st_mode);
    if (kiln_cache_directory_clear_place(fanout, file)) {
        clearing->cleared.files++;
        clearing->cleared.bytes += is_file ? (uint64_t)attributes.st_size : 0;
    } else if (errno != ENOENT && errno != ESTALE)
        return kiln_error_set(error, KILN_IO, "cannot remove the cache file '%s/%s': %m",
                              fanout_name, file);
    return KILN_OK;
}

static enum kiln_status note_skipped(void *context, const char *fanout_name, const char *reason,
                                     struct kiln_error *error)
{
    (void)fanout_name;
    (void)error;
    struct clearing *clearing = context;
    if (clearing->failure->status == KILN_OK)
        (void)kiln_error_set(clearing->failure, KILN_IO, "%s", reason);
    else
        kiln_cache_warn_once(reason, reason, "a part of the cache is left out: %s", reason);
    return KILN_OK;
}

enum kiln_status kiln_cache_store_clear(struct kiln_cache_store *store,
                                        struct kiln_cache_cleared *ret_cleared,
                                        struct kiln_error *error)
{
    struct kiln_error failure;
    kiln_error_init(&failure);
    struct clearing clearing = {.failure = &failure};
    enum kiln_status status = walk(store, remove_file, note_skipped, &clearing, error);
    if (status == KILN_OK && failure.status != KILN_OK) {
        *error = failure;
        status = failure.status;
    }
    if (status == KILN_OK)
        *ret_cleared = clearing.cleared;
    return status;
}

struct removal {
    enum kiln_status (*judge)(void *context, const struct kiln_entry_view *view, bool *ret_remove,
                              struct kiln_error *error);
    void *context;
    bool is_dry;
    struct kiln_cache_cleared *removed;
};

static enum kiln_status judge_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                   const char *fanout_name, const char *file,
                                   struct kiln_error *error)
{
    struct removal *removal = context;
    struct kiln_entry entry;
    struct stat damaged;
    struct kiln_error judgement;
    kiln_error_init(&judgement);
    if (kind != KILN_CACHE_FILE_ENTRY)
        return KILN_OK;
    enum kiln_status status = kiln_entry_file_read(fanout, file, 0, &entry, &damaged, &judgement);
    if (status == KILN_NO_MEMORY)
        *error = judgement;
    if (status)
        return status == KILN_NO_MEMORY ? status : KILN_OK;
    bool remove = false;
    uint64_t bytes = entry.bytes.size;
    status = removal->judge(removal->context, &entry.view, &remove, error);
    kiln_entry_fini(&entry);
    if (status || !remove)
        return status;
    if (!removal->is_dry && unlinkat(fanout, file, 0) != 0)
        return errno == ENOENT || errno == ESTALE
                   ? KILN_OK
                   : kiln_error_set(error, KILN_IO, "cannot remove the cache file '%s/%s': %m",
                                    fanout_name, file);
    removal->removed->files++;
    removal->removed->bytes += bytes;
    return KILN_OK;
}

enum kiln_status kiln_cache_store_remove_if(
    struct kiln_cache_store *store,
    enum kiln_status (*judge)(void *context, const struct kiln_entry_view *view, bool *ret_remove,
                              struct kiln_error *error),
    void *context, bool is_dry, struct kiln_cache_cleared *ret_removed, struct kiln_error *error)
{
    *ret_removed = (struct kiln_cache_cleared){0};
    struct removal removal = {judge, context, is_dry, ret_removed};
    return walk(store, judge_file, warn_of_skipped, &removal, error);
}

struct listing {
    enum kiln_status (*visit)(void *context, const struct kiln_cache_item *item,
                              struct kiln_error *error);
    void *context;
    int source;
};

static enum kiln_status list_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                  const char *fanout_name, const char *file,
                                  struct kiln_error *error)
{
    const struct listing *listing = context;
    struct kiln_entry_file_id id;
    struct stat attributes;
    if (kind != KILN_CACHE_FILE_ENTRY || !kiln_entry_name_parse(fanout_name, file, &id) ||
        fstatat(fanout, file, &attributes, AT_SYMLINK_NOFOLLOW) != 0)
        return KILN_OK;
    struct kiln_cache_item item = {.mark = id.mark,
                                   .bytes = (uint64_t)attributes.st_size,
                                   .last_use_s = (int64_t)attributes.st_mtim.tv_sec,
                                   .source = listing->source};
    memcpy(item.hex, file, KILN_CACHE_HASH_HEX);
    return listing->visit(listing->context, &item, error);
}

static enum kiln_status list_pack(const struct kiln_pack_file *pack, struct listing *listing,
                                  struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    size_t count = kiln_pack_file_entry_count(pack);
    for (size_t i = 0; i < count && status == KILN_OK; i++) {
        const struct kiln_cache_key key =
            kiln_cache_key_of_hash(kiln_pack_file_entry_hash(pack, i));
        struct kiln_cache_item item = {.mark = kiln_pack_file_entry_mark(pack, i),
                                       .bytes = kiln_pack_file_entry_bytes(pack, i),
                                       .source = listing->source};
        kiln_cache_key_hex(&key, item.hex);
        status = listing->visit(listing->context, &item, error);
    }
    return status;
}

enum kiln_status kiln_cache_store_list(struct kiln_cache_store *store,
                                       enum kiln_status (*visit)(void *context,
                                                                 const struct kiln_cache_item *item,
                                                                 struct kiln_error *error),
                                       void *context, struct kiln_error *error)
{
    struct listing listing = {visit, context, KILN_CACHE_SOURCE_DIRECTORY};
    enum kiln_status status = walk(store, list_file, warn_of_skipped, &listing, error);
    for (size_t i = 0; i < store->layer_count && status == KILN_OK; i++) {
        const struct kiln_cache_layer *layer = &store->layers[i];
        listing.source = (int)i;
        if (layer->pack != NULL)
            status = list_pack(layer->pack, &listing, error);
        else
            status =
                kiln_cache_walk(&layer->directory, list_file, warn_of_skipped, &listing, error);
    }
    return status;
}

struct search {
    char prefix[KILN_CACHE_HASH_HEX + 1];
    size_t passed_over;           /* matches before the wanted one */
    size_t count;                 /* of matches */
    struct kiln_cache_item found; /* the wanted one, with a count above `passed_over` */
};

static enum kiln_status match_item(void *context, const struct kiln_cache_item *item,
                                   struct kiln_error *error)
{
    struct search *search = context;
    if (strncmp(item->hex, search->prefix, strlen(search->prefix)) != 0)
        return KILN_OK;
    if (search->count != 0 && strcmp(search->found.hex, item->hex) != 0)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "several cache entries start with '%s': '%s', '%s'", search->prefix,
                              search->found.hex, item->hex);
    if (search->count++ <= search->passed_over)
        search->found = *item;
    return KILN_OK;
}

static enum kiln_status read_from_directory(const struct kiln_cache_directory *directory,
                                            const struct kiln_cache_key *key, uint64_t mark,
                                            struct kiln_entry *ret_entry, struct kiln_error *error)
{
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key, mark);
    int fanout;
    enum kiln_status status =
        kiln_cache_directory_open_fanout(directory, name.fanout, false, &fanout, error);
    if (status != KILN_OK)
        return status;
    struct stat damaged;
    status =
        kiln_entry_file_read(fanout, name.file, directory->is_layer ? KILN_ENTRY_FILE_OF_LAYER : 0,
                             ret_entry, &damaged, error);
    (void)close(fanout);
    if (status != KILN_OK)
        kiln_error_prefix(error, "cache entry '%s/%s/%s'", directory->path, name.fanout, name.file);
    return status;
}

static enum kiln_status read_from_pack(const struct kiln_cache_layer *layer,
                                       const struct kiln_cache_key *key, uint64_t mark,
                                       struct kiln_entry *ret_entry, struct kiln_error *error)
{
    struct kiln_entry entry;
    kiln_buffer_init(&entry.bytes);
    enum kiln_status status = kiln_pack_file_lookup(layer->pack, key, mark, &entry.bytes, error);
    if (status == KILN_OK)
        status = kiln_entry_decode(entry.bytes.data, entry.bytes.size, &entry.view, error);
    if (status != KILN_OK) {
        char hex[KILN_CACHE_HASH_HEX + 1];
        kiln_cache_key_hex(key, hex);
        kiln_error_prefix(error, "cache entry '%s' of the pack '%s'", hex, layer->path);
        kiln_buffer_fini(&entry.bytes);
        return status;
    }
    *ret_entry = entry;
    return KILN_OK;
}

static enum kiln_status read_item(struct kiln_cache_store *store,
                                  const struct kiln_cache_item *item, struct kiln_entry *ret_entry,
                                  struct kiln_error *error)
{
    struct kiln_hash128 hash = {.high = 0};
    (void)sscanf(item->hex, "%16" SCNx64 "%16" SCNx64, &hash.high, &hash.low);
    const struct kiln_cache_key key = kiln_cache_key_of_hash(hash);
    if (item->source == KILN_CACHE_SOURCE_DIRECTORY)
        return read_from_directory(&store->directory, &key, item->mark, ret_entry, error);
    const struct kiln_cache_layer *layer = &store->layers[item->source];
    return layer->pack != NULL
               ? read_from_pack(layer, &key, item->mark, ret_entry, error)
               : read_from_directory(&layer->directory, &key, item->mark, ret_entry, error);
}

enum kiln_status kiln_cache_store_read(struct kiln_cache_store *store, const char *prefix,
                                       struct kiln_cache_item *ret_item,
                                       struct kiln_buffer *ret_entry,
                                       struct kiln_entry_view *ret_view, struct kiln_error *error)
{
    struct search search = {.passed_over = 0};
    size_t digits = strspn(prefix, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > KILN_CACHE_HASH_HEX || prefix[digits] != '\0')
        return kiln_error_set(
            error, KILN_BAD_ARGUMENT,
            "'%.64s' is not the start of a cache entry's name: 1 to %d hex digits", prefix,
            KILN_CACHE_HASH_HEX);
    for (size_t i = 0; i < digits; i++)
        search.prefix[i] = (char)(prefix[i] | 0x20); /* lower case; digits stay */
    struct kiln_entry entry;
    enum kiln_status status;
    do { /* the first of the entries of this name that is whole */
        kiln_error_init(error);
        search.count = 0;
        status = kiln_cache_store_list(store, match_item, &search, error);
        if (status == KILN_OK && search.count == 0)
            status = kiln_error_set(error, KILN_NOT_FOUND, "no cache entry starts with '%s'",
                                    search.prefix);
        if (status != KILN_OK)
            return status;
        status = read_item(store, &search.found, &entry, error);
        search.passed_over++;
    } while (status == KILN_CORRUPT && search.passed_over < search.count);
    if (status != KILN_OK)
        return status;
    kiln_buffer_fini(ret_entry);
    *ret_entry = entry.bytes;
    *ret_item = search.found;
    *ret_view = entry.view;
    return KILN_OK;
}

enum kiln_status kiln_cache_store_prune(struct kiln_cache_store *store,
                                        const struct kiln_cache_prune *prune,
                                        struct kiln_cache_pruned *ret_pruned,
                                        struct kiln_error *error)
{
    struct kiln_cache_census census = {0};
    enum kiln_status status = KILN_OK;
    if (kiln_cache_store_has_directory(store)) {
        status = kiln_cache_census_take(&store->directory, &census, error);
        if (status != KILN_OK)
            return status;
        int64_t since_ns = INT64_MIN;
        if (prune->max_age_s <= (uint64_t)(census.now_ns / SECOND_NS))
            since_ns = census.now_ns - (int64_t)prune->max_age_s * SECOND_NS;
        for (size_t i = 0; i < census.count; i++)
            census.records[i].is_impossible |=
                census.records[i].id.format < KILN_ENTRY_FORMAT_VERSION;
        size_t entries = census.count;
        uint64_t litter = census.removed_files;
        status = kiln_cache_census_evict(&census, &store->directory, prune->max_bytes, since_ns,
                                         NULL, error);
        if (status == KILN_OK)
            *ret_pruned = (struct kiln_cache_pruned){
                .removed_files = census.removed_files,
                .removed_bytes = census.removed_bytes,
                .kept_files = entries - (size_t)(census.removed_files - litter),
                .kept_bytes = census.bytes,
            };
        kiln_cache_census_fini(&census);
        return status;
    }
    *ret_pruned = (struct kiln_cache_pruned){0};
    return status;
}
