#include "compiler/ir/import.h"
#include "compiler/reference/convert.h"
#include "tests/compiler/ir/ir_interpreter.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct kiln_arena arena;
static struct kiln_ir ir;
static struct kiln_buffer text;
static struct kiln_error error;
static struct kiln_tensor tensors[4];
static struct kiln_node nodes[3];
static struct kiln_graph graph;

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_ir_init(&ir, &arena);
    kiln_buffer_init(&text);
    kiln_error_init(&error);
    graph = (struct kiln_graph){.name = "", .tensors = tensors, .nodes = nodes};
}

static void teardown(void)
{
    kiln_buffer_fini(&text);
    kiln_arena_fini(&arena);
}

TestSuite(import, .init = setup, .fini = teardown);

/* A packed tensor of rank up to 3; dims end at the first 0. */
static uint32_t tensor(enum kiln_tensor_role role, enum kiln_dtype dtype, int64_t a, int64_t b,
                       int64_t c)
{
    struct kiln_tensor *result = &tensors[graph.tensor_count];
    *result = (struct kiln_tensor){.name = "",
                                   .dtype = dtype,
                                   .role = role,
                                   .rank = a == 0   ? 0
                                           : b == 0 ? 1
                                           : c == 0 ? 2
                                                    : 3,
                                   .dims = {a, b, c},
                                   .alignment_bytes = 16,
                                   .producer = KILN_NONE};
    int64_t stride = 1;
    for (uint32_t i = result->rank; i-- > 0; stride *= result->dims[i])
        result->strides[i] = result->dims[i] == 1 ? 0 : stride;
    return graph.tensor_count++;
}

static void node(enum kiln_pointwise_mode mode, uint32_t a, uint32_t b, uint32_t output)
{
    tensors[output].producer = graph.node_count;
    nodes[graph.node_count++] = (struct kiln_node){
        .name = "",
        .compute_type = KILN_DTYPE_F32,
        .input_count = kiln_pointwise_mode_info(mode)->arity,
        .output_count = 1,
        .inputs = {a, b},
        .outputs = {output},
        .pointwise = {.mode = mode, .relu_upper_clip = INFINITY, .swish_beta = 1},
    };
}

static const char *import(void)
{
    cr_assert_eq(kiln_ir_import(&graph, &ir, &error), KILN_OK, "%s", error.text);
    cr_assert(kiln_ir_validate(&ir, &graph, &text), "%s", kiln_buffer_text(&text));
    kiln_ir_print(&ir, NULL, &text);
    return kiln_buffer_text(&text);
}

Test(import, one_load_per_tensor_and_a_rounding_at_every_tensor)
{
    uint32_t x = tensor(KILN_TENSOR_INPUT, KILN_DTYPE_F16, 2, 3, 0);
    uint32_t y = tensor(KILN_TENSOR_VIRTUAL, KILN_DTYPE_BF16, 2, 3, 0);
    uint32_t z = tensor(KILN_TENSOR_OUTPUT, KILN_DTYPE_F32, 2, 3, 0);
    node(KILN_POINTWISE_MUL, x, x, y);
    node(KILN_POINTWISE_ADD, y, x, z);
    cr_assert_str_eq(import(), "%0 = load.f32 tensor 0 : [2x3]\n"
                               "%1 = mul.f32 %0, %0 : [2x3]\n"
                               "%2 = round.f32 %1 through bfloat16 : [2x3]  ; tensor 1\n"
                               "%3 = add.f32 %2, %0 : [2x3]  ; tensor 2\n"
                               "store.f32 %3, tensor 2 : [2x3]\n");
}

Test(import, an_output_is_read_back_as_stored)
{
    uint32_t x = tensor(KILN_TENSOR_INPUT, KILN_DTYPE_F32, 4, 0, 0);
    uint32_t y = tensor(KILN_TENSOR_OUTPUT, KILN_DTYPE_I8, 4, 0, 0);
    uint32_t z = tensor(KILN_TENSOR_OUTPUT, KILN_DTYPE_F32, 4, 0, 0);
    node(KILN_POINTWISE_IDENTITY, x, KILN_NONE, y);
    node(KILN_POINTWISE_SQRT, y, KILN_NONE, z);
    cr_assert_str_eq(import(), "%0 = load.f32 tensor 0 : [4]\n"
                               "%1 = convert.i32 %0 : [4]\n"
                               "%2 = round.i32 %1 through int8 : [4]  ; tensor 1\n"
                               "store.i32 %2, tensor 1 : [4]\n"
                               "%4 = convert.f32 %2 : [4]\n"
                               "%5 = sqrt.f32 %4 : [4]  ; tensor 2\n"
                               "store.f32 %5, tensor 2 : [4]\n");
}

Test(import, the_mark_prefers_a_tensor_with_memory)
{
    uint32_t x = tensor(KILN_TENSOR_INPUT, KILN_DTYPE_F32, 4, 0, 0);
    uint32_t y = tensor(KILN_TENSOR_VIRTUAL, KILN_DTYPE_F32, 4, 0, 0);
    uint32_t z = tensor(KILN_TENSOR_OUTPUT, KILN_DTYPE_F32, 4, 0, 0);
    node(KILN_POINTWISE_SQRT, x, KILN_NONE, y);
    node(KILN_POINTWISE_IDENTITY, y, KILN_NONE, z);
    cr_assert_str_eq(import(), "%0 = load.f32 tensor 0 : [4]\n"
                               "%1 = sqrt.f32 %0 : [4]  ; tensor 2\n"
                               "store.f32 %1, tensor 2 : [4]\n");
}

