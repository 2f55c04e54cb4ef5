#include "compiler/fuse/register_pressure.h"

#include <criterion/criterion.h>

/* A little program: values are pushed one after the other, all in one domain. */
struct program {
    struct kiln_arena arena;
    struct kiln_ir ir;
    uint32_t domain;
    bool is_load[16];
};

static void program_init(struct program *program)
{
    int64_t dims[1] = {8};
    *program = (struct program){0};
    kiln_arena_init(&program->arena);
    kiln_ir_init(&program->ir, &program->arena);
    program->domain = kiln_ir_domain(&program->ir, dims, 1);
}

static uint32_t push_load(struct program *program, enum kiln_scalar scalar)
{
    struct kiln_op op = {.opcode = KILN_OP_LOAD,
                         .scalar = scalar,
                         .domain = program->domain,
                         .operands = {KILN_NONE, KILN_NONE, KILN_NONE, KILN_NONE, KILN_NONE},
                         .tensor = 0};
    uint32_t value = kiln_ir_append(&program->ir, &op);
    program->is_load[value] = true;
    return value;
}

static uint32_t pressure(struct program *program)
{
    uint32_t ops[16];
    uint32_t scratch[16];
    uint32_t live[16];
    for (uint32_t i = 0; i < program->ir.op_count; i++)
        ops[i] = i;
    uint32_t worst = kiln_register_pressure(&program->ir, ops, program->ir.op_count,
                                            program->is_load, scratch, live);
    kiln_arena_fini(&program->arena);
    return worst;
}

Test(register_pressure, a_chain_keeps_one_value)
{
    struct program program;
    program_init(&program);
    uint32_t x = push_load(&program, KILN_SCALAR_F32);
    for (int i = 0; i < 6; i++)
        x = kiln_ir_unary(&program.ir, KILN_OP_NEG, x);
    kiln_ir_store(&program.ir, x, 0);
    cr_assert_eq(pressure(&program), 1);
}

Test(register_pressure, doubles_count_twice)
{
    struct program program;
    program_init(&program);
    uint32_t x = push_load(&program, KILN_SCALAR_F64);
    x = kiln_ir_unary(&program.ir, KILN_OP_NEG, x);
    x = kiln_ir_unary(&program.ir, KILN_OP_NEG, x);
    kiln_ir_store(&program.ir, x, 0);
    cr_assert_eq(pressure(&program), 2);
}

Test(register_pressure, values_kept_for_later_add_up)
{
    struct program program;
    program_init(&program);
    uint32_t x = push_load(&program, KILN_SCALAR_F32);
    uint32_t a = kiln_ir_unary(&program.ir, KILN_OP_NEG, x);
    uint32_t b = kiln_ir_unary(&program.ir, KILN_OP_EXP, a);
    uint32_t c = kiln_ir_unary(&program.ir, KILN_OP_SQRT, b);
    uint32_t sum = kiln_ir_binary(&program.ir, KILN_OP_ADD, b, c);
    sum = kiln_ir_binary(&program.ir, KILN_OP_ADD, sum, a);
    kiln_ir_store(&program.ir, sum, 0);
    cr_assert_eq(pressure(&program), 3);
}

Test(register_pressure, a_load_counts_from_its_first_use)
{
    struct program program;
    program_init(&program);
    uint32_t x = push_load(&program, KILN_SCALAR_F32);
    uint32_t y = push_load(&program, KILN_SCALAR_F32);
    uint32_t a = kiln_ir_unary(&program.ir, KILN_OP_NEG, x);
    a = kiln_ir_unary(&program.ir, KILN_OP_EXP, a);
    a = kiln_ir_binary(&program.ir, KILN_OP_ADD, a, y);
    kiln_ir_store(&program.ir, a, 0);
    cr_assert_eq(pressure(&program), 1);
}
