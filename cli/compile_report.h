/*
 * What `kiln compile` tells: lines or one JSON object on stdout, sentences on stderr, a report in a
 * file, and at the end how many graphs came to what.
 */
#ifndef KILN_CLI_COMPILE_REPORT_H
#define KILN_CLI_COMPILE_REPORT_H

#include "cache/cache_store.h"
#include "cli/compile_jobs.h"
#include "compiler/codegen/codegen.h"

#include <jansson.h>

#include <stdio.h>

struct kiln_compile_report_options {
    bool json;
    bool quiet;
    bool strict;             /* a declined graph is a failure */
    const char *report_path; /* file of JSON lines; NULL: none */
};

/* Numbers of results of one target. Results for all targets count for each. */
struct kiln_compile_counts {
    size_t done[3]; /* by enum kiln_program_origin */
    size_t declined;
    size_t unreadable;
    size_t broken;
    uint64_t kernels;
    uint64_t code_bytes;
};

/* Failures of one kind: told apart by these members, not by their sentences. */
struct kiln_compile_failures {
    enum kiln_compile_outcome outcome;
    enum kiln_status status;
    uint32_t reject_reason;
    const struct kiln_target *target; /* NULL: all */
    size_t count;
    char *first_path;
    char *last_sentence; /* without the graph: to tell a sentence once */
};

struct kiln_compile_report {
    struct kiln_compile_report_options options;
    const struct kiln_target_list *targets;
    const struct kiln_shard *shard;
    bool failures_only;
    int target_columns;
    json_t *results;                  /* of --json */
    FILE *file;                       /* of --report; NULL when there is none or it failed */
    struct kiln_compile_counts total; /* a result for all targets counts once */
    struct kiln_compile_counts *by_target;
    struct kiln_compile_failures *failures;
    size_t failure_kinds;
    size_t skipped;
    size_t elsewhere;
    size_t untold;                   /* graphs whose sentences were left out */
    uint64_t asked;                  /* how often hosts asked for the graphs, where that is known */
    uint64_t asked_declined;         /* for those that are declined */
    uint64_t compiled_bytes;         /* of the programs that this run compiled */
    struct kiln_cache_losses losses; /* set before the summary */
    bool is_interrupted;
    json_t *spills; /* every kernel that spills, with its graph and target */
    int exit_code;  /* the worst so far */
};

/* Opens the report file. `targets`, `shard` and the texts of the options must outlive the report;
 * `files` are looked at to align the lines. The report is to be finished in any case. */
enum kiln_status kiln_compile_report_init(struct kiln_compile_report *report,
                                          const struct kiln_compile_report_options *options,
                                          const struct kiln_graph_files *files,
                                          const struct kiln_target_list *targets,
                                          const struct kiln_shard *shard,
                                          struct kiln_error *error) KILN_NODISCARD;
void kiln_compile_report_fini(struct kiln_compile_report *report);

/* As in kiln_compile_callbacks: false when nobody reads stdout any more. */
bool kiln_compile_report_result(struct kiln_compile_report *report,
                                const struct kiln_compile_result *result);
/* After the last result: tables, the summary, the end of the report file. What the cache
 * directory did not take raises the exit code. */
void kiln_compile_report_summary(struct kiln_compile_report *report, uint64_t duration_ns,
                                 const struct kiln_codegen_counters *counters);

#endif