Test(import, operands_broadcast_and_scalars_stay_uniform)
{
    uint32_t x = tensor(KILN_TENSOR_INPUT, KILN_DTYPE_F32, 1, 4, 1);
    uint32_t s = tensor(KILN_TENSOR_HOST_SCALAR, KILN_DTYPE_F64, 1, 1, 0);
    uint32_t y = tensor(KILN_TENSOR_OUTPUT, KILN_DTYPE_F32, 2, 4, 5);
    node(KILN_POINTWISE_ADD, x, s, y);
    cr_assert_str_eq(import(), "%0 = load.f32 tensor 0 : [4x1]\n"
                               "%1 = broadcast.f32 %0 : [2x4x5]\n"
                               "%2 = load.f64 tensor 1 : []\n"
                               "%3 = convert.f64 %1 : [2x4x5]\n"
                               "%4 = add.f64 %3, %2 : [2x4x5]\n"
                               "%5 = convert.f32 %4 : [2x4x5]  ; tensor 2\n"
                               "store.f32 %5, tensor 2 : [2x4x5]\n");
}

Test(import, a_result_wider_than_its_operands_is_broadcast)
{
    uint32_t c = tensor(KILN_TENSOR_CONSTANT, KILN_DTYPE_F32, 0, 0, 0);
    uint32_t y = tensor(KILN_TENSOR_OUTPUT, KILN_DTYPE_F32, 3, 0, 0);
    tensors[c].constant.real = 4;
    node(KILN_POINTWISE_SQRT, c, KILN_NONE, y);
    cr_assert_str_eq(import(), "%0 = constant.f32 4 : []\n"
                               "%1 = sqrt.f32 %0 : []\n"
                               "%2 = broadcast.f32 %1 : [3]  ; tensor 1\n"
                               "store.f32 %2, tensor 1 : [3]\n");
}

Test(import, the_index_axis_counts_in_the_stripped_domain)
{
    uint32_t x = tensor(KILN_TENSOR_INPUT, KILN_DTYPE_F32, 1, 4, 5);
    uint32_t y = tensor(KILN_TENSOR_OUTPUT, KILN_DTYPE_I32, 1, 4, 5);
    uint32_t z = tensor(KILN_TENSOR_OUTPUT, KILN_DTYPE_I64, 1, 4, 5);
    node(KILN_POINTWISE_GEN_INDEX, x, KILN_NONE, y);
    node(KILN_POINTWISE_GEN_INDEX, x, KILN_NONE, z);
    nodes[0].pointwise.axis = 2;
    nodes[1].pointwise.axis = 0; /* of size 1: always 0 */
    cr_assert_str_eq(import(), "%0 = index.i32 axis 1 : [4x5]  ; tensor 1\n"
                               "store.i32 %0, tensor 1 : [4x5]\n"
                               "%2 = constant.i32 0 : []\n"
                               "%3 = convert.i64 %2 : []\n"
                               "%4 = broadcast.i64 %3 : [4x5]  ; tensor 2\n"
                               "store.i64 %4, tensor 2 : [4x5]\n");
}

/* Runs a unary node on one element. */
static struct kiln_constant run(enum kiln_pointwise_mode mode, enum kiln_dtype from,
                                struct kiln_constant value, enum kiln_dtype to)
{
    unsigned char input[8], output[8];
    uint32_t x = tensor(KILN_TENSOR_INPUT, from, 0, 0, 0);
    uint32_t y = tensor(KILN_TENSOR_OUTPUT, to, 0, 0, 0);
    node(mode, x, KILN_NONE, y);
    import();
    kiln_element_store(from, value, input);
    void *memory[] = {input, output};
    cr_assert_eq(kiln_ir_interpret(&ir, &graph, memory, KILN_MATH_NATIVE, &arena, &error), KILN_OK);
    return kiln_element_load(to, output);
}

Test(import, int32_rounds_once_on_the_way_to_bfloat16)
{
    /* One above the middle of two bfloat16 numbers; float would round it to the middle, then to the
     * lower one. */
    struct kiln_constant value = {.integer = (1 << 25) + (1 << 17) + 1};
    cr_assert_eq(run(KILN_POINTWISE_IDENTITY, KILN_DTYPE_I32, value, KILN_DTYPE_BF16).real,
                 (1 << 25) + (1 << 18));
}

Test(import, double_rounds_once_on_the_way_to_half)
{
    struct kiln_constant value = {.real = 1 + 0x1p-11 + 0x1p-40};
    cr_assert_eq(run(KILN_POINTWISE_ABS, KILN_DTYPE_F64, value, KILN_DTYPE_F16).real, 1 + 0x1p-10);
}

Test(import, float_to_int8_is_nearest_even_and_clamped)
{
    struct kiln_constant value = {.real = -2.5};
    cr_assert_eq(run(KILN_POINTWISE_IDENTITY, KILN_DTYPE_F32, value, KILN_DTYPE_I8).integer, -2);
}

Test(import, relu_of_minus_zero_is_plus_zero)
{
    struct kiln_constant value = {.real = -0.0};
    double result = run(KILN_POINTWISE_RELU_FWD, KILN_DTYPE_F32, value, KILN_DTYPE_F32).real;
    cr_assert(result == 0 && !signbit(result));
}
