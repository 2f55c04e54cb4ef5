#include "cli/bench/bench_result.h"
#include "cli/text.h"
#include "compiler/codegen/compiler_search.h"
#include "runtime/support/file.h"
#include "tests/cli/bench/fake_results.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kiln_error error;

static void setup(void)
{
    (void)temporary_directory_make();
    kiln_error_init(&error);
}

TestSuite(bench_plot, .init = setup, .fini = temporary_directory_remove, .timeout = 120);

#define need_gnuplot()                                                                             \
    do {                                                                                           \
        char *found = kiln_program_find("gnuplot");                                                \
        free(found);                                                                               \
        if (found == NULL)                                                                         \
            skip_test("gnuplot is not installed");                                                 \
    } while (0)

static struct kiln_bench_results measured(void)
{
    struct kiln_bench_results results = {.device = NULL};
    static const char *const names[] = {"copy_fp32", "chain8_fp16", "softmax_fp32",
                                        "batchnorm_training_fp16"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fake_results_append(&results, names[i], 1 << 24, 0.9);
    return results;
}

/* A file of a directory; the buffer is empty where there is none. */
static struct kiln_buffer read_plot(const char *directory, const char *name)
{
    char path[1200];
    struct kiln_buffer content;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    kiln_buffer_init(&content);
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    if (kiln_file_read(path, 1 << 24, &content, &ignored) != KILN_OK)
        kiln_buffer_init(&content);
    return content;
}

static bool has(const char *directory, const char *name)
{
    struct kiln_buffer content = read_plot(directory, name);
    bool there = content.size != 0;
    kiln_buffer_fini(&content);
    return there;
}

/* Whether both pictures of a plot are there and look like pictures. */
static void check_drawn(const char *directory, const char *name)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%s.svg", name);
    struct kiln_buffer svg = read_plot(directory, file);
    cr_expect(strstr(kiln_buffer_text(&svg), "</svg>") != NULL, "%s", file);
    (void)snprintf(file, sizeof file, "%s.png", name);
    struct kiln_buffer png = read_plot(directory, file);
    static const char end[] = "IEND\xae\x42\x60\x82";
    cr_expect(png.size > 1000 && memcmp(png.data, "\x89PNG", 4) == 0 &&
                  memcmp(png.data + png.size - 8, end, 8) == 0,
              "%s", file);
    kiln_buffer_fini(&svg);
    kiln_buffer_fini(&png);
}

/* The lines of a file that has a heading. */
static int rows(const char *directory, const char *name)
{
    struct kiln_buffer content = read_plot(directory, name);
    int lines = -1;
    for (size_t i = 0; i < content.size; i++)
        lines += content.data[i] == '\n';
    kiln_buffer_fini(&content);
    return lines;
}

/* Whether each line behind the heading has as many fields, and ends with a name in quotes that
 * gnuplot can only take as it is. */
static void check_names(const char *directory, const char *name)
{
    struct kiln_buffer content = read_plot(directory, name);
    const char *at = strchr(kiln_buffer_text(&content), '\n');
    cr_assert_not_null(at, "%s", name);
    for (at++; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        int fields = 0, quotes = 0, others = 0;
        for (size_t i = 0; i < length; i++) {
            fields += at[i] == '\t';
            quotes += at[i] == '"';
            others += at[i] == '\\' || at[i] == '%';
        }
        cr_expect_eq(fields, 5, "%.*s", (int)length, at);
        cr_expect_eq(quotes, 2, "%.*s", (int)length, at);
        cr_expect_eq(others, 0, "%.*s", (int)length, at);
        cr_expect_eq(at[length - 1], '"');
        cr_expect_lt(length, 160u, "a long name is cut");
        at += length + (at[length] == '\n');
    }
    kiln_buffer_fini(&content);
}

Test(bench_plot, draws_every_plot_that_has_something_to_show)
{
    need_gnuplot();
    struct kiln_bench_results results = measured();
    const char *directory = temporary_path("new/plots");
    cr_assert_eq(kiln_bench_plot(&results, directory, &error), KILN_OK, "%s", error.text);
    check_drawn(directory, "speed_up");
    check_drawn(directory, "bandwidth");
    check_drawn(directory, "roofline");
    cr_expect_not(has(directory, "sweep.gp"), "there is one size");
    cr_expect_eq(rows(directory, "speed_up.tsv"), 4);
    cr_expect_eq(rows(directory, "roofline.tsv"), 3, "a copy has no arithmetic");
    kiln_bench_results_fini(&results);
}

