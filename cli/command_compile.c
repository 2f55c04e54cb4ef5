/*
 * kiln compile: graphs into the cache.
 */
#include "cache/cache_directory.h"
#include "cache/cache_settings.h"
#include "cache/cache_store.h"
#include "cli/command_line.h"
#include "cli/compile_jobs.h"
#include "cli/compile_report.h"
#include "cli/graph_input.h"
#include "cli/input_file.h"
#include "cli/interrupt.h"
#include "cli/lower_choice.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "runtime/engine/shapes_setting.h"
#include "runtime/support/environment.h"
#include "runtime/support/subprocess.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_JOBS = 256,
    /* How long the end waits for what the shared tier is not sent yet: a cluster is to find it, and
     * nobody but this program waits. */
    FLUSH_MILLISECONDS = 10000,
    FLUSH_STEP_MILLISECONDS = 100,
};

/* The values of an option in their order. */
struct texts {
    const char **texts; /* owned, the array */
    size_t count;
};

struct settings {
    struct texts targets;
    struct texts manifests;
    const char *cache_directory;
    struct kiln_lower_options lower;
    struct kiln_shard shard;
    uint64_t jobs;
    struct kiln_compile_report_options report;
};

/* Those of the machine, less what taskset, cpusets and batch systems keep from this process. */
static uint64_t count_cores(void)
{
    cpu_set_t cores;
    /* It fails on more of them than the set can have. */
    long count = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores)
                                                                  : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MAX_JOBS ? MAX_JOBS : (uint64_t)count;
}

static enum kiln_status choose_targets(const struct texts *texts,
                                       struct kiln_target_list *ret_targets,
                                       struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; i < texts->count && status == KILN_OK; i++)
        status = kiln_target_list_add(ret_targets, texts->texts[i], error);
    if (texts->count)
        return status;
    status = kiln_target_list_here(ret_targets, error);
    bool is_wish = kiln_device_default_names() == NULL;
    if (status == KILN_OK && ret_targets->targets[0].kind == KILN_TARGET_HOST && !is_wish) {
        kiln_message_note("no GPU here: compiling for the host device\n"
                          "hint: name the GPUs to compile for, as in --target gfx90a,gfx1030");
    }
    return status;
}

static bool take_result(void *context, const struct kiln_compile_result *result)
{
    return kiln_compile_report_result(context, result);
}

static bool take_progress(void *context, size_t done, size_t failed)
{
    (void)context;
    kiln_progress_update(done, failed);
    if (!kiln_interrupt_pending())
        return true;
    /* That may take a while, or for ever where a graph comes from a pipe that nobody writes to. */
    kiln_message_note("finishing what has begun\nhint: interrupt again to end at once");
    return false;
}

/* What does not fit goes again, the oldest first, and nobody would know why it is missing. */
static void check_budget(const struct kiln_compile_report *report)
{
    uint64_t limit = kiln_cache_max_bytes_setting();
    if (limit == 0 || report->compiled_bytes <= limit)
        return;
    char compiled[KILN_TEXT_AMOUNT_BYTES];
    char kept[KILN_TEXT_AMOUNT_BYTES];
    kiln_message_warning("%s of code were compiled, and the cache keeps %s\n"
                         "hint: KILN_CACHE_MAX_SIZE is its limit",
                         kiln_text_bytes(compiled, report->compiled_bytes),
                         kiln_text_bytes(kept, limit));
}

/* A cache that keeps nothing is right for a run of the plugin; here it must be somebody's wish. */
static enum kiln_status open_cache(struct kiln_engine *engine, const struct settings *settings,
                                   struct kiln_cache_store **ret_store, struct kiln_error *error)
{
    const char *hint = kiln_cache_is_disabled()
                           ? "HIPDNN_DISABLE_CACHE is set; name one with --cache"
                           : "name one with --cache or KILN_CACHE_DIR";
    enum kiln_status status = kiln_engine_cache(engine, ret_store, error);
    if (status != KILN_OK || kiln_cache_store_directory(*ret_store) ||
        kiln_cache_store_remote(*ret_store))
        return status;
    const char *directory = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_DIR);
    if (!settings->cache_directory && (kiln_cache_is_disabled() || (directory && !*directory))) {
        kiln_message_warning("there is no cache directory: nothing of what is compiled is kept\n"
                             "hint: %s",
                             hint);
        return KILN_OK;
    }
    (void)kiln_error_set(error, KILN_IO,
                         "there is no cache directory: nothing of what is compiled would be kept");
    kiln_error_hint(error, "%s", hint);
    return error->status;
}

static void flush_cache(struct kiln_cache_store *store)
{
    uint64_t end_ms = kiln_monotonic_milliseconds() + FLUSH_MILLISECONDS;
    while (kiln_cache_store_flush(store, FLUSH_STEP_MILLISECONDS) && !kiln_interrupt_pending() &&
           kiln_monotonic_milliseconds() < end_ms)
        ;
}

