#include "runtime/engine/tuning.h"

#include "runtime/engine/plan.h"
#include "runtime/engine/plan_knobs.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 9,
    MAX_BATCH = 200,
    WARM_UP_EXECUTIONS = 2,
};

/* Executions of a sample take about so long together. */
static const double sample_ns = 500000;

/* A candidate has to be faster than the untuned plan by this factor. */
static const double least_gain = 0.97;

/* Forms, tiles and segments that schedules pass over by rules or by a model. Options that a target
 * or a shape has no schedule for make no plan. */
static const struct kiln_contraction_options candidates[] = {
    {0}, /* the plan without tuning */
    {.segments = 1},
    {.segments = 2},
    {.segments = 4},
    {.segments = 8},
    {.segments = 16},
    {.form = KILN_CONTRACTION_PLAIN},
    {.form = KILN_CONTRACTION_PLAIN, .tile_m = 32, .tile_n = 32},
    {.form = KILN_CONTRACTION_PLAIN, .tile_m = 64, .tile_n = 64},
    {.form = KILN_CONTRACTION_PLAIN, .tile_m = 64, .tile_n = 128},
    {.form = KILN_CONTRACTION_PLAIN, .tile_m = 128, .tile_n = 64},
    {.form = KILN_CONTRACTION_PLAIN, .tile_m = 128, .tile_n = 128},
    {.form = KILN_CONTRACTION_PINGPONG},
    {.form = KILN_CONTRACTION_STREAMED},
    {.form = KILN_CONTRACTION_STREAMED, .tile_m = 16, .tile_n = 64},
    {.form = KILN_CONTRACTION_STREAMED, .tile_m = 64, .tile_n = 16},
    {.form = KILN_CONTRACTION_SPECIALIZED},
    {.form = KILN_CONTRACTION_SPECIALIZED, .tile_m = 128, .tile_n = 128},
    {.form = KILN_CONTRACTION_SPECIALIZED, .tile_m = 128, .tile_n = 256},
    {.form = KILN_CONTRACTION_DIRECT},
    {.form = KILN_CONTRACTION_SMALL},
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

struct subject {
    struct kiln_engine *engine;
    const struct kiln_graph *graph;
    struct kiln_device *device;
    uint32_t count; /* of distinct plans; the first is the untuned one */
    struct kiln_plan *plans[CANDIDATES];
    const struct kiln_contraction_options *options[CANDIDATES];
    bool is_out[CANDIDATES]; /* it could not be executed */
    uint32_t batch;
    struct kiln_device_event *events[2];
    void *workspace;
    void **memory; /* by tensor; of the device, or of the host for scalars */
    struct kiln_buffer_binding *bindings;
    uint32_t binding_count;
};

static bool has_ragged_tensors(const struct kiln_graph *graph)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        if (kiln_tensor_is_ragged(&graph->tensors[i]))
            return true;
    return false;
}

bool kiln_tuning_applies(const struct kiln_graph *graph, const struct kiln_lower_options *lower)
{
    static const struct kiln_contraction_options nothing;
    /* The fastest plan for the largest shapes may be slow for smaller ones, and the time of ragged
     * tensors depends on offsets that are not known yet. */
    return !graph->takes_overrides && !has_ragged_tensors(graph) && !lower->no_fusion &&
           lower->max_vector_elements == 0 &&
           memcmp(&lower->contraction, &nothing, sizeof nothing) == 0 &&
           kiln_plan_knobs_work(graph) != 0;
}

/* ---- candidates ---- */

static bool are_same(const struct kiln_plan *a, const struct kiln_plan *b)
{
    bool are_same = a->kernel_count == b->kernel_count;
    for (uint32_t i = 0; are_same && i < a->kernel_count; i++) {
        const struct kiln_compiled_kernel *x = a->kernels[i].recipe;
        const struct kiln_compiled_kernel *y = b->kernels[i].recipe;
        are_same = x->name.high == y->name.high && x->name.low == y->name.low &&
                   memcmp(x->grid, y->grid, sizeof x->grid) == 0;
    }
    return are_same;
}

static enum kiln_status make_plans(struct subject *subject, const struct kiln_engine_device *device,
                                   const struct kiln_lower_options *lower, struct kiln_error *error)
{
    for (size_t i = 0; i < CANDIDATES; i++) {
        struct kiln_lower_options tried = *lower;
        struct kiln_plan *plan = NULL;
        struct kiln_error why;
        kiln_error_init(&why);
        tried.contraction = candidates[i];
        enum kiln_status status =
            kiln_plan_make(subject->engine, subject->graph, device, &tried, &plan, &why);
        if (status && i == 0) {
            *error = why;
            return status;
        }
        bool is_new = status == KILN_OK;
        for (uint32_t j = 0; is_new && j < subject->count; j++)
            is_new = !are_same(plan, subject->plans[j]);
        if (is_new) {
            subject->options[subject->count] = &candidates[i];
            subject->plans[subject->count++] = plan;
        } else {
            kiln_plan_unref(plan);
        }
    }
    return KILN_OK;
}

