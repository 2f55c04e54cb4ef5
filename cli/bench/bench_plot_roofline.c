/*
 * The roofline of memory: operations per second over operations per byte, both logarithmic. What
 * moves bytes at the copy's rate lies on the roof; how far below it a graph is, is its time. Names
 * stand upright along the roof, spread where graphs are close to each other.
 */
#include "cli/bench/bench_plot_parts.h"
#include "cli/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels. Names are upright: a letter takes so much of the height, a name so much of the width. */
static const double letter = 7, line = 17;
static const double label_gap = 14, leader_gap = 5;
static const double least_width = 970, points_height = 400;

struct point {
    const char *name;
    double intensity; /* operations per byte */
    double fused;     /* operations per second */
    double unfused;   /* 0: not measured */
    double place;     /* of its label, pixels from the left end of the axis */
};

/* Of an axis, in decades: the logarithms. */
struct range {
    double low;
    double high;
};

struct frame {
    struct range x; /* operations per byte */
    struct range y; /* operations per second; names come on top */
    double width;   /* pixels of the x axis */
    double decade;  /* pixels of a decade of the y axis */
    double rate;    /* bytes per second that names stand above */
    double unit;    /* operations per second that the y axis counts in */
};

static int compare_points(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->intensity < y->intensity || x->intensity > y->intensity)
        return x->intensity < y->intensity ? -1 : 1;
    return strcmp(x->name, y->name);
}

static size_t collect(const struct kiln_bench_result **results, size_t count, struct point *points)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct kiln_bench_result *result = results[i];
        if (result->flop == 0 || result->bytes_fewest == 0)
            continue;
        double operations = (double)result->flop;
        double unfused_s = result->unfused.time.median_s;
        points[kept++] = (struct point){.name = result->name,
                                        .intensity = operations / (double)result->bytes_fewest,
                                        .fused = operations / result->fused.time.median_s,
                                        .unfused = unfused_s > 0 ? operations / unfused_s : 0};
    }
    qsort(points, kept, sizeof *points, compare_points);
    return kept;
}

/*
 * Places labels as near as possible to their points and a line apart: points whose labels
 * would touch become one run, which is centred on the mean of what its members want (the
 * pool-adjacent-violators algorithm).
 */
static void place_labels(struct point *points, size_t count, const struct frame *frame)
{
    struct run {
        double sum; /* of the starts of the run that its members want */
        size_t members;
    } *runs = kiln_cli_calloc(count, sizeof *runs);
    size_t run_count = 0;
    for (size_t i = 0; i < count; i++) {
        double wanted = (log10(points[i].intensity) - frame->x.low) /
                        (frame->x.high - frame->x.low) * frame->width;
        runs[run_count++] = (struct run){wanted - (double)i * line, 1};
        while (run_count > 1 && runs[run_count - 2].sum / (double)runs[run_count - 2].members >
                                    runs[run_count - 1].sum / (double)runs[run_count - 1].members) {
            runs[run_count - 2].sum += runs[run_count - 1].sum;
            runs[run_count - 2].members += runs[run_count - 1].members;
            run_count--;
        }
    }
    double last =
        frame->width - line - (double)(count - 1) * line; /* where the last one must start */
    size_t at = 0;
    for (size_t r = 0; r < run_count; r++) {
        double start = runs[r].sum / (double)runs[r].members;
        start = start < line ? line : start;
        start = start > last ? last : start;
        for (size_t k = 0; k < runs[r].members; k++, at++)
            points[at].place = start + (double)at * line;
    }
    free(runs);
}

/* The rate of the roof: the fastest copy. */
static double roof_rate(const struct kiln_bench_result **results, size_t count)
{
    double rate = 0;
    for (size_t i = 0; i < count; i++)
        rate = fmax(rate, kiln_bench_copy_rate(results[i]));
    return rate;
}

static struct frame make_frame(const struct point *points, size_t count, double roof, double width)
{
    double least = points[0].fused;
    struct frame frame = {.x = {.low = log10(points[0].intensity) - 0.15,
                                .high = log10(points[count - 1].intensity) + 0.15},
                          .width = fmax(width, (double)(count + 2) * line),
                          .rate = roof};
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, points[i].fused);
        if (points[i].unfused > 0)
            least = fmin(least, points[i].unfused);
        frame.rate = fmax(frame.rate, points[i].fused / points[i].intensity);
    }
    frame.y = (struct range){log10(least) - 0.15, frame.x.high + log10(frame.rate)};
    frame.decade = points_height / (frame.y.high - frame.y.low);
    frame.unit = frame.y.high > 12.5 ? 1e12 : 1e9;
    return frame;
}

/* Pixels above the axis' low end, and back to operations per second. */
static double height_of(const struct frame *frame, double operations)
{
    return (log10(operations) - frame->y.low) * frame->decade;
}

