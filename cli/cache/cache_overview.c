/*
 * kiln cache stats|prune|clear.
 */
#include "cli/cache/cache_action.h"
#include "cli/command_line.h"
#include "cli/message.h"
#include "runtime/engine/kernel_key.h"
#include "runtime/engine/stale_entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void kiln_cache_print_directory(const struct kiln_cache_store *store)
{
    const char *directory = kiln_cache_store_directory(store);
    fputs("directory  ", stdout);
    kiln_text_write(stdout, directory ? directory : "none", false);
    putchar('\n');
}

json_t *kiln_cache_directory_json(const struct kiln_cache_store *store)
{
    const char *directory = kiln_cache_store_directory(store);
    return directory ? kiln_json_text(directory) : json_null();
}

void kiln_cache_print_stats(const struct kiln_cache_stats *stats)
{
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    printf("entries    %llu\n", (unsigned long long)stats->entries);
    printf("size       %s\n", kiln_text_bytes(bytes, stats->bytes));
    if (stats->old_entries)
        printf("old        %llu %s, %s: of an earlier version, which nobody reads; 'kiln cache "
               "prune' removes %s\n",
               (unsigned long long)stats->old_entries,
               stats->old_entries == 1 ? "entry" : "entries",
               kiln_text_bytes(bytes, stats->old_bytes), stats->old_entries == 1 ? "it" : "them");
    if (stats->temporary_files)
        printf("leftovers  %llu temporary %s, %s: being written, or of writers that died\n",
               (unsigned long long)stats->temporary_files,
               KILN_NOUN(stats->temporary_files, "file"),
               kiln_text_bytes(bytes, stats->temporary_bytes));
}

void kiln_cache_set_stats(json_t *document, const struct kiln_cache_stats *stats)
{
    kiln_json_set(document, "entries", json_integer((json_int_t)stats->entries));
    kiln_json_set(document, "bytes", json_integer((json_int_t)stats->bytes));
    kiln_json_set(document, "old_entries", json_integer((json_int_t)stats->old_entries));
    kiln_json_set(document, "old_bytes", json_integer((json_int_t)stats->old_bytes));
    kiln_json_set(document, "temporary_files", json_integer((json_int_t)stats->temporary_files));
    kiln_json_set(document, "temporary_bytes", json_integer((json_int_t)stats->temporary_bytes));
}

void kiln_cache_print_amount(const char *label, uint64_t count, const char *one, const char *many,
                             uint64_t bytes)
{
    char text[KILN_TEXT_AMOUNT_BYTES];
    printf("%-10s %llu %s, %s\n", label, (unsigned long long)count, count == 1 ? one : many,
           kiln_text_bytes(text, bytes));
}

/* What each layer holds. */
struct layer_totals {
    uint64_t *entries; /* per layer */
    uint64_t *bytes;
};

static enum kiln_status count_item(void *context, const struct kiln_cache_item *item,
                                   struct kiln_error *error)
{
    (void)error;
    struct layer_totals *totals = context;
    if (item->source != KILN_CACHE_SOURCE_DIRECTORY) {
        totals->entries[item->source]++;
        totals->bytes[item->source] += item->bytes;
    }
    return KILN_OK;
}

static void print_layer(const struct kiln_cache_layer_info *layer, uint64_t entries, uint64_t bytes)
{
    char text[KILN_TEXT_AMOUNT_BYTES];
    fputs("layer      ", stdout);
    kiln_text_write(stdout, layer->path, false);
    printf(" (%s%s): %llu %s, %s\n", layer->is_system ? "the system's " : "",
           layer->is_pack ? "pack" : "directory", (unsigned long long)entries,
           entries == 1 ? "entry" : "entries", kiln_text_bytes(text, bytes));
}