static void tell_losses(const struct kiln_cache_losses *losses, const char *remote)
{
    if (losses->unwritten)
        kiln_message_error(
            "%" PRIu64 " %s could not be stored in the cache directory\n"
            "hint: the warning before, or -v, says why; the same command tries again",
            losses->unwritten, losses->unwritten == 1 ? "entry" : "entries");
    /* No failure: the shared tier never is one, whatever becomes of its server. */
    if (losses->unsent)
        kiln_message_warning("the shared cache '%s' did not take %" PRIu64 " %s\n"
                             "hint: with an empty directory (--cache) the same command takes from "
                             "it what it has, and sends it the others again",
                             remote, losses->unsent, losses->unsent == 1 ? "entry" : "entries");
}

static void tell_interruption(const struct kiln_compile_report *report, size_t jobs)
{
    const struct kiln_compile_counts *total = &report->total;
    size_t done = total->done[KILN_ORIGIN_COMPILED] + total->done[KILN_ORIGIN_DISK] +
                  total->done[KILN_ORIGIN_MEMORY];
    kiln_message_note("interrupted: %zu of %zu %s done%s\n"
                      "hint: the same command goes on where this one was stopped",
                      done, jobs, jobs == 1 ? "program is" : "programs are",
                      report->losses.unwritten ? "" : " and stay in the cache");
}

static int run(struct kiln_engine *engine, struct kiln_cache_store *store,
               const struct settings *settings, const struct kiln_graph_files *files,
               const struct kiln_target_list *targets, struct kiln_compile_report *report,
               struct kiln_error *error)
{
    struct kiln_compile_callbacks callbacks = {report, take_result, take_progress};
    size_t jobs = files->count * targets->count;
    uint64_t start_ns = kiln_clock_ns();
    kiln_interrupt_watch();
    if (!settings->report.quiet)
        kiln_progress_start("compiling", jobs);
    enum kiln_status status = kiln_compile_jobs_run(engine, files, targets, &settings->shard,
                                                    (unsigned)settings->jobs, &callbacks, error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error->text);
        return KILN_EXIT_ENVIRONMENT;
    }
    if (!settings->report.quiet)
        kiln_progress_start("waiting for the shared cache", 0);
    flush_cache(store);
    kiln_progress_finish();
    struct kiln_codegen_counters counters;
    kiln_engine_codegen_counters(engine, &counters);
    report->losses = kiln_cache_store_losses(store);
    report->is_interrupted = kiln_interrupt_pending();
    kiln_compile_report_summary(report, kiln_clock_ns() - start_ns, &counters);
    tell_losses(&report->losses, kiln_cache_store_remote(store));
    check_budget(report);
    if (report->is_interrupted)
        tell_interruption(report, jobs);
    return report->exit_code;
}

static int compile(const struct settings *settings, const struct kiln_graph_files *files,
                   const struct kiln_target_list *targets)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_engine_options options = {0};
    options.cache_directory = settings->cache_directory;
    options.lower = settings->lower;
    options.codegen.max_workers = (uint32_t)settings->jobs;
    struct kiln_engine *engine = NULL;
    struct kiln_cache_store *store = NULL;
    enum kiln_status status = kiln_engine_create(&options, &engine, &error);
    if (status == KILN_OK)
        status = open_cache(engine, settings, &store, &error);
    /* A named directory that is none. */
    int exit_code = status == KILN_BAD_ARGUMENT ? KILN_EXIT_FAILED : KILN_EXIT_ENVIRONMENT;
    if (status == KILN_OK) {
        struct kiln_compile_report report;
        status = kiln_compile_report_init(&report, &settings->report, files, targets,
                                          &settings->shard, &error);
        if (status == KILN_OK)
            exit_code = run(engine, store, settings, files, targets, &report, &error);
        kiln_compile_report_fini(&report);
    }
    if (status != KILN_OK)
        kiln_message_error("%s", error.text);
    kiln_engine_unref(engine);
    if (kiln_interrupt_pending()) {
        kiln_progress_flush_results();
        kiln_interrupt_deliver();
    }
    return exit_code;
}

/* Returns the exit code; what is wrong has been said. */
static int add_files(const struct kiln_command_line *line, const struct settings *settings,
                     struct kiln_graph_files *files)
{
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; i < settings->manifests.count && status == KILN_OK; i++)
        status = kiln_graph_files_add_manifest(files, settings->manifests.texts[i], &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        return kiln_message_exit_code(status);
    }
    for (int i = 0; i < line->operand_count; i++)
        kiln_graph_files_add(files, line->operands[i]);
    kiln_graph_files_sort(files);
    return KILN_EXIT_OK;
}

static void tell_emptiness(const struct kiln_command_line *line, const struct settings *settings)
{
    if (line->operand_count)
        kiln_message_error(
            "there are no graphs in '%s'\nhint: graphs in directories are *.bin and *.json",
            line->operands[0]);
    else
        kiln_message_error("manifest '%s' lists no graphs", settings->manifests.texts[0]);
}

