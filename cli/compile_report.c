#include "cli/compile_report.h"

#include "cli/command_line.h"
#include "cli/message.h"
#include "cli/program_origin.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/support/limited_sum.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* More results than this are not listed one by one on a terminal. */
    TERMINAL_LINES = 20,
    /* Sentences of one kind of failure; thousands of graphs fail for few reasons. */
    SENTENCES_PER_KIND = 10,
    HASH_HEX_BYTES = 33,
    /* Kernels, bytes and time of a program, or the reason for having none. */
    DETAIL_BYTES = 64,
    DETAIL_COLUMNS = 33,
};

static void measure_columns(struct kiln_compile_report *report)
{
    report->target_columns = 3;
    for (size_t i = 0; i < report->targets->count; i++) {
        int columns = (int)strlen(report->targets->targets[i].name);
        report->target_columns =
            columns > report->target_columns ? columns : report->target_columns;
    }
}

enum kiln_status kiln_compile_report_init(struct kiln_compile_report *report,
                                          const struct kiln_compile_report_options *options,
                                          const struct kiln_graph_files *files,
                                          const struct kiln_target_list *targets,
                                          const struct kiln_shard *shard, struct kiln_error *error)
{
    *report = (struct kiln_compile_report){.options = *options, .targets = targets, .shard = shard};
    report->failures_only = isatty(STDOUT_FILENO) && files->count * targets->count > TERMINAL_LINES;
    report->results = options->json ? kiln_json_array() : NULL;
    report->spills = kiln_json_array();
    report->by_target = kiln_cli_calloc(targets->count, sizeof(*report->by_target));
    measure_columns(report);
    if (!options->report_path)
        return KILN_OK;
    report->file = fopen(options->report_path, "we");
    if (!report->file)
        return kiln_error_set(error, KILN_IO, "cannot write the report '%s': %s",
                              options->report_path, strerror(errno));
    return KILN_OK;
}

void kiln_compile_report_fini(struct kiln_compile_report *report)
{
    for (size_t i = 0; i < report->failure_kinds; i++) {
        free(report->failures[i].first_path);
        free(report->failures[i].last_sentence);
    }
    free(report->failures);
    free(report->by_target);
    json_decref(report->results);
    json_decref(report->spills);
    if (report->file)
        fclose(report->file);
}

/* ---- counting ---- */

static const char *outcome_name(enum kiln_compile_outcome outcome)
{
    switch (outcome) {
    case KILN_COMPILE_DECLINED:
        return "declined";
    case KILN_COMPILE_UNREADABLE:
        return "unreadable";
    default:
        return "failed";
    }
}

static const char *outcome_text(const struct kiln_compile_result *result)
{
    return result->outcome == KILN_COMPILE_DONE ? kiln_program_origin_text(result->origin)
                                                : outcome_name(result->outcome);
}

static const char *reason_text(enum kiln_status status, uint32_t reject_reason)
{
    return status == KILN_REJECTED ? kiln_reject_name(reject_reason) : kiln_status_name(status);
}

static void add_counts(struct kiln_compile_counts *counts, const struct kiln_compile_result *result)
{
    switch (result->outcome) {
    case KILN_COMPILE_DONE:
        counts->done[result->origin]++;
        counts->kernels += result->kernels;
        counts->code_bytes += result->code_bytes;
        break;
    case KILN_COMPILE_DECLINED:
        counts->declined++;
        break;
    case KILN_COMPILE_UNREADABLE:
        counts->unreadable++;
        break;
    default:
        counts->broken++;
        break;
    }
}

