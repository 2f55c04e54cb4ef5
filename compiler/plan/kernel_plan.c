#include "compiler/plan/kernel_plan.h"

#include "compiler/plan/plan_family.h"
#include "compiler/schedule/schedule_group.h"
#include "runtime/support/limited_sum.h"

uint64_t kiln_kernel_plan_bytes(const struct kiln_kernel_plan *plan)
{
    uint64_t bytes = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        for (uint32_t i = 0; i < part->partition.group_count; i++)
            bytes = kiln_limited_sum(bytes, part->schedules[i].traffic.bytes_moved);
    }
    return bytes;
}

uint64_t kiln_graph_fewest_bytes(const struct kiln_graph *graph)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_INPUT && tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        uint64_t elements = 1;
        for (uint32_t axis = 0; axis < tensor->rank; axis++)
            elements = kiln_limited_product(
                elements, tensor->strides[axis] != 0 ? (uint64_t)tensor->dims[axis] : 1);
        /* Elements may share memory, as windows do that overlap. */
        uint64_t footprint = (uint64_t)kiln_tensor_footprint_elements(tensor);
        elements = elements < footprint ? elements : footprint;
        bytes = kiln_limited_sum(
            bytes, (uint64_t)kiln_dtype_memory_bytes(tensor->dtype, (int64_t)elements));
    }
    return bytes;
}

static uint64_t count_operations(const struct kiln_ir *ir)
{
    uint64_t operations = 0;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        operations += kiln_plan_family(kiln_family_of_op(op))->operations(ir, op);
    }
    return operations;
}

uint64_t kiln_kernel_plan_operations(const struct kiln_kernel_plan *plan)
{
    uint64_t operations = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next)
        operations += count_operations(&part->ir);
    return operations;
}

double kiln_kernel_plan_time(const struct kiln_kernel_plan *plan)
{
    double time = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        for (uint32_t i = 0; i < part->partition.group_count; i++)
            time += kiln_schedule_time(&part->schedules[i], &part->target);
    }
    return time;
}

uint32_t kiln_kernel_plan_kernels(const struct kiln_kernel_plan *plan)
{
    uint32_t count = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next)
        count += part->partition.group_count;
    return count;
}

struct kiln_planned_kernel kiln_kernel_plan_find(const struct kiln_kernel_plan *plan,
                                                 uint32_t kernel)
{
    struct kiln_planned_kernel found = {.part = plan, .index = kernel};
    while (found.index >= found.part->partition.group_count) {
        found.index -= found.part->partition.group_count;
        found.part = found.part->next;
        found.part_number++;
    }
    return found;
}

enum kiln_status kiln_kernel_plan_relax(struct kiln_kernel_plan *plan,
                                        const struct kiln_graph *graph, uint32_t kernel,
                                        struct kiln_error *error)
{
    struct kiln_planned_kernel planned = kiln_kernel_plan_find(plan, kernel);
    const struct kiln_kernel_plan *part = planned.part;
    struct kiln_schedule *schedule = &part->schedules[planned.index];
    struct kiln_schedule next = *schedule;
    enum kiln_status status;
    /* Skips forms with another number of segments: the kernel that reads them is built for this
     * one. */
    do
        status = kiln_schedule_relax(&part->ir, part->graph != NULL ? part->graph : graph,
                                     &part->partition.groups[planned.index], &part->target, &next,
                                     &next, error);
    while (status == KILN_OK && next.segment_count != schedule->segment_count);
    if (status == KILN_OK)
        *schedule = next;
    return status;
}

enum kiln_status kiln_kernel_plan_relax_to(struct kiln_kernel_plan *plan,
                                           const struct kiln_graph *graph, uint32_t kernel,
                                           uint32_t form, struct kiln_error *error)
{
    struct kiln_planned_kernel planned = kiln_kernel_plan_find(plan, kernel);
    const struct kiln_schedule *schedule = &planned.part->schedules[planned.index];
    enum kiln_status status = KILN_OK;
    while (status == KILN_OK && schedule->form < form)
        status = kiln_kernel_plan_relax(plan, graph, kernel, error);
    return status == KILN_NOT_FOUND ? KILN_OK : status;
}
