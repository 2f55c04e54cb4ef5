#include "cli/run_report.h"

#include "cli/message.h"
#include "cli/program_origin.h"
#include "cli/table.h"
#include "cli/tensor_walk.h"
#include "cli/text.h"
#include "compiler/reference/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMN_COUNT = 9,
    COLUMNS_ALIGNED_RIGHT = 0x1f1, /* uid, and all numbers behind the dims */
};

/* One output, looked at from all sides. */
struct finding {
    const struct kiln_tensor *tensor;
    uint64_t stray_bytes;
    int64_t odd_bools;
    struct kiln_comparison comparison; /* with a reference only */
    double smallest;
    double largest;
    double mean;
    int64_t nans;
};

static void summarize(struct finding *finding, const struct kiln_span *spans,
                      const unsigned char *first)
{
    double sum = 0;
    int64_t numbers = 0;
    struct kiln_tensor_walk walk;
    finding->smallest = INFINITY;
    finding->largest = -INFINITY;
    for (kiln_tensor_walk_init(&walk, finding->tensor, spans); walk.index < walk.count;
         kiln_tensor_walk_next(&walk)) {
        double value = kiln_element_load_at(finding->tensor->dtype, first, walk.offset).real;
        if (isnan(value)) {
            finding->nans++;
            continue;
        }
        finding->smallest = fmin(finding->smallest, value);
        finding->largest = fmax(finding->largest, value);
        sum += value;
        numbers++;
    }
    finding->mean = numbers ? sum / (double)numbers : NAN;
    if (!numbers)
        finding->smallest = finding->largest = NAN;
}

static struct finding examine(const struct kiln_run_report *report, uint32_t ordinal)
{
    const struct kiln_tensor_memory *memory = &report->memories[ordinal];
    struct finding finding = {.tensor = &report->graph->tensors[ordinal]};
    finding.stray_bytes = kiln_tensor_memory_stray_bytes(memory);
    finding.odd_bools = kiln_tensor_memory_odd_bools(memory);
    summarize(&finding, memory->spans, kiln_tensor_memory_after(memory));
    if (report->reference) {
        kiln_reference_compare(report->graph, ordinal, kiln_tensor_memory_after(memory),
                               &report->reference[ordinal], &finding.comparison);
    }
    return finding;
}

static bool is_good(const struct finding *finding)
{
    return finding->stray_bytes == 0 && finding->odd_bools == 0 && finding->comparison.wrong == 0;
}

/* "4x33", "scalar". */
static const char *dims_text(const struct kiln_tensor *tensor, char buffer[KILN_MAX_RANK * 21 + 8])
{
    char *out = buffer;
    for (uint32_t i = 0; i < tensor->rank; i++)
        out += sprintf(out, "%s%lld", i ? "x" : "", (long long)tensor->dims[i]);
    if (!tensor->rank)
        strcpy(buffer, "scalar");
    return buffer;
}

static void add_row(struct kiln_table *table, const struct kiln_run_report *report,
                    const struct finding *finding)
{
    const struct kiln_tensor *tensor = finding->tensor;
    char dims[KILN_MAX_RANK * 21 + 8];
    kiln_table_add(table, "%lld", (long long)tensor->uid);
    kiln_table_add(table, "%s", tensor->name);
    kiln_table_add(table, "%s", kiln_dtype_info(tensor->dtype)->text);
    kiln_table_add(table, "%s", dims_text(tensor, dims));
    if (report->reference) {
        const struct kiln_comparison *comparison = &finding->comparison;
        kiln_table_add(table, "%lld", (long long)comparison->elements);
        kiln_table_add(table, "%lld", (long long)(comparison->wrong + finding->odd_bools));
        kiln_table_add(table, "%.3g", comparison->worst_ratio);
        kiln_table_add(table, "%lld", (long long)comparison->unchecked);
    } else {
        kiln_table_add(table, "%.6g", finding->smallest);
        kiln_table_add(table, "%.6g", finding->largest);
        kiln_table_add(table, "%.6g", finding->mean);
        kiln_table_add(table, "%lld", (long long)finding->nans);
    }
    kiln_table_add(table, "%llu", (unsigned long long)finding->stray_bytes);
}

