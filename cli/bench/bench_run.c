#include "cli/bench/bench_run.h"

#include "cli/bench/bench_buffers.h"
#include "cli/bench/bench_timing.h"
#include "cli/kernel_timer.h"
#include "cli/text.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/support/limited_sum.h"

#include <stdlib.h>

enum {
    CACHES_OF_ROTATION = 3, /* bytes between two uses of a buffer, in caches of the device */
    MIN_COPY_BYTES = 4,
};

/* What takes turns. */
enum { FUSED, UNFUSED, ARGUMENT, COPY_KERNEL, COPY_FUNCTION, RUNNER_COUNT };

/* The context of a runner. */
struct contestant {
    const struct kiln_plan *plan; /* of the copy function NULL */
    const struct kiln_bench_buffers *buffers;
    void *workspace;
    size_t copy_bytes; /* of the copy function */
};

struct measurement {
    struct kiln_bench_run *run;
    const struct kiln_graph_input *input;
    struct kiln_bench_result *result;
    struct kiln_plan *plans[KILN_BENCH_FORM_COUNT];
    struct kiln_graph_input copy; /* as if it had been read */
    struct kiln_plan *copy_plan;
    struct kiln_bench_buffers buffers;
    struct kiln_bench_buffers copy_buffers;
    void *workspace; /* of both forms, aligned or not as allocated */
};

static bool has_form(const struct kiln_bench_settings *settings, enum kiln_bench_form form)
{
    bool has_unfused = !settings->no_unfused && !settings->has_both_shapes;
    return form == KILN_BENCH_FUSED ||
           (form == KILN_BENCH_UNFUSED ? has_unfused : settings->has_both_shapes);
}

enum kiln_status kiln_bench_run_init(struct kiln_bench_run *run, struct kiln_device *device,
                                     const struct kiln_bench_settings *settings,
                                     struct kiln_error *error)
{
    *run = (struct kiln_bench_run){.settings = *settings, .device = device};
    uint32_t forms = 0;
    for (int form = 0; form < KILN_BENCH_FORM_COUNT; form++)
        forms |= (uint32_t)has_form(settings, (enum kiln_bench_form)form) << form;
    return kiln_bench_engines_init(&run->engines, device->ops->name, &settings->lower, forms,
                                   error);
}

void kiln_bench_run_fini(struct kiln_bench_run *run)
{
    kiln_bench_engines_fini(&run->engines);
}

static enum kiln_status execute_plan(void *context, uint64_t turn, struct kiln_error *error)
{
    const struct contestant *contestant = context;
    const struct kiln_bench_buffers *buffers = contestant->buffers;
    return kiln_plan_execute(contestant->plan, NULL, contestant->workspace,
                             kiln_bench_buffers_at(buffers, turn), buffers->binding_count, error);
}

/* The copy graph's first tensor is its input, the other one its output. */
static enum kiln_status execute_copy(void *context, uint64_t turn, struct kiln_error *error)
{
    const struct contestant *contestant = context;
    struct kiln_device *device = contestant->buffers->device;
    const struct kiln_buffer_binding *bindings = kiln_bench_buffers_at(contestant->buffers, turn);
    return device->ops->copy_within(device, NULL, bindings[1].pointer, bindings[0].pointer,
                                    contestant->copy_bytes, error);
}

/* Counts the work of the kernels of a form, and keeps that of the fused ones. */
static enum kiln_status count_work(const struct measurement *measurement, enum kiln_bench_form form,
                                   struct kiln_bench_contestant *contestant,
                                   struct kiln_error *error)
{
    struct kiln_bench_result *result = measurement->result;
    const struct kiln_plan *plan = measurement->plans[form];
    bool is_fused = form == KILN_BENCH_FUSED;
    struct kiln_kernel_work *work = kiln_cli_calloc((size_t)contestant->kernels + 1, sizeof(*work));
    const struct kiln_lower_options options =
        kiln_bench_lower_options(form, &measurement->run->settings.lower);
    enum kiln_status status = kiln_plan_work(plan, &measurement->input->graph, &options, work,
                                             is_fused ? &result->flop : NULL, error);
    if (status == KILN_OK && is_fused)
        result->profiles =
            kiln_cli_calloc((size_t)contestant->kernels + 1, sizeof(*result->profiles));
    for (uint32_t i = 0; i < contestant->kernels && status == KILN_OK; i++) {
        contestant->bytes_moved = kiln_limited_sum(contestant->bytes_moved, work[i].bytes_moved);
        if (is_fused)
            result->profiles[i] = (struct kiln_kernel_profile){
                .symbol = kiln_cli_strdup(kiln_plan_kernel_symbol(plan, i)), .work = work[i]};
    }
    free(work);
    return status;
}