static struct kiln_compile_failures *failures_of(struct kiln_compile_report *report,
                                                 const struct kiln_compile_result *result)
{
    for (size_t i = 0; i < report->failure_kinds; i++) {
        struct kiln_compile_failures *kind = &report->failures[i];
        if (kind->outcome == result->outcome && kind->status == result->status &&
            kind->reject_reason == result->reject_reason && kind->target == result->target)
            return kind;
    }
    struct kiln_compile_failures *grown =
        kiln_cli_calloc(report->failure_kinds + 1, sizeof(*grown));
    if (report->failure_kinds)
        memcpy(grown, report->failures, report->failure_kinds * sizeof(*grown));
    free(report->failures);
    report->failures = grown;
    struct kiln_compile_failures *kind = &grown[report->failure_kinds++];
    *kind = (struct kiln_compile_failures){.outcome = result->outcome,
                                           .status = result->status,
                                           .reject_reason = result->reject_reason,
                                           .target = result->target,
                                           .first_path = kiln_cli_strdup(result->path)};
    return kind;
}

/* Graphs that Kiln declines are another engine's: the plugin's normal answer, and none of failure.
 */
static bool is_failure(const struct kiln_compile_report *report,
                       const struct kiln_compile_result *result)
{
    return result->outcome != KILN_COMPILE_DONE &&
           (report->options.strict || result->outcome != KILN_COMPILE_DECLINED);
}

static void count_result(struct kiln_compile_report *report,
                         const struct kiln_compile_result *result)
{
    add_counts(&report->total, result);
    if (!result->target || result->target == report->targets->targets) {
        report->asked = kiln_limited_sum(report->asked, result->asked);
        if (result->outcome == KILN_COMPILE_DECLINED)
            report->asked_declined = kiln_limited_sum(report->asked_declined, result->asked);
    }
    for (size_t i = 0; i < report->targets->count; i++)
        if (!result->target || result->target == &report->targets->targets[i])
            add_counts(&report->by_target[i], result);
    if (result->outcome == KILN_COMPILE_DONE) {
        if (result->origin == KILN_ORIGIN_COMPILED)
            report->compiled_bytes += result->code_bytes;
        return;
    }
    if (!is_failure(report, result))
        return;
    int exit_code = kiln_message_exit_code(result->status);
    report->exit_code = exit_code > report->exit_code ? exit_code : report->exit_code;
}

/* ---- one result ---- */

static json_t *result_json(const struct kiln_compile_result *result)
{
    bool is_done = result->outcome == KILN_COMPILE_DONE;
    char hash[HASH_HEX_BYTES];
    (void)snprintf(hash, sizeof(hash), "%016" PRIx64 "%016" PRIx64, result->hash.high,
                   result->hash.low);
    json_t *object = kiln_json_object();
    kiln_json_set(object, "graph", kiln_json_text(result->path));
    kiln_json_set(object, "graph_hash", result->has_hash ? json_string(hash) : json_null());
    kiln_json_set(object, "asked",
                  result->asked ? json_integer((json_int_t)result->asked) : json_null());
    kiln_json_set(object, "target",
                  result->target ? kiln_json_text(result->target->name) : json_null());
    kiln_json_set(object, "outcome", json_string(outcome_text(result)));
    kiln_json_set(object, "status", json_string(kiln_status_name(result->status)));
    if (is_done) {
        kiln_json_set(object, "origin", json_string(kiln_program_origin_text(result->origin)));
        kiln_json_set(object, "kernels", json_integer(result->kernels));
        kiln_json_set(object, "code_bytes", json_integer((json_int_t)result->code_bytes));
        kiln_json_set(object, "scratch_bytes", json_integer(result->scratch_bytes));
        kiln_json_set(object, "spills",
                      result->spills ? json_deep_copy(result->spills) : kiln_json_array());
        kiln_json_set(object, "compile_ns", json_integer((json_int_t)result->compile_ns));
        kiln_json_set(object, "slowest_ns", json_integer((json_int_t)result->slowest_ns));
    } else {
        kiln_json_set(object, "reason",
                      result->status == KILN_REJECTED
                          ? json_string(kiln_reject_name(result->reject_reason))
                          : json_null());
        kiln_json_set(object, "message", kiln_json_text(result->sentence));
    }
    kiln_json_set(object, "key", result->key[0] ? json_string(result->key) : json_null());
    kiln_json_set(object, "duration_ns", json_integer((json_int_t)result->duration_ns));
    return object;
}

