/*
 * kiln cache export|import|merge.
 *
 * A damaged entry is reported and left out, the others are used, and the exit code tells of it.
 * What cannot be opened or written ends the command before anything has changed, except that an
 * import keeps what it has added and goes on with the next file.
 */
#include "cache/cache_walk.h"
#include "cache/pack_file.h"
#include "cli/cache/cache_action.h"
#include "cli/cache/entry_description.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct transfer {
    struct kiln_pack_writer *writer; /* export, merge */
    struct kiln_cache_store *store;  /* import */
    const char *target;              /* export: NULL for all */
    const char *place;               /* that is being read */
    json_t *damaged;                 /* NULL: warn */
    uint64_t seen;
    uint64_t added;
    uint64_t added_bytes;
    uint64_t repeated; /* the destination had them */
    uint64_t too_large;
    uint64_t damaged_count;
    uint64_t unusable_count; /* directories of entries */
};

enum kiln_status kiln_cache_open_place(const char *path, struct kiln_cache_layer *ret_layer,
                                       struct kiln_error *error)
{
    struct kiln_cache_layer layer;
    enum kiln_status status = kiln_cache_layer_open(path, &layer, error);
    if (status != KILN_OK)
        return status;
    bool is_cache = true;
    if (!layer.pack)
        status = kiln_cache_walk_recognize(&layer.directory, &is_cache, error);
    if (!is_cache) {
        status = kiln_error_set(error, KILN_BAD_ARGUMENT, "'%s' is no cache directory", path);
        kiln_error_hint(error, "one has directories in it that are named by two hex digits");
    }
    if (status == KILN_OK)
        *ret_layer = layer;
    else
        kiln_cache_layer_close(&layer);
    return status;
}

static void report_damage(struct transfer *transfer, const struct kiln_cache_visited *damaged)
{
    if (damaged->is_directory) {
        transfer->unusable_count++;
        kiln_message_warning("a part of the cache is left out: %s", damaged->reason);
    } else {
        transfer->seen++;
        transfer->damaged_count++;
        kiln_message_warning("entry '%s' of '%s' is left out: %s", damaged->hex, transfer->place,
                             damaged->reason);
    }
    if (transfer->damaged) {
        json_t *entry = kiln_json_object();
        kiln_json_set(entry, "place", kiln_json_text(transfer->place));
        kiln_json_set(entry, "key",
                      damaged->is_directory ? json_null() : kiln_json_text(damaged->hex));
        kiln_json_set(entry, "reason", kiln_json_text(damaged->reason));
        kiln_json_append(transfer->damaged, entry);
    }
}

static void count_added(struct transfer *transfer, bool added, uint64_t bytes)
{
    if (added) {
        transfer->added++;
        transfer->added_bytes += bytes;
    } else {
        transfer->repeated++;
    }
}

static enum kiln_status fail_interrupted(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_IO, "interrupted");
}

static bool is_left_out(const struct transfer *transfer, const struct kiln_entry_view *view)
{
    if (!transfer->target)
        return false;
    struct kiln_entry_description description;
    kiln_entry_describe(view, false, &description);
    bool left_out = !kiln_entry_is_for(&description, transfer->target);
    kiln_entry_description_fini(&description);
    return left_out;
}

static enum kiln_status pack_entry(void *context, const struct kiln_cache_visited *entry,
                                   struct kiln_error *error)
{
    struct transfer *transfer = context;
    if (kiln_interrupt_pending())
        return fail_interrupted(error);
    if (entry->status != KILN_OK) {
        report_damage(transfer, entry);
        return KILN_OK;
    }
    transfer->seen++;
    if (is_left_out(transfer, &entry->view))
        return KILN_OK;
    bool added = false;
    enum kiln_status status =
        kiln_pack_writer_add(transfer->writer, entry->entry, (size_t)entry->bytes, &added, error);
    if (status == KILN_OK)
        count_added(transfer, added, entry->bytes);
    return status;
}

