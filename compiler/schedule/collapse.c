#include "compiler/schedule/collapse.h"

#include <assert.h>

uint64_t kiln_access_traffic_bytes(const struct kiln_domain *domain,
                                   const struct kiln_access *access)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < domain->rank; i++)
        elements *= (uint64_t)kiln_access_elements_along(access, i, domain->dims[i]);
    return (uint64_t)kiln_dtype_memory_bytes(access->dtype, (int64_t)elements);
}

/* The access that moves the most; a store wins a tie. */
static const struct kiln_access *heaviest_access(const struct kiln_domain *domain,
                                                 const struct kiln_fusion_group *group)
{
    const struct kiln_access *heaviest = &group->accesses[0];
    uint64_t most = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        uint64_t bytes = kiln_access_traffic_bytes(domain, &group->accesses[i]);
        if (bytes >= most) {
            most = bytes;
            heaviest = &group->accesses[i];
        }
    }
    return heaviest;
}

/* A store of packed elements: its vectors have to be whole bytes; or NULL. A group has stores of
 * one layout at most. */
static const struct kiln_access *packed_store(const struct kiln_fusion_group *group)
{
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (kiln_dtype_is_packed(group->accesses[i].dtype))
            return &group->accesses[i];
    }
    return NULL;
}

/* In a general kernel: the access that varies along most axes, whatever their sizes; a store wins a
 * tie. */
static const struct kiln_access *widest_access(const struct kiln_domain *domain,
                                               const struct kiln_fusion_group *group)
{
    const struct kiln_access *widest = &group->accesses[0];
    uint32_t most = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        uint32_t axes = 0;
        for (uint32_t axis = 0; axis < domain->rank; axis++)
            axes += group->accesses[i].strides[axis] != 0;
        if (axes >= most) {
            most = axes;
            widest = &group->accesses[i];
        }
    }
    return widest;
}

/*
 * The access whose memory order the walk follows. A store of packed elements goes first. Otherwise,
 * among the axes that are dense (stride 1) in some access, the one that carries the most traffic
 * decides; a store breaks ties, since a scattered write costs more. With no such axis it is the
 * heaviest access of all: a row value's would know nothing about the order of the reduced axes.
 */
static const struct kiln_access *choose_leader(const struct kiln_domain *domain,
                                               const struct kiln_fusion_group *group,
                                               bool is_general)
{
    if (packed_store(group) != NULL)
        return packed_store(group);
    if (is_general)
        return widest_access(domain, group);
    const struct kiln_access *leader = heaviest_access(domain, group);
    uint64_t best = 0;
    for (uint32_t axis = 0; axis < domain->rank; axis++) {
        uint64_t traffic = 0;
        uint64_t heaviest = 0;
        const struct kiln_access *candidate = NULL;
        for (uint32_t i = 0; i < group->access_count; i++) {
            const struct kiln_access *access = &group->accesses[i];
            if (domain->dims[axis] == 1 || access->strides[axis] != 1 || access->repeats[axis] != 0)
                continue;
            uint64_t bytes = 2 * kiln_access_traffic_bytes(domain, access) + access->is_store;
            traffic += bytes;
            if (bytes >= heaviest) {
                heaviest = bytes;
                candidate = access;
            }
        }
        if (candidate != NULL && traffic >= best) {
            best = traffic;
            leader = candidate;
        }
    }
    return leader;
}

/* True if a window of a core operation moves along the axis of its result. */
static bool moves_along(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                        uint32_t axis)
{
    uint32_t from_right = ir->domains[group->domain].rank - 1 - axis;
    for (uint32_t i = 0; i < group->anchor_count; i++) {
        const struct kiln_op *op = &ir->ops[group->anchors[i]];
        if (kiln_opcode_info(op->opcode)->op_class != KILN_OP_CLASS_REDUCE || op->map == KILN_NONE)
            continue;
        const struct kiln_map *map = &ir->maps[op->map];
        if (kiln_map_window_over(map, map->axes[from_right].along) != NULL)
            return true;
    }
    return false;
}

/* True if the kernel needs the coordinate along the axis. */
static bool counts_along(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                         uint32_t axis)
{
    uint32_t rank = ir->domains[group->domain].rank;
    const struct kiln_domain *domain = &ir->domains[group->domain];
    uint32_t from_right = rank - 1 - axis;
    bool has_end = domain->end != 0 &&
                   (from_right == domain->block_axis || from_right == domain->block_axis + 1);
    if (has_end || moves_along(ir, group, axis))
        return true;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        const struct kiln_domain *own = &ir->domains[op->domain];
        if (op->opcode == KILN_OP_INDEX && !kiln_domain_is_one(own, op->axis) &&
            op->axis + rank - own->rank == axis)
            return true;
    }
    return false;
}

/* Orders the axes by the leader's strides, slowest first; axes that the leader repeats come slowest
 * of all. */
static uint32_t order_axes(const struct kiln_domain *domain, const int64_t *strides,
                           uint32_t *ret_order)
{
    uint32_t count = 0;
    for (uint32_t axis = 0; axis < domain->rank; axis++) {
        if (kiln_domain_is_one(domain, axis))
            continue;
        uint32_t place = count++;
        int64_t stride = strides[axis];
        while (place > 0) {
            int64_t before = strides[ret_order[place - 1]];
            if (before == 0 || (stride != 0 && before >= stride))
                break;
            ret_order[place] = ret_order[place - 1];
            place--;
        }
        ret_order[place] = axis;
    }
    return count;
}

