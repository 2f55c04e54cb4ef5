/*
 * kiln bench: fused against unfused, measured on a device.
 */
#include "cli/bench/bench_compare.h"
#include "cli/bench/bench_heat_map.h"
#include "cli/bench/bench_page.h"
#include "cli/bench/bench_run.h"
#include "cli/bench/bench_subjects.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/lower_choice.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"
#include "compiler/graph/graph_json.h"
#include "runtime/support/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    USUAL_SAMPLES = 30,
    MOST_SAMPLES = 100000,
    GPU_ELEMENTS = 1 << 26,       /* 8192 x 8192 */
    GPU_SHAPE_ELEMENTS = 1 << 24, /* of the many graphs of a sweep over shapes */
    GPU_MODEL_ELEMENTS = 1 << 24, /* 4096 tokens of Llama 3 8B */
    HOST_ELEMENTS = 1 << 22,
    HOST_MODEL_ELEMENTS = 1 << 15, /* a CPU takes seconds for products of more */
    LIMIT_SECONDS = 1,             /* of the samples of a graph, unless --samples is given */
};

struct settings {
    struct kiln_bench_settings run;
    const char *device;
    uint64_t elements; /* 0: by device */
    const char *plot_file;
    const char *graph_directory;
    const char *report_file;
    enum kiln_bench_sweep sweep;
    uint64_t seed; /* of a sweep over shapes */
    bool all;
    bool compare;
    bool list;
    bool json;
    bool csv;
};

static bool parse_sweep(struct kiln_command_line *line, struct settings *settings)
{
    for (int i = KILN_BENCH_SWEEP_NONE + 1; i < KILN_BENCH_SWEEP_COUNT; i++) {
        if (strcmp(line->value, kiln_bench_sweep_name((enum kiln_bench_sweep)i)) == 0) {
            settings->sweep = (enum kiln_bench_sweep)i;
            return true;
        }
    }
    kiln_command_line_fail(line, "it is sizes or shapes", "option '--sweep' does not know '%s'",
                           line->value);
    return false;
}

static bool parse(struct kiln_command_line *line, struct settings *settings)
{
    uint64_t samples = USUAL_SAMPLES;
    bool has_seed = false;
    settings->run.limit_s = LIMIT_SECONDS;
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END) {
        switch (option) {
        case KILN_OPTION_BENCH_DEVICE:
            settings->device = line->value;
            break;
        case KILN_OPTION_BENCH_ELEMENTS:
            if (!kiln_command_line_number(line, 1, (uint64_t)KILN_BENCH_MAX_ELEMENTS,
                                          &settings->elements))
                return false;
            break;
        case KILN_OPTION_BENCH_SWEEP:
            if (!parse_sweep(line, settings))
                return false;
            break;
        case KILN_OPTION_BENCH_SEED:
            if (!kiln_command_line_number(line, 0, INT64_MAX, &settings->seed))
                return false;
            has_seed = true;
            break;
        case KILN_OPTION_BENCH_SAMPLES:
            if (!kiln_command_line_number(line, 1, MOST_SAMPLES, &samples))
                return false;
            settings->run.limit_s = 0;
            break;
        case KILN_OPTION_BENCH_ALL:
            settings->all = true;
            break;
        case KILN_OPTION_BENCH_NO_UNFUSED:
            settings->run.no_unfused = true;
            break;
        case KILN_OPTION_BENCH_COMPARE:
            settings->compare = true;
            break;
        case KILN_OPTION_BENCH_LIST:
            settings->list = true;
            break;
        case KILN_OPTION_BENCH_SAVE_GRAPHS:
            settings->graph_directory = line->value;
            break;
        case KILN_OPTION_BENCH_PLOT:
            settings->plot_file = line->value;
            break;
        case KILN_OPTION_BENCH_REPORT:
            settings->report_file = line->value;
            break;
        case KILN_OPTION_BENCH_JSON:
            settings->json = true;
            break;
        case KILN_OPTION_BENCH_CSV:
            settings->csv = true;
            break;
        case KILN_OPTION_BENCH_SHAPES:
            settings->run.has_both_shapes = strcmp(line->value, "both") == 0;
            if (!settings->run.has_both_shapes)
                kiln_lower_choice_take(line, &settings->run.lower);
            if (!line->stopped && settings->run.lower.shapes == KILN_SHAPES_AUTO)
                kiln_command_line_fail(line, "it is constant, argument or both",
                                       "option '--shapes' does not know 'auto'");
            break;
        default:
            kiln_lower_choice_take(line, &settings->run.lower);
            break;
        }
    }
    settings->run.samples = (uint32_t)samples;
    settings->run.no_unfused |= settings->sweep == KILN_BENCH_SWEEP_SHAPES;
    const char *quiet = settings->list      ? "--list"
                        : settings->compare ? "--compare"
                                            : "--save-graphs";
    bool measures = !settings->list && !settings->graph_directory && !settings->compare;
    if (!line->stopped && settings->json && settings->csv)
        kiln_command_line_fail(line, "choose one of them",
                               "--json and --csv both want standard output");
    else if (!line->stopped && settings->plot_file && settings->report_file &&
             strcmp(settings->plot_file, settings->report_file) == 0)
        kiln_command_line_fail(line, "name two files", "--report and --plot both write '%s'",
                               settings->plot_file);
    else if (!line->stopped && !measures &&
             (settings->plot_file || settings->report_file || settings->csv))
        kiln_command_line_fail(line, "choose one of them", "%s measures nothing to show with %s",
                               quiet,
                               settings->csv           ? "--csv"
                               : settings->report_file ? "--report"
                                                       : "--plot");
    else if (!line->stopped && settings->compare &&
             (line->operand_count != 2 || settings->list || settings->graph_directory ||
              settings->all))
        kiln_command_line_fail(line, "as in 'kiln bench --compare A.json B.json'",
                               "--compare takes two files of results and nothing else");
    else if (!line->stopped && settings->list && (line->operand_count || settings->graph_directory))
        kiln_command_line_fail(line, "leave out the rest",
                               "--list shows the suite and nothing else");
    else if (!line->stopped && has_seed && settings->sweep != KILN_BENCH_SWEEP_SHAPES)
        kiln_command_line_fail(line, "add --sweep shapes",
                               "--seed is the seed of a sweep over shapes");
    return !line->stopped;
}

