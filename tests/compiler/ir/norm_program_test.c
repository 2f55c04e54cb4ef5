/* What a kernel has to do for a norm, what is rounded, and in which type it computes. */
#include "compiler/ir/import.h"
#include "tests/compiler/ir/norm_trial.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct kiln_norm_types all_float = {KILN_DTYPE_F32, KILN_DTYPE_F32};

static uint32_t reduction_count(const struct kiln_trial *trial)
{
    uint32_t count = 0;
    for (int opcode = 0; opcode < KILN_OP_COUNT; opcode++) {
        if (kiln_opcode_info((enum kiln_opcode)opcode)->op_class == KILN_OP_CLASS_REDUCE)
            count += kiln_trial_count(trial, (enum kiln_opcode)opcode);
    }
    return count;
}

/* Elementwise operations over X's domain: what a kernel does per element, apart from reductions. */
static uint32_t wide_count(const struct kiln_trial *trial)
{
    const struct kiln_ir *ir = &trial->optimized;
    uint32_t x = kiln_node_input(&trial->node, KILN_OPERAND_X), domain = KILN_NONE, count = 0;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == KILN_OP_LOAD && ir->ops[i].tensor == x)
            domain = ir->ops[i].domain;
    }
    for (uint32_t i = 0; i < ir->op_count; i++)
        count += ir->ops[i].domain == domain &&
                 kiln_opcode_info(ir->ops[i].opcode)->op_class == KILN_OP_CLASS_ELEMENTWISE;
    return count;
}

Test(norm_program, work_per_element)
{
    static const struct {
        const struct kiln_norm_kind *kind;
        uint32_t subset, reductions, wide;
    } rows[] = {
        {&kiln_norm_kind_layernorm, 31, 2, 4}, /* x - mean, *r, *scale, +bias */
        {&kiln_norm_kind_layernorm, 4, 2, 2},  /* neither scale nor bias */
        /* dx alone: xhat in 2, g, g*xhat; g - a, xhat*b, -, *r */
        {&kiln_norm_kind_layernorm_backward, 15, 2, 8},
        {&kiln_norm_kind_layernorm_backward, 63, 4, 9},  /* and dy*xhat */
        {&kiln_norm_kind_layernorm_backward, 61, 6, 9},  /* with the statistics */
        {&kiln_norm_kind_rmsnorm, 15, 1, 4},             /* x*x, *r, *scale, +bias */
        {&kiln_norm_kind_rmsnorm_backward, 15, 1, 6},    /* xhat, g, g*xhat; xhat*b, -, *r */
        {&kiln_norm_kind_batchnorm_inference, 7, 0, 3},  /* x - mean, *(scale*inv), +bias */
        {&kiln_norm_kind_batchnorm_training, 127, 2, 3}, /* the same */
        /* xhat in 2, dy*xhat; dy - a, xhat*b, -, *(scale*inv) */
        {&kiln_norm_kind_batchnorm_backward, 63, 2, 7},
        {&kiln_norm_kind_batchnorm_backward, 61, 4, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_trial trial;
        kiln_norm_build(&trial, rows[i].kind, &kiln_norm_shapes[5], &all_float, rows[i].subset, 0);
        cr_expect_eq(reduction_count(&trial), rows[i].reductions, "row %zu: %u reductions", i,
                     reduction_count(&trial));
        cr_expect_eq(wide_count(&trial), rows[i].wide, "row %zu: %u operations", i,
                     wide_count(&trial));
        kiln_trial_end(&trial);
    }
}

Test(norm_program, mean_and_squares_are_of_one_operand)
{
    struct kiln_trial trial;
    kiln_norm_build(&trial, &kiln_norm_kind_layernorm, &kiln_norm_shapes[5], &all_float, 31, 0);
    uint32_t operands[2] = {0}, count = 0;
    for (uint32_t i = 0; i < trial.optimized.op_count; i++) {
        const struct kiln_op *op = &trial.optimized.ops[i];
        if (op->opcode == KILN_OP_REDUCE_MEAN || op->opcode == KILN_OP_REDUCE_SQUARES)
            operands[count++ % 2] = op->operands[0];
    }
    cr_assert_eq(count, 2);
    cr_assert_eq(operands[0], operands[1]);
    kiln_trial_end(&trial);
}

/* Only what a tensor holds is rounded: y is not made of the half-precision mean. */
Test(norm_program, a_saved_statistic_is_rounded_and_y_is_not_made_of_it)
{
    static const int64_t dims[] = {1, 4}, rows[] = {1, 1};
    struct kiln_trial trial;
    kiln_trial_begin(&trial, KILN_NODE_LAYERNORM, 1);
    trial.node.normalization = (struct kiln_normalization){.axes = 2, .epsilon = 1e-5};
    kiln_trial_input(&trial, KILN_OPERAND_X, KILN_DTYPE_F32, 2, dims, 0, 1);
    uint32_t y = kiln_trial_output(&trial, KILN_OPERAND_Y, KILN_DTYPE_F32, 2, dims);
    uint32_t mean = kiln_trial_output(&trial, KILN_OPERAND_MEAN, KILN_DTYPE_F16, 2, rows);
    static const float x[] = {2049.5f, 2050.5f, 2052.5f, 2053.5f}; /* half has even numbers here */
    for (size_t i = 0; i < 4; i++)
        ((float *)trial.memory[0])[i] = x[i];
    kiln_trial_import(&trial);
    kiln_trial_run(&trial, &trial.optimized, KILN_MATH_ROUNDED);
    cr_expect_eq(kiln_trial_element(&trial, mean, 0).real, 2052); /* 2051.5 */
    cr_expect_float_eq(kiln_trial_element(&trial, y, 0).real, -2 / sqrt(2.5 + 1e-5), 1e-3);
    cr_expect_float_eq(kiln_trial_element(&trial, y, 3).real, 2 / sqrt(2.5 + 1e-5), 1e-3);
    kiln_trial_end(&trial);
}

Test(norm_program, what_is_not_finite_spoils_its_row_alone)
{
    for (size_t shape = 0; shape < 3; shape += 2) { /* rows of 5, and of a single element */
        struct kiln_trial trial;
        kiln_norm_build(&trial, &kiln_norm_kind_layernorm, &kiln_norm_shapes[shape], &all_float, 16,
                        0); /* with inv_variance */
        ((float *)trial.memory[0])[0] = INFINITY;
        kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NATIVE);
        int64_t length = kiln_norm_shapes[shape].dims[1];
        for (int64_t n = 0; n < kiln_tensor_elements(&trial.tensors[1]); n++)
            cr_expect_eq(isnan(kiln_trial_element(&trial, 1, n).real) != 0, n < length);
        cr_expect(isnan(kiln_trial_element(&trial, 2, 0).real));
        cr_expect(isfinite(kiln_trial_element(&trial, 2, 1).real));
        kiln_trial_end(&trial);
    }
}

