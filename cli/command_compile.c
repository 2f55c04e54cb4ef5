/*
 * kiln compile: graphs into the cache.
 */
#include "cli/command_line.h"
#include "cli/compile_jobs.h"
#include "cli/message.h"
#include "cli/program_origin.h"
#include "cli/text.h"
#include "compiler/graph/graph_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More results than this are not listed one by one on a terminal. */
enum { TERMINAL_LINES = 20 };

struct report {
    /* how to print */
    bool json;
    bool quiet;
    bool failures_only;
    int path_columns;
    int target_columns;
    json_t *results;
    const struct kiln_target_list *targets;
    char **told; /* per target: what is wrong with this machine, said once */
    /* what happened */
    size_t done[3]; /* by enum kiln_program_origin */
    size_t declined;
    size_t unreadable;
    size_t skipped;
    size_t broken;
    uint64_t kernels;
    uint64_t code_bytes;
    int exit_code;
};

static const char *outcome_text(const struct kiln_compile_result *result)
{
    switch (result->outcome) {
    case KILN_COMPILE_DONE:
        return kiln_program_origin_text(result->origin);
    case KILN_COMPILE_DECLINED:
        return "declined";
    case KILN_COMPILE_UNREADABLE:
        return "unreadable";
    case KILN_COMPILE_SKIPPED:
        return "skipped";
    default:
        return "failed";
    }
}

static void count_result(struct report *report, const struct kiln_compile_result *result)
{
    int exit_code = KILN_EXIT_OK;
    switch (result->outcome) {
    case KILN_COMPILE_DONE:
        report->done[result->origin]++;
        report->kernels += result->kernels;
        report->code_bytes += result->code_bytes;
        break;
    case KILN_COMPILE_SKIPPED:
        report->skipped++;
        break;
    case KILN_COMPILE_DECLINED:
        report->declined++;
        exit_code = KILN_EXIT_FAILED;
        break;
    case KILN_COMPILE_UNREADABLE:
        report->unreadable++;
        exit_code = KILN_EXIT_FAILED;
        break;
    default:
        report->broken++;
        exit_code = kiln_message_exit_code(result->status);
        break;
    }
    report->exit_code = exit_code > report->exit_code ? exit_code : report->exit_code;
}

static void append_json(struct report *report, const struct kiln_compile_result *result)
{
    json_t *object = kiln_json_object();
    kiln_json_set(object, "graph", kiln_json_text(result->path));
    kiln_json_set(object, "target",
                  result->target ? kiln_json_text(result->target->name) : json_null());
    kiln_json_set(object, "outcome", json_string(outcome_text(result)));
    if (result->outcome == KILN_COMPILE_DONE) {
        kiln_json_set(object, "kernels", json_integer(result->kernels));
        kiln_json_set(object, "code_bytes", json_integer((json_int_t)result->code_bytes));
    } else {
        kiln_json_set(object, "status", json_string(kiln_status_name(result->status)));
        kiln_json_set(object, "reason",
                      result->status == KILN_REJECTED
                          ? json_string(kiln_reject_name(result->reject_reason))
                          : json_null());
        kiln_json_set(object, "message", kiln_json_text(result->sentence));
    }
    kiln_json_set(object, "duration_ns", json_integer((json_int_t)result->duration_ns));
    kiln_json_append(report->results, object);
}

static void print_line(const struct report *report, const struct kiln_compile_result *result)
{
    char *path = kiln_text_escape(result->path);
    const char *target = result->target ? result->target->name : "all";
    printf("%s%*s  %-*s  ", path, report->path_columns - kiln_text_columns(path), "",
           report->target_columns, target);
    free(path);
    if (result->outcome == KILN_COMPILE_DONE) {
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        char duration[KILN_TEXT_AMOUNT_BYTES];
        printf("%-10s  %2u %-7s  %10s  %9s\n", outcome_text(result), (unsigned)result->kernels,
               result->kernels == 1 ? "kernel" : "kernels",
               kiln_text_bytes(bytes, result->code_bytes),
               kiln_text_duration(duration, result->duration_ns));
    } else if (result->status == KILN_REJECTED) {
        printf("%-10s  %s\n", outcome_text(result), kiln_reject_name(result->reject_reason));
    } else {
        printf("%-10s  %s\n", outcome_text(result), kiln_status_name(result->status));
    }
}

