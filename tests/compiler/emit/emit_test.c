#include "compiler/emit/emit.h"

#include "compiler/schedule/schedule_group.h"
#include "tests/compiler/fuse/ir_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct kiln_kernel emit(struct ir_fixture *fixture)
{
    struct kiln_partition partition = ir_fixture_partition(fixture);
    cr_assert_eq(partition.group_count, 1);
    struct kiln_schedule schedule;
    struct kiln_kernel kernel;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_schedule_group(&fixture->ir, &fixture->graph, &partition.groups[0],
                                     &fixture->target, &fixture->options, &schedule, &error),
                 KILN_OK);
    struct kiln_emission emission = {.ir = &fixture->ir,
                                     .graph = &fixture->graph,
                                     .group = &partition.groups[0],
                                     .schedule = &schedule,
                                     .target = &fixture->target};
    cr_assert_eq(kiln_emit_kernel(&emission, &kernel, &error), KILN_OK, "%s", error.text);
    return kernel;
}

#define EXPECT_TEXT(kernel, text)    cr_assert_not_null(strstr((kernel).source, text), "no '%s'", text)
#define EXPECT_NO_TEXT(kernel, text) cr_assert_null(strstr((kernel).source, text), "'%s'", text)

Test(emit, contiguous_operands_are_moved_sixteen_bytes_at_a_time)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 64, 64);
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_EXP, x));
    struct kiln_kernel kernel = emit(fixture);
    EXPECT_TEXT(kernel, "KILN_LOAD_STREAM(16, inputs.x0, arguments.a0 + (position.column))");
    EXPECT_TEXT(kernel, "KILN_STORE_VECTOR(16, arguments.a1 + (position.column), y1)");
    EXPECT_TEXT(kernel, "#line 1 \"device/math/exp_f32.h\"");
    EXPECT_NO_TEXT(kernel, "device/math/tanh_f32.h");
    EXPECT_TEXT(kernel, "#define KILN_HAS_TAILS 0");
    EXPECT_NO_TEXT(kernel, "kiln_load_element(const");
    cr_assert_eq(kernel.argument_count, 2);
    cr_assert_eq(kernel.arguments[0].alignment_bytes, 4, "AMDGPU needs element alignment only");
    cr_assert_not(kernel.uses_barrier);
    ir_fixture_destroy(fixture);
}

Test(emit, equal_programs_give_equal_text)
{
    struct kiln_kernel kernels[2];
    struct ir_fixture *fixtures[2];
    for (int i = 0; i < 2; i++) {
        fixtures[i] = ir_fixture_create();
        uint32_t x = ir_fixture_load(fixtures[i], 30, 41);
        ir_fixture_store(fixtures[i], kiln_ir_unary(&fixtures[i]->ir, KILN_OP_TANH, x));
        kernels[i] = emit(fixtures[i]);
    }
    cr_assert_str_eq(kernels[0].source, kernels[1].source);
    for (int i = 0; i < 2; i++)
        ir_fixture_destroy(fixtures[i]);
}

Test(emit, rows_with_tails_get_functions_for_an_element)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 7, 11);
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x));
    struct kiln_kernel kernel = emit(fixture);
    EXPECT_TEXT(kernel, "#define KILN_HAS_TAILS 1");
    EXPECT_TEXT(kernel, "KILN_DEVICE void kiln_load_element(");
    EXPECT_TEXT(kernel, "inputs.x0[0] = *(arguments.a0 + ");
    ir_fixture_destroy(fixture);
}

Test(emit, constants_are_exact)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 4, 4);
    uint32_t tenth = kiln_ir_real(&fixture->ir, KILN_SCALAR_F32, (double)0.1f);
    uint32_t lowest = kiln_ir_integer(&fixture->ir, KILN_SCALAR_I64, INT64_MIN);
    uint32_t as_real = kiln_ir_convert(&fixture->ir, lowest, KILN_SCALAR_F32);
    uint32_t sum = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x, tenth);
    ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, sum, as_real));
    struct kiln_kernel kernel = emit(fixture);
    EXPECT_TEXT(kernel, "0x1.99999ap-4f");
    EXPECT_TEXT(kernel, "(-9223372036854775807ll - 1)");
    ir_fixture_destroy(fixture);
}

/* Counting along an axis of size 1 gives 0, also where the result is repeated along it: found by
 * random graphs. */
Test(emit, an_index_along_an_axis_of_size_one_is_zero_where_it_is_repeated)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t column =
        kiln_ir_index(&fixture->ir, KILN_SCALAR_I32, ir_fixture_domain(fixture, 6, 1), 1);
    uint32_t value = kiln_ir_convert(&fixture->ir, column, KILN_SCALAR_F32);
    uint32_t wide = kiln_ir_broadcast(&fixture->ir, value, ir_fixture_domain(fixture, 6, 5));
    ir_fixture_store(
        fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, wide, ir_fixture_load(fixture, 6, 5)));
    EXPECT_TEXT(emit(fixture), "(int)(0)");
    ir_fixture_destroy(fixture);
}

