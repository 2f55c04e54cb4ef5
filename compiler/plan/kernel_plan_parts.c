/*
 * The plan of a large graph (docs/decisions/0037). A part is planned as a graph of its own whose
 * inputs other parts have made. A tensor that crosses is an output of one part and an input of the
 * others. When all parts are planned, it gets its place in the workspace.
 */
#include "compiler/plan/kernel_plan_parts.h"

#include "compiler/fuse/workspace.h"
#include "compiler/plan/graph_parts.h"

#include <string.h>

struct assembly {
    const struct kiln_graph *source; /* the caller's */
    struct kiln_arena *arena;
    struct kiln_graph_parts parts;
    struct kiln_graph *graph; /* the copy whose tensors change their roles */
    /* Per tensor: the part that makes it, and the last one that reads it. */
    uint32_t *made_in, *read_in;
};

/* ---- the graph of the parts ---- */

static bool is_crossing(const struct assembly *assembly, uint32_t tensor)
{
    return assembly->made_in[tensor] != KILN_NONE &&
           assembly->made_in[tensor] < assembly->read_in[tensor];
}

static struct kiln_part_nodes nodes_of(const struct assembly *assembly, uint32_t part)
{
    uint32_t first = assembly->parts.first[part];
    return (struct kiln_part_nodes){assembly->parts.nodes + first,
                                    assembly->parts.first[part + 1] - first};
}

static void find_crossing(struct assembly *assembly)
{
    for (uint32_t t = 0; t < assembly->source->tensor_count; t++)
        assembly->made_in[t] = KILN_NONE;
    for (uint32_t part = 0; part < assembly->parts.count; part++) {
        const struct kiln_part_nodes nodes = nodes_of(assembly, part);
        for (uint32_t i = 0; i < nodes.count; i++) {
            const struct kiln_node *node = &assembly->source->nodes[nodes.nodes[i]];
            for (uint32_t k = 0; k < node->input_count; k++)
                assembly->read_in[node->inputs[k]] = part;
            for (uint32_t k = 0; k < node->output_count; k++)
                assembly->made_in[node->outputs[k]] = part;
        }
    }
}

/* Lies in the workspace without gaps, its axes in the order that they had. */
static void pack(struct kiln_tensor *tensor)
{
    struct kiln_tensor packed = *tensor;
    int64_t stride = 1;
    for (uint32_t done = 0; done < tensor->rank; done++) {
        uint32_t inner = KILN_NONE;
        for (uint32_t axis = tensor->rank; axis-- > 0;) {
            if (tensor->strides[axis] >= 0 &&
                (inner == KILN_NONE || tensor->strides[axis] < tensor->strides[inner]))
                inner = axis;
        }
        packed.strides[inner] = tensor->dims[inner] == 1 ? 0 : stride;
        stride *= tensor->dims[inner];
        tensor->strides[inner] = -1; /* it has its place */
    }
    packed.alignment_bytes = KILN_WORKSPACE_ALIGNMENT_BYTES;
    *tensor = packed;
}

static bool copy_names(struct assembly *assembly)
{
    struct kiln_graph *graph = assembly->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const char *name = graph->nodes[i].name;
        graph->nodes[i].name = kiln_arena_strndup(assembly->arena, name, strlen(name));
        if (graph->nodes[i].name == NULL)
            return false;
    }
    for (uint32_t t = 0; t < graph->tensor_count; t++)
        graph->tensors[t].name = "";
    return true;
}

