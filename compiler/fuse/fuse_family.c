#include "compiler/fuse/fuse_family.h"

#define KILN_FAMILY(name, lower, op_class, text, reason)                                           \
    extern const struct kiln_fuse_family kiln_fuse_##lower;
#include "compiler/kernel_family.def"

const struct kiln_fuse_family *kiln_fuse_family(enum kiln_kernel_family family)
{
    static const struct kiln_fuse_family *const families[] = {
#define KILN_FAMILY(name, lower, op_class, text, reason) &kiln_fuse_##lower,
#include "compiler/kernel_family.def"
    };
    return families[family];
}

const struct kiln_fuse_family *kiln_fuse_family_of_op(const struct kiln_op *op)
{
    return kiln_fuse_family(kiln_family_of_op(op));
}

bool kiln_value_has_segment_axis(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_fuse_family *family = kiln_fuse_family_of_op(&ir->ops[value]);
    return family->has_segment_axis != NULL && family->has_segment_axis(ir, value);
}

uint32_t kiln_group_place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                 enum kiln_place place)
{
    const struct kiln_fuse_family *family = kiln_fuse_family(group->family);
    return family->place_domain == NULL ? group->domain : family->place_domain(ir, group, place);
}

void kiln_group_explain(const struct kiln_ir *ir, const struct kiln_graph *graph,
                        const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_fuse_family *family = kiln_fuse_family(group->family);
    if (family->explain != NULL)
        family->explain(ir, graph, group, buffer);
}
