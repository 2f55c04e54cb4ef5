#include "runtime/engine/plan.h"

#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine_knobs.h"
#include "runtime/engine/engine_report.h"
#include "runtime/engine/general_plans.h"
#include "runtime/engine/plan_shapes.h"
#include "runtime/support/log.h"
#include "runtime/support/range_marks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t kiln_workspace_padded_bytes(uint64_t exact)
{
    /* The last of these bytes are what aligning the caller's pointer may cost. */
    const uint64_t mask = KILN_WORKSPACE_ALIGNMENT - 1;
    return exact ? (exact + 2 * mask) & ~mask : 0;
}

static void destroy(struct kiln_plan *plan)
{
    kiln_plan_shapes_destroy(plan->shapes);
    for (uint32_t i = 0; i < plan->spare_count; i++)
        kiln_shared_kernel_unref(plan->spares[i]);
    free(plan->spares);
    for (uint32_t i = 0; i < plan->general_count; i++)
        kiln_plan_unref(plan->general[i]);
    free(plan->graph);
    kiln_loaded_program_unref(plan->loaded);
    if (plan->kernels) {
        /* One block for the arguments of all kernels: the first kernel's. */
        free(plan->kernels[0].arguments);
        free(plan->kernels);
    }
    free(plan->bindings);
    free(plan->name);
    kiln_engine_unref(plan->engine);
    free(plan);
}

struct kiln_plan *kiln_plan_ref(struct kiln_plan *plan)
{
    atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
    return plan;
}

void kiln_plan_unref(struct kiln_plan *plan)
{
    if (plan && atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) == 1)
        destroy(plan);
}

uint64_t kiln_plan_workspace_bytes(const struct kiln_plan *plan)
{
    return kiln_workspace_padded_bytes(plan->workspace_bytes);
}

uint32_t kiln_plan_kernel_count(const struct kiln_plan *plan)
{
    return plan->kernel_count;
}

const char *kiln_plan_kernel_symbol(const struct kiln_plan *plan, uint32_t kernel)
{
    return plan->kernels[kernel].recipe->symbol;
}

uint32_t kiln_plan_kernel_form(const struct kiln_plan *plan, uint32_t kernel)
{
    return plan->kernels[kernel].recipe->form;
}

enum kiln_program_origin kiln_plan_origin(const struct kiln_plan *plan)
{
    return plan->origin;
}

const struct kiln_device *kiln_plan_device(const struct kiln_plan *plan)
{
    return plan->loaded->device;
}

static int compare_bindings(const void *left, const void *right)
{
    int64_t a = ((const struct kiln_plan_binding *)left)->uid;
    int64_t b = ((const struct kiln_plan_binding *)right)->uid;
    return (a > b) - (a < b);
}

static uint32_t find_binding(const struct kiln_plan *plan, int64_t uid)
{
    uint32_t low = 0;
    uint32_t high = plan->binding_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->bindings[middle].uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Marks the tensors that some kernel takes as an argument, and counts the arguments. */
static uint64_t mark_used_tensors(const struct kiln_compiled_program *program, bool *used)
{
    uint64_t arguments = 0;
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        const struct kiln_compiled_kernel *kernel = &program->kernels[i];
        for (uint32_t j = 0; j < kernel->argument_count; j++) {
            if (kernel->arguments[j].tensor != KILN_NONE)
                used[kernel->arguments[j].tensor] = true;
        }
        arguments += kernel->argument_count;
    }
    return arguments;
}

static enum kiln_status no_memory(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a 'plan'");
}

static enum kiln_status make_bindings(struct kiln_plan *plan, const struct kiln_graph *graph,
                                      const bool *used, struct kiln_error *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        count += used[i];
    plan->bindings = calloc(count ? count : 1, sizeof(*plan->bindings));
    if (!plan->bindings)
        return no_memory(error);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (!used[i])
            continue;
        const struct kiln_tensor *tensor = &graph->tensors[i];
        uint32_t bytes = kiln_dtype_info(tensor->dtype)->bytes;
        bool host_scalar = tensor->role == KILN_TENSOR_HOST_SCALAR;
        plan->bindings[plan->binding_count++] = (struct kiln_plan_binding){
            .uid = tensor->uid,
            .alignment_bytes = host_scalar ? 1 : bytes,
            .host_scalar_bytes = host_scalar ? bytes : 0,
        };
    }
    qsort(plan->bindings, plan->binding_count, sizeof(*plan->bindings), compare_bindings);
    return KILN_OK;
}