static enum kiln_status compile(struct measurement *measurement, struct kiln_error *error)
{
    struct kiln_bench_result *result = measurement->result;
    struct kiln_bench_contestant *contestants[] = {&result->fused, &result->unfused,
                                                   &result->argument};
    const struct kiln_buffer *bytes = &measurement->input->bytes;
    enum kiln_status status = KILN_OK;
    for (int i = 0; i < KILN_BENCH_FORM_COUNT && status == KILN_OK; i++) {
        enum kiln_bench_form form = (enum kiln_bench_form)i;
        if (!has_form(&measurement->run->settings, form))
            continue;
        status = kiln_bench_compile(&measurement->run->engines, form, bytes->data, bytes->size,
                                    &measurement->plans[form], contestants[form], error);
        if (status == KILN_OK)
            status = count_work(measurement, form, contestants[form], error);
    }
    return status;
}

static enum kiln_status make_copy(struct measurement *measurement, struct kiln_error *error)
{
    struct kiln_graph_input *copy = &measurement->copy;
    uint64_t tensor_bytes = measurement->result->bytes_fewest / 2;
    if (tensor_bytes < MIN_COPY_BYTES)
        tensor_bytes = MIN_COPY_BYTES;
    enum kiln_status status =
        kiln_bench_copy_make((int64_t)tensor_bytes, &copy->arena, &copy->graph, error);
    if (status == KILN_OK)
        status = kiln_graph_write(&copy->graph, KILN_WIRE_ERA_CURRENT, &copy->bytes, error);
    if (status == KILN_OK)
        status = kiln_plan_create(measurement->run->engines.copying, copy->bytes.data,
                                  copy->bytes.size, &measurement->copy_plan, error);
    if (status == KILN_OK)
        measurement->result->copy_bytes = kiln_graph_fewest_bytes(&copy->graph);
    return status;
}

/* Takes what it needs from the bytes that may be taken. */
static enum kiln_status allocate_workspace(struct measurement *measurement, uint64_t *free_bytes,
                                           struct kiln_error *error)
{
    struct kiln_device *device = measurement->run->device;
    uint64_t bytes = 0;
    for (int form = 0; form < KILN_BENCH_FORM_COUNT; form++) {
        const struct kiln_plan *plan = measurement->plans[form];
        uint64_t needed = plan ? kiln_plan_workspace_bytes(plan) : 0;
        bytes = needed > bytes ? needed : bytes;
    }
    if (bytes == 0)
        return KILN_OK;
    if (bytes > *free_bytes / 2)
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "a workspace of %.1f GiB does not fit into half of the %.1f GiB "
                              "that are free",
                              (double)bytes / 0x1p30, (double)*free_bytes / 0x1p30);
    *free_bytes -= bytes;
    return device->ops->allocate(device, (size_t)bytes, &measurement->workspace, error);
}

/* The copy is made after the graph's memory is had: what is too large for a copy is too large for
 * that. */
static enum kiln_status allocate(struct measurement *measurement, struct kiln_error *error)
{
    struct kiln_device *device = measurement->run->device;
    struct kiln_device_memory memory;
    enum kiln_status status = device->ops->describe_memory(device, &memory, error);
    /* All of it from what was free in the beginning: where memory is overcommitted, what is
     * allocated stays free until it is touched, and then the process is killed for it. */
    if (status == KILN_OK)
        status = allocate_workspace(measurement, &memory.free_bytes, error);
    if (status)
        return status;
    /* A quarter of the rest for the graph, as much for the copy. */
    uint64_t rotation_bytes = CACHES_OF_ROTATION * memory.cache_bytes;
    uint64_t limit_bytes = memory.free_bytes / 4;
    status = kiln_bench_buffers_init(&measurement->buffers, device, &measurement->input->graph,
                                     rotation_bytes, limit_bytes, error);
    if (status == KILN_OK)
        status = make_copy(measurement, error);
    if (status == KILN_OK)
        status =
            kiln_bench_buffers_init(&measurement->copy_buffers, device, &measurement->copy.graph,
                                    rotation_bytes, limit_bytes, error);
    return status;
}

/* The time of each fused kernel. A plan of one kernel has been timed already, in batches. */
static enum kiln_status time_kernels(struct measurement *measurement, struct kiln_error *error)
{
    struct kiln_bench_result *result = measurement->result;
    if (result->fused.kernels == 1) {
        result->profiles[0].seconds = result->fused.time.median_s;
        return KILN_OK;
    }
    const struct kiln_bench_buffers *buffers = &measurement->buffers;
    struct kiln_kernel_timer timer;
    uint32_t samples = result->fused.time.samples;
    enum kiln_status status = kiln_kernel_timer_init(
        &timer, measurement->run->device, measurement->plans[KILN_BENCH_FUSED], samples, error);
    for (uint32_t i = 0; i < samples && status == KILN_OK; i++)
        status = kiln_kernel_timer_sample(&timer, measurement->workspace,
                                          kiln_bench_buffers_at(buffers, i), buffers->binding_count,
                                          error);
    for (uint32_t i = 0; i < result->fused.kernels && status == KILN_OK; i++)
        result->profiles[i].seconds = kiln_kernel_timer_median(&timer, i);
    kiln_kernel_timer_fini(&timer);
    return status;
}

