/*
 * kiln cache verify: every byte of the directory, of its layers, or of packs and directories by
 * name.
 */
#include "cache/cache_directory.h"
#include "cli/cache/cache_action.h"
#include "cli/command_line.h"
#include "cli/message.h"
#include "runtime/support/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Damaged entries are listed as they are found. */
struct verification {
    json_t *damaged; /* NULL: print */
    uint64_t damaged_count;
    const char *place; /* of a layer */
    uint64_t entries;
    uint64_t bytes;
};

/* `place` may be NULL: the directory. */
static void report_damage(struct verification *verification, const char *place, const char *file,
                          const char *reason)
{
    verification->damaged_count++;
    if (verification->damaged) {
        json_t *entry = kiln_json_object();
        kiln_json_set(entry, "place", place ? kiln_json_text(place) : json_null());
        kiln_json_set(entry, "file", file ? kiln_json_text(file) : json_null());
        kiln_json_set(entry, "reason", kiln_json_text(reason));
        kiln_json_append(verification->damaged, entry);
        return;
    }
    fputs("damaged    ", stdout);
    if (place)
        kiln_text_write(stdout, place, false);
    if (place && file)
        fputs(": ", stdout);
    if (file)
        kiln_text_write(stdout, file, false);
    fputs(": ", stdout);
    kiln_text_write(stdout, reason, true); /* a hint may be there */
    putchar('\n');
}

static void report_file(void *context, const char *file, bool ok, const char *reason)
{
    if (!ok)
        report_damage(context, NULL, file, reason);
}

static enum kiln_status verify_entry(void *context, const struct kiln_cache_visited *entry,
                                     struct kiln_error *error)
{
    (void)error;
    struct verification *verification = context;
    verification->entries += !entry->is_directory;
    verification->bytes += entry->bytes;
    if (entry->status != KILN_OK)
        report_damage(verification, verification->place, entry->hex, entry->reason);
    return KILN_OK;
}

/* A layer, a pack or a directory: what cannot be opened counts as damaged. `is_named`: the user
 * named it, perhaps by mistake. `places` is NULL for text. */
static enum kiln_status verify_place(struct verification *verification, const char *path,
                                     bool is_named, json_t *places, struct kiln_error *error)
{
    struct kiln_cache_layer layer;
    enum kiln_status status = is_named ? kiln_cache_open_place(path, &layer, error)
                                       : kiln_cache_layer_open(path, &layer, error);
    if (status == KILN_NO_MEMORY)
        return status;
    if (status != KILN_OK) {
        report_damage(verification, path, NULL, error->text);
        kiln_error_init(error);
        return KILN_OK;
    }
    verification->place = path;
    verification->entries = verification->bytes = 0;
    bool is_pack = layer.pack != NULL;
    status = kiln_cache_layer_visit(&layer, verify_entry, verification, error);
    kiln_cache_layer_close(&layer);
    if (status == KILN_NO_MEMORY)
        return status;
    if (status != KILN_OK) { /* a part of it cannot be listed */
        report_damage(verification, path, NULL, error->text);
        kiln_error_init(error);
    }
    if (places) {
        json_t *place = kiln_json_object();
        kiln_json_set(place, "path", kiln_json_text(path));
        kiln_json_set(place, "pack", json_boolean(is_pack));
        kiln_json_set(place, "entries", json_integer((json_int_t)verification->entries));
        kiln_json_set(place, "bytes", json_integer((json_int_t)verification->bytes));
        kiln_json_append(places, place);
    } else {
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        fputs(is_pack ? "pack       " : "layer      ", stdout);
        kiln_text_write(stdout, path, false);
        printf(": %llu %s, %s\n", (unsigned long long)verification->entries,
               verification->entries == 1 ? "entry" : "entries",
               kiln_text_bytes(bytes, verification->bytes));
    }
    return KILN_OK;
}

/* The layers that the environment names, even those that the store does not use, and the system's.
 * No layers if the cache is switched off. */
static enum kiln_status verify_layers(struct verification *verification,
                                      struct kiln_cache_store *store, json_t *places,
                                      struct kiln_error *error)
{
    const char *list =
        kiln_cache_is_disabled() ? NULL : kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_LAYERS);
    char *paths = kiln_cli_strdup(list ? list : "");
    char *rest = NULL;
    enum kiln_status status = KILN_OK;
    for (char *path = strtok_r(paths, ":", &rest); path && status == KILN_OK;
         path = strtok_r(NULL, ":", &rest))
        status = verify_place(verification, path, true, places, error);
    free(paths);
    for (size_t i = 0; i < kiln_cache_store_layer_count(store) && status == KILN_OK; i++)
        if (kiln_cache_store_layer(store, i).is_system)
            status = verify_place(verification, kiln_cache_store_layer(store, i).path, false,
                                  places, error);
    return status;
}

int kiln_cache_verify(const struct kiln_cache_request *request, struct kiln_error *error)
{
    struct verification verification = {.damaged = request->json ? kiln_json_array() : NULL};
    json_t *places = request->json ? kiln_json_array() : NULL;
    struct kiln_cache_stats stats = {0};
    bool is_store = request->operand_count == 0;
    enum kiln_status status = KILN_OK;
    if (is_store) {
        status = kiln_cache_store_verify(request->store, report_file, &verification, &stats, error);
        if (status == KILN_OK && !request->json) {
            kiln_cache_print_directory(request->store);
            kiln_cache_print_stats(&stats);
        }
        if (status == KILN_OK)
            status = verify_layers(&verification, request->store, places, error);
    }
    for (int i = 0; i < request->operand_count && status == KILN_OK; i++)
        status = verify_place(&verification, request->operands[i], true, places, error);
    if (status != KILN_OK) {
        json_decref(verification.damaged);
        json_decref(places);
        return kiln_message_exit_code(status);
    }
    if (request->json) {
        json_t *document = kiln_json_object();
        if (is_store) {
            kiln_json_set(document, "directory", kiln_cache_directory_json(request->store));
            kiln_cache_set_stats(document, &stats);
        }
        kiln_json_set(document, "places", places);
        kiln_json_set(document, "damaged", verification.damaged);
        kiln_json_print(document);
    } else {
        printf("damaged    %llu\n", (unsigned long long)verification.damaged_count);
    }
    return verification.damaged_count ? KILN_EXIT_FAILED : KILN_EXIT_OK;
}
