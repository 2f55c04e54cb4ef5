#include "cli/bench/bench_shapes.h"

#include "cli/bench/bench_builder.h"
#include "cli/random_input.h"
#include "cli/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = KILN_BENCH_ROW_AXIS, COLUMNS = KILN_BENCH_COLUMN_AXIS };
enum { MIDDLE = 8, SIDE = 4, MOST_CHANGE = 32 };

/* ---- graphs that the suite lacks ---- */

/* x with the first two axes exchanged. */
static void permute(struct kiln_bench_builder *builder, uint32_t rank)
{
    kiln_bench_set_shape(builder, rank, builder->sizes);
    uint32_t x = kiln_bench_input_transposed(builder, "x");
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_IDENTITY, x));
}

static void build_transpose(struct kiln_bench_builder *builder, int64_t elements)
{
    (void)elements;
    permute(builder, 2);
}

static void build_exchange(struct kiln_bench_builder *builder, int64_t elements)
{
    (void)elements;
    permute(builder, 3);
}

static void bias_relu(struct kiln_bench_builder *builder, uint32_t axes, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t bias = kiln_bench_vector(builder, "bias", axes);
    uint32_t sum = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, x, bias);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_RELU_FWD, sum));
}

static void build_bias_relu(struct kiln_bench_builder *builder, int64_t elements)
{
    bias_relu(builder, COLUMNS, elements);
}

static void build_row_bias(struct kiln_bench_builder *builder, int64_t elements)
{
    bias_relu(builder, ROWS, elements);
}

/* fp8 with a scale for each row. */
static void build_quantize(struct kiln_bench_builder *builder, int64_t elements)
{
    static const double largest_fp8 = 448;
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t most = kiln_bench_reduce(builder, KILN_REDUCTION_AMAX, x, COLUMNS);
    uint32_t step = kiln_bench_constant(builder, 1 / largest_fp8);
    uint32_t scale = kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, most, step);
    uint32_t y = kiln_bench_pointwise(builder, KILN_POINTWISE_DIV, x, scale);
    kiln_bench_output_as(builder, "scale", scale, KILN_DTYPE_F32);
    kiln_bench_output_as(builder, "y", y, KILN_DTYPE_F8E4M3);
}

/* ---- the table ---- */

/* The sizes that a graph has of a number of rows and their length. */
enum form { FORM_ROWS, FORM_EXCHANGE, FORM_IMAGES };

/* Without a function of its own, a graph is built as the suite's case `suite`. */
static const struct kind {
    const char *name;
    const char *suite;
    void (*build)(struct kiln_bench_builder *builder, int64_t elements);
    enum form form;
} kinds[] = {
    {.name = "transpose", .build = build_transpose},
    {.name = "exchange", .build = build_exchange, .form = FORM_EXCHANGE},
    {.name = "bias_relu", .build = build_bias_relu},
    {.name = "row_bias", .build = build_row_bias},
    {.name = "row_sum", .suite = "row_sum"},
    {.name = "column_sum", .suite = "column_sum"},
    {.name = "column_max", .suite = "column_max"},
    {.name = "softmax", .suite = "softmax"},
    {.name = "layernorm", .suite = "layernorm"},
    {.name = "add_rmsnorm", .suite = "residual_rmsnorm"},
    {.name = "batchnorm", .suite = "batchnorm_training", .form = FORM_IMAGES},
    {.name = "quantize", .build = build_quantize},
};

enum { F32 = 1, F16 = 2, BF16 = 4 };
static const enum kiln_dtype dtypes[] = {KILN_DTYPE_F32, KILN_DTYPE_F16, KILN_DTYPE_BF16};

static const struct length {
    int64_t elems;
    unsigned types; /* of the graphs with this length */
} lengths[] = {
    {17, F16 | BF16}, {127, F32 | BF16}, {257, F16},    {513, F32},   {1023, BF16},
    {4096, BF16},     {4097, BF16},      {8191, F32},   {10007, F16}, {32767, F32},
    {50257, BF16},    {100003, F16},     {262144, F32},
};

