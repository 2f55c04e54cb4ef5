#include "runtime/device/hip_device.h"

#include "runtime/device/gpu_device.h"
#include "runtime/device/hip_architecture.h"
#include "runtime/device/hip_library.h"
#include "runtime/support/file.h"
#include "runtime/support/memory_map.h"

#include <stdio.h>
#include <stdlib.h>

/* Marks of the `extra` list of hipModuleLaunchKernel: the arguments as one packed block. */
#define LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define LAUNCH_PARAM_BUFFER_SIZE    ((void *)2)
#define LAUNCH_PARAM_END            ((void *)3)

/* The largest last-level cache of the processors that Kiln knows (MI300's Infinity Cache). What
 * hipDeviceGetAttribute calls the L2 cache leaves that one out, under a number that has changed. */
static const uint64_t largest_cache_bytes = (uint64_t)256 << 20;

struct hip_device {
    struct kiln_gpu_device gpu;
    struct kiln_hip_library library;
};

static const struct kiln_hip_library *hip_of(const struct kiln_gpu_device *device)
{
    return &((const struct hip_device *)device)->library;
}

/* An ordinal where other drivers have a context. */
static void *as_current(int ordinal)
{
    return (void *)(intptr_t)ordinal;
}

static int get_current(const struct kiln_gpu_device *device, void **ret_current)
{
    int ordinal = 0;
    int code = hip_of(device)->hipGetDevice(&ordinal);
    *ret_current = as_current(ordinal);
    return code;
}

static int set_current(const struct kiln_gpu_device *device, void *current)
{
    return hip_of(device)->hipSetDevice((int)(intptr_t)current);
}

static int load_module(const struct kiln_gpu_device *device, void **ret_module, const void *code)
{
    return hip_of(device)->hipModuleLoadData(ret_module, code);
}

static int find_function(const struct kiln_gpu_device *device, void **ret_function, void *module,
                         const char *symbol, uint32_t lds_bytes)
{
    (void)lds_bytes; /* AMD's kernels declare all that they have */
    return hip_of(device)->hipModuleGetFunction(ret_function, module, symbol);
}

static int unload_module(const struct kiln_gpu_device *device, void *module)
{
    return hip_of(device)->hipModuleUnload(module);
}

static int launch_kernel(const struct kiln_gpu_device *device, const struct kiln_launch *launch,
                         kiln_stream stream)
{
    size_t kernarg_bytes = launch->kernarg_bytes;
    void *extra[] = {LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)launch->kernarg,
                     LAUNCH_PARAM_BUFFER_SIZE, &kernarg_bytes, LAUNCH_PARAM_END};
    return hip_of(device)->hipModuleLaunchKernel(
        launch->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
        launch->block[1], launch->block[2], 0, stream, NULL, extra);
}

static int allocate(const struct kiln_gpu_device *device, void **ret_pointer, size_t bytes)
{
    return hip_of(device)->hipMalloc(ret_pointer, bytes);
}

static int release(const struct kiln_gpu_device *device, void *pointer)
{
    return hip_of(device)->hipFree(pointer);
}

static int copy_in(const struct kiln_gpu_device *device, void *to, const void *host_from,
                   size_t bytes)
{
    return hip_of(device)->hipMemcpy(to, host_from, bytes, KILN_HIP_MEMCPY_TO_DEVICE);
}

static int copy_out(const struct kiln_gpu_device *device, void *host_to, const void *from,
                    size_t bytes)
{
    return hip_of(device)->hipMemcpy(host_to, from, bytes, KILN_HIP_MEMCPY_FROM_DEVICE);
}

static int copy_within(const struct kiln_gpu_device *device, void *to, const void *from,
                       size_t bytes, kiln_stream stream)
{
    return hip_of(device)->hipMemcpyDtoDAsync(to, (void *)(uintptr_t)from, bytes, stream);
}

static int wait_for_stream(const struct kiln_gpu_device *device, kiln_stream stream)
{
    return hip_of(device)->hipStreamSynchronize(stream);
}

static int exchange_capture_mode(const struct kiln_gpu_device *device, int *mode)
{
    return hip_of(device)->hipThreadExchangeStreamCaptureMode(mode);
}

