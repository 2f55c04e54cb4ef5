#include "compiler/fuse/append_group.h"

#include "compiler/fuse/closure.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/group_accesses.h"

#include <string.h>

/* The cost of scheduling an operation of a group and writing its text, in steps of the
 * partitioner. */
enum { STEPS_OF_AN_OPERATION = 128 };

/* Makes room for another group; NULL when memory is out. */
static struct kiln_fusion_group *add_group(struct kiln_group_builder *builder)
{
    if (builder->group_count == builder->group_capacity) {
        uint32_t capacity = builder->group_capacity == 0 ? 16 : 2 * builder->group_capacity;
        struct kiln_fusion_group *grown =
            kiln_arena_calloc(builder->arena, capacity, sizeof *grown);
        if (grown == NULL)
            return NULL;
        if (builder->group_count != 0)
            memcpy(grown, builder->groups, builder->group_count * sizeof *grown);
        builder->groups = grown;
        builder->group_capacity = capacity;
    }
    return &builder->groups[builder->group_count++];
}

/* Appends what the last closure found. */
static bool append_closure(struct kiln_group_builder *builder,
                           const struct kiln_fusion_group *pattern, uint32_t cluster,
                           const uint32_t *items, uint32_t item_count)
{
    struct kiln_fusion_group *group = add_group(builder);
    if (group == NULL)
        return false;
    *group = *pattern;
    group->op_count = builder->op_count;
    builder->steps += (uint64_t)STEPS_OF_AN_OPERATION * builder->op_count;
    group->ops = kiln_arena_calloc(builder->ir->arena, builder->op_count, sizeof *group->ops);
    group->live_registers = builder->live_registers;
    group->cost = builder->cost;
    if (group->ops == NULL)
        return false;
    memcpy(group->ops, builder->ops, builder->op_count * sizeof *group->ops);
    const struct kiln_fuse_family *family = kiln_fuse_family(group->family);
    return (family->find_places == NULL ||
            family->find_places(builder, group, items, item_count)) &&
           kiln_group_build_accesses(builder, group, cluster, items, item_count);
}

bool kiln_group_append(struct kiln_group_builder *builder, uint32_t domain,
                       enum kiln_boundary boundary, const uint32_t *items, uint32_t item_count)
{
    kiln_group_closure(builder, KILN_NONE, items, item_count);
    const struct kiln_fusion_group pattern = {
        .family = KILN_FAMILY_FIRST,
        .domain = domain,
        .segment_count = 1,
        .boundary = boundary,
    };
    return append_closure(builder, &pattern, KILN_NONE, items, item_count);
}

bool kiln_group_append_cluster(struct kiln_group_builder *builder, uint32_t cluster,
                               enum kiln_boundary boundary, const uint32_t *items,
                               uint32_t item_count)
{
    const struct kiln_cluster *source = &builder->clusters[cluster];
    kiln_group_closure(builder, cluster, items, item_count);
    const struct kiln_fusion_group pattern = {
        .family = source->family,
        .role = source->role,
        .domain = source->domain,
        .reduced_axes = source->axes,
        .segment_count = source->segment_count,
        .boundary = boundary,
    };
    return append_closure(builder, &pattern, cluster, items, item_count);
}
