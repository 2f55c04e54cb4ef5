#include "cli/copy_rate.h"

#include "cli/bench/bench_suite.h"
#include "cli/bench/bench_timing.h"
#include "compiler/graph/wire_messages.h"

enum { COPIES = 9, CACHES = 2 };
#define LEAST_BYTES ((uint64_t)32 << 20)
#define MOST_BYTES  ((uint64_t)512 << 20)

struct copy {
    struct kiln_device *device;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_plan *plan;
    struct kiln_device_event *events[2];
    void *memory[2];
    size_t bytes; /* of each */
};

/* Memory, and the plan of a copy of as much. */
static enum kiln_status prepare(struct copy *copy, struct kiln_engine *engine,
                                struct kiln_error *error)
{
    struct kiln_device *device = copy->device;
    struct kiln_device_memory memory;
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    enum kiln_status status = device->ops->describe_memory(device, &memory, error);
    if (status == KILN_OK) {
        uint64_t wanted = CACHES * memory.cache_bytes;
        wanted = wanted < LEAST_BYTES ? LEAST_BYTES : wanted > MOST_BYTES ? MOST_BYTES : wanted;
        wanted = wanted > memory.free_bytes / 8 ? memory.free_bytes / 8 : wanted;
        status = kiln_bench_copy_make((int64_t)wanted, &copy->arena, &copy->graph, error);
    }
    if (status == KILN_OK)
        status = kiln_graph_write(&copy->graph, KILN_WIRE_ERA_CURRENT, &bytes, error);
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    if (status == KILN_OK)
        (void)!kiln_plan_create(engine, bytes.data, bytes.size, &copy->plan, &ignored);
    if (status == KILN_OK)
        copy->bytes = (size_t)kiln_tensor_footprint_bytes(&copy->graph.tensors[0]);
    for (int i = 0; i < 2 && status == KILN_OK; i++)
        status = device->ops->allocate(device, copy->bytes, &copy->memory[i], error);
    for (int i = 0; i < 2 && status == KILN_OK; i++)
        status = device->ops->event_create(device, &copy->events[i], error);
    kiln_buffer_fini(&bytes);
    return status;
}

/* Seconds of one copy, by the kernel or by the device's function. */
static enum kiln_status time_once(const struct copy *copy, bool by_kernel, double *ret_seconds,
                                  struct kiln_error *error)
{
    struct kiln_device *device = copy->device;
    const struct kiln_buffer_binding bindings[2] = {
        {copy->graph.tensors[0].uid, copy->memory[0]},
        {copy->graph.tensors[1].uid, copy->memory[1]},
    };
    enum kiln_status status = device->ops->event_record(device, copy->events[0], NULL, error);
    if (status == KILN_OK)
        status = by_kernel ? kiln_plan_execute(copy->plan, NULL, NULL, bindings, 2, error)
                           : device->ops->copy_within(device, NULL, copy->memory[1],
                                                      copy->memory[0], copy->bytes, error);
    if (status == KILN_OK)
        status = device->ops->event_record(device, copy->events[1], NULL, error);
    if (status == KILN_OK)
        status = device->ops->event_elapsed(device, copy->events[0], copy->events[1], ret_seconds,
                                            error);
    return status;
}

static enum kiln_status measure(const struct copy *copy, double *ret_bytes_per_s,
                                struct kiln_error *error)
{
    struct kiln_device *device = copy->device;
    /* Pages that nobody has written are one page of zeros, which a cache holds. */
    enum kiln_status status = device->ops->copy_within(device, NULL, copy->memory[0],
                                                       copy->memory[1], copy->bytes, error);
    if (status)
        return status;
    *ret_bytes_per_s = 0;
    for (int by_kernel = 0; by_kernel < (copy->plan ? 2 : 1); by_kernel++) {
        double seconds[COPIES];
        for (int i = 0; i < COPIES && status == KILN_OK; i++)
            status = time_once(copy, by_kernel != 0, &seconds[i], error);
        if (status)
            return status;
        double median = kiln_bench_median(seconds, COPIES);
        double rate = median > 0 ? 2 * (double)copy->bytes / median : 0;
        *ret_bytes_per_s = rate > *ret_bytes_per_s ? rate : *ret_bytes_per_s;
    }
    return KILN_OK;
}

enum kiln_status kiln_copy_rate(struct kiln_engine *engine, struct kiln_device *device,
                                double *ret_bytes_per_s, struct kiln_error *error)
{
    struct copy copy = {.device = device};
    double bytes_per_s = 0;
    kiln_arena_init(&copy.arena);
    enum kiln_status status = prepare(&copy, engine, error);
    if (status == KILN_OK)
        status = measure(&copy, &bytes_per_s, error);
    if (status == KILN_OK)
        *ret_bytes_per_s = bytes_per_s;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    (void)!device->ops->synchronize(device, NULL, &ignored);
    for (int i = 0; i < 2; i++) {
        if (copy.events[i])
            device->ops->event_destroy(device, copy.events[i]);
        if (copy.memory[i])
            device->ops->release(device, copy.memory[i]);
    }
    kiln_plan_unref(copy.plan);
    kiln_arena_fini(&copy.arena);
    return status;
}
