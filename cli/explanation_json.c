#include "cli/explanation.h"

#include "cli/spills.h"
#include "cli/text.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/schedule/kernel_model.h"
#include "compiler/schedule/schedule_group.h"

#include <stdlib.h>

static json_t *triple_json(const uint32_t triple[3])
{
    json_t *array = kiln_json_array();
    for (int i = 0; i < 3; i++)
        kiln_json_append(array, json_integer(triple[i]));
    return array;
}

static json_t *tensor_json(const struct kiln_tensor *tensor)
{
    static const char *const roles[] = {
        [KILN_TENSOR_INPUT] = "input",
        [KILN_TENSOR_OUTPUT] = "output",
        [KILN_TENSOR_VIRTUAL] = "virtual",
        [KILN_TENSOR_CONSTANT] = "constant",
        [KILN_TENSOR_HOST_SCALAR] = "host_scalar",
    };
    json_t *dims = kiln_json_array();
    json_t *strides = kiln_json_array();
    for (uint32_t i = 0; i < tensor->rank; i++) {
        kiln_json_append(dims, json_integer(tensor->dims[i]));
        kiln_json_append(strides, json_integer(tensor->strides[i]));
    }
    json_t *object = kiln_json_object();
    kiln_json_set(object, "uid", json_integer(tensor->uid));
    kiln_json_set(object, "name", kiln_json_text(tensor->name));
    kiln_json_set(object, "role", json_string(roles[tensor->role]));
    kiln_json_set(object, "type", json_string(kiln_dtype_info(tensor->dtype)->text));
    kiln_json_set(object, "dims", dims);
    kiln_json_set(object, "strides", strides);
    if (tensor->role == KILN_TENSOR_CONSTANT) {
        kiln_json_set(object, "value",
                      kiln_dtype_is_integer(tensor->dtype) ? json_integer(tensor->constant.integer)
                                                           : kiln_json_real(tensor->constant.real));
    }
    return object;
}

static json_t *uids_json(const struct kiln_graph *graph, const uint32_t *ordinals, uint32_t count)
{
    json_t *array = kiln_json_array();
    for (uint32_t i = 0; i < count; i++)
        kiln_json_append(array, json_integer(graph->tensors[ordinals[i]].uid));
    return array;
}

static json_t *home_json(const struct kiln_fusion_view *view, uint32_t node)
{
    uint32_t kernel = view->nodes.homes[node].kernel;
    return kernel == KILN_NONE ? json_null() : json_integer(kernel);
}

static json_t *graph_json(const struct kiln_graph *graph, const struct kiln_fusion_view *view)
{
    json_t *tensors = kiln_json_array();
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        kiln_json_append(tensors, tensor_json(&graph->tensors[i]));
    json_t *nodes = kiln_json_array();
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        json_t *object = kiln_json_object();
        kiln_json_set(object, "name", kiln_json_text(node->name));
        kiln_json_set(object, "operation", json_string(kiln_node_operation(node)));
        kiln_json_set(object, "compute_type",
                      json_string(kiln_dtype_info(node->compute_type)->text));
        kiln_json_set(object, "inputs", uids_json(graph, node->inputs, node->input_count));
        kiln_json_set(object, "outputs", uids_json(graph, node->outputs, node->output_count));
        struct kiln_buffer computed;
        kiln_buffer_init(&computed);
        kiln_fusion_view_print_home(view, graph, i, &computed);
        kiln_json_set(object, "kernel", home_json(view, i));
        kiln_json_set(object, "computed", kiln_json_text(kiln_buffer_text(&computed)));
        kiln_buffer_fini(&computed);
        kiln_json_append(nodes, object);
    }
    json_t *object = kiln_json_object();
    kiln_json_set(object, "name", kiln_json_text(graph->name));
    kiln_json_set(object, "layout",
                  json_string(graph->era == KILN_WIRE_ERA_NOV2025 ? "nov2025" : "current"));
    kiln_json_set(object, "tensors", tensors);
    kiln_json_set(object, "nodes", nodes);
    return object;
}

static json_t *accesses_json(const struct kiln_graph *graph, const struct kiln_ir *ir,
                             const struct kiln_access *accesses, uint32_t count)
{
    json_t *array = kiln_json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *object = kiln_json_object();
        bool in_workspace = accesses[i].kind == KILN_ARGUMENT_WORKSPACE;
        kiln_json_set(object, "uid",
                      accesses[i].tensor != KILN_NONE
                          ? json_integer(graph->tensors[accesses[i].tensor].uid)
                          : json_null());
        kiln_json_set(object, "node",
                      in_workspace ? json_integer(ir->ops[accesses[i].value].node) : json_null());
        kiln_json_set(object, "workspace_offset",
                      in_workspace ? json_integer((json_int_t)accesses[i].workspace_offset_bytes)
                                   : json_null());
        kiln_json_append(array, object);
    }
    return array;
}

