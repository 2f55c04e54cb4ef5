#include "runtime/device/cuda_device.h"

#include "runtime/device/cuda_library.h"
#include "runtime/support/log.h"

#include <stdio.h>
#include <stdlib.h>

/* Marks of the `extra` list of cuLaunchKernel: the arguments as one packed block. */
#define LAUNCH_PARAM_END            ((void *)0)
#define LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define LAUNCH_PARAM_BUFFER_SIZE    ((void *)2)

struct cuda_device {
    struct kiln_device base;
    struct kiln_cuda_library library;
    void *context; /* the device's primary context, retained; NULL while opening */
};

static struct cuda_device *cuda_device(struct kiln_device *device)
{
    return (struct cuda_device *)device;
}

/* Makes the context current on this thread; `ret_previous` is what leave_context needs. */
static enum kiln_status enter_context(const struct cuda_device *device, void **ret_previous,
                                      struct kiln_error *error)
{
    const struct kiln_cuda_library *cuda = &device->library;
    void *previous = NULL;
    enum kiln_status status = kiln_cuda_check(cuda, cuda->cuCtxGetCurrent(&previous), error,
                                              "asking for the current context");
    if (status == KILN_OK && previous != device->context)
        status =
            kiln_cuda_check(cuda, cuda->cuCtxSetCurrent(device->context), error,
                            "making the context of CUDA device '%d' current", device->base.ordinal);
    if (status == KILN_OK)
        *ret_previous = previous;
    return status;
}

static void leave_context(const struct cuda_device *device, void *previous)
{
    if (previous == device->context)
        return;
    int code = device->library.cuCtxSetCurrent(previous);
    if (code != KILN_CUDA_SUCCESS)
        kiln_log(KILN_LOG_ERROR, "a context could not be made current again (CUDA error %d)", code);
}

/* The device of this thread's context, else the first. */
static enum kiln_status find_current(const struct kiln_cuda_library *cuda, int *ret_ordinal,
                                     struct kiln_error *error)
{
    void *context = NULL;
    int ordinal = 0;
    enum kiln_status status = kiln_cuda_check(cuda, cuda->cuCtxGetCurrent(&context), error,
                                              "asking for the current context");
    if (status == KILN_OK && context)
        status = kiln_cuda_check(cuda, cuda->cuCtxGetDevice(&ordinal), error,
                                 "asking for the current device");
    if (status == KILN_OK)
        *ret_ordinal = ordinal;
    return status;
}

/* KILN_UNSUPPORTED where there is no GPU: a machine without one is no failure. */
static enum kiln_status find_device(const struct kiln_cuda_library *cuda, int *ret_ordinal,
                                    struct kiln_error *error)
{
    int count = 0;
    int code = cuda->cuInit(0);
    if (code == KILN_CUDA_SUCCESS)
        code = cuda->cuDeviceGetCount(&count);
    if (code == KILN_CUDA_ERROR_NO_DEVICE || code == KILN_CUDA_ERROR_STUB_LIBRARY ||
        (code == KILN_CUDA_SUCCESS && count <= 0))
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "CUDA finds no 'NVIDIA GPU' on this machine");
    enum kiln_status status = kiln_cuda_check(cuda, code, error, "counting the CUDA devices");
    if (status)
        return status;
    return find_current(cuda, ret_ordinal, error);
}

static enum kiln_status find_target(const struct kiln_cuda_library *cuda, int ordinal,
                                    struct kiln_target *ret_target, struct kiln_error *error)
{
    int major = 0;
    int minor = 0;
    int code = cuda->cuDeviceGetAttribute(&major, KILN_CUDA_DEVICE_CAPABILITY_MAJOR, ordinal);
    if (code == KILN_CUDA_SUCCESS)
        code = cuda->cuDeviceGetAttribute(&minor, KILN_CUDA_DEVICE_CAPABILITY_MINOR, ordinal);
    enum kiln_status status = kiln_cuda_check(
        cuda, code, error, "asking for the compute capability of CUDA device '%d'", ordinal);
    if (status)
        return status;
    char name[KILN_TARGET_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "sm_%d%d", major, minor);
    if (kiln_target_parse(name, ret_target, error) != KILN_OK)
        return kiln_error_set(error, KILN_DEVICE,
                              "CUDA device '%d' is an '%s', which Kiln has no target for", ordinal,
                              name);
    return KILN_OK;
}

