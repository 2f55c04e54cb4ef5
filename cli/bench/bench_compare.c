#include "cli/bench/bench_compare.h"

#include "cli/input_file.h"
#include "cli/message.h"
#include "cli/table.h"
#include "cli/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIRST, SECOND, SIDES, LEAST_SAMPLES = 3 };
#define MOST_BYTES ((size_t)256 << 20)

enum verdict { FASTER, SLOWER, WITHIN_NOISE, UNSURE, VERDICT_COUNT };

static const char *const verdict_texts[] = {
    [FASTER] = "faster",
    [SLOWER] = "slower",
    [WITHIN_NOISE] = "within noise",
    [UNSURE] = "too few samples",
};

/* One case that both files have. */
struct comparison {
    double us[SIDES];
    double ratio;
    double noise; /* of the ratio */
    enum verdict verdict;
};

static enum kiln_status check_document(const char *path, const json_t *document,
                                       struct kiln_error *error)
{
    const json_t *version = json_object_get(document, "schema_version");
    const json_t *results = json_object_get(document, "results");
    const char *wrong = NULL;
    if (!json_is_array(results) || !json_is_string(json_object_get(document, "device")))
        wrong = "it has no 'device' and no 'results'";
    else if (!json_is_integer(version))
        wrong = "it has no 'schema_version'";
    for (size_t i = 0; wrong == NULL && i < json_array_size(results); i++)
        if (!json_is_string(json_object_get(json_array_get(results, i), "name")))
            wrong = "a result has no 'name'";
    if (wrong != NULL) {
        (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "'%s' is no result of 'kiln bench': %s",
                             path, wrong);
        kiln_error_hint(error, "'kiln bench --json' and '--report FILE' write results");
        return error->status;
    }
    if (json_integer_value(version) == KILN_JSON_SCHEMA_VERSION)
        return KILN_OK;
    (void)kiln_error_set(error, KILN_BAD_ARGUMENT,
                         "'%s' has schema version %" JSON_INTEGER_FORMAT ", and this kiln reads %d",
                         path, json_integer_value(version), KILN_JSON_SCHEMA_VERSION);
    kiln_error_hint(error, "measure both with one version of kiln");
    return error->status;
}

static enum kiln_status read_results(const char *path, json_t **ret_document,
                                     struct kiln_error *error)
{
    struct kiln_buffer text;
    json_error_t why;
    kiln_buffer_init(&text);
    enum kiln_status status = kiln_input_file_read(path, MOST_BYTES, &text, error);
    if (status == KILN_OK) {
        json_t *document = json_loadb((const char *)text.data, text.size, 0, &why);
        if (document == NULL)
            status = kiln_error_set(error, KILN_BAD_ARGUMENT,
                                    "'%s' is no result of 'kiln bench': it is no JSON: %s in line "
                                    "%d",
                                    path, why.text, why.line);
        else
            status = check_document(path, document, error);
        if (status == KILN_OK)
            *ret_document = document;
        else
            json_decref(document);
    }
    kiln_buffer_fini(&text);
    return status;
}

/* Members that the file may lack, or that may be of another kind: "" and 0. */
static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *name)
{
    double number = json_number_value(json_object_get(object, name));
    return isfinite(number) && number > 0 ? number : 0;
}

static const json_t *time_of(const json_t *result)
{
    return json_object_get(json_object_get(result, "fused"), "time");
}

static json_int_t elements_of(const json_t *result)
{
    return json_integer_value(json_object_get(result, "elements"));
}

static const json_t *find(const json_t *results, const json_t *wanted)
{
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        if (elements_of(result) == elements_of(wanted) &&
            strcmp(text_of(result, "name"), text_of(wanted, "name")) == 0)
            return result;
    }
    return NULL;
}

static bool is_measured(const json_t *result)
{
    return number_of(time_of(result), "median_us") > 0;
}

static struct comparison compare(const json_t *const results[SIDES])
{
    struct comparison comparison = {.verdict = WITHIN_NOISE};
    double squares = 0;
    for (int side = 0; side < SIDES; side++) {
        const json_t *time = time_of(results[side]);
        comparison.us[side] = number_of(time, "median_us");
        double spread = number_of(time, "high_us") - number_of(time, "low_us");
        double noise = spread / 2 / comparison.us[side];
        squares += noise * noise;
        if (number_of(time, "samples") < (double)LEAST_SAMPLES)
            comparison.verdict = UNSURE;
    }
    comparison.ratio = comparison.us[SECOND] / comparison.us[FIRST];
    comparison.noise = sqrt(squares);
    if (comparison.verdict != UNSURE && fabs(comparison.ratio - 1) > comparison.noise)
        comparison.verdict = comparison.ratio < 1 ? FASTER : SLOWER;
    return comparison;
}

/* Appends the names of what `results` has measured and `others` have not. */
static json_t *names_only_in(const json_t *results, const json_t *others)
{
    json_t *names = kiln_json_array();
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const json_t *other = find(others, result);
        if (is_measured(result) && !(other && is_measured(other)))
            kiln_json_append(names, kiln_json_text(text_of(result, "name")));
    }
    return names;
}

static bool warn_of_devices(json_t *const documents[SIDES])
{
    static const char *const members[] = {"device", "target", "device_name", "cpu", "host"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *first = text_of(documents[FIRST], members[i]);
        const char *second = text_of(documents[SECOND], members[i]);
        if (strcmp(first, second) == 0)
            continue;
        kiln_message_warning("the results are of different machines: %s '%s' and '%s'", members[i],
                             first, second);
        return true;
    }
    return false;
}

