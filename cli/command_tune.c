/*
 * kiln tune: times the plans that graphs could have, and keeps the fastest.
 */
#include "cli/command_line.h"
#include "cli/graph_input.h"
#include "cli/message.h"
#include "cli/text.h"
#include "runtime/engine/engine.h"

#include <inttypes.h>
#include <stdio.h>

static bool parse(struct kiln_command_line *line, struct kiln_engine_options *options)
{
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END) {
        if (option == KILN_OPTION_TUNE_DEVICE)
            options->device = line->value;
        else
            options->cache_directory = line->value;
    }
    return !line->stopped;
}

/* One line for a graph; the exit code of the command if it is the worst one. */
static int tune_graph(struct kiln_engine *engine, const char *path)
{
    struct kiln_graph_input input;
    struct kiln_tuning_result result = {0};
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_graph_input_read(path, &input, &error);
    if (status == KILN_OK)
        status = kiln_engine_tune(engine, input.bytes.data, input.bytes.size, &result, &error);
    kiln_graph_input_fini(&input);
    if (status) {
        kiln_message_error("%s: %s", path, error.text);
        return kiln_message_exit_code(status);
    }
    if (result.candidates == 0)
        printf("%s: has no plans to choose from\n", path);
    else
        printf("%s: %" PRIu32 " plans, untuned %.2f us, tuned %.2f us (%s)\n", path,
               result.candidates, (double)result.untuned_ns / 1e3, (double)result.tuned_ns / 1e3,
               result.choice);
    (void)fflush(stdout);
    return KILN_EXIT_OK;
}

int kiln_command_tune(struct kiln_command_line *line)
{
    struct kiln_engine_options options = {.lower.shapes = KILN_SHAPES_AUTO};
    struct kiln_engine *engine = NULL;
    struct kiln_error error;
    int exit_code = KILN_EXIT_OK;
    kiln_error_init(&error);
    if (!parse(line, &options))
        return line->exit_code;
    if (!options.device)
        options.device = kiln_device_default_names();
    if (kiln_engine_create(&options, &engine, &error)) {
        kiln_message_error("%s", error.text);
        return kiln_message_exit_code(error.status);
    }
    for (int i = 0; i < line->operand_count; i++) {
        int code = tune_graph(engine, line->operands[i]);
        exit_code = code > exit_code ? code : exit_code;
    }
    kiln_engine_unref(engine);
    return exit_code;
}