static enum kiln_status cuda_open(const struct kiln_device_ops *ops,
                                  struct kiln_device **ret_device, struct kiln_error *error)
{
    struct cuda_device *device = calloc(1, sizeof(*device));
    if (!device)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for device 'cuda'");
    device->base.ops = ops;
    /* An access of 16 bytes whose address is no multiple of 16 is a fault. */
    device->base.needs_vector_alignment = true;
    const struct kiln_cuda_library *cuda = &device->library;
    enum kiln_status status = kiln_cuda_library_open(&device->library, error);
    if (status)
        goto fail;
    status = find_device(cuda, &device->base.ordinal, error);
    if (status)
        goto fail;
    status = find_target(cuda, device->base.ordinal, &device->base.target, error);
    if (status)
        goto fail;
    status = kiln_cuda_check(cuda,
                             cuda->cuDevicePrimaryCtxRetain(&device->context, device->base.ordinal),
                             error, "making the context of CUDA device '%d'", device->base.ordinal);
    if (status)
        goto fail;
    *ret_device = &device->base;
    return KILN_OK;

fail:
    kiln_cuda_library_close(&device->library);
    free(device);
    return status;
}

static void cuda_close(struct kiln_device *base)
{
    struct cuda_device *device = cuda_device(base);
    int code = device->library.cuDevicePrimaryCtxRelease(base->ordinal);
    if (code != KILN_CUDA_SUCCESS)
        kiln_log(KILN_LOG_WARN,
                 "the context of CUDA device '%d' could not be released (CUDA error "
                 "%d)",
                 base->ordinal, code);
    kiln_cuda_library_close(&device->library);
    free(device);
}

/* What the compiler could not keep in registers is slow: said here, since codegen lets it pass. */
static void warn_of_local_memory(const struct kiln_cuda_library *cuda, void *function,
                                 const char *symbol)
{
    int bytes = 0;
    int code = cuda->cuFuncGetAttribute(&bytes, KILN_CUDA_FUNCTION_LOCAL_BYTES, function);
    if (code == KILN_CUDA_SUCCESS && bytes != 0)
        kiln_log(KILN_LOG_WARN, "kernel '%s' keeps '%d' bytes per work-item in memory", symbol,
                 bytes);
}

static enum kiln_status cuda_load(struct kiln_device *base, const void *code, size_t size,
                                  const char *symbol, uint32_t lds_bytes, bool uses_barrier,
                                  struct kiln_device_module **ret_module,
                                  struct kiln_device_function **ret_function,
                                  struct kiln_error *error)
{
    /* The code object itself says all of this. */
    (void)size;
    (void)lds_bytes;
    (void)uses_barrier;
    struct cuda_device *device = cuda_device(base);
    const struct kiln_cuda_library *cuda = &device->library;
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    void *module = NULL;
    void *function = NULL;
    status = kiln_cuda_check(cuda, cuda->cuModuleLoadData(&module, code), error,
                             "loading the code object of kernel '%s'", symbol);
    if (status == KILN_OK) {
        status = kiln_cuda_check(cuda, cuda->cuModuleGetFunction(&function, module, symbol), error,
                                 "finding kernel '%s' in its code object", symbol);
        if (status == KILN_OK)
            warn_of_local_memory(cuda, function, symbol);
        else if (cuda->cuModuleUnload(module) != KILN_CUDA_SUCCESS)
            kiln_log(KILN_LOG_WARN, "the module of kernel '%s' could not be unloaded", symbol);
    }
    leave_context(device, previous);
    if (status)
        return status;
    /* Kiln's handles are CUDA's own pointers: nothing is allocated for them. */
    *ret_module = module;
    *ret_function = function;
    return KILN_OK;
}

/* As for hip: a kernel of the module may still run on a stream that nobody has waited for. */
static void cuda_unload(struct kiln_device *base, struct kiln_device_module *module)
{
    if (!module)
        return;
    struct cuda_device *device = cuda_device(base);
    const struct kiln_cuda_library *cuda = &device->library;
    struct kiln_error error;
    kiln_error_init(&error);
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, &error);
    if (status == KILN_OK) {
        status = kiln_cuda_check(cuda, cuda->cuCtxSynchronize(), &error,
                                 "waiting for CUDA device '%d' before unloading a module",
                                 base->ordinal);
        if (status == KILN_OK)
            status =
                kiln_cuda_check(cuda, cuda->cuModuleUnload(module), &error, "unloading a module");
        leave_context(device, previous);
    }
    if (status)
        kiln_log(KILN_LOG_WARN, "%s", error.text);
}