static json_t *resources_json(const struct kiln_compiled_kernel *kernel)
{
    const struct kiln_kernel_resources *resources = &kernel->object.resources;
    json_t *object = kiln_json_object();
    kiln_json_set(object, "vgprs", json_integer(resources->vgprs));
    kiln_json_set(object, "sgprs", json_integer(resources->sgprs));
    kiln_json_set(object, "lds_bytes", json_integer(resources->lds_bytes));
    kiln_json_set(object, "scratch_bytes", json_integer(resources->scratch_bytes));
    kiln_json_set(object, "vgpr_spills", json_integer(resources->vgpr_spills));
    kiln_json_set(object, "sgpr_spills", json_integer(resources->sgpr_spills));
    kiln_json_set(object, "wave_size", json_integer(resources->wave_size));
    kiln_json_set(object, "code_bytes", json_integer((json_int_t)kernel->object.size));
    return object;
}

static json_t *homes_json(const struct kiln_node_kernels *nodes, uint32_t node_count,
                          uint32_t kernel)
{
    json_t *array = kiln_json_array();
    for (uint32_t i = 0; i < node_count; i++)
        if (nodes->homes[i].kernel == kernel)
            kiln_json_append(array, json_integer(i));
    return array;
}

static json_t *visits_json(const struct kiln_node_kernels *nodes, uint32_t kernel, bool is_again)
{
    json_t *array = kiln_json_array();
    for (uint32_t i = 0; i < nodes->visit_count; i++)
        if (nodes->visits[i].kernel == kernel && nodes->visits[i].is_again == is_again)
            kiln_json_append(array, json_integer(nodes->visits[i].node));
    return array;
}

static json_t *microseconds_json(double ns)
{
    return kiln_json_real(ns / 1000);
}

static json_t *model_json(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    static const char *const members[] = {
        [KILN_BOUND_BYTES] = "bytes_us",           [KILN_BOUND_MATRIX] = "matrix_us",
        [KILN_BOUND_ARITHMETIC] = "arithmetic_us", [KILN_BOUND_LAUNCH] = "launch_us",
        [KILN_BOUND_WAITING] = "waiting_us",
    };
    struct kiln_kernel_model model;
    if (!kiln_model_kernel(schedule, target, &model))
        return json_null();
    json_t *object = kiln_json_object();
    kiln_json_set(object, "time_us", microseconds_json(model.time_ns));
    kiln_json_set(object, "bound", json_string(kiln_kernel_bound_text(model.bound)));
    for (enum kiln_kernel_bound part = 0; part < KILN_BOUND_COUNT; part++)
        kiln_json_set(object, members[part], microseconds_json(model.part_ns[part]));
    return object;
}

static json_t *schedules_json(const struct kiln_alternatives *alternatives)
{
    json_t *array = kiln_json_array();
    for (uint32_t i = 0; i < alternatives->count; i++) {
        const struct kiln_alternative *item = &alternatives->items[i];
        json_t *object = kiln_json_object();
        kiln_json_set(object, "what", json_string(item->what));
        kiln_json_set(object, "time_us",
                      item->time_ns > 0 ? microseconds_json(item->time_ns) : json_null());
        kiln_json_set(object, "why_not",
                      item->why_not != NULL ? json_string(item->why_not) : json_null());
        kiln_json_set(object, "chosen", json_boolean(i == 0));
        kiln_json_append(array, object);
    }
    return array;
}

static json_t *kernel_json(const struct kiln_explanation *explanation, uint32_t index)
{
    const struct kiln_graph *graph = explanation->graph;
    const struct kiln_planned_kernel planned =
        kiln_kernel_plan_find(&explanation->view->plan, index);
    const struct kiln_kernel_plan *plan = planned.part;
    const struct kiln_fusion_group *group = &plan->partition.groups[planned.index];
    const struct kiln_kernel *kernel = &explanation->program->kernels[index];
    const struct kiln_node_kernels *nodes = &explanation->view->nodes;
    struct kiln_buffer schedule;
    kiln_buffer_init(&schedule);
    kiln_group_explain(&plan->ir, graph, group, &schedule);
    kiln_schedule_print(&plan->schedules[planned.index], group, &schedule);
    kiln_schedule_print_accesses(&plan->schedules[planned.index], &plan->ir, graph, group,
                                 &schedule);
    kiln_schedule_explain(&plan->schedules[planned.index], &plan->target, &schedule);
    json_t *object = kiln_json_object();
    kiln_json_set(object, "symbol", kiln_json_text(kernel->symbol));
    kiln_json_set(object, "nodes", homes_json(nodes, graph->node_count, index));
    kiln_json_set(object, "nodes_in_part", visits_json(nodes, index, false));
    kiln_json_set(object, "nodes_again", visits_json(nodes, index, true));
    kiln_json_set(object, "boundary", json_string(kiln_boundary_text(group->boundary)));
    kiln_json_set(object, "reads",
                  accesses_json(graph, &plan->ir, group->accesses, group->load_count));
    kiln_json_set(object, "writes",
                  accesses_json(graph, &plan->ir, group->accesses + group->load_count,
                                group->access_count - group->load_count));
    kiln_json_set(object, "bytes_moved", json_integer((json_int_t)kernel->bytes_moved));
    kiln_json_set(object, "bytes_fewest", json_integer((json_int_t)kernel->bytes_fewest));
    kiln_json_set(object, "live_registers", json_integer(group->live_registers));
    const struct kiln_alternatives alternatives =
        kiln_fusion_view_alternatives(explanation->view, graph, index);
    kiln_json_set(object, "model", model_json(&plan->schedules[planned.index], &plan->target));
    kiln_json_set(object, "schedules", schedules_json(&alternatives));
    kiln_json_set(object, "schedule", kiln_json_text(kiln_buffer_text(&schedule)));
    kiln_json_set(object, "form", json_integer(kernel->form));
    kiln_json_set(object, "grid", triple_json(kernel->grid));
    kiln_json_set(object, "block", triple_json(kernel->block));
    kiln_json_set(object, "resources",
                  explanation->compiled ? resources_json(&explanation->compiled->kernels[index])
                                        : json_null());
    bool is_shown = kiln_explanation_shows(explanation, index);
    if (explanation->with_source && is_shown)
        kiln_json_set(object, "source", kiln_json_text(kernel->source));
    if (explanation->isa && is_shown)
        kiln_json_set(object, "isa", kiln_json_text(explanation->isa[index]));
    kiln_buffer_fini(&schedule);
    return object;
}