Test(bench_plot, sizes_make_a_sweep_and_the_others_show_the_largest)
{
    need_gnuplot();
    struct kiln_bench_results results = {.device = NULL};
    for (int64_t elements = 1 << 24; elements >= 1 << 18; elements /= 4) {
        fake_results_append(&results, "softmax_fp32", elements, 0.9);
        fake_results_append(&results, "chain8_fp16", elements, 0.95);
    }
    const char *directory = temporary_path("plots");
    cr_assert_eq(kiln_bench_plot(&results, directory, &error), KILN_OK, "%s", error.text);
    check_drawn(directory, "sweep");
    cr_expect_eq(rows(directory, "speed_up.tsv"), 2);
    struct kiln_buffer data = read_plot(directory, "sweep.tsv");
    const char *softmax = strstr(kiln_buffer_text(&data), "\"softmax_fp32\"\n");
    cr_assert_not_null(softmax);
    cr_expect(strncmp(softmax, "\"softmax_fp32\"\n2.097152\t", 24) == 0, "smallest first: %s",
              softmax);
    kiln_buffer_fini(&data);
    kiln_bench_results_fini(&results);
}

Test(bench_plot, a_run_without_a_copy_still_has_speed_up_and_sweep)
{
    need_gnuplot();
    struct kiln_bench_results results = {.device = NULL};
    fake_results_append(&results, "softmax_fp32", 1 << 20, 0.9);
    fake_results_append(&results, "softmax_fp32", 1 << 24, 0.9);
    for (size_t i = 0; i < results.count; i++) {
        results.results[i].copy = (struct kiln_bench_time){.samples = 0};
        results.results[i].copy_bytes = 0;
    }
    const char *directory = temporary_path("plots");
    cr_assert_eq(kiln_bench_plot(&results, directory, &error), KILN_OK, "%s", error.text);
    check_drawn(directory, "speed_up");
    check_drawn(directory, "sweep");
    cr_expect_not(has(directory, "roofline.gp"), "there is no roof");
    kiln_bench_results_fini(&results);
}

/* gnuplot alone marks powers of ten, of which such axes have none. */
Test(bench_plot, short_axes_have_ticks)
{
    struct kiln_bench_results results = {.device = NULL};
    (void)fake_results_append_named(&results, "graph");
    const char *directory = temporary_path("plots");
    (void)!kiln_bench_plot(&results, directory, &error);
    struct kiln_buffer script = read_plot(directory, "roofline.gp");
    cr_expect(strstr(kiln_buffer_text(&script), "set xtics (0.3, 0.4, 0.5)") != NULL, "%s",
              kiln_buffer_text(&script));
    kiln_buffer_fini(&script);
    kiln_bench_results_fini(&results);
}

Test(bench_plot, names_are_text_and_nothing_else)
{
    need_gnuplot();
    static const char *const names[] = {
        "\"; system('touch pwned'); \"",
        "`touch pwned`",
        "@touch $(touch pwned) 'x' \\\"",
        "tab\there\nand a line\n\n\nand \"more",
        "%s%n%d %1$s",
        "\xff\xfe not UTF-8",
        "{/*2 markup} ^_ &{}",
        "# comment",
        "na\xc3\xafve",
        "",
    };
    struct kiln_bench_results results = {.device = NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)fake_results_append_named(&results, names[i]);
        fake_results_append_named(&results, names[i])->bytes_fewest = 9000;
    }
    char *long_name = kiln_cli_calloc(5001, 1);
    memset(long_name, 'n', 5000);
    (void)fake_results_append_named(&results, long_name);
    free(results.target);
    results.target = kiln_cli_strdup("gfx\"; system('touch pwned') \\");
    const char *directory = temporary_path("plots");
    cr_assert_eq(chdir(temporary_path("")), 0);
    cr_assert_eq(kiln_bench_plot(&results, directory, &error), KILN_OK, "%s", error.text);
    check_drawn(directory, "speed_up");
    check_drawn(directory, "roofline");
    check_drawn(directory, "sweep");
    cr_expect_eq(access("pwned", F_OK), -1);
    cr_expect_not(has(directory, "pwned"));
    cr_expect_eq(rows(directory, "speed_up.tsv"), 11, "a line per name");
    check_names(directory, "speed_up.tsv");
    static const char *const scripts[] = {"speed_up.gp", "bandwidth.gp", "roofline.gp", "sweep.gp"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct kiln_buffer script = read_plot(directory, scripts[i]);
        cr_expect(strstr(kiln_buffer_text(&script), "touch pwned") == NULL, "%s", scripts[i]);
        cr_expect(strstr(kiln_buffer_text(&script), "nnnn") == NULL, "%s", scripts[i]);
        kiln_buffer_fini(&script);
    }
    struct kiln_buffer svg = read_plot(directory, "speed_up.svg");
    cr_expect(strstr(kiln_buffer_text(&svg), "na\xc3\xafve") != NULL);
    kiln_buffer_fini(&svg);
    kiln_bench_results_fini(&results);
    free(long_name);
}

