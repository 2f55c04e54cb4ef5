/* Plots with a bar per graph, one below the other. */
#include "cli/bench/bench_plot_parts.h"

#include <math.h>
#include <stdlib.h>

/* Of a graph: a narrow bar over a wide one, and a mark; 0 where there is none. */
struct bar {
    double narrow;
    double wide;
    double mark;
};

struct bars {
    const char *name;
    const char *title;
    const char *axis;
    const char *format; /* of the figure x behind the narrow bar, for gnuplot */
    const char *plot;   /* gnuplot's command */
    struct bar (*of)(const struct kiln_bench_result *result);
    bool has_unity; /* a line at 1 */
};

static const double bar_pixels = 22, letter_pixels = 8;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static bool draw(const struct bars *bars, const struct kiln_bench_results *results,
                 struct kiln_buffer *data, struct kiln_buffer *script)
{
    const struct kiln_bench_result **chosen;
    size_t count = kiln_bench_plot_choose(results, &chosen);
    size_t shown = 0;
    double longest = 0;
    int columns = 0;
    /* Rows are numbered from the top, which is why the axis is reversed. */
    kiln_buffer_append_text(data, "row\tnarrow\twide\tmark\tfigure\tname\n");
    for (size_t i = 0; i < count; i++) {
        struct bar bar = bars->of(chosen[i]);
        if (!(bar.narrow > 0) || !(bar.wide > 0))
            continue;
        double end = larger(larger(bar.narrow, bar.wide), bar.mark);
        longest = larger(longest, end);
        kiln_buffer_printf(data, "%zu\t%.9g\t%.9g\t%.9g\t%.9g\t", ++shown, bar.narrow, bar.wide,
                           bar.mark, end);
        int label = kiln_bench_plot_append_label(data, chosen[i]->name);
        columns = label > columns ? label : columns;
        kiln_buffer_append_text(data, "\n");
    }
    free(chosen);
    if (shown == 0) {
        kiln_buffer_clear(data);
        return false;
    }
    struct kiln_bench_plot_size size = {.width = 1000,
                                        .height = 140 + bar_pixels * (double)shown,
                                        .left = 30 + letter_pixels * columns,
                                        .right = 30,
                                        .top = 72,
                                        .bottom = 62};
    kiln_bench_plot_begin(script, results, bars->name, bars->title, &size);
    kiln_buffer_printf(script,
                       "set xrange [0:%.9g]\n"
                       "set yrange [%zu.6:0.4]\n"
                       "unset ytics\n"
                       "set xlabel \"%s\"\n"
                       "set style fill solid noborder\n"
                       "figure(x) = sprintf(%s, x)\n",
                       longest * 1.1, shown, bars->axis, bars->format);
    if (bars->has_unity)
        kiln_buffer_append_text(script, "set arrow from 1,graph 0 to 1,graph 1 nohead back "
                                        "lc \"#888888\" lw 1\n");
    kiln_bench_plot_end(script, bars->name, bars->plot);
    return true;
}

#define WIDE_BAR   "using (0.5*$3):1:(0.5*$3):(0.38) with boxxyerror"
#define NARROW_BAR "using (0.5*$2):1:(0.5*$2):(0.2) with boxxyerror"
/* Names stand left of the axis. They are no tick labels: gnuplot looks for formats in those. */
#define TEXTS                                                                                      \
    "'' skip 1 using (0):1:6 with labels right offset -0.8,0 notitle, "                            \
    "'' skip 1 using 5:1:(figure($2)) with labels left offset 0.6,0 font \",11\" notitle"

static struct bar speed_up(const struct kiln_bench_result *result)
{
    return (struct bar){.narrow = kiln_bench_speed_up(result),
                        .wide = kiln_bench_promised_speed_up(result)};
}

bool kiln_bench_plot_speed_up(const struct kiln_bench_results *results, struct kiln_buffer *data,
                              struct kiln_buffer *script)
{
    static const struct bars bars = {
        .name = "speed_up",
        .title = "Speed-up by fusion",
        .axis = "time of one kernel per node / time of the fused kernels",
        .format = "\"%.2f\"",
        .plot =
            "plot data skip 1 " WIDE_BAR " lc \"" KILN_BENCH_PLOT_PROMISE
            "\" title \"promised by the bytes moved\", "
            "'' skip 1 " NARROW_BAR " lc \"" KILN_BENCH_PLOT_FUSED "\" title \"measured\", " TEXTS,
        .of = speed_up,
        .has_unity = true,
    };
    return draw(&bars, results, data, script);
}

static struct bar bandwidth(const struct kiln_bench_result *result)
{
    return (struct bar){.narrow = kiln_bench_rate(result, &result->fused) / 1e9,
                        .wide = kiln_bench_copy_rate(result) / 1e9,
                        .mark = kiln_bench_rate(result, &result->unfused) / 1e9};
}

bool kiln_bench_plot_bandwidth(const struct kiln_bench_results *results, struct kiln_buffer *data,
                               struct kiln_buffer *script)
{
    static const struct bars bars = {
        .name = "bandwidth",
        .title = "Fewest bytes over time",
        .axis = "GB/s",
        .format = "x < 100 ? \"%.1f\" : \"%.0f\"",
        .plot = "plot data skip 1 " WIDE_BAR " lc \"#e4e4e4\" title \"copy of as many bytes\", "
                "'' skip 1 " NARROW_BAR " lc \"" KILN_BENCH_PLOT_FUSED "\" title \"fused\", "
                "'' skip 1 using ($4 > 0 ? $4 : NaN):1 with points pt 13 ps 0.9 lc "
                "\"" KILN_BENCH_PLOT_UNFUSED "\" title \"one kernel per node\", " TEXTS,
        .of = bandwidth,
    };
    return draw(&bars, results, data, script);
}
