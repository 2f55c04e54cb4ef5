#include "runtime/engine/miss_reason.h"

#include "compiler/codegen/codegen.h"
#include "compiler/graph/canonical_reader.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/program.h"
#include "runtime/support/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Nodes of graphs that are compared line by line for one miss: lowering one graph takes longer.
     */
    COMPARED_NODES = 4096,
    TOLD_LINES = 3,
    TOLD_LINE_BYTES = 160,
};

const char *kiln_program_field_name(unsigned field)
{
    switch (field) {
    case KILN_PROGRAM_FIELD_GRAPH:
        return "graph";
    case KILN_PROGRAM_FIELD_TARGET:
        return "target";
    case KILN_PROGRAM_FIELD_TEMPLATES:
        return "templates";
    case KILN_PROGRAM_FIELD_COMPILE_OPTIONS:
        return "compile options";
    default:
        return "options";
    }
}

/* The missing program as an entry would have it. */
struct wanted {
    const struct kiln_missing_program *missing;
    struct kiln_arena arena;
    struct kiln_graph graph; /* without names and uids */
    struct kiln_buffer dump; /* of the graph */
    struct kiln_hash128 graph_hash;
    struct kiln_hash128 shape_hash;
    struct kiln_buffer compile_options;
    struct kiln_buffer options;
};

static void wanted_fini(struct wanted *wanted)
{
    kiln_arena_fini(&wanted->arena);
    kiln_buffer_fini(&wanted->compile_options);
    kiln_buffer_fini(&wanted->options);
    kiln_buffer_fini(&wanted->dump);
}

static enum kiln_status wanted_init(struct wanted *wanted,
                                    const struct kiln_missing_program *missing,
                                    struct kiln_error *error)
{
    struct kiln_buffer canonical;
    *wanted = (struct wanted){.missing = missing};
    kiln_arena_init(&wanted->arena);
    kiln_buffer_init(&wanted->compile_options);
    kiln_buffer_init(&wanted->options);
    kiln_buffer_init(&wanted->dump);
    kiln_buffer_init(&canonical);
    kiln_graph_append_canonical(missing->graph, &canonical);
    kiln_codegen_append_options(missing->target, &wanted->compile_options);
    kiln_lower_options_append_key(missing->options, &wanted->options);
    enum kiln_status status = kiln_buffer_check(&canonical, error);
    if (status == KILN_OK)
        status = kiln_buffer_check(&wanted->compile_options, error);
    if (status == KILN_OK)
        status = kiln_buffer_check(&wanted->options, error);
    if (status == KILN_OK)
        status = kiln_graph_read_canonical(canonical.data, canonical.size, &wanted->arena,
                                           &wanted->graph, error);
    if (status == KILN_OK)
        status = kiln_graph_hash(missing->graph, &wanted->graph_hash, error);
    if (status == KILN_OK)
        status = kiln_graph_hash_shape(&wanted->graph, &wanted->shape_hash, error);
    if (status == KILN_OK) {
        kiln_graph_print(&wanted->graph, &wanted->dump);
        status = kiln_buffer_check(&wanted->dump, error);
    }
    kiln_buffer_fini(&canonical);
    return status;
}

static bool is_equal_hash(struct kiln_hash128 one, struct kiln_hash128 other)
{
    return one.high == other.high && one.low == other.low;
}

static unsigned differing_fields(const struct wanted *wanted,
                                 const struct kiln_known_program *program)
{
    const struct kiln_program_key *key = &program->key;
    unsigned fields = 0;
    if (!is_equal_hash(program->graph_hash, wanted->graph_hash))
        fields |= KILN_PROGRAM_FIELD_GRAPH;
    if (strcmp(key->target, wanted->missing->target->name) != 0)
        fields |= KILN_PROGRAM_FIELD_TARGET;
    if (strcmp(key->templates_digest, kiln_templates_digest()) != 0)
        fields |= KILN_PROGRAM_FIELD_TEMPLATES;
    /* The options of another target have other names. */
    if (!(fields & KILN_PROGRAM_FIELD_TARGET) &&
        strcmp(key->compile_options, kiln_buffer_text(&wanted->compile_options)) != 0)
        fields |= KILN_PROGRAM_FIELD_COMPILE_OPTIONS;
    struct kiln_buffer options;
    kiln_buffer_init(&options);
    struct kiln_lower_options known = key->options;
    if (wanted->missing->options->shapes == KILN_SHAPES_AUTO) /* either form would do */
        known.shapes = KILN_SHAPES_AUTO;
    kiln_lower_options_append_key(&known, &options);
    if (options.size != wanted->options.size ||
        (options.size && memcmp(options.data, wanted->options.data, options.size) != 0))
        fields |= KILN_PROGRAM_FIELD_LOWER_OPTIONS;
    kiln_buffer_fini(&options);
    return fields;
}

/* ---- what differs, in words ---- */