static int describe_memory(const struct kiln_gpu_device *device,
                           struct kiln_device_memory *ret_memory)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    int code = hip_of(device)->hipMemGetInfo(&free_bytes, &total_bytes);
    *ret_memory = (struct kiln_device_memory){free_bytes, largest_cache_bytes};
    return code;
}

static int create_event(const struct kiln_gpu_device *device, void **ret_event)
{
    return hip_of(device)->hipEventCreate(ret_event);
}

static int destroy_event(const struct kiln_gpu_device *device, void *event)
{
    return hip_of(device)->hipEventDestroy(event);
}

static int record_event(const struct kiln_gpu_device *device, void *event, kiln_stream stream)
{
    return hip_of(device)->hipEventRecord(event, stream);
}

static int wait_for_event(const struct kiln_gpu_device *device, void *event)
{
    return hip_of(device)->hipEventSynchronize(event);
}

static int elapsed(const struct kiln_gpu_device *device, float *ret_milliseconds, void *first,
                   void *second)
{
    return hip_of(device)->hipEventElapsedTime(ret_milliseconds, first, second);
}

static const struct kiln_gpu_driver driver = {
    .get_current = get_current,
    .set_current = set_current,
    .load_module = load_module,
    .find_function = find_function,
    .unload_module = unload_module,
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

static enum kiln_status find_current(const struct kiln_hip_library *hip, int *ret_ordinal,
                                     struct kiln_error *error)
{
    return kiln_gpu_check(&hip->base, hip->hipGetDevice(ret_ordinal), error,
                          "asking for the current HIP device");
}

/* KILN_UNSUPPORTED where there is no GPU: a machine without one is no failure. */
static enum kiln_status find_device(const struct kiln_hip_library *hip, int *ret_ordinal,
                                    struct kiln_error *error)
{
    int count = 0;
    int code = hip->hipGetDeviceCount(&count);
    if (code == KILN_HIP_ERROR_NO_DEVICE || code == KILN_HIP_ERROR_INSUFFICIENT_DRIVER ||
        (code == KILN_GPU_SUCCESS && count <= 0)) {
        /* A driver that cannot be opened looks like none. */
        enum kiln_status shortage = kiln_file_check_shortage("look for a GPU", error);
        return shortage ? shortage
                        : kiln_error_set(error, KILN_UNSUPPORTED,
                                         "HIP finds no AMD GPU on this machine");
    }
    enum kiln_status status = kiln_gpu_check(&hip->base, code, error, "counting the HIP devices");
    if (status)
        return status;
    return find_current(hip, ret_ordinal, error);
}

static enum kiln_status hip_open(const struct kiln_device_ops *ops, struct kiln_device **ret_device,
                                 struct kiln_error *error)
{
    struct hip_device *device = calloc(1, sizeof(*device));
    if (!device)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for device 'hip'");
    struct kiln_device *base = &device->gpu.base;
    base->ops = ops;
    /* Linux runs gfx9 and newer with unaligned access enabled, for which element alignment is
     * enough. */
    base->needs_vector_alignment = false;
    device->gpu.driver = &driver;
    device->gpu.library = &device->library.base;
    enum kiln_status status = kiln_hip_library_open(&device->library, error);
    if (status)
        goto fail;
    status = find_device(&device->library, &base->ordinal, error);
    if (status)
        goto fail;
    device->gpu.own = as_current(base->ordinal);
    status = kiln_hip_architecture(&device->library, base->ordinal, &base->target, error);
    if (status)
        goto fail;
    *ret_device = base;
    return KILN_OK;

fail:
    kiln_gpu_library_close(&device->library.base);
    free(device);
    return status;
}

static void hip_close(struct kiln_device *base)
{
    struct hip_device *device = (struct hip_device *)base;
    kiln_gpu_library_close(&device->library.base);
    free(device);
}

static enum kiln_status hip_current_ordinal(struct kiln_device *base, int *ret_ordinal,
                                            struct kiln_error *error)
{
    return find_current(&((struct hip_device *)base)->library, ret_ordinal, error);
}

static int hip_stream_ordinal(struct kiln_device *base, kiln_stream stream)
{
    const struct kiln_hip_library *hip = &((struct hip_device *)base)->library;
    /* hipStreamLegacy and hipStreamPerThread are numbers: default streams of whatever device is
     * current. */
    enum { LAST_SPECIAL_STREAM = 2 };
    if ((uintptr_t)stream <= LAST_SPECIAL_STREAM)
        return base->ordinal;
    return hip->hipGetStreamDeviceId ? hip->hipGetStreamDeviceId(stream) : -1;
}

/* The head of hipPointerAttribute_t, the same in every ROCm, and room for the rest. */
struct pointer_attributes {
    int type; /* its numbers are not the same */
    int device;
    void *device_pointer;
    char rest[240];
};

/* HIP does not know all memory that a GPU reaches (pools of HSA, reserved address ranges), so the
 * kernel is asked too. Where the GPU follows host pointers (XNACK, MI300A), all are fine. */
static bool hip_is_host_pointer(struct kiln_device *base, const void *pointer)
{
    const struct kiln_hip_library *hip = &((struct hip_device *)base)->library;
    int is_pageable = 0;
    if (!hip->hipPointerGetAttributes || !hip->hipDeviceGetAttribute ||
        hip->hipDeviceGetAttribute(&is_pageable, KILN_HIP_PAGEABLE_MEMORY_ACCESS, base->ordinal) !=
            KILN_GPU_SUCCESS ||
        is_pageable)
        return false;
    struct pointer_attributes attributes = {0};
    int code = hip->hipPointerGetAttributes(&attributes, pointer);
    /* The host must not find this error when it asks for that of its own last call. */
    if (code != KILN_GPU_SUCCESS && hip->hipGetLastError)
        (void)hip->hipGetLastError();
    bool is_unknown = code == KILN_HIP_ERROR_INVALID_VALUE ||
                      (code == KILN_GPU_SUCCESS && !attributes.device_pointer);
    return is_unknown && kiln_memory_is_ordinary(pointer);
}

/* HIP_VERSION of the release; empty without the function. */
static void write_version(const struct kiln_gpu_library *library, const char *function,
                          char ret_text[32])
{
    int (*get_version)(int *version);
    struct kiln_error ignored;
    int version = 0;
    kiln_error_init(&ignored);
    if (!kiln_gpu_library_find(library, function, &get_version, &ignored) &&
        get_version(&version) == KILN_GPU_SUCCESS && version > 0)
        (void)snprintf(ret_text, 32, "%d.%d.%d", version / 10000000, version / 100000 % 100,
                       version % 100000);
}

static void hip_describe(struct kiln_device *base, struct kiln_device_description *ret_description)
{
    const struct kiln_hip_library *hip = &((struct hip_device *)base)->library;
    const struct kiln_gpu_library *library = &hip->base;
    int (*get_name)(char *name, int bytes, int ordinal);
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    enum { NAME_BYTES = sizeof ret_description->name };
    if (!kiln_gpu_library_find(library, "hipDeviceGetName", &get_name, &ignored) &&
        get_name(ret_description->name, NAME_BYTES, base->ordinal) != KILN_GPU_SUCCESS)
        ret_description->name[0] = '\0';
    ret_description->name[NAME_BYTES - 1] = '\0';
    if (hip->hipGetDeviceCount(&ret_description->count) != KILN_GPU_SUCCESS)
        ret_description->count = 0;
    write_version(library, "hipDriverGetVersion", ret_description->driver_version);
    write_version(library, "hipRuntimeGetVersion", ret_description->runtime_version);
    kiln_gpu_library_path(library, ret_description->library, sizeof ret_description->library);
}

const struct kiln_device_ops kiln_hip_device_ops = {
    .name = "hip",
    .open = hip_open,
    .close = hip_close,
    KILN_GPU_DEVICE_OPS,
    .describe = hip_describe,
    .current_ordinal = hip_current_ordinal,
    .stream_ordinal = hip_stream_ordinal,
    .is_host_pointer = hip_is_host_pointer,
};
