/* Reductions through maps: pooling of rows of seven, three taps, stride 2, padding 1. */
#include "compiler/ir/passes.h"
#include "tests/compiler/ir/ir_interpreter.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { X, Y, Z, TENSORS, ROWS = 2, WIDTH = 7, PIXELS = 4, TAPS = 3 };

static struct kiln_arena arena;
static struct kiln_ir ir;
static struct kiln_buffer text;
static struct kiln_tensor tensors[TENSORS];
static struct kiln_graph graph;
static struct kiln_error error;

static void setup(void)
{
    tensors[X] = (struct kiln_tensor){
        .rank = 2, .dims = {ROWS, WIDTH}, .strides = {WIDTH, 1}, .producer = KILN_NONE};
    tensors[Y] = (struct kiln_tensor){
        .role = KILN_TENSOR_OUTPUT, .rank = 2, .dims = {ROWS, PIXELS}, .strides = {PIXELS, 1}};
    tensors[Z] = tensors[Y];
    graph = (struct kiln_graph){.tensor_count = TENSORS, .tensors = tensors};
    kiln_arena_init(&arena);
    kiln_ir_init(&ir, &arena);
    kiln_buffer_init(&text);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_buffer_fini(&text);
    kiln_arena_fini(&arena);
}

TestSuite(mapped_reduce, .init = setup, .fini = teardown);

/* Axes from the right: pixels, rows, taps. */
static struct kiln_map pooling_map(void)
{
    struct kiln_map map = {.axis_count = 3, .window_count = 1};
    map.axes[0] = kiln_map_axis_along(0);
    map.axes[0].step = kiln_constant_number(2);
    map.axes[1] = kiln_map_axis_along(1);
    map.axes[2] = kiln_map_axis_along(0);
    map.windows[0] = (struct kiln_map_window){.over = 0,
                                              .size = kiln_constant_number(WIDTH),
                                              .offset = kiln_constant_number(-1),
                                              .divisor = kiln_constant_number(1)};
    return map;
}

static uint32_t pool(uint32_t value, enum kiln_opcode opcode, const struct kiln_map *map)
{
    uint32_t iteration = kiln_ir_domain(&ir, (int64_t[]){TAPS, ROWS, PIXELS}, 3);
    const struct kiln_reduced_windows windows = {
        .map = map,
        .iteration = iteration,
        .domain = kiln_ir_domain(&ir, (int64_t[]){ROWS, PIXELS}, 2),
        .padding = kiln_ir_neutral_padding(opcode)};
    return kiln_ir_reduce_windows(&ir, opcode, &value, &windows);
}

/* x, its pooling by two operations to the outputs. */
static void build(enum kiln_opcode first, enum kiln_opcode second)
{
    struct kiln_map map = pooling_map();
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t y = pool(x, first, &map);
    uint32_t z = pool(x, second, &map);
    kiln_ir_store(&ir, y, Y);
    kiln_ir_store(&ir, z, Z);
}

static void expect_sound(void)
{
    cr_expect(kiln_ir_validate(&ir, &graph, &text), "%s", kiln_buffer_text(&text));
}

static void expect_fault(const char *sentence)
{
    kiln_buffer_clear(&text);
    cr_expect_not(kiln_ir_validate(&ir, &graph, &text));
    cr_expect_not_null(strstr(kiln_buffer_text(&text), sentence), "'%s' is not in:\n%s", sentence,
                       kiln_buffer_text(&text));
}

Test(mapped_reduce, is_printed_with_its_map)
{
    build(KILN_OP_REDUCE_MAX, KILN_OP_REDUCE_SUM);
    expect_sound();
    kiln_ir_print(&ir, NULL, &text);
    cr_expect_str_eq(kiln_buffer_text(&text),
                     "%0 = load.f32 tensor 0 : [2x7]\n"
                     "%1 = reduce_max.f32 %0 over [3x2x4] at [0*2, 1, 0] window 0 of 7 from -1 : "
                     "[2x4]\n"
                     "%2 = reduce_sum.f32 %0 over [3x2x4] at [0*2, 1, 0] window 0 of 7 from -1 : "
                     "[2x4]\n"
                     "store.f32 %1, tensor 1 : [2x4]\n"
                     "store.f32 %2, tensor 2 : [2x4]\n");
}

static void expect_results(const float *expected_y, const float *expected_z)
{
    float x[ROWS * WIDTH] = {3, 1, 4, 1, 5, 9, 2, -6, -5, -3, -5, -8, -9, -7};
    float y[ROWS * PIXELS];
    float z[ROWS * PIXELS];
    void *memory[TENSORS] = {x, y, z};
    cr_assert_eq(kiln_ir_interpret(&ir, &graph, memory, KILN_MATH_NATIVE, &arena, &error), KILN_OK);
    for (int i = 0; i < ROWS * PIXELS; i++) {
        cr_expect(y[i] == expected_y[i], "y[%d] = %g", i, (double)y[i]);
        cr_expect(z[i] == expected_z[i], "z[%d] = %g", i, (double)z[i]);
    }
}

