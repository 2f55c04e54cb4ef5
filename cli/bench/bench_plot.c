#include "cli/bench/bench_plot_parts.h"
#include "compiler/codegen/compiler_search.h"
#include "runtime/support/file.h"
#include "runtime/support/subprocess.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, OUTPUT_LIMIT_BYTES = 2048, TIMEOUT_MILLISECONDS = 60000 };

struct plot {
    const char *name;
    bool (*make)(const struct kiln_bench_results *results, struct kiln_buffer *data,
                 struct kiln_buffer *script);
};

static const struct plot plots[] = {
    {"speed_up", kiln_bench_plot_speed_up},
    {"bandwidth", kiln_bench_plot_bandwidth},
    {"roofline", kiln_bench_plot_roofline},
    {"sweep", kiln_bench_plot_sweep},
};
enum { PLOT_COUNT = sizeof plots / sizeof *plots };

/* "directory/name.ending". gnuplot takes some first letters of a file's name for a command. */
static enum kiln_status join(const char *directory, const char *name, const char *ending,
                             char ret_path[PATH_BYTES], struct kiln_error *error)
{
    int length = snprintf(ret_path, PATH_BYTES, "%s%s/%s%s", *directory == '/' ? "" : "./",
                          directory, name, ending);
    if (length < 0 || length >= PATH_BYTES)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the name of the directory is too long");
    return KILN_OK;
}

static enum kiln_status write_file(const char *directory, const char *name, const char *ending,
                                   const struct kiln_buffer *content, struct kiln_error *error)
{
    char path[PATH_BYTES];
    enum kiln_status status = join(directory, name, ending, path, error);
    if (status == KILN_OK)
        status = kiln_buffer_check(content, error);
    if (status == KILN_OK)
        status = kiln_file_write(path, content->data, content->size, KILN_FILE_FOLLOW, error);
    return status;
}

/* Data and script of a plot; `ret_is_written` is false where the results have nothing to show. */
static enum kiln_status write_plot(const struct plot *plot,
                                   const struct kiln_bench_results *results, const char *directory,
                                   bool *ret_is_written, struct kiln_error *error)
{
    struct kiln_buffer data, script;
    kiln_buffer_init(&data);
    kiln_buffer_init(&script);
    enum kiln_status status = KILN_OK;
    *ret_is_written = plot->make(results, &data, &script);
    if (*ret_is_written)
        status = write_file(directory, plot->name, ".tsv", &data, error);
    if (*ret_is_written && status == KILN_OK)
        status = write_file(directory, plot->name, ".gp", &script, error);
    kiln_buffer_fini(&data);
    kiln_buffer_fini(&script);
    return status;
}

/* Of an earlier run: beside what this one writes it would look as if it belonged there. */
static void remove_plot(const struct plot *plot, const char *directory)
{
    static const char *const endings[] = {".tsv", ".gp", ".svg", ".png"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[PATH_BYTES];
        struct kiln_error ignored;
        kiln_error_init(&ignored);
        if (join(directory, plot->name, endings[i], path, &ignored) == KILN_OK)
            (void)unlink(path);
    }
}

static enum kiln_status draw(const char *gnuplot, const struct plot *plot, const char *directory,
                             struct kiln_error *error)
{
    char script[PATH_BYTES], folder[PATH_BYTES];
    enum kiln_status status = join(directory, plot->name, ".gp", script, error);
    if (status == KILN_OK)
        status = join(directory, "", "", folder, error);
    if (status != KILN_OK)
        return status;
    /* The user's own settings would draw another plot. */
    const char *const arguments[] = {gnuplot, "--default-settings", "-c", script, folder, NULL};
    const struct kiln_subprocess_run run = {.arguments = arguments,
                                            .output_limit_bytes = OUTPUT_LIMIT_BYTES,
                                            .timeout_milliseconds = TIMEOUT_MILLISECONDS};
    struct kiln_buffer output;
    struct kiln_subprocess_exit how;
    kiln_buffer_init(&output);
    status = kiln_subprocess_run(&run, &output, &how, error);
    if (status == KILN_OK && (how.code != 0 || how.signal != 0))
        status = kiln_error_set(error, KILN_IO, "gnuplot could not draw '%s': %s", script,
                                output.size != 0 ? kiln_buffer_text(&output) : "it says nothing");
    kiln_buffer_fini(&output);
    return status;
}

enum kiln_status kiln_bench_plot(const struct kiln_bench_results *results, const char *directory,
                                 struct kiln_error *error)
{
    bool is_written[PLOT_COUNT] = {false};
    bool is_any_written = false;
    enum kiln_status status = kiln_directory_make(directory, 0777, error);
    for (int i = 0; status == KILN_OK && i < PLOT_COUNT; i++) {
        remove_plot(&plots[i], directory);
        status = write_plot(&plots[i], results, directory, &is_written[i], error);
        is_any_written |= is_written[i];
    }
    if (status != KILN_OK || !is_any_written)
        return status;
    char *gnuplot = kiln_program_find("gnuplot");
    if (gnuplot == NULL) {
        status = kiln_error_set(error, KILN_UNSUPPORTED,
                                "there is no gnuplot here: '%s' has scripts and data, but no plots",
                                directory);
        kiln_error_hint(error, "with gnuplot installed (Debian: gnuplot-nox), 'gnuplot *.gp' in "
                               "that directory draws them");
        return status;
    }
    for (int i = 0; status == KILN_OK && i < PLOT_COUNT; i++) {
        if (is_written[i])
            status = draw(gnuplot, &plots[i], directory, error);
    }
    free(gnuplot);
    return status;
}
