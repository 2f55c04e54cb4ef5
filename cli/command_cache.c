/*
 * kiln cache ACTION: the command line; cli/cache has the actions.
 */
#include "cache/cache_directory.h"
#include "cache/cache_settings.h"
#include "cache/cache_store.h"
#include "cli/cache/cache_action.h"
#include "cli/command_line.h"
#include "cli/message.h"
#include "compiler/codegen/target.h"
#include "runtime/support/suggest.h"

#include <stdio.h>
#include <string.h>

#define DAY_S ((uint64_t)86400)

enum {
    OPTION_TARGET = 1,
    OPTION_EXTRACT = 2,
    OPTION_MAX_SIZE = 4,
    OPTION_OLDER_THAN = 8,
};

enum needs {
    NEEDS_NOTHING,   /* no store at all */
    NEEDS_ENTRIES,   /* a directory or a layer */
    NEEDS_DIRECTORY, /* that it changes */
    /* Nothing when there are operands, else entries. */
    NEEDS_ENTRIES_WITHOUT_OPERANDS,
};

static const struct action {
    const char *name;
    const char *operands;
    int least; /* operands after the name */
    int most;
    enum needs needs;
    unsigned options;
    kiln_cache_action run;
} actions[] = {
    {"stats", "", 0, 0, NEEDS_ENTRIES, 0, kiln_cache_show_stats},
    {"ls", "", 0, 0, NEEDS_ENTRIES, OPTION_TARGET, kiln_cache_list},
    {"show", " KEY", 1, 1, NEEDS_ENTRIES, OPTION_EXTRACT, kiln_cache_show},
    {"verify", " [FILE...]", 0, KILN_OPERANDS_ANY, NEEDS_ENTRIES_WITHOUT_OPERANDS, 0,
     kiln_cache_verify},
    {"prune", "", 0, 0, NEEDS_DIRECTORY, OPTION_MAX_SIZE | OPTION_OLDER_THAN, kiln_cache_prune},
    {"clear", "", 0, 0, NEEDS_DIRECTORY, 0, kiln_cache_clear},
    {"export", " FILE [KEY...]", 1, KILN_OPERANDS_ANY, NEEDS_ENTRIES, OPTION_TARGET,
     kiln_cache_export},
    {"import", " FILE...", 1, KILN_OPERANDS_ANY, NEEDS_DIRECTORY, 0, kiln_cache_import},
    {"merge", " OUT IN...", 2, KILN_OPERANDS_ANY, NEEDS_NOTHING, 0, kiln_cache_merge},
};

enum { ACTION_COUNT = sizeof(actions) / sizeof(*actions) };

static int fail_unknown_action(struct kiln_command_line *line, const char *name)
{
    const char *names[ACTION_COUNT];
    char list[128] = "";
    for (size_t i = 0; i < ACTION_COUNT; i++) {
        names[i] = actions[i].name;
        size_t length = strlen(list);
        snprintf(list + length, sizeof(list) - length, "%s%s",
                 i == 0                  ? ""
                 : i + 1 == ACTION_COUNT ? " or "
                                         : ", ",
                 names[i]);
    }
    const char *near = kiln_word_suggest(name, names, ACTION_COUNT);
    char hint[160];
    if (near)
        snprintf(hint, sizeof(hint), "did you mean '%s'?", near);
    else
        snprintf(hint, sizeof(hint), "%s", list);
    return kiln_command_line_fail(line, hint, "unknown action '%s'", name);
}

static void read_max_size(struct kiln_command_line *line, uint64_t *ret_bytes)
{
    uint64_t bytes = 0;
    if (!kiln_cache_bytes_parse(line->value, &bytes))
        kiln_command_line_fail(line, "a number with or without K, M, G or T behind it",
                               "'%s' is no size", line->value);
    else if (bytes == 0)
        kiln_command_line_fail(line, "'kiln cache clear' removes everything",
                               "a cache of no bytes is none");
    else
        *ret_bytes = bytes;
}

static void read_target(struct kiln_command_line *line, const char **ret_target)
{
    static struct kiln_target target; /* its name outlives this */
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_target_parse(line->value, &target, &error) != KILN_OK)
        kiln_command_line_fail(line, NULL, "%s", error.text);
    else
        *ret_target = strchr(line->value, ':') ? target.name : line->value;
}