/* One line of the report file, whole when it returns: a run that is killed leaves what it did. */
static void write_line(struct kiln_compile_report *report, const json_t *object)
{
    if (!report->file)
        return;
    errno = 0;
    if (json_dumpf(object, report->file, JSON_COMPACT) == 0 && fputc('\n', report->file) != EOF &&
        fflush(report->file) == 0)
        return;
    kiln_message_error("cannot write the report '%s': %s\nhint: the graphs are compiled without it",
                       report->options.report_path, strerror(errno ? errno : EIO));
    report->exit_code = KILN_EXIT_ENVIRONMENT;
    fclose(report->file);
    report->file = NULL;
}

/* The path comes last: it may have any length. */
static void print_line(const struct kiln_compile_report *report,
                       const struct kiln_compile_result *result)
{
    char detail[DETAIL_BYTES];
    if (result->outcome == KILN_COMPILE_DONE) {
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        char duration[KILN_TEXT_AMOUNT_BYTES];
        (void)snprintf(detail, sizeof(detail), "%2u %-7s  %10s  %9s", (unsigned)result->kernels,
                       KILN_NOUN(result->kernels, "kernel"),
                       kiln_text_bytes(bytes, result->code_bytes),
                       kiln_text_duration(duration, result->duration_ns));
    } else {
        (void)snprintf(detail, sizeof(detail), "%s",
                       reason_text(result->status, result->reject_reason));
    }
    printf("%-*s  %-10s  %-*s  ", report->target_columns,
           result->target ? result->target->name : "all", outcome_text(result), DETAIL_COLUMNS,
           detail);
    kiln_text_write(stdout, result->path, false);
    if (result->asked)
        printf("  asked %" PRIu64 " %s", result->asked, KILN_NOUN(result->asked, "time"));
    putchar('\n');
}

/* Names the graph and the target of every kernel that spills, for the end. */
static void note_spills(struct kiln_compile_report *report,
                        const struct kiln_compile_result *result)
{
    for (size_t i = 0; i < json_array_size(result->spills); i++) {
        json_t *spill = kiln_json_object();
        kiln_json_set(spill, "graph", kiln_json_text(result->path));
        kiln_json_set(spill, "target", kiln_json_text(result->target->name));
        (void)json_object_update(spill, json_array_get(result->spills, i));
        kiln_json_append(report->spills, spill);
    }
}

/* A machine without a compiler fails every graph in the same words: once is enough. Of other kinds
 * of failure, a few sentences are. */
static void tell_reason(struct kiln_compile_report *report,
                        const struct kiln_compile_result *result)
{
    struct kiln_compile_failures *kind = failures_of(report, result);
    bool failed = is_failure(report, result);
    kind->count++;
    if (!failed && report->options.quiet)
        return;
    if (result->status == KILN_UNSUPPORTED && kind->last_sentence &&
        strcmp(kind->last_sentence, result->sentence) == 0)
        return;
    free(kind->last_sentence);
    kind->last_sentence = kiln_cli_strdup(result->sentence);
    if (kind->count > SENTENCES_PER_KIND)
        report->untold++;
    else if (result->target)
        (failed ? kiln_message_error : kiln_message_note)("'%s' for %s: %s", result->path,
                                                          result->target->name, result->sentence);
    else
        (failed ? kiln_message_error : kiln_message_note)("%s", result->sentence);
}

