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

static void print_domain(const struct kiln_domain *domain, struct kiln_buffer *buffer)
{
    kiln_buffer_append_text(buffer, " : [");
    for (uint32_t i = 0; i < domain->rank; i++)
        kiln_buffer_printf(buffer, "%s%" PRId64, i == 0 ? "" : "x", domain->dims[i]);
    kiln_buffer_append_text(buffer, "]");
}

static void print_operands(const struct kiln_op *op, struct kiln_buffer *buffer)
{
    uint32_t arity = kiln_opcode_info(op->opcode)->arity;
    for (uint32_t i = 0; i < arity; i++)
        kiln_buffer_printf(buffer, "%s%%%" PRIu32, i == 0 ? " " : ", ", op->operands[i]);
}

/* " (left * 2)": how far an index goes along an operand's axis, where it is not one further. */
static void print_step(const char *side, uint8_t axis, int64_t step, struct kiln_buffer *buffer)
{
    if (axis != KILN_NO_AXIS && step != 1)
        kiln_buffer_printf(buffer, " (%s * %" PRId64 ")", side, step);
}

/* "k4" or, where groups of neighbours read one element, "b6 (left / 3)": roles and sizes of the
 * axes; then the windows, "window left 1 of 56 from -3". */
static void print_contraction(const struct kiln_contraction *contraction,
                              struct kiln_buffer *buffer)
{
    static const char roles[KILN_AXIS_ROLE_COUNT] = {
        [KILN_AXIS_BATCH] = 'b', [KILN_AXIS_M] = 'm', [KILN_AXIS_N] = 'n', [KILN_AXIS_K] = 'k'};
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        kiln_buffer_printf(buffer, "%s%c%" PRId64, i == 0 ? " over " : " ", roles[axis->role],
                           axis->size);
        if (axis->left_repeat != 1)
            kiln_buffer_printf(buffer, " (left / %" PRId64 ")", axis->left_repeat);
        if (axis->right_repeat != 1)
            kiln_buffer_printf(buffer, " (right / %" PRId64 ")", axis->right_repeat);
        print_step("left", axis->left, axis->left_step, buffer);
        print_step("right", axis->right, axis->right_step, buffer);
        print_step("result", axis->result, axis->result_step, buffer);
    }
    for (uint32_t i = 0; i < contraction->window_count; i++) {
        const struct kiln_contraction_window *window = &contraction->windows[i];
        kiln_buffer_printf(buffer, " window %s %u of %" PRId64 " from %" PRId64,
                           contraction->is_right_windowed ? "right" : "left", window->axis,
                           window->size, window->offset);
        if (window->divisor != 1)
            kiln_buffer_printf(buffer, " by %" PRId64, window->divisor);
    }
}

static void print_attribute(const struct kiln_ir *ir, const struct kiln_op *op,
                            struct kiln_buffer *buffer)
{
    switch (op->opcode) {
    case KILN_OP_LOAD:
        kiln_buffer_printf(buffer, " tensor %" PRIu32, op->tensor);
        break;
    case KILN_OP_STORE:
        kiln_buffer_printf(buffer, ", tensor %" PRIu32, op->tensor);
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
    case KILN_OP_SCORE:
    case KILN_OP_ATTEND:
        print_contraction(&ir->contractions[op->contraction], buffer);
        if (op->kernel != 0)
            kiln_buffer_printf(buffer, " in kernel %" PRIu32, op->kernel);
        break;
    case KILN_OP_ROUND:
        kiln_buffer_printf(buffer, " through %s", kiln_dtype_info(op->dtype)->text);
        break;
    default:
        break;
    }
}

void kiln_ir_print(const struct kiln_ir *ir, struct kiln_buffer *buffer)
{
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
        if (info->op_class != KILN_OP_CLASS_SINK)
            kiln_buffer_printf(buffer, "%%%" PRIu32 " = ", i);
        kiln_buffer_printf(buffer, "%s.%s", info->text, kiln_scalar_text(op->scalar));
        print_operands(op, buffer);
        print_attribute(ir, op, buffer);
        print_domain(&ir->domains[op->domain], buffer);
        bool names_tensor = op->opcode == KILN_OP_LOAD || op->opcode == KILN_OP_STORE;
        if (op->tensor != KILN_NONE && !names_tensor)
            kiln_buffer_printf(buffer, "  ; tensor %" PRIu32, op->tensor);
        kiln_buffer_append_text(buffer, "\n");
    }
}
