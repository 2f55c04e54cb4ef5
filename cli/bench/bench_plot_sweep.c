/* Rate over size: a line per graph that was measured at several sizes, and the copy's. */
#include "cli/bench/bench_plot_parts.h"
#include "cli/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double line_pixels = 19, letter_pixels = 8;

/* A point of a line. */
struct point {
    double megabytes;
    double rate; /* GB/s */
};

static int compare_points(const void *a, const void *b)
{
    double x = ((const struct point *)a)->megabytes;
    double y = ((const struct point *)b)->megabytes;
    return (x > y) - (x < y);
}

/* In order of size; of equal sizes one stays, with the mean of their rates. */
static size_t sort_points(struct point *points, size_t count)
{
    size_t kept = 0;
    qsort(points, count, sizeof *points, compare_points);
    for (size_t i = 0; i < count;) {
        size_t equal = 0;
        double sum = 0;
        double megabytes = points[i].megabytes;
        for (; i < count && !(points[i].megabytes > megabytes); i++, equal++)
            sum += points[i].rate;
        points[kept++] = (struct point){megabytes, sum / (double)equal};
    }
    return kept;
}

/* The points of the graphs with this name, the copy's points of all where it is NULL. */
static size_t collect(const struct kiln_bench_results *results, const char *name,
                      struct point *points)
{
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct kiln_bench_result *result = &results->results[i];
        if (result->failure != NULL || (name != NULL && strcmp(result->name, name) != 0))
            continue;
        double rate =
            name != NULL ? kiln_bench_rate(result, &result->fused) : kiln_bench_copy_rate(result);
        uint64_t bytes = name != NULL ? result->bytes_fewest : result->copy_bytes;
        if (rate > 0 && bytes != 0)
            points[count++] = (struct point){(double)bytes / 1e6, rate / 1e9};
    }
    return sort_points(points, count);
}

/* Whether no earlier result has the name: the line is drawn for the first one. */
static bool is_first(const struct kiln_bench_results *results, size_t which)
{
    for (size_t i = 0; i < which; i++) {
        if (strcmp(results->results[i].name, results->results[which].name) == 0)
            return false;
    }
    return true;
}

/* A block of data: gnuplot takes the line's name from the heading of the second column. */
static int append_line(struct kiln_buffer *data, const char *name, const struct point *points,
                       size_t count)
{
    kiln_buffer_append_text(data, data->size != 0 ? "\n\nMB\t" : "MB\t");
    int columns = kiln_bench_plot_append_label(data, name);
    kiln_buffer_append_text(data, "\n");
    for (size_t i = 0; i < count; i++)
        kiln_buffer_printf(data, "%.9g\t%.9g\n", points[i].megabytes, points[i].rate);
    return columns;
}

bool kiln_bench_plot_sweep(const struct kiln_bench_results *results, struct kiln_buffer *data,
                           struct kiln_buffer *script)
{
    struct point *points = kiln_cli_calloc(results->count, sizeof *points);
    size_t lines = 0;
    int columns = 16;
    size_t count = collect(results, NULL, points);
    double low = count != 0 ? points[0].megabytes : INFINITY;
    double high = count != 0 ? points[count - 1].megabytes : 0;
    (void)append_line(data, "copy of as many bytes", points, count);
    for (size_t i = 0; i < results->count; i++) {
        if (!is_first(results, i))
            continue;
        count = collect(results, results->results[i].name, points);
        if (count < 2)
            continue;
        lines++;
        low = fmin(low, points[0].megabytes);
        high = fmax(high, points[count - 1].megabytes);
        int label = append_line(data, results->results[i].name, points, count);
        columns = label > columns ? label : columns;
    }
    free(points);
    if (lines == 0) {
        kiln_buffer_clear(data);
        return false;
    }
    double legend = 60 + line_pixels * (double)(lines + 1);
    struct kiln_bench_plot_size size = {.width = 900 + letter_pixels * columns,
                                        .height = legend > 560 ? legend : 560,
                                        .left = 90,
                                        .right = 90 + letter_pixels * columns,
                                        .top = 48,
                                        .bottom = 62};
    kiln_bench_plot_begin(script, results, "sweep", "Fewest bytes over time at many sizes", &size);
    kiln_buffer_printf(script,
                       "set key at screen 1-%.1f/width,1-%.1f/height left top vertical Left "
                       "reverse samplen 3 maxrows auto width 0\n"
                       "set logscale x 10\n"
                       "set format x \"%%g\"\n"
                       "set xlabel \"fewest bytes that the graph moves, MB\"\n"
                       "set ylabel \"GB/s\"\n"
                       "set yrange [0:*]\n"
                       "set autoscale x noextend\n"
                       "array colors[8] = [\"#0072b2\", \"#e69f00\", \"#009e73\", \"#d55e00\", "
                       "\"#cc79a7\", \"#56b4e9\", \"#7f6000\", \"#6a3d9a\"]\n"
                       "color(i) = colors[(i - 1) %% 8 + 1]\n"
                       "shape(i) = 4 + ((i - 1) / 8 * 3 + (i - 1) %% 8) %% 11\n",
                       size.right - 14.0, size.top);
    kiln_bench_plot_append_tics(script, 'x', low, high);
    char plot[512];
    (void)snprintf(plot, sizeof plot,
                   "plot data index 0 using 1:2 with lines lc \"" KILN_BENCH_PLOT_COPY
                   "\" lw 2.5 dt 2 title columnheader(2), "
                   "for [i=1:%zu] '' index i using 1:2 with linespoints lc rgb color(i) "
                   "pt shape(i) ps 0.7 lw 1.6 title columnheader(2)",
                   lines);
    kiln_bench_plot_end(script, "sweep", plot);
    return true;
}