enum {
    KIND_COUNT = sizeof kinds / sizeof *kinds,
    DTYPE_COUNT = sizeof dtypes / sizeof *dtypes,
    ROW_COUNT = KIND_COUNT * DTYPE_COUNT,
    COLUMN_COUNT = sizeof lengths / sizeof *lengths,
    MOST_SHAPES = ROW_COUNT * COLUMN_COUNT,
};

unsigned kiln_bench_shape_row_count(void)
{
    return ROW_COUNT;
}

unsigned kiln_bench_shape_column_count(void)
{
    return COLUMN_COUNT;
}

struct kiln_bench_case kiln_bench_shape_case(unsigned row)
{
    const struct kind *kind = &kinds[row / DTYPE_COUNT];
    struct kiln_bench_case which = {
        .name = kind->name, .dtype = dtypes[row % DTYPE_COUNT], .build = kind->build};
    for (unsigned i = 0; i < kiln_bench_suite_count && which.build == NULL; i++) {
        if (strcmp(kiln_bench_suite[i].name, kind->suite) == 0)
            which.build = kiln_bench_suite[i].build;
    }
    assert(which.build != NULL);
    return which;
}

int64_t kiln_bench_shape_length(unsigned column)
{
    return lengths[column].elems;
}

static unsigned list_shapes(struct kiln_bench_shape shapes[MOST_SHAPES])
{
    unsigned count = 0;
    for (unsigned row = 0; row < ROW_COUNT; row++) {
        for (unsigned column = 0; column < COLUMN_COUNT; column++) {
            if ((lengths[column].types >> row % DTYPE_COUNT & 1u) != 0)
                shapes[count++] = (struct kiln_bench_shape){row, column, lengths[column].elems};
        }
    }
    return count;
}

static void change_length(struct kiln_bench_shape *shape, uint64_t stream)
{
    int64_t most = shape->row_elems / MOST_CHANGE / 2;
    uint64_t bits = kiln_random_mix(kiln_random_mix(stream + shape->row) + shape->column);
    shape->row_elems += 2 * ((int64_t)(bits % (uint64_t)(2 * most + 1)) - most);
}

struct kiln_bench_shape *kiln_bench_shapes_make(uint64_t seed, unsigned *ret_count)
{
    struct kiln_bench_shape *shapes = kiln_cli_calloc(MOST_SHAPES, sizeof *shapes);
    *ret_count = list_shapes(shapes);
    if (seed == 0)
        return shapes;
    uint64_t stream = kiln_random_mix(seed);
    for (unsigned i = *ret_count; i-- > 0;) {
        unsigned other = (unsigned)(kiln_random_mix(stream + i) % (i + 1));
        struct kiln_bench_shape shape = shapes[other];
        shapes[other] = shapes[i];
        shapes[i] = shape;
        change_length(&shapes[i], stream);
    }
    return shapes;
}

void kiln_bench_shape_name(const struct kiln_bench_shape *shape,
                           char ret_name[KILN_BENCH_NAME_BYTES])
{
    const struct kiln_bench_case which = kiln_bench_shape_case(shape->row);
    kiln_bench_case_name(&which, ret_name);
    size_t used = strlen(ret_name);
    (void)snprintf(ret_name + used, KILN_BENCH_NAME_BYTES - used, "_%lld",
                   (long long)shape->row_elems);
}

static int64_t at_least(int64_t number, int64_t least)
{
    return number > least ? number : least;
}

enum kiln_status kiln_bench_shape_make(const struct kiln_bench_shape *shape, int64_t elements,
                                       struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                       struct kiln_error *error)
{
    int64_t length = shape->row_elems;
    int64_t rows = elements / length;
    const int64_t sizes[][4] = {
        [FORM_ROWS] = {at_least(rows, 2), length},
        [FORM_EXCHANGE] = {at_least(rows / MIDDLE, 2), MIDDLE, length},
        [FORM_IMAGES] = {at_least(rows / (SIDE * SIDE), 1), length, SIDE, SIDE},
    };
    enum form form = kinds[shape->row / DTYPE_COUNT].form;
    const struct kiln_bench_case which = kiln_bench_shape_case(shape->row);
    return kiln_bench_case_make_shape(&which, sizes[form], arena, ret_graph, error);
}
