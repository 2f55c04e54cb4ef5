/* A small graph compiled, launched on the device and checked. */
#include "cli/bench/bench_builder.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_graph.h"
#include "cli/text.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 4096 };

/* relu(a + b) */
enum kiln_status kiln_doctor_graph(struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                   struct kiln_buffer *ret_bytes, struct kiln_error *error)
{
    struct kiln_bench_builder builder;
    enum kiln_status status =
        kiln_bench_builder_init(&builder, "kiln doctor", KILN_DTYPE_F32, arena, error);
    if (status != KILN_OK)
        return status;
    kiln_bench_set_line(&builder, ELEMENTS);
    uint32_t a = kiln_bench_input(&builder, "a");
    uint32_t b = kiln_bench_input(&builder, "b");
    uint32_t sum = kiln_bench_pointwise(&builder, KILN_POINTWISE_ADD, a, b);
    kiln_bench_output(&builder, "y", kiln_bench_unary(&builder, KILN_POINTWISE_RELU_FWD, sum));
    status = kiln_bench_builder_finish(&builder, arena, ret_graph, error);
    if (status == KILN_OK)
        status = kiln_graph_write(ret_graph, KILN_WIRE_ERA_CURRENT, ret_bytes, error);
    return status;
}

/* ---- running it ---- */

struct trial {
    struct kiln_graph graph;
    struct kiln_buffer bytes;
    struct kiln_engine *engine;
    struct kiln_plan *plan;
    struct kiln_device *device; /* the plan's */
    struct kiln_buffer_binding bindings[KILN_BENCH_MAX_TENSORS];
    uint32_t binding_count;
    uint64_t compile_ns;
    uint64_t run_ns;
    unsigned wrong; /* elements */
};

/* Sums that are exact, half of them negative. */
static float input_element(uint32_t index)
{
    return (float)((int)(index % 101) - 50) / 4;
}

static float expected_element(uint32_t index)
{
    float sum = 2 * input_element(index);
    return sum > 0 ? sum : 0;
}

static enum kiln_status give_memory(struct trial *trial, struct kiln_error *error)
{
    const struct kiln_device_ops *ops = trial->device->ops;
    static float elements[ELEMENTS];
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < trial->graph.tensor_count && status == KILN_OK; i++) {
        const struct kiln_tensor *tensor = &trial->graph.tensors[i];
        if (tensor->role != KILN_TENSOR_INPUT && tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        struct kiln_buffer_binding *binding = &trial->bindings[trial->binding_count];
        binding->uid = tensor->uid;
        status = ops->allocate(trial->device, sizeof elements, &binding->pointer, error);
        if (status != KILN_OK)
            break;
        trial->binding_count++;
        for (uint32_t j = 0; j < ELEMENTS; j++)
            elements[j] = tensor->role == KILN_TENSOR_INPUT ? input_element(j) : -1.0F;
        status = ops->copy_in(trial->device, binding->pointer, elements, sizeof elements, error);
    }
    return status;
}

static enum kiln_status execute(struct trial *trial, struct kiln_error *error)
{
    uint64_t start_ns = kiln_clock_ns();
    enum kiln_status status =
        kiln_plan_execute(trial->plan, NULL, NULL, trial->bindings, trial->binding_count, error);
    if (status == KILN_OK)
        status = trial->device->ops->synchronize(trial->device, NULL, error);
    trial->run_ns = kiln_clock_ns() - start_ns;
    return status;
}

static enum kiln_status compare(struct trial *trial, struct kiln_error *error)
{
    static float elements[ELEMENTS];
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < trial->binding_count && status == KILN_OK; i++) {
        for (uint32_t j = 0; j < trial->graph.tensor_count; j++) {
            const struct kiln_tensor *tensor = &trial->graph.tensors[j];
            if (tensor->uid != trial->bindings[i].uid || tensor->role != KILN_TENSOR_OUTPUT)
                continue;
            status = trial->device->ops->copy_out(
                trial->device, elements, trial->bindings[i].pointer, sizeof elements, error);
            for (uint32_t k = 0; k < ELEMENTS && status == KILN_OK; k++)
                trial->wrong += elements[k] != expected_element(k);
        }
    }
    return status;
}

/* No tier is read or written: the compiler is part of what is tried. */
static void leave_caches_out(void)
{
    (void)setenv("KILN_CACHE_DIR", "", 1);
    (void)setenv("KILN_CACHE_LAYERS", "", 1);
    (void)setenv("KILN_CACHE_REMOTE", "", 1);
    (void)setenv("HIPDNN_DISABLE_CACHE", "1", 1);
}

static enum kiln_status try_graph(struct trial *trial, const char *device, struct kiln_error *error)
{
    const struct kiln_engine_options options = {.device = device};
    uint64_t start_ns = kiln_clock_ns();
    enum kiln_status status = kiln_engine_create(&options, &trial->engine, error);
    if (status == KILN_OK)
        status = kiln_plan_create(trial->engine, trial->bytes.data, trial->bytes.size, &trial->plan,
                                  error);
    trial->compile_ns = kiln_clock_ns() - start_ns;
    if (status != KILN_OK)
        return status;
    trial->device = (struct kiln_device *)(uintptr_t)kiln_plan_device(trial->plan);
    status = give_memory(trial, error);
    if (status == KILN_OK)
        status = execute(trial, error);
    if (status == KILN_OK)
        status = compare(trial, error);
    for (uint32_t i = 0; i < trial->binding_count; i++)
        trial->device->ops->release(trial->device, trial->bindings[i].pointer);
    return status;
}

static void report(struct kiln_doctor *doctor, const struct trial *trial, const char *device)
{
    static const char check[] = "kernel";
    char compile[KILN_TEXT_AMOUNT_BYTES];
    char run[KILN_TEXT_AMOUNT_BYTES];
    if (trial->wrong)
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check,
                        "update the driver and the compiler, and report it with this report",
                        "%u of %d elements are wrong after a launch on %s", trial->wrong, ELEMENTS,
                        device);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL,
                        "relu(a + b) on %s: compiled in %s, ran in %s, the result is right", device,
                        kiln_text_duration(compile, trial->compile_ns),
                        kiln_text_duration(run, trial->run_ns));
}

void kiln_doctor_check_kernel(struct kiln_doctor *doctor)
{
    const char *device = kiln_doctor_fact(doctor, KILN_DOCTOR_DEVICE);
    struct trial trial = {.binding_count = 0};
    struct kiln_arena arena;
    struct kiln_error error;
    if (!device || !kiln_doctor_fact(doctor, KILN_DOCTOR_COMPILER)) {
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, "kernel", NULL, "%s",
                        device ? "nothing compiles for the device" : "there is no device for it");
        return;
    }
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    kiln_buffer_init(&trial.bytes);
    leave_caches_out();
    enum kiln_status status = kiln_doctor_graph(&arena, &trial.graph, &trial.bytes, &error);
    if (status == KILN_OK)
        status = try_graph(&trial, device, &error);
    if (status == KILN_OK)
        report(doctor, &trial, device);
    else
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, "kernel", kiln_status_advice(status),
                                 error.text);
    kiln_plan_unref(trial.plan);
    if (trial.engine)
        kiln_engine_unref(trial.engine);
    kiln_buffer_fini(&trial.bytes);
    kiln_arena_fini(&arena);
}