/* A report is written while the graphs are read: over one of them it would destroy it. Returns the
 * exit code; what is wrong has been said. */
static int check_report(const struct settings *settings, const struct kiln_graph_files *files)
{
    const char *path = settings->report.report_path;
    if (!path)
        return KILN_EXIT_OK;
    const char *what = NULL;
    for (size_t i = 0; i < settings->manifests.count && !what; i++)
        if (kiln_input_file_is_output(settings->manifests.texts[i], path))
            what = "a manifest";
    for (size_t i = 0; i < files->count && !what; i++)
        if (kiln_graph_input_is_output(files->files[i].path, files->files[i].is_found, path))
            what = "one of the graphs";
    if (!what)
        return KILN_EXIT_OK;
    kiln_message_error("the report would overwrite '%s', which is %s\n"
                       "hint: name another file with --report",
                       path, what);
    return KILN_EXIT_USAGE;
}

static void add_text(struct texts *texts, const char *text)
{
    const char **grown = kiln_cli_calloc(texts->count + 1, sizeof(*grown));
    if (texts->count)
        memcpy(grown, texts->texts, texts->count * sizeof(*grown));
    free(texts->texts);
    grown[texts->count++] = text;
    texts->texts = grown;
}

static void set_option(struct kiln_command_line *line, enum kiln_option_id option,
                       struct settings *settings)
{
    switch (option) {
    case KILN_OPTION_COMPILE_TARGET:
        add_text(&settings->targets, line->value);
        break;
    case KILN_OPTION_COMPILE_CACHE:
        settings->cache_directory = line->value;
        break;
    case KILN_OPTION_COMPILE_JOBS:
        (void)kiln_command_line_number(line, 1, MAX_JOBS, &settings->jobs);
        break;
    case KILN_OPTION_COMPILE_MANIFEST:
        add_text(&settings->manifests, line->value);
        break;
    case KILN_OPTION_COMPILE_SHARD:
        if (!kiln_shard_parse(line->value, &settings->shard))
            (void)kiln_command_line_fail(line, "the first of four shards is 1/4",
                                         "option '--shard' takes I/N with I from 1 to N, not '%s'",
                                         line->value);
        break;
    case KILN_OPTION_COMPILE_REPORT:
        settings->report.report_path = line->value;
        break;
    case KILN_OPTION_COMPILE_STRICT:
        settings->report.strict = true;
        break;
    case KILN_OPTION_COMPILE_JSON:
        settings->report.json = true;
        break;
    case KILN_OPTION_COMPILE_QUIET:
        settings->report.quiet = true;
        break;
    default:
        kiln_lower_choice_take(line, &settings->lower);
        break;
    }
}

static int execute(const struct kiln_command_line *line, const struct settings *settings)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_target_list targets = {0};
    struct kiln_graph_files files;
    kiln_graph_files_init(&files);
    int exit_code = KILN_EXIT_OK;
    if (!settings->report.quiet)
        kiln_progress_start("searching for graphs", 0);
    enum kiln_status status = choose_targets(&settings->targets, &targets, &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        exit_code = status == KILN_BAD_ARGUMENT ? KILN_EXIT_USAGE : KILN_EXIT_ENVIRONMENT;
    }
    if (exit_code == KILN_EXIT_OK)
        exit_code = add_files(line, settings, &files);
    if (exit_code == KILN_EXIT_OK)
        exit_code = check_report(settings, &files);
    /* Callers that read JSON or a report get one of no graphs, too. */
    bool is_reported = settings->report.json || settings->report.report_path;
    bool is_empty = exit_code == KILN_EXIT_OK && files.count == 0;
    if (is_empty)
        tell_emptiness(line, settings);
    if (exit_code == KILN_EXIT_OK && (is_reported || !is_empty))
        exit_code = compile(settings, &files, &targets);
    if (is_empty && exit_code == KILN_EXIT_OK)
        exit_code = KILN_EXIT_FAILED;
    kiln_graph_files_fini(&files);
    kiln_target_list_fini(&targets);
    return exit_code;
}

int kiln_command_compile(struct kiln_command_line *line)
{
    struct settings settings = {.jobs = count_cores(), .lower.shapes = kiln_shapes_setting()};
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END)
        set_option(line, option, &settings);
    if (!line->stopped && line->operand_count == 0 && !settings.manifests.count)
        kiln_command_line_fail(line, "usage: kiln compile [OPTION...] GRAPH...",
                               "GRAPH is missing");
    /* Kernels of the argument form serve shapes that come later. Jobs take graphs in no fixed
     * order: if shapes were counted, two runs would fill the cache differently. */
    if (settings.lower.shapes == KILN_SHAPES_AUTO)
        settings.lower.shapes = KILN_SHAPES_ARGUMENT;
    int exit_code = line->stopped ? line->exit_code : execute(line, &settings);
    free(settings.targets.texts);
    free(settings.manifests.texts);
    return exit_code;
}
