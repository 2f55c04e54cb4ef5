/* Which reductions share a kernel: those over the same axes of the same domain, of which one is
 * computed from another or that read something in common. */
#include "compiler/families/reduction/fuse/reduction_passes.h"
#include "compiler/families/reduction/fuse/row_segments.h"
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/ir/view.h"

/* PARTIAL kernels know no result yet. */
static bool may_compute(const struct kiln_group_builder *builder,
                        const struct kiln_cluster *cluster, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    return cluster->role != KILN_ROLE_PARTIAL &&
           (op->domain == cluster->row_domain || op->domain == cluster->domain);
}

/* COMBINE kernels read nothing of the elements. */
static bool may_reduce(const struct kiln_group_builder *builder, const struct kiln_cluster *cluster,
                       uint32_t index, uint32_t axes)
{
    const struct kiln_ir *ir = builder->ir;
    return cluster->role != KILN_ROLE_COMBINE &&
           cluster->domain == kiln_ir_iteration(ir, &ir->ops[index]) && cluster->axes == axes;
}

static bool may_merge(const struct kiln_group_builder *builder, const struct kiln_cluster *a,
                      const struct kiln_cluster *b)
{
    (void)builder;
    return a->role == KILN_ROLE_WHOLE && b->role == KILN_ROLE_WHOLE && a->domain == b->domain &&
           a->axes == b->axes;
}

/* True if no other reduction will ever join the cluster because it reads what this one's operand
 * does. */
static bool is_complete(const struct kiln_cluster *cluster)
{
    return cluster->is_closed || cluster->core_count >= KILN_CLUSTER_MAX_CORES;
}

/* The first cluster that walks over the same elements already, reads something of the reduction's
 * operand and may take one more. */
static uint32_t find_cluster_to_share(struct kiln_group_builder *builder, uint32_t index,
                                      uint32_t axes, uint32_t level)
{
    struct kiln_load_sets *sets = &builder->load_sets;
    struct kiln_load_set set =
        kiln_load_set_of(&builder->load_sets, builder->ir->ops[index].operands[0]);
    uint32_t found = KILN_NONE;
    for (uint32_t i = 0; !builder->bare[index] && set.loads != NULL && i < set.count; i++) {
        uint32_t *link = &sets->first_reader[set.loads[i]];
        while (*link != KILN_NONE) {
            struct kiln_load_reader *reader = &sets->readers[*link];
            uint32_t number = kiln_cluster_find(builder, builder->accumulated_in[reader->op]);
            const struct kiln_cluster *cluster = &builder->clusters[number];
            builder->steps++;
            if (!kiln_load_reader_is_valid(sets, reader) || is_complete(cluster)) {
                *link = reader->next;
                continue;
            }
            if (number < found && kiln_cluster_may_reduce(builder, cluster, index, axes) &&
                kiln_cluster_can_be_at(cluster, level))
                found = number;
            link = &reader->next;
        }
    }
    return found;
}

/* A new cluster for a reduction; where its rows are cut into segments, two: the PARTIAL one, which
 * is returned, and its COMBINE one. */
static uint32_t add_cluster(struct kiln_group_builder *builder, uint32_t index, uint32_t axes,
                            uint32_t level)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    uint32_t operand = op->operands[0];
    uint32_t domain = kiln_ir_iteration(builder->ir, op);
    bool is_whole = (builder->strategy->choices & KILN_CHOICE_NO_SEGMENTS) != 0;
    uint32_t segments = is_whole ? 1 : kiln_row_segment_count(builder, operand, axes);
    if (segments <= 1)
        return kiln_cluster_add(builder, KILN_FAMILY_REDUCTION, KILN_ROLE_WHOLE, index, domain,
                                level);
    builder->choices |= KILN_CHOICE_NO_SEGMENTS;
    uint32_t partial =
        kiln_cluster_add(builder, KILN_FAMILY_REDUCTION, KILN_ROLE_PARTIAL, index, domain, level);
    (void)kiln_cluster_add_combine(builder, KILN_FAMILY_REDUCTION, index, partial, segments);
    return partial;
}

static void place_reduction(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    uint32_t operand = op->operands[0];
    uint32_t axes =
        kiln_domain_reduced_axes(&builder->ir->domains[kiln_ir_iteration(builder->ir, op)],
                                 &builder->ir->domains[op->domain]);
    uint32_t producer = kiln_reads_from_memory(builder, index, operand)
                            ? KILN_NONE
                            : kiln_cluster_of(builder, operand);
    uint32_t found = KILN_NONE;
    if (producer != KILN_NONE && !builder->bare[index] &&
        kiln_cluster_may_reduce(builder, &builder->clusters[producer], index, axes))
        found = producer;
    uint32_t level = kiln_level_needed(builder, index, found);
    if (found == KILN_NONE)
        found = find_cluster_to_share(builder, index, axes, level);
    if (found == KILN_NONE)
        found = add_cluster(builder, index, axes, level);
    struct kiln_cluster *cluster = &builder->clusters[found];
    const struct kiln_fuse_family *family = kiln_fuse_family(cluster->family);
    kiln_cluster_raise_to(cluster, level);
    if (family->begin_reduce != NULL)
        family->begin_reduce(builder, found, index, axes);
    cluster->core_count++;
    cluster->axes = axes; /* what is not of this family reduced nothing so far */
    if (cluster->role == KILN_ROLE_WHOLE)
        cluster->row_domain = op->domain;
    builder->accumulated_in[index] = found;
    builder->cluster[index] = found;
    if (cluster->role == KILN_ROLE_PARTIAL) {
        builder->cluster[index] = cluster->combine;
        builder->clusters[cluster->combine].core_count++;
    }
    if (!kiln_load_sets_add_reader(&builder->load_sets, index))
        builder->failed = true;
    kiln_require_operands(builder, index, found, cluster->level);
}

/*
 * Vectors along the tensor's dense axis are whole bytes if so is the axis. The walk follows the
 * store, so its vectors lie along that axis, reduced or not, and divide it (reduction_layout.c).
 */
static bool may_store_packed(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, uint32_t store)
{
    const struct kiln_op *op = &builder->ir->ops[store];
    const struct kiln_tensor *tensor = &builder->graph->tensors[op->tensor];
    const struct kiln_domain *domain = &builder->ir->domains[op->domain];
    int64_t strides[KILN_MAX_RANK];
    if (cluster->role != KILN_ROLE_WHOLE || op->domain != cluster->domain ||
        !kiln_view_strides(domain, tensor->dims, tensor->strides, tensor->rank, strides))
        return false;
    for (uint32_t axis = 0; axis < domain->rank; axis++) {
        int64_t unit = kiln_dtype_unit(tensor->dtype);
        bool has_end = domain->end != 0 && domain->rank - 1 - axis == domain->block_axis;
        if (strides[axis] == 1)
            return domain->dims[axis] % unit == 0 && (!has_end || domain->end % unit == 0);
    }
    return false;
}

const struct kiln_fuse_family kiln_fuse_reduction = {
    .place = place_reduction,
    .may_compute = may_compute,
    .may_reduce = may_reduce,
    .may_merge = may_merge,
    .may_ride_along = true,
    .may_store_packed = may_store_packed,
    .load_kinds = KILN_LOAD_PACKED | KILN_LOAD_REPEATED,
    .operand_load_kinds = KILN_LOAD_PACKED | KILN_LOAD_REPEATED,
    .max_accesses = KILN_GROUP_MAX_ACCESSES,
    .access_place = kiln_reduction_access_place,
};
