#include "compiler/fuse/group_accesses.h"

#include "compiler/fuse/accumulator.h"
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/layout_tensor.h"
#include "compiler/graph/ragged.h"
#include "compiler/ir/view.h"

#include <string.h>

/* In elements along the axes of `domain`, right-aligned; 0 where the tensor does not vary. */
static void align_strides(const struct kiln_domain *domain, const int64_t *dims,
                          const int64_t *strides, uint32_t rank, int64_t *ret_strides)
{
    memset(ret_strides, 0, KILN_MAX_RANK * sizeof *ret_strides);
    for (uint32_t i = 0; i < domain->rank && i < rank; i++) {
        uint32_t from = rank - 1 - i;
        if (dims[from] != 1)
            ret_strides[domain->rank - 1 - i] = strides[from];
    }
}

/* Gives an access strides along axes that a domain keeps although their size is 1: any will do. */
static void keep_strides(const struct kiln_domain *domain, const struct kiln_domain *seen,
                         struct kiln_access *access)
{
    for (uint32_t i = 0; i < domain->rank && i < seen->rank; i++) {
        uint32_t axis = domain->rank - 1 - i;
        bool is_kept = (seen->kept >> i & 1) != 0 && seen->dims[seen->rank - 1 - i] == 1;
        if (is_kept && access->declared_strides[axis] != 0)
            access->strides[axis] = access->declared_strides[axis];
    }
}

/* Aligns the strides of a shape in the same way, also along axes that it keeps at size 1. */
static void align_kept_strides(const struct kiln_domain *domain, const struct kiln_domain *shape,
                               const int64_t *strides, int64_t *ret_strides)
{
    for (uint32_t i = 0; i < domain->rank && i < shape->rank; i++) {
        uint32_t from = shape->rank - 1 - i;
        if (!kiln_domain_is_one(shape, from))
            ret_strides[domain->rank - 1 - i] = strides[from];
    }
}

/* Without gaps, the axes in the order that they have in the memory of a tensor (KILN_NONE:
 * row-major), to which the shape aligns at the right. */
static void pack_strides(const struct kiln_group_builder *builder, const struct kiln_domain *shape,
                         uint32_t layout_tensor, int64_t *ret_strides)
{
    int64_t wanted[KILN_MAX_RANK] = {0};
    uint32_t order[KILN_MAX_RANK];
    const struct kiln_tensor *tensor =
        layout_tensor == KILN_NONE ? NULL : &builder->graph->tensors[layout_tensor];
    bool is_split = tensor != NULL &&
                    kiln_view_strides(shape, tensor->dims, tensor->strides, tensor->rank, wanted);
    const struct kiln_tensor *model =
        is_split || tensor == NULL || tensor->declared == NULL || !builder->ir->is_general
            ? tensor
            : tensor->declared;
    for (uint32_t i = 0; tensor != NULL && !is_split && i < shape->rank; i++) {
        if (i < tensor->rank && !kiln_domain_is_one(shape, shape->rank - 1 - i))
            wanted[shape->rank - 1 - i] = model->strides[tensor->rank - 1 - i];
    }
    /* Fastest first; equal ones, which have no order of their own, as in row-major. */
    for (uint32_t i = 0; i < shape->rank; i++) {
        uint32_t axis = shape->rank - 1 - i;
        uint32_t place = i;
        for (; place > 0 && wanted[order[place - 1]] > wanted[axis] && wanted[axis] != 0; place--)
            order[place] = order[place - 1];
        order[place] = axis;
    }
    int64_t stride = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        ret_strides[order[i]] = stride;
        stride *= shape->dims[order[i]];
    }
}

static uint32_t guard_axes(const struct kiln_domain *group, const struct kiln_domain *value)
{
    uint32_t guard = 0;
    for (uint32_t i = 0; i < group->rank; i++) {
        bool present = i < value->rank && !kiln_domain_is_one(value, value->rank - 1 - i);
        if (!present && !kiln_domain_is_one(group, group->rank - 1 - i))
            guard |= 1u << (group->rank - 1 - i);
    }
    return guard;
}

/* The domain along whose axes a value sees memory: its own, or its operand's if it repeats that. */
static const struct kiln_domain *seen_along(const struct kiln_group_builder *builder,
                                            uint32_t value)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    bool repeats = op->opcode == KILN_OP_BROADCAST || op->opcode == KILN_OP_REPEAT;
    if (repeats && builder->reads_memory[value])
        op = &builder->ir->ops[op->operands[0]];
    return &builder->ir->domains[op->domain];
}

