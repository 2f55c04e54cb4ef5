#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

#include <string.h>

/* Slots hold value + 1, 0 when free; linear probing; the size is a power of two above twice the
 * operations. */
struct value_table {
    uint32_t *slots;
    uint32_t mask;
};

/* Swapping the operands changes no bit of the result. MIN and MAX may order 0 and -0 by position.
 */
static bool is_commutative(const struct kiln_op *op)
{
    bool is_float = op->scalar == KILN_SCALAR_F32 || op->scalar == KILN_SCALAR_F64;
    switch (op->opcode) {
    case KILN_OP_ADD:
    case KILN_OP_MUL:
    case KILN_OP_CMP_EQ:
    case KILN_OP_CMP_NE:
    case KILN_OP_AND:
    case KILN_OP_OR:
        return true;
    case KILN_OP_MIN:
    case KILN_OP_MAX:
        return !is_float;
    default:
        return false;
    }
}

/* The bits of a CONSTANT, or of the padding of a REDUCE. */
static uint64_t constant_bits(const struct kiln_op *op)
{
    uint64_t bits;
    if (op->opcode == KILN_OP_REDUCE_ARGMAX || op->scalar == KILN_SCALAR_F32 ||
        op->scalar == KILN_SCALAR_F64)
        memcpy(&bits, &op->constant.real, sizeof bits);
    else
        memcpy(&bits, &op->constant.integer, sizeof bits);
    return bits;
}

static uint64_t hash_step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_op(const struct kiln_op *op)
{
    uint64_t hash = hash_step((uint64_t)op->opcode, (uint64_t)op->scalar);
    hash = hash_step(hash, op->domain);
    for (uint32_t i = 0; i < KILN_IR_MAX_OPERANDS; i++)
        hash = hash_step(hash, op->operands[i]);
    switch (op->opcode) {
    case KILN_OP_LOAD:
    case KILN_OP_LENGTH:
        return hash_step(hash, op->tensor);
    case KILN_OP_CONSTANT:
        return hash_step(hash, constant_bits(op));
    case KILN_OP_ROUND:
    case KILN_OP_ROUND_UP:
        return hash_step(hash, (uint64_t)op->dtype);
    case KILN_OP_INDEX:
        return hash_step(hash, op->axis);
    case KILN_OP_CONTRACT:
    case KILN_OP_CONTRACT_GROUPS:
    case KILN_OP_CONTRACT_GATHER:
    case KILN_OP_CONTRACT_SCATTER:
    case KILN_OP_SCORE:
    case KILN_OP_ATTEND:
        return hash_step(hash_step(hash, op->contraction), op->kernel);
    default:
        hash = hash_step(hash_step(hash, op->iteration), op->map);
        return op->map == KILN_NONE ? hash : hash_step(hash, constant_bits(op));
    }
}

/* The node an operation was made for is no part of what it computes. */
static bool same_op(const struct kiln_op *a, const struct kiln_op *b)
{
    if (a->opcode != b->opcode || a->scalar != b->scalar || a->domain != b->domain ||
        memcmp(a->operands, b->operands, sizeof a->operands) != 0)
        return false;
    switch (a->opcode) {
    case KILN_OP_LOAD: /* of one domain: seen along the same axes */
    case KILN_OP_LENGTH:
        return a->tensor == b->tensor;
    case KILN_OP_CONSTANT:
        return constant_bits(a) == constant_bits(b);
    case KILN_OP_ROUND:
    case KILN_OP_ROUND_UP:
        return a->dtype == b->dtype;
    case KILN_OP_INDEX:
        return a->axis == b->axis;
    case KILN_OP_CONTRACT:
    case KILN_OP_CONTRACT_GROUPS:
    case KILN_OP_CONTRACT_GATHER:
    case KILN_OP_CONTRACT_SCATTER:
    case KILN_OP_SCORE:
    case KILN_OP_ATTEND:
        return a->contraction == b->contraction && a->kernel == b->kernel;
    default:
        return a->iteration == b->iteration && a->map == b->map &&
               (a->map == KILN_NONE || constant_bits(a) == constant_bits(b));
    }
}

/* An earlier value equal to `op`, or a new one. */
static uint32_t find_or_append(struct value_table *table, struct kiln_ir *out,
                               const struct kiln_op *op)
{
    uint32_t slot = (uint32_t)hash_op(op) & table->mask;
    for (; table->slots[slot] != 0; slot = (slot + 1) & table->mask) {
        if (same_op(&out->ops[table->slots[slot] - 1], op))
            return table->slots[slot] - 1;
    }
    uint32_t value = kiln_ir_append(out, op);
    if (value != KILN_NONE)
        table->slots[slot] = value + 1;
    return value;
}

enum kiln_status kiln_ir_merge_common(struct kiln_ir *ir, struct kiln_pass_context *context,
                                      struct kiln_error *error)
{
    (void)context;
    struct kiln_rewrite rewrite;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    size_t size = 16;
    while (size < (size_t)ir->op_count * 2)
        size *= 2;
    struct value_table table = {.mask = (uint32_t)(size - 1)};
    table.slots = kiln_arena_calloc(ir->arena, size, sizeof *table.slots);
    if (table.slots == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to merge operations");
    for (uint32_t i = 0; i < ir->op_count && !rewrite.out.failed; i++) {
        struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
        if (is_commutative(&op) && op.operands[0] > op.operands[1]) {
            uint32_t first = op.operands[0];
            op.operands[0] = op.operands[1];
            op.operands[1] = first;
        }
        bool is_store = op.opcode == KILN_OP_STORE;
        kiln_rewrite_set(&rewrite, i,
                         is_store ? kiln_ir_append(&rewrite.out, &op)
                                  : find_or_append(&table, &rewrite.out, &op));
    }
    return kiln_rewrite_finish(&rewrite, error);
}