/* Returns which options were given. */
static unsigned read_options(struct kiln_command_line *line, struct kiln_cache_request *request,
                             const char **ret_directory)
{
    unsigned given = 0;
    uint64_t days = 0;
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END) {
        switch ((int)option) {
        case KILN_OPTION_CACHE_CACHE:
            *ret_directory = line->value;
            break;
        case KILN_OPTION_CACHE_JSON:
            request->json = true;
            break;
        case KILN_OPTION_CACHE_TARGET:
            given |= OPTION_TARGET;
            read_target(line, &request->target);
            break;
        case KILN_OPTION_CACHE_EXTRACT:
            given |= OPTION_EXTRACT;
            request->extract = line->value;
            break;
        case KILN_OPTION_CACHE_MAX_SIZE:
            given |= OPTION_MAX_SIZE;
            read_max_size(line, &request->max_bytes);
            break;
        case KILN_OPTION_CACHE_OLDER_THAN:
            given |= OPTION_OLDER_THAN;
            if (kiln_command_line_number(line, 1, 36500, &days))
                request->max_age_s = days * DAY_S;
            break;
        default:
            break;
        }
    }
    return given;
}

/* Whether action, operands and options fit each other; else it was reported. */
static bool check_usage(struct kiln_command_line *line, const struct action *action, unsigned given)
{
    static const struct {
        unsigned bit;
        enum kiln_option_id option;
    } options[] = {
        {OPTION_TARGET, KILN_OPTION_CACHE_TARGET},
        {OPTION_EXTRACT, KILN_OPTION_CACHE_EXTRACT},
        {OPTION_MAX_SIZE, KILN_OPTION_CACHE_MAX_SIZE},
        {OPTION_OLDER_THAN, KILN_OPTION_CACHE_OLDER_THAN},
    };
    char hint[128];
    snprintf(hint, sizeof(hint), "usage: kiln cache %s [OPTION...]%s", action->name,
             action->operands);
    int count = line->operand_count - 1;
    if (count < action->least) {
        kiln_command_line_fail(line, hint, "'%s' needs %s", action->name, action->operands + 1);
        return false;
    }
    if (count > action->most) {
        kiln_command_line_fail(line, hint, "unexpected argument '%s'",
                               line->operands[action->most + 1]);
        return false;
    }
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        if ((given & options[i].bit) != 0 && (action->options & options[i].bit) == 0) {
            kiln_command_line_fail(line, NULL, "option '--%s' is not for '%s'",
                                   kiln_option(options[i].option)->name, action->name);
            return false;
        }
    }
    return true;
}

static int run_action(const struct action *action, struct kiln_cache_request *request)
{
    struct kiln_error error;
    kiln_error_init(&error);
    int exit_code = action->run(request, &error);
    if (error.status != KILN_OK)
        kiln_message_error("%s", error.text);
    return exit_code;
}

static int run_with_store(const struct action *action, struct kiln_cache_request *request,
                          const char *directory)
{
    struct kiln_error error;
    kiln_error_init(&error);
    /* Nothing here talks to the shared tier: import hands nothing to it. */
    const struct kiln_cache_options options = {.directory = directory,
                                               .no_create = action->run != kiln_cache_import};
    enum kiln_status status = kiln_cache_store_open(&options, &request->store, &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        return KILN_EXIT_ENVIRONMENT;
    }
    int exit_code;
    bool has_directory = kiln_cache_store_directory(request->store) != NULL;
    bool has_layers = kiln_cache_store_layer_count(request->store) != 0;
    if (!has_directory && (action->needs == NEEDS_DIRECTORY || !has_layers)) {
        kiln_message_error("there is no cache directory\nhint: %s",
                           kiln_cache_is_disabled()
                               ? "HIPDNN_DISABLE_CACHE is set; name one with --cache"
                               : "name one with --cache or KILN_CACHE_DIR");
        exit_code = KILN_EXIT_ENVIRONMENT;
    } else {
        exit_code = run_action(action, request);
    }
    kiln_cache_store_close(request->store);
    return exit_code;
}

int kiln_command_cache(struct kiln_command_line *line)
{
    struct kiln_cache_request request = {.max_bytes = UINT64_MAX, .max_age_s = UINT64_MAX};
    const char *directory = NULL;
    unsigned given = read_options(line, &request, &directory);
    if (line->stopped)
        return line->exit_code;
    const struct action *action = NULL;
    for (size_t i = 0; i < ACTION_COUNT && !action; i++)
        if (strcmp(actions[i].name, line->operands[0]) == 0)
            action = &actions[i];
    if (!action)
        return fail_unknown_action(line, line->operands[0]);
    if (!check_usage(line, action, given))
        return line->exit_code;
    request.operand_count = line->operand_count - 1;
    request.operands = line->operands + 1;
    if (action->needs == NEEDS_NOTHING ||
        (action->needs == NEEDS_ENTRIES_WITHOUT_OPERANDS && request.operand_count != 0))
        return run_action(action, &request);
    return run_with_store(action, &request, directory);
}