Test(mapped_reduce, padding_contributes_the_identity)
{
    build(KILN_OP_REDUCE_MAX, KILN_OP_REDUCE_PRODUCT);
    expect_results((float[]){3, 4, 9, 9, -5, -3, -5, -7},
                   (float[]){3, 4, 45, 18, 30, -75, -360, 63});
}

Test(mapped_reduce, the_largest_number_leaves_nan_out)
{
    struct kiln_map map = pooling_map();
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t largest = pool(x, KILN_OP_REDUCE_MAX_NUMBER, &map);
    kiln_ir_store(&ir, largest, Y);
    kiln_ir_store(&ir, largest, Z);
    expect_sound();
    float input[ROWS * WIDTH] = {3, NAN, 4, 1, 5, NAN, 2, -6, NAN, -3, NAN, -8, -9, -7};
    float y[ROWS * PIXELS];
    float z[ROWS * PIXELS];
    void *memory[TENSORS] = {input, y, z};
    cr_assert_eq(kiln_ir_interpret(&ir, &graph, memory, KILN_MATH_NATIVE, &arena, &error), KILN_OK);
    static const float expected[] = {3, 4, 5, 2, -6, -3, -8, -7};
    for (int i = 0; i < ROWS * PIXELS; i++)
        cr_expect(y[i] == expected[i], "y[%d] = %g", i, (double)y[i]);
}

Test(mapped_reduce, the_largest_number_needs_a_map)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t domain = kiln_ir_domain(&ir, (int64_t[]){ROWS, 1}, 2);
    (void)kiln_ir_reduce(&ir, KILN_OP_REDUCE_MAX_NUMBER, x, domain);
    expect_fault("%1 reduce_max_number: has no map");
}

/* ---- positions ---- */

static void expect_positions(uint32_t position, const float *input, const int32_t *expected)
{
    float x[ROWS * WIDTH];
    int32_t y[ROWS * PIXELS];
    void *memory[TENSORS] = {x, y, y};
    memcpy(x, input, sizeof x);
    tensors[Y].dtype = KILN_DTYPE_I32;
    tensors[Z].role = KILN_TENSOR_VIRTUAL;
    kiln_ir_store(&ir, position, Y);
    expect_sound();
    cr_assert_eq(kiln_ir_interpret(&ir, &graph, memory, KILN_MATH_NATIVE, &arena, &error), KILN_OK);
    for (int i = 0; i < ROWS * PIXELS; i++)
        cr_expect_eq(y[i], expected[i], "y[%d] = %d", i, y[i]);
}

Test(mapped_reduce, the_first_of_equal_numbers_is_found)
{
    struct kiln_map map = pooling_map();
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    expect_positions(pool(x, KILN_OP_REDUCE_ARGMAX, &map),
                     (float[]){3, 3, 4, NAN, 4, 9, 9, NAN, -INFINITY, -1, -2, NAN, NAN, NAN},
                     (int32_t[]){0, 2, 5, 5, -1, 2, 3, -1});
}

Test(mapped_reduce, padding_is_an_element_without_position)
{
    struct kiln_map map = pooling_map();
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    const struct kiln_reduced_windows windows = {
        .map = &map,
        .iteration = kiln_ir_domain(&ir, (int64_t[]){TAPS, ROWS, PIXELS}, 3),
        .domain = kiln_ir_domain(&ir, (int64_t[]){ROWS, PIXELS}, 2),
        .padding = {.real = 0}};
    uint32_t position = kiln_ir_reduce_windows(&ir, KILN_OP_REDUCE_ARGMAX, &x, &windows);
    expect_positions(position, (float[]){0, 0, 4, 1, 4, -1, 0, 1, -5, -3, -5, -8, -9, -7},
                     (int32_t[]){-1, 2, 4, 6, 0, 2, 3, -1});
    kiln_buffer_clear(&text);
    kiln_ir_print(&ir, NULL, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text),
                              "reduce_argmax.i32 %0 over [3x2x4] at [0*2, 1, 0] window 0 of 7 from "
                              "-1 padded with 0 : [2x4]"),
                       "%s", kiln_buffer_text(&text));
}