/* A machine without a compiler fails every graph in the same words: once is enough. */
static bool was_told(struct report *report, const struct kiln_compile_result *result)
{
    if (result->status != KILN_UNSUPPORTED || !result->target)
        return false;
    char **told = &report->told[result->target - report->targets->targets];
    if (*told && strcmp(*told, result->sentence) == 0)
        return true;
    free(*told);
    *told = kiln_cli_strdup(result->sentence);
    return false;
}

static void tell_failure(struct report *report, const struct kiln_compile_result *result)
{
    if (was_told(report, result))
        return;
    if (result->target)
        kiln_message_error("'%s' for %s: %s", result->path, result->target->name, result->sentence);
    else
        kiln_message_error("%s", result->sentence);
}

static bool report_result(void *context, const struct kiln_compile_result *result)
{
    struct report *report = context;
    count_result(report, result);
    if (result->outcome == KILN_COMPILE_SKIPPED) {
        kiln_log(KILN_LOG_INFO, "skipped: %s", result->sentence);
        return true;
    }
    bool failed = result->outcome != KILN_COMPILE_DONE;
    if (report->json) {
        append_json(report, result);
    } else if (failed || !(report->quiet || report->failures_only)) {
        kiln_progress_wipe();
        print_line(report, result);
        fflush(stdout);
    }
    if (failed)
        tell_failure(report, result);
    return !ferror(stdout); /* nobody reads: main says so */
}

static void report_progress(void *context, size_t done, size_t failed)
{
    (void)context;
    kiln_progress_update(done, failed);
}

static void print_summary(const struct report *report, size_t targets, uint64_t duration_ns,
                          const struct kiln_codegen_counters *counters)
{
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    char duration[KILN_TEXT_AMOUNT_BYTES];
    printf("%zu compiled, %zu from disk, %zu from memory", report->done[KILN_ORIGIN_COMPILED],
           report->done[KILN_ORIGIN_DISK], report->done[KILN_ORIGIN_MEMORY]);
    if (report->declined)
        printf(", %zu declined", report->declined);
    if (report->unreadable)
        printf(", %zu unreadable", report->unreadable);
    if (report->broken)
        printf(", %zu failed", report->broken);
    printf("; %zu %s, %llu kernels, %s, %s%s\n", targets, targets == 1 ? "target" : "targets",
           (unsigned long long)report->kernels, kiln_text_bytes(bytes, report->code_bytes),
           kiln_text_duration(duration, duration_ns),
           counters->kernels_compiled + counters->workers_started ? "" : ", no compiler started");
    if (report->skipped)
        printf("%zu files in directories are no graphs\n", report->skipped);
}

static void print_json(struct report *report, uint64_t duration_ns,
                       const struct kiln_codegen_counters *counters)
{
    json_t *summary = kiln_json_object();
    kiln_json_set(summary, "compiled",
                  json_integer((json_int_t)report->done[KILN_ORIGIN_COMPILED]));
    kiln_json_set(summary, "disk", json_integer((json_int_t)report->done[KILN_ORIGIN_DISK]));
    kiln_json_set(summary, "memory", json_integer((json_int_t)report->done[KILN_ORIGIN_MEMORY]));
    kiln_json_set(summary, "declined", json_integer((json_int_t)report->declined));
    kiln_json_set(summary, "unreadable", json_integer((json_int_t)report->unreadable));
    kiln_json_set(summary, "failed", json_integer((json_int_t)report->broken));
    kiln_json_set(summary, "skipped_files", json_integer((json_int_t)report->skipped));
    kiln_json_set(summary, "kernels", json_integer((json_int_t)report->kernels));
    kiln_json_set(summary, "code_bytes", json_integer((json_int_t)report->code_bytes));
    kiln_json_set(summary, "compile_workers_started",
                  json_integer((json_int_t)counters->workers_started));
    kiln_json_set(summary, "duration_ns", json_integer((json_int_t)duration_ns));
    json_t *document = kiln_json_object();
    kiln_json_set(document, "results", report->results);
    kiln_json_set(document, "summary", summary);
    kiln_json_print(document);
}

static unsigned default_jobs(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 256 ? 256 : (unsigned)cores;
}

static void measure_columns(struct report *report, const struct kiln_graph_files *files,
                            const struct kiln_target_list *targets)
{
    for (size_t i = 0; i < files->count; i++) {
        char *path = kiln_text_escape(files->files[i].path);
        int columns = kiln_text_columns(path);
        report->path_columns = columns > report->path_columns ? columns : report->path_columns;
        free(path);
    }
    for (size_t i = 0; i < targets->count; i++) {
        int columns = (int)strlen(targets->targets[i].name);
        report->target_columns =
            columns > report->target_columns ? columns : report->target_columns;
    }
}