/* Strides of a value's memory, along the axes of a domain that the value's own aligns to. */
static void find_strides(const struct kiln_group_builder *builder, uint32_t domain, uint32_t value,
                         const int64_t *dims, const int64_t *strides, uint32_t rank,
                         int64_t *ret_strides)
{
    const struct kiln_domain *seen = seen_along(builder, value);
    int64_t own[KILN_MAX_RANK];
    if (kiln_view_strides(seen, dims, strides, rank, own))
        align_strides(&builder->ir->domains[domain], seen->dims, own, seen->rank, ret_strides);
    else
        align_strides(&builder->ir->domains[domain], dims, strides, rank, ret_strides);
}

/* True if an axis of the tensor is two of the domain. */
static bool is_split_axis(const struct kiln_domain *seen, const struct kiln_tensor *tensor)
{
    if (seen->rank > tensor->rank)
        return true;
    for (uint32_t i = 0; i < seen->rank; i++) {
        int64_t size = i < tensor->rank ? tensor->dims[tensor->rank - 1 - i] : 1;
        if (seen->dims[seen->rank - 1 - i] != size)
            return true;
    }
    return false;
}

/* Split axes are ordered as in the domain. */
static void order_naturally(const struct kiln_domain *domain, const struct kiln_domain *seen,
                            struct kiln_access *access)
{
    for (uint32_t i = 0; i < domain->rank && i < seen->rank; i++) {
        uint32_t axis = domain->rank - 1 - i;
        bool varies = access->strides[axis] != 0 || (seen->kept >> i & 1) != 0;
        access->declared_strides[axis] = varies ? INT64_C(1) << i : 0;
    }
}

/* The memory of a graph tensor as seen from the group's domain. */
static struct kiln_access tensor_access(const struct kiln_group_builder *builder, uint32_t domain,
                                        uint32_t value, uint32_t tensor_ordinal)
{
    const struct kiln_tensor *tensor = &builder->graph->tensors[tensor_ordinal];
    struct kiln_access access = {
        .value = value,
        .kind = tensor->role == KILN_TENSOR_HOST_SCALAR ? KILN_ARGUMENT_HOST_SCALAR
                                                        : KILN_ARGUMENT_TENSOR,
        .tensor = tensor_ordinal,
        .dtype = tensor->dtype,
    };
    find_strides(builder, domain, value, tensor->dims, tensor->strides, tensor->rank,
                 access.strides);
    memcpy(access.declared_strides, access.strides, sizeof access.strides);
    if (builder->ir->is_general) {
        const struct kiln_tensor *declared = tensor->declared != NULL ? tensor->declared : tensor;
        if (kiln_domain_splits(seen_along(builder, value), tensor->dims, tensor->rank) &&
            is_split_axis(seen_along(builder, value), tensor))
            order_naturally(&builder->ir->domains[domain], seen_along(builder, value), &access);
        else
            align_strides(&builder->ir->domains[domain], declared->dims, declared->strides,
                          declared->rank, access.declared_strides);
        keep_strides(&builder->ir->domains[domain], seen_along(builder, value), &access);
    }
    return access;
}

/* The shape that a value has in the workspace: its tensor's, so that whoever splits its axes and
 * whoever does not can read it. */
static struct kiln_domain shape_in_memory(const struct kiln_group_builder *builder,
                                          const struct kiln_op *op)
{
    struct kiln_domain shape = builder->ir->domains[op->domain];
    if (op->tensor == KILN_NONE)
        return shape;
    const struct kiln_tensor *tensor = &builder->graph->tensors[op->tensor];
    if (kiln_domain_splits(&shape, tensor->dims, tensor->rank)) {
        shape.rank = tensor->rank;
        memcpy(shape.dims, tensor->dims, sizeof shape.dims);
        shape.end = shape.block_axis = 0;
    }
    return shape;
}

