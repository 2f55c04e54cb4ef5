/*
 * Counts the kernels that serve all shapes of a computation. Graphs of the suite of `kiln bench`
 * are lowered in random shapes, with sizes as arguments. No kernel is compiled.
 *
 * usage: kiln-shapes-benchmark [--target NAME] [--count N] [--seed N] [--most N] [CASE...]
 *   --target  default: gfx942
 *   --count   shapes of each graph; default: 1000
 *   --most    exit code 1 if a graph has more kernels than this
 *   CASE      only these, as in softmax_fp16; default: every graph of the suite in fp16
 */
#include "cli/bench/bench_suite.h"
#include "compiler/codegen/target.h"
#include "compiler/program.h"
#include "tests/support/random_numbers.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AXES = 4,            /* rows and columns, or images */
    MOST_LINE = 1 << 16, /* rows, or columns */
    MOST_IMAGES = 64,
    MOST_CHANNELS = 2048,
    MOST_SIDE = 128,
    MOST_ELEMENTS = 1 << 28,
};

struct settings {
    const char *target;
    uint64_t count, seed, most;
    bool lists; /* the schedules of all kernels */
};

/* The symbols of the kernels so far. */
struct symbols {
    char **symbols;
    size_t count;
};

static void fail(const char *text)
{
    fprintf(stderr, "kiln-shapes-benchmark: %s\n", text);
    exit(2);
}

/* True if it is new. */
static bool add_symbol(struct symbols *symbols, const char *symbol)
{
    for (size_t i = 0; i < symbols->count; i++) {
        if (strcmp(symbols->symbols[i], symbol) == 0)
            return false;
    }
    char **grown = realloc(symbols->symbols, (symbols->count + 1) * sizeof *grown);
    char *copy = strdup(symbol);
    if (grown == NULL || copy == NULL)
        fail("out of memory");
    symbols->symbols = grown;
    symbols->symbols[symbols->count++] = copy;
    return true;
}

static void fini_symbols(struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->count; i++)
        free(symbols->symbols[i]);
    free(symbols->symbols);
    *symbols = (struct symbols){0};
}

/* As many small ones as large ones, two of three a multiple of 8, as in models. From 2 on: an axis
 * of size 1 is none, so that the computation is another one. */
static int64_t pick_size(struct kiln_random *random, int64_t most)
{
    uint32_t bits = 0;
    while ((INT64_C(2) << bits) <= most)
        bits++;
    int64_t power = INT64_C(1) << kiln_random_below(random, bits + 1);
    int64_t size = power + (int64_t)kiln_random_below(random, (uint32_t)power);
    if (size < 2)
        size = 2;
    if (size > 8 && !kiln_random_chance(random, 33))
        size -= size % 8;
    return size < most ? size : most;
}

static void pick_sizes(struct kiln_random *random, bool is_image, int64_t sizes[AXES])
{
    static const int64_t image[AXES] = {MOST_IMAGES, MOST_CHANNELS, MOST_SIDE, MOST_SIDE};
    int64_t elements;
    do {
        elements = 1;
        for (int i = 0; i < AXES; i++) {
            sizes[i] = is_image ? pick_size(random, image[i])
                       : i < 2  ? pick_size(random, MOST_LINE)
                                : 1;
            elements *= sizes[i];
        }
    } while (elements > MOST_ELEMENTS);
}

/* The kernels of a graph in one shape. */
static void lower(const struct kiln_bench_case *which, const int64_t sizes[AXES],
                  const struct kiln_target *target, enum kiln_shapes shapes, bool lists,
                  struct symbols *symbols)
{
    const struct kiln_lower_options options = {.shapes = shapes};
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_program program;
    struct kiln_error error;
    struct kiln_buffer text;
    const struct kiln_dump dump = {.stages = lists ? KILN_DUMP_SCHEDULE : 0, .text = &text};
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    kiln_buffer_init(&text);
    if (kiln_bench_case_make_shape(which, sizes, &arena, &graph, &error) != KILN_OK ||
        kiln_lower(&graph, target, &options, &arena, &program, &dump, &error) != KILN_OK)
        fail(error.text);
    const char *line = kiln_buffer_text(&text);
    for (uint32_t i = 0; i < program.kernel_count; i++) {
        line = lists ? strstr(line, "\n  template") + 1 : line;
        if (add_symbol(symbols, program.kernels[i].symbol) && lists)
            printf("%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64 ":%.*s\n", sizes[0],
                   sizes[1], sizes[2], sizes[3], (int)strcspn(line, "\n"), line);
    }
    kiln_buffer_fini(&text);
    kiln_arena_fini(&arena);
}

static size_t count_kernels(const struct kiln_bench_case *which, const struct kiln_target *target,
                            enum kiln_shapes shapes, const struct settings *settings)
{
    struct symbols symbols = {0};
    struct kiln_random random = {settings->seed};
    bool is_image = strncmp(which->name, "batchnorm", strlen("batchnorm")) == 0;
    for (uint64_t i = 0; i < settings->count; i++) {
        int64_t sizes[AXES];
        pick_sizes(&random, is_image, sizes);
        lower(which, sizes, target, shapes, settings->lists && shapes == KILN_SHAPES_ARGUMENT,
              &symbols);
    }
    size_t count = symbols.count;
    fini_symbols(&symbols);
    return count;
}

static bool is_chosen(const struct kiln_bench_case *which, char **names, int count)
{
    char name[KILN_BENCH_NAME_BYTES];
    kiln_bench_case_name(which, name);
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return count == 0 && which->is_default;
}

static struct settings parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"target", required_argument, NULL, 't'}, {"count", required_argument, NULL, 'c'},
        {"seed", required_argument, NULL, 's'},   {"most", required_argument, NULL, 'm'},
        {"list", no_argument, NULL, 'l'},         {NULL, 0, NULL, 0}};
    struct settings settings = {.target = "gfx942", .count = 1000, .seed = 1, .most = UINT64_MAX};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 't')
            settings.target = optarg;
        else if (option == 'l')
            settings.lists = true;
        else if (option == 'c' || option == 's' || option == 'm')
            *(option == 'c'   ? &settings.count
              : option == 's' ? &settings.seed
                              : &settings.most) = strtoull(optarg, NULL, 10);
        else
            fail("usage: kiln-shapes-benchmark [--target NAME] [--count N] [--seed N] [--most N] "
                 "[--list] [CASE...]");
    }
    return settings;
}

int main(int argc, char **argv)
{
    const struct settings settings = parse(argc, argv);
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_target_parse(settings.target, &target, &error) != KILN_OK)
        fail(error.text);
    size_t worst = 0;
    printf("kernels of %" PRIu64
           " random shapes for %s, with sizes as arguments and as constants\n",
           settings.count, settings.target);
    for (unsigned i = 0; i < kiln_bench_suite_count; i++) {
        const struct kiln_bench_case *which = &kiln_bench_suite[i];
        if (!is_chosen(which, argv + optind, argc - optind))
            continue;
        size_t argument = count_kernels(which, &target, KILN_SHAPES_ARGUMENT, &settings);
        size_t constant = count_kernels(which, &target, KILN_SHAPES_CONSTANT, &settings);
        printf("%-32s %6zu %6zu\n", which->name, argument, constant);
        worst = argument > worst ? argument : worst;
    }
    printf("at most %zu\n", worst);
    return worst > settings.most;
}
