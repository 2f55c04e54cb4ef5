#include "runtime/device/gpu_device.h"

#include "runtime/support/log.h"

static struct kiln_gpu_device *gpu_device(struct kiln_device *device)
{
    return (struct kiln_gpu_device *)device;
}

static const char *title(const struct kiln_gpu_device *device)
{
    return device->library->kind->title;
}

/* Makes the device current on this thread; `ret_previous` is what leave_device needs. */
static enum kiln_status enter_device(const struct kiln_gpu_device *device, void **ret_previous,
                                     struct kiln_error *error)
{
    void *previous = NULL;
    enum kiln_status status =
        kiln_gpu_check(device->library, device->driver->get_current(device, &previous), error,
                       "asking for the current %s device", title(device));
    if (status == KILN_OK && previous != device->own)
        status =
            kiln_gpu_check(device->library, device->driver->set_current(device, device->own), error,
                           "making %s device %d current", title(device), device->base.ordinal);
    if (status == KILN_OK)
        *ret_previous = previous;
    return status;
}

static void leave_device(const struct kiln_gpu_device *device, void *previous)
{
    if (previous == device->own)
        return;
    int code = device->driver->set_current(device, previous);
    if (code != KILN_GPU_SUCCESS)
        kiln_log(KILN_LOG_ERROR,
                 "the device that was current before could not be made current again (%s error %d)",
                 title(device), code);
}

static void warn_of_local_memory(const struct kiln_gpu_device *device, void *function,
                                 const char *symbol)
{
    int bytes = 0;
    if (device->driver->local_bytes != NULL &&
        device->driver->local_bytes(device, &bytes, function) == KILN_GPU_SUCCESS && bytes != 0)
        kiln_log(KILN_LOG_WARN, "kernel '%s' keeps %d bytes per work-item in memory", symbol,
                 bytes);
}

/* Of a call that was given a code object: KILN_REFUSED in the place of KILN_DEVICE when `code`
 * says that this is at fault. */
static enum kiln_status blame_object(enum kiln_status status, int code, struct kiln_error *error)
{
    if (status != KILN_DEVICE || !kiln_gpu_blames_object(code))
        return status;
    error->status = KILN_REFUSED;
    return KILN_REFUSED;
}

enum kiln_status kiln_gpu_load(struct kiln_device *base, const void *code, size_t size,
                               const char *symbol, uint32_t lds_bytes, bool uses_barrier,
                               struct kiln_device_module **ret_module,
                               struct kiln_device_function **ret_function, struct kiln_error *error)
{
    /* The code object itself says all of this. */
    (void)size;
    (void)uses_barrier;
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    void *module = NULL;
    void *function = NULL;
    int result = device->driver->load_module(device, &module, code);
    status = kiln_gpu_check(device->library, result, error,
                            "loading the code object of kernel '%s'", symbol);
    if (status == KILN_OK) {
        result = device->driver->find_function(device, &function, module, symbol, lds_bytes);
        status = kiln_gpu_check(device->library, result, error,
                                "finding kernel '%s' in its code object", symbol);
        if (status == KILN_OK)
            warn_of_local_memory(device, function, symbol);
        else if (device->driver->unload_module(device, module) != KILN_GPU_SUCCESS)
            kiln_log(KILN_LOG_WARN, "the module of kernel '%s' could not be unloaded", symbol);
    }
    leave_device(device, previous);
    if (status)
        return blame_object(status, result, error);
    /* Kiln's handles are the driver's own pointers: nothing is allocated for them. */
    *ret_module = module;
    *ret_function = function;
    return KILN_OK;
}

/* Waits until the device has done all that was enqueued. The drivers' own functions for that
 * invalidate whatever any thread is capturing at the time; freeing memory waits too, and may be
 * done meanwhile by a thread whose mode is relaxed. */