static void append_fields(const struct wanted *wanted, const struct kiln_known_program *program,
                          unsigned fields, struct kiln_buffer *text)
{
    const char *build = *program->build ? program->build : "another build of Kiln";
    if (fields & KILN_PROGRAM_FIELD_TARGET)
        kiln_buffer_printf(text, ", for target %s and not %s", program->key.target,
                           wanted->missing->target->name);
    if (fields & KILN_PROGRAM_FIELD_TEMPLATES)
        kiln_buffer_printf(text,
                           ", made by %s, whose templates or generators differ from those of "
                           "this build, %s",
                           build, kiln_version.text);
    if (fields & KILN_PROGRAM_FIELD_COMPILE_OPTIONS)
        kiln_buffer_printf(text, ", with compile options '%s' and not '%s'",
                           program->key.compile_options,
                           kiln_buffer_text(&wanted->compile_options));
    if (fields & KILN_PROGRAM_FIELD_LOWER_OPTIONS)
        kiln_buffer_append_text(text, ", with other options of lowering (fusion, schedule, tiles)");
}

/* A line of a graph's dump without its uid and name: the form has none. Returns its length. */
static size_t line_length(const char *line, const char *end)
{
    size_t length = (size_t)(end - line);
    for (size_t i = 0; i + 5 <= length; i++)
        if (memcmp(line + i, " uid ", 5) == 0)
            return i;
    return length > 3 && memcmp(line + length - 3, " ''", 3) == 0 ? length - 3 : length;
}

struct comparison {
    uint32_t lines;           /* that differ */
    struct kiln_buffer *text; /* NULL: they are counted only */
};

static void compare_line(struct comparison *comparison, const char *line, size_t length,
                         const char *other, size_t other_length)
{
    if (length == other_length && memcmp(line, other, length) == 0)
        return;
    comparison->lines++;
    if (!comparison->text || comparison->lines > TOLD_LINES)
        return;
    /* "%0 = input half [64,1024] strides [1024,1] align 16" */
    const char *equals = memchr(line, '=', length);
    const char *other_equals = memchr(other, '=', other_length);
    if (!equals || !other_equals)
        return;
    size_t name = (size_t)(equals - line) - 1;
    size_t tail = length - name - 3;
    size_t other_tail = other_length - (size_t)(other_equals - other) - 2;
    kiln_buffer_printf(
        comparison->text, "%s %.*s there: %.*s, here: %.*s", comparison->lines == 1 ? "," : ";",
        (int)name, line, (int)(other_tail < TOLD_LINE_BYTES ? other_tail : TOLD_LINE_BYTES),
        other_equals + 2, (int)(tail < TOLD_LINE_BYTES ? tail : TOLD_LINE_BYTES), equals + 2);
}

/* Both dumps have as many lines: the graphs have as many tensors and nodes. */
static void compare_dumps(struct comparison *comparison, const struct kiln_buffer *ours,
                          const struct kiln_buffer *other)
{
    const char *line = kiln_buffer_text(ours);
    const char *other_line = kiln_buffer_text(other);
    const char *end;
    const char *other_end;
    bool is_head = true; /* "graph '' (current layout): 4 tensors, 2 nodes" */
    while ((end = strchr(line, '\n')) && (other_end = strchr(other_line, '\n'))) {
        if (!is_head && end - line > 2 && other_end - other_line > 2)
            compare_line(comparison, line + 2, line_length(line + 2, end), other_line + 2,
                         line_length(other_line + 2, other_end));
        is_head = false;
        line = end + 1;
        other_line = other_end + 1;
    }
    if (comparison->text && comparison->lines > TOLD_LINES)
        kiln_buffer_printf(comparison->text, "; and %" PRIu32 " more tensors or nodes",
                           comparison->lines - TOLD_LINES);
}

static void compare_graphs(struct comparison *comparison, const struct wanted *wanted,
                           const struct kiln_known_program *program)
{
    struct kiln_buffer dump;
    kiln_buffer_init(&dump);
    kiln_graph_print(&program->key.graph, &dump);
    compare_dumps(comparison, &wanted->dump, &dump);
    kiln_buffer_fini(&dump);
}

static void describe(const struct wanted *wanted, struct kiln_near_program *near)
{
    const struct kiln_known_program *program = near->program;
    struct kiln_buffer *text = &near->difference;
    bool has_same_graph = !(near->differing_fields & KILN_PROGRAM_FIELD_GRAPH);
    kiln_buffer_init(text);
    kiln_buffer_append_text(text, !near->differing_fields ? "the same program"
                                  : has_same_graph        ? "the same graph"
                                                          : "a similar graph");
    if (!near->differing_fields)
        kiln_buffer_printf(text, ", made by compiler '%s'",
                           *program->compiler ? program->compiler : "unknown");
    append_fields(wanted, program, near->differing_fields, text);
    if (!has_same_graph) {
        struct comparison comparison = {.text = text};
        compare_graphs(&comparison, wanted, program);
    }
}

