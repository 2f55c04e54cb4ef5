/* The outline of every kernel: with its files in place of the #include lines it is the whole text,
 * and so nothing of what is generated is left out. */
#include "compiler/emit/template_text.h"
#include "compiler/program.h"
#include "tests/compiler/every_graph.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char include_line[] = "#include \"";
static const char generated_line[] = "#line 1 \"generated\"\n";

/* The longest one has 503. The whole text of an attention has 3700. */
enum { MOST_LINES = 700 };

static uint32_t kernels_seen, most_lines;

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end == NULL ? line + strlen(line) : end + 1;
}

static void paste_files(const char *outline, struct kiln_buffer *text)
{
    struct kiln_template_inclusion inclusion = {.included =
                                                    calloc(kiln_template_file_count, sizeof(bool))};
    cr_assert_not_null(inclusion.included);
    for (const char *line = outline; *line != '\0'; line = next_line(line)) {
        if (strncmp(line, include_line, sizeof include_line - 1) != 0) {
            kiln_buffer_append(text, line, (size_t)(next_line(line) - line));
            continue;
        }
        char path[128];
        size_t length = strcspn(line + sizeof include_line - 1, "\"");
        cr_assert_lt(length, sizeof path);
        memcpy(path, line + sizeof include_line - 1, length);
        path[length] = '\0';
        cr_assert_not_null(kiln_template_find(path), "'%s'", path);
        kiln_template_append(&inclusion, path, text);
    }
    free(inclusion.included);
}

/* Without the symbol, which is the first line, and without marks of generated text. */
static void copy_text(const char *source, struct kiln_buffer *text)
{
    for (const char *line = next_line(source); *line != '\0'; line = next_line(line)) {
        if (strncmp(line, generated_line, sizeof generated_line - 1) != 0)
            kiln_buffer_append(text, line, (size_t)(next_line(line) - line));
    }
}

static uint32_t count_lines(const char *text)
{
    uint32_t lines = 0;
    for (const char *line = text; *line != '\0'; line = next_line(line))
        lines++;
    return lines;
}

static void expect_outlines(const struct kiln_graph *graph, const char *name,
                            const char *target_name)
{
    struct kiln_lower_options options = {0};
    struct kiln_arena arena;
    struct kiln_program program;
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_target_parse(target_name, &target, &error), KILN_OK);
    if (kiln_lower(graph, &target, &options, &arena, &program, NULL, &error) != KILN_OK)
        program.kernel_count = 0;
    for (uint32_t i = 0; i < program.kernel_count; i++, kernels_seen++) {
        struct kiln_buffer outline, pasted, text;
        kiln_buffer_init(&outline);
        kiln_buffer_init(&pasted);
        kiln_buffer_init(&text);
        cr_assert_eq(kiln_program_outline(&program, graph, i, &outline, &error), KILN_OK);
        paste_files(kiln_buffer_text(&outline), &pasted);
        copy_text(program.kernels[i].source, &text);
        cr_expect_eq(strcmp(kiln_buffer_text(&pasted), kiln_buffer_text(&text)), 0,
                     "%s, kernel %u for %s", name, (unsigned)i, target_name);
        uint32_t lines = count_lines(kiln_buffer_text(&outline));
        most_lines = lines > most_lines ? lines : most_lines;
        cr_expect_leq(lines, MOST_LINES, "%s, kernel %u for %s", name, (unsigned)i, target_name);
        kiln_buffer_fini(&outline);
        kiln_buffer_fini(&pasted);
        kiln_buffer_fini(&text);
    }
    kiln_arena_fini(&arena);
}

static void visit(const struct kiln_graph *graph, const char *name)
{
    static const char *const targets[] = {"gfx942", "gfx1100", "sm_90", "host"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        expect_outlines(graph, name, targets[i]);
}

Test(outline, with_its_files_it_is_the_whole_text, .timeout = 300)
{
    every_stored_graph(visit);
    cr_expect_gt(kernels_seen, 100);
    cr_log_info("%u kernels, %u lines at most", (unsigned)kernels_seen, (unsigned)most_lines);
}