static json_t *ir_json(const struct kiln_ir *ir, const struct kiln_kernel_plan *others,
                       const struct kiln_graph *graph)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_ir_print(ir, graph, &text);
    for (; others != NULL; others = others->next)
        kiln_ir_print(&others->ir, graph, &text);
    json_t *value = kiln_json_text(kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    return value;
}

/* All plans that the search has looked at, part by part. */
static json_t *plans_json(const struct kiln_kernel_plan *plan)
{
    json_t *array = kiln_json_array();
    json_int_t number = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next, number++) {
        for (uint32_t i = 0; i < part->record.count; i++) {
            const struct kiln_tried_plan *tried = &part->record.tried[i];
            bool has_time = tried->refusal == NULL && part->target.bandwidth_gbs != 0;
            json_t *choices = kiln_json_array();
            for (uint32_t k = 0; k < KILN_CHOICE_COUNT; k++)
                if (tried->choices >> k & 1)
                    kiln_json_append(choices,
                                     json_string(kiln_choice_text((enum kiln_choice_number)k)));
            json_t *object = kiln_json_object();
            kiln_json_set(object, "part", json_integer(number));
            kiln_json_set(object, "program", json_string(tried->program));
            kiln_json_set(object, "choices", choices);
            kiln_json_set(object, "kernels", json_integer(tried->kernel_count));
            kiln_json_set(object, "time_us",
                          has_time
                              ? microseconds_json(tried->time / (double)part->target.bandwidth_gbs)
                              : json_null());
            kiln_json_set(object, "refused",
                          tried->refusal != NULL ? kiln_json_text(tried->refusal) : json_null());
            kiln_json_set(object, "chosen", json_boolean(i == part->record.chosen));
            kiln_json_append(array, object);
        }
    }
    return array;
}

void kiln_explanation_print_json(const struct kiln_explanation *explanation)
{
    json_t *kernels = kiln_json_array();
    for (uint32_t i = 0; i < explanation->program->kernel_count; i++)
        kiln_json_append(kernels, kernel_json(explanation, i));
    json_t *document = kiln_json_object();
    kiln_json_set(document, "graph", graph_json(explanation->graph, explanation->view));
    kiln_json_set(document, "target", kiln_json_text(explanation->target->name));
    kiln_json_set(document, "shapes", kiln_json_text(kiln_shapes_name(explanation->shapes)));
    kiln_json_set(document, "shapes_reason", kiln_json_text(explanation->shapes_reason));
    kiln_json_set(document, "workspace_bytes",
                  json_integer((json_int_t)explanation->program->workspace_bytes));
    kiln_json_set(document, "bytes_moved",
                  json_integer((json_int_t)kiln_kernel_plan_bytes(&explanation->view->plan)));
    kiln_json_set(document, "bytes_fewest",
                  json_integer((json_int_t)kiln_graph_fewest_bytes(explanation->graph)));
    if (explanation->with_ir) {
        kiln_json_set(document, "ir_imported",
                      ir_json(&explanation->view->imported, NULL, explanation->graph));
        kiln_json_set(
            document, "ir_optimized",
            ir_json(&explanation->view->plan.ir, explanation->view->plan.next, explanation->graph));
    }
    kiln_json_set(document, "not_compiled_because",
                  explanation->compiled ? json_null()
                                        : kiln_json_text(explanation->why_not_compiled));
    kiln_json_set(document, "plans", plans_json(&explanation->view->plan));
    kiln_json_set(document, "kernels", kernels);
    json_t *spills =
        explanation->compiled ? kiln_spills_to_json(explanation->compiled) : json_null();
    kiln_json_set(document, "spills", spills ? spills : kiln_json_array());
    kiln_json_print(document);
}