/* The offsets of a ragged tensor: one for each batch, the axis that lengths have. */
static struct kiln_access length_access(const struct kiln_group_builder *builder, uint32_t domain,
                                        uint32_t value)
{
    const struct kiln_tensor *tensors = builder->graph->tensors;
    uint32_t ordinal = tensors[builder->ir->ops[value].tensor].ragged.offsets;
    const int64_t batch[KILN_RAGGED_RANK] = {
        tensors[builder->ir->ops[value].tensor].dims[KILN_RAGGED_BATCH], 1, 1, 1};
    const int64_t strides[KILN_RAGGED_RANK] = {tensors[ordinal].strides[0]};
    struct kiln_access access = {
        .value = value,
        .kind = KILN_ARGUMENT_TENSOR,
        .tensor = ordinal,
        .dtype = tensors[ordinal].dtype,
    };
    align_strides(&builder->ir->domains[domain], batch, strides, KILN_RAGGED_RANK, access.strides);
    return access;
}

/* The memory of a value that waits for another group: its home. */
static struct kiln_access home_access(struct kiln_group_builder *builder, uint32_t domain,
                                      uint32_t value)
{
    uint32_t in_memory = kiln_value_in_memory(builder, value);
    if (builder->store_op[in_memory] != KILN_NONE)
        return tensor_access(builder, domain, value,
                             builder->ir->ops[builder->store_op[in_memory]].tensor);
    const struct kiln_op *op = &builder->ir->ops[in_memory];
    /* Rows of elements look the same along any axes. */
    const struct kiln_domain shape = builder->is_viewed[in_memory]
                                         ? kiln_domain_without_end(seen_along(builder, value))
                                         : shape_in_memory(builder, op);
    uint32_t layout =
        builder->is_viewed[in_memory] ? KILN_NONE : kiln_layout_tensor(builder, in_memory);
    int64_t packed[KILN_MAX_RANK];
    pack_strides(builder, &shape, layout, packed);
    struct kiln_access access = {
        .value = value,
        .kind = KILN_ARGUMENT_WORKSPACE,
        .tensor = op->tensor,
        .dtype = kiln_value_dtype(builder, in_memory),
    };
    find_strides(builder, domain, value, shape.dims, packed, shape.rank, access.strides);
    memcpy(access.declared_strides, access.strides, sizeof access.strides);
    if (builder->ir->is_general) {
        align_kept_strides(&builder->ir->domains[domain], &shape, packed, access.declared_strides);
        keep_strides(&builder->ir->domains[domain], seen_along(builder, value), &access);
    }
    return access;
}

/* True for a sum of squares if the cluster also has the mean of its operand. The two share the
 * mean's accumulator. */
static bool shares_accumulator(const struct kiln_group_builder *builder,
                               const struct kiln_fusion_group *group, uint32_t cluster,
                               uint32_t value)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    for (uint32_t i = 0; op->opcode == KILN_OP_REDUCE_SQUARES && i < group->op_count; i++) {
        const struct kiln_op *other = &builder->ir->ops[group->ops[i]];
        if (other->opcode == KILN_OP_REDUCE_MEAN && other->operands[0] == op->operands[0] &&
            kiln_cluster_has_core(builder, cluster, group->ops[i]))
            return true;
    }
    return false;
}

static enum kiln_place place_of_store(const struct kiln_fusion_group *group, uint32_t value)
{
    const struct kiln_fuse_family *family = kiln_fuse_family(group->family);
    return family->store_place == NULL || group->places == NULL
               ? KILN_PLACE_ELEMENT
               : family->store_place(group, kiln_group_position(group, value));
}

/* Appends an access per component of every accumulator of the cluster. */
static void append_accumulators(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                                uint32_t cluster, bool is_store)
{
    const struct kiln_ir *ir = builder->ir;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        bool is_complete =
            is_store && kiln_cluster_of(builder, group->ops[i]) == cluster; /* in this kernel */
        if (!kiln_cluster_has_core(builder, cluster, group->ops[i]) || is_complete ||
            shares_accumulator(builder, group, cluster, group->ops[i]))
            continue;
        int64_t packed[KILN_MAX_RANK];
        const struct kiln_domain *rows = &ir->domains[op->domain];
        enum kiln_place place =
            is_store ? place_of_store(group, group->ops[i]) : KILN_PLACE_ELEMENT;
        const struct kiln_domain *domain = &ir->domains[kiln_group_place_domain(ir, group, place)];
        /* The rows of a REDUCE lie as its operand, other results as themselves. */
        uint32_t like = kiln_op_reduces(op) ? op->operands[0] : group->ops[i];
        pack_strides(builder, rows, kiln_layout_tensor(builder, like), packed);
        uint32_t components = kiln_accumulator_info(kiln_accumulator_of(op->opcode))->components;
        for (uint32_t component = 0; component < components; component++) {
            struct kiln_access *access = &group->accesses[group->access_count++];
            *access = (struct kiln_access){
                .value = group->ops[i],
                .is_store = is_store,
                .kind = KILN_ARGUMENT_WORKSPACE,
                .tensor = KILN_NONE,
                .dtype = kiln_scalar_dtype(op->scalar),
                .place = place,
                .is_accumulator = true,
                .component = component,
                .segment_stride = kiln_domain_elements(rows),
            };
            align_strides(domain, rows->dims, packed, rows->rank, access->strides);
        }
    }
}