/* The rule of import.h: parameters do not count. */
Test(norm_program, nodes_compute_in_the_type_of_the_rule)
{
    static const struct {
        enum kiln_dtype x, scale, epsilon, y, compute;
        enum kiln_scalar expected;
    } rows[] = {
        {KILN_DTYPE_F16, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F16, KILN_DTYPE_F16,
         KILN_SCALAR_F32},
        {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F32, KILN_DTYPE_F32,
         KILN_SCALAR_F32},
        {KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32,
         KILN_SCALAR_F64},
        {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F32,
         KILN_SCALAR_F64},
        {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F64,
         KILN_SCALAR_F64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_tensor tensors[] = {{.dtype = rows[i].x},
                                        {.dtype = rows[i].scale},
                                        {.dtype = rows[i].epsilon},
                                        {.dtype = rows[i].y}};
        struct kiln_graph graph = {.tensor_count = 4, .tensors = tensors};
        struct kiln_node node = {
            .kind = KILN_NODE_LAYERNORM,
            .compute_type = rows[i].compute,
            .input_count = 3,
            .output_count = 1,
            .inputs = {0, 1, 2},
            .input_roles = {KILN_OPERAND_X, KILN_OPERAND_SCALE, KILN_OPERAND_EPSILON},
            .outputs = {3},
            .output_roles = {KILN_OPERAND_Y},
        };
        cr_expect_eq(kiln_node_scalar(&graph, &node), rows[i].expected, "row %zu", i);
    }
}

/* y of a layernorm, virtual and half, through a pointwise node. */
Test(norm_program, a_virtual_result_is_rounded_for_the_next_node)
{
    static const int64_t dims[] = {2, 8};
    struct kiln_trial trial;
    kiln_trial_begin(&trial, KILN_NODE_LAYERNORM, 1);
    trial.node.normalization = (struct kiln_normalization){.axes = 2, .epsilon = 1e-5};
    kiln_trial_input(&trial, KILN_OPERAND_X, KILN_DTYPE_F32, 2, dims, 0, 1);
    uint32_t y = kiln_trial_output(&trial, KILN_OPERAND_Y, KILN_DTYPE_F16, 2, dims);
    uint32_t z = kiln_trial_output(&trial, KILN_OPERAND_MEAN, KILN_DTYPE_F32, 2, dims);
    trial.tensors[y].role = KILN_TENSOR_VIRTUAL;
    trial.node.output_count = 1;
    struct kiln_node nodes[] = {trial.node,
                                {.kind = KILN_NODE_POINTWISE,
                                 .compute_type = KILN_DTYPE_F32,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .inputs = {y},
                                 .outputs = {z},
                                 .pointwise = {.mode = KILN_POINTWISE_ABS}}};
    trial.graph.nodes = nodes;
    trial.graph.node_count = 2;
    kiln_trial_import(&trial);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_ROUND), 1);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_STORE), 1);
    for (uint32_t i = 0; i < trial.optimized.op_count; i++) {
        const struct kiln_op *op = &trial.optimized.ops[i];
        cr_expect_eq(op->node, op->opcode == KILN_OP_ABS || op->opcode == KILN_OP_STORE);
    }
    kiln_trial_end(&trial);
}