/* One row per case, with all its types. */
static void print_suite(bool json)
{
    struct kiln_table table;
    json_t *suite = kiln_json_array();
    json_t *models = kiln_json_array();
    kiln_table_init(&table, 3, 0);
    kiln_table_add(&table, "case");
    kiln_table_add(&table, "types");
    kiln_table_add(&table, "what it computes");
    for (unsigned i = 0; i < kiln_bench_case_count();) {
        const struct kiln_bench_case *first = kiln_bench_case_at(i);
        char types[64] = "";
        size_t used = 0;
        json_t *names = kiln_json_array();
        json_t *default_names = kiln_json_array();
        for (; i < kiln_bench_case_count() && strcmp(kiln_bench_case_at(i)->name, first->name) == 0;
             i++) {
            char name[KILN_BENCH_NAME_BYTES];
            kiln_bench_case_name(kiln_bench_case_at(i), name);
            kiln_json_append(names, kiln_json_text(name));
            bool is_default = kiln_bench_case_at(i)->is_default;
            if (is_default)
                kiln_json_append(default_names, kiln_json_text(name));
            int length = snprintf(types + used, sizeof(types) - used, "%s%s%s", used ? ", " : "",
                                  name + strlen(first->name) + 1, is_default ? "*" : "");
            if (length > 0 && used + (size_t)length < sizeof(types))
                used += (size_t)length;
        }
        json_t *object = kiln_json_object();
        kiln_json_set(object, "name", kiln_json_text(first->name));
        kiln_json_set(object, "summary", kiln_json_text(first->summary));
        kiln_json_set(object, "cases", names);
        kiln_json_set(object, "default_cases", default_names);
        kiln_json_append(first->layer ? models : suite, object);
        kiln_table_add(&table, "%s", first->name);
        kiln_table_add(&table, "%s", types);
        kiln_table_add(&table, "%s", first->summary);
    }
    if (json) {
        json_t *document = kiln_json_object();
        kiln_json_set(document, "suite", suite);
        kiln_json_set(document, "models", models);
        kiln_json_print(document);
    } else {
        kiln_table_print(&table);
        puts("\n* measured when no case is named");
        json_decref(suite);
        json_decref(models);
    }
    kiln_table_fini(&table);
}

/* A subject's file name: cases of a sweep have their size in it, names that are paths no slashes.
 */
static char *file_name_of(const struct settings *settings, const struct kiln_bench_subject *subject,
                          const struct kiln_graph *graph)
{
    size_t size = strlen(settings->graph_directory) + strlen(subject->name) + 64;
    char *path = kiln_cli_calloc(size, 1);
    int length = snprintf(path, size, "%s/", settings->graph_directory);
    char *name = path + length;
    if (subject->which && settings->sweep == KILN_BENCH_SWEEP_SIZES)
        (void)snprintf(name, size - (size_t)length, "%s_%llu.json", subject->name,
                       (unsigned long long)kiln_bench_largest_tensor(graph));
    else
        (void)snprintf(name, size - (size_t)length, "%s.json", subject->name);
    for (; *name; name++)
        if (*name == '/')
            *name = '_';
    return path;
}