bool kiln_compile_report_result(struct kiln_compile_report *report,
                                const struct kiln_compile_result *result)
{
    if (result->outcome == KILN_COMPILE_SKIPPED) {
        report->skipped++;
        kiln_log(KILN_LOG_INFO, "skipped: %s", result->sentence);
        return true;
    }
    if (result->outcome == KILN_COMPILE_ELSEWHERE) {
        report->elsewhere++;
        return true;
    }
    count_result(report, result);
    note_spills(report, result);
    bool done = result->outcome == KILN_COMPILE_DONE;
    if (report->options.json || report->file) {
        json_t *object = result_json(result);
        write_line(report, object);
        if (report->options.json)
            kiln_json_append(report->results, json_incref(object));
        json_decref(object);
    }
    bool is_listed =
        is_failure(report, result) || (!report->options.quiet && !(done && report->failures_only));
    if (!report->options.json && is_listed) {
        print_line(report, result);
        kiln_progress_flush_results();
    }
    if (!done)
        tell_reason(report, result);
    return !ferror(stdout); /* nobody reads: main says so */
}

/* ---- all of them ---- */

static void print_targets(const struct kiln_compile_report *report)
{
    static const char *const headings[] = {"target", "compiled", "disk",
                                           "memory", "declined", "unreadable",
                                           "failed", "kernels",  "code"};
    enum { COLUMNS = sizeof(headings) / sizeof(*headings) };
    struct kiln_table table;
    kiln_table_init(&table, COLUMNS, 0x1fe);
    for (size_t i = 0; i < COLUMNS; i++)
        kiln_table_add(&table, "%s", headings[i]);
    for (size_t i = 0; i < report->targets->count; i++) {
        const struct kiln_compile_counts *counts = &report->by_target[i];
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        kiln_table_add(&table, "%s", report->targets->targets[i].name);
        kiln_table_add(&table, "%zu", counts->done[KILN_ORIGIN_COMPILED]);
        kiln_table_add(&table, "%zu", counts->done[KILN_ORIGIN_DISK]);
        kiln_table_add(&table, "%zu", counts->done[KILN_ORIGIN_MEMORY]);
        kiln_table_add(&table, "%zu", counts->declined);
        kiln_table_add(&table, "%zu", counts->unreadable);
        kiln_table_add(&table, "%zu", counts->broken);
        kiln_table_add(&table, "%" PRIu64, counts->kernels);
        kiln_table_add(&table, "%s", kiln_text_bytes(bytes, counts->code_bytes));
    }
    putchar('\n');
    kiln_table_print(&table);
    kiln_table_fini(&table);
}

static void print_failures(const struct kiln_compile_report *report)
{
    static const char *const headings[] = {"graphs", "outcome", "reason", "target",
                                           "first of them"};
    enum { COLUMNS = sizeof(headings) / sizeof(*headings) };
    struct kiln_table table;
    kiln_table_init(&table, COLUMNS, 0x1);
    for (size_t i = 0; i < COLUMNS; i++)
        kiln_table_add(&table, "%s", headings[i]);
    for (size_t i = 0; i < report->failure_kinds; i++) {
        const struct kiln_compile_failures *kind = &report->failures[i];
        kiln_table_add(&table, "%zu", kind->count);
        kiln_table_add(&table, "%s", outcome_name(kind->outcome));
        kiln_table_add(&table, "%s", reason_text(kind->status, kind->reject_reason));
        kiln_table_add(&table, "%s", kind->target ? kind->target->name : "all");
        kiln_table_add(&table, "%s", kind->first_path);
    }
    putchar('\n');
    kiln_table_print(&table);
    kiln_table_fini(&table);
}

