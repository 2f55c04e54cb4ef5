#include "compiler/ir/ir.h"

#include <inttypes.h>
#include <math.h>

static void print_real(double value, struct kiln_buffer *buffer)
{
    if (isnan(value)) /* printf would show the sign, which means nothing */
        kiln_buffer_append_text(buffer, "nan");
    else
        kiln_buffer_printf(buffer, "%.17g", value);
}

/* The element in padding of a REDUCE, unless it changes nothing. */
static void print_padding(const struct kiln_ir *ir, const struct kiln_op *op,
                          struct kiln_buffer *buffer)
{
    if (ir->ops[op->operands[0]].scalar < KILN_SCALAR_F32 ||
        op->constant.real == kiln_ir_neutral_padding(op->opcode).real)
        return;
    kiln_buffer_append_text(buffer, " padded with ");
    print_real(op->constant.real, buffer);
}

static void print_shape(const struct kiln_domain *domain, struct kiln_buffer *buffer)
{
    kiln_buffer_append_text(buffer, "[");
    for (uint32_t i = 0; i < domain->rank; i++)
        kiln_buffer_printf(buffer, "%s%" PRId64, i == 0 ? "" : "x", domain->dims[i]);
    if (domain->end != 0)
        kiln_buffer_printf(buffer, " of %" PRId64, domain->end);
    kiln_buffer_append_text(buffer, "]");
}

static void print_operands(const struct kiln_op *op, struct kiln_buffer *buffer)
{
    uint32_t arity = kiln_opcode_info(op->opcode)->arity;
    for (uint32_t i = 0; i < arity; i++)
        kiln_buffer_printf(buffer, "%s%%%" PRIu32, i == 0 ? " " : ", ", op->operands[i]);
}

static void print_tensor(const struct kiln_graph *graph, uint32_t tensor,
                         struct kiln_buffer *buffer)
{
    if (graph == NULL)
        kiln_buffer_printf(buffer, "tensor %" PRIu32, tensor);
    else
        kiln_tensor_print_name(&graph->tensors[tensor], buffer);
}

static void print_attribute(const struct kiln_ir *ir, const struct kiln_graph *graph,
                            const struct kiln_op *op, struct kiln_buffer *buffer)
{
    switch (op->opcode) {
    case KILN_OP_LOAD:
    case KILN_OP_LENGTH:
        kiln_buffer_append_text(buffer, " ");
        print_tensor(graph, op->tensor, buffer);
        break;
    case KILN_OP_STORE:
        kiln_buffer_append_text(buffer, ", ");
        print_tensor(graph, op->tensor, buffer);
        break;
    case KILN_OP_CONSTANT:
        kiln_buffer_append_text(buffer, " ");
        if (op->scalar < KILN_SCALAR_F32)
            kiln_buffer_printf(buffer, "%" PRId64, op->constant.integer);
        else
            print_real(op->constant.real, buffer);
        break;
    case KILN_OP_INDEX:
        kiln_buffer_printf(buffer, " axis %" PRIu32, op->axis);
        break;
    case KILN_OP_CONTRACT:
    case KILN_OP_CONTRACT_GROUPS:
    case KILN_OP_CONTRACT_GATHER:
    case KILN_OP_CONTRACT_SCATTER:
    case KILN_OP_SCORE:
    case KILN_OP_ATTEND:
        kiln_buffer_append_text(buffer, " over ");
        kiln_contraction_print_maps(&ir->contractions[op->contraction], buffer);
        if (op->kernel != 0)
            kiln_buffer_printf(buffer, " in kernel %" PRIu32, op->kernel);
        break;
    case KILN_OP_REDUCE_SUM:
    case KILN_OP_REDUCE_PRODUCT:
    case KILN_OP_REDUCE_MIN:
    case KILN_OP_REDUCE_MAX:
    case KILN_OP_REDUCE_MAX_NUMBER:
    case KILN_OP_REDUCE_ARGMAX:
    case KILN_OP_REDUCE_SUM_AT:
        if (op->map == KILN_NONE)
            break;
        kiln_buffer_append_text(buffer, " over ");
        print_shape(&ir->domains[op->iteration], buffer);
        kiln_buffer_append_text(buffer, " at ");
        kiln_map_print(&ir->maps[op->map], buffer);
        print_padding(ir, op, buffer);
        break;
    case KILN_OP_REPEAT:
        kiln_buffer_append_text(buffer, " at ");
        kiln_map_print(&ir->maps[op->map], buffer);
        break;
    case KILN_OP_ROUND:
    case KILN_OP_ROUND_UP:
        kiln_buffer_printf(buffer, " through %s", kiln_dtype_info(op->dtype)->text);
        break;
    default:
        break;
    }
}

void kiln_ir_print(const struct kiln_ir *ir, const struct kiln_graph *graph,
                   struct kiln_buffer *buffer)
{
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
        if (info->op_class != KILN_OP_CLASS_SINK)
            kiln_buffer_printf(buffer, "%%%" PRIu32 " = ", i);
        kiln_buffer_printf(buffer, "%s.%s", info->text, kiln_scalar_text(op->scalar));
        print_operands(op, buffer);
        print_attribute(ir, graph, op, buffer);
        kiln_buffer_append_text(buffer, " : ");
        print_shape(&ir->domains[op->domain], buffer);
        bool names_tensor = kiln_op_is_load(op) || op->opcode == KILN_OP_STORE;
        if (op->tensor != KILN_NONE && !names_tensor) {
            kiln_buffer_append_text(buffer, "  ; ");
            print_tensor(graph, op->tensor, buffer);
        }
        kiln_buffer_append_text(buffer, "\n");
    }
}