static enum kiln_status save_graph(const struct settings *settings,
                                   const struct kiln_bench_subject *subject,
                                   const struct kiln_graph_input *input, struct kiln_error *error)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    char *path = file_name_of(settings, subject, &input->graph);
    enum kiln_status status =
        kiln_graph_json_from_bytes(input->bytes.data, input->bytes.size, &text, error);
    if (status == KILN_OK)
        status = kiln_file_write(path, text.data, text.size, KILN_FILE_FOLLOW, error);
    free(path);
    kiln_buffer_fini(&text);
    return status;
}

/* A graph of the run, and the one before it: small sizes of a sweep may give the same one twice. */
struct reading {
    struct kiln_graph_input input;
    struct kiln_graph_input previous;
    bool has_previous;
};

enum outcome { READ_OK, READ_FAILED, READ_SKIPPED };

static enum outcome read_subject(struct reading *reading, const struct kiln_bench_subject *subject,
                                 struct kiln_error *error)
{
    if (kiln_bench_subject_read(subject, &reading->input, error) != KILN_OK) {
        if (!subject->is_found || !kiln_graph_input_is_no_graph(error))
            return READ_FAILED;
        kiln_log(KILN_LOG_INFO, "skipped: %s", error->text);
        return READ_SKIPPED;
    }
    const struct kiln_buffer *bytes = &reading->input.bytes;
    const struct kiln_buffer *before = &reading->previous.bytes;
    bool is_same = !subject->path && reading->has_previous && bytes->size == before->size &&
                   memcmp(bytes->data, before->data, bytes->size) == 0;
    return is_same ? READ_SKIPPED : READ_OK;
}

static void keep_as_previous(struct reading *reading)
{
    if (reading->has_previous)
        kiln_graph_input_fini(&reading->previous);
    reading->previous = reading->input;
    reading->has_previous = true;
}

/* Directories were searched and nothing was in them. */
static int fail_without_graphs(void)
{
    kiln_message_error("there are no graphs to measure\nhint: graphs in directories are *.bin and "
                       "*.json");
    return KILN_EXIT_FAILED;
}

static int worse(int exit_code, enum kiln_status status)
{
    int other = kiln_message_exit_code(status);
    return other > exit_code ? other : exit_code;
}

/* Reads every subject and measures it with the run, or, without one, saves it. Goes on after a
 * failure; returns the exit code. */
static int for_each_subject(const struct settings *settings,
                            const struct kiln_bench_subjects *subjects, struct kiln_bench_run *run,
                            struct kiln_bench_results *results)
{
    int exit_code = KILN_EXIT_OK;
    size_t failed = 0;
    struct reading reading = {.has_previous = false};
    kiln_progress_start(run ? "measuring" : "saving", subjects->count);
    for (size_t i = 0; i < subjects->count && !kiln_interrupt_pending(); i++) {
        const struct kiln_bench_subject *subject = &subjects->subjects[i];
        struct kiln_error error;
        kiln_error_init(&error);
        kiln_progress_update(i, failed);
        enum outcome outcome = read_subject(&reading, subject, &error);
        if (outcome != READ_SKIPPED) {
            enum kiln_status status = outcome == READ_FAILED ? error.status : KILN_OK;
            struct kiln_bench_result result = {.name = kiln_cli_strdup(subject->name),
                                               .shape = subject->shape};
            if (status == KILN_OK) {
                status = run ? kiln_bench_run_graph(run, &reading.input, &result, &error)
                             : save_graph(settings, subject, &reading.input, &error);
                if (status)
                    kiln_error_prefix(&error, "graph '%s'", subject->name);
            }
            if (status && !kiln_interrupt_pending()) {
                result.failure = kiln_cli_strdup(error.text);
                /* The table lists failures by itself. */
                if (!run || settings->json || settings->csv)
                    kiln_message_error("%s", error.text);
                exit_code = worse(exit_code, status);
                failed++;
            }
            if (status && kiln_interrupt_pending())
                kiln_bench_result_fini(&result); /* half measured */
            else
                results->results[results->count++] = result;
        }
        keep_as_previous(&reading);
    }
    if (reading.has_previous)
        kiln_graph_input_fini(&reading.previous);
    kiln_progress_finish();
    if (results->count == 0 && !kiln_interrupt_pending())
        return fail_without_graphs();
    return exit_code;
}

