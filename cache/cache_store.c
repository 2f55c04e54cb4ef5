#include "cache/cache_store.h"

#include "cache/cache_directory.h"
#include "cache/cache_inventory.h"
#include "cache/cache_walk.h"
#include "cache/entry_file.h"
#include "cache/entry_format.h"
#include "runtime/support/file.h"
#include "runtime/support/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Never changed after it was opened, which is all that thread safety takes: the rest is the file
 * system's. */
struct kiln_cache_store {
    struct kiln_cache_directory directory;
};

static bool has_directory(const struct kiln_cache_store *store)
{
    return store->directory.path != NULL;
}

enum kiln_status kiln_cache_store_open(const struct kiln_cache_options *options,
                                       struct kiln_cache_store **ret_store,
                                       struct kiln_error *error)
{
    const char *directory = options != NULL ? options->directory : NULL;
    struct kiln_cache_store *store = malloc(sizeof *store);
    if (store == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening the cache");
    store->directory = (struct kiln_cache_directory){.descriptor = -1};

    char *path = NULL;
    enum kiln_status status = kiln_cache_directory_choose(directory, &path, error);
    if (status == KILN_OK && path != NULL)
        status = kiln_cache_directory_open(path, &store->directory, error);
    free(path);
    if (status != KILN_OK && (status == KILN_NO_MEMORY || directory != NULL)) {
        free(store);
        return status;
    }
    if (status != KILN_OK)
        kiln_log(KILN_LOG_WARN, "kernels are kept in memory only, without a cache directory: %s",
                 error->text);
    else if (!has_directory(store))
        kiln_log(KILN_LOG_INFO, "kernels are kept in memory only: KILN_CACHE_DIR is empty");
    else
        kiln_log(KILN_LOG_INFO, "kernels are cached in '%s'", store->directory.path);
    *ret_store = store;
    return KILN_OK;
}

void kiln_cache_store_close(struct kiln_cache_store *store)
{
    if (store == NULL)
        return;
    kiln_cache_directory_close(&store->directory);
    free(store);
}

const char *kiln_cache_store_directory(const struct kiln_cache_store *store)
{
    return store->directory.path;
}

static bool has_key(const struct kiln_entry *entry, const struct kiln_cache_key *key)
{
    return entry->view.key_bytes == key->bytes.size &&
           (key->bytes.size == 0 || memcmp(entry->view.key, key->bytes.data, key->bytes.size) == 0);
}

/* The payload at the start of memory of its own, which is the entry's memory used again. */
static void *take_payload(struct kiln_entry *entry)
{
    char *memory = entry->bytes.data;
    memmove(memory, entry->view.payload, entry->view.payload_bytes);
    kiln_buffer_init(&entry->bytes);
    return memory;
}

static void log_unusable(const struct kiln_cache_store *store, const struct kiln_entry_name *name,
                         const char *reason, const char *consequence)
{
    kiln_log(KILN_LOG_WARN, "cache entry '%s/%s/%s' is not used%s: %s", store->directory.path,
             name->fanout, name->file, consequence, reason);
}

/*
 * Eviction by last use will need a lookup to set the time of the file it found (futimens on its
 * descriptor); nothing reads such a time yet, so nothing pays for it.
 */
enum kiln_status kiln_cache_store_lookup(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key, void **ret_payload,
                                         size_t *ret_size, struct kiln_error *error)
{
    if (!has_directory(store))
        return kiln_error_set(error, KILN_NOT_FOUND, "the cache has no directory");
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key);
    int fanout;
    enum kiln_status status =
        kiln_cache_directory_open_fanout(&store->directory, name.fanout, false, &fanout, error);
    if (status != KILN_OK) {
        if (status != KILN_NOT_FOUND)
            log_unusable(store, &name, error->text, "");
        goto missed;
    }

    struct kiln_entry entry;
    struct stat damaged;
    status = kiln_entry_file_read(fanout, name.file, &entry, &damaged, error);
    if (status == KILN_CORRUPT) {
        bool removed = kiln_entry_file_remove(fanout, name.file, &damaged);
        log_unusable(store, &name, error->text, removed ? " and was removed" : "");
    } else if (status == KILN_IO) {
        log_unusable(store, &name, error->text, "");
    }
    (void)close(fanout);
    if (status == KILN_NO_MEMORY)
        return status;
    if (status != KILN_OK)
        goto missed;

