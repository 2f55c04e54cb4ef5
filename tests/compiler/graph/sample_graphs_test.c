/*
 * Every shared sample graph: the verdict must be the manifest's. Both layouts in turn; where the
 * samples are not there, the tests say so and pass.
 */
#include "json_graph.h"

#include "compiler/graph/graph_json.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/support/file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

TestSuite(sample_graphs, .timeout = 120);

struct totals {
    unsigned accepted;
    unsigned declined;
};

static bool is_declined(const char *description)
{
    return strstr(description, "\"expect\": \"decline\"") != NULL;
}

static void check_accepted(const struct json_graph *read, const struct kiln_buffer *bytes,
                           const char *path)
{
    struct kiln_buffer form;
    struct kiln_buffer written;
    struct kiln_buffer form_again;
    struct kiln_buffer dump;
    struct kiln_error error;
    struct json_graph again;
    cr_assert_eq(read->status, KILN_OK, "%s: %s", path, read->error.text);
    check_invariants(&read->graph);
    kiln_buffer_init(&form);
    kiln_buffer_init(&written);
    kiln_buffer_init(&form_again);
    kiln_buffer_init(&dump);
    kiln_error_init(&error);
    kiln_graph_append_canonical(&read->graph, &form);
    kiln_graph_print(&read->graph, &dump);
    cr_assert(!dump.failed && dump.size > 0);
    cr_assert_eq(kiln_graph_write(&read->graph, read->graph.era, &written, &error), KILN_OK,
                 "%s: %s", path, error.text);
    json_graph_init_bytes(&again, written.data, written.size);
    cr_assert_eq(again.status, KILN_OK, "%s: %s", path, again.error.text);
    kiln_graph_append_canonical(&again.graph, &form_again);
    cr_assert(form.size == form_again.size && memcmp(form.data, form_again.data, form.size) == 0,
              "%s", path);
    json_graph_fini(&again);

    /* Through JSON, too. */
    kiln_buffer_clear(&dump);
    kiln_buffer_clear(&written);
    kiln_buffer_clear(&form_again);
    enum kiln_wire_era era = read->graph.era;
    cr_assert_eq(kiln_graph_json_from_bytes(bytes->data, bytes->size, &dump, &error), KILN_OK,
                 "%s: %s", path, error.text);
    cr_assert_eq(kiln_graph_json_to_bytes(dump.data, dump.size, &era, &written, &era, &error),
                 KILN_OK, "%s: %s", path, error.text);
    json_graph_init_bytes(&again, written.data, written.size);
    cr_assert_eq(again.status, KILN_OK, "%s: %s", path, again.error.text);
    kiln_graph_append_canonical(&again.graph, &form_again);
    cr_assert(form.size == form_again.size && memcmp(form.data, form_again.data, form.size) == 0,
              "%s", path);
    json_graph_fini(&again);
    kiln_buffer_fini(&form);
    kiln_buffer_fini(&written);
    kiln_buffer_fini(&form_again);
    kiln_buffer_fini(&dump);
}

static void check_sample(const char *directory, const char *file, enum kiln_wire_era era,
                         struct totals *totals)
{
    char path[1024];
    struct kiln_buffer bytes;
    struct kiln_buffer description;
    struct kiln_error error;
    kiln_buffer_init(&bytes);
    kiln_buffer_init(&description);
    kiln_error_init(&error);
    size_t stem = strlen(file) - strlen(".bin");
    snprintf(path, sizeof path, "%s/%.*s.json", directory, (int)stem, file);
    cr_assert_eq(kiln_file_read(path, 64 << 20, &description, &error), KILN_OK, "%s", error.text);
    snprintf(path, sizeof path, "%s/%s", directory, file);
    cr_assert_eq(kiln_file_read(path, 64 << 20, &bytes, &error), KILN_OK, "%s", error.text);

    struct json_graph read;
    json_graph_init_bytes(&read, bytes.data, bytes.size);
    if (is_declined(description.data)) {
        totals->declined++;
        cr_assert_eq(read.status, KILN_REJECTED, "%s", path);
        cr_assert_neq(read.error.reject_reason, KILN_REJECT_NONE);
        cr_assert_neq(read.error.reject_reason, KILN_REJECT_MALFORMED, "%s: the bytes are fine",
                      path);
        cr_assert_gt(strlen(read.error.text), 10);
    } else {
        totals->accepted++;
        check_accepted(&read, &bytes, path);
        cr_assert_eq(read.graph.era, era, "%s", path);
    }
    json_graph_fini(&read);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&description);
}