Test(emit, a_transposed_operand_passes_through_lds)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t tensor = ir_fixture_tensor(fixture, KILN_TENSOR_INPUT, 64, 64);
    fixture->tensors[tensor].strides[0] = 1;
    fixture->tensors[tensor].strides[1] = 64;
    uint32_t transposed = kiln_ir_load(&fixture->ir, &fixture->graph, tensor);
    uint32_t straight = ir_fixture_load(fixture, 64, 64);
    ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, straight, transposed));
    struct kiln_kernel kernel = emit(fixture);
    EXPECT_TEXT(kernel, "KILN_STORE_LOCAL(16, &tiles.t0[");
    EXPECT_TEXT(kernel, "KILN_LOAD_LOCAL(16, &inputs.x0[0], &tiles.t0[");
    EXPECT_TEXT(kernel, "#define KILN_HAS_TRANSPOSED_LOADS 1");
    EXPECT_TEXT(kernel, "#define KILN_HAS_TRANSPOSED_STORES 0");
    cr_assert(kernel.uses_barrier);
    cr_assert_eq(kernel.lds_bytes, 32 * 32 * 4);
    ir_fixture_destroy(fixture);
}

Test(emit, neighbouring_tiles_share_a_cache_and_the_last_one_is_moved_back)
{
    struct ir_fixture *fixture = ir_fixture_create();
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse("gfx942", &fixture->target, &error), KILN_OK);
    uint32_t tensor = ir_fixture_tensor(fixture, KILN_TENSOR_INPUT, 1001, 203);
    fixture->tensors[tensor].strides[0] = 1;
    fixture->tensors[tensor].strides[1] = 1001;
    uint32_t transposed = kiln_ir_load(&fixture->ir, &fixture->graph, tensor);
    uint32_t straight = ir_fixture_load(fixture, 1001, 203);
    ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, straight, transposed));
    struct kiln_kernel kernel = emit(fixture);
    EXPECT_TEXT(
        kernel,
        "#define KILN_CHUNK(turn) kiln_chunk_of_cache<KILN_CACHES, kiln_index>(turn, KILN_CHUNKS)");
    EXPECT_TEXT(kernel, "position.column = (kiln_index)(KILN_COLS)-KILN_TILE;");
    EXPECT_TEXT(kernel, "#define KILN_HAS_TAILS 0");
    cr_assert_eq(kiln_target_parse("gfx1100", &fixture->target, &error), KILN_OK);
    kernel = emit(fixture);
    EXPECT_TEXT(kernel, "#define KILN_CHUNK(turn) (turn)");
    ir_fixture_destroy(fixture);
}

/* Rounding to a type and then to the same type again. */
Test(emit, what_is_stored_is_rounded_once)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 64, 64);
    uint32_t negative = kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x);
    uint32_t rounded = kiln_ir_round(&fixture->ir, negative, KILN_DTYPE_F16);
    uint32_t output = ir_fixture_tensor(fixture, KILN_TENSOR_OUTPUT, 64, 64);
    fixture->tensors[output].dtype = KILN_DTYPE_F16;
    kiln_ir_store(&fixture->ir, rounded, output);
    struct kiln_kernel kernel = emit(fixture);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "kiln_encode_f16(v%u)", negative);
    EXPECT_TEXT(kernel, expected);
    ir_fixture_destroy(fixture);
}

/* Of a graph with other values before and beside it, the text of a kernel says nothing. */
Test(emit, a_kernel_has_one_text_in_all_graphs)
{
    struct kiln_kernel kernels[2];
    struct ir_fixture *fixtures[2];
    for (int i = 0; i < 2; i++) {
        struct kiln_ir *ir;
        fixtures[i] = ir_fixture_create();
        ir = &fixtures[i]->ir;
        if (i == 1) /* a value that nothing needs, of another shape, and another number for all */
            (void)kiln_ir_unary(ir, KILN_OP_EXP, ir_fixture_load(fixtures[i], 7, 11));
        uint32_t x = ir_fixture_load(fixtures[i], 30, 41);
        uint32_t y = ir_fixture_load(fixtures[i], 30, 41);
        ir_fixture_store(fixtures[i],
                         kiln_ir_unary(ir, KILN_OP_TANH, kiln_ir_binary(ir, KILN_OP_ADD, x, y)));
        kernels[i] = emit(fixtures[i]);
    }
    cr_assert_str_eq(kernels[0].source, kernels[1].source);
    cr_assert_str_eq(kernels[0].symbol, kernels[1].symbol);
    ir_fixture_destroy(fixtures[0]);
    ir_fixture_destroy(fixtures[1]);
}

/* Profilers tell kernels by their names. */
Test(emit, different_texts_have_different_symbols)
{
    char symbols[2][64];
    for (int i = 0; i < 2; i++) {
        struct ir_fixture *fixture = ir_fixture_create();
        uint32_t x = ir_fixture_load(fixture, 30, 41 + i);
        ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_TANH, x));
        (void)snprintf(symbols[i], sizeof symbols[i], "%s", emit(fixture).symbol);
        cr_assert_eq(strspn(symbols[i], "kiln_pointwise_0123456789abcdef"), strlen(symbols[i]));
        ir_fixture_destroy(fixture);
    }
    cr_assert_str_neq(symbols[0], symbols[1]);
}