/* Where the walk's own axis, the number of the segment, comes first. */
static void append_segment_axis(const struct kiln_fusion_group *group,
                                struct kiln_schedule *schedule)
{
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].is_accumulator)
            schedule->accesses[i].strides[0] = group->accesses[i].segment_stride;
    }
    schedule->walk.dims[0] = group->segment_count;
    schedule->walk.rank = 1;
    schedule->walk.reduced_axes = 1;
}

/* Guards of an access, as bits over the domain's axes. A row value is stored once per row whatever
 * the coordinates on reduced axes. */
static uint32_t effective_guards(const struct kiln_fusion_group *group,
                                 const struct kiln_access *access)
{
    bool is_row = access->place == KILN_PLACE_ROW;
    return is_row ? access->guard_axes & ~group->reduced_axes : access->guard_axes;
}

/* Blocks go on from one line to the next if lines are whole blocks. */
static bool can_merge(const struct kiln_schedule *schedule, const struct kiln_fusion_group *group,
                      uint32_t outer, uint32_t axis, int64_t dim, const int64_t *inner_strides,
                      const bool *inner_guarded)
{
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access_schedule *access = &schedule->accesses[i];
        int64_t repeat = group->accesses[i].repeats[axis];
        int64_t expected;
        if (access->repeats[outer] != 0 || (repeat != 0 && dim % repeat != 0) ||
            __builtin_mul_overflow(inner_strides[i], repeat != 0 ? dim / repeat : dim, &expected) ||
            access->strides[outer] != expected ||
            ((access->guard_axes >> outer) & 1u) != inner_guarded[i])
            return false;
    }
    return true;
}

bool kiln_collapse_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                          struct kiln_schedule *schedule)
{
    const struct kiln_domain *domain = &ir->domains[group->domain];
    uint32_t order[KILN_MAX_RANK];
    bool is_general = schedule->options->is_general;
    const struct kiln_access *leader = choose_leader(domain, group, is_general);
    uint32_t count =
        order_axes(domain, is_general ? leader->declared_strides : leader->strides, order);
    int64_t *inner_strides =
        kiln_arena_calloc(ir->arena, group->access_count, sizeof *inner_strides);
    bool *inner_guarded = kiln_arena_calloc(ir->arena, group->access_count, sizeof *inner_guarded);
    bool previous_counted = true; /* nothing merges with the segment axis */
    bool previous_reduced = false;
    if (inner_strides == NULL || inner_guarded == NULL)
        return false;

    for (uint32_t i = 0; i < KILN_MAX_RANK; i++)
        schedule->walk.domain_axis[i] = KILN_NONE;
    schedule->walk.rank = 0;
    schedule->walk.reduced_axes = 0;
    if (group->role == KILN_ROLE_COMBINE) {
        assert(count < KILN_MAX_RANK);
        append_segment_axis(group, schedule);
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t axis = order[k];
        bool counted = counts_along(ir, group, axis);
        bool reduced = (group->reduced_axes >> axis) & 1u;
        for (uint32_t i = 0; i < group->access_count; i++) {
            inner_strides[i] = group->accesses[i].strides[axis];
            inner_guarded[i] = (effective_guards(group, &group->accesses[i]) >> axis) & 1u;
        }
        bool merge = !is_general && !counted && !previous_counted && reduced == previous_reduced &&
                     can_merge(schedule, group, schedule->walk.rank - 1, axis, domain->dims[axis],
                               inner_strides, inner_guarded);
        if (!merge) {
            schedule->walk.dims[schedule->walk.rank] = 1;
            schedule->walk.rank++;
        }
        uint32_t collapsed = schedule->walk.rank - 1;
        schedule->walk.dims[collapsed] *= domain->dims[axis];
        schedule->walk.reduced_axes |= (uint32_t)reduced << collapsed;
        schedule->walk.domain_axis[axis] = counted ? collapsed : KILN_NONE;
        for (uint32_t i = 0; i < group->access_count; i++) {
            schedule->accesses[i].strides[collapsed] = inner_strides[i];
            schedule->accesses[i].repeats[collapsed] = group->accesses[i].repeats[axis];
            schedule->accesses[i].guard_axes &= ~(1u << collapsed);
            schedule->accesses[i].guard_axes |= (uint32_t)inner_guarded[i] << collapsed;
        }
        previous_counted = counted;
        previous_reduced = reduced;
    }
    if (schedule->walk.rank == 0) {
        schedule->walk.rank = 1;
        schedule->walk.dims[0] = 1;
    }
    schedule->walk.end = domain->end;
    if (domain->end != 0) {
        uint32_t elements = domain->rank - 1 - domain->block_axis;
        schedule->walk.end_block = domain->dims[elements];
        schedule->walk.end_elements = schedule->walk.domain_axis[elements];
        schedule->walk.end_blocks = schedule->walk.domain_axis[elements - 1];
    }
    return true;
}