static void add_heading(struct kiln_table *table, bool verified)
{
    static const char *const with_reference[] = {"elements", "wrong", "worst error/bound",
                                                 "unchecked"};
    static const char *const without[] = {"smallest", "largest", "mean", "NaN"};
    kiln_table_add(table, "output");
    kiln_table_add(table, "name");
    kiln_table_add(table, "type");
    kiln_table_add(table, "dims");
    for (size_t i = 0; i < 4; i++)
        kiln_table_add(table, "%s", verified ? with_reference[i] : without[i]);
    kiln_table_add(table, "stray bytes");
}

static void explain_failure(const struct finding *finding)
{
    long long uid = (long long)finding->tensor->uid;
    if (finding->comparison.wrong) {
        kiln_message_error(
            "output %lld is wrong at element %lld: %.17g, expected %.17g within %.3g", uid,
            (long long)finding->comparison.first_wrong, finding->comparison.got,
            finding->comparison.expected, finding->comparison.bound);
    }
    if (finding->odd_bools) {
        kiln_message_error("output %lld holds %lld %s neither 0 nor 1", uid,
                           (long long)finding->odd_bools,
                           finding->odd_bools == 1 ? "bool that is" : "bools that are");
    }
    if (finding->stray_bytes) {
        kiln_message_error("%llu %s not belong to the elements of %s %lld %s written",
                           (unsigned long long)finding->stray_bytes,
                           finding->stray_bytes == 1 ? "byte that does" : "bytes that do",
                           finding->tensor->role == KILN_TENSOR_OUTPUT ? "output" : "input", uid,
                           finding->stray_bytes == 1 ? "was" : "were");
    }
}

/* The verdict on all elements together. */
static void print_verdict(enum kiln_run_verdict verdict, int64_t elements, int64_t unjudged)
{
    if (verdict == KILN_RUN_GOOD)
        puts("all outputs agree with the reference");
    else if (verdict == KILN_RUN_UNJUDGED)
        printf("%lld of %lld %s not be judged: the reference has no finite bound for "
               "%s\n",
               (long long)unjudged, (long long)elements,
               elements == 1 ? "element could" : "elements could", unjudged == 1 ? "it" : "them");
}

static json_t *finding_json(const struct kiln_run_report *report, const struct finding *finding)
{
    const struct kiln_tensor *tensor = finding->tensor;
    json_t *object = kiln_json_object();
    json_t *dims = kiln_json_array();
    for (uint32_t i = 0; i < tensor->rank; i++)
        kiln_json_append(dims, json_integer(tensor->dims[i]));
    kiln_json_set(object, "uid", json_integer(tensor->uid));
    kiln_json_set(object, "name", kiln_json_text(tensor->name));
    kiln_json_set(object, "type", json_string(kiln_dtype_info(tensor->dtype)->text));
    kiln_json_set(object, "dims", dims);
    kiln_json_set(object, "elements", json_integer(kiln_tensor_elements(tensor)));
    kiln_json_set(object, "smallest", kiln_json_real(finding->smallest));
    kiln_json_set(object, "largest", kiln_json_real(finding->largest));
    kiln_json_set(object, "mean", kiln_json_real(finding->mean));
    kiln_json_set(object, "nans", json_integer(finding->nans));
    kiln_json_set(object, "stray_bytes", json_integer((json_int_t)finding->stray_bytes));
    if (report->reference) {
        kiln_json_set(object, "wrong",
                      json_integer(finding->comparison.wrong + finding->odd_bools));
        kiln_json_set(object, "worst_ratio", kiln_json_real(finding->comparison.worst_ratio));
        kiln_json_set(object, "unchecked", json_integer(finding->comparison.unchecked));
        kiln_json_set(object, "first_wrong", json_integer(finding->comparison.first_wrong));
    }
    return object;
}

