#include "cli/bench/bench_page.h"
#include "cli/text.h"
#include "tests/cli/bench/fake_results.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(bench_page, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 60);

static const char opening[] = "<script type=\"application/json\" id=\"results\">";

/* Two graphs, one of them at two sizes, and a name that would end the script. */
static void make_results(struct kiln_bench_results *results)
{
    *results = (struct kiln_bench_results){.device = NULL};
    fake_results_append(results, "softmax_fp16", 1 << 16, 0.9);
    fake_results_append(results, "softmax_fp16", 1 << 20, 0.9);
    (void)fake_results_append_named(results, "</script><b>bold");
    results->origin.matrix_flop_per_s = 1307.4e12;
    results->origin.vector_flop_per_s = 163.4e12;
}

static const char *write_page(const struct kiln_bench_results *results)
{
    static char path[4096];
    struct kiln_error error;
    kiln_error_init(&error);
    (void)snprintf(path, sizeof path, "%s", temporary_path("page.html"));
    cr_assert_eq(kiln_bench_page_write(results, path, &error), KILN_OK, "%s", error.text);
    return path;
}

Test(bench_page, holds_the_results_whatever_their_names)
{
    static char text[1 << 17];
    struct kiln_bench_results results;
    make_results(&results);
    FILE *file = fopen(write_page(&results), "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *json = strstr(text, opening);
    cr_assert_not_null(json);
    json += sizeof opening - 1;
    char *end = strstr(json, "</script>");
    cr_assert_not_null(end);
    *end = '\0';
    json_t *document = parse_json(json);
    const json_t *list = json_object_get(document, "results");
    cr_assert_eq(json_array_size(list), 3);
    cr_expect_str_eq(text_member(json_array_get(list, 2), "name"), "</script><b>bold");
    cr_expect_not_null(strstr(end + 1, "</html>"));
    json_decref(document);
    kiln_bench_results_fini(&results);
}

Test(bench_page, a_file_that_cannot_be_written_is_named)
{
    struct kiln_bench_results results;
    struct kiln_error error;
    kiln_error_init(&error);
    make_results(&results);
    cr_expect_neq(kiln_bench_page_write(&results, "/proc/page.html", &error), KILN_OK);
    cr_expect(strstr(error.text, "/proc/page.html"), "%s", error.text);
    kiln_bench_results_fini(&results);
}

#ifdef KILN_NODE
/* A bar per measured time beside its own name, both roofs of arithmetic, and no markup from names.
 */
Test(bench_page, draws_every_plot)
{
    struct kiln_bench_results results;
    char command[10000];
    make_results(&results);
    (void)snprintf(command, sizeof command, "'%s' '%s' '%s'", KILN_NODE, KILN_PAGE_CHECK,
                   write_page(&results));
    cr_expect_eq(system(command), 0);
    kiln_bench_results_fini(&results);
}
#endif