static void print(const struct settings *settings, const struct kiln_bench_results *results)
{
    if (settings->json)
        kiln_json_print(kiln_bench_to_json(results));
    else if (settings->csv)
        kiln_bench_print_csv(results, stdout);
    else if (results->count != 0 && results->has_shapes)
        kiln_bench_print_heat_map(results);
    else if (results->count != 0)
        kiln_bench_print_table(results);
}

static enum kiln_status write_text(const char *path, const char *text, struct kiln_error *error)
{
    enum kiln_status status = kiln_file_write(path, text, strlen(text), KILN_FILE_FOLLOW, error);
    if (status != KILN_OK)
        kiln_error_prefix(error, "the results cannot be written to '%s'", path);
    return status;
}

static enum kiln_status write_report(const struct settings *settings,
                                     const struct kiln_bench_results *results,
                                     struct kiln_error *error)
{
    char *text = kiln_json_write(kiln_bench_to_json(results));
    enum kiln_status status = write_text(settings->report_file, text, error);
    free(text);
    return status;
}

/* Results are written before the graphs are read: over one of them they would destroy it. */
static bool would_overwrite(const char *path, const char *option,
                            const struct kiln_bench_subjects *subjects)
{
    for (size_t i = 0; path && i < subjects->count; i++) {
        const struct kiln_bench_subject *subject = &subjects->subjects[i];
        if (!subject->path || !kiln_graph_input_is_output(subject->path, subject->is_found, path))
            continue;
        kiln_message_error("the results would overwrite '%s', which is one of the graphs\n"
                           "hint: name another file with %s",
                           path, option);
        return true;
    }
    return false;
}

static int measure(const struct settings *settings, const struct kiln_bench_subjects *subjects,
                   struct kiln_device *device)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_bench_run run;
    struct kiln_bench_results results = {.results = NULL};
    int exit_code;
    if (would_overwrite(settings->plot_file, "--plot", subjects) ||
        would_overwrite(settings->report_file, "--report", subjects))
        return KILN_EXIT_USAGE;
    /* Better now than after all has been measured. */
    if ((settings->plot_file && write_text(settings->plot_file, "", &error) != KILN_OK) ||
        (settings->report_file && write_text(settings->report_file, "", &error) != KILN_OK)) {
        kiln_message_error("%s", error.text);
        return KILN_EXIT_ENVIRONMENT;
    }
    struct kiln_bench_origin origin;
    kiln_bench_origin_init(&origin, device);
    kiln_interrupt_watch();
    kiln_progress_start("preparing", 0);
    if (kiln_bench_run_init(&run, device, &settings->run, &error) != KILN_OK) {
        if (!kiln_interrupt_pending())
            kiln_message_error("%s", error.text);
        exit_code = KILN_EXIT_ENVIRONMENT;
    } else {
        results = (struct kiln_bench_results){
            .device = kiln_cli_strdup(device->ops->name),
            .target = kiln_cli_strdup(device->target.name),
            .origin = origin,
            .has_shapes = settings->sweep == KILN_BENCH_SWEEP_SHAPES,
            .seed = settings->seed,
            .results = kiln_cli_calloc(subjects->count, sizeof(*results.results)),
        };
        exit_code = for_each_subject(settings, subjects, &run, &results);
    }
    kiln_bench_run_fini(&run);
    /* What an hour has measured is shown also when it is interrupted then; a second interruption
     * ends that. */
    if (kiln_interrupt_pending() && results.count != 0) {
        print(settings, &results);
        kiln_progress_flush_results();
    }
    /* A slow reader must not keep the process: there is nothing left to tidy. */
    kiln_interrupt_unwatch();
    if (results.device != NULL) {
        print(settings, &results);
        if (settings->report_file && write_report(settings, &results, &error) != KILN_OK) {
            kiln_message_error("%s", error.text);
            exit_code = worse(exit_code, error.status);
        }
        if (settings->plot_file &&
            kiln_bench_page_write(&results, settings->plot_file, &error) != KILN_OK) {
            kiln_message_error("%s", error.text);
            exit_code = worse(exit_code, error.status);
        }
    }
    kiln_bench_results_fini(&results);
    return exit_code;
}

static void print_saved(const struct settings *settings, const struct kiln_bench_results *results)
{
    json_t *graphs = kiln_json_array();
    for (size_t i = 0; i < results->count; i++) {
        const struct kiln_bench_result *result = &results->results[i];
        json_t *graph = kiln_json_object();
        kiln_json_set(graph, "name", kiln_json_text(result->name));
        kiln_json_set(graph, "failure",
                      result->failure ? kiln_json_text(result->failure) : json_null());
        kiln_json_append(graphs, graph);
    }
    json_t *document = kiln_json_object();
    kiln_json_set(document, "directory", kiln_json_text(settings->graph_directory));
    kiln_json_set(document, "graphs", graphs);
    kiln_json_print(document);
}

