/*
 * What the plots of `kiln bench` share. A plot is a file of data and a gnuplot script; names of
 * graphs, which are untrusted, stand in the data only, where gnuplot takes them as text.
 */
#ifndef KILN_CLI_BENCH_BENCH_PLOT_PARTS_H
#define KILN_CLI_BENCH_BENCH_PLOT_PARTS_H

#include "cli/bench/bench_result.h"
#include "runtime/support/buffer.h"

#include <stdbool.h>

enum { KILN_BENCH_PLOT_LABEL_COLUMNS = 40 };

/* Colours that people tell apart who see few: Okabe and Ito's. */
#define KILN_BENCH_PLOT_FUSED   "#0072b2"
#define KILN_BENCH_PLOT_UNFUSED "#e69f00"
#define KILN_BENCH_PLOT_PROMISE "#b9d9ec"
#define KILN_BENCH_PLOT_COPY    "#222222"
#define KILN_BENCH_PLOT_GRID    "#dddddd"

struct kiln_bench_plot_size {
    double width; /* of the SVG in pixels; the PNG has one and a half times as many */
    double height;
    double left; /* margins in the same pixels */
    double right;
    double top;
    double bottom;
};

/* The results to show once each: measured, and of one name the one with most elements. Returns
 * their number; `ret_chosen` has room for all and the caller frees it. */
size_t kiln_bench_plot_choose(const struct kiln_bench_results *results,
                              const struct kiln_bench_result ***ret_chosen);

/* A name in double quotes, as gnuplot reads it from data: escaped, cut to
 * KILN_BENCH_PLOT_LABEL_COLUMNS, without quotes, backslashes and percent signs. Returns its
 * columns. */
int kiln_bench_plot_append_label(struct kiln_buffer *data, const char *name);

/* The start of a script: where its data is, size, margins, title ("Speed-up by fusion" and the
 * device, of which only letters, digits and ".:+-_" are kept), grid. */
void kiln_bench_plot_begin(struct kiln_buffer *script, const struct kiln_bench_results *results,
                           const char *name, const char *title,
                           const struct kiln_bench_plot_size *size);
/* Ticks of a logarithmic axis, 'x' or 'y', from one value to another: gnuplot marks powers of ten
 * alone, of which a short axis may have none. */
void kiln_bench_plot_append_tics(struct kiln_buffer *script, char axis, double low, double high);
/* The end: draws the command `plot`, which may use the variable `data`, as SVG and as PNG. */
void kiln_bench_plot_end(struct kiln_buffer *script, const char *name, const char *plot);

/* The plots: append data and script, or nothing and false where the results have nothing to show.
 */
bool kiln_bench_plot_speed_up(const struct kiln_bench_results *results, struct kiln_buffer *data,
                              struct kiln_buffer *script);
bool kiln_bench_plot_bandwidth(const struct kiln_bench_results *results, struct kiln_buffer *data,
                               struct kiln_buffer *script);
bool kiln_bench_plot_roofline(const struct kiln_bench_results *results, struct kiln_buffer *data,
                              struct kiln_buffer *script);
bool kiln_bench_plot_sweep(const struct kiln_bench_results *results, struct kiln_buffer *data,
                           struct kiln_buffer *script);

#endif