void kiln_near_program_fini(struct kiln_near_program *near)
{
    kiln_buffer_fini(&near->difference);
}

/* ---- which are near ---- */

struct candidate {
    const struct kiln_known_program *program;
    unsigned fields;
    uint32_t distance;
};

static unsigned count_bits(unsigned bits)
{
    return (unsigned)__builtin_popcount(bits);
}

static int compare_candidates(const void *one, const void *other)
{
    const struct candidate *a = one;
    const struct candidate *b = other;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return strcmp(a->program->hex, b->program->hex);
}

/* Among equals the one with the fewest other fields. */
static uint32_t distance_of(const struct wanted *wanted, const struct candidate *candidate)
{
    struct comparison comparison = {0};
    uint32_t fields = count_bits(candidate->fields);
    if (!(candidate->fields & KILN_PROGRAM_FIELD_GRAPH))
        return fields;
    compare_graphs(&comparison, wanted, candidate->program);
    return comparison.lines * 8 + fields;
}

/* Programs of the same graph or, without `has_same_graph`, of similar ones. */
static size_t collect(const struct wanted *wanted, const struct kiln_known_programs *known,
                      bool has_same_graph, struct candidate *candidates)
{
    size_t count = 0;
    uint32_t budget = COMPARED_NODES;
    uint32_t nodes = wanted->graph.node_count + wanted->graph.tensor_count;
    for (size_t i = 0; i < known->count; i++) {
        const struct kiln_known_program *program = &known->programs[i];
        bool is_candidate = has_same_graph ? is_equal_hash(program->graph_hash, wanted->graph_hash)
                                           : is_equal_hash(program->shape_hash, wanted->shape_hash);
        if (!is_candidate || (!has_same_graph && budget < nodes && count))
            continue;
        budget -= budget < nodes ? budget : nodes;
        struct candidate *candidate = &candidates[count++];
        *candidate =
            (struct candidate){.program = program, .fields = differing_fields(wanted, program)};
        candidate->distance = distance_of(wanted, candidate);
    }
    return count;
}

enum kiln_status kiln_missing_program_find_near(const struct kiln_missing_program *missing,
                                                const struct kiln_known_programs *known,
                                                size_t most, struct kiln_near_program *ret_near,
                                                size_t *ret_count, struct kiln_error *error)
{
    struct wanted wanted;
    struct candidate *candidates = calloc(known->count + 1, sizeof *candidates);
    enum kiln_status status = wanted_init(&wanted, missing, error);
    if (status == KILN_OK && !candidates)
        status = kiln_error_set(error, KILN_NO_MEMORY, "out of memory while listing a cache");
    size_t count = 0;
    if (status == KILN_OK) {
        count = collect(&wanted, known, true, candidates);
        if (count == 0)
            count = collect(&wanted, known, false, candidates);
        qsort(candidates, count, sizeof *candidates, compare_candidates);
    }
    count = count < most ? count : most;
    for (size_t i = 0; i < count; i++) {
        ret_near[i] = (struct kiln_near_program){.program = candidates[i].program,
                                                 .differing_fields = candidates[i].fields};
        describe(&wanted, &ret_near[i]);
        if (status == KILN_OK)
            status = kiln_buffer_check(&ret_near[i].difference, error);
    }
    for (size_t i = 0; i < count && status; i++)
        kiln_near_program_fini(&ret_near[i]);
    if (status == KILN_OK)
        *ret_count = count;
    free(candidates);
    wanted_fini(&wanted);
    return status;
}

enum kiln_status kiln_missing_program_explain(const struct kiln_missing_program *missing,
                                              const struct kiln_known_programs *known,
                                              struct kiln_buffer *ret_line,
                                              struct kiln_error *error)
{
    struct kiln_near_program near;
    size_t count = 0;
    enum kiln_status status =
        kiln_missing_program_find_near(missing, known, 1, &near, &count, error);
    if (status)
        return status;
    if (count) {
        kiln_buffer_printf(ret_line, "the nearest entry is %.12s in '%s': %s", near.program->hex,
                           near.program->place, kiln_buffer_text(&near.difference));
        kiln_near_program_fini(&near);
    } else if (known->count) {
        kiln_buffer_printf(ret_line,
                           "of %zu %s there, none is of a graph with as many tensors and the same "
                           "kinds of nodes",
                           known->count, KILN_NOUN(known->count, "program"));
    } else if (known->unreadable) {
        kiln_buffer_printf(ret_line, "%zu %s of builds of Kiln with other formats",
                           known->unreadable,
                           known->unreadable == 1 ? "program there is" : "programs there are");
    } else {
        kiln_buffer_append_text(ret_line, "there are no programs");
    }
    return kiln_buffer_check(ret_line, error);
}