/* Ends the writing of a pack, well or badly, and the process when it was interrupted. */
static enum kiln_status end_pack(struct transfer *transfer, enum kiln_status status,
                                 const char *path, struct kiln_error *error)
{
    if (status == KILN_OK && kiln_interrupt_pending())
        status = fail_interrupted(error);
    if (status == KILN_OK)
        status = kiln_pack_writer_finish(transfer->writer, error);
    kiln_pack_writer_destroy(transfer->writer);
    transfer->writer = NULL;
    kiln_interrupt_deliver();
    if (status != KILN_OK)
        kiln_error_prefix(error, "the pack '%s' is not written", path);
    return status;
}

static void print_pack(const struct kiln_cache_request *request, const struct transfer *transfer,
                       const char *verb, const char *path)
{
    if (request->json) {
        json_t *document = kiln_json_object();
        kiln_json_set(document, "file", kiln_json_text(path));
        kiln_json_set(document, "entries", json_integer((json_int_t)transfer->added));
        kiln_json_set(document, "bytes", json_integer((json_int_t)transfer->added_bytes));
        kiln_json_set(document, "repeated", json_integer((json_int_t)transfer->repeated));
        kiln_json_set(document, "damaged", transfer->damaged);
        kiln_json_print(document);
        return;
    }
    kiln_cache_print_amount(verb, transfer->added, "entry", "entries", transfer->added_bytes);
    if (transfer->repeated)
        printf("repeated   %llu\n", (unsigned long long)transfer->repeated);
    fputs("pack       ", stdout);
    kiln_text_write(stdout, path, false);
    putchar('\n');
}

static int exit_code(const struct transfer *transfer, enum kiln_status status)
{
    if (status != KILN_OK)
        return kiln_message_exit_code(status);
    return transfer->damaged_count || transfer->unusable_count ? KILN_EXIT_FAILED : KILN_EXIT_OK;
}

/* Adds the entry of this name, wherever it is. */
static enum kiln_status export_entry(const struct kiln_cache_request *request,
                                     struct transfer *transfer, const char *hex,
                                     struct kiln_buffer *entry, struct kiln_entry_view *view,
                                     struct kiln_error *error)
{
    struct kiln_cache_item item;
    bool added = false;
    enum kiln_status status = kiln_cache_store_read(request->store, hex, &item, entry, view, error);
    if (status == KILN_OK && is_left_out(transfer, view))
        status = kiln_error_set(error, KILN_BAD_ARGUMENT, "entry '%s' is not for '%s'", hex,
                                transfer->target);
    if (status == KILN_OK)
        status = kiln_pack_writer_add(transfer->writer, entry->data, entry->size, &added, error);
    if (status == KILN_OK)
        count_added(transfer, added, entry->size);
    return status;
}

/* A program is of use with its kernels only. What is missing of them is told and costs a compile.
 */
static enum kiln_status export_kernels(const struct kiln_cache_request *request,
                                       struct transfer *transfer, const char *hex,
                                       const struct kiln_entry_view *program,
                                       struct kiln_error *error)
{
    struct kiln_entry_description description;
    kiln_entry_describe(program, true, &description);
    uint32_t count = description.program ? description.program->program.kernel_count : 0;
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
        char kernel[KILN_CACHE_HASH_HEX + 1];
        struct kiln_entry_view view;
        struct kiln_buffer entry;
        kiln_buffer_init(&entry);
        kiln_entry_kernel_hex(&description.program->program.kernels[i], kernel);
        status = export_entry(request, transfer, kernel, &entry, &view, error);
        kiln_buffer_fini(&entry);
        if (status != KILN_NOT_FOUND && status != KILN_CORRUPT)
            continue;
        kiln_message_warning("the kernel '%s' of entry '%s' is left out: %s", kernel, hex,
                             error->text);
        transfer->damaged_count++;
        kiln_error_init(error);
        status = KILN_OK;
    }
    kiln_entry_description_fini(&description);
    return status;
}

