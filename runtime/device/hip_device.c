#include "runtime/device/hip_device.h"

#include "runtime/device/hip_architecture.h"
#include "runtime/device/hip_library.h"
#include "runtime/support/log.h"

#include <stdlib.h>

/* Marks of the `extra` list of hipModuleLaunchKernel: the arguments as one packed block. */
#define LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define LAUNCH_PARAM_BUFFER_SIZE    ((void *)2)
#define LAUNCH_PARAM_END            ((void *)3)

/* The largest last-level cache of the processors that Kiln knows (MI300's Infinity Cache). What
 * hipDeviceGetAttribute calls the L2 cache leaves that one out, under a number that has changed. */
static const uint64_t largest_cache_bytes = (uint64_t)256 << 20;

struct hip_device {
    struct kiln_device base;
    struct kiln_hip_library library;
};

static struct hip_device *hip_device(struct kiln_device *device)
{
    return (struct hip_device *)device;
}

/* Makes the device current on this thread; `ret_previous` is what leave_device needs. */
static enum kiln_status enter_device(const struct hip_device *device, int *ret_previous,
                                     struct kiln_error *error)
{
    const struct kiln_hip_library *hip = &device->library;
    int previous = 0;
    enum kiln_status status =
        kiln_hip_check(hip, hip->hipGetDevice(&previous), error, "asking for the current device");
    if (status == KILN_OK && previous != device->base.ordinal)
        status = kiln_hip_check(hip, hip->hipSetDevice(device->base.ordinal), error,
                                "making device '%d' current", device->base.ordinal);
    if (status == KILN_OK)
        *ret_previous = previous;
    return status;
}

static void leave_device(const struct hip_device *device, int previous)
{
    if (previous == device->base.ordinal)
        return;
    int code = device->library.hipSetDevice(previous);
    if (code != KILN_HIP_SUCCESS)
        kiln_log(KILN_LOG_ERROR, "HIP device '%d' could not be made current again (HIP error %d)",
                 previous, code);
}

/* KILN_UNSUPPORTED where there is no GPU: a machine without one is no failure. */
static enum kiln_status find_device(const struct kiln_hip_library *hip, int *ret_ordinal,
                                    struct kiln_error *error)
{
    int count = 0;
    int code = hip->hipGetDeviceCount(&count);
    if (code == KILN_HIP_ERROR_NO_DEVICE || code == KILN_HIP_ERROR_INSUFFICIENT_DRIVER ||
        (code == KILN_HIP_SUCCESS && count <= 0))
        return kiln_error_set(error, KILN_UNSUPPORTED, "HIP finds no 'AMD GPU' on this machine");
    enum kiln_status status = kiln_hip_check(hip, code, error, "counting the HIP devices");
    if (status)
        return status;
    return kiln_hip_check(hip, hip->hipGetDevice(ret_ordinal), error,
                          "asking for the current device");
}

static enum kiln_status hip_open(const struct kiln_device_ops *ops, struct kiln_device **ret_device,
                                 struct kiln_error *error)
{
    struct hip_device *device = calloc(1, sizeof(*device));
    if (!device)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for device 'hip'");
    device->base.ops = ops;
    /* Linux runs gfx9 and newer with unaligned access enabled, for which element alignment is
     * enough. */
    device->base.needs_vector_alignment = false;
    enum kiln_status status = kiln_hip_library_open(&device->library, error);
    if (status)
        goto fail;
    status = find_device(&device->library, &device->base.ordinal, error);
    if (status)
        goto fail;
    status =
        kiln_hip_architecture(&device->library, device->base.ordinal, &device->base.target, error);
    if (status)
        goto fail;
    *ret_device = &device->base;
    return KILN_OK;

fail:
    kiln_hip_library_close(&device->library);
    free(device);
    return status;
}

static void hip_close(struct kiln_device *base)
{
    struct hip_device *device = hip_device(base);
    kiln_hip_library_close(&device->library);
    free(device);
}

static enum kiln_status hip_load(struct kiln_device *base, const void *code, size_t size,
                                 const char *symbol, uint32_t lds_bytes, bool uses_barrier,
                                 struct kiln_device_module **ret_module,
                                 struct kiln_device_function **ret_function,
                                 struct kiln_error *error)
{
    /* The code object itself says all of this. */
    (void)size;
    (void)lds_bytes;
    (void)uses_barrier;
    struct hip_device *device = hip_device(base);
    const struct kiln_hip_library *hip = &device->library;
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    void *module = NULL;
    void *function = NULL;
    status = kiln_hip_check(hip, hip->hipModuleLoadData(&module, code), error,
                            "loading the code object of kernel '%s'", symbol);
    if (status == KILN_OK) {
        status = kiln_hip_check(hip, hip->hipModuleGetFunction(&function, module, symbol), error,
                                "finding kernel '%s' in its code object", symbol);
        if (status) {
            int code_unload = hip->hipModuleUnload(module);
            if (code_unload != KILN_HIP_SUCCESS)
                kiln_log(KILN_LOG_WARN, "the module of kernel '%s' could not be unloaded", symbol);
        }
    }
    leave_device(device, previous);
    if (status)
        return status;
    /* Kiln's handles are HIP's own pointers: nothing is allocated for them. */
    *ret_module = module;
    *ret_function = function;
    return KILN_OK;
}

