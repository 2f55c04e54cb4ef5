#include "cli/bench/bench_plot_parts.h"

#include "cli/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether another result of the same name says more. */
static bool is_outdone(const struct kiln_bench_results *results, size_t which)
{
    const struct kiln_bench_result *result = &results->results[which];
    for (size_t i = 0; i < results->count; i++) {
        const struct kiln_bench_result *other = &results->results[i];
        if (i == which || other->failure != NULL || strcmp(other->name, result->name) != 0)
            continue;
        if (other->elements > result->elements ||
            (other->elements == result->elements && i < which))
            return true;
    }
    return false;
}

size_t kiln_bench_plot_choose(const struct kiln_bench_results *results,
                              const struct kiln_bench_result ***ret_chosen)
{
    const struct kiln_bench_result **chosen = kiln_cli_calloc(results->count, sizeof *chosen);
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct kiln_bench_result *result = &results->results[i];
        if (result->failure == NULL && result->fused.time.median_s > 0 && !is_outdone(results, i))
            chosen[count++] = result;
    }
    *ret_chosen = chosen;
    return count;
}

/* Bytes of the longest start of a text that takes so many columns. */
static size_t cut(const char *text, int columns)
{
    size_t bytes = 0;
    while (text[bytes] != '\0') {
        bool starts = ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (starts && columns-- == 0)
            break;
        bytes++;
    }
    return bytes;
}

int kiln_bench_plot_append_label(struct kiln_buffer *data, const char *name)
{
    char *text = kiln_text_escape(name);
    int columns = kiln_text_columns(text);
    bool is_long = columns > KILN_BENCH_PLOT_LABEL_COLUMNS;
    if (is_long) {
        columns = KILN_BENCH_PLOT_LABEL_COLUMNS;
        text[cut(text, KILN_BENCH_PLOT_LABEL_COLUMNS - 3)] = '\0';
    }
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '"' ? '\'' : *at == '\\' ? '/' : *at == '%' ? '_' : *at;
    kiln_buffer_printf(data, "\"%s%s\"", text, is_long ? "..." : "");
    free(text);
    return columns;
}

/* What stands in a script must not end its quotes. */
static void append_tame(struct kiln_buffer *script, const char *text)
{
    static const char tame[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:+-_";
    for (; *text != '\0'; text++) {
        if (strchr(tame, *text) != NULL)
            kiln_buffer_append(script, text, 1);
    }
}

void kiln_bench_plot_begin(struct kiln_buffer *script, const struct kiln_bench_results *results,
                           const char *name, const char *title,
                           const struct kiln_bench_plot_size *size)
{
    kiln_buffer_printf(
        script,
        "# Written by kiln bench. To draw it again, in this directory: gnuplot %s.gp\n"
        "reset\n" /* where another plot's script came before */
        "directory = exists(\"ARG1\") ? (strlen(ARG1) > 0 ? ARG1.\"/\" : \"./\") : \"./\"\n"
        "data = directory.\"%s.tsv\"\n"
        "width = %.0f\n"
        "height = %.0f\n"
        "set encoding utf8\n"
        "set datafile separator \"\\t\"\n"
        "set terminal svg noenhanced size width,height font \"sans-serif,13\" background "
        "\"white\"\n"
        "set lmargin at screen %.5f\n"
        "set rmargin at screen %.5f\n"
        "set bmargin at screen %.5f\n"
        "set tmargin at screen %.5f\n",
        name, name, size->width, size->height, size->left / size->width,
        1 - size->right / size->width, size->bottom / size->height, 1 - size->top / size->height);
    kiln_buffer_printf(script, "set label 1 \"%s, ", title);
    append_tame(script, results->device);
    kiln_buffer_append_text(script, " ");
    append_tame(script, results->target);
    kiln_buffer_append_text(script,
                            "\" at screen 0.5,1-22.0/height center font \",16\"\n"
                            "set key at screen 0.5,1-48.0/height center center horizontal maxrows "
                            "1 samplen 2 spacing 1 width 1\n"
                            "set border lc \"#888888\"\n"
                            "set tics textcolor \"#222222\"\n"
                            "set grid back lc \"" KILN_BENCH_PLOT_GRID "\" lt 1 lw 1\n");
}

void kiln_bench_plot_append_tics(struct kiln_buffer *script, char axis, double low, double high)
{
    static const double few[] = {1, 2, 5};
    static const double many[] = {1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9};
    double decades = log10(high / low);
    bool is_short = decades < 0.8;
    const double *digits = is_short ? many : few;
    size_t count = is_short ? sizeof many / sizeof *many : sizeof few / sizeof *few;
    if (!(decades < 2.5))
        return;
    const char *comma = "";
    kiln_buffer_printf(script, "set %ctics (", axis);
    for (double power = pow(10, floor(log10(low))); power <= high; power *= 10) {
        for (size_t i = 0; i < count; i++) {
            double tic = digits[i] * power;
            if (tic < low || tic > high)
                continue;
            kiln_buffer_printf(script, "%s%.9g", comma, tic);
            comma = ", ";
        }
    }
    kiln_buffer_append_text(script, ")\n");
}

/* A size of fonts is pixels in SVG and points in PNG, of which an inch has 96 and 72. */
void kiln_bench_plot_end(struct kiln_buffer *script, const char *name, const char *plot)
{
    kiln_buffer_printf(script,
                       "set output directory.\"%s.svg\"\n"
                       "%s\n"
                       "set output\n"
                       "set terminal pngcairo noenhanced size 1.5*width,1.5*height "
                       "font \"sans-serif,13\" fontscale 1.125 linewidth 1.5 pointscale 1.5\n"
                       "set output directory.\"%s.png\"\n"
                       "replot\n"
                       "set output\n",
                       name, plot, name);
}
