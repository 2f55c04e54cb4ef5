/*
 * kiln cache ACTION: the command line; cli/cache has the actions.
 */
#include "cache/cache_directory.h"
#include "cache/cache_settings.h"
#include "cache/cache_store.h"
#include "cli/cache/cache_action.h"
#include "cli/command_line.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/target_list.h"
#include "compiler/codegen/target.h"
#include "runtime/support/suggest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DAY_S ((uint64_t)86400)

enum needs {
    NEEDS_NOTHING,   /* no store at all */
    NEEDS_ENTRIES,   /* a directory or a layer */
    NEEDS_DIRECTORY, /* that it changes */
    /* Nothing when there are operands, else entries. */
    NEEDS_ENTRIES_WITHOUT_OPERANDS,
};

/* The columns of cache_actions.def that are not about the command line. */
static const struct action {
    enum needs needs;
    kiln_cache_action run;
} actions[] = {
#define KILN_CACHE_ACTION(name, operands, least, most, options, needs, run, text)                  \
    {NEEDS_##needs, kiln_cache_##run},
#include "cli/cache/cache_actions.def"
};

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
    if (strcasecmp(line->value, KILN_TARGET_LIST_ALL) == 0)
        *ret_target = NULL;
    else if (strchr(line->value, ','))
        kiln_command_line_fail(line, "ask for one after the other",
                               "--target takes one target, not the list '%s'", line->value);
    else if (kiln_target_parse(line->value, &target, &error) != KILN_OK)
        kiln_command_line_fail(line, NULL, "%s", error.text);
    else /* "host" is the host of any level */
        *ret_target =
            strcasecmp(line->value, target.processor) == 0 ? target.processor : target.name;
}

struct given_options {
    bool is_given[KILN_OPTION_COUNT];
};

static void read_options(struct kiln_command_line *line, struct kiln_cache_request *request,
                         const char **ret_directory, struct given_options *given)
{
    uint64_t days = 0;
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END) {
        given->is_given[option] = true;
        switch ((int)option) {
        case KILN_OPTION_CACHE_CACHE:
            *ret_directory = line->value;
            break;
        case KILN_OPTION_CACHE_JSON:
            request->json = true;
            break;
        case KILN_OPTION_CACHE_TARGET:
            read_target(line, &request->target);
            break;
        case KILN_OPTION_CACHE_EXTRACT:
            request->extract = line->value;
            break;
        case KILN_OPTION_CACHE_MAX_SIZE:
            read_max_size(line, &request->max_bytes);
            break;
        case KILN_OPTION_CACHE_STALE:
            request->stale = true;
            break;
        case KILN_OPTION_CACHE_DRY_RUN:
            request->is_dry = true;
            break;
        case KILN_OPTION_CACHE_OLDER_THAN:
            if (kiln_command_line_number(line, 1, 36500, &days))
                request->max_age_s = days * DAY_S;
            break;
        default:
            break;
        }
    }
}

/* True when action, operands and options fit each other; otherwise it was reported. */
static bool check_usage(struct kiln_command_line *line, const struct kiln_cache_action_row *action,
                        const struct given_options *given)
{
    char hint[128];
    snprintf(hint, sizeof(hint), "usage: kiln cache %s [OPTION...]%s%s", action->name,
             *action->operands ? " " : "", action->operands);
    int count = line->operand_count - 1;
    if (count < action->least) {
        kiln_command_line_fail(line, hint, "'%s' needs %s", action->name, action->operands);
        return false;
    }
    if (count > action->most) {
        kiln_command_line_fail(line, hint, "unexpected argument '%s'",
                               line->operands[action->most + 1]);
        return false;
    }
    for (unsigned i = 0; i < KILN_OPTION_COUNT; i++) {
        enum kiln_option_id option = (enum kiln_option_id)i;
        if (given->is_given[i] && !kiln_option_applies(option, KILN_COMMAND_CACHE, action)) {
            kiln_command_line_fail(line, NULL, "option '--%s' is not for '%s'",
                                   kiln_option(option)->name, action->name);
            return false;
        }
    }
    if (given->is_given[KILN_OPTION_CACHE_DRY_RUN] && !given->is_given[KILN_OPTION_CACHE_STALE]) {
        kiln_command_line_fail(line, NULL, "option '--dry-run' is for '--stale'");
        return false;
    }
    return true;
}

static int run_action(const struct action *action, struct kiln_cache_request *request)
{
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_progress_start("working on the cache", 0);
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
    /* Only `why` asks the shared tier; import hands nothing to it. */
    const struct kiln_cache_options options = {.directory = directory,
                                               .no_create = action->run != kiln_cache_import};
    enum kiln_status status = kiln_cache_store_open(&options, &request->store, &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        return kiln_message_exit_code(status);
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
    struct given_options given = {.is_given = {false}};
    const char *directory = NULL;
    read_options(line, &request, &directory, &given);
    if (line->stopped)
        return line->exit_code;
    const struct kiln_cache_action_row *row = kiln_cache_action_find(line->operands[0]);
    if (!row) {
        char hint[KILN_WORD_HINT_BYTES];
        kiln_cache_action_hint(hint, line->operands[0]);
        return kiln_command_line_fail(line, hint, "unknown action '%s'", line->operands[0]);
    }
    if (!check_usage(line, row, &given))
        return line->exit_code;
    request.operand_count = line->operand_count - 1;
    request.operands = line->operands + 1;
    const struct action *action = &actions[row - kiln_cache_action_row(0)];
    if (action->run == kiln_cache_why && given.is_given[KILN_OPTION_CACHE_TARGET] &&
        !request.target)
        return kiln_command_line_fail(line, NULL, "'why' takes one target, not '%s'",
                                      KILN_TARGET_LIST_ALL);
    if (action->needs == NEEDS_NOTHING ||
        (action->needs == NEEDS_ENTRIES_WITHOUT_OPERANDS && request.operand_count != 0))
        return run_action(action, &request);
    return run_with_store(action, &request, directory);
}
