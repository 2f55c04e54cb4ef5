/*
 * kiln cache stats|verify|clear.
 */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cli/command_line.h"
#include "cli/message.h"
#include "cli/suggest.h"
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

struct settings {
    const char *cache_directory;
    bool json;
};

static json_t *stats_json(const struct kiln_cache_store *store,
                          const struct kiln_cache_stats *stats)
{
    json_t *document = kiln_json_object();
    const char *directory = kiln_cache_store_directory(store);
    kiln_json_set(document, "directory", kiln_json_text(directory));
    kiln_json_set(document, "entries", json_integer((json_int_t)stats->entries));
    kiln_json_set(document, "bytes", json_integer((json_int_t)stats->bytes));
    kiln_json_set(document, "temporary_files", json_integer((json_int_t)stats->temporary_files));
    return document;
}

static void print_directory(const struct kiln_cache_store *store)
{
    fputs("directory  ", stdout);
    kiln_text_write(stdout, kiln_cache_store_directory(store), false);
    putchar('\n');
}

static void print_stats(const struct kiln_cache_store *store, const struct kiln_cache_stats *stats)
{
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    print_directory(store);
    printf("entries    %llu\n", (unsigned long long)stats->entries);
    printf("size       %s\n", kiln_text_bytes(bytes, stats->bytes));
    if (stats->temporary_files) {
        printf("leftovers  %llu temporary files of writers that died\n",
               (unsigned long long)stats->temporary_files);
    }
}

static int show_stats(const struct settings *settings, struct kiln_cache_store *store,
                      struct kiln_error *error)
{
    struct kiln_cache_stats stats;
    enum kiln_status status = kiln_cache_store_stats(store, &stats, error);
    if (status != KILN_OK)
        return kiln_message_exit_code(status);
    if (settings->json)
        kiln_json_print(stats_json(store, &stats));
    else
        print_stats(store, &stats);
    return KILN_EXIT_OK;
}

/* Lists damaged entries as they are found. */
struct verification {
    json_t *damaged; /* NULL: print */
};

static void report_entry(void *context, const char *file, bool ok, const char *reason)
{
    struct verification *verification = context;
    if (ok)
        return;
    if (verification->damaged) {
        json_t *entry = kiln_json_object();
        kiln_json_set(entry, "file", kiln_json_text(file));
        kiln_json_set(entry, "reason", kiln_json_text(reason));
        kiln_json_append(verification->damaged, entry);
    } else {
        fputs("damaged    ", stdout);
        kiln_text_write(stdout, file, false);
        fputs(": ", stdout);
        kiln_text_write(stdout, reason, false);
        putchar('\n');
    }
}

static int verify(const struct settings *settings, struct kiln_cache_store *store,
                  struct kiln_error *error)
{
    struct verification verification = {settings->json ? kiln_json_array() : NULL};
    struct kiln_cache_stats stats;
    enum kiln_status status =
        kiln_cache_store_verify(store, report_entry, &verification, &stats, error);
    if (status != KILN_OK) {
        json_decref(verification.damaged);
        return kiln_message_exit_code(status);
    }
    if (settings->json) {
        json_t *document = stats_json(store, &stats);
        kiln_json_set(document, "damaged", verification.damaged);
        kiln_json_print(document);
    } else {
        print_stats(store, &stats);
        printf("damaged    %llu\n", (unsigned long long)stats.damaged);
    }
    return stats.damaged ? KILN_EXIT_FAILED : KILN_EXIT_OK;
}

static int clear(const struct settings *settings, struct kiln_cache_store *store,
                 struct kiln_error *error)
{
    uint64_t removed = 0;
    struct kiln_cache_stats before;
    struct kiln_cache_stats after;
    enum kiln_status status = kiln_cache_store_stats(store, &before, error);
    if (status == KILN_OK)
        status = kiln_cache_store_clear(store, &removed, error);
    if (status == KILN_OK)
        status = kiln_cache_store_stats(store, &after, error);
    if (status != KILN_OK)
        return kiln_message_exit_code(status);
    uint64_t freed = before.bytes > after.bytes ? before.bytes - after.bytes : 0;
    if (settings->json) {
        json_t *document = kiln_json_object();
        kiln_json_set(document, "directory", kiln_json_text(kiln_cache_store_directory(store)));
        kiln_json_set(document, "removed_files", json_integer((json_int_t)removed));
        kiln_json_set(document, "removed_bytes", json_integer((json_int_t)freed));
        kiln_json_print(document);
    } else {
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        print_directory(store);
        printf("removed    %llu %s, %s\n", (unsigned long long)removed,
               removed == 1 ? "file" : "files", kiln_text_bytes(bytes, freed));
    }
    return KILN_EXIT_OK;
}

static const struct {
    const char *name;
    int (*run)(
        const struct settings *settings, struct kiln_cache_store *store,
        struct kiln_error *error); /* exit code; a sentence in `error` is printed by the caller */
} actions[] = {{"stats", show_stats}, {"verify", verify}, {"clear", clear}};

enum { ACTION_COUNT = sizeof(actions) / sizeof(*actions) };

static int fail_unknown_action(struct kiln_command_line *line, const char *name)
{
    const char *names[ACTION_COUNT];
    for (size_t i = 0; i < ACTION_COUNT; i++)
        names[i] = actions[i].name;
    const char *near = kiln_word_suggest(name, names, ACTION_COUNT);
    char hint[64] = "stats, verify or clear";
    if (near)
        snprintf(hint, sizeof(hint), "did you mean '%s'?", near);
    return kiln_command_line_fail(line, hint, "unknown action '%s'", name);
}

int kiln_command_cache(struct kiln_command_line *line)
{
    struct settings settings = {0};
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END)
        if (option == KILN_OPTION_CACHE_CACHE)
            settings.cache_directory = line->value;
        else if (option == KILN_OPTION_CACHE_JSON)
            settings.json = true;
    if (line->stopped)
        return line->exit_code;
    size_t action = 0;
    while (action < ACTION_COUNT && strcmp(actions[action].name, line->operands[0]) != 0)
        action++;
    if (action == ACTION_COUNT)
        return fail_unknown_action(line, line->operands[0]);

    struct kiln_error error;
    kiln_error_init(&error);
    const struct kiln_cache_options options = {.directory = settings.cache_directory};
    struct kiln_cache_store *store;
    enum kiln_status status = kiln_cache_store_open(&options, &store, &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        return KILN_EXIT_ENVIRONMENT;
    }
    int exit_code;
    if (!kiln_cache_store_directory(store)) {
        kiln_message_error(
            "there is no cache directory\nhint: name one with --cache or KILN_CACHE_DIR");
        exit_code = KILN_EXIT_ENVIRONMENT;
    } else {
        exit_code = actions[action].run(&settings, store, &error);
        if (error.status != KILN_OK)
            kiln_message_error("%s", error.text);
    }
    kiln_cache_store_close(store);
    return exit_code;
}
