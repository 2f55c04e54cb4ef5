#include "runtime/device/cuda_device.h"

#include "runtime/device/cuda_library.h"
#include "runtime/device/gpu_device.h"
#include "runtime/support/log.h"

#include <stdio.h>
#include <stdlib.h>

/* Marks of the `extra` list of cuLaunchKernel: the arguments as one packed block. */
#define LAUNCH_PARAM_END            ((void *)0)
#define LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define LAUNCH_PARAM_BUFFER_SIZE    ((void *)2)

/* `gpu.own` is the device's primary context, retained. */
struct cuda_device {
    struct kiln_gpu_device gpu;
    struct kiln_cuda_library library;
};

static const struct kiln_cuda_library *cuda_of(const struct kiln_gpu_device *device)
{
    return &((const struct cuda_device *)device)->library;
}

/* A CUdeviceptr. */
static uint64_t address(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static int get_current(const struct kiln_gpu_device *device, void **ret_current)
{
    return cuda_of(device)->cuCtxGetCurrent(ret_current);
}

static int set_current(const struct kiln_gpu_device *device, void *current)
{
    return cuda_of(device)->cuCtxSetCurrent(current);
}

static int load_module(const struct kiln_gpu_device *device, void **ret_module, const void *code)
{
    return cuda_of(device)->cuModuleLoadData(ret_module, code);
}

/* Local memory that a launch has to ask for: more than a kernel may declare by itself. */
static uint32_t asked_lds_bytes(const struct kiln_gpu_device *device, uint32_t lds_bytes)
{
    return lds_bytes > device->base.target.lds_bytes ? lds_bytes : 0;
}

static int find_function(const struct kiln_gpu_device *device, void **ret_function, void *module,
                         const char *symbol, uint32_t lds_bytes)
{
    int code = cuda_of(device)->cuModuleGetFunction(ret_function, module, symbol);
    uint32_t asked = asked_lds_bytes(device, lds_bytes);
    if (code == KILN_GPU_SUCCESS && asked != 0)
        code = cuda_of(device)->cuFuncSetAttribute(*ret_function, KILN_CUDA_FUNCTION_MAX_ASKED_LDS,
                                                   (int)asked);
    return code;
}

static int unload_module(const struct kiln_gpu_device *device, void *module)
{
    return cuda_of(device)->cuModuleUnload(module);
}

static int local_bytes(const struct kiln_gpu_device *device, int *ret_bytes, void *function)
{
    return cuda_of(device)->cuFuncGetAttribute(ret_bytes, KILN_CUDA_FUNCTION_LOCAL_BYTES, function);
}

static int launch_kernel(const struct kiln_gpu_device *device, const struct kiln_launch *launch,
                         kiln_stream stream)
{
    size_t kernarg_bytes = launch->kernarg_bytes;
    void *extra[] = {LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)launch->kernarg,
                     LAUNCH_PARAM_BUFFER_SIZE, &kernarg_bytes, LAUNCH_PARAM_END};
    return cuda_of(device)->cuLaunchKernel(
        launch->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
        launch->block[1], launch->block[2], asked_lds_bytes(device, launch->lds_bytes), stream,
        NULL, extra);
}

static int allocate(const struct kiln_gpu_device *device, void **ret_pointer, size_t bytes)
{
    uint64_t pointer = 0;
    int code = cuda_of(device)->cuMemAlloc(&pointer, bytes);
    *ret_pointer = (void *)(uintptr_t)pointer;
    return code;
}

static int release(const struct kiln_gpu_device *device, void *pointer)
{
    return cuda_of(device)->cuMemFree(address(pointer));
}

static int copy_in(const struct kiln_gpu_device *device, void *to, const void *host_from,
                   size_t bytes)
{
    return cuda_of(device)->cuMemcpyHtoD(address(to), host_from, bytes);
}

static int copy_out(const struct kiln_gpu_device *device, void *host_to, const void *from,
                    size_t bytes)
{
    return cuda_of(device)->cuMemcpyDtoH(host_to, address(from), bytes);
}