/* Entries that were named, wherever they are; programs with their kernels. */
static enum kiln_status export_named(const struct kiln_cache_request *request,
                                     struct transfer *transfer, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    for (int i = 1; i < request->operand_count && status == KILN_OK; i++) {
        char hex[KILN_CACHE_HASH_HEX + 1];
        struct kiln_entry_view view;
        struct kiln_buffer entry;
        kiln_buffer_init(&entry);
        status = kiln_cache_resolve(request->store, request->operands[i], hex, error);
        if (status == KILN_OK)
            status = export_entry(request, transfer, hex, &entry, &view, error);
        if (status == KILN_OK)
            status = export_kernels(request, transfer, hex, &view, error);
        kiln_buffer_fini(&entry);
    }
    return status;
}

static enum kiln_status fail_empty(const struct kiln_cache_store *store,
                                   const struct transfer *transfer, struct kiln_error *error)
{
    if (transfer->damaged_count)
        return kiln_error_set(error, KILN_CORRUPT,
                              "all entries of the cache directory are damaged");
    if (kiln_cache_store_directory(store))
        return kiln_error_set(error, KILN_NOT_FOUND, "the cache directory has no entry");
    return kiln_error_set(error, KILN_NOT_FOUND,
                          "there is no cache directory\nhint: entries of layers are exported by "
                          "their keys, and 'kiln cache merge' copies packs");
}

int kiln_cache_export(const struct kiln_cache_request *request, struct kiln_error *error)
{
    const char *path = request->operands[0];
    struct transfer transfer = {.target = request->target,
                                .place = kiln_cache_store_directory(request->store)};
    enum kiln_status status = kiln_pack_writer_create(path, &transfer.writer, error);
    if (status != KILN_OK)
        return kiln_message_exit_code(status);
    kiln_interrupt_watch();
    transfer.damaged = request->json ? kiln_json_array() : NULL;
    if (request->operand_count > 1)
        status = export_named(request, &transfer, error);
    else
        status = kiln_cache_store_visit(request->store, KILN_CACHE_SOURCE_DIRECTORY, pack_entry,
                                        &transfer, error);
    if (status == KILN_OK && transfer.added == 0 && transfer.seen > transfer.damaged_count)
        status = kiln_error_set(error, KILN_NOT_FOUND,
                                "no cache entry of %llu is for '%s'\nhint: 'kiln cache ls' "
                                "shows the target of each",
                                (unsigned long long)transfer.seen, request->target);
    else if (status == KILN_OK && transfer.added == 0)
        status = fail_empty(request->store, &transfer, error);
    status = end_pack(&transfer, status, path, error);
    if (status == KILN_OK)
        print_pack(request, &transfer, "exported", path);
    else
        json_decref(transfer.damaged);
    return exit_code(&transfer, status);
}

static enum kiln_status read_place(struct transfer *transfer, const char *path,
                                   kiln_cache_entry_visitor visit, struct kiln_error *error)
{
    struct kiln_cache_layer layer;
    enum kiln_status status = kiln_cache_open_place(path, &layer, error);
    if (status != KILN_OK)
        return status;
    transfer->place = path;
    status = kiln_cache_layer_visit(&layer, visit, transfer, error);
    kiln_cache_layer_close(&layer);
    return status;
}

int kiln_cache_merge(const struct kiln_cache_request *request, struct kiln_error *error)
{
    const char *path = request->operands[0];
    struct transfer transfer = {0};
    enum kiln_status status = KILN_OK;
    /* All of them first: nothing is written when one is missing. One at a time: there may be more
     * of them than descriptors. */
    for (int i = 1; i < request->operand_count && status == KILN_OK; i++) {
        struct kiln_cache_layer layer;
        status = kiln_cache_open_place(request->operands[i], &layer, error);
        if (status == KILN_OK)
            kiln_cache_layer_close(&layer);
    }
    if (status == KILN_OK)
        status = kiln_pack_writer_create(path, &transfer.writer, error);
    if (status == KILN_OK) {
        kiln_interrupt_watch();
        transfer.damaged = request->json ? kiln_json_array() : NULL;
        for (int i = 1; i < request->operand_count && status == KILN_OK; i++)
            status = read_place(&transfer, request->operands[i], pack_entry, error);
        status = end_pack(&transfer, status, path, error);
    }
    if (status == KILN_OK)
        print_pack(request, &transfer, "merged", path);
    else
        json_decref(transfer.damaged);
    return exit_code(&transfer, status);
}

