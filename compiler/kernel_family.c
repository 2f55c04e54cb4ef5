#include "compiler/kernel_family.h"

const char *kiln_family_name(enum kiln_kernel_family family)
{
    static const char *const names[] = {
#define KILN_FAMILY(name, lower, op_class, text, reason) #lower,
#include "compiler/kernel_family.def"
    };
    return names[family];
}

const char *kiln_family_text(enum kiln_kernel_family family)
{
    static const char *const texts[] = {
#define KILN_FAMILY(name, lower, op_class, text, reason) text,
#include "compiler/kernel_family.def"
    };
    return texts[family];
}

static enum kiln_op_class class_of(const struct kiln_op *op)
{
    enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
    bool is_mapped = op_class == KILN_OP_CLASS_REDUCE && op->map != KILN_NONE;
    return is_mapped ? KILN_OP_CLASS_MAPPED_REDUCE : op_class;
}

enum kiln_kernel_family kiln_family_of_op(const struct kiln_op *op)
{
    switch (class_of(op)) {
#define KILN_FAMILY(name, lower, op_class, text, reason)                                           \
    case KILN_OP_CLASS_##op_class:                                                                 \
        return KILN_FAMILY_##name;
#include "compiler/kernel_family.def"
    default:
        return KILN_FAMILY_FIRST;
    }
}

bool kiln_op_is_core(const struct kiln_op *op)
{
    return kiln_family_of_op(op) != KILN_FAMILY_FIRST;
}
