/*
 * kiln cache ls, and finding an entry by the first digits of its name.
 */
#include "cli/cache/cache_action.h"
#include "cli/cache/entry_description.h"
#include "cli/command_line.h"
#include "cli/message.h"
#include "cli/table.h"
#include "runtime/engine/stale_entry.h"
#include "runtime/support/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SHORT_HEX = 12,
    MOST_MATCHES = 8, /* named in an error */
    AGE_BYTES = 32,
};

struct row {
    char hex[KILN_CACHE_HASH_HEX + 1];
    uint64_t bytes;
    int64_t last_use_s;
    int source;
    char *target;   /* owned; NULL: not known */
    char *build;    /* owned; of Kiln, that made it; NULL: not known */
    char *compiler; /* owned; its identity, the same */
    bool is_stale;  /* this build can never use it */
    char *summary;  /* owned; or why it is not known */
    char *damage;   /* owned; NULL: it is whole */
    enum kiln_entry_kind kind;
    /* Of a program: its kernels' names, owned, and how many of these are in no listed place. */
    char (*kernel_names)[KILN_CACHE_HASH_HEX + 1];
    uint32_t kernels;
    uint32_t missing;
    uint64_t code_bytes; /* its own, or that of its kernels */
};

struct listing {
    const char *target;
    int source;
    struct row *rows; /* owned */
    size_t count;
    size_t capacity;
};

static struct row *add_row(struct listing *listing)
{
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? listing->capacity * 2 : 64;
        struct row *rows = kiln_cli_calloc(capacity, sizeof *rows);
        if (listing->count)
            memcpy(rows, listing->rows, listing->count * sizeof *rows);
        free(listing->rows);
        listing->rows = rows;
        listing->capacity = capacity;
    }
    return &listing->rows[listing->count++];
}

static void free_rows(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        free(listing->rows[i].target);
        free(listing->rows[i].build);
        free(listing->rows[i].compiler);
        free(listing->rows[i].summary);
        free(listing->rows[i].damage);
        free(listing->rows[i].kernel_names);
    }
    free(listing->rows);
}

static void describe(const struct kiln_entry_description *description, struct row *row)
{
    struct kiln_buffer summary;
    kiln_buffer_init(&summary);
    row->kind = description->kind;
    if (description->target)
        row->target = kiln_cli_strdup(description->target);
    if (description->build && *description->build)
        row->build = kiln_cli_strdup(description->build);
    if (description->compiler && *description->compiler)
        row->compiler = kiln_cli_strdup(description->compiler);
    kiln_entry_summary(description, &summary);
    row->summary =
        kiln_cli_strdup(description->kind != KILN_ENTRY_UNKNOWN ? kiln_buffer_text(&summary)
                                                                : description->reason.text);
    if (description->program) {
        const struct kiln_compiled_program *program = &description->program->program;
        row->kernels = program->kernel_count;
        row->kernel_names = kiln_cli_calloc(program->kernel_count, sizeof *row->kernel_names);
        for (uint32_t i = 0; i < program->kernel_count; i++)
            kiln_entry_kernel_hex(&program->kernels[i], row->kernel_names[i]);
    }
    if (description->kernel)
        row->code_bytes = description->kernel->object.size;
    kiln_buffer_fini(&summary);
}

/* A damaged entry tells no target: it is listed for all of them. */
static enum kiln_status list_entry(void *context, const struct kiln_cache_visited *entry,
                                   struct kiln_error *error)
{
    struct listing *listing = context;
    struct kiln_entry_description description;
    if (entry->is_directory) {
        kiln_message_warning("a part of the cache is left out: %s", entry->reason);
        return KILN_OK;
    }
    bool whole = entry->status == KILN_OK;
    if (whole)
        kiln_entry_describe(&entry->view, true, &description);
    if (!whole || !listing->target || kiln_entry_is_for(&description, listing->target)) {
        struct row *row = add_row(listing);
        memcpy(row->hex, entry->hex, sizeof row->hex);
        row->bytes = entry->bytes;
        row->last_use_s = entry->last_use_s;
        row->source = listing->source;
        if (whole) {
            const char *reason = NULL;
            describe(&description, row);
            if (kiln_entry_judge_stale(&entry->view, &reason, error) == KILN_OK)
                row->is_stale = reason != NULL;
        } else
            row->damage = kiln_cli_strdup(entry->reason);
    }
    if (whole)
        kiln_entry_description_fini(&description);
    return KILN_OK;
}