static enum kiln_status import_entry(void *context, const struct kiln_cache_visited *entry,
                                     struct kiln_error *error)
{
    struct transfer *transfer = context;
    if (kiln_interrupt_pending())
        return fail_interrupted(error);
    if (entry->status != KILN_OK) {
        report_damage(transfer, entry);
        return KILN_OK;
    }
    transfer->seen++;
    bool added = false;
    enum kiln_status status = kiln_cache_store_insert_entry(transfer->store, entry->entry,
                                                            (size_t)entry->bytes, &added, error);
    if (status == KILN_BAD_ARGUMENT) {
        kiln_message_warning("entry '%s' of '%s' is left out: %s", entry->hex, transfer->place,
                             error->text);
        kiln_error_init(error);
        transfer->too_large++;
        return KILN_OK;
    }
    if (status == KILN_OK)
        count_added(transfer, added, entry->bytes);
    return status;
}

static void print_import(const struct kiln_cache_request *request, const struct transfer *transfer)
{
    if (request->json) {
        json_t *document = kiln_json_object();
        kiln_json_set(document, "directory", kiln_cache_directory_json(request->store));
        kiln_json_set(document, "added", json_integer((json_int_t)transfer->added));
        kiln_json_set(document, "added_bytes", json_integer((json_int_t)transfer->added_bytes));
        kiln_json_set(document, "present", json_integer((json_int_t)transfer->repeated));
        kiln_json_set(document, "too_large", json_integer((json_int_t)transfer->too_large));
        kiln_json_set(document, "damaged", transfer->damaged);
        kiln_json_print(document);
        return;
    }
    kiln_cache_print_directory(request->store);
    kiln_cache_print_amount("added", transfer->added, "entry", "entries", transfer->added_bytes);
    if (transfer->repeated)
        printf("present    %llu\n", (unsigned long long)transfer->repeated);
    if (transfer->damaged_count)
        printf("damaged    %llu\n", (unsigned long long)transfer->damaged_count);
    if (transfer->too_large)
        printf("too large  %llu\n", (unsigned long long)transfer->too_large);
}

int kiln_cache_import(const struct kiln_cache_request *request, struct kiln_error *error)
{
    struct transfer transfer = {.store = request->store,
                                .damaged = request->json ? kiln_json_array() : NULL};
    int worst = KILN_EXIT_OK;
    kiln_interrupt_watch();
    for (int i = 0; i < request->operand_count && !kiln_interrupt_pending(); i++) {
        enum kiln_status status = read_place(&transfer, request->operands[i], import_entry, error);
        if (status == KILN_OK)
            continue;
        kiln_message_error("%s", error->text);
        kiln_error_init(error);
        int code = kiln_message_exit_code(status);
        worst = code > worst ? code : worst;
    }
    print_import(request, &transfer);
    uint64_t limit = kiln_cache_store_max_bytes(request->store);
    if (limit && transfer.added_bytes > limit) {
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        kiln_message_warning("the cache keeps at most %s of what was added\nhint: "
                             "KILN_CACHE_MAX_SIZE, or use the pack as a layer: KILN_CACHE_LAYERS",
                             kiln_text_bytes(bytes, limit));
    }
    kiln_progress_flush_results();
    kiln_interrupt_deliver();
    if (worst == KILN_EXIT_OK)
        worst = transfer.too_large ? KILN_EXIT_FAILED : exit_code(&transfer, KILN_OK);
    return worst;
}
