/* Convolutions and their gradients through import, passes and interpreter, against the oracle. */
#include "compiler/ir/import.h"
#include "compiler/reference/reference.h"
#include "tests/compiler/ir/import_trial.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

struct shape {
    const char *name;
    uint32_t spatial_count;
    int64_t batch, groups, group_channels, group_filters;
    int64_t image[3], taps[3], pre[3], post[3], stride[3], dilation[3];
    bool is_flipped;
};

static const struct shape shapes[] = {
    {"plain", 1, 2, 1, 3, 2, {7}, {3}, {0}, {0}, {1}, {1}, false},
    {"padded", 2, 1, 1, 2, 3, {5, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"one tap", 2, 2, 1, 4, 3, {3, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, false},
    {"one tap, strided", 2, 1, 1, 2, 2, {5, 6}, {1, 1}, {0, 0}, {0, 0}, {2, 3}, {1, 1}, false},
    {"strided", 1, 1, 1, 2, 2, {9}, {3}, {1}, {1}, {2}, {1}, false},
    {"wide strides", 1, 1, 1, 1, 2, {11}, {2}, {0}, {0}, {4}, {1}, false},
    {"dilated", 1, 1, 1, 2, 1, {9}, {3}, {2}, {1}, {1}, {2}, false},
    {"strided and dilated, nothing in common", 1, 1, 1, 1, 1, {13}, {4}, {3}, {2}, {3}, {2}, false},
    {"strided and dilated alike", 1, 1, 1, 1, 1, {13}, {4}, {3}, {2}, {2}, {2}, false},
    {"strided and dilated, in common", 1, 1, 1, 1, 1, {21}, {4}, {5}, {2}, {4}, {6}, false},
    {"uneven padding", 2, 1, 1, 1, 2, {4, 3}, {3, 2}, {2, 0}, {0, 3}, {1, 1}, {1, 1}, false},
    {"flipped", 2, 1, 1, 2, 2, {5, 4}, {3, 2}, {1, 0}, {0, 1}, {1, 1}, {1, 1}, true},
    {"flipped, strided, dilated", 1, 1, 1, 2, 2, {11}, {3}, {2}, {1}, {2}, {3}, true},
    {"groups", 1, 2, 3, 2, 2, {5}, {3}, {1}, {1}, {1}, {1}, false},
    {"groups, strided", 2, 1, 2, 2, 3, {5, 5}, {3, 2}, {1, 1}, {1, 0}, {2, 2}, {1, 1}, false},
    {"depthwise", 2, 2, 4, 1, 1, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"depthwise of two filters, flipped", 1, 1, 3, 1, 2, {6}, {3}, {1}, {1}, {2}, {1}, true},
    {"three axes",
     3,
     1,
     1,
     2,
     2,
     {3, 4, 3},
     {2, 3, 1},
     {0, 1, 0},
     {1, 1, 0},
     {1, 2, 1},
     {1, 1, 1},
     false},
    /* Filters that meet nothing but padding, and an image in the middle of a wide one. */
    {"padding alone", 1, 1, 1, 1, 1, {1}, {1}, {3}, {3}, {1}, {1}, false},
    {"an image of one", 2, 1, 1, 2, 2, {1, 1}, {3, 3}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, false},
    {"the window is the image",
     2,
     2,
     1,
     2,
     3,
     {3, 4},
     {3, 4},
     {0, 0},
     {0, 0},
     {1, 1},
     {1, 1},
     false},
    {"not all of the image is read", 1, 1, 1, 1, 1, {8}, {3}, {0}, {0}, {4}, {1}, false},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const enum kiln_node_kind directions[] = {KILN_NODE_CONVOLUTION_FORWARD,
                                                 KILN_NODE_CONVOLUTION_DATA_GRADIENT,
                                                 KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT};

struct operands {
    uint32_t rank;
    int64_t image[KILN_MAX_RANK], filter[KILN_MAX_RANK], result[KILN_MAX_RANK];
};

static struct operands find_operands(const struct shape *shape)
{
    struct operands operands = {
        .rank = shape->spatial_count + 2,
        .image = {shape->batch, shape->groups * shape->group_channels},
        .filter = {shape->groups * shape->group_filters, shape->group_channels},
        .result = {shape->batch, shape->groups * shape->group_filters},
    };
    for (uint32_t i = 0; i < shape->spatial_count; i++) {
        int64_t padded = shape->pre[i] + shape->image[i] + shape->post[i];
        operands.image[i + 2] = shape->image[i];
        operands.filter[i + 2] = shape->taps[i];
        operands.result[i + 2] =
            (padded - (shape->taps[i] - 1) * shape->dilation[i] - 1) / shape->stride[i] + 1;
    }
    return operands;
}

static void set_attributes(const struct shape *shape, struct kiln_convolution *convolution)
{
    *convolution = (struct kiln_convolution){.spatial_count = shape->spatial_count,
                                             .groups = shape->groups,
                                             .is_flipped = shape->is_flipped};
    for (uint32_t i = 0; i < shape->spatial_count; i++) {
        convolution->pre_padding[i] = shape->pre[i];
        convolution->post_padding[i] = shape->post[i];
        convolution->stride[i] = shape->stride[i];
        convolution->dilation[i] = shape->dilation[i];
    }
}

static void begin(struct kiln_trial *trial, const struct shape *shape, size_t direction,
                  const enum kiln_dtype types[3], double spread)
{
    struct operands operands = find_operands(shape);
    uint32_t rank = operands.rank;
    kiln_trial_begin(trial, directions[direction], (uint64_t)(shape - shapes) * 3 + direction + 1);
    set_attributes(shape, &trial->node.convolution);
    trial->reverse_strides = (shape - shapes) % 2 != 0;
    switch (directions[direction]) {
    case KILN_NODE_CONVOLUTION_FORWARD:
        kiln_trial_input(trial, KILN_OPERAND_X, types[0], rank, operands.image, 0, spread);
        kiln_trial_input(trial, KILN_OPERAND_W, types[1], rank, operands.filter, 0, spread);
        kiln_trial_output(trial, KILN_OPERAND_Y, types[2], rank, operands.result);
        break;
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
        kiln_trial_input(trial, KILN_OPERAND_DY, types[0], rank, operands.result, 0, spread);
        kiln_trial_input(trial, KILN_OPERAND_W, types[1], rank, operands.filter, 0, spread);
        kiln_trial_output(trial, KILN_OPERAND_DX, types[2], rank, operands.image);
        break;
    default:
        kiln_trial_input(trial, KILN_OPERAND_X, types[0], rank, operands.image, 0, spread);
        kiln_trial_input(trial, KILN_OPERAND_DY, types[1], rank, operands.result, 0, spread);
        kiln_trial_output(trial, KILN_OPERAND_DW, types[2], rank, operands.filter);
        break;
    }
    kiln_trial_import(trial);
}

/* Against the oracle, which knows of no contractions. */
static void check(struct kiln_trial *trial, const char *name, size_t direction)
{
    const void *memory[3] = {trial->memory[0], trial->memory[1], NULL};
    struct kiln_reference_tensor expected[3];
    struct kiln_comparison comparison;
    cr_assert_eq(kiln_reference_run(&trial->graph, memory, &trial->arena, expected, &trial->error),
                 KILN_OK, "%s", trial->error.text);
    kiln_reference_compare(&trial->graph, 2, trial->memory[2], &expected[2], &comparison);
    cr_expect_eq(comparison.unchecked, 0, "%s, direction %zu", name, direction);
    cr_expect_eq(comparison.wrong, 0, "%s, direction %zu: element %lld is %.9g, not %.9g", name,
                 direction, (long long)comparison.first_wrong, comparison.got, comparison.expected);
}

static void check_types(enum kiln_dtype a, enum kiln_dtype b, enum kiln_dtype c, double spread)
{
    const enum kiln_dtype types[3] = {a, b, c};
    for (size_t i = 0; i < SHAPES * 3; i++) {
        struct kiln_trial trial;
        const struct shape *shape = &shapes[i / 3];
        begin(&trial, shape, i % 3, types, spread);
        kiln_trial_check_passes(&trial);
        kiln_trial_run(&trial, &trial.plain, KILN_MATH_NATIVE);
        check(&trial, shape->name, i % 3);
        kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NOISY);
        check(&trial, shape->name, i % 3);
        kiln_trial_end(&trial);
    }
}

Test(import_convolution, floats)
{
    check_types(KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, 2);
    check_types(KILN_DTYPE_F64, KILN_DTYPE_F32, KILN_DTYPE_F64, 2);
    check_types(KILN_DTYPE_F16, KILN_DTYPE_BF16, KILN_DTYPE_F16, 2);
    check_types(KILN_DTYPE_F8E4M3, KILN_DTYPE_F8E5M2, KILN_DTYPE_F32, 2);
}

Test(import_convolution, integers)
{
    check_types(KILN_DTYPE_I8, KILN_DTYPE_I8, KILN_DTYPE_I32, 100);
    check_types(KILN_DTYPE_I8, KILN_DTYPE_I8, KILN_DTYPE_I8, 20);
}

/* Padding has no value: not even infinity times it is NaN. */
Test(import_convolution, padding_counts_as_zero_against_infinity)
{
    static const struct shape padded = {"padded", 1,   1,   1,   1,   1,    {2},
                                        {3},      {1}, {1}, {1}, {1}, false};
    static const enum kiln_dtype types[3] = {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32};
    struct kiln_trial trial;
    begin(&trial, &padded, 0, types, 2);
    memcpy(trial.memory[0], (const float[]){2, 3}, 2 * sizeof(float));
    memcpy(trial.memory[1], (const float[]){(float)INFINITY, 1, 1}, 3 * sizeof(float));
    kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NATIVE);
    cr_expect_eq(kiln_trial_element(&trial, 2, 0).real, 5);
    cr_expect_eq(kiln_trial_element(&trial, 2, 1).real, INFINITY);
    kiln_trial_end(&trial);
}

static const struct kiln_contraction *import_shape(struct kiln_trial *trial,
                                                   const struct shape *shape, size_t direction)
{
    static const enum kiln_dtype types[3] = {KILN_DTYPE_F16, KILN_DTYPE_F16, KILN_DTYPE_F16};
    begin(trial, shape, direction, types, 1);
    cr_assert_eq(trial->plain.contraction_count, 1);
    return &trial->plain.contractions[0];
}

/* What needs no window has none: it is a matrix product. */
Test(import_convolution, windows_only_where_the_image_ends)
{
    static const struct {
        struct shape shape;
        uint32_t windows[3];
    } rows[] = {
        {{"one tap", 2, 2, 1, 4, 3, {3, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, false},
         {0, 0, 0}},
        {{"one tap, strided", 1, 1, 1, 2, 2, {5}, {1}, {0}, {0}, {2}, {1}, false}, {0, 1, 0}},
        {{"no padding", 1, 2, 1, 3, 2, {7}, {3}, {0}, {0}, {1}, {1}, false}, {0, 1, 0}},
        {{"padding behind", 1, 2, 1, 3, 2, {7}, {3}, {0}, {2}, {1}, {1}, false}, {1, 1, 1}},
        {{"padding behind that is not read", 1, 1, 1, 1, 1, {8}, {2}, {0}, {1}, {3}, {1}, false},
         {0, 1, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 3; i++) {
        struct kiln_trial trial;
        const struct kiln_contraction *contraction =
            import_shape(&trial, &rows[i / 3].shape, i % 3);
        cr_expect_eq(kiln_contraction_image(contraction)->window_count, rows[i / 3].windows[i % 3],
                     "%s, direction %zu: %u windows", rows[i / 3].shape.name, i % 3,
                     kiln_contraction_image(contraction)->window_count);
        kiln_trial_end(&trial);
    }
}

/* Parameters that say nothing about any element make no other program. */
Test(import_convolution, what_no_element_depends_on_is_not_in_the_program)
{
    static const struct shape pairs[][2] = {
        {{"stride of one pixel", 1, 2, 1, 3, 2, {3}, {3}, {1}, {1}, {3}, {1}, false},
         {"", 1, 2, 1, 3, 2, {3}, {3}, {1}, {1}, {4}, {1}, false}},
        {{"dilation of one tap", 1, 2, 1, 3, 2, {5}, {1}, {1}, {1}, {1}, {7}, false},
         {"", 1, 2, 1, 3, 2, {5}, {1}, {1}, {1}, {1}, {1}, false}},
        {{"one tap the other way round", 1, 2, 1, 3, 2, {5}, {1}, {1}, {1}, {1}, {1}, true},
         {"", 1, 2, 1, 3, 2, {5}, {1}, {1}, {1}, {1}, {1}, false}},
        {{"padding behind", 1, 2, 1, 3, 2, {8}, {2}, {0}, {1}, {3}, {1}, false},
         {"", 1, 2, 1, 3, 2, {8}, {2}, {0}, {0}, {3}, {1}, false}},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs * 3; i++) {
        struct kiln_buffer texts[2];
        for (int k = 0; k < 2; k++) {
            struct kiln_trial trial;
            (void)import_shape(&trial, &pairs[i / 3][k], i % 3);
            kiln_buffer_init(&texts[k]);
            kiln_ir_print(&trial.plain, NULL, &texts[k]);
            kiln_trial_end(&trial);
        }
        cr_expect_str_eq(kiln_buffer_text(&texts[0]), kiln_buffer_text(&texts[1]),
                         "%s, direction %zu", pairs[i / 3][0].name, i % 3);
        kiln_buffer_fini(&texts[0]);
        kiln_buffer_fini(&texts[1]);
    }
}