static json_t *layer_json(const struct kiln_cache_layer_info *layer, uint64_t entries,
                          uint64_t bytes)
{
    json_t *object = kiln_json_object();
    kiln_json_set(object, "path", kiln_json_text(layer->path));
    kiln_json_set(object, "pack", json_boolean(layer->is_pack));
    kiln_json_set(object, "system", json_boolean(layer->is_system));
    kiln_json_set(object, "entries", json_integer((json_int_t)entries));
    kiln_json_set(object, "bytes", json_integer((json_int_t)bytes));
    return object;
}

static void print_store(const struct kiln_cache_store *store, const struct kiln_cache_stats *stats,
                        const struct layer_totals *totals)
{
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    uint64_t limit = kiln_cache_store_max_bytes(store);
    kiln_cache_print_directory(store);
    if (kiln_cache_store_directory(store)) {
        kiln_cache_print_stats(stats);
        printf("limit      %s\n", limit ? kiln_text_bytes(bytes, limit) : "none");
    }
    for (size_t i = 0; i < kiln_cache_store_layer_count(store); i++) {
        struct kiln_cache_layer_info layer = kiln_cache_store_layer(store, i);
        print_layer(&layer, totals->entries[i], totals->bytes[i]);
    }
    if (kiln_cache_store_remote(store)) {
        fputs("shared     ", stdout);
        kiln_text_write(stdout, kiln_cache_store_remote(store), false);
        putchar('\n');
    }
}

static void print_store_json(const struct kiln_cache_store *store,
                             const struct kiln_cache_stats *stats,
                             const struct layer_totals *totals)
{
    json_t *document = kiln_json_object();
    json_t *layers = kiln_json_array();
    const char *remote = kiln_cache_store_remote(store);
    uint64_t limit = kiln_cache_store_max_bytes(store);
    kiln_json_set(document, "directory", kiln_cache_directory_json(store));
    kiln_cache_set_stats(document, stats);
    kiln_json_set(document, "max_bytes", limit ? json_integer((json_int_t)limit) : json_null());
    for (size_t i = 0; i < kiln_cache_store_layer_count(store); i++) {
        struct kiln_cache_layer_info layer = kiln_cache_store_layer(store, i);
        kiln_json_append(layers, layer_json(&layer, totals->entries[i], totals->bytes[i]));
    }
    kiln_json_set(document, "layers", layers);
    kiln_json_set(document, "remote", remote ? kiln_json_text(remote) : json_null());
    kiln_json_print(document);
}

int kiln_cache_show_stats(const struct kiln_cache_request *request, struct kiln_error *error)
{
    struct kiln_cache_store *store = request->store;
    size_t layers = kiln_cache_store_layer_count(store);
    struct layer_totals totals = {kiln_cli_calloc(layers, sizeof(uint64_t)),
                                  kiln_cli_calloc(layers, sizeof(uint64_t))};
    struct kiln_cache_stats stats = {0};
    enum kiln_status status = kiln_cache_store_stats(store, &stats, error);
    if (status == KILN_OK)
        status = kiln_cache_store_list(store, count_item, &totals, error);
    if (status == KILN_OK && request->json)
        print_store_json(store, &stats, &totals);
    else if (status == KILN_OK)
        print_store(store, &stats, &totals);
    free(totals.entries);
    free(totals.bytes);
    return kiln_message_exit_code(status);
}

/* Entries that this build can never use. */
struct stale_counts {
    uint64_t programs; /* and what is no program or kernel of this build's formats */
    uint64_t kernels;
    struct kiln_cache_cleared removed;
};

static enum kiln_status judge_entry(void *context, const struct kiln_entry_view *view,
                                    bool *ret_remove, struct kiln_error *error)
{
    struct stale_counts *counts = context;
    const char *reason = NULL;
    enum kiln_status status = kiln_entry_judge_stale(view, &reason, error);
    if (status || !reason)
        return status;
    *ret_remove = true;
    *(kiln_kernel_key_is_one(view->key, view->key_bytes) ? &counts->kernels : &counts->programs) +=
        1;
    return KILN_OK;
}