static enum kiln_status make_kernels(struct kiln_plan *plan, const struct kiln_graph *graph,
                                     uint64_t argument_count, struct kiln_error *error)
{
    const struct kiln_compiled_program *program = &plan->loaded->program->program;
    bool whole_vectors = plan->loaded->device->needs_vector_alignment;
    if (program->kernel_count == 0)
        return KILN_OK;
    struct kiln_plan_argument *arguments =
        calloc(argument_count ? argument_count : 1, sizeof(*arguments));
    plan->kernels = calloc(program->kernel_count, sizeof(*plan->kernels));
    if (!arguments || !plan->kernels) {
        free(arguments);
        return no_memory(error);
    }
    plan->kernel_count = program->kernel_count;
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        const struct kiln_compiled_kernel *recipe = &program->kernels[i];
        plan->kernels[i] = (struct kiln_plan_kernel){
            .function = plan->loaded->kernels[i]->function,
            .recipe = recipe,
            .arguments = arguments,
        };
        for (uint32_t j = 0; j < recipe->argument_count; j++) {
            const struct kiln_argument *argument = &recipe->arguments[j];
            arguments->word = plan->binding_count + (argument->kind == KILN_ARGUMENT_INTEGER);
            arguments->addend = argument->offset_bytes;
            if (argument->tensor != KILN_NONE) {
                uint32_t index = find_binding(plan, graph->tensors[argument->tensor].uid);
                struct kiln_plan_binding *binding = &plan->bindings[index];
                arguments->word = index;
                arguments->addend = 0;
                if (whole_vectors && !binding->host_scalar_bytes &&
                    argument->alignment_bytes > binding->alignment_bytes)
                    binding->alignment_bytes = argument->alignment_bytes;
            }
            arguments++;
        }
    }
    return KILN_OK;
}

