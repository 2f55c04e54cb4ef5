#include "compiler/ir/exact_dtypes.h"
#include "compiler/reference/convert.h"

#include <math.h>

#define B(name) KILN_DTYPE_BIT(KILN_DTYPE_##name)
/* Every type with a zero. */
#define ALL ((KILN_DTYPE_BIT(KILN_DTYPE_COUNT) - 1) & ~B(E8M0))
/* That have a -0. */
#define FP6    (B(F6E2M3) | B(F6E3M2))
#define FLOATS (B(F64) | B(F32) | B(F16) | B(BF16) | B(F8E4M3) | B(F8E5M2) | FP6 | B(F4E2M1))

/* The types that hold all values which rounding to the row's type can give. */
static const uint32_t supersets[KILN_DTYPE_COUNT] = {
    [KILN_DTYPE_F32] = B(F32) | B(F64),
    [KILN_DTYPE_F16] = B(F16) | B(F32) | B(F64),
    [KILN_DTYPE_BF16] = B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_F64] = B(F64),
    [KILN_DTYPE_U8] = B(U8) | B(I32) | B(I64) | B(F16) | B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_I32] = B(I32) | B(I64) | B(F64),
    [KILN_DTYPE_I8] = B(I8) | B(I32) | B(I64) | B(F16) | B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_F8E4M3] = B(F8E4M3) | B(F16) | B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_F8E5M2] = B(F8E5M2) | B(F16) | B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_F8E4M3FNUZ] = B(F8E4M3FNUZ) | B(F16) | B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_F8E5M2FNUZ] = B(F8E5M2FNUZ) | B(F16) | B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_I64] = B(I64),
    [KILN_DTYPE_BOOL] = ALL,
    [KILN_DTYPE_E8M0] = B(E8M0) | B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_F4E2M1] = FLOATS,
    [KILN_DTYPE_F6E2M3] = B(F6E2M3) | B(F8E4M3) | B(F16) | B(BF16) | B(F32) | B(F64),
    [KILN_DTYPE_F6E3M2] = FLOATS & ~(B(F6E2M3) | B(F4E2M1)),
    [KILN_DTYPE_I4] = ALL & ~(FP6 | B(F4E2M1) | B(BOOL) | B(U8)),
};

static uint32_t constant_dtypes(const struct kiln_op *op)
{
    bool integer = op->scalar < KILN_SCALAR_F32;
    double value = integer ? (double)op->constant.integer : op->constant.real;
    uint32_t set = supersets[kiln_scalar_dtype(op->scalar)];
    if (integer && (op->constant.integer > INT32_MAX || op->constant.integer < INT32_MIN))
        return set; /* the double may be off */
    for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
        double rounded = kiln_round_to_dtype((enum kiln_dtype)dtype, value);
        bool same = rounded == value && (signbit(rounded) != 0) == (signbit(value) != 0);
        if (same || (isnan(rounded) && isnan(value)))
            set |= KILN_DTYPE_BIT(dtype);
    }
    return set;
}

static uint32_t convert_dtypes(enum kiln_scalar scalar, uint32_t operand_set)
{
    enum kiln_dtype own = kiln_scalar_dtype(scalar);
    if (scalar == KILN_SCALAR_BOOL)
        return ALL;
    /* A value that the target type holds stays what it is, with all its sets. */
    if ((operand_set & KILN_DTYPE_BIT(own)) != 0)
        return operand_set;
    return supersets[own];
}

/* A power of two times few bits of significand: the least bit of each type below times 2^-127 is a
 * number of bfloat16, and overflow is the same as in float. */
static uint32_t product_dtypes(uint32_t a, uint32_t b)
{
    const uint32_t few_bits = FP6 | B(F4E2M1) | B(I8);
    bool is_scaled =
        ((a & B(E8M0)) != 0 && (b & few_bits) != 0) || ((b & B(E8M0)) != 0 && (a & few_bits) != 0);
    return is_scaled ? B(BF16) | B(F32) | B(F64) : 0;
}

uint32_t kiln_op_exact_dtypes(const struct kiln_op *op, const struct kiln_graph *graph,
                              const uint32_t *sets)
{
    bool is_float = op->scalar == KILN_SCALAR_F32 || op->scalar == KILN_SCALAR_F64;
    uint32_t own = supersets[kiln_scalar_dtype(op->scalar)];
    switch (op->opcode) {
    case KILN_OP_STORE:
        return 0;
    case KILN_OP_LENGTH:
        return own;
    case KILN_OP_LOAD: {
        enum kiln_dtype dtype = graph->tensors[op->tensor].dtype;
        /* Memory may hold an fp8 infinity, which rounding to fp8 never gives. */
        if (dtype == KILN_DTYPE_F8E5M2)
            return supersets[dtype] & ~B(F8E5M2);
        return supersets[dtype];
    }
    case KILN_OP_CONSTANT:
        return constant_dtypes(op);
    case KILN_OP_ROUND:
        /* What was exact before stays so: rounding to a second type is monotone and keeps its fixed
         * points. */
        return (sets[op->operands[0]] & KILN_DTYPE_BIT(op->dtype)) != 0
                   ? sets[op->operands[0]]
                   : supersets[op->dtype] | own;
    case KILN_OP_ROUND_UP:
        return supersets[op->dtype] | own;
    case KILN_OP_CONVERT:
        return convert_dtypes(op->scalar, sets[op->operands[0]]);
    case KILN_OP_REDUCE_MIN: /* one of the elements, or padding */
    case KILN_OP_REDUCE_MAX:
        return op->map != KILN_NONE ? own : sets[op->operands[0]];
    case KILN_OP_COPY:
    case KILN_OP_BROADCAST:
    case KILN_OP_VIEW:
    case KILN_OP_REPEAT:
    case KILN_OP_SCORE_MAX:
        return sets[op->operands[0]];
    case KILN_OP_NEG:
    case KILN_OP_ABS:
        return is_float ? (sets[op->operands[0]] & FLOATS) | own : own;
    case KILN_OP_FLOOR:
    case KILN_OP_CEIL:
        /* Integers up to 2^precision are in every floating-point type, and beyond every number is
         * integral; but 7.5, the largest number of E2M3, has no integer above it there. */
        return (sets[op->operands[0]] & FLOATS & ~B(F6E2M3)) | own;
    case KILN_OP_MUL:
        return op->scalar == KILN_SCALAR_F32
                   ? product_dtypes(sets[op->operands[0]], sets[op->operands[1]]) | own
                   : own;
    case KILN_OP_MIN:
    case KILN_OP_MAX:
        return (sets[op->operands[0]] & sets[op->operands[1]]) | own;
    case KILN_OP_SELECT:
        return (sets[op->operands[1]] & sets[op->operands[2]]) | own;
    default:
        return own;
    }
}

const uint32_t *kiln_ir_exact_dtypes(const struct kiln_ir *ir, const struct kiln_graph *graph)
{
    if (ir->exact_dtypes != NULL)
        return ir->exact_dtypes;
    uint32_t *sets = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *sets);
    for (uint32_t i = 0; sets != NULL && i < ir->op_count; i++)
        sets[i] = kiln_op_exact_dtypes(&ir->ops[i], graph, sets);
    return sets;
}