static void check_directory(const char *directory, enum kiln_wire_era era)
{
    DIR *listing = opendir(directory);
    if (listing == NULL)
        cr_skip("no sample graphs in '%s'", directory);
    struct totals totals = {0};
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".bin") == 0)
            check_sample(directory, entry->d_name, era, &totals);
    }
    closedir(listing);
    cr_log_info("%u accepted, %u declined", totals.accepted, totals.declined);
    cr_assert_gt(totals.accepted, 0);
}

Test(sample_graphs, nov2025)
{
    check_directory(KILN_SAMPLE_GRAPHS "/nov2025", KILN_WIRE_ERA_NOV2025);
}

Test(sample_graphs, current)
{
    check_directory(KILN_SAMPLE_GRAPHS "/current", KILN_WIRE_ERA_CURRENT);
}

/* The graphs of the repository's own samples/, in JSON. */
static void check_json_directory(const char *directory, enum kiln_wire_era era, unsigned least)
{
    unsigned accepted = 0;
    DIR *listing = opendir(directory);
    cr_assert_not_null(listing, "%s", directory);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".json") != 0)
            continue;
        char path[1024];
        struct kiln_buffer text;
        struct kiln_error error;
        struct json_graph read;
        kiln_buffer_init(&text);
        kiln_error_init(&error);
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        cr_assert_eq(kiln_file_read(path, 1 << 20, &text, &error), KILN_OK, "%s", error.text);
        json_graph_accept(&read, kiln_buffer_text(&text), NULL);
        cr_assert_eq(read.graph.era, era, "%s", path);
        cr_assert_eq(strlen(read.graph.name), length - 5);
        cr_assert_eq(strncmp(read.graph.name, entry->d_name, length - 5), 0, "%s", path);
        json_graph_fini(&read);
        kiln_buffer_fini(&text);
        accepted++;
    }
    closedir(listing);
    cr_assert_geq(accepted, least);
}

Test(sample_graphs, of_the_repository)
{
    check_json_directory(KILN_SAMPLES "/nov2025", KILN_WIRE_ERA_NOV2025, 6);
    check_json_directory(KILN_SAMPLES "/current", KILN_WIRE_ERA_CURRENT, 40);
}

/* What single declined samples are declined for. */
Test(sample_graphs, reasons)
{
    static const struct {
        const char *file;
        enum kiln_reject_reason reason;
    } rows[] = {
        {"no_custom_op", KILN_REJECT_UNSUPPORTED_NODE},
        {"no_union_type_255", KILN_REJECT_UNKNOWN_NODE},
        {"no_union_value_missing", KILN_REJECT_MISSING_ATTRIBUTES},
        {"no_no_nodes", KILN_REJECT_NO_NODES},
        {"no_no_tensors", KILN_REJECT_NO_TENSORS},
        {"no_missing_tensor", KILN_REJECT_UNKNOWN_UID},
        {"no_missing_operand", KILN_REJECT_MISSING_OPERAND},
        {"no_data_type_99", KILN_REJECT_UNKNOWN_TYPE},
        {"no_duplicate_uid", KILN_REJECT_DUPLICATE_UID},
        {"no_negative_dim", KILN_REJECT_DIMENSION},
        {"no_dims_overflow", KILN_REJECT_TOO_LARGE},
        {"no_api_level_1_9_0", KILN_REJECT_API_VERSION},
        {"no_ragged_add", KILN_REJECT_RAGGED},
        {"no_bn_training_peer_stats", KILN_REJECT_PEER_STATISTICS},
        {"no_reduction_mode_unset", KILN_REJECT_UNKNOWN_MODE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[1024];
        struct kiln_buffer bytes;
        struct kiln_error error;
        snprintf(path, sizeof path, KILN_SAMPLE_GRAPHS "/current/%s.bin", rows[i].file);
        kiln_buffer_init(&bytes);
        kiln_error_init(&error);
        if (kiln_file_read(path, 64 << 20, &bytes, &error) != KILN_OK)
            cr_skip("%s", error.text);
        struct json_graph read;
        json_graph_init_bytes(&read, bytes.data, bytes.size);
        cr_assert_str_eq(kiln_reject_name(read.error.reject_reason),
                         kiln_reject_name(rows[i].reason), "%s: %s", path, read.error.text);
        json_graph_fini(&read);
        kiln_buffer_fini(&bytes);
    }
}