/* The bounds of the kernels, and of the graph: its kernels' arithmetic, but every input and output
 * of the graph once. */
static void find_bounds(struct measurement *measurement)
{
    struct kiln_bench_result *result = measurement->result;
    const struct kiln_roofline roofline =
        kiln_roofline_of(&measurement->run->device->target, kiln_bench_copy_rate(result));
    struct kiln_kernel_work all = {.bytes_fewest = result->bytes_fewest};
    double most = 0;
    for (uint32_t i = 0; i < result->fused.kernels; i++) {
        struct kiln_kernel_profile *profile = &result->profiles[i];
        const struct kiln_kernel_work *work = &profile->work;
        profile->bound = kiln_roofline_bound(&roofline, work, profile->seconds, &profile->share);
        all.product_operations += work->product_operations;
        all.simple_operations += work->simple_operations;
        if (work->product_operations > most) {
            most = work->product_operations;
            all.product_dtype = work->product_dtype;
            all.has_matrix_unit = work->has_matrix_unit;
        }
    }
    result->bound =
        kiln_roofline_bound(&roofline, &all, result->fused.time.median_s, &result->share_of_bound);
}

static enum kiln_status measure(struct measurement *measurement, struct kiln_error *error)
{
    struct kiln_bench_result *result = measurement->result;
    struct kiln_device *device = measurement->run->device;
    struct contestant contestants[RUNNER_COUNT];
    struct kiln_bench_runner runners[RUNNER_COUNT];
    uint32_t count = 0;
    uint32_t places[RUNNER_COUNT];
    for (uint32_t i = 0; i < RUNNER_COUNT; i++) {
        bool is_copy = i == COPY_KERNEL || i == COPY_FUNCTION;
        if (!is_copy && measurement->plans[i] == NULL)
            continue;
        contestants[i] = (struct contestant){
            .plan = is_copy ? measurement->copy_plan : measurement->plans[i],
            .buffers = is_copy ? &measurement->copy_buffers : &measurement->buffers,
            .workspace = is_copy ? NULL : measurement->workspace,
            .copy_bytes = (size_t)result->copy_bytes / 2,
        };
        runners[count] = (struct kiln_bench_runner){
            .execute = i == COPY_FUNCTION ? execute_copy : execute_plan,
            .context = &contestants[i],
        };
        places[i] = count++;
    }
    enum kiln_status status =
        kiln_bench_time_runners(device, runners, count, measurement->run->settings.samples,
                                measurement->run->settings.limit_s, error);
    if (status)
        return status;
    result->fused.time = runners[places[FUSED]].time;
    if (measurement->plans[KILN_BENCH_UNFUSED] != NULL)
        result->unfused.time = runners[places[UNFUSED]].time;
    if (measurement->plans[KILN_BENCH_ARGUMENT] != NULL)
        result->argument.time = runners[places[ARGUMENT]].time;
    const struct kiln_bench_time *kernel = &runners[places[COPY_KERNEL]].time;
    const struct kiln_bench_time *function = &runners[places[COPY_FUNCTION]].time;
    result->copy = function->median_s < kernel->median_s ? *function : *kernel;
    status = time_kernels(measurement, error);
    find_bounds(measurement);
    if (status != KILN_OK || device->target.kind == KILN_TARGET_HOST)
        return status;
    return kiln_bench_time_calls(device, &runners[places[FUSED]], &result->host_overhead_s, error);
}

uint64_t kiln_bench_largest_tensor(const struct kiln_graph *graph)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        uint64_t elements = (uint64_t)kiln_tensor_elements(tensor);
        if ((tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_OUTPUT) &&
            elements > largest)
            largest = elements;
    }
    return largest;
}

enum kiln_status kiln_bench_run_graph(struct kiln_bench_run *run,
                                      const struct kiln_graph_input *input,
                                      struct kiln_bench_result *result, struct kiln_error *error)
{
    struct measurement measurement = {.run = run, .input = input, .result = result};
    struct kiln_device *device = run->device;
    kiln_buffer_init(&measurement.copy.bytes);
    kiln_arena_init(&measurement.copy.arena);
    result->elements = kiln_bench_largest_tensor(&input->graph);
    result->bytes_fewest = kiln_graph_fewest_bytes(&input->graph);
    enum kiln_status status = compile(&measurement, error);
    if (status == KILN_OK)
        status = allocate(&measurement, error);
    if (status == KILN_OK)
        status = measure(&measurement, error);
    /* Nothing may be in flight when the buffers go; after a failure the first error is the one that
     * counts. */
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    (void)!device->ops->synchronize(device, NULL, &ignored);
    if (measurement.workspace)
        device->ops->release(device, measurement.workspace);
    kiln_bench_buffers_fini(&measurement.buffers);
    kiln_bench_buffers_fini(&measurement.copy_buffers);
    for (int form = 0; form < KILN_BENCH_FORM_COUNT; form++)
        kiln_plan_unref(measurement.plans[form]);
    kiln_plan_unref(measurement.copy_plan);
    kiln_graph_input_fini(&measurement.copy);
    return status;
}
