#include "cli/lower_choice.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, MOST_SEGMENTS = 64 };

/* "128x64x32": `least` to three numbers from 1 on; those that are left out stay what they are. */
static bool read_numbers(const char *text, size_t least, uint32_t **numbers)
{
    for (size_t i = 0;; i++) {
        char *end = NULL;
        if (i == 3 || !isdigit((unsigned char)*text))
            return false;
        unsigned long number = strtoul(text, &end, 10);
        if (number == 0 || number > MOST)
            return false;
        *numbers[i] = (uint32_t)number;
        if (*end == '\0')
            return i + 1 >= least;
        if (*end != 'x')
            return false;
        text = end + 1;
    }
}

static void take_segments(struct kiln_command_line *line, struct kiln_contraction_options *options)
{
    char *end = NULL;
    unsigned long number =
        isdigit((unsigned char)*line->value) ? strtoul(line->value, &end, 10) : ULONG_MAX;
    if (number > MOST_SEGMENTS || *end != '\0')
        kiln_command_line_fail(line, "0 leaves it to the schedule, and 1 cuts nothing",
                               "option '--split-k' takes a number from 0 to 64, not '%s'",
                               line->value);
    else
        options->segments = (uint32_t)number;
}

static const char *const names[] = {
    [KILN_CONTRACTION_PLAIN] = "plain",       [KILN_CONTRACTION_PINGPONG] = "pingpong",
    [KILN_CONTRACTION_STREAMED] = "streamed", [KILN_CONTRACTION_SPECIALIZED] = "specialized",
    [KILN_CONTRACTION_DIRECT] = "direct",     [KILN_CONTRACTION_SMALL] = "small",
};

const char *kiln_schedule_choice_name(size_t index)
{
    index += KILN_CONTRACTION_PLAIN;
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static void take_schedule(struct kiln_command_line *line, struct kiln_contraction_options *options)
{
    for (size_t i = KILN_CONTRACTION_PLAIN; i < sizeof names / sizeof *names; i++) {
        if (strcmp(line->value, names[i]) == 0) {
            options->form = (enum kiln_contraction_form)i;
            return;
        }
    }
    kiln_command_line_fail(line, "it is plain, pingpong, streamed, specialized, direct or small",
                           "option '--schedule' does not know '%s'", line->value);
}

static void take_shapes(struct kiln_command_line *line, enum kiln_shapes *ret_shapes)
{
    if (kiln_shapes_parse(line->value, ret_shapes))
        return;
    kiln_command_line_fail(line, "it is constant, argument or auto",
                           "option '--shapes' does not know '%s'", line->value);
}

void kiln_lower_choice_take(struct kiln_command_line *line, struct kiln_lower_options *lower)
{
    struct kiln_contraction_options *options = &lower->contraction;
    const char *name = kiln_option(line->option)->name;
    if (strcmp(name, "schedule") == 0) {
        take_schedule(line, options);
    } else if (strcmp(name, "shapes") == 0) {
        take_shapes(line, &lower->shapes);
    } else if (strcmp(name, "split-k") == 0) {
        take_segments(line, options);
    } else if (strcmp(name, "tile") == 0) {
        uint32_t *tile[] = {&options->tile_m, &options->tile_n, &options->tile_k};
        if (!read_numbers(line->value, 2, tile))
            kiln_command_line_fail(line,
                                   "it is rows x columns of the result, and k if wanted, "
                                   "each from 1 to 4096",
                                   "option '--tile' takes MxN or MxNxK, not '%s'", line->value);
    } else if (strcmp(name, "waves") == 0) {
        uint32_t *waves[] = {&options->waves_m, &options->waves_n, &options->waves_k};
        options->waves_k = 1;
        if (!read_numbers(line->value, 2, waves))
            kiln_command_line_fail(line,
                                   "it is waves along the rows x columns of the result, and "
                                   "along k if wanted, each from 1 to 4096",
                                   "option '--waves' takes MxN or MxNxK, not '%s'", line->value);
    }
}