static int save(const struct settings *settings, const struct kiln_bench_subjects *subjects)
{
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_directory_make(settings->graph_directory, 0777, &error);
    if (status) {
        kiln_message_error("%s", error.text);
        return KILN_EXIT_ENVIRONMENT;
    }
    struct kiln_bench_results results = {
        .results = kiln_cli_calloc(subjects->count, sizeof(*results.results))};
    int exit_code = for_each_subject(settings, subjects, NULL, &results);
    if (settings->json)
        print_saved(settings, &results);
    kiln_bench_results_fini(&results);
    return exit_code;
}

/* One line per graph, in their order. */
static void print_shapes(uint64_t seed, bool json)
{
    unsigned count;
    struct kiln_bench_shape *shapes = kiln_bench_shapes_make(seed, &count);
    json_t *names = kiln_json_array();
    for (unsigned i = 0; i < count; i++) {
        char name[KILN_BENCH_NAME_BYTES];
        kiln_bench_shape_name(&shapes[i], name);
        if (json)
            kiln_json_append(names, kiln_json_text(name));
        else
            puts(name);
    }
    free(shapes);
    json_t *document = kiln_json_object();
    kiln_json_set(document, "shapes", names);
    if (json)
        kiln_json_print(document);
    else
        json_decref(document);
}

/* Appends what the operands mean; the usage error when one means nothing. */
static int choose_subjects(struct kiln_command_line *line, bool is_all,
                           struct kiln_bench_subjects *subjects)
{
    if (line->operand_count == 0 || is_all)
        kiln_bench_subjects_add_cases(subjects, is_all);
    for (int i = 0; i < line->operand_count; i++) {
        struct kiln_error error;
        kiln_error_init(&error);
        enum kiln_status status = kiln_bench_subjects_add(subjects, line->operands[i], &error);
        if (status) {
            kiln_message_error("%s", error.text);
            return status == KILN_BAD_ARGUMENT ? KILN_EXIT_USAGE : kiln_message_exit_code(status);
        }
    }
    return KILN_EXIT_OK;
}

int kiln_command_bench(struct kiln_command_line *line)
{
    struct settings settings = {.device = kiln_device_default_names()};
    if (!parse(line, &settings))
        return line->exit_code;
    if (settings.list) {
        if (settings.sweep == KILN_BENCH_SWEEP_SHAPES)
            print_shapes(settings.seed, settings.json);
        else
            print_suite(settings.json);
        return KILN_EXIT_OK;
    }
    struct kiln_device *device = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    if (settings.compare) {
        if (kiln_bench_compare(line->operands[0], line->operands[1], settings.json, &error) ==
            KILN_OK)
            return KILN_EXIT_OK;
        kiln_message_error("%s", error.text);
        return kiln_message_exit_code(error.status);
    }
    /* Saving graphs of a given size needs no device. */
    if (!settings.graph_directory || settings.elements == 0) {
        enum kiln_status status = kiln_device_open(settings.device, &device, &error);
        if (status) {
            kiln_message_error("%s", error.text);
            return status == KILN_BAD_ARGUMENT ? KILN_EXIT_USAGE : KILN_EXIT_ENVIRONMENT;
        }
    }
    int64_t elements = (int64_t)settings.elements;
    int64_t model_elements = elements;
    if (elements == 0) {
        bool is_host = device->target.kind == KILN_TARGET_HOST;
        elements = is_host                                     ? HOST_ELEMENTS
                   : settings.sweep == KILN_BENCH_SWEEP_SHAPES ? GPU_SHAPE_ELEMENTS
                                                               : GPU_ELEMENTS;
        model_elements = is_host ? HOST_MODEL_ELEMENTS : GPU_MODEL_ELEMENTS;
    }
    struct kiln_bench_subjects subjects;
    kiln_bench_subjects_init(&subjects,
                             &(struct kiln_bench_subjects){.elements = elements,
                                                           .model_elements = model_elements,
                                                           .sweep = settings.sweep,
                                                           .seed = settings.seed});
    int exit_code = choose_subjects(line, settings.all, &subjects);
    if (exit_code == KILN_EXIT_OK)
        exit_code = settings.graph_directory ? save(&settings, &subjects)
                                             : measure(&settings, &subjects, device);
    kiln_bench_subjects_fini(&subjects);
    kiln_device_close(device);
    return exit_code;
}