/* A kernel of the module may still run on a stream that nobody has waited for: HIP does not say
 * that unloading waits, so this does. It is rare: a module goes when the engine goes, or when
 * thousands of newer ones have come. What cannot be waited for, a stream that is being captured,
 * say, keeps its module. */
static void hip_unload(struct kiln_device *base, struct kiln_device_module *module)
{
    if (!module)
        return;
    struct hip_device *device = hip_device(base);
    const struct kiln_hip_library *hip = &device->library;
    struct kiln_error error;
    kiln_error_init(&error);
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, &error);
    if (status == KILN_OK) {
        status =
            kiln_hip_check(hip, hip->hipDeviceSynchronize(), &error,
                           "waiting for HIP device '%d' before unloading a module", base->ordinal);
        if (status == KILN_OK)
            status =
                kiln_hip_check(hip, hip->hipModuleUnload(module), &error, "unloading a module");
        leave_device(device, previous);
    }
    if (status)
        kiln_log(KILN_LOG_WARN, "%s", error.text);
}

static enum kiln_status hip_launch(struct kiln_device *base, kiln_stream stream,
                                   const struct kiln_launch *launch, struct kiln_error *error)
{
    struct hip_device *device = hip_device(base);
    const struct kiln_hip_library *hip = &device->library;
    size_t kernarg_bytes = launch->kernarg_bytes;
    void *extra[] = {LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)launch->kernarg,
                     LAUNCH_PARAM_BUFFER_SIZE, &kernarg_bytes, LAUNCH_PARAM_END};
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status = kiln_hip_check(hip,
                            hip->hipModuleLaunchKernel(launch->function, launch->grid[0],
                                                       launch->grid[1], launch->grid[2],
                                                       launch->block[0], launch->block[1],
                                                       launch->block[2], 0, stream, NULL, extra),
                            error, "launching a kernel on HIP device '%d'", base->ordinal);
    leave_device(device, previous);
    return status;
}

static enum kiln_status hip_allocate(struct kiln_device *base, size_t bytes, void **ret_pointer,
                                     struct kiln_error *error)
{
    struct hip_device *device = hip_device(base);
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    void *pointer = NULL;
    /* hipMalloc(0) gives NULL, which reads as "no memory" elsewhere. */
    status =
        kiln_hip_check(&device->library, device->library.hipMalloc(&pointer, bytes ? bytes : 1),
                       error, "allocating '%zu' bytes of device memory", bytes);
    leave_device(device, previous);
    if (status == KILN_OK)
        *ret_pointer = pointer;
    return status;
}

static void hip_release(struct kiln_device *base, void *pointer)
{
    if (!pointer)
        return;
    struct hip_device *device = hip_device(base);
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_hip_check(&device->library, device->library.hipFree(pointer), &error,
                       "freeing device memory"))
        kiln_log(KILN_LOG_WARN, "%s", error.text);
}

static enum kiln_status copy(struct kiln_device *base, void *to, const void *from, size_t bytes,
                             int kind, struct kiln_error *error)
{
    if (bytes == 0)
        return KILN_OK;
    struct hip_device *device = hip_device(base);
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status = kiln_hip_check(&device->library, device->library.hipMemcpy(to, from, bytes, kind),
                            error, "copying '%zu' bytes %s the device", bytes,
                            kind == KILN_HIP_MEMCPY_TO_DEVICE ? "to" : "from");
    leave_device(device, previous);
    return status;
}

static enum kiln_status hip_copy_in(struct kiln_device *device, void *to, const void *from,
                                    size_t bytes, struct kiln_error *error)
{
    return copy(device, to, from, bytes, KILN_HIP_MEMCPY_TO_DEVICE, error);
}

static enum kiln_status hip_copy_out(struct kiln_device *device, void *to, const void *from,
                                     size_t bytes, struct kiln_error *error)
{
    return copy(device, to, from, bytes, KILN_HIP_MEMCPY_FROM_DEVICE, error);
}