static enum kiln_status cuda_launch(struct kiln_device *base, kiln_stream stream,
                                    const struct kiln_launch *launch, struct kiln_error *error)
{
    struct cuda_device *device = cuda_device(base);
    const struct kiln_cuda_library *cuda = &device->library;
    size_t kernarg_bytes = launch->kernarg_bytes;
    void *extra[] = {LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)launch->kernarg,
                     LAUNCH_PARAM_BUFFER_SIZE, &kernarg_bytes, LAUNCH_PARAM_END};
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    status =
        kiln_cuda_check(cuda,
                        cuda->cuLaunchKernel(launch->function, launch->grid[0], launch->grid[1],
                                             launch->grid[2], launch->block[0], launch->block[1],
                                             launch->block[2], 0, stream, NULL, extra),
                        error, "launching a kernel on CUDA device '%d'", base->ordinal);
    leave_context(device, previous);
    return status;
}

static enum kiln_status cuda_allocate(struct kiln_device *base, size_t bytes, void **ret_pointer,
                                      struct kiln_error *error)
{
    struct cuda_device *device = cuda_device(base);
    const struct kiln_cuda_library *cuda = &device->library;
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    uint64_t pointer = 0;
    /* cuMemAlloc(0) is an error. */
    status = kiln_cuda_check(cuda, cuda->cuMemAlloc(&pointer, bytes ? bytes : 1), error,
                             "allocating '%zu' bytes of device memory", bytes);
    leave_context(device, previous);
    if (status == KILN_OK)
        *ret_pointer = (void *)(uintptr_t)pointer;
    return status;
}

static void cuda_release(struct kiln_device *base, void *pointer)
{
    if (!pointer)
        return;
    struct cuda_device *device = cuda_device(base);
    const struct kiln_cuda_library *cuda = &device->library;
    struct kiln_error error;
    kiln_error_init(&error);
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, &error);
    if (status == KILN_OK) {
        status = kiln_cuda_check(cuda, cuda->cuMemFree((uint64_t)(uintptr_t)pointer), &error,
                                 "freeing device memory");
        leave_context(device, previous);
    }
    if (status)
        kiln_log(KILN_LOG_WARN, "%s", error.text);
}

static enum kiln_status cuda_copy_in(struct kiln_device *base, void *to, const void *from,
                                     size_t bytes, struct kiln_error *error)
{
    if (bytes == 0)
        return KILN_OK;
    struct cuda_device *device = cuda_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    status = kiln_cuda_check(&device->library,
                             device->library.cuMemcpyHtoD((uint64_t)(uintptr_t)to, from, bytes),
                             error, "copying '%zu' bytes to the device", bytes);
    leave_context(device, previous);
    return status;
}

static enum kiln_status cuda_copy_out(struct kiln_device *base, void *to, const void *from,
                                      size_t bytes, struct kiln_error *error)
{
    if (bytes == 0)
        return KILN_OK;
    struct cuda_device *device = cuda_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    status = kiln_cuda_check(&device->library,
                             device->library.cuMemcpyDtoH(to, (uint64_t)(uintptr_t)from, bytes),
                             error, "copying '%zu' bytes from the device", bytes);
    leave_context(device, previous);
    return status;
}

static enum kiln_status cuda_synchronize(struct kiln_device *base, kiln_stream stream,
                                         struct kiln_error *error)
{
    struct cuda_device *device = cuda_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    status = kiln_cuda_check(&device->library, device->library.cuStreamSynchronize(stream), error,
                             "waiting for a stream of CUDA device '%d'", base->ordinal);
    leave_context(device, previous);
    return status;
}