/* The gradient of windows of three, stride two, padding one. */
static uint32_t sum_at(uint32_t value, uint32_t key, double padding)
{
    struct kiln_map map = {.axis_count = 3, .window_count = 1};
    map.axes[0] = kiln_map_axis_along(0);
    map.axes[1] = kiln_map_axis_along(1);
    map.axes[2] = kiln_map_axis_along(0);
    map.axes[2].step = kiln_constant_number(-1);
    map.windows[0] = (struct kiln_map_window){.over = 0,
                                              .size = kiln_constant_number(PIXELS),
                                              .offset = kiln_constant_number(1),
                                              .divisor = kiln_constant_number(2)};
    const struct kiln_reduced_windows windows = {
        .map = &map,
        .iteration = kiln_ir_domain(&ir, (int64_t[]){TAPS, ROWS, WIDTH}, 3),
        .domain = kiln_ir_domain(&ir, (int64_t[]){ROWS, WIDTH}, 2),
        .padding = {.real = padding}};
    const uint32_t operands[] = {value, key};
    return kiln_ir_reduce_windows(&ir, KILN_OP_REDUCE_SUM_AT, operands, &windows);
}

static void make_gradient_tensors(void)
{
    for (int i = X; i <= Y; i++)
        tensors[i] = (struct kiln_tensor){
            .rank = 2, .dims = {ROWS, PIXELS}, .strides = {PIXELS, 1}, .producer = KILN_NONE};
    tensors[Y].dtype = KILN_DTYPE_I32;
    tensors[Z] = (struct kiln_tensor){
        .role = KILN_TENSOR_OUTPUT, .rank = 2, .dims = {ROWS, WIDTH}, .strides = {WIDTH, 1}};
}

Test(mapped_reduce, elements_go_to_the_position_of_their_key)
{
    make_gradient_tensors();
    uint32_t dx = sum_at(kiln_ir_load(&ir, &graph, X), kiln_ir_load(&ir, &graph, Y), 0);
    kiln_ir_store(&ir, dx, Z);
    expect_sound();
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    float x[ROWS * PIXELS] = {1, 2, 4, 8, NAN, 2, NAN, 8};
    int32_t keys[ROWS * PIXELS] = {1, 1, 5, 5, -1, 3, 0, 1 << 30};
    float z[ROWS * WIDTH];
    void *memory[TENSORS] = {x, keys, z};
    cr_assert_eq(kiln_ir_interpret(&ir, &graph, memory, KILN_MATH_NATIVE, &arena, &error), KILN_OK);
    static const float expected[] = {0, 3, 0, 0, 0, 12, 0, 0, 0, 0, 2, 0, 0, 0};
    for (int i = 0; i < ROWS * WIDTH; i++)
        cr_expect(z[i] == expected[i], "z[%d] = %g", i, (double)z[i]);
}

Test(mapped_reduce, padding_of_a_keyed_sum_is_nothing)
{
    make_gradient_tensors();
    uint32_t dx = sum_at(kiln_ir_load(&ir, &graph, X), kiln_ir_load(&ir, &graph, Y), 1);
    kiln_ir_store(&ir, dx, Z);
    expect_fault("%2 reduce_sum_at: padding adds something");
}

Test(mapped_reduce, keys_are_integers)
{
    make_gradient_tensors();
    tensors[Y].dtype = KILN_DTYPE_F32;
    uint32_t dx = sum_at(kiln_ir_load(&ir, &graph, X), kiln_ir_load(&ir, &graph, Y), 0);
    kiln_ir_store(&ir, dx, Z);
    expect_fault("%2 reduce_sum_at: the key is not i32");
}

/* A REDUCE without axes of taps has one tap. */
Test(mapped_reduce, windows_of_one_tap_are_read_once)
{
    struct kiln_map map = pooling_map();
    map.axis_count = 2;
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    const struct kiln_reduced_windows windows = {
        .map = &map,
        .iteration = kiln_ir_domain(&ir, (int64_t[]){ROWS, PIXELS}, 2),
        .domain = kiln_ir_domain(&ir, (int64_t[]){ROWS, PIXELS}, 2)};
    uint32_t sum = kiln_ir_reduce_windows(&ir, KILN_OP_REDUCE_SUM, &x, &windows);
    kiln_ir_store(&ir, sum, Y);
    kiln_ir_store(&ir, sum, Z);
    expect_sound();
    expect_results((float[]){0, 1, 1, 9, 0, -5, -5, -9}, (float[]){0, 1, 1, 9, 0, -5, -5, -9});
}

Test(mapped_reduce, means_have_no_map)
{
    build(KILN_OP_REDUCE_MEAN, KILN_OP_REDUCE_SUM);
    expect_fault("%1 reduce_mean: a mean has a map");
}

/* ---- validator ---- */