static bool copy_graph(struct assembly *assembly)
{
    const struct kiln_graph *source = assembly->source;
    struct kiln_arena *arena = assembly->arena;
    struct kiln_graph *graph = kiln_arena_calloc(arena, 1, sizeof *graph);
    if (graph == NULL)
        return false;
    *graph = *source;
    graph->name = "";
    graph->nodes = kiln_arena_calloc(arena, source->node_count, sizeof *graph->nodes);
    graph->tensors = kiln_arena_calloc(arena, source->tensor_count, sizeof *graph->tensors);
    assembly->made_in = kiln_arena_calloc(arena, source->tensor_count, sizeof *assembly->made_in);
    assembly->read_in = kiln_arena_calloc(arena, source->tensor_count, sizeof *assembly->read_in);
    assembly->graph = graph;
    if (graph->nodes == NULL || graph->tensors == NULL || assembly->made_in == NULL ||
        assembly->read_in == NULL)
        return false;
    memcpy(graph->nodes, source->nodes, source->node_count * sizeof *graph->nodes);
    memcpy(graph->tensors, source->tensors, source->tensor_count * sizeof *graph->tensors);
    find_crossing(assembly);
    for (uint32_t t = 0; t < graph->tensor_count; t++) {
        struct kiln_tensor *tensor = &graph->tensors[t];
        if (tensor->role == KILN_TENSOR_VIRTUAL && is_crossing(assembly, t))
            pack(tensor);
        if (tensor->role == KILN_TENSOR_OUTPUT)
            tensor->role = KILN_TENSOR_VIRTUAL; /* until its part comes */
    }
    return copy_names(assembly);
}

/* Gives what a part makes the roles that it has while the part is planned, or after that. */
static void set_roles(struct assembly *assembly, uint32_t part, bool is_planned)
{
    const struct kiln_part_nodes nodes = nodes_of(assembly, part);
    for (uint32_t i = 0; i < nodes.count; i++) {
        const struct kiln_node *node = &assembly->source->nodes[nodes.nodes[i]];
        for (uint32_t k = 0; k < node->output_count; k++) {
            uint32_t tensor = node->outputs[k];
            if (is_crossing(assembly, tensor) ||
                assembly->source->tensors[tensor].role == KILN_TENSOR_OUTPUT)
                assembly->graph->tensors[tensor].role =
                    is_planned ? KILN_TENSOR_INPUT : KILN_TENSOR_OUTPUT;
        }
    }
}

/* ---- the workspace ---- */

/* Places what goes from part to part: offsets[t] for tensor t. Returns the bytes of all. */
static uint64_t place_crossing(const struct assembly *assembly, struct kiln_workspace_value *values,
                               uint32_t *numbers)
{
    uint32_t count = 0;
    for (uint32_t part = 0; part < assembly->parts.count; part++) {
        const struct kiln_part_nodes nodes = nodes_of(assembly, part);
        for (uint32_t i = 0; i < nodes.count; i++) {
            const struct kiln_node *node = &assembly->source->nodes[nodes.nodes[i]];
            for (uint32_t k = 0; k < node->output_count; k++) {
                uint32_t tensor = node->outputs[k];
                if (!is_crossing(assembly, tensor) ||
                    assembly->source->tensors[tensor].role != KILN_TENSOR_VIRTUAL)
                    continue;
                numbers[tensor] = count;
                values[count++] = (struct kiln_workspace_value){
                    .bytes =
                        (uint64_t)kiln_tensor_footprint_bytes(&assembly->graph->tensors[tensor]),
                    .first_group = part,
                    .last_group = assembly->read_in[tensor],
                };
            }
        }
    }
    return kiln_workspace_assign(values, count);
}

