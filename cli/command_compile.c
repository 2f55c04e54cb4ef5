/*
 * kiln compile: graphs into the cache.
 */
#include "cache/cache_settings.h"
#include "cli/command_line.h"
#include "cli/compile_jobs.h"
#include "cli/compile_report.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/text.h"
#include "runtime/support/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct settings {
    const char *target_text;
    const char *cache_directory;
    const char *manifest;
    struct kiln_shard shard;
    uint64_t jobs;
    struct kiln_compile_report_options report;
};

static unsigned default_jobs(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 256 ? 256 : (unsigned)cores;
}

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

/* An empty KILN_CACHE_DIR is right for a run of the plugin and strange for a run that is to fill a
 * cache. Of a directory that cannot be used, the store itself warns. */
static void check_directory(const struct settings *settings)
{
    const char *directory = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_DIR);
    const char *remote = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_REMOTE);
    if (settings->cache_directory || !directory || *directory || (remote && *remote))
        return;
    kiln_message_warning("there is no cache directory: nothing of what is compiled is kept\n"
                         "hint: name one with --cache or KILN_CACHE_DIR");
}

static void tell_interruption(const struct kiln_compile_report *report, size_t jobs)
{
    const struct kiln_compile_counts *total = &report->total;
    size_t done = total->done[KILN_ORIGIN_COMPILED] + total->done[KILN_ORIGIN_DISK] +
                  total->done[KILN_ORIGIN_MEMORY];
    kiln_message_note("interrupted: %zu of %zu programs are done and stay in the cache\n"
                      "hint: the same command goes on where this one was stopped",
                      done, jobs);
}

static int run(struct kiln_engine *engine, const struct settings *settings,
               const struct kiln_graph_files *files, const struct kiln_target_list *targets,
               struct kiln_compile_report *report, struct kiln_error *error)
{
    struct kiln_compile_callbacks callbacks = {report, take_result, take_progress};
    size_t jobs = files->count * targets->count;
    uint64_t start_ns = kiln_clock_ns();
    kiln_interrupt_watch();
    if (!settings->report.quiet)
        kiln_progress_start("compiling", jobs);
    enum kiln_status status = kiln_compile_jobs_run(engine, files, targets, &settings->shard,
                                                    (unsigned)settings->jobs, &callbacks, error);
    kiln_progress_finish();
    if (status != KILN_OK) {
        kiln_message_error("%s", error->text);
        return KILN_EXIT_ENVIRONMENT;
    }
    struct kiln_codegen_counters counters;
    kiln_engine_codegen_counters(engine, &counters);
    report->is_interrupted = kiln_interrupt_pending();
    kiln_compile_report_summary(report, kiln_clock_ns() - start_ns, &counters);
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
    options.codegen.max_workers = (uint32_t)settings->jobs;
    struct kiln_engine *engine;
    struct kiln_compile_report report;
    int exit_code = KILN_EXIT_ENVIRONMENT;
    check_directory(settings);
    if (kiln_engine_create(&options, &engine, &error) != KILN_OK) {
        kiln_message_error("%s", error.text);
        return exit_code;
    }
    if (kiln_compile_report_init(&report, &settings->report, files, targets, &settings->shard,
                                 &error) == KILN_OK)
        exit_code = run(engine, settings, files, targets, &report, &error);
    else
        kiln_message_error("%s", error.text);
    kiln_compile_report_fini(&report);
    kiln_engine_unref(engine);
    if (kiln_interrupt_pending()) {
        fflush(stdout);
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
    if (settings->manifest)
        status = kiln_graph_files_add_manifest(files, settings->manifest, &error);
    for (int i = 0; i < line->operand_count && status == KILN_OK; i++)
        status = kiln_graph_files_add(files, line->operands[i], &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        return status == KILN_BAD_ARGUMENT ? KILN_EXIT_FAILED : KILN_EXIT_ENVIRONMENT;
    }
    if (files->count)
        return KILN_EXIT_OK;
    if (line->operand_count)
        kiln_message_error(
            "there are no graphs in '%s'\nhint: graphs in directories are *.bin and *.json",
            line->operands[0]);
    else
        kiln_message_error("manifest '%s' lists no graphs", settings->manifest);
    return KILN_EXIT_FAILED;
}

static void set_option(struct kiln_command_line *line, enum kiln_option_id option,
                       struct settings *settings)
{
    switch (option) {
    case KILN_OPTION_COMPILE_TARGET:
        settings->target_text = line->value;
        break;
    case KILN_OPTION_COMPILE_CACHE:
        settings->cache_directory = line->value;
        break;
    case KILN_OPTION_COMPILE_JOBS:
        (void)kiln_command_line_number(line, 1, 256, &settings->jobs);
        break;
    case KILN_OPTION_COMPILE_MANIFEST:
        settings->manifest = line->value;
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
    case KILN_OPTION_COMPILE_JSON:
        settings->report.json = true;
        break;
    case KILN_OPTION_COMPILE_QUIET:
        settings->report.quiet = true;
        break;
    default:
        break;
    }
}

int kiln_command_compile(struct kiln_command_line *line)
{
    struct settings settings = {.jobs = default_jobs()};
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END)
        set_option(line, option, &settings);
    if (!line->stopped && line->operand_count == 0 && !settings.manifest)
        return kiln_command_line_fail(line, "usage: kiln compile [OPTION...] GRAPH...",
                                      "GRAPH is missing");
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
    if (exit_code == KILN_EXIT_OK)
        exit_code = add_files(line, &settings, &files);
    if (exit_code == KILN_EXIT_OK)
        exit_code = compile(&settings, &files, &targets);
    kiln_graph_files_fini(&files);
    kiln_target_list_fini(&targets);
    return exit_code;
}