/* ---- memory ---- */

/* The longest length that a tensor of lengths may have; 0 for other tensors. */
static int64_t length_in(const struct kiln_graph *graph, uint32_t index)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        uint32_t sequence = kiln_node_input(node, KILN_OPERAND_SEQ_LEN_Q) == index
                                ? kiln_node_input(node, KILN_OPERAND_Q)
                            : kiln_node_input(node, KILN_OPERAND_SEQ_LEN_KV) == index
                                ? kiln_node_input(node, KILN_OPERAND_K)
                                : KILN_NONE;
        if (sequence != KILN_NONE && graph->tensors[sequence].rank > 2)
            return graph->tensors[sequence].dims[2];
    }
    return 0;
}

/* Small numbers for all types of floats. Integers are zeros, since they may be indices, but
 * sequences are as long as they can be. */
static void fill(const struct kiln_graph *graph, uint32_t index, unsigned char *bytes, size_t size)
{
    enum kiln_dtype dtype = graph->tensors[index].dtype;
    bool is_index = dtype == KILN_DTYPE_I32 || dtype == KILN_DTYPE_I64 || dtype == KILN_DTYPE_BOOL;
    int64_t length = length_in(graph, index);
    size_t width = dtype == KILN_DTYPE_I64 ? sizeof(int64_t) : sizeof(int32_t);
    uint32_t state = 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = is_index ? 0 : (unsigned char)(i % 2 == 0 ? state >> 24 : 0x38 + (state >> 31));
    }
    for (size_t i = 0; is_index && length != 0 && i + width <= size; i += width) {
        int32_t narrow = (int32_t)length;
        memcpy(bytes + i, width == sizeof narrow ? (void *)&narrow : (void *)&length, width);
    }
}

static enum kiln_status make_tensor(struct subject *subject, uint32_t index,
                                    struct kiln_error *error)
{
    const struct kiln_tensor *tensor = &subject->graph->tensors[index];
    size_t bytes = (size_t)kiln_tensor_footprint_bytes(tensor);
    unsigned char *content = malloc(bytes + 1);
    if (!content)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to tune a graph");
    fill(subject->graph, index, content, bytes);
    subject->bindings[subject->binding_count].uid = tensor->uid;
    if (tensor->role == KILN_TENSOR_HOST_SCALAR) {
        subject->memory[index] = content;
        subject->bindings[subject->binding_count++].pointer = content;
        return KILN_OK;
    }
    const struct kiln_device_ops *ops = subject->device->ops;
    enum kiln_status status = ops->allocate(subject->device, bytes, &subject->memory[index], error);
    if (status == KILN_OK)
        status = ops->copy_in(subject->device, subject->memory[index], content, bytes, error);
    free(content);
    subject->bindings[subject->binding_count++].pointer = subject->memory[index];
    return status;
}

static enum kiln_status make_memory(struct subject *subject, struct kiln_error *error)
{
    const struct kiln_graph *graph = subject->graph;
    const struct kiln_device_ops *ops = subject->device->ops;
    enum kiln_status status = KILN_OK;
    uint64_t workspace_bytes = 1;
    subject->memory = calloc(graph->tensor_count + 1, sizeof *subject->memory);
    subject->bindings = calloc(graph->tensor_count + 1, sizeof *subject->bindings);
    if (!subject->memory || !subject->bindings)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to tune a graph");
    for (uint32_t i = 0; i < subject->count; i++) {
        uint64_t bytes = kiln_plan_workspace_bytes(subject->plans[i]);
        workspace_bytes = bytes > workspace_bytes ? bytes : workspace_bytes;
    }
    status = ops->allocate(subject->device, (size_t)workspace_bytes, &subject->workspace, error);
    for (uint32_t i = 0; status == KILN_OK && i < graph->tensor_count; i++) {
        if (graph->tensors[i].role != KILN_TENSOR_VIRTUAL &&
            graph->tensors[i].role != KILN_TENSOR_CONSTANT)
            status = make_tensor(subject, i, error);
    }
    for (int i = 0; status == KILN_OK && i < 2; i++)
        status = ops->event_create(subject->device, &subject->events[i], error);
    return status;
}

static void release(struct subject *subject)
{
    const struct kiln_device_ops *ops = subject->device->ops;
    for (uint32_t i = 0; subject->memory && i < subject->graph->tensor_count; i++) {
        if (subject->graph->tensors[i].role == KILN_TENSOR_HOST_SCALAR)
            free(subject->memory[i]);
        else
            ops->release(subject->device, subject->memory[i]);
    }
    for (int i = 0; i < 2; i++)
        if (subject->events[i])
            ops->event_destroy(subject->device, subject->events[i]);
    ops->release(subject->device, subject->workspace);
    free(subject->memory);
    free(subject->bindings);
    for (uint32_t i = 0; i < subject->count; i++)
        kiln_plan_unref(subject->plans[i]);
}

