/*
 * kiln cache: what its actions share. command_cache.c reads the command line and calls one of them.
 */
#ifndef KILN_CLI_CACHE_CACHE_ACTION_H
#define KILN_CLI_CACHE_CACHE_ACTION_H

#include "cache/cache_inventory.h"
#include "cache/cache_layer.h"
#include "cache/cache_visit.h"
#include "cli/text.h"

struct kiln_cache_request {
    struct kiln_cache_store *store; /* NULL for merge */
    bool json;
    const char *target;  /* ls, export: NULL for all; why: NULL for the device here */
    const char *extract; /* show: a directory, or NULL */
    uint64_t max_bytes;  /* prune: UINT64_MAX when it was not given */
    uint64_t max_age_s;
    bool stale;  /* prune: what this build can never use */
    bool is_dry; /* prune: nothing is removed */
    int operand_count;
    char *const *operands;
};

/* Each returns the exit code; a sentence in `error` is printed by the caller. */
typedef int (*kiln_cache_action)(const struct kiln_cache_request *request,
                                 struct kiln_error *error);
int kiln_cache_show_stats(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_list(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_show(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_why(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_verify(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_prune(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_clear(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_export(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_import(const struct kiln_cache_request *request, struct kiln_error *error);
int kiln_cache_merge(const struct kiln_cache_request *request, struct kiln_error *error);

/* cache_overview.c. "name       path", or nothing when there is no directory. */
void kiln_cache_print_directory(const struct kiln_cache_store *store);
/* The path, or null. */
json_t *kiln_cache_directory_json(const struct kiln_cache_store *store);
void kiln_cache_print_stats(const struct kiln_cache_stats *stats);
void kiln_cache_set_stats(json_t *document, const struct kiln_cache_stats *stats);
/* "label      17 entries, 3.0 MiB". */
void kiln_cache_print_amount(const char *label, uint64_t count, const char *one, const char *many,
                             uint64_t bytes);

/* cache_packs.c. Opens a pack or a directory that the user named, as kiln_cache_layer_open does.
 * KILN_BAD_ARGUMENT for a directory that is plainly none of a cache. */
enum kiln_status kiln_cache_open_place(const char *path, struct kiln_cache_layer *ret_layer,
                                       struct kiln_error *error) KILN_NODISCARD;

/* cache_list.c. The one entry whose name starts with `prefix`, in the directory and all layers.
 * KILN_BAD_ARGUMENT with a list when there are several, KILN_NOT_FOUND, KILN_IO. */
enum kiln_status kiln_cache_resolve(struct kiln_cache_store *store, const char *prefix,
                                    char ret_hex[KILN_CACHE_HASH_HEX + 1],
                                    struct kiln_error *error) KILN_NODISCARD;

#endif
