#include "cli/bench/bench_result.h"
#include "cli/text.h"
#include "tests/cli/bench/fake_results.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 64 };

/* A line's fields, unquoted as RFC 4180 says. */
struct line {
    char fields[MAX_FIELDS][256];
    unsigned count;
};

static char *print(const struct kiln_bench_results *results)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    cr_assert_not_null(stream);
    kiln_bench_print_csv(results, stream);
    (void)fclose(stream);
    return text;
}

/* Reads a line, quotes and all; returns what follows it. */
static const char *read_line(const char *text, struct line *line)
{
    *line = (struct line){.count = 0};
    for (bool is_end = false; !is_end; line->count++) {
        char *out = line->fields[line->count];
        bool quoted = *text == '"';
        text += quoted;
        for (;; text++) {
            if (quoted && text[0] == '"' && text[1] == '"')
                text++;
            else if (quoted ? *text == '"' : *text == ',' || *text == '\n' || *text == '\0')
                break;
            cr_assert_neq(*text, '\0', "a quote is open");
            *out++ = *text;
        }
        text += quoted;
        cr_assert(*text == ',' || *text == '\n', "'%c' behind a field", *text);
        is_end = *text++ == '\n';
    }
    return text;
}

static const char *field(const struct line *heading, const struct line *line, const char *name)
{
    unsigned i = 0;
    while (i < heading->count && strcmp(heading->fields[i], name) != 0)
        i++;
    cr_assert_lt(i, heading->count, "no column '%s'", name);
    return line->fields[i];
}

Test(bench_csv, a_heading_and_a_line_per_result)
{
    struct kiln_bench_results results = {.device = NULL};
    (void)fake_results_append_named(&results, "graph");
    fake_results_append_named(&results, "other")->failure = kiln_cli_strdup("no, \"never\"");
    char *text = print(&results);
    struct line heading, first, second;
    const char *rest = read_line(text, &heading);
    rest = read_line(rest, &first);
    rest = read_line(rest, &second);
    cr_expect_str_empty(rest);
    cr_expect_eq(first.count, heading.count);
    cr_expect_eq(second.count, heading.count);
    cr_expect_str_eq(field(&heading, &first, "device"), "hip");
    cr_expect_str_eq(field(&heading, &first, "name"), "graph");
    cr_expect_str_eq(field(&heading, &first, "elements"), "1000");
    cr_expect_str_eq(field(&heading, &first, "fused_kernels"), "1");
    cr_expect_str_eq(field(&heading, &first, "fused_median_us"), "4");
    cr_expect_str_eq(field(&heading, &first, "fused_samples"), "30");
    cr_expect_str_eq(field(&heading, &first, "unfused_kernels"), "3");
    cr_expect_str_eq(field(&heading, &first, "unfused_bytes_moved"), "24000");
    cr_expect_str_eq(field(&heading, &first, "copy_median_us"), "3.2");
    cr_expect_str_eq(field(&heading, &first, "share_of_copy"), "0.8");
    cr_expect_str_eq(field(&heading, &first, "speed_up"), "2.5");
    cr_expect_str_eq(field(&heading, &first, "failure"), "");
    cr_expect_str_eq(field(&heading, &second, "failure"), "no, \"never\"");
    free(text);
    kiln_bench_results_fini(&results);
}

Test(bench_csv, names_cannot_break_the_lines_or_a_terminal)
{
    struct kiln_bench_results results = {.device = NULL};
    (void)fake_results_append_named(&results, "a,\"b\"\n\033[2J,c");
    char *text = print(&results);
    struct line heading, line;
    const char *rest = read_line(read_line(text, &heading), &line);
    cr_expect_str_empty(rest);
    cr_expect_eq(line.count, heading.count);
    cr_expect_str_eq(field(&heading, &line, "name"), "a,\"b\"\\x0a\\x1b[2J,c");
    cr_expect_null(strchr(text, '\033'));
    free(text);
    kiln_bench_results_fini(&results);
}

Test(bench_csv, what_was_not_measured_is_empty)
{
    struct kiln_bench_results results = {.device = NULL};
    fake_results_append_named(&results, "graph")->unfused = (struct kiln_bench_contestant){0};
    char *text = print(&results);
    struct line heading, line;
    (void)read_line(read_line(text, &heading), &line);
    cr_expect_str_eq(field(&heading, &line, "unfused_kernels"), "");
    cr_expect_str_eq(field(&heading, &line, "unfused_bytes_moved"), "");
    cr_expect_str_eq(field(&heading, &line, "unfused_samples"), "");
    cr_expect_str_eq(field(&heading, &line, "unfused_median_us"), "");
    cr_expect_str_eq(field(&heading, &line, "speed_up"), "");
    free(text);
    kiln_bench_results_fini(&results);
}