/* ---- timing ---- */

/* Nanoseconds of one execution, over a batch of them. */
static enum kiln_status sample(struct subject *subject, uint32_t plan, uint32_t batch,
                               double *ret_ns, struct kiln_error *error)
{
    const struct kiln_device_ops *ops = subject->device->ops;
    double seconds = 0;
    enum kiln_status status = ops->event_record(subject->device, subject->events[0], NULL, error);
    for (uint32_t i = 0; status == KILN_OK && i < batch; i++)
        status = kiln_plan_execute(subject->plans[plan], NULL, subject->workspace,
                                   subject->bindings, subject->binding_count, error);
    if (status == KILN_OK)
        status = ops->event_record(subject->device, subject->events[1], NULL, error);
    if (status == KILN_OK)
        status = ops->event_elapsed(subject->device, subject->events[0], subject->events[1],
                                    &seconds, error);
    *ret_ns = seconds * 1e9 / batch;
    return status;
}

static enum kiln_status warm_up(struct subject *subject, struct kiln_error *error)
{
    double ns = 0;
    for (uint32_t i = 0; i < subject->count; i++) {
        enum kiln_status status = KILN_OK;
        for (int j = 0; status == KILN_OK && j < WARM_UP_EXECUTIONS; j++)
            status = sample(subject, i, 1, &ns, error);
        if (status && i == 0)
            return status;
        subject->is_out[i] = status != KILN_OK;
        if (i == 0)
            subject->batch = ns * (double)MAX_BATCH <= sample_ns ? MAX_BATCH
                             : ns >= sample_ns                   ? 1
                                                                 : (uint32_t)(sample_ns / ns);
    }
    return KILN_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Medians of the plans that are in. They take turns, so that what else the machine does hits all of
 * them. */
static enum kiln_status time_plans(struct subject *subject, double ret_ns[CANDIDATES],
                                   struct kiln_error *error)
{
    double samples[CANDIDATES][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < subject->count; i++) {
            enum kiln_status status =
                subject->is_out[i] ? KILN_OK
                                   : sample(subject, i, subject->batch, &samples[i][round], error);
            if (status)
                return status;
        }
    }
    for (uint32_t i = 0; i < subject->count; i++) {
        if (subject->is_out[i])
            continue;
        qsort(samples[i], ROUNDS, sizeof samples[i][0], compare_doubles);
        ret_ns[i] = samples[i][ROUNDS / 2];
    }
    return KILN_OK;
}

/* The plan that is faster than the untuned one in both rounds; the untuned one is 0. */
static enum kiln_status choose(struct subject *subject, uint32_t *ret_best,
                               double ret_ns[CANDIDATES], struct kiln_error *error)
{
    uint32_t best = 0;
    enum kiln_status status = time_plans(subject, ret_ns, error);
    if (status)
        return status;
    for (uint32_t i = 1; i < subject->count; i++)
        if (!subject->is_out[i] && ret_ns[i] < ret_ns[best])
            best = i;
    if (best != 0 && ret_ns[best] < least_gain * ret_ns[0]) {
        for (uint32_t i = 1; i < subject->count; i++)
            subject->is_out[i] = i != best;
        status = time_plans(subject, ret_ns, error);
    }
    *ret_best = best != 0 && ret_ns[best] < least_gain * ret_ns[0] ? best : 0;
    return status;
}

enum kiln_status kiln_tune(struct kiln_engine *engine, const struct kiln_graph *graph,
                           const struct kiln_engine_device *device,
                           const struct kiln_lower_options *lower,
                           struct kiln_tuned_choice *ret_choice, struct kiln_error *error)
{
    struct subject subject = {.engine = engine, .graph = graph, .device = device->device};
    const struct kiln_tuned_subject key = {&engine->programs, graph, device->device, lower};
    double times[CANDIDATES] = {0};
    uint32_t best = 0;
    enum kiln_status status = make_plans(&subject, device, lower, error);
    if (status == KILN_OK)
        status = make_memory(&subject, error);
    if (status == KILN_OK)
        status = warm_up(&subject, error);
    if (status == KILN_OK)
        status = choose(&subject, &best, times, error);
    if (status == KILN_OK) {
        *ret_choice = (struct kiln_tuned_choice){.contraction = *subject.options[best],
                                                 .candidates = subject.count,
                                                 .untuned_ns = (uint64_t)times[0],
                                                 .tuned_ns = (uint64_t)times[best]};
        kiln_tuned_choices_keep(&engine->tuned, &key, ret_choice);
        kiln_log(KILN_LOG_INFO,
                 "graph '%.64s' is tuned: %" PRIu32 " plans, %" PRIu64
                 " ns without tuning, %" PRIu64 " ns with the %s",
                 graph->name, subject.count, ret_choice->untuned_ns, ret_choice->tuned_ns,
                 best ? "fastest" : "same plan");
    }
    release(&subject);
    return status;
}
