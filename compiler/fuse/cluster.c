#include "compiler/fuse/cluster.h"

#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/recompute.h"

#include <string.h>

uint32_t kiln_cluster_find(const struct kiln_group_builder *builder, uint32_t cluster)
{
    struct kiln_cluster *clusters = builder->clusters;
    while (clusters[cluster].merged_into != KILN_NONE) {
        uint32_t above = clusters[cluster].merged_into;
        if (clusters[above].merged_into != KILN_NONE) /* shortens the way for whoever asks next */
            clusters[cluster].merged_into = clusters[above].merged_into;
        cluster = above;
    }
    return cluster;
}

uint32_t kiln_cluster_of(const struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t cluster = builder->cluster[value];
    return cluster == KILN_NONE ? KILN_NONE : kiln_cluster_find(builder, cluster);
}

uint32_t kiln_value_level(const struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t cluster = kiln_cluster_of(builder, value);
    return cluster == KILN_NONE ? builder->level[value] : builder->clusters[cluster].level;
}

bool kiln_cluster_has_core(const struct kiln_group_builder *builder, uint32_t cluster,
                           uint32_t value)
{
    if (cluster == KILN_NONE || builder->accumulated_in[value] == KILN_NONE)
        return false;
    return kiln_cluster_of(builder, value) == cluster ||
           kiln_cluster_find(builder, builder->accumulated_in[value]) == cluster;
}

static struct kiln_cluster *cluster_at(const struct kiln_group_builder *builder, uint32_t cluster)
{
    return &builder->clusters[cluster];
}

bool kiln_reads_from_memory(const struct kiln_group_builder *builder, uint32_t index,
                            uint32_t operand)
{
    bool repeats = builder->reads_memory[index] && !kiln_op_is_source(&builder->ir->ops[operand]);
    return repeats ||
           (builder->always_cut[operand] && kiln_cluster_of(builder, operand) == KILN_NONE);
}

uint32_t kiln_cluster_add(struct kiln_group_builder *builder, enum kiln_kernel_family family,
                          enum kiln_group_role role, uint32_t index, uint32_t domain,
                          uint32_t level)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[index];
    builder->clusters[builder->cluster_count] = (struct kiln_cluster){
        .family = family,
        .role = role,
        .boundary =
            role == KILN_ROLE_COMBINE ? KILN_BOUNDARY_SEGMENTS : kiln_family_boundary(family),
        .domain = domain,
        .row_domain = op->domain,
        .axes = kiln_domain_reduced_axes(&ir->domains[domain], &ir->domains[op->domain]),
        .map = op->map,
        .level = level,
        .first_reader = KILN_NONE,
        .packed_store = KILN_NONE,
        .merged_into = KILN_NONE,
        .node = op->node,
        .segment_count = 1,
        .combine = KILN_NONE,
        .is_closed = builder->bare[index],
    };
    return builder->cluster_count++;
}

uint32_t kiln_cluster_begin(struct kiln_group_builder *builder, enum kiln_kernel_family family,
                            enum kiln_group_role role, uint32_t index, uint32_t level)
{
    uint32_t added =
        kiln_cluster_add(builder, family, role, index, builder->ir->ops[index].domain, level);
    builder->clusters[added].core_count = builder->clusters[added].anchor_count = 1;
    builder->clusters[added].anchors[0] = index;
    builder->accumulated_in[index] = builder->cluster[index] = added;
    return added;
}

uint32_t kiln_cluster_add_combine(struct kiln_group_builder *builder,
                                  enum kiln_kernel_family family, uint32_t index, uint32_t partial,
                                  uint32_t segments)
{
    uint32_t level = builder->clusters[partial].level + 1;
    uint32_t combine = kiln_cluster_add(builder, family, KILN_ROLE_COMBINE, index,
                                        builder->ir->ops[index].domain, level);
    builder->clusters[partial].first_reader = level;
    builder->clusters[partial].segment_count = segments;
    builder->clusters[partial].combine = combine;
    builder->clusters[combine].segment_count = segments;
    return combine;
}

bool kiln_cluster_can_be_at(const struct kiln_cluster *cluster, uint32_t level)
{
    return level <= cluster->level ||
           (cluster->role != KILN_ROLE_PARTIAL && level < cluster->first_reader);
}

void kiln_cluster_raise_to(struct kiln_cluster *cluster, uint32_t level)
{
    if (cluster->level < level)
        cluster->level = level;
}

/* An element value that others need: whether they read it rather than compute it again. */
static bool is_stored_for_others(struct kiln_group_builder *builder, uint32_t value)
{
    builder->choices |= KILN_CHOICE_STORE_SHARED_VALUES;
    if ((builder->strategy->choices & KILN_CHOICE_STORE_SHARED_VALUES) != 0)
        return true;
    return builder->store_op[value] != KILN_NONE &&
           kiln_load_set_of(&builder->load_sets, value).count > 1;
}