/* By name: for looking kernels up. */
static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->hex, ((const struct row *)b)->hex);
}

/* The bytes of code of the kernel with this name; 0 if no entry has it. Several compilers may have
 * made one, and not every entry is whole or has code. */
static uint64_t kernel_code_bytes(const struct listing *listing,
                                  const char name[KILN_CACHE_HASH_HEX + 1])
{
    struct row sought;
    memcpy(sought.hex, name, sizeof sought.hex);
    const struct row *row =
        bsearch(&sought, listing->rows, listing->count, sizeof *listing->rows, compare_names);
    const struct row *end = listing->rows + listing->count;
    while (row && row > listing->rows && compare_names(row - 1, &sought) == 0)
        row--;
    for (; row && row < end && compare_names(row, &sought) == 0; row++)
        if (row->kind == KILN_ENTRY_KERNEL && row->code_bytes)
            return row->code_bytes;
    return 0;
}

/* Sums up what the programs' kernels are, of those that are listed. */
static void add_up_kernels(struct listing *listing)
{
    if (listing->count)
        qsort(listing->rows, listing->count, sizeof *listing->rows, compare_names);
    for (size_t i = 0; i < listing->count; i++) {
        struct row *row = &listing->rows[i];
        for (uint32_t j = 0; row->kernel_names && j < row->kernels; j++) {
            uint64_t bytes = kernel_code_bytes(listing, row->kernel_names[j]);
            row->code_bytes += bytes;
            row->missing += bytes == 0;
        }
    }
}

/* Kernels behind all else; last used first; what has no time last. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *row_a = a;
    const struct row *row_b = b;
    bool is_kernel = row_a->kind == KILN_ENTRY_KERNEL;
    if (is_kernel != (row_b->kind == KILN_ENTRY_KERNEL))
        return is_kernel ? 1 : -1;
    if (row_a->last_use_s != row_b->last_use_s)
        return row_a->last_use_s > row_b->last_use_s ? -1 : 1;
    int order = strcmp(row_a->hex, row_b->hex);
    return order ? order : row_a->source - row_b->source;
}

static const char *age_text(char buffer[AGE_BYTES], int64_t last_use_s, int64_t now_s)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
    int64_t age = now_s - last_use_s;
    if (!last_use_s)
        return "-";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (age >= 2 * units[i].seconds) {
            (void)snprintf(buffer, AGE_BYTES, "%" PRId64 " %s", age / units[i].seconds,
                           units[i].name);
            return buffer;
        }
    }
    (void)snprintf(buffer, AGE_BYTES, "%" PRId64 " s", age > 0 ? age : 0);
    return buffer;
}

/* The commit alone, where there is one: versions are alike for weeks. */
static const char *short_build(const char *build)
{
    if (!build)
        return "-";
    if (strcmp(build, kiln_version.text) == 0)
        return "this";
    const char *commit = strchr(build, '+');
    return commit && commit[1] ? commit + 1 : build;
}

static void add_table_row(struct kiln_table *table, const struct row *row, int64_t now_s)
{
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    char age[AGE_BYTES];
    kiln_table_add(table, "%.*s", SHORT_HEX, row->hex);
    kiln_table_add(table, "%s", kiln_text_bytes(bytes, row->bytes));
    kiln_table_add(table, "%s", age_text(age, row->last_use_s, now_s));
    if (row->source == KILN_CACHE_SOURCE_DIRECTORY)
        kiln_table_add(table, "local");
    else
        kiln_table_add(table, "layer %d", row->source + 1);
    kiln_table_add(table, "%s", row->target ? row->target : "-");
    kiln_table_add(table, "%s%s", short_build(row->build), row->is_stale ? "*" : "");
    if (row->kernels)
        kiln_table_add(table, "%" PRIu32, row->kernels);
    else
        kiln_table_add(table, "-");
    if (row->damage)
        kiln_table_add(table, "damaged: %s", row->damage);
    else if (row->missing)
        kiln_table_add(table, "%s (%" PRIu32 " to compile)", row->summary, row->missing);
    else
        kiln_table_add(table, "%s", row->summary);
}