struct settings {
    const char *target_text;
    const char *cache_directory;
    uint64_t jobs;
    bool json;
    bool quiet;
};

static enum kiln_status choose_targets(const char *text, struct kiln_target_list *ret_targets,
                                       struct kiln_error *error)
{
    if (text)
        return kiln_target_list_parse(text, ret_targets, error);
    enum kiln_status status = kiln_target_list_here(ret_targets, error);
    if (status == KILN_OK && ret_targets->targets[0].kind == KILN_TARGET_HOST) {
        kiln_message_note("no GPU here: compiling for the host device\n"
                          "hint: name the GPUs to compile for, as in --target gfx90a,gfx1030");
    }
    return status;
}

static int compile(const struct settings *settings, const struct kiln_graph_files *files,
                   const struct kiln_target_list *targets)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_engine_options options = {0};
    options.cache_directory = settings->cache_directory;
    options.codegen.max_workers = (uint32_t)settings->jobs;
    struct kiln_engine *engine;
    enum kiln_status status = kiln_engine_create(&options, &engine, &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        return KILN_EXIT_ENVIRONMENT;
    }

    size_t total = files->count * targets->count;
    struct report report = {.json = settings->json, .quiet = settings->quiet};
    report.failures_only = isatty(STDOUT_FILENO) && total > TERMINAL_LINES;
    report.results = settings->json ? kiln_json_array() : NULL;
    report.target_columns = 3;
    report.targets = targets;
    report.told = kiln_cli_calloc(targets->count, sizeof(*report.told));
    measure_columns(&report, files, targets);
    struct kiln_compile_callbacks callbacks = {&report, report_result, report_progress};
    uint64_t start_ns = kiln_clock_ns();
    if (!settings->quiet)
        kiln_progress_start("compiling", total);
    status =
        kiln_compile_jobs_run(engine, files, targets, (unsigned)settings->jobs, &callbacks, &error);
    kiln_progress_finish();
    struct kiln_codegen_counters counters;
    kiln_engine_codegen_counters(engine, &counters);
    kiln_engine_unref(engine);
    for (size_t i = 0; i < targets->count; i++)
        free(report.told[i]);
    free(report.told);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        json_decref(report.results);
        return KILN_EXIT_ENVIRONMENT;
    }
    uint64_t duration_ns = kiln_clock_ns() - start_ns;
    if (settings->json)
        print_json(&report, duration_ns, &counters);
    else if (!settings->quiet)
        print_summary(&report, targets->count, duration_ns, &counters);
    return report.exit_code;
}

int kiln_command_compile(struct kiln_command_line *line)
{
    struct settings settings = {.jobs = default_jobs()};
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END) {
        switch (option) {
        case KILN_OPTION_COMPILE_TARGET:
            settings.target_text = line->value;
            break;
        case KILN_OPTION_COMPILE_CACHE:
            settings.cache_directory = line->value;
            break;
        case KILN_OPTION_COMPILE_JOBS:
            if (!kiln_command_line_number(line, 1, 256, &settings.jobs))
                return line->exit_code;
            break;
        case KILN_OPTION_COMPILE_JSON:
            settings.json = true;
            break;
        case KILN_OPTION_COMPILE_QUIET:
            settings.quiet = true;
            break;
        default:
            break;
        }
    }
    if (line->stopped)
        return line->exit_code;

    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_target_list targets = {0};
    struct kiln_graph_files files;
    kiln_graph_files_init(&files);
    int exit_code = KILN_EXIT_OK;
    enum kiln_status status = choose_targets(settings.target_text, &targets, &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        exit_code = status == KILN_BAD_ARGUMENT ? KILN_EXIT_USAGE : KILN_EXIT_ENVIRONMENT;
    }
    for (int i = 0; i < line->operand_count && exit_code == KILN_EXIT_OK; i++) {
        if (kiln_graph_files_add(&files, line->operands[i], &error) != KILN_OK) {
            kiln_message_error("%s", error.text);
            exit_code = KILN_EXIT_ENVIRONMENT;
        }
    }
    if (exit_code == KILN_EXIT_OK && files.count == 0) {
        kiln_message_error(
            "there are no graphs in '%s'\nhint: graphs in directories are *.bin and *.json",
            line->operands[0]);
        exit_code = KILN_EXIT_FAILED;
    }
    if (exit_code == KILN_EXIT_OK)
        exit_code = compile(&settings, &files, &targets);
    kiln_graph_files_fini(&files);
    kiln_target_list_fini(&targets);
    return exit_code;
}