static void print_spills(const json_t *spills)
{
    static const char *const headings[] = {
        "kernels that spill", "target",     "kernel", "symbol", "scratch",
        "VGPR spills",        "SGPR spills"};
    static const char *const members[] = {"graph",         "target",      "kernel",     "symbol",
                                          "scratch_bytes", "vgpr_spills", "sgpr_spills"};
    enum { COLUMNS = sizeof(headings) / sizeof(*headings) };
    struct kiln_table table;
    kiln_table_init(&table, COLUMNS, 0x74);
    for (size_t i = 0; i < COLUMNS; i++)
        kiln_table_add(&table, "%s", headings[i]);
    for (size_t row = 0; row < json_array_size(spills); row++) {
        for (size_t i = 0; i < COLUMNS; i++) {
            const json_t *value = json_object_get(json_array_get(spills, row), members[i]);
            if (json_is_string(value))
                kiln_table_add(&table, "%s", json_string_value(value));
            else
                kiln_table_add(&table, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        }
    }
    putchar('\n');
    kiln_table_print(&table);
    kiln_table_fini(&table);
}

static void print_summary(const struct kiln_compile_report *report, uint64_t duration_ns,
                          const struct kiln_codegen_counters *counters)
{
    const struct kiln_compile_counts *total = &report->total;
    size_t targets = report->targets->count;
    size_t failures = total->declined + total->unreadable + total->broken;
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    char duration[KILN_TEXT_AMOUNT_BYTES];
    if (targets > 1)
        print_targets(report);
    if (failures > 1)
        print_failures(report);
    bool has_spills = json_array_size(report->spills) != 0;
    if (has_spills)
        print_spills(report->spills);
    if (targets > 1 || failures > 1 || has_spills)
        putchar('\n');
    printf("%zu compiled, %zu from disk, %zu from memory", total->done[KILN_ORIGIN_COMPILED],
           total->done[KILN_ORIGIN_DISK], total->done[KILN_ORIGIN_MEMORY]);
    if (total->declined)
        printf(", %zu declined", total->declined);
    if (total->unreadable)
        printf(", %zu unreadable", total->unreadable);
    if (total->broken)
        printf(", %zu failed", total->broken);
    if (report->losses.unwritten)
        printf(", %" PRIu64 " not stored", report->losses.unwritten);
    if (report->losses.unsent)
        printf(", %" PRIu64 " not shared", report->losses.unsent);
    printf("; %zu %s, %" PRIu64 " %s, %s, %s%s\n", targets, KILN_NOUN(targets, "target"),
           total->kernels, KILN_NOUN(total->kernels, "kernel"),
           kiln_text_bytes(bytes, total->code_bytes), kiln_text_duration(duration, duration_ns),
           counters->kernels_compiled + counters->workers_started ? "" : ", no compiler started");
    if (report->asked)
        printf("hosts asked %" PRIu64 " %s for these graphs, %" PRIu64 " %s for declined ones\n",
               report->asked, KILN_NOUN(report->asked, "time"), report->asked_declined,
               KILN_NOUN(report->asked_declined, "time"));
    if (report->skipped)
        printf("%zu %s\n", report->skipped,
               report->skipped == 1 ? "file in directories is no graph"
                                    : "files in directories are no graphs");
    if (report->shard->count)
        printf("shard %u/%u: %zu %s in the others\n", report->shard->index, report->shard->count,
               report->elsewhere, report->elsewhere == 1 ? "graph is" : "graphs are");
}

static void set_counts(json_t *object, const struct kiln_compile_counts *counts)
{
    kiln_json_set(object, "compiled", json_integer((json_int_t)counts->done[KILN_ORIGIN_COMPILED]));
    kiln_json_set(object, "disk", json_integer((json_int_t)counts->done[KILN_ORIGIN_DISK]));
    kiln_json_set(object, "memory", json_integer((json_int_t)counts->done[KILN_ORIGIN_MEMORY]));
    kiln_json_set(object, "declined", json_integer((json_int_t)counts->declined));
    kiln_json_set(object, "unreadable", json_integer((json_int_t)counts->unreadable));
    kiln_json_set(object, "failed", json_integer((json_int_t)counts->broken));
    kiln_json_set(object, "kernels", json_integer((json_int_t)counts->kernels));
    kiln_json_set(object, "code_bytes", json_integer((json_int_t)counts->code_bytes));
}

static json_t *targets_json(const struct kiln_compile_report *report)
{
    json_t *list = kiln_json_array();
    for (size_t i = 0; i < report->targets->count; i++) {
        json_t *object = kiln_json_object();
        kiln_json_set(object, "target", kiln_json_text(report->targets->targets[i].name));
        set_counts(object, &report->by_target[i]);
        kiln_json_append(list, object);
    }
    return list;
}

static json_t *failures_json(const struct kiln_compile_report *report)
{
    json_t *list = kiln_json_array();
    for (size_t i = 0; i < report->failure_kinds; i++) {
        const struct kiln_compile_failures *kind = &report->failures[i];
        json_t *object = kiln_json_object();
        kiln_json_set(object, "outcome", json_string(outcome_name(kind->outcome)));
        kiln_json_set(object, "status", json_string(kiln_status_name(kind->status)));
        kiln_json_set(object, "reason",
                      kind->status == KILN_REJECTED
                          ? json_string(kiln_reject_name(kind->reject_reason))
                          : json_null());
        kiln_json_set(object, "target",
                      kind->target ? kiln_json_text(kind->target->name) : json_null());
        kiln_json_set(object, "count", json_integer((json_int_t)kind->count));
        kiln_json_set(object, "first_graph", kiln_json_text(kind->first_path));
        kiln_json_append(list, object);
    }
    return list;
}

static json_t *summary_json(const struct kiln_compile_report *report, uint64_t duration_ns,
                            const struct kiln_codegen_counters *counters)
{
    json_t *summary = kiln_json_object();
    set_counts(summary, &report->total);
    kiln_json_set(summary, "not_stored", json_integer((json_int_t)report->losses.unwritten));
    kiln_json_set(summary, "not_shared", json_integer((json_int_t)report->losses.unsent));
    kiln_json_set(summary, "asked", json_integer((json_int_t)report->asked));
    kiln_json_set(summary, "asked_declined", json_integer((json_int_t)report->asked_declined));
    kiln_json_set(summary, "skipped_files", json_integer((json_int_t)report->skipped));
    if (report->shard->count) {
        char shard[32];
        (void)snprintf(shard, sizeof(shard), "%u/%u", report->shard->index, report->shard->count);
        kiln_json_set(summary, "shard", json_string(shard));
        kiln_json_set(summary, "graphs_in_other_shards",
                      json_integer((json_int_t)report->elsewhere));
    }
    kiln_json_set(summary, "targets", targets_json(report));
    kiln_json_set(summary, "failures", failures_json(report));
    kiln_json_set(summary, "spills", json_incref(report->spills));
    kiln_json_set(summary, "interrupted", json_boolean(report->is_interrupted));
    kiln_json_set(summary, "compile_workers_started",
                  json_integer((json_int_t)counters->workers_started));
    kiln_json_set(summary, "duration_ns", json_integer((json_int_t)duration_ns));
    return summary;
}

static void finish_file(struct kiln_compile_report *report, json_t *summary)
{
    if (!report->file)
        return;
    json_t *line = kiln_json_object();
    kiln_json_set(line, "summary", json_incref(summary));
    write_line(report, line);
    json_decref(line);
    FILE *file = report->file;
    report->file = NULL;
    if (file && fclose(file) != 0) {
        kiln_message_error("cannot write the report '%s': %s", report->options.report_path,
                           strerror(errno));
        report->exit_code = KILN_EXIT_ENVIRONMENT;
    }
}

void kiln_compile_report_summary(struct kiln_compile_report *report, uint64_t duration_ns,
                                 const struct kiln_codegen_counters *counters)
{
    if (report->untold)
        kiln_message_note("%zu more %s no sentence here\n"
                          "hint: --report FILE and --json have all of them",
                          report->untold, report->untold == 1 ? "graph has" : "graphs have");
    if (report->losses.unwritten)
        report->exit_code = KILN_EXIT_ENVIRONMENT;
    json_t *summary = summary_json(report, duration_ns, counters);
    finish_file(report, summary);
    if (report->options.json) {
        json_t *document = kiln_json_object();
        kiln_json_set(document, "results", report->results);
        kiln_json_set(document, "summary", summary);
        report->results = NULL;
        kiln_json_print(document);
        return;
    }
    json_decref(summary);
    if (!report->options.quiet)
        print_summary(report, duration_ns, counters);
}
