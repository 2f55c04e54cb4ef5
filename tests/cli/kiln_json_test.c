/* Every document that --json prints has the members that docs/json.md lists, and no others. */
#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(kiln_json, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 120);

enum { MOST_ROWS = 64 };

/* A row of a table in the document. */
struct row {
    char paths[512]; /* `a.{b,c}[]`, with others after commas */
    char types[64];  /* "integer or null" */
    bool is_optional;
    bool is_seen;
};

struct section {
    struct row rows[MOST_ROWS];
    size_t count;
    char empty[16][128]; /* arrays without elements, and nulls: nothing below them is seen */
    size_t empty_count;
};

static void read_section(const char *name, struct section *section)
{
    char line[2048];
    char heading[128];
    bool is_it = false;
    FILE *file = fopen(KILN_JSON_DOCUMENT, "r");
    cr_assert(file);
    (void)snprintf(heading, sizeof(heading), "## %s\n", name);
    memset(section, 0, sizeof(*section));
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "## ", 3) == 0)
            is_it = strcmp(line, heading) == 0;
        if (!is_it || strncmp(line, "| `", 3) != 0)
            continue;
        cr_assert_lt(section->count, MOST_ROWS);
        struct row *row = &section->rows[section->count++];
        char meaning[1024] = "";
        int cells = sscanf(line, "| %511[^|]| %63[^|]| %1023[^|]", row->paths, row->types, meaning);
        cr_assert_geq(cells, 2, "%s", line);
        row->is_optional = strncmp(meaning, "only ", 5) == 0;
    }
    (void)fclose(file);
    cr_assert_gt(section->count, 0, "docs/json.md has no section '%s'", name);
}

/* True when the pattern, with one of the names in each of its braces, is the path. */
static bool matches(const char *pattern, size_t length, const char *path)
{
    const char *open = memchr(pattern, '{', length);
    if (open == NULL)
        return strlen(path) == length && strncmp(pattern, path, length) == 0;
    size_t before = (size_t)(open - pattern);
    const char *close = memchr(open, '}', length - before);
    cr_assert(close);
    if (strncmp(pattern, path, before) != 0)
        return false;
    size_t after = length - (size_t)(close + 1 - pattern);
    for (const char *name = open + 1; name <= close; name += strcspn(name, ",}") + 1) {
        size_t name_length = strcspn(name, ",}");
        if (strncmp(path + before, name, name_length) == 0 &&
            matches(close + 1, after, path + before + name_length))
            return true;
    }
    return false;
}

static bool has_path(const struct row *row, const char *path)
{
    for (const char *at = strchr(row->paths, '`'); at; at = strchr(at, '`')) {
        const char *end = strchr(at + 1, '`');
        cr_assert(end, "%s", row->paths);
        if (matches(at + 1, (size_t)(end - at - 1), path))
            return true;
        at = end + 1;
    }
    return false;
}

static const char *type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return "text";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    default:
        return "null";
    }
}

static void check_leaf(struct section *section, const char *path, const json_t *value)
{
    const char *type = type_of(value);
    bool is_known = false;
    bool is_fitting = false;
    for (size_t i = 0; i < section->count; i++) {
        struct row *row = &section->rows[i];
        if (!has_path(row, path))
            continue;
        bool fits =
            strstr(row->types, type) || (json_is_integer(value) && strstr(row->types, "number"));
        row->is_seen = row->is_seen || fits;
        is_known = true;
        is_fitting = is_fitting || fits;
    }
    cr_expect(is_known, "docs/json.md lacks '%s'", path);
    cr_expect(!is_known || is_fitting, "'%s' is %s", path, type);
}

static void note_empty(struct section *section, const char *path)
{
    if (section->empty_count < sizeof(section->empty) / sizeof(section->empty[0]))
        (void)snprintf(section->empty[section->empty_count++], sizeof(section->empty[0]), "%s",
                       path);
}

static void check_value(struct section *section, const char *path, const json_t *value)
{
    char below[512];
    if (json_is_object(value)) {
        const char *name;
        json_t *member;
        json_object_foreach((json_t *)value, name, member)
        {
            (void)snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", name);
            check_value(section, below, member);
        }
    } else if (json_is_array(value)) {
        (void)snprintf(below, sizeof(below), "%s[]", path);
        for (size_t i = 0; i < json_array_size(value); i++)
            check_value(section, below, json_array_get(value, i));
        if (json_array_size(value) == 0)
            note_empty(section, below);
    } else {
        check_leaf(section, path, value);
    }
}

/* True for a row whose members are below an array that no document had elements of. */
static bool is_below_empty(const struct section *section, const struct row *row)
{
    for (size_t i = 0; i < section->empty_count; i++)
        if (strncmp(row->paths + 1, section->empty[i], strlen(section->empty[i])) == 0)
            return true;
    return false;
}

static void check_all_seen(const struct section *section)
{
    for (size_t i = 0; i < section->count; i++) {
        const struct row *row = &section->rows[i];
        cr_expect(row->is_seen || row->is_optional || is_below_empty(section, row),
                  "no document has %s", row->paths);
    }
}

static void check_output(struct section *section, struct kiln_process kiln)
{
    json_t *document = parse_json(kiln.out);
    cr_expect_str_eq(json_object_iter_key(json_object_iter(document)), "schema_version");
    check_value(section, "", document);
    json_decref(document);
}

