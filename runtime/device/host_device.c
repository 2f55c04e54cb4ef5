#include "runtime/device/host_device.h"

#include "runtime/device/host_executor.h"
#include "runtime/device/host_memory.h"
#include "runtime/device/host_module.h"
#include "runtime/support/environment.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALLOCATION_ALIGNMENT = 256, MAX_THREADS = 1024 };

struct host_device {
    struct kiln_device base;
    struct kiln_host_executor *executor;
};

static struct host_device *host_device(struct kiln_device *device)
{
    return (struct host_device *)device;
}

/* Cores that this process may use. */
static uint32_t core_count(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return 1;
    int count = CPU_COUNT(&cores);
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (uint32_t)count;
}

static enum kiln_status host_open(const struct kiln_device_ops *ops,
                                  struct kiln_device **ret_device, struct kiln_error *error)
{
    struct host_device *device = calloc(1, sizeof *device);
    if (device == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for the host device");
    device->base.ops = ops;
    enum kiln_status status = kiln_target_parse("host", &device->base.target, error);
    if (status == KILN_OK) {
        uint64_t threads = kiln_environment_number(KILN_ENVIRONMENT_KILN_HOST_THREADS, 1,
                                                   MAX_THREADS, core_count());
        status = kiln_host_executor_create((uint32_t)threads, &device->executor, error);
    }
    if (status) {
        free(device);
        return status;
    }
    *ret_device = &device->base;
    return KILN_OK;
}

static void host_close(struct kiln_device *device)
{
    if (device == NULL)
        return;
    kiln_host_executor_destroy(host_device(device)->executor);
    free(device);
}

static enum kiln_status host_load(struct kiln_device *device, const void *code, size_t size,
                                  const char *symbol, uint32_t lds_bytes, bool uses_barrier,
                                  struct kiln_device_module **ret_module,
                                  struct kiln_device_function **ret_function,
                                  struct kiln_error *error)
{
    (void)device;
    struct kiln_device_module *module = NULL;
    enum kiln_status status =
        kiln_host_module_load(code, size, symbol, lds_bytes, uses_barrier, &module, error);
    if (status)
        return status;
    *ret_module = module;
    *ret_function = &module->function;
    return KILN_OK;
}

static void host_unload(struct kiln_device *device, struct kiln_device_module *module)
{
    (void)device;
    kiln_host_module_unload(module);
}

static enum kiln_status host_launch(struct kiln_device *device, kiln_stream stream,
                                    const struct kiln_launch *launch, struct kiln_error *error)
{
    (void)stream;
    const struct kiln_device_function *function = launch->function;
    const struct kiln_host_kernel *kernel = function->kernel;
    if (launch->block[0] != kernel->block || launch->block[1] != 1 || launch->block[2] != 1)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "a kernel of %u work-items per group was launched with %u x %u x %u",
                              kernel->block, launch->block[0], launch->block[1], launch->block[2]);
    if (launch->kernarg_bytes < kernel->argument_bytes)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "a kernel of %u bytes of arguments was launched with %u",
                              kernel->argument_bytes, launch->kernarg_bytes);
    struct kiln_host_work work = {
        .kernel = kernel,
        .arguments = launch->kernarg,
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .lds_bytes = function->lds_bytes,
        .uses_barrier = function->uses_barrier,
    };
    return kiln_host_execute(host_device(device)->executor, &work, error);
}

static enum kiln_status host_allocate(struct kiln_device *device, size_t bytes, void **ret_pointer,
                                      struct kiln_error *error)
{
    (void)device;
    void *pointer = NULL;
    if (posix_memalign(&pointer, ALLOCATION_ALIGNMENT, bytes ? bytes : 1) != 0)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for %zu bytes", bytes);
    *ret_pointer = pointer;
    return KILN_OK;
}

static void host_release(struct kiln_device *device, void *pointer)
{
    (void)device;
    free(pointer);
}

static enum kiln_status host_copy(struct kiln_device *device, void *to, const void *from,
                                  size_t bytes, struct kiln_error *error)
{
    (void)device;
    (void)error;
    if (bytes != 0)
        memcpy(to, from, bytes);
    return KILN_OK;
}

static enum kiln_status host_synchronize(struct kiln_device *device, kiln_stream stream,
                                         struct kiln_error *error)
{
    (void)device;
    (void)stream;
    (void)error;
    return KILN_OK;
}

static enum kiln_status host_copy_within(struct kiln_device *device, kiln_stream stream, void *to,
                                         const void *from, size_t bytes, struct kiln_error *error)
{
    (void)stream;
    return host_copy(device, to, from, bytes, error);
}

static enum kiln_status host_describe_memory(struct kiln_device *device,
                                             struct kiln_device_memory *ret_memory,
                                             struct kiln_error *error)
{
    (void)device;
    (void)error;
    ret_memory->free_bytes = kiln_host_memory_available();
    ret_memory->cache_bytes = kiln_host_memory_cache_bytes();
    return KILN_OK;
}

/* Launches are synchronous, so the moment of recording is the moment of the event. */
struct kiln_device_event {
    struct timespec time;
};

static enum kiln_status host_event_create(struct kiln_device *device,
                                          struct kiln_device_event **ret_event,
                                          struct kiln_error *error)
{
    (void)device;
    struct kiln_device_event *event = calloc(1, sizeof *event);
    if (event == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for an event");
    *ret_event = event;
    return KILN_OK;
}

static void host_event_destroy(struct kiln_device *device, struct kiln_device_event *event)
{
    (void)device;
    free(event);
}

static enum kiln_status host_event_record(struct kiln_device *device,
                                          struct kiln_device_event *event, kiln_stream stream,
                                          struct kiln_error *error)
{
    (void)device;
    (void)stream;
    (void)error;
    clock_gettime(CLOCK_MONOTONIC, &event->time);
    return KILN_OK;
}

static enum kiln_status host_event_elapsed(struct kiln_device *device,
                                           struct kiln_device_event *first,
                                           struct kiln_device_event *second, double *ret_seconds,
                                           struct kiln_error *error)
{
    (void)device;
    (void)error;
    *ret_seconds = (double)(second->time.tv_sec - first->time.tv_sec) +
                   1e-9 * (double)(second->time.tv_nsec - first->time.tv_nsec);
    return KILN_OK;
}

/* The first "model name" of /proc/cpuinfo. */
static void host_describe(struct kiln_device *device,
                          struct kiln_device_description *ret_description)
{
    (void)device;
    static const char mark[] = "model name\t: ";
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, mark, sizeof mark - 1) == 0) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(ret_description->name, sizeof ret_description->name, "%.*s",
                           (int)sizeof ret_description->name - 1, line + sizeof mark - 1);
            break;
        }
    }
    if (file != NULL)
        (void)fclose(file);
}

const struct kiln_device_ops kiln_host_device_ops = {
    .name = "host",
    .open = host_open,
    .close = host_close,
    .load = host_load,
    .unload = host_unload,
    .launch = host_launch,
    .allocate = host_allocate,
    .release = host_release,
    .copy_in = host_copy,
    .copy_out = host_copy,
    .synchronize = host_synchronize,
    .copy_within = host_copy_within,
    .describe_memory = host_describe_memory,
    .describe = host_describe,
    .event_create = host_event_create,
    .event_destroy = host_event_destroy,
    .event_record = host_event_record,
    .event_elapsed = host_event_elapsed,
};