static int copy_within(const struct kiln_gpu_device *device, void *to, const void *from,
                       size_t bytes, kiln_stream stream)
{
    return cuda_of(device)->cuMemcpyDtoDAsync(address(to), address(from), bytes, stream);
}

static int wait_for_stream(const struct kiln_gpu_device *device, kiln_stream stream)
{
    return cuda_of(device)->cuStreamSynchronize(stream);
}

static int exchange_capture_mode(const struct kiln_gpu_device *device, int *mode)
{
    return cuda_of(device)->cuThreadExchangeStreamCaptureMode(mode);
}

static int describe_memory(const struct kiln_gpu_device *device,
                           struct kiln_device_memory *ret_memory)
{
    const struct kiln_cuda_library *cuda = cuda_of(device);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    int cache_bytes = 0;
    int code = cuda->cuMemGetInfo(&free_bytes, &total_bytes);
    if (code == KILN_GPU_SUCCESS)
        code = cuda->cuDeviceGetAttribute(&cache_bytes, KILN_CUDA_DEVICE_CACHE_BYTES,
                                          device->base.ordinal);
    *ret_memory =
        (struct kiln_device_memory){free_bytes, cache_bytes > 0 ? (uint64_t)cache_bytes : 0};
    return code;
}

static int create_event(const struct kiln_gpu_device *device, void **ret_event)
{
    return cuda_of(device)->cuEventCreate(ret_event, 0);
}

static int destroy_event(const struct kiln_gpu_device *device, void *event)
{
    return cuda_of(device)->cuEventDestroy(event);
}

static int record_event(const struct kiln_gpu_device *device, void *event, kiln_stream stream)
{
    return cuda_of(device)->cuEventRecord(event, stream);
}

static int wait_for_event(const struct kiln_gpu_device *device, void *event)
{
    return cuda_of(device)->cuEventSynchronize(event);
}

static int elapsed(const struct kiln_gpu_device *device, float *ret_milliseconds, void *first,
                   void *second)
{
    return cuda_of(device)->cuEventElapsedTime(ret_milliseconds, first, second);
}

static const struct kiln_gpu_driver driver = {
    .get_current = get_current,
    .set_current = set_current,
    .load_module = load_module,
    .find_function = find_function,
    .unload_module = unload_module,
    .local_bytes = local_bytes,
    .launch = launch_kernel,
    .allocate = allocate,
    .release = release,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_within = copy_within,
    .wait_for_stream = wait_for_stream,
    .exchange_capture_mode = exchange_capture_mode,
    .describe_memory = describe_memory,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .record_event = record_event,
    .wait_for_event = wait_for_event,
    .elapsed = elapsed,
};

/* The device of this thread's context, else the first. */
static enum kiln_status find_current(const struct kiln_cuda_library *cuda, int *ret_ordinal,
                                     struct kiln_error *error)
{
    void *context = NULL;
    int ordinal = 0;
    int code = cuda->cuCtxGetCurrent(&context);
    if (code == KILN_GPU_SUCCESS && context)
        code = cuda->cuCtxGetDevice(&ordinal);
    enum kiln_status status =
        kiln_gpu_check(&cuda->base, code, error, "asking for the current CUDA device");
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
    if (code == KILN_GPU_SUCCESS)
        code = cuda->cuDeviceGetCount(&count);
    if (code == KILN_CUDA_ERROR_NO_DEVICE || code == KILN_CUDA_ERROR_STUB_LIBRARY ||
        (code == KILN_GPU_SUCCESS && count <= 0))
        return kiln_error_set(error, KILN_UNSUPPORTED, "CUDA finds no NVIDIA GPU on this machine");
    enum kiln_status status = kiln_gpu_check(&cuda->base, code, error, "counting the CUDA devices");
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
    if (code == KILN_GPU_SUCCESS)
        code = cuda->cuDeviceGetAttribute(&minor, KILN_CUDA_DEVICE_CAPABILITY_MINOR, ordinal);
    enum kiln_status status = kiln_gpu_check(
        &cuda->base, code, error, "asking for the compute capability of CUDA device %d", ordinal);
    if (status)
        return status;
    char name[KILN_TARGET_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "sm_%d%d", major, minor);
    if (kiln_target_parse(name, ret_target, error) != KILN_OK)
        return kiln_error_set(error, KILN_DEVICE,
                              "CUDA device %d is an '%s', which Kiln has no target for", ordinal,
                              name);
    return KILN_OK;
}