Test(mapped_reduce, a_malformed_map_is_found)
{
    build(KILN_OP_REDUCE_MAX, KILN_OP_REDUCE_SUM);
    ir.maps[0].windows[0].size.value = 8;
    expect_fault("%1 reduce_max: operand 0 (tensor 0): window 0 has size 8, and axis 0 has 7");
    ir.maps[0] = pooling_map();
    ir.maps[0].window_count = 0;
    expect_fault("%1 reduce_max: operand 0 (tensor 0): coordinates along axis 0 reach 8, but its "
                 "size is 7");
    ir.maps[0] = pooling_map();
    ir.maps[0].axis_count = 2;
    expect_fault("operand 0 (tensor 0): the map has 2 axes, and 3 are iterated over");
    ir.maps[0] = pooling_map();
    ir.maps[0].axes[0].step.argument = 1;
    expect_fault("operand 0 (tensor 0): the step of axis 0 is argument 0, and there are 0");
    ir.maps[0] = pooling_map();
    expect_sound();
}

Test(mapped_reduce, indices_exist)
{
    build(KILN_OP_REDUCE_MAX, KILN_OP_REDUCE_SUM);
    ir.ops[1].map = 1;
    expect_fault("%1 reduce_max: map 1 does not exist");
    ir.ops[1].map = 0;
    ir.ops[1].iteration = 99;
    expect_fault("%1 reduce_max: iteration domain 99 does not exist");
}

Test(mapped_reduce, the_result_is_part_of_the_iteration)
{
    build(KILN_OP_REDUCE_MAX, KILN_OP_REDUCE_SUM);
    ir.ops[1].iteration = kiln_ir_domain(&ir, (int64_t[]){ROWS, PIXELS, TAPS}, 3);
    expect_fault("%1 reduce_max: the operand's domain can't be reduced to the result's");
}

Test(mapped_reduce, others_have_no_map)
{
    build(KILN_OP_REDUCE_MAX, KILN_OP_REDUCE_SUM);
    ir.ops[0].map = 0;
    expect_fault("%0 load: has a map, but neither reduces nor repeats");
}

/* ---- passes ---- */

Test(mapped_reduce, equal_ones_are_merged_and_survive_the_passes)
{
    build(KILN_OP_REDUCE_MAX, KILN_OP_REDUCE_MAX);
    cr_assert_eq(ir.map_count, 1);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(ir.op_count, 4);
    const float maxima[] = {3, 4, 9, 9, -5, -3, -5, -7};
    expect_results(maxima, maxima);
}

Test(mapped_reduce, another_map_is_another_value)
{
    struct kiln_map map = pooling_map();
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t y = pool(x, KILN_OP_REDUCE_MAX, &map);
    map.windows[0].offset.value = 0;
    uint32_t z = pool(x, KILN_OP_REDUCE_MAX, &map);
    kiln_ir_store(&ir, y, Y);
    kiln_ir_store(&ir, z, Z);
    cr_assert_eq(ir.map_count, 2);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(ir.op_count, 5);
    expect_results((float[]){3, 4, 9, 9, -5, -3, -5, -7}, (float[]){4, 5, 9, 2, -3, -3, -7, -7});
}

/* Padding is no element: the maximum may be the identity. */
Test(mapped_reduce, the_maximum_of_equal_elements_is_not_folded)
{
    struct kiln_map map = pooling_map();
    map.windows[0].offset.value = -3;
    uint32_t one = kiln_ir_real(&ir, KILN_SCALAR_F32, 1);
    uint32_t x = kiln_ir_broadcast(&ir, one, kiln_ir_domain(&ir, (int64_t[]){ROWS, WIDTH}, 2));
    kiln_ir_store(&ir, pool(x, KILN_OP_REDUCE_MAX, &map), Y);
    kiln_ir_store(&ir, pool(x, KILN_OP_REDUCE_SUM, &map), Z);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    expect_results((float[]){-INFINITY, 1, 1, 1, -INFINITY, 1, 1, 1},
                   (float[]){0, 2, 3, 3, 0, 2, 3, 3});
}

/* -infinity would not survive in a type without infinities. */
Test(mapped_reduce, the_maximum_of_eight_bits_is_still_rounded)
{
    struct kiln_map map = pooling_map();
    tensors[X].dtype = KILN_DTYPE_F8E4M3;
    tensors[Y].dtype = KILN_DTYPE_F8E4M3;
    tensors[Z].role = KILN_TENSOR_VIRTUAL;
    uint32_t y = pool(kiln_ir_load(&ir, &graph, X), KILN_OP_REDUCE_MAX, &map);
    kiln_ir_store(&ir, y, Y);
    expect_fault("the value is not rounded to fp8_e4m3");
}

Test(mapped_reduce, a_copy_has_its_maps)
{
    build(KILN_OP_REDUCE_MAX, KILN_OP_REDUCE_SUM);
    struct kiln_ir copy;
    cr_assert(kiln_ir_copy(&ir, &arena, &copy));
    ir.maps[0].window_count = 0;
    cr_expect(kiln_ir_validate(&copy, &graph, &text), "%s", kiln_buffer_text(&text));
}