Test(bench_plot, a_directory_may_have_any_name)
{
    need_gnuplot();
    static const char *const names[] = {
        "it's \"a\" $(touch pwned)", "| touch pwned", "< touch pwned", "~root", "-e 'x'", "@ARG1"};
    struct kiln_bench_results results = measured();
    cr_assert_eq(chdir(temporary_path("")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_assert_eq(kiln_bench_plot(&results, names[i], &error), KILN_OK, "%s: %s", names[i],
                     error.text);
        check_drawn(names[i], "speed_up");
    }
    cr_expect_eq(access("pwned", F_OK), -1);
    kiln_bench_results_fini(&results);
}

/* What the hint for machines without gnuplot says: one session for all scripts. */
Test(bench_plot, all_scripts_draw_in_one_session)
{
    need_gnuplot();
    struct kiln_bench_results results = {.device = NULL};
    for (unsigned i = 12; i <= 24; i += 4)
        fake_results_append(&results, "softmax_fp32", 1U << i, 0.9);
    const char *directory = temporary_path("plots");
    cr_assert_eq(kiln_bench_plot(&results, directory, &error), KILN_OK, "%s", error.text);
    char command[1500];
    (void)snprintf(command, sizeof command,
                   "cd '%s' && rm *.svg *.png && gnuplot --default-settings *.gp >log 2>&1",
                   directory);
    cr_expect_eq(system(command), 0); /* NOLINT: a directory of this test's own */
    static const char *const names[] = {"speed_up", "bandwidth", "roofline", "sweep"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_drawn(directory, names[i]);
    kiln_bench_results_fini(&results);
}

Test(bench_plot, plots_of_an_earlier_run_do_not_stay)
{
    need_gnuplot();
    const char *directory = temporary_path("plots");
    struct kiln_bench_results results = measured();
    cr_assert_eq(kiln_bench_plot(&results, directory, &error), KILN_OK, "%s", error.text);
    cr_expect(has(directory, "roofline.svg"));
    kiln_bench_results_fini(&results);
    results = (struct kiln_bench_results){.device = NULL};
    fake_results_append(&results, "copy_fp32", 1 << 24, 0.9); /* has no arithmetic */
    cr_assert_eq(kiln_bench_plot(&results, directory, &error), KILN_OK, "%s", error.text);
    static const char *const gone[] = {"roofline.svg", "roofline.png", "roofline.tsv",
                                       "roofline.gp"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        cr_expect_not(has(directory, gone[i]), "%s", gone[i]);
    cr_expect(has(directory, "bandwidth.svg"));
    kiln_bench_results_fini(&results);
}

Test(bench_plot, without_gnuplot_scripts_and_data_are_there)
{
    struct kiln_bench_results results = measured();
    const char *directory = temporary_path("plots");
    cr_assert_eq(setenv("PATH", "/nonexistent", 1), 0);
    cr_expect_eq(kiln_bench_plot(&results, directory, &error), KILN_UNSUPPORTED);
    cr_expect(strstr(error.text, "\nhint: ") != NULL, "%s", error.text);
    cr_expect(has(directory, "speed_up.gp"));
    cr_expect(has(directory, "speed_up.tsv"));
    cr_expect_not(has(directory, "speed_up.svg"));
    kiln_bench_results_fini(&results);
}

Test(bench_plot, a_gnuplot_that_fails_is_named_with_what_it_says)
{
    struct kiln_bench_results results = measured();
    static const char program[] = "#!/bin/sh\necho 'no fonts at all' >&2\nexit 3\n";
    cr_assert_eq(kiln_file_write(temporary_path("gnuplot"), program, sizeof program - 1, 0, &error),
                 KILN_OK);
    cr_assert_eq(chmod(temporary_path("gnuplot"), 0700), 0);
    cr_assert_eq(setenv("PATH", temporary_path("."), 1), 0);
    cr_expect_eq(kiln_bench_plot(&results, temporary_path("plots"), &error), KILN_IO);
    cr_expect(strstr(error.text, "no fonts at all") != NULL, "%s", error.text);
    kiln_bench_results_fini(&results);
}

Test(bench_plot, a_directory_that_cannot_be_made_is_an_error_that_names_it)
{
    struct kiln_bench_results results = measured();
    cr_assert_eq(kiln_file_write(temporary_path("file"), "x", 1, 0, &error), KILN_OK);
    cr_expect_neq(kiln_bench_plot(&results, temporary_path("file/plots"), &error), KILN_OK);
    cr_expect(strstr(error.text, "file/plots") != NULL || strstr(error.text, "/file") != NULL, "%s",
              error.text);
    cr_expect_neq(kiln_bench_plot(&results, "", &error), KILN_OK);
    kiln_bench_results_fini(&results);
}

Test(bench_plot, nothing_to_show_is_no_plot)
{
    struct kiln_bench_results results = {.device = NULL};
    fake_results_append_named(&results, "graph")->failure = kiln_cli_strdup("no device");
    const char *directory = temporary_path("plots");
    cr_expect_eq(kiln_bench_plot(&results, directory, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(directory_count(directory), 0);
    kiln_bench_results_fini(&results);
    struct kiln_bench_results none = {.device = NULL};
    cr_expect_eq(kiln_bench_plot(&none, directory, &error), KILN_OK);
    cr_expect_eq(directory_count(directory), 0);
}