/* Axes of the map and of the access align at the right. */
static void set_repeats(const struct kiln_ir *ir, const struct kiln_op *repeat,
                        const struct kiln_domain *domain, struct kiln_access *access)
{
    const struct kiln_map *map = &ir->maps[repeat->map];
    for (uint32_t i = 0; i < map->axis_count && i < domain->rank; i++) {
        uint32_t axis = domain->rank - 1 - i;
        if (access->strides[axis] != 0 && map->axes[i].repeat.value > 1)
            access->repeats[axis] = map->axes[i].repeat.value;
    }
}

/* Loads of values that are wanted in this place. */
static void append_loads_of_place(struct kiln_group_builder *builder,
                                  struct kiln_fusion_group *group, uint32_t cluster,
                                  enum kiln_place place)
{
    uint32_t domain = kiln_group_place_domain(builder->ir, group, place);
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &builder->ir->ops[value];
        if (!builder->is_load[value] || kiln_cluster_has_core(builder, cluster, value) ||
            (group->places != NULL && !(group->places[i] >> place & 1)))
            continue;
        struct kiln_access *access = &group->accesses[group->access_count++];
        const struct kiln_op *source = &builder->ir->ops[kiln_value_in_memory(builder, value)];
        *access = source->opcode == KILN_OP_LOAD
                      ? tensor_access(builder, domain, value, source->tensor)
                  : op->opcode == KILN_OP_LENGTH ? length_access(builder, domain, value)
                                                 : home_access(builder, domain, value);
        if (op->opcode == KILN_OP_REPEAT)
            set_repeats(builder->ir, op, &builder->ir->domains[domain], access);
        access->place = place;
    }
}

static enum kiln_place place_count(const struct kiln_fusion_group *group)
{
    return group->places == NULL ? KILN_PLACE_ELEMENT + 1 : KILN_PLACE_COUNT;
}

static void append_loads(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                         uint32_t cluster)
{
    for (enum kiln_place place = 0; place < place_count(group); place++)
        append_loads_of_place(builder, group, cluster, place);
    if (group->role == KILN_ROLE_COMBINE)
        append_accumulators(builder, group, cluster, false);
    group->load_count = group->access_count;
}

bool kiln_group_build_accesses(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                               uint32_t cluster, const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_domain *domain = &ir->domains[group->domain];
    uint32_t most = item_count;
    for (uint32_t i = 0; i < group->op_count; i++)
        most +=
            place_count(group) * (uint32_t)builder->is_load[group->ops[i]] +
            KILN_ACCUMULATOR_MAX_COMPONENTS * (uint32_t)kiln_op_is_core(&ir->ops[group->ops[i]]);
    group->accesses = kiln_arena_calloc(builder->ir->arena, most, sizeof *group->accesses);
    if (group->accesses == NULL)
        return false;
    append_loads(builder, group, cluster);
    for (uint32_t i = 0; i < item_count; i++) {
        const struct kiln_group_item *item = &builder->items[items[i]];
        struct kiln_access *access = &group->accesses[group->access_count++];
        enum kiln_place place = place_of_store(group, item->value);
        uint32_t points = kiln_group_place_domain(ir, group, place);
        *access = item->store != KILN_NONE
                      ? tensor_access(builder, points, item->value, ir->ops[item->store].tensor)
                      : home_access(builder, points, item->value);
        access->is_store = true;
        access->place = place;
        if (place == KILN_PLACE_ELEMENT)
            access->guard_axes = guard_axes(domain, &ir->domains[ir->ops[item->value].domain]) &
                                 ~group->reduced_axes;
    }
    if (group->role == KILN_ROLE_PARTIAL)
        append_accumulators(builder, group, cluster, true);
    const struct kiln_fuse_family *family = kiln_fuse_family(group->family);
    for (uint32_t i = 0; family->access_place != NULL && i < group->access_count; i++)
        group->accesses[i].place = family->access_place(group, &group->accesses[i]);
    return true;
}