/*
 * A kernel of this level that is not of its cluster needs a value. Its cluster stores the value, or
 * the row values that it can be computed again from. What other clusters have to store for that,
 * they were asked for when the value was placed, for a kernel of a lower level. False when memory
 * is out.
 */
static bool require_in_memory(struct kiln_group_builder *builder, uint32_t value, uint32_t level)
{
    struct kiln_value_queue *wanted = &builder->wanted;
    struct kiln_cluster *own = cluster_at(builder, kiln_cluster_of(builder, value));
    bool good = true;
    if (level < own->first_reader)
        own->first_reader = level;
    if (!builder->is_required[value])
        kiln_value_queue_add(wanted, value);
    while (wanted->count != 0) {
        uint32_t current = kiln_value_queue_take(wanted);
        uint32_t cluster = kiln_cluster_of(builder, current);
        builder->steps++;
        if (cluster == KILN_NONE || builder->is_required[current])
            continue;
        builder->is_required[current] = true;
        const struct kiln_op *op = &builder->ir->ops[current];
        const struct kiln_cluster *maker = cluster_at(builder, cluster);
        /* What rows have is not stored once more for each of their elements. */
        bool repeats_row = op->opcode == KILN_OP_BROADCAST &&
                           builder->ir->ops[op->operands[0]].domain == maker->row_domain;
        bool is_border = op->domain == maker->row_domain || kiln_op_is_core(op) ||
                         (kiln_fuse_family(maker->family)->stores_elements && !repeats_row);
        /* A kernel that stages it computes it from what is stored before it; so may others. */
        bool is_deferred = builder->is_deferred[current];
        if (builder->cut[current] ||
            (!is_deferred && (is_border || is_stored_for_others(builder, current)))) {
            builder->needed[current] = true;
            if (!builder->cut[current])
                good = kiln_load_sets_cut(&builder->load_sets, current) && good;
            continue;
        }
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            kiln_value_queue_add(wanted, op->operands[k]);
    }
    return good;
}

/* A value without a cluster that is read from memory by a kernel of this level. */
static void read_from_memory(struct kiln_group_builder *builder, uint32_t value, uint32_t level)
{
    builder->needed[value] = true;
    uint32_t cluster = kiln_cluster_of(builder, value);
    uint32_t *first = cluster == KILN_NONE ? &builder->first_reader[value]
                                           : &cluster_at(builder, cluster)->first_reader;
    if (level < *first)
        *first = level;
}

bool kiln_cluster_may_share(const struct kiln_group_builder *builder,
                            const struct kiln_cluster *cluster, uint32_t node)
{
    return !cluster->is_closed && (!builder->options->no_fusion || cluster->node == node);
}

/* True if the cluster's kernel walks over the points that the operation is defined at. */
static bool can_compute(const struct kiln_group_builder *builder,
                        const struct kiln_cluster *cluster, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    uint32_t enclosing = builder->enclosed_in[index];
    if ((builder->load_kinds[index] & ~kiln_fuse_family(cluster->family)->load_kinds) != 0)
        return false;
    if (enclosing != KILN_NONE)
        return kiln_cluster_of(builder, enclosing) == (uint32_t)(cluster - builder->clusters);
    return kiln_cluster_may_share(builder, cluster, op->node) &&
           kiln_fuse_family(cluster->family)->may_compute(builder, cluster, index);
}

bool kiln_cluster_may_reduce(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, uint32_t index, uint32_t axes)
{
    const struct kiln_fuse_family *family = kiln_fuse_family(cluster->family);
    return family->may_reduce != NULL && builder->ir->ops[index].map == cluster->map &&
           kiln_cluster_may_share(builder, cluster, builder->ir->ops[index].node) &&
           cluster->core_count < KILN_CLUSTER_MAX_CORES &&
           family->may_reduce(builder, cluster, index, axes);
}

static bool can_merge(const struct kiln_group_builder *builder, const struct kiln_cluster *a,
                      const struct kiln_cluster *b)
{
    uint32_t level = a->level > b->level ? a->level : b->level;
    const struct kiln_fuse_family *family = kiln_fuse_family(a->family);
    return a->family == b->family && a->map == b->map && family->may_merge != NULL &&
           family->may_merge(builder, a, b) && !a->is_closed &&
           (a->packed_store == KILN_NONE || b->packed_store == KILN_NONE) &&
           kiln_cluster_may_share(builder, b, a->node) && kiln_cluster_can_be_at(a, level) &&
           kiln_cluster_can_be_at(b, level) &&
           a->core_count + b->core_count <= KILN_CLUSTER_MAX_CORES;
}