static void print_table(const struct kiln_cache_store *store, const struct listing *listing,
                        int64_t now_s)
{
    struct kiln_table table;
    static const char *const headings[] = {"KEY",    "SIZE",  "USED",    "WHERE",
                                           "TARGET", "BUILD", "KERNELS", "GRAPH OR KERNEL"};
    kiln_table_init(&table, sizeof headings / sizeof *headings, 1 << 1 | 1 << 2 | 1 << 6);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        kiln_table_add(&table, "%s", headings[i]);
    for (size_t i = 0; i < listing->count; i++)
        add_table_row(&table, &listing->rows[i], now_s);
    kiln_table_print(&table);
    kiln_table_fini(&table);
    for (size_t i = 0; i < kiln_cache_store_layer_count(store); i++) {
        printf("%slayer %zu: ", i ? "" : "\n", i + 1);
        kiln_text_write(stdout, kiln_cache_store_layer(store, i).path, false);
        putchar('\n');
    }
}

static json_t *text_or_null(const char *text)
{
    return text ? kiln_json_text(text) : json_null();
}

static json_t *row_json(const struct kiln_cache_store *store, const struct row *row, int64_t now_s)
{
    json_t *object = kiln_json_object();
    bool local = row->source == KILN_CACHE_SOURCE_DIRECTORY;
    kiln_json_set(object, "key", kiln_json_text(row->hex));
    kiln_json_set(object, "bytes", json_integer((json_int_t)row->bytes));
    kiln_json_set(object, "last_use",
                  row->last_use_s ? json_integer((json_int_t)row->last_use_s) : json_null());
    kiln_json_set(object, "age_seconds",
                  row->last_use_s ? json_integer((json_int_t)(now_s - row->last_use_s))
                                  : json_null());
    kiln_json_set(object, "layer",
                  local ? json_null()
                        : kiln_json_text(kiln_cache_store_layer(store, (size_t)row->source).path));
    bool is_program = row->kind == KILN_ENTRY_PROGRAM;
    bool is_kernel = row->kind == KILN_ENTRY_KERNEL;
    kiln_json_set(object, "kind",
                  is_program                       ? json_string("program")
                  : is_kernel                      ? json_string("kernel")
                  : row->kind == KILN_ENTRY_CHOICE ? json_string("tuned")
                                                   : json_null());
    kiln_json_set(object, "target", text_or_null(row->target));
    kiln_json_set(object, "build", text_or_null(row->build));
    kiln_json_set(object, "compiler", text_or_null(row->compiler));
    kiln_json_set(object, "stale", row->damage ? json_null() : json_boolean(row->is_stale));
    kiln_json_set(object, "graph", is_program ? kiln_json_text(row->summary) : json_null());
    kiln_json_set(object, "kernel", is_kernel ? kiln_json_text(row->summary) : json_null());
    kiln_json_set(object, "kernels", row->kernels ? json_integer(row->kernels) : json_null());
    kiln_json_set(object, "missing_kernels",
                  row->kernels ? json_integer(row->missing) : json_null());
    kiln_json_set(object, "code_bytes",
                  row->kernels || is_kernel ? json_integer((json_int_t)row->code_bytes)
                                            : json_null());
    kiln_json_set(object, "damage", text_or_null(row->damage));
    return object;
}

static void print_json(const struct kiln_cache_store *store, const struct listing *listing,
                       int64_t now_s)
{
    json_t *document = kiln_json_object();
    json_t *entries = kiln_json_array();
    kiln_json_set(document, "directory", kiln_cache_directory_json(store));
    for (size_t i = 0; i < listing->count; i++)
        kiln_json_append(entries, row_json(store, &listing->rows[i], now_s));
    kiln_json_set(document, "entries", entries);
    kiln_json_print(document);
}