/* Parts use the same memory, one after the other, behind what goes from part to part. */
static bool place_workspace(const struct assembly *assembly, struct kiln_kernel_plan *plans)
{
    uint32_t tensors = assembly->source->tensor_count;
    struct kiln_workspace_value *values =
        kiln_arena_calloc(assembly->arena, tensors, sizeof *values);
    uint32_t *numbers = kiln_arena_calloc(assembly->arena, tensors, sizeof *numbers);
    if (values == NULL || numbers == NULL)
        return false;
    uint64_t crossing_bytes = place_crossing(assembly, values, numbers);
    uint64_t most = 0;
    for (struct kiln_kernel_plan *plan = plans; plan != NULL; plan = plan->next) {
        if (plan->partition.workspace_bytes > most)
            most = plan->partition.workspace_bytes;
        for (uint32_t g = 0; g < plan->partition.group_count; g++) {
            struct kiln_fusion_group *group = &plan->partition.groups[g];
            for (uint32_t i = 0; i < group->access_count; i++) {
                struct kiln_access *access = &group->accesses[i];
                if (access->kind == KILN_ARGUMENT_WORKSPACE) {
                    access->workspace_offset_bytes += crossing_bytes;
                } else if (access->kind == KILN_ARGUMENT_TENSOR &&
                           assembly->source->tensors[access->tensor].role == KILN_TENSOR_VIRTUAL) {
                    access->kind = KILN_ARGUMENT_WORKSPACE;
                    access->workspace_offset_bytes = values[numbers[access->tensor]].offset_bytes;
                }
            }
        }
    }
    for (struct kiln_kernel_plan *plan = plans; plan != NULL; plan = plan->next)
        plan->partition.workspace_bytes = crossing_bytes + most;
    return true;
}

/* ---- planning ---- */

/* Plans one part, with memory for what is tried that is free again afterwards. */
static enum kiln_status plan_part(struct assembly *assembly, uint32_t part, uint64_t max_steps,
                                  const struct kiln_plan_task *whole,
                                  struct kiln_kernel_plan *ret_plan, struct kiln_error *error)
{
    const struct kiln_part_nodes nodes = nodes_of(assembly, part);
    struct kiln_plan_task task = *whole;
    struct kiln_kernel_plan tried;
    struct kiln_arena scratch;
    kiln_arena_init(&scratch);
    task.graph = assembly->graph;
    task.arena = &scratch;
    task.max_steps = max_steps;
    set_roles(assembly, part, false);
    enum kiln_status status = kiln_part_plan_make(&task, &nodes, &tried, error);
    task.arena = whole->arena;
    if (status == KILN_OK)
        status = kiln_part_plan_repeat(&task, &tried, ret_plan, error);
    set_roles(assembly, part, true);
    ret_plan->graph = assembly->graph;
    ret_plan->scratch_bytes = scratch.bytes;
    kiln_arena_fini(&scratch);
    return status;
}