static void add_row(struct kiln_table *table, const json_t *result,
                    const struct comparison *comparison)
{
    kiln_table_add(table, "%s", text_of(result, "name"));
    kiln_table_add(table, "%" JSON_INTEGER_FORMAT, elements_of(result));
    kiln_table_add(table, "%.4g", comparison->us[FIRST]);
    kiln_table_add(table, "%.4g", comparison->us[SECOND]);
    kiln_table_add(table, "%.4g", comparison->ratio);
    kiln_table_add(table, "%.3g%%", 100 * comparison->noise);
    kiln_table_add(table, "%s", verdict_texts[comparison->verdict]);
}

static json_t *row_to_json(const json_t *result, const struct comparison *comparison)
{
    json_t *row = kiln_json_object();
    kiln_json_set(row, "name", kiln_json_text(text_of(result, "name")));
    kiln_json_set(row, "elements", json_integer(elements_of(result)));
    kiln_json_set(row, "first_us", kiln_json_real(comparison->us[FIRST]));
    kiln_json_set(row, "second_us", kiln_json_real(comparison->us[SECOND]));
    kiln_json_set(row, "ratio", kiln_json_real(comparison->ratio));
    kiln_json_set(row, "noise", kiln_json_real(comparison->noise));
    kiln_json_set(row, "verdict", json_string(verdict_texts[comparison->verdict]));
    return row;
}

static void print_only(const char *path, const json_t *names)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        fputs(i == 0 ? "measured only in '" : ", ", stdout);
        if (i == 0) {
            kiln_text_write(stdout, path, false);
            fputs("': ", stdout);
        }
        kiln_text_write(stdout, json_string_value(json_array_get(names, i)), false);
    }
    if (json_array_size(names) != 0)
        putchar('\n');
}

/* All cases together. */
struct summary {
    size_t verdicts[VERDICT_COUNT];
    size_t count;
    double logarithms; /* sum of the logarithms of the ratios */
};

static void print_summary(const struct summary *summary)
{
    printf("%zu compared: %zu faster, %zu slower, %zu within noise, %zu with too few samples",
           summary->count, summary->verdicts[FASTER], summary->verdicts[SLOWER],
           summary->verdicts[WITHIN_NOISE], summary->verdicts[UNSURE]);
    printf("; geometric mean of the ratios %.4g\n",
           exp(summary->logarithms / (double)summary->count));
}

static enum kiln_status refuse_strangers(const char *const paths[SIDES], struct kiln_error *error)
{
    (void)kiln_error_set(error, KILN_NOT_FOUND, "'%.200s' and '%.200s' have no case in common",
                         paths[FIRST], paths[SECOND]);
    kiln_error_hint(error, "cases are compared that both have measured, with the same name and "
                           "number of elements");
    return error->status;
}

static enum kiln_status print(json_t *const documents[SIDES], const char *const paths[SIDES],
                              bool json, struct kiln_error *error)
{
    static const char *const headings[] = {"case",  "elements", "first us", "second us",
                                           "ratio", "noise",    "second is"};
    enum { COLUMNS = sizeof headings / sizeof *headings };
    const json_t *results[SIDES];
    for (int side = 0; side < SIDES; side++)
        results[side] = json_object_get(documents[side], "results");
    bool differ = warn_of_devices(documents);
    struct summary summary = {.count = 0};
    struct kiln_table table;
    json_t *rows = kiln_json_array();
    kiln_table_init(&table, COLUMNS, 0x3e);
    for (size_t i = 0; i < COLUMNS; i++)
        kiln_table_add(&table, "%s", headings[i]);
    for (size_t i = 0; i < json_array_size(results[FIRST]); i++) {
        const json_t *pair[SIDES] = {json_array_get(results[FIRST], i)};
        pair[SECOND] = find(results[SECOND], pair[FIRST]);
        if (pair[SECOND] == NULL || !is_measured(pair[FIRST]) || !is_measured(pair[SECOND]))
            continue;
        const struct comparison comparison = compare(pair);
        summary.count++;
        summary.verdicts[comparison.verdict]++;
        summary.logarithms += log(comparison.ratio);
        add_row(&table, pair[FIRST], &comparison);
        kiln_json_append(rows, row_to_json(pair[FIRST], &comparison));
    }
    if (summary.count == 0) {
        json_decref(rows);
        kiln_table_fini(&table);
        return refuse_strangers(paths, error);
    }
    json_t *only[SIDES];
    for (int side = 0; side < SIDES; side++)
        only[side] = names_only_in(results[side], results[SIDES - 1 - side]);
    if (json) {
        json_t *document = kiln_json_object();
        kiln_json_set(document, "first", kiln_json_text(paths[FIRST]));
        kiln_json_set(document, "second", kiln_json_text(paths[SECOND]));
        kiln_json_set(document, "is_same_machine", json_boolean(!differ));
        kiln_json_set(document, "cases", rows);
        kiln_json_set(document, "only_in_first", only[FIRST]);
        kiln_json_set(document, "only_in_second", only[SECOND]);
        kiln_json_print(document);
    } else {
        kiln_table_print(&table);
        print_summary(&summary);
        for (int side = 0; side < SIDES; side++) {
            print_only(paths[side], only[side]);
            json_decref(only[side]);
        }
        json_decref(rows);
    }
    kiln_table_fini(&table);
    return KILN_OK;
}

enum kiln_status kiln_bench_compare(const char *first_path, const char *second_path, bool json,
                                    struct kiln_error *error)
{
    const char *const paths[SIDES] = {first_path, second_path};
    json_t *documents[SIDES] = {NULL};
    enum kiln_status status = KILN_OK;
    for (int side = 0; side < SIDES && status == KILN_OK; side++)
        status = read_results(paths[side], &documents[side], error);
    if (status == KILN_OK)
        status = print(documents, paths, json, error);
    for (int side = 0; side < SIDES; side++)
        json_decref(documents[side]);
    return status;
}