static enum kiln_status wait_for_device(const struct kiln_gpu_device *device,
                                        struct kiln_error *error)
{
    void *memory = NULL;
    enum kiln_status status = kiln_gpu_check(
        device->library, device->driver->allocate(device, &memory, 1), error,
        "allocating a byte to wait for %s device %d with", title(device), device->base.ordinal);
    if (status == KILN_OK)
        status = kiln_gpu_check(device->library, device->driver->release(device, memory), error,
                                "waiting for %s device %d before unloading a module", title(device),
                                device->base.ordinal);
    return status;
}

static enum kiln_status wait_and_unload(const struct kiln_gpu_device *device, void *module,
                                        struct kiln_error *error)
{
    int mode = KILN_GPU_CAPTURE_MODE_RELAXED;
    int code = device->driver->exchange_capture_mode(device, &mode);
    bool has_modes = code != KILN_GPU_NOT_SUPPORTED;
    enum kiln_status status = KILN_OK;
    if (has_modes)
        status =
            kiln_gpu_check(device->library, code, error, "making this thread harmless to captures");
    if (status)
        return status;
    status = wait_for_device(device, error);
    if (status == KILN_OK)
        status = kiln_gpu_check(device->library, device->driver->unload_module(device, module),
                                error, "unloading a module");
    if (has_modes)
        code = device->driver->exchange_capture_mode(device, &mode);
    if (has_modes && code != KILN_GPU_SUCCESS)
        kiln_log(KILN_LOG_ERROR,
                 "this thread's mode of capture could not be restored (%s error %d)", title(device),
                 code);
    return status;
}

/* A kernel of the module may still run on a stream that nobody has waited for: HIP does not say
 * that unloading waits, so this does. It is rare: a module goes when the engine goes, or when
 * thousands of newer ones have come. What cannot be waited for keeps its module. */
void kiln_gpu_unload(struct kiln_device *base, struct kiln_device_module *module)
{
    if (!module)
        return;
    const struct kiln_gpu_device *device = gpu_device(base);
    struct kiln_error error;
    kiln_error_init(&error);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, &error);
    if (status == KILN_OK) {
        status = wait_and_unload(device, module, &error);
        leave_device(device, previous);
    }
    if (status)
        kiln_log(KILN_LOG_WARN, "%s", error.text);
}

enum kiln_status kiln_gpu_launch(struct kiln_device *base, kiln_stream stream,
                                 const struct kiln_launch *launch, struct kiln_error *error)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status = kiln_gpu_check(device->library, device->driver->launch(device, launch, stream), error,
                            "launching a kernel on %s device %d", title(device), base->ordinal);
    leave_device(device, previous);
    return status;
}

enum kiln_status kiln_gpu_allocate(struct kiln_device *base, size_t bytes, void **ret_pointer,
                                   struct kiln_error *error)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    void *pointer = NULL;
    /* Of no bytes HIP gives NULL, which reads as "no memory" elsewhere, and CUDA an error. */
    status = kiln_gpu_check(device->library,
                            device->driver->allocate(device, &pointer, bytes ? bytes : 1), error,
                            "allocating %zu bytes of device memory", bytes);
    leave_device(device, previous);
    if (status == KILN_OK)
        *ret_pointer = pointer;
    return status;
}

/* Calls `call` with a handle that is no longer needed; failures go to the log. */
static void give_up(const struct kiln_gpu_device *device,
                    int (*call)(const struct kiln_gpu_device *device, void *handle), void *handle,
                    const char *action)
{
    struct kiln_error error;
    kiln_error_init(&error);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, &error);
    if (status == KILN_OK) {
        status = kiln_gpu_check(device->library, call(device, handle), &error, "%s", action);
        leave_device(device, previous);
    }
    if (status)
        kiln_log(KILN_LOG_WARN, "%s", error.text);
}

void kiln_gpu_release(struct kiln_device *base, void *pointer)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    if (pointer)
        give_up(device, device->driver->release, pointer, "freeing device memory");
}