static json_t *profile_json(const struct kiln_run_report *report)
{
    json_t *list = kiln_json_array();
    for (uint32_t i = 0; i < report->kernels; i++)
        kiln_json_append(list, kiln_kernel_profile_to_json(&report->profiles[i], i));
    return list;
}

static void print_json(const struct kiln_run_report *report, json_t *outputs,
                       enum kiln_run_verdict verdict, int64_t unjudged)
{
    json_t *document = kiln_json_object();
    kiln_json_set(document, "graph", kiln_json_text(report->path));
    kiln_json_set(document, "device", json_string(report->device->ops->name));
    kiln_json_set(document, "target", kiln_json_text(report->device->target.name));
    kiln_json_set(document, "origin", json_string(kiln_program_origin_text(report->origin)));
    kiln_json_set(document, "kernels", json_integer(report->kernels));
    kiln_json_set(document, "workspace_bytes", json_integer((json_int_t)report->workspace_bytes));
    kiln_json_set(document, "duration_ns", json_integer((json_int_t)report->duration_ns));
    kiln_json_set(document, "seed", json_integer((json_int_t)report->seed));
    kiln_json_set(document, "verified", json_boolean(report->reference != NULL));
    kiln_json_set(document, "passed", json_boolean(verdict == KILN_RUN_GOOD));
    kiln_json_set(document, "unjudged", json_integer(unjudged));
    kiln_json_set(document, "outputs", outputs);
    if (report->profiles)
        kiln_json_set(document, "profile", profile_json(report));
    kiln_json_print(document);
}

static void print_head(const struct kiln_run_report *report)
{
    char workspace[KILN_TEXT_AMOUNT_BYTES];
    char duration[KILN_TEXT_AMOUNT_BYTES];
    char *path = kiln_text_escape(report->path);
    printf("%s on %s (%s): %u %s (%s), workspace %s, %s, seed %llu\n", path,
           report->device->ops->name, report->device->target.name, (unsigned)report->kernels,
           KILN_NOUN(report->kernels, "kernel"), kiln_program_origin_text(report->origin),
           kiln_text_bytes(workspace, report->workspace_bytes),
           kiln_text_duration(duration, report->duration_ns), (unsigned long long)report->seed);
    free(path);
}

enum kiln_run_verdict kiln_run_report_print(const struct kiln_run_report *report, bool json)
{
    const struct kiln_graph *graph = report->graph;
    struct finding *findings = kiln_cli_calloc(graph->tensor_count, sizeof(*findings));
    struct kiln_table table;
    kiln_table_init(&table, COLUMN_COUNT, COLUMNS_ALIGNED_RIGHT);
    add_heading(&table, report->reference != NULL);
    json_t *outputs = kiln_json_array();
    bool is_wrong = false;
    int64_t elements = 0, unjudged = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        findings[i].tensor = &graph->tensors[i];
        if (graph->tensors[i].role == KILN_TENSOR_OUTPUT) {
            findings[i] = examine(report, i);
            add_row(&table, report, &findings[i]);
            kiln_json_append(outputs, finding_json(report, &findings[i]));
            elements += findings[i].comparison.elements;
            unjudged += findings[i].comparison.unchecked;
        } else if (report->memories[i].tensor) {
            findings[i].stray_bytes = kiln_tensor_memory_stray_bytes(&report->memories[i]);
        }
        is_wrong = is_wrong || !is_good(&findings[i]);
    }
    enum kiln_run_verdict verdict = is_wrong        ? KILN_RUN_WRONG
                                    : unjudged != 0 ? KILN_RUN_UNJUDGED
                                                    : KILN_RUN_GOOD;
    if (json) {
        print_json(report, outputs, verdict, unjudged);
    } else {
        json_decref(outputs);
        print_head(report);
        if (report->profiles)
            kiln_kernel_profiles_print(report->profiles, report->kernels);
        kiln_table_print(&table);
        if (report->reference)
            print_verdict(verdict, elements, unjudged);
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        explain_failure(&findings[i]);
    kiln_table_fini(&table);
    free(findings);
    return verdict;
}