static enum kiln_status cuda_open(const struct kiln_device_ops *ops,
                                  struct kiln_device **ret_device, struct kiln_error *error)
{
    struct cuda_device *device = calloc(1, sizeof(*device));
    if (!device)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for device 'cuda'");
    const struct kiln_cuda_library *cuda = &device->library;
    struct kiln_device *base = &device->gpu.base;
    base->ops = ops;
    /* An access of 16 bytes whose address is no multiple of 16 is a fault. */
    base->needs_vector_alignment = true;
    device->gpu.driver = &driver;
    device->gpu.library = &device->library.base;
    enum kiln_status status = kiln_cuda_library_open(&device->library, error);
    if (status)
        goto fail;
    status = find_device(cuda, &base->ordinal, error);
    if (status)
        goto fail;
    status = find_target(cuda, base->ordinal, &base->target, error);
    if (status)
        goto fail;
    status =
        kiln_gpu_check(&cuda->base, cuda->cuDevicePrimaryCtxRetain(&device->gpu.own, base->ordinal),
                       error, "making the context of CUDA device %d", base->ordinal);
    if (status)
        goto fail;
    *ret_device = base;
    return KILN_OK;

fail:
    kiln_gpu_library_close(&device->library.base);
    free(device);
    return status;
}

static void cuda_close(struct kiln_device *base)
{
    struct cuda_device *device = (struct cuda_device *)base;
    int code = device->library.cuDevicePrimaryCtxRelease(base->ordinal);
    if (code != KILN_GPU_SUCCESS)
        kiln_log(KILN_LOG_WARN,
                 "the context of CUDA device %d could not be released (CUDA error %d)",
                 base->ordinal, code);
    kiln_gpu_library_close(&device->library.base);
    free(device);
}

static enum kiln_status cuda_current_ordinal(struct kiln_device *base, int *ret_ordinal,
                                             struct kiln_error *error)
{
    return find_current(&((struct cuda_device *)base)->library, ret_ordinal, error);
}

static void cuda_describe(struct kiln_device *base, struct kiln_device_description *ret_description)
{
    const struct kiln_cuda_library *cuda = &((struct cuda_device *)base)->library;
    const struct kiln_gpu_library *library = &cuda->base;
    int (*get_name)(char *name, int bytes, int device);
    int (*get_version)(int *version);
    struct kiln_error ignored;
    int version = 0;
    kiln_error_init(&ignored);
    enum { NAME_BYTES = sizeof ret_description->name };
    if (!kiln_gpu_library_find(library, "cuDeviceGetName", &get_name, &ignored) &&
        get_name(ret_description->name, NAME_BYTES, base->ordinal) != KILN_GPU_SUCCESS)
        ret_description->name[0] = '\0';
    ret_description->name[NAME_BYTES - 1] = '\0';
    if (cuda->cuDeviceGetCount(&ret_description->count) != KILN_GPU_SUCCESS)
        ret_description->count = 0;
    /* The CUDA release that the driver is of; the driver's own number is not in this library. */
    if (!kiln_gpu_library_find(library, "cuDriverGetVersion", &get_version, &ignored) &&
        get_version(&version) == KILN_GPU_SUCCESS && version > 0)
        (void)snprintf(ret_description->driver_version, sizeof ret_description->driver_version,
                       "%d.%d", version / 1000, version % 1000 / 10);
    kiln_gpu_library_path(library, ret_description->library, sizeof ret_description->library);
}

const struct kiln_device_ops kiln_cuda_device_ops = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    KILN_GPU_DEVICE_OPS,
    .describe = cuda_describe,
    .current_ordinal = cuda_current_ordinal,
};