static enum kiln_status
copy(struct kiln_device *base,
     int (*call)(const struct kiln_gpu_device *device, void *to, const void *from, size_t bytes),
     void *to, const void *from, size_t bytes, const char *direction, struct kiln_error *error)
{
    if (bytes == 0)
        return KILN_OK;
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status = kiln_gpu_check(device->library, call(device, to, from, bytes), error,
                            "copying %zu bytes %s the device", bytes, direction);
    leave_device(device, previous);
    return status;
}

enum kiln_status kiln_gpu_copy_in(struct kiln_device *base, void *to, const void *from,
                                  size_t bytes, struct kiln_error *error)
{
    return copy(base, gpu_device(base)->driver->copy_in, to, from, bytes, "to", error);
}

enum kiln_status kiln_gpu_copy_out(struct kiln_device *base, void *to, const void *from,
                                   size_t bytes, struct kiln_error *error)
{
    return copy(base, gpu_device(base)->driver->copy_out, to, from, bytes, "from", error);
}

enum kiln_status kiln_gpu_copy_within(struct kiln_device *base, kiln_stream stream, void *to,
                                      const void *from, size_t bytes, struct kiln_error *error)
{
    if (bytes == 0)
        return KILN_OK;
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status = kiln_gpu_check(device->library,
                            device->driver->copy_within(device, to, from, bytes, stream), error,
                            "copying %zu bytes within the device", bytes);
    leave_device(device, previous);
    return status;
}

enum kiln_status kiln_gpu_synchronize(struct kiln_device *base, kiln_stream stream,
                                      struct kiln_error *error)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status = kiln_gpu_check(device->library, device->driver->wait_for_stream(device, stream), error,
                            "waiting for a stream of %s device %d", title(device), base->ordinal);
    leave_device(device, previous);
    return status;
}

enum kiln_status kiln_gpu_describe_memory(struct kiln_device *base,
                                          struct kiln_device_memory *ret_memory,
                                          struct kiln_error *error)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    struct kiln_device_memory memory = {0};
    status =
        kiln_gpu_check(device->library, device->driver->describe_memory(device, &memory), error,
                       "asking for the memory of %s device %d", title(device), base->ordinal);
    leave_device(device, previous);
    if (status == KILN_OK)
        *ret_memory = memory;
    return status;
}

enum kiln_status kiln_gpu_event_create(struct kiln_device *base,
                                       struct kiln_device_event **ret_event,
                                       struct kiln_error *error)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    void *event = NULL;
    status = kiln_gpu_check(device->library, device->driver->create_event(device, &event), error,
                            "making an event on %s device %d", title(device), base->ordinal);
    leave_device(device, previous);
    if (status == KILN_OK)
        *ret_event = event;
    return status;
}

void kiln_gpu_event_destroy(struct kiln_device *base, struct kiln_device_event *event)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    if (event)
        give_up(device, device->driver->destroy_event, event, "destroying an event");
}

enum kiln_status kiln_gpu_event_record(struct kiln_device *base, struct kiln_device_event *event,
                                       kiln_stream stream, struct kiln_error *error)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    /* The default stream is that of the current device. */
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    status =
        kiln_gpu_check(device->library, device->driver->record_event(device, event, stream), error,
                       "recording an event on %s device %d", title(device), base->ordinal);
    leave_device(device, previous);
    return status;
}

enum kiln_status kiln_gpu_event_elapsed(struct kiln_device *base, struct kiln_device_event *first,
                                        struct kiln_device_event *second, double *ret_seconds,
                                        struct kiln_error *error)
{
    const struct kiln_gpu_device *device = gpu_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_device(device, &previous, error);
    if (status)
        return status;
    float milliseconds = 0;
    status = kiln_gpu_check(device->library, device->driver->wait_for_event(device, second), error,
                            "waiting for an event of %s device %d", title(device), base->ordinal);
    if (status == KILN_OK)
        status = kiln_gpu_check(device->library,
                                device->driver->elapsed(device, &milliseconds, first, second),
                                error, "asking for the time between two events");
    leave_device(device, previous);
    if (status == KILN_OK)
        *ret_seconds = (double)milliseconds / 1e3;
    return status;
}