static void print_pruned(const struct kiln_cache_request *request, const struct stale_counts *stale,
                         const struct kiln_cache_pruned *pruned)
{
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    kiln_cache_print_directory(request->store);
    if (request->stale)
        printf("stale      %" PRIu64 " %s, %" PRIu64 " %s, %s%s\n", stale->programs,
               stale->programs == 1 ? "program" : "programs", stale->kernels,
               stale->kernels == 1 ? "kernel" : "kernels",
               kiln_text_bytes(bytes, stale->removed.bytes),
               request->is_dry ? "; nothing was removed" : "");
    if (request->is_dry)
        return;
    kiln_cache_print_amount("removed", pruned->removed_files, "file", "files",
                            pruned->removed_bytes);
    kiln_cache_print_amount("kept", pruned->kept_files, "file", "files", pruned->kept_bytes);
}

static void print_pruned_json(const struct kiln_cache_request *request,
                              const struct stale_counts *stale,
                              const struct kiln_cache_pruned *pruned)
{
    json_t *document = kiln_json_object();
    kiln_json_set(document, "directory", kiln_cache_directory_json(request->store));
    if (request->stale) {
        kiln_json_set(document, "stale_programs", json_integer((json_int_t)stale->programs));
        kiln_json_set(document, "stale_kernels", json_integer((json_int_t)stale->kernels));
        kiln_json_set(document, "stale_bytes", json_integer((json_int_t)stale->removed.bytes));
        kiln_json_set(document, "dry_run", json_boolean(request->is_dry));
    }
    if (!request->is_dry) {
        kiln_json_set(document, "removed_files", json_integer((json_int_t)pruned->removed_files));
        kiln_json_set(document, "removed_bytes", json_integer((json_int_t)pruned->removed_bytes));
        kiln_json_set(document, "kept_files", json_integer((json_int_t)pruned->kept_files));
        kiln_json_set(document, "kept_bytes", json_integer((json_int_t)pruned->kept_bytes));
    }
    kiln_json_print(document);
}

int kiln_cache_prune(const struct kiln_cache_request *request, struct kiln_error *error)
{
    struct kiln_cache_prune prune = {request->max_bytes, request->max_age_s};
    uint64_t limit = kiln_cache_store_max_bytes(request->store);
    if (prune.max_bytes == UINT64_MAX && prune.max_age_s == UINT64_MAX && limit && !request->stale)
        prune.max_bytes = limit;
    struct stale_counts stale = {0};
    struct kiln_cache_pruned pruned = {0};
    enum kiln_status status = KILN_OK;
    if (request->stale)
        status = kiln_cache_store_remove_if(request->store, judge_entry, &stale, request->is_dry,
                                            &stale.removed, error);
    if (status == KILN_OK && !request->is_dry)
        status = kiln_cache_store_prune(request->store, &prune, &pruned, error);
    if (status != KILN_OK)
        return kiln_message_exit_code(status);
    pruned.removed_files += stale.removed.files;
    pruned.removed_bytes += stale.removed.bytes;
    if (request->json)
        print_pruned_json(request, &stale, &pruned);
    else
        print_pruned(request, &stale, &pruned);
    return KILN_EXIT_OK;
}

int kiln_cache_clear(const struct kiln_cache_request *request, struct kiln_error *error)
{
    struct kiln_cache_cleared cleared;
    enum kiln_status status = kiln_cache_store_clear(request->store, &cleared, error);
    if (status != KILN_OK)
        return kiln_message_exit_code(status);
    if (request->json) {
        json_t *document = kiln_json_object();
        kiln_json_set(document, "directory", kiln_cache_directory_json(request->store));
        kiln_json_set(document, "removed_files", json_integer((json_int_t)cleared.files));
        kiln_json_set(document, "removed_bytes", json_integer((json_int_t)cleared.bytes));
        kiln_json_print(document);
    } else {
        kiln_cache_print_directory(request->store);
        kiln_cache_print_amount("removed", cleared.files, "file", "files", cleared.bytes);
    }
    return KILN_EXIT_OK;
}