static enum kiln_status hip_synchronize(struct kiln_device *base, kiln_stream stream,
                                        struct kiln_error *error)
{
    struct hip_device *device = hip_device(base);
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status = kiln_hip_check(&device->library, device->library.hipStreamSynchronize(stream), error,
                            "waiting for a stream of HIP device '%d'", base->ordinal);
    leave_device(device, previous);
    return status;
}

static enum kiln_status hip_copy_within(struct kiln_device *base, kiln_stream stream, void *to,
                                        const void *from, size_t bytes, struct kiln_error *error)
{
    if (bytes == 0)
        return KILN_OK;
    struct hip_device *device = hip_device(base);
    const struct kiln_hip_library *hip = &device->library;
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status =
        kiln_hip_check(hip, hip->hipMemcpyDtoDAsync(to, (void *)(uintptr_t)from, bytes, stream),
                       error, "copying '%zu' bytes within the device", bytes);
    leave_device(device, previous);
    return status;
}

static enum kiln_status hip_describe_memory(struct kiln_device *base,
                                            struct kiln_device_memory *ret_memory,
                                            struct kiln_error *error)
{
    struct hip_device *device = hip_device(base);
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    status =
        kiln_hip_check(&device->library, device->library.hipMemGetInfo(&free_bytes, &total_bytes),
                       error, "asking for the free memory of HIP device '%d'", base->ordinal);
    leave_device(device, previous);
    if (status == KILN_OK)
        *ret_memory = (struct kiln_device_memory){free_bytes, largest_cache_bytes};
    return status;
}

static enum kiln_status hip_event_create(struct kiln_device *base,
                                         struct kiln_device_event **ret_event,
                                         struct kiln_error *error)
{
    struct hip_device *device = hip_device(base);
    int previous = 0;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    void *event = NULL;
    status = kiln_hip_check(&device->library, device->library.hipEventCreate(&event), error,
                            "making an event on HIP device '%d'", base->ordinal);
    leave_device(device, previous);
    if (status == KILN_OK)
        *ret_event = event;
    return status;
}

static void hip_event_destroy(struct kiln_device *base, struct kiln_device_event *event)
{
    if (!event)
        return;
    struct hip_device *device = hip_device(base);
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_hip_check(&device->library, device->library.hipEventDestroy(event), &error,
                       "destroying an event"))
        kiln_log(KILN_LOG_WARN, "%s", error.text);
}

static enum kiln_status hip_event_record(struct kiln_device *base, struct kiln_device_event *event,
                                         kiln_stream stream, struct kiln_error *error)
{
    struct hip_device *device = hip_device(base);
    int previous = 0;
    /* The default stream is that of the current device. */
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status = kiln_hip_check(&device->library, device->library.hipEventRecord(event, stream), error,
                            "recording an event on HIP device '%d'", base->ordinal);
    leave_device(device, previous);
    return status;
}

static enum kiln_status hip_event_elapsed(struct kiln_device *base, struct kiln_device_event *first,
                                          struct kiln_device_event *second, double *ret_seconds,
                                          struct kiln_error *error)
{
    const struct kiln_hip_library *hip = &hip_device(base)->library;
    float milliseconds = 0;
    enum kiln_status status =
        kiln_hip_check(hip, hip->hipEventSynchronize(second), error,
                       "waiting for an event of HIP device '%d'", base->ordinal);
    if (status == KILN_OK)
        status = kiln_hip_check(hip, hip->hipEventElapsedTime(&milliseconds, first, second), error,
                                "asking for the time between two events");
    if (status == KILN_OK)
        *ret_seconds = (double)milliseconds / 1e3;
    return status;
}

static enum kiln_status hip_current_ordinal(struct kiln_device *base, int *ret_ordinal,
                                            struct kiln_error *error)
{
    const struct kiln_hip_library *hip = &hip_device(base)->library;
    return kiln_hip_check(hip, hip->hipGetDevice(ret_ordinal), error,
                          "asking for the current device");
}

const struct kiln_device_ops kiln_hip_device_ops = {
    .name = "hip",
    .open = hip_open,
    .close = hip_close,
    .load = hip_load,
    .unload = hip_unload,
    .launch = hip_launch,
    .allocate = hip_allocate,
    .release = hip_release,
    .copy_in = hip_copy_in,
    .copy_out = hip_copy_out,
    .synchronize = hip_synchronize,
    .copy_within = hip_copy_within,
    .describe_memory = hip_describe_memory,
    .event_create = hip_event_create,
    .event_destroy = hip_event_destroy,
    .event_record = hip_event_record,
    .event_elapsed = hip_event_elapsed,
    .current_ordinal = hip_current_ordinal,
};