static double operations_at(const struct frame *frame, double height)
{
    return pow(10, frame->y.low + height / frame->decade);
}

/* Returns the pixels up to which names reach. */
static double append_points(struct kiln_buffer *data, const struct point *points, size_t count,
                            const struct frame *frame)
{
    double top = points_height;
    kiln_buffer_append_text(data, "operations_per_byte\tfused\tunfused\tlabel_x\tlabel_y\t"
                                  "leader_y\tname\n");
    for (size_t i = 0; i < count; i++) {
        double decades = points[i].place / frame->width * (frame->x.high - frame->x.low);
        double label_x = pow(10, frame->x.low + decades);
        double foot = height_of(frame, fmax(label_x, points[i].intensity) * frame->rate);
        double label_y = operations_at(frame, foot + label_gap);
        double leader_y = operations_at(frame, foot + label_gap - leader_gap);
        kiln_buffer_printf(data, "%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t", points[i].intensity,
                           points[i].fused / frame->unit, points[i].unfused / frame->unit, label_x,
                           label_y / frame->unit, leader_y / frame->unit);
        int columns = kiln_bench_plot_append_label(data, points[i].name);
        kiln_buffer_append_text(data, "\n");
        top = fmax(top, foot + 2 * label_gap + (double)columns * letter);
    }
    return top;
}

/* Data of the points, and the script that draws them under the roof. */
static void draw(const struct kiln_bench_results *results, struct point *points, size_t count,
                 double roof, struct kiln_buffer *data, struct kiln_buffer *script)
{
    struct kiln_bench_plot_size size = {.left = 90, .right = 40, .top = 76, .bottom = 62};
    struct frame frame = make_frame(points, count, roof, least_width);
    place_labels(points, count, &frame);
    double top = append_points(data, points, count, &frame);
    size.width = frame.width + size.left + size.right;
    size.height = top + size.top + size.bottom;
    kiln_bench_plot_begin(script, results, "roofline", "Roofline of memory", &size);
    kiln_buffer_printf(
        script,
        "set logscale xy 10\n"
        "set format xy \"%%g\"\n"
        "set xrange [%.9g:%.9g]\n"
        "set yrange [%.9g:%.9g]\n"
        "set xlabel \"operations per byte (an addition is 1, an exponential 8; each "
        "input and output once)\"\n"
        "set ylabel \"10^%d operations per second\"\n"
        "roof(x) = %.9g * x\n",
        pow(10, frame.x.low), pow(10, frame.x.high), operations_at(&frame, 0) / frame.unit,
        operations_at(&frame, top) / frame.unit, frame.unit > 1e9 ? 12 : 9, roof / frame.unit);
    kiln_bench_plot_append_tics(script, 'x', pow(10, frame.x.low), pow(10, frame.x.high));
    kiln_bench_plot_append_tics(script, 'y', operations_at(&frame, 0) / frame.unit,
                                operations_at(&frame, top) / frame.unit);
    char plot[1024];
    (void)snprintf(
        plot, sizeof plot,
        "plot data skip 1 using 4:6:($1-$4):($2-$6) with vectors nohead lc \"#bbbbbb\" lw 0.7 "
        "notitle, "
        "'' skip 1 using 1:($3 > 0 ? $3 : NaN):(0):($2-$3) with vectors nohead lc "
        "\"" KILN_BENCH_PLOT_UNFUSED "\" lw 0.7 dt 3 notitle, "
        "roof(x) with lines lc \"" KILN_BENCH_PLOT_COPY "\" lw 2 title \"copy, %.0f GB/s\", "
        "'' skip 1 using 1:2 with points pt 7 ps 0.8 lc \"" KILN_BENCH_PLOT_FUSED
        "\" title \"fused\", "
        "'' skip 1 using 1:($3 > 0 ? $3 : NaN) with points pt 6 ps 0.8 lc "
        "\"" KILN_BENCH_PLOT_UNFUSED "\" title \"one kernel per node\", "
        "'' skip 1 using 4:5:7 with labels rotate by 90 left font \",11\" notitle",
        roof / 1e9);
    kiln_bench_plot_end(script, "roofline", plot);
}

bool kiln_bench_plot_roofline(const struct kiln_bench_results *results, struct kiln_buffer *data,
                              struct kiln_buffer *script)
{
    const struct kiln_bench_result **chosen;
    size_t chosen_count = kiln_bench_plot_choose(results, &chosen);
    struct point *points = kiln_cli_calloc(chosen_count, sizeof *points);
    size_t count = collect(chosen, chosen_count, points);
    double roof = roof_rate(chosen, chosen_count);
    bool has_something = count != 0 && roof > 0;
    if (has_something)
        draw(results, points, count, roof, data, script);
    free(points);
    free(chosen);
    return has_something;
}