static enum kiln_status cuda_copy_within(struct kiln_device *base, kiln_stream stream, void *to,
                                         const void *from, size_t bytes, struct kiln_error *error)
{
    if (bytes == 0)
        return KILN_OK;
    struct cuda_device *device = cuda_device(base);
    const struct kiln_cuda_library *cuda = &device->library;
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    status = kiln_cuda_check(
        cuda,
        cuda->cuMemcpyDtoDAsync((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes, stream),
        error, "copying '%zu' bytes within the device", bytes);
    leave_context(device, previous);
    return status;
}

static enum kiln_status cuda_describe_memory(struct kiln_device *base,
                                             struct kiln_device_memory *ret_memory,
                                             struct kiln_error *error)
{
    struct cuda_device *device = cuda_device(base);
    const struct kiln_cuda_library *cuda = &device->library;
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    int cache_bytes = 0;
    status = kiln_cuda_check(cuda, cuda->cuMemGetInfo(&free_bytes, &total_bytes), error,
                             "asking for the free memory of CUDA device '%d'", base->ordinal);
    if (status == KILN_OK)
        status = kiln_cuda_check(
            cuda,
            cuda->cuDeviceGetAttribute(&cache_bytes, KILN_CUDA_DEVICE_CACHE_BYTES, base->ordinal),
            error, "asking for the cache of CUDA device '%d'", base->ordinal);
    leave_context(device, previous);
    if (status == KILN_OK)
        *ret_memory =
            (struct kiln_device_memory){free_bytes, cache_bytes > 0 ? (uint64_t)cache_bytes : 0};
    return status;
}

static enum kiln_status cuda_event_create(struct kiln_device *base,
                                          struct kiln_device_event **ret_event,
                                          struct kiln_error *error)
{
    struct cuda_device *device = cuda_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    void *event = NULL;
    status = kiln_cuda_check(&device->library, device->library.cuEventCreate(&event, 0), error,
                             "making an event on CUDA device '%d'", base->ordinal);
    leave_context(device, previous);
    if (status == KILN_OK)
        *ret_event = event;
    return status;
}

static void cuda_event_destroy(struct kiln_device *base, struct kiln_device_event *event)
{
    if (!event)
        return;
    struct cuda_device *device = cuda_device(base);
    struct kiln_error error;
    kiln_error_init(&error);
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, &error);
    if (status == KILN_OK) {
        status = kiln_cuda_check(&device->library, device->library.cuEventDestroy(event), &error,
                                 "destroying an event");
        leave_context(device, previous);
    }
    if (status)
        kiln_log(KILN_LOG_WARN, "%s", error.text);
}

static enum kiln_status cuda_event_record(struct kiln_device *base, struct kiln_device_event *event,
                                          kiln_stream stream, struct kiln_error *error)
{
    struct cuda_device *device = cuda_device(base);
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    status = kiln_cuda_check(&device->library, device->library.cuEventRecord(event, stream), error,
                             "recording an event on CUDA device '%d'", base->ordinal);
    leave_context(device, previous);
    return status;
}

static enum kiln_status cuda_event_elapsed(struct kiln_device *base,
                                           struct kiln_device_event *first,
                                           struct kiln_device_event *second, double *ret_seconds,
                                           struct kiln_error *error)
{
    struct cuda_device *device = cuda_device(base);
    const struct kiln_cuda_library *cuda = &device->library;
    void *previous = NULL;
    enum kiln_status status = enter_context(device, &previous, error);
    if (status)
        return status;
    float milliseconds = 0;
    status = kiln_cuda_check(cuda, cuda->cuEventSynchronize(second), error,
                             "waiting for an event of CUDA device '%d'", base->ordinal);
    if (status == KILN_OK)
        status = kiln_cuda_check(cuda, cuda->cuEventElapsedTime(&milliseconds, first, second),
                                 error, "asking for the time between two events");
    leave_context(device, previous);
    if (status == KILN_OK)
        *ret_seconds = (double)milliseconds / 1e3;
    return status;
}

static enum kiln_status cuda_current_ordinal(struct kiln_device *base, int *ret_ordinal,
                                             struct kiln_error *error)
{
    return find_current(&cuda_device(base)->library, ret_ordinal, error);
}

const struct kiln_device_ops kiln_cuda_device_ops = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .load = cuda_load,
    .unload = cuda_unload,
    .launch = cuda_launch,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .synchronize = cuda_synchronize,
    .copy_within = cuda_copy_within,
    .describe_memory = cuda_describe_memory,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_elapsed = cuda_event_elapsed,
    .current_ordinal = cuda_current_ordinal,
};