static enum kiln_status resolve(struct kiln_plan *plan, const struct kiln_graph *graph,
                                struct kiln_error *error)
{
    const struct kiln_compiled_program *program = &plan->loaded->program->program;
    bool *used = calloc(graph->tensor_count ? graph->tensor_count : 1, sizeof(*used));
    if (!used)
        return no_memory(error);
    uint64_t argument_count = mark_used_tensors(program, used);
    enum kiln_status status = make_bindings(plan, graph, used, error);
    free(used);
    if (status)
        return status;
    plan->workspace_bytes = program->workspace_bytes;
    return make_kernels(plan, graph, argument_count, error);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

enum kiln_status kiln_plan_of_program(struct kiln_engine *engine, const struct kiln_graph *graph,
                                      const struct kiln_engine_device *device,
                                      const struct kiln_lower_options *lower,
                                      struct kiln_loaded_program *loaded,
                                      enum kiln_program_origin origin, struct kiln_plan **ret_plan,
                                      struct kiln_error *error)
{
    struct kiln_plan *plan = calloc(1, sizeof(*plan));
    if (!plan) {
        kiln_loaded_program_unref(loaded);
        return no_memory(error);
    }
    atomic_init(&plan->references, 1);
    plan->engine = kiln_engine_ref(engine);
    plan->loaded = loaded;
    plan->origin = origin;
    plan->device = device;
    plan->lower = *lower;
    plan->name = strdup(*graph->name ? graph->name : "graph");
    enum kiln_status status = plan->name ? resolve(plan, graph, error) : no_memory(error);
    if (status) {
        destroy(plan);
        return status;
    }
    atomic_init(&plan->extras,
                (device->device->ops->is_host_pointer ? KILN_PLAN_CHECKS_POINTERS : 0) |
                    (kiln_range_marks() ? KILN_PLAN_MARKS_RANGES : 0));
    *ret_plan = plan;
    return KILN_OK;
}

typedef enum kiln_status program_getter(struct kiln_module_table *, const struct kiln_graph *,
                                        const struct kiln_engine_device *,
                                        const struct kiln_lower_options *,
                                        struct kiln_loaded_program **, enum kiln_program_origin *,
                                        struct kiln_error *);

static enum kiln_status make(struct kiln_engine *engine, const struct kiln_graph *graph,
                             const struct kiln_engine_device *device,
                             const struct kiln_lower_options *lower, program_getter *get_program,
                             struct kiln_plan **ret_plan, struct kiln_error *error)
{
    uint64_t start_ns = now_ns();
    struct kiln_loaded_program *loaded = NULL;
    enum kiln_program_origin origin;
    enum kiln_status status =
        get_program(&engine->modules, graph, device, lower, &loaded, &origin, error);
    if (status == KILN_OK)
        status =
            kiln_plan_of_program(engine, graph, device, lower, loaded, origin, ret_plan, error);
    if (status == KILN_OK)
        kiln_report_plan(*ret_plan, graph, now_ns() - start_ns);
    return status;
}

enum kiln_status kiln_plan_make(struct kiln_engine *engine, const struct kiln_graph *graph,
                                const struct kiln_engine_device *device,
                                const struct kiln_lower_options *lower, struct kiln_plan **ret_plan,
                                struct kiln_error *error)
{
    return make(engine, graph, device, lower, kiln_module_table_get, ret_plan, error);
}

enum kiln_status kiln_plan_find(struct kiln_engine *engine, const struct kiln_graph *graph,
                                const struct kiln_engine_device *device,
                                const struct kiln_lower_options *lower, struct kiln_plan **ret_plan,
                                struct kiln_error *error)
{
    return make(engine, graph, device, lower, kiln_module_table_find, ret_plan, error);
}

enum kiln_status kiln_plan_keep_graph(struct kiln_plan *plan, const struct kiln_graph *graph,
                                      const struct kiln_plan_knobs *knobs, const void *graph_bytes,
                                      size_t size, struct kiln_error *error)
{
    plan->workspace_bytes = kiln_workspace_with_room(graph, knobs, plan->workspace_bytes);
    plan->graph = malloc(size);
    if (!plan->graph)
        return no_memory(error);
    memcpy(plan->graph, graph_bytes, size);
    plan->graph_bytes = size;
    if (!graph->takes_overrides)
        return KILN_OK;
    plan->shapes = kiln_plan_shapes_create();
    if (!plan->shapes)
        return no_memory(error);
    return kiln_plan_make_general(plan, graph, error);
}

enum kiln_status kiln_plan_create(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                  struct kiln_plan **ret_plan, struct kiln_error *error)
{
    return kiln_plan_create_with_knobs(engine, graph_bytes, size, NULL, ret_plan, error);
}

enum kiln_status kiln_plan_create_with_knobs(struct kiln_engine *engine, const void *graph_bytes,
                                             size_t size, const struct kiln_plan_knobs *knobs,
                                             struct kiln_plan **ret_plan, struct kiln_error *error)
{
    struct kiln_lower_options lower;
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_graph graph;
    struct kiln_plan *plan = NULL;
    enum kiln_status status = kiln_graph_read(graph_bytes, size, &arena, &graph, error);
    const struct kiln_engine_device *device = NULL;
    if (status == KILN_OK)
        status = kiln_engine_devices_current(&engine->devices, &device, error);
    if (status == KILN_OK) {
        status = kiln_engine_lower_options(engine, &graph, device, knobs, &lower, error);
        if (status == KILN_OK)
            status = kiln_plan_make(engine, &graph, device, &lower, &plan, error);
        if (status &&
            kiln_engine_drop_tuned_choice(engine, &graph, device, knobs, &lower, &status, error))
            status = kiln_plan_make(engine, &graph, device, &lower, &plan, error);
        /* Other values of the knobs may do. */
        if (!knobs || kiln_plan_knobs_are_default(knobs))
            kiln_engine_note_outcome(engine, &graph, device, status, error);
    }
    if (status == KILN_OK)
        status = kiln_plan_keep_graph(plan, &graph, knobs, graph_bytes, size, error);
    if (status == KILN_OK)
        *ret_plan = plan;
    else
        kiln_plan_unref(plan);
    kiln_arena_fini(&arena);
    return status;
}