    if (!has_key(&entry, key)) {
        /* A sound entry of another key with the same hash; the insert that follows a miss replaces
         * it. */
        log_unusable(store, &name, "it is of another key with the same hash", "");
        kiln_entry_fini(&entry);
        goto missed;
    }
    *ret_size = entry.view.payload_bytes;
    *ret_payload = take_payload(&entry);
    return KILN_OK;

missed:
    return kiln_error_set(error, KILN_NOT_FOUND, "the cache has no usable entry '%s'", name.file);
}

/* Without fsync: after a power failure the name may stand for a file that is short or full of
 * zeros, which the next lookup takes for a miss, and no compile has to wait for a disk. */
enum kiln_status kiln_cache_store_insert(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key, const void *payload,
                                         size_t size, struct kiln_error *error)
{
    if (!has_directory(store))
        return KILN_OK;
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    enum kiln_status status = kiln_entry_encode(key, payload, size, &bytes, error);
    if (status != KILN_OK)
        return status;

    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key);
    int fanout;
    status = kiln_cache_directory_open_fanout(&store->directory, name.fanout, true, &fanout, error);
    if (status == KILN_OK) {
        status =
            kiln_file_write_at(fanout, name.file, bytes.data, bytes.size, KILN_FILE_PRIVATE, error);
        if (status != KILN_OK)
            kiln_error_prefix(error, "cache directory '%s/%s'", store->directory.path, name.fanout);
        (void)close(fanout);
    }
    kiln_buffer_fini(&bytes);
    return status;
}

static enum kiln_status count_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                   const char *fanout_name, const char *file,
                                   struct kiln_error *error)
{
    (void)fanout_name;
    (void)error;
    struct kiln_cache_stats *stats = context;
    struct stat attributes;
    if (kind == KILN_CACHE_FILE_TEMPORARY) {
        stats->temporary_files++;
    } else if (fstatat(fanout, file, &attributes, AT_SYMLINK_NOFOLLOW) == 0) {
        stats->entries++;
        stats->bytes += (uint64_t)attributes.st_size;
    }
    return KILN_OK;
}

static enum kiln_status walk(struct kiln_cache_store *store, kiln_cache_visitor visit,
                             void *context, struct kiln_error *error)
{
    if (!has_directory(store))
        return KILN_OK;
    return kiln_cache_walk(&store->directory, visit, context, error);
}

enum kiln_status kiln_cache_store_stats(struct kiln_cache_store *store,
                                        struct kiln_cache_stats *ret_stats,
                                        struct kiln_error *error)
{
    struct kiln_cache_stats stats = {0};
    enum kiln_status status = walk(store, count_file, &stats, error);
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
    if (kind == KILN_CACHE_FILE_TEMPORARY)
        return count_file(&verification->stats, kind, fanout, fanout_name, file, error);

    struct kiln_entry entry;
    struct stat damaged;
    struct kiln_error judgement;
    kiln_error_init(&judgement);
    enum kiln_status status = kiln_entry_file_read(fanout, file, &entry, &damaged, &judgement);
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

enum kiln_status kiln_cache_store_verify(struct kiln_cache_store *store,
                                         void (*report)(void *context, const char *file, bool ok,
                                                        const char *reason),
                                         void *context, struct kiln_cache_stats *ret_stats,
                                         struct kiln_error *error)
{
    struct verification verification = {.report = report, .context = context};
    enum kiln_status status = walk(store, verify_file, &verification, error);
    if (status == KILN_OK)
        *ret_stats = verification.stats;
    return status;
}

static enum kiln_status remove_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                    const char *fanout_name, const char *file,
                                    struct kiln_error *error)
{
    (void)kind;
    uint64_t *removed = context;
    if (unlinkat(fanout, file, 0) == 0)
        (*removed)++;
    else if (errno != ENOENT)
        return kiln_error_set(error, KILN_IO, "cannot remove the cache file '%s/%s': %m",
                              fanout_name, file);
    return KILN_OK;
}

enum kiln_status kiln_cache_store_clear(struct kiln_cache_store *store, uint64_t *ret_removed,
                                        struct kiln_error *error)
{
    uint64_t removed = 0;
    enum kiln_status status = walk(store, remove_file, &removed, error);
    if (status == KILN_OK)
        *ret_removed = removed;
    return status;
}
