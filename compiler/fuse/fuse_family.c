#include "compiler/fuse/fuse_family.h"

#define KILN_FAMILY(name, lower, op_class, text)                                                   \
    extern const struct kiln_fuse_family kiln_fuse_##lower;
#include "compiler/kernel_family.def"

const struct kiln_fuse_family *kiln_fuse_family(enum kiln_kernel_family family)
{
    static const struct kiln_fuse_family *const families[] = {
#define KILN_FAMILY(name, lower, op_class, text) &kiln_fuse_##lower,
#include "compiler/kernel_family.def"
    };
    return families[family];
}

const struct kiln_fuse_family *kiln_fuse_family_of_op(const struct kiln_op *op)
{
    switch (kiln_opcode_info(op->opcode)->op_class) {
#define KILN_FAMILY(name, lower, op_class, text)                                                   \
    case KILN_OP_CLASS_##op_class:                                                                 \
        return &kiln_fuse_##lower;
#include "compiler/kernel_family.def"
    default:
        return &kiln_fuse_pointwise;
    }
}

uint32_t kiln_group_place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                 enum kiln_place place)
{
    const struct kiln_fuse_family *family = kiln_fuse_family(group->family);
    return family->place_domain == NULL ? group->domain : family->place_domain(ir, group, place);
}