static bool is_same_shape(const struct kiln_domain *a, const struct kiln_domain *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* True if some kernel iterates over these elements, or if its rows have this shape. */
static bool has_shape(const struct kiln_kernel_plan *plan, const struct kiln_domain *shape)
{
    for (uint32_t g = 0; g < plan->partition.group_count; g++) {
        const struct kiln_fusion_group *group = &plan->partition.groups[g];
        const struct kiln_domain *domain = &plan->ir.domains[group->domain];
        struct kiln_domain rows = {0};
        for (uint32_t i = 0; i < domain->rank; i++) {
            int64_t dim = (group->reduced_axes >> i & 1) != 0 ? 1 : domain->dims[i];
            if (rows.rank != 0 || dim != 1)
                rows.dims[rows.rank++] = dim;
        }
        if (is_same_shape(domain, shape) || is_same_shape(&rows, shape))
            return true;
    }
    return false;
}

/* Kernels without another one of their shape in their own part, where other parts have one. */
static void explain_shapes(struct kiln_kernel_plan *plans)
{
    for (struct kiln_kernel_plan *plan = plans; plan != NULL; plan = plan->next) {
        for (uint32_t g = 0; g < plan->partition.group_count; g++) {
            struct kiln_fusion_group *group = &plan->partition.groups[g];
            bool is_alone = group->boundary == kiln_family_boundary(KILN_FAMILY_FIRST);
            for (struct kiln_kernel_plan *other = plans; is_alone && other != NULL;
                 other = other->next) {
                if (other != plan && has_shape(other, &plan->ir.domains[group->domain]))
                    group->boundary = KILN_BOUNDARY_OTHER_PART;
            }
        }
    }
}

/* Plans parts of at most `most` weight. *ret_is_plain: the steps did not suffice for one of them,
 * and there is no plan, unless parts cannot be smaller. */
static enum kiln_status make_parts(const struct kiln_plan_task *task, uint32_t most,
                                   struct kiln_kernel_plan *ret_plan, bool *ret_is_plain,
                                   struct kiln_error *error)
{
    struct assembly assembly = {.source = task->graph, .arena = task->arena};
    enum kiln_status status =
        kiln_graph_split(task->graph, most, task->arena, &assembly.parts, error);
    if (status != KILN_OK)
        return status;
    uint32_t count = assembly.parts.count;
    struct kiln_kernel_plan *plans = kiln_arena_calloc(task->arena, count, sizeof *plans);
    if (plans == NULL || !copy_graph(&assembly))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while planning the graph");
    uint64_t steps_left = task->max_steps;
    *ret_is_plain = false;
    for (uint32_t part = 0; part < count; part++) {
        uint64_t max_steps = steps_left / (count - part) + 1;
        status = plan_part(&assembly, part, max_steps, task, &plans[part], error);
        if (status != KILN_OK)
            return status;
        if (part != 0 && plans[part].partition.group_count != 0)
            plans[part].partition.groups[0].boundary = KILN_BOUNDARY_PART;
        *ret_is_plain = *ret_is_plain || plans[part].partition.is_plain;
        if (*ret_is_plain && most > KILN_PART_LEAST_WEIGHT)
            return KILN_OK;
        steps_left -= plans[part].steps < steps_left ? plans[part].steps : steps_left;
        plans[part].next = part + 1 < count ? &plans[part + 1] : NULL;
    }
    if (!place_workspace(&assembly, plans))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while placing the workspace");
    explain_shapes(plans);
    *ret_plan = plans[0];
    return KILN_OK;
}

enum kiln_status kiln_kernel_plan_make_in_parts(const struct kiln_plan_task *task, uint32_t most,
                                                struct kiln_kernel_plan *ret_plan,
                                                struct kiln_error *error)
{
    bool is_plain = false;
    enum kiln_status status = make_parts(task, most, ret_plan, &is_plain, error);
    if (status == KILN_OK && is_plain && most > KILN_PART_LEAST_WEIGHT)
        status = make_parts(task, KILN_PART_LEAST_WEIGHT, ret_plan, &is_plain, error);
    return status;
}

/* Both, and the memory that the whole has taken. */
static enum kiln_status choose(const struct kiln_plan_task *task, struct kiln_arena *scratch,
                               struct kiln_kernel_plan *ret_plan, struct kiln_error *error)
{
    struct kiln_kernel_plan whole;
    struct kiln_plan_task scratch_task = *task;
    scratch_task.arena = scratch;
    enum kiln_status status = kiln_part_plan_make(&scratch_task, NULL, &whole, error);
    if (status == KILN_OK)
        status = kiln_kernel_plan_make_in_parts(task, KILN_PART_LEAST_WEIGHT, ret_plan, error);
    if (status != KILN_OK || whole.partition.is_plain ||
        kiln_kernel_plan_time(ret_plan) < kiln_kernel_plan_time(&whole))
        return status;
    return kiln_part_plan_repeat(task, &whole, ret_plan, error);
}

enum kiln_status kiln_kernel_plan_make_either(const struct kiln_plan_task *task,
                                              struct kiln_kernel_plan *ret_plan,
                                              struct kiln_error *error)
{
    struct kiln_arena scratch;
    kiln_arena_init(&scratch);
    enum kiln_status status = choose(task, &scratch, ret_plan, error);
    if (status == KILN_OK && scratch.bytes > ret_plan->scratch_bytes)
        ret_plan->scratch_bytes = scratch.bytes;
    kiln_arena_fini(&scratch);
    return status;
}