static void merge(struct kiln_group_builder *builder, uint32_t into, uint32_t other)
{
    struct kiln_cluster *a = cluster_at(builder, into);
    struct kiln_cluster *b = cluster_at(builder, other);
    kiln_cluster_raise_to(a, b->level);
    if (b->first_reader < a->first_reader)
        a->first_reader = b->first_reader;
    a->core_count += b->core_count;
    if (a->packed_store == KILN_NONE)
        a->packed_store = b->packed_store;
    for (uint32_t i = 0; i < b->anchor_count; i++)
        a->anchors[a->anchor_count++] = b->anchors[i];
    b->merged_into = into;
}

uint32_t kiln_level_needed(const struct kiln_group_builder *builder, uint32_t index,
                           uint32_t cluster)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    uint32_t needed = 0;
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
        uint32_t operand = op->operands[k];
        uint32_t other = kiln_cluster_of(builder, operand);
        uint32_t level = kiln_value_level(builder, operand);
        bool from_memory = kiln_reads_from_memory(builder, index, operand);
        if (other != KILN_NONE && !from_memory) {
            if (other == cluster ||
                (cluster != KILN_NONE &&
                 can_merge(builder, cluster_at(builder, cluster), cluster_at(builder, other))))
                continue;
            from_memory = true;
        }
        if (level + from_memory > needed)
            needed = level + from_memory;
    }
    return needed;
}

void kiln_require_operands(struct kiln_group_builder *builder, uint32_t index, uint32_t cluster,
                           uint32_t level)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    bool good = true;
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
        uint32_t operand = op->operands[k];
        uint32_t other = kiln_cluster_of(builder, operand);
        if (kiln_reads_from_memory(builder, index, operand))
            read_from_memory(builder, kiln_value_in_memory(builder, operand), level);
        else if (other != KILN_NONE && other != cluster)
            good = require_in_memory(builder, operand, level) && good;
    }
    builder->failed = builder->failed || !good;
}

bool kiln_cluster_join(struct kiln_group_builder *builder, uint32_t index, uint32_t cluster)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    uint32_t needed = kiln_level_needed(builder, index, cluster);
    if (!kiln_cluster_can_be_at(cluster_at(builder, cluster), needed))
        return false;
    kiln_cluster_raise_to(cluster_at(builder, cluster), needed);
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
        uint32_t other = kiln_cluster_of(builder, op->operands[k]);
        if (other != KILN_NONE && other != cluster &&
            !kiln_reads_from_memory(builder, index, op->operands[k]) &&
            can_merge(builder, cluster_at(builder, cluster), cluster_at(builder, other)))
            merge(builder, cluster, other);
    }
    /* A merge may have failed that kiln_level_needed counted on: then that operand needs a later
     * level.
     */
    needed = kiln_level_needed(builder, index, cluster);
    if (!kiln_cluster_can_be_at(cluster_at(builder, cluster), needed))
        return false;
    kiln_cluster_raise_to(cluster_at(builder, cluster), needed);
    builder->cluster[index] = cluster;
    kiln_require_operands(builder, index, cluster, cluster_at(builder, cluster)->level);
    return true;
}

static void place_elementwise(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
        uint32_t cluster = kiln_cluster_of(builder, op->operands[k]);
        if (cluster != KILN_NONE && !kiln_reads_from_memory(builder, index, op->operands[k]) &&
            can_compute(builder, cluster_at(builder, cluster), index) &&
            kiln_cluster_join(builder, index, cluster))
            return;
    }
    uint32_t enclosing = builder->enclosed_in[index];
    if (enclosing != KILN_NONE)
        builder->broken = kiln_fuse_family_of_op(&builder->ir->ops[enclosing])->broken;
    builder->level[index] = kiln_level_needed(builder, index, KILN_NONE);
    kiln_require_operands(builder, index, KILN_NONE, builder->level[index]);
}

/* A cluster that computes the value may store it to a packed tensor. Otherwise a kernel without a
 * cluster does, and what a cluster computes of the value is in memory. */
static void place_packed_store(struct kiln_group_builder *builder, uint32_t index)
{
    uint32_t number = kiln_cluster_of(builder, builder->ir->ops[index].operands[0]);
    struct kiln_cluster *cluster = number == KILN_NONE ? NULL : cluster_at(builder, number);
    const struct kiln_fuse_family *family =
        cluster == NULL ? NULL : kiln_fuse_family(cluster->family);
    if (family != NULL && family->may_store_packed != NULL && !cluster->is_closed &&
        cluster->packed_store == KILN_NONE && family->may_store_packed(builder, cluster, index)) {
        builder->cluster[index] = number;
        cluster->packed_store = index;
        return;
    }
    builder->level[index] = kiln_level_needed(builder, index, KILN_NONE);
    kiln_require_operands(builder, index, KILN_NONE, builder->level[index]);
}

/* Cuts what others than a value's own node read, and what core operations alone in their kernel
 * do. */