/* Runs each command line and compares what it prints with the section. */
#define CHECK(name, ...)                                                                           \
    do {                                                                                           \
        struct section section;                                                                    \
        read_section(name, &section);                                                              \
        struct kiln_process outputs[] = {__VA_ARGS__};                                             \
        for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++)                            \
            check_output(&section, outputs[i]);                                                    \
        check_all_seen(&section);                                                                  \
    } while (0)

static const char *sample(void)
{
    return sample_path("current/residual_add_relu_fp32.json");
}

Test(kiln_json, errors)
{
    CHECK("Errors", KILN("run", "missing", "--json"), KILN("cache", "shwo", "--json"));
}

Test(kiln_json, small_commands)
{
    CHECK("kiln version", KILN("version", "--json"));
    CHECK("kiln config", KILN("config", "--json"));
    CHECK("kiln targets", KILN("targets", "--json"));
    CHECK("kiln bench --list", KILN("bench", "--list", "--json"));
    CHECK("kiln bench --list --sweep shapes",
          KILN("bench", "--list", "--sweep", "shapes", "--json"));
    CHECK("kiln bench --save-graphs", KILN("bench", "-n", "4096", "--save-graphs",
                                           temporary_path("saved"), "row_sum", "--json"));
}

Test(kiln_json, compile)
{
    CHECK("kiln compile",
          KILN("compile", "-t", "host", "--shard", "1/1", "--json", sample(), "missing"),
          KILN("compile", "-t", "host", "--json", "-q", sample()));
}

Test(kiln_json, run_and_explain)
{
    const char *scalar = sample_path("current/runtime_scalar_axpy_fp32.json");
    CHECK("kiln run", KILN("run", "-d", "host", "--verify", "--profile", "--json", sample()),
          KILN("run", "-d", "host", "--json", sample()));
    CHECK("kiln explain",
          KILN("explain", "-t", "host", "--no-fusion", "--ir", "--source", "--isa", "--json",
               sample()),
          KILN("explain", "-t", "gfx1100", "--json", scalar));
}

Test(kiln_json, bench)
{
    const char *report = temporary_path("report.json");
    CHECK("kiln bench",
          KILN("bench", "-d", "host", "-n", "4096", "--samples", "1", "--json", "--report", report,
               "row_sum_fp32"),
          KILN("bench", "-d", "host", "-n", "4096", "--samples", "1", "--json", "--sweep", "shapes",
               "row_sum_fp16_257"));
    CHECK("kiln bench --compare", KILN("bench", "--json", "--compare", report, report));
}

Test(kiln_json, cache)
{
    char pack[1024];
    char key[33] = "";
    char kernel[33] = "";
    (void)snprintf(pack, sizeof(pack), "%s", temporary_path("pack"));
    cr_assert_eq(KILN("compile", "-q", "-t", "host", sample()).exit_code, 0);
    CHECK("kiln cache stats", KILN("cache", "stats", "--json"));
    struct kiln_process list = KILN("cache", "ls", "--json");
    CHECK("kiln cache ls", list);
    json_t *document = parse_json(list.out);
    const json_t *entries = json_object_get(document, "entries");
    cr_assert_eq(json_array_size(entries), 2);
    (void)snprintf(key, sizeof(key), "%s", text_member(json_array_get(entries, 0), "key"));
    (void)snprintf(kernel, sizeof(kernel), "%s", text_member(json_array_get(entries, 1), "key"));
    json_decref(document);
    CHECK("kiln cache show", KILN("cache", "show", key, "--json"),
          KILN("cache", "show", kernel, "--json"));
    CHECK("kiln cache why", KILN("cache", "why", sample(), "-t", "host", "--json"),
          KILN("cache", "why", sample(), "-t", "gfx1100", "--json"));
    CHECK("kiln cache verify", KILN("cache", "verify", "--json"),
          KILN("cache", "verify", "missing", "--json"));
    CHECK("kiln cache export", KILN("cache", "export", pack, "--json"),
          KILN("cache", "merge", temporary_path("merged"), pack, "--json"));
    CHECK("kiln cache import", KILN("cache", "import", pack, "--json"));
    CHECK("kiln cache prune", KILN("cache", "prune", "--json"),
          KILN("cache", "prune", "--stale", "--json"));
    CHECK("kiln cache clear", KILN("cache", "clear", "--json"));
}

Test(kiln_json, doctor)
{
    CHECK("kiln doctor", KILN("doctor", "--device", "host", "--json"));
}

/* Commands with options, in the order of the table. */
static const struct {
    const char *command;
    const char *option;
} options[] = {
#define KILN_OPTION(command, id, name, letter, argument, text) {#command, name},
#include "cli/cli_options.def"
};

Test(kiln_json, every_command_has_a_section)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        char name[64] = "kiln ";
        struct section section;
        for (const char *at = options[i].command; *at; at++)
            name[strlen(name)] = (char)tolower((unsigned char)*at);
        if (strcmp(options[i].option, "json") == 0 && strcmp(options[i].command, "CACHE") != 0)
            read_section(name, &section);
    }
}

static const char *const cache_actions[] = {
#define KILN_CACHE_ACTION(name, operands, least, most, options, needs, run, text) #name,
#include "cli/cache/cache_actions.def"
};

Test(kiln_json, every_action_of_the_cache_has_a_section)
{
    for (size_t i = 0; i < sizeof(cache_actions) / sizeof(*cache_actions); i++) {
        char name[64];
        struct section section;
        (void)snprintf(name, sizeof(name), "kiln cache %s", cache_actions[i]);
        if (strcmp(cache_actions[i], "merge") != 0)
            read_section(name, &section);
    }
}
