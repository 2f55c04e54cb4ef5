/*
 * Lookup of an entry in the directory and in a pack under it, with the verification of all its
 * bytes.
 */
#include "benchmarks/benchmark.h"
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/entry_format.h"
#include "cache/pack_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_BYTES = 8192, KEY_BYTES = 2048, PACK_ENTRIES = 1000 };

/* A key with a field of KEY_BYTES: a canonical graph of a few nodes is that long. */
static enum kiln_status make_key(uint32_t number, struct kiln_cache_key *ret_key,
                                 struct kiln_error *error)
{
    static unsigned char field[KEY_BYTES];
    memcpy(field, &number, sizeof(number));
    kiln_cache_key_init(ret_key);
    kiln_cache_key_add(ret_key, field, sizeof(field));
    return kiln_cache_key_finish(ret_key, error);
}

static const unsigned char *make_payload(void)
{
    static unsigned char payload[ENTRY_BYTES];
    for (size_t i = 0; i < sizeof(payload); i++)
        payload[i] = (unsigned char)(i * 2654435761U >> 13);
    return payload;
}

/* Looks the entry up again and again. */
static enum kiln_status measure_lookup(struct kiln_report *report, struct kiln_cache_store *store,
                                       const struct kiln_cache_key *key, const char *name,
                                       const char *budget, struct kiln_error *error)
{
    const unsigned char *payload = make_payload();
    enum kiln_status status = KILN_OK;
    uint64_t count;
    double *samples = kiln_samples_new(report, 5000, &count);
    for (uint64_t i = 0; i < count && !status; i++) {
        void *found = NULL;
        size_t size = 0;
        uint64_t start = kiln_clock_ns();
        status = kiln_cache_store_lookup(store, key, &found, &size, error);
        samples[i] = (double)(kiln_clock_ns() - start);
        if (!status && (size != ENTRY_BYTES || memcmp(found, payload, size) != 0))
            status =
                kiln_error_set(error, KILN_INTERNAL, "the entry read back is not what was stored");
        free(found);
    }
    if (!status)
        kiln_report_samples(report, name, budget, samples, count);
    free(samples);
    return status;
}

/* Nothing of the environment's: layers before the one that is measured would be asked first. */
static enum kiln_status open_store(const char *directory, const char *layers,
                                   struct kiln_cache_store **ret_store, struct kiln_error *error)
{
    const struct kiln_cache_options options = {
        .directory = directory, .layers = layers, .system_layer = "", .remote = ""};
    return kiln_cache_store_open(&options, ret_store, error);
}

static enum kiln_status measure_directory(struct kiln_report *report, const char *directory,
                                          struct kiln_error *error)
{
    struct kiln_cache_key key;
    struct kiln_cache_store *store = NULL;
    enum kiln_status status = make_key(0, &key, error);
    if (!status)
        status = open_store(directory, "", &store, error);
    if (!status)
        status = kiln_cache_store_insert(store, &key, NULL, make_payload(), ENTRY_BYTES, error);
    if (!status)
        status = measure_lookup(report, store, &key, "look up and verify a cached entry of 8 KiB",
                                "median below 50 us", error);
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    struct kiln_cache_cleared cleared;
    if (store && kiln_cache_store_clear(store, &cleared, &ignored))
        fprintf(stderr, "%s\n", ignored.text);
    /* The store keeps its empty fan-out directories. */
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_cache_key_hex(&key, hex);
    char fanout[KILN_TEMPORARY_BYTES + 4];
    (void)snprintf(fanout, sizeof(fanout), "%s/%.2s", directory, hex);
    (void)rmdir(fanout);
    kiln_cache_store_close(store);
    kiln_cache_key_fini(&key);
    return status;
}

static enum kiln_status add_to_pack(struct kiln_pack_writer *writer, uint32_t number,
                                    struct kiln_error *error)
{
    struct kiln_cache_key key;
    struct kiln_buffer entry;
    bool added;
    kiln_buffer_init(&entry);
    enum kiln_status status = make_key(number, &key, error);
    if (!status)
        status = kiln_entry_encode(&key, NULL, make_payload(), ENTRY_BYTES, &entry, error);
    if (!status)
        status = kiln_pack_writer_add(writer, entry.data, entry.size, &added, error);
    kiln_buffer_fini(&entry);
    kiln_cache_key_fini(&key);
    return status;
}

static enum kiln_status write_pack(const char *path, struct kiln_error *error)
{
    struct kiln_pack_writer *writer = NULL;
    enum kiln_status status = kiln_pack_writer_create(path, &writer, error);
    for (uint32_t i = 0; i < PACK_ENTRIES && !status; i++)
        status = add_to_pack(writer, i, error);
    if (!status)
        status = kiln_pack_writer_finish(writer, error);
    kiln_pack_writer_destroy(writer);
    return status;
}

/* Under a directory that does not have the entry, as in an image. */
static enum kiln_status measure_pack(struct kiln_report *report, const char *directory,
                                     struct kiln_error *error)
{
    char path[KILN_TEMPORARY_BYTES + 16];
    (void)snprintf(path, sizeof(path), "%s/pack", directory);
    struct kiln_cache_key key;
    struct kiln_cache_store *store = NULL;
    enum kiln_status status = make_key(PACK_ENTRIES / 2, &key, error);
    if (!status)
        status = write_pack(path, error);
    if (!status)
        status = open_store(directory, path, &store, error);
    if (!status)
        status =
            measure_lookup(report, store, &key, "the same from a pack of 1000 entries", "", error);
    kiln_cache_store_close(store);
    kiln_cache_key_fini(&key);
    (void)unlink(path);
    return status;
}

void kiln_benchmark_cache(struct kiln_report *report)
{
    struct kiln_error error;
    kiln_error_init(&error);
    char directory[KILN_TEMPORARY_BYTES];
    kiln_temporary_template(directory);
    if (!mkdtemp(directory)) {
        kiln_report_note(report, "cache", "", "no temporary directory");
        return;
    }
    if (measure_directory(report, directory, &error) || measure_pack(report, directory, &error))
        kiln_report_note(report, "cache", "", "not measured: %s", error.text);
    if (rmdir(directory) != 0)
        fprintf(stderr, "left behind: %s\n", directory);
}