static void find_always_cut(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    memset(builder->always_cut, 0, ir->op_count * sizeof *builder->always_cut);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        const struct kiln_fuse_family *family = kiln_fuse_family_of_op(op);
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            const struct kiln_op *operand = &ir->ops[op->operands[k]];
            bool is_other_node = builder->options->no_fusion && op->opcode != KILN_OP_STORE &&
                                 kiln_op_is_result(operand) && operand->node != op->node;
            bool is_read = kiln_op_is_core(op) && builder->bare[i];
            is_read = is_read || (kiln_op_is_core(op) && (builder->load_kinds[op->operands[k]] &
                                                          ~family->operand_load_kinds) != 0);
            if (family->may_evaluate_operand != NULL)
                is_read = is_read || !family->may_evaluate_operand(builder, i, k);
            if (!is_other_node && (!is_read || kiln_op_is_source(operand)))
                continue;
            builder->always_cut[op->operands[k]] = true;
            builder->why_cut[op->operands[k]] = is_other_node      ? KILN_BOUNDARY_NO_FUSION
                                                : builder->bare[i] ? builder->why_bare[i]
                                                                   : KILN_BOUNDARY_OPERAND;
        }
    }
    memcpy(builder->cut, builder->always_cut, ir->op_count * sizeof *builder->cut);
}

static const struct kiln_fuse_family *family_at(uint32_t number)
{
    return kiln_fuse_family((enum kiln_kernel_family)number);
}

static void reset(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    builder->cluster_count = 0;
    builder->choices = 0;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        builder->cluster[i] = builder->accumulated_in[i] = KILN_NONE;
        builder->first_reader[i] = KILN_NONE;
        builder->level[i] = 0;
        builder->is_deferred[i] = false;
        builder->why_cut[i] = KILN_BOUNDARY_RECOMPUTE;
        builder->needed[i] = builder->reads_memory[i] = builder->is_required[i] = false;
    }
    for (uint32_t f = 0; f < KILN_FAMILY_COUNT; f++) {
        if (family_at(f)->forget != NULL)
            family_at(f)->forget(builder);
    }
    find_always_cut(builder);
    for (uint32_t f = 0; f < KILN_FAMILY_COUNT; f++) {
        if (family_at(f)->prepare != NULL)
            family_at(f)->prepare(builder);
    }
    kiln_load_sets_reset(&builder->load_sets);
}

/* True if another family takes the operation into one of its clusters. */
static bool is_adopted(struct kiln_group_builder *builder, uint32_t index)
{
    for (uint32_t f = 0; f < KILN_FAMILY_COUNT; f++) {
        if (family_at(f)->adopt != NULL && family_at(f)->adopt(builder, index))
            return true;
    }
    return false;
}

static void place(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    const struct kiln_fuse_family *family = kiln_fuse_family_of_op(op);
    builder->reads_memory[index] = kiln_broadcast_reads_memory(builder, index);
    /* What it repeats is in memory: nothing is gained by having it there at full length. */
    if (builder->reads_memory[index])
        builder->always_cut[index] = builder->cut[index] = false;
    if (!kiln_load_sets_place(&builder->load_sets, index))
        builder->failed = true;
    else if (family->place != NULL) {
        if (!is_adopted(builder, index))
            family->place(builder, index);
    } else if (op->opcode == KILN_OP_STORE) {
        if (kiln_dtype_is_packed(builder->graph->tensors[op->tensor].dtype))
            place_packed_store(builder, index);
    } else if (!kiln_op_is_source(op)) {
        place_elementwise(builder, index);
    }
}

/* Lists the core operations of every cluster. */
static void list_cores(struct kiln_group_builder *builder)
{
    for (uint32_t i = 0; i < builder->cluster_count; i++)
        builder->clusters[i].first_core = KILN_NONE;
    for (uint32_t i = builder->ir->op_count; i-- > 0;) {
        if (builder->accumulated_in[i] == KILN_NONE)
            continue;
        uint32_t number = kiln_cluster_find(builder, builder->accumulated_in[i]);
        struct kiln_cluster *cluster = cluster_at(builder, number);
        builder->next_core[i] = cluster->first_core;
        cluster->first_core = i;
        /* The COMBINE cluster lists the operation too, unless the PARTIAL kernel completes it
         * itself. */
        if (cluster->role == KILN_ROLE_PARTIAL && kiln_cluster_of(builder, i) != number)
            cluster_at(builder, kiln_cluster_of(builder, i))->first_core = i;
    }
}

bool kiln_assign_clusters(struct kiln_group_builder *builder)
{
    reset(builder);
    for (uint32_t i = 0; i < builder->ir->op_count && kiln_may_go_on(builder); i++)
        place(builder, i);
    list_cores(builder);
    return kiln_may_go_on(builder);
}
