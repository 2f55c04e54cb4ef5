/*
 * Lookup of an entry in the directory store, with the verification of all its bytes.
 */
#include "benchmarks/benchmark.h"
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_BYTES = 8192, KEY_BYTES = 2048 };

static enum kiln_status measure(struct kiln_report *report, const char *directory,
                                struct kiln_error *error)
{
    static unsigned char payload[ENTRY_BYTES];
    static unsigned char field[KEY_BYTES]; /* a canonical graph of a few nodes is that long */
    for (size_t i = 0; i < sizeof(payload); i++)
        payload[i] = (unsigned char)(i * 2654435761U >> 13);
    struct kiln_cache_key key;
    kiln_cache_key_init(&key);
    kiln_cache_key_add(&key, field, sizeof(field));
    const struct kiln_cache_options options = {.directory = directory};
    struct kiln_cache_store *store = NULL;
    enum kiln_status status = kiln_cache_key_finish(&key, error);
    if (!status)
        status = kiln_cache_store_open(&options, &store, error);
    if (!status)
        status = kiln_cache_store_insert(store, &key, payload, sizeof(payload), error);

    uint64_t count;
    double *samples = kiln_samples_new(report, 5000, &count);
    for (uint64_t i = 0; i < count && !status; i++) {
        void *found = NULL;
        size_t size = 0;
        uint64_t start = kiln_clock_ns();
        status = kiln_cache_store_lookup(store, &key, &found, &size, error);
        samples[i] = (double)(kiln_clock_ns() - start);
        if (!status && (size != sizeof(payload) || memcmp(found, payload, size) != 0))
            status =
                kiln_error_set(error, KILN_INTERNAL, "the entry read back is not what was stored");
        free(found);
    }
    if (!status)
        kiln_report_samples(report, "look up and verify a cached entry of 8 KiB",
                            "median below 50 us", samples, count);
    free(samples);
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    uint64_t removed;
    if (store && kiln_cache_store_clear(store, &removed, &ignored))
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
    if (measure(report, directory, &error))
        kiln_report_note(report, "cache", "", "not measured: %s", error.text);
    if (rmdir(directory) != 0)
        fprintf(stderr, "left behind: %s\n", directory);
}