int kiln_cache_list(const struct kiln_cache_request *request, struct kiln_error *error)
{
    struct listing listing = {.target = request->target};
    enum kiln_status status = KILN_OK;
    int layers = (int)kiln_cache_store_layer_count(request->store);
    for (int source = KILN_CACHE_SOURCE_DIRECTORY; source < layers && status == KILN_OK; source++) {
        listing.source = source;
        status = kiln_cache_store_visit(request->store, source, list_entry, &listing, error);
    }
    if (status == KILN_OK) {
        add_up_kernels(&listing);
        if (listing.count)
            qsort(listing.rows, listing.count, sizeof *listing.rows, compare_rows);
        if (request->json)
            print_json(request->store, &listing, (int64_t)time(NULL));
        else
            print_table(request->store, &listing, (int64_t)time(NULL));
    }
    free_rows(&listing);
    return kiln_message_exit_code(status);
}

struct search {
    char prefix[KILN_CACHE_HASH_HEX + 1];
    size_t digits;
    char matches[MOST_MATCHES][KILN_CACHE_HASH_HEX + 1];
    size_t count; /* of different ones; may exceed what is kept */
};

static enum kiln_status match_item(void *context, const struct kiln_cache_item *item,
                                   struct kiln_error *error)
{
    (void)error;
    struct search *search = context;
    if (strncmp(item->hex, search->prefix, search->digits) != 0)
        return KILN_OK;
    size_t kept = search->count < MOST_MATCHES ? search->count : MOST_MATCHES;
    for (size_t i = 0; i < kept; i++)
        if (strcmp(search->matches[i], item->hex) == 0)
            return KILN_OK;
    if (search->count < MOST_MATCHES)
        memcpy(search->matches[search->count], item->hex, sizeof search->matches[0]);
    search->count++;
    return KILN_OK;
}

static enum kiln_status fail_ambiguous(const struct search *search, struct kiln_error *error)
{
    struct kiln_buffer names;
    kiln_buffer_init(&names);
    size_t kept = search->count < MOST_MATCHES ? search->count : MOST_MATCHES;
    for (size_t i = 0; i < kept; i++)
        kiln_buffer_printf(&names, "%s'%s'", i ? ", " : "", search->matches[i]);
    if (kept < search->count)
        kiln_buffer_append_text(&names, " and others");
    enum kiln_status status =
        kiln_error_set(error, KILN_BAD_ARGUMENT, "several cache entries start with '%s': %s",
                       search->prefix, kiln_buffer_text(&names));
    kiln_buffer_fini(&names);
    return status;
}

enum kiln_status kiln_cache_resolve(struct kiln_cache_store *store, const char *prefix,
                                    char ret_hex[KILN_CACHE_HASH_HEX + 1], struct kiln_error *error)
{
    struct search search = {.digits = strspn(prefix, "0123456789abcdefABCDEF")};
    if (search.digits == 0 || search.digits > KILN_CACHE_HASH_HEX || prefix[search.digits])
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "'%.64s' is not the start of a cache entry's name\nhint: 1 to %d hex "
                              "digits, as 'kiln cache ls' shows them",
                              prefix, KILN_CACHE_HASH_HEX);
    for (size_t i = 0; i < search.digits; i++)
        search.prefix[i] = (char)(prefix[i] | 0x20); /* lower case; digits stay */
    enum kiln_status status = kiln_cache_store_list(store, match_item, &search, error);
    if (status != KILN_OK)
        return status;
    if (search.count > 1)
        return fail_ambiguous(&search, error);
    if (search.count == 0)
        return kiln_error_set(error, KILN_NOT_FOUND, "no cache entry starts with '%s'",
                              search.prefix);
    memcpy(ret_hex, search.matches[0], sizeof search.matches[0]);
    return KILN_OK;
}
