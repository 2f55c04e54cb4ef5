#include "tests/stand_ins/cuda_stand_in.h"

#include "tests/stand_ins/driver_objects.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct context {
    int device;
};

/* In front of the memory that is handed out. */
struct allocation {
    _Alignas(256) struct allocation *next;
    int device;
    size_t bytes;
};

enum { CACHE_BYTES = 50 << 20, ANY = -1 };

static struct context contexts[KILN_CUDA_STAND_IN_DEVICES] = {{0}, {1}};
static int device_count = KILN_CUDA_STAND_IN_DEVICES;
static int capability[2] = {9, 0};
static int cache_bytes = CACHE_BYTES;
static int local_bytes;
static int initialized;
static int live_contexts;
static _Thread_local struct context *current;

static void record(const char *function, int result, const struct kiln_stand_in_call *details)
{
    kiln_record_call(function, result, current ? current->device : -1, details);
}

static int finish(const char *function, int result, uint64_t a, uint64_t b, uint64_t c)
{
    struct kiln_stand_in_call call = {.arguments = {a, b, c}};
    record(function, result, &call);
    return result;
}

/* The code of a function that needs the driver to be initialised. */
static int after_init(const char *function, int code)
{
    return kiln_record_outcome(function, initialized ? code : KILN_STAND_IN_NOT_INITIALIZED);
}

/* The code of a function that needs a current context, and that of the device where it is not ANY.
 */
static int in_context(const char *function, int device, int code)
{
    bool fits = current && (device == ANY || device == current->device);
    return after_init(function, fits ? code : KILN_STAND_IN_INVALID_CONTEXT);
}

EXPORT void kiln_stand_in_reset(void)
{
    kiln_record_reset();
    device_count = KILN_CUDA_STAND_IN_DEVICES;
    capability[0] = 9;
    capability[1] = 0;
    local_bytes = 0;
    cache_bytes = CACHE_BYTES;
}

EXPORT void kiln_stand_in_set_cache_bytes(int bytes)
{
    cache_bytes = bytes;
}

EXPORT void kiln_stand_in_set_device_count(int value)
{
    device_count = value;
}

EXPORT void kiln_stand_in_set_capability(int major, int minor)
{
    capability[0] = major;
    capability[1] = minor;
}

EXPORT void kiln_stand_in_set_local_bytes(int bytes)
{
    local_bytes = bytes;
}

EXPORT void *kiln_stand_in_context(int device)
{
    return &contexts[device];
}

EXPORT int kiln_stand_in_live_contexts(void)
{
    return live_contexts;
}

/* ---- CUDA ---- */

EXPORT int cuInit(unsigned flags);
EXPORT int cuGetErrorString(int code, const char **text);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuCtxGetCurrent(void **context);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuCtxGetDevice(int *device);
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode);
EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleUnload(void *module);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function);
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value);
EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                          void *stream, void **parameters, void **extra);
EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes);
EXPORT int cuMemFree_v2(uint64_t pointer);
EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream);
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
EXPORT int cuEventCreate(void **event, unsigned flags);
EXPORT int cuEventDestroy_v2(void *event);
EXPORT int cuEventRecord(void *event, void *stream);
EXPORT int cuEventSynchronize(void *event);
EXPORT int cuEventElapsedTime(float *milliseconds, void *first, void *second);
EXPORT int cuStreamSynchronize(void *stream);
EXPORT int cuDeviceGetName(char *name, int bytes, int device);
EXPORT int cuDriverGetVersion(int *version);

int cuInit(unsigned flags)
{
    int code = device_count == 0 ? KILN_STAND_IN_NO_DEVICE : 0;
    code = kiln_record_outcome("cuInit", flags == 0 ? code : KILN_STAND_IN_INVALID_VALUE);
    initialized |= code == 0;
    return finish("cuInit", code, flags, 0, 0);
}

int cuGetErrorString(int code, const char **text)
{
    *text = kiln_driver_error_text(code); /* NULL too is as the driver does */
    return *text ? 0 : KILN_STAND_IN_INVALID_VALUE;
}

int cuDeviceGetCount(int *count)
{
    int code = after_init("cuDeviceGetCount", 0);
    if (code == 0)
        *count = device_count;
    return finish("cuDeviceGetCount", code, 0, 0, 0);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    bool known = (attribute == 38 || attribute == 75 || attribute == 76) && device >= 0 &&
                 device < device_count;
    int code = after_init("cuDeviceGetAttribute", known ? 0 : KILN_STAND_IN_INVALID_VALUE);
    if (code == 0)
        *value = attribute == 38 ? cache_bytes : capability[attribute - 75];
    return finish("cuDeviceGetAttribute", code, (uint64_t)attribute, (uint64_t)device, 0);
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    bool known = device >= 0 && device < device_count;
    int code = after_init("cuDevicePrimaryCtxRetain", known ? 0 : KILN_STAND_IN_INVALID_DEVICE);
    if (code == 0) {
        *context = &contexts[device];
        kiln_record_count(&live_contexts, 1);
    }
    return finish("cuDevicePrimaryCtxRetain", code, (uint64_t)device, 0, 0);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    int code = after_init("cuDevicePrimaryCtxRelease", 0);
    if (code == 0)
        kiln_record_count(&live_contexts, -1);
    return finish("cuDevicePrimaryCtxRelease", code, (uint64_t)device, 0, 0);
}

int cuCtxGetCurrent(void **context)
{
    int code = after_init("cuCtxGetCurrent", 0);
    if (code == 0)
        *context = current;
    return finish("cuCtxGetCurrent", code, 0, 0, 0);
}

int cuCtxSetCurrent(void *context)
{
    int code = after_init("cuCtxSetCurrent", 0);
    if (code == 0)
        current = context;
    return finish("cuCtxSetCurrent", code, word(context), 0, 0);
}

int cuCtxGetDevice(int *device)
{
    int code = in_context("cuCtxGetDevice", ANY, 0);
    if (code == 0)
        *device = current->device;
    return finish("cuCtxGetDevice", code, 0, 0, 0);
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    int code =
        after_init("cuThreadExchangeStreamCaptureMode", kiln_driver_exchange_capture_mode(mode));
    return finish("cuThreadExchangeStreamCaptureMode", code, (uint64_t)(int64_t)*mode, 0, 0);
}

int cuModuleLoadData(void **module, const void *image)
{
    int code = in_context("cuModuleLoadData", ANY, kiln_driver_check_image(image));
    if (code == 0)
        *module = kiln_driver_load(current->device);
    return finish("cuModuleLoadData", code, code ? 0 : word(*module), word(image), 0);
}

int cuModuleUnload(void *module)
{
    const struct kiln_driver_module *loaded = module;
    int code = in_context("cuModuleUnload", loaded->device, kiln_driver_disturb_capture(0));
    if (code == 0)
        kiln_driver_unload(module);
    return finish("cuModuleUnload", code, word(module), 0, 0);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    int code = after_init("cuModuleGetFunction", 0);
    if (code == 0)
        *function = kiln_driver_find(module, name);
    struct kiln_stand_in_call call = {.arguments = {code ? 0 : word(*function), word(module)}};
    snprintf(call.symbol, sizeof(call.symbol), "%s", name);
    record("cuModuleGetFunction", code, &call);
    return code;
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    int code = attribute == 3 ? 0 : KILN_STAND_IN_INVALID_VALUE;
    code = after_init("cuFuncGetAttribute", code);
    if (code == 0)
        *value = local_bytes;
    return finish("cuFuncGetAttribute", code, (uint64_t)attribute, word(function), 0);
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    int code = attribute == 8 ? 0 : KILN_STAND_IN_INVALID_VALUE;
    code = after_init("cuFuncSetAttribute", code);
    return finish("cuFuncSetAttribute", code, word(function), (uint64_t)attribute, (uint64_t)value);
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                   void *stream, void **parameters, void **extra)
{
    const struct kiln_driver_function *kernel = function;
    struct kiln_stand_in_call call = {.arguments = {word(function), grid_x, grid_y, grid_z, block_x,
                                                    block_y, block_z, lds_bytes, word(stream)}};
    int code = kiln_driver_take_arguments(kernel, parameters, extra, 0, &call);
    code = in_context("cuLaunchKernel", kernel->module->device, code);
    record("cuLaunchKernel", code, &call);
    return code;
}

static pthread_mutex_t allocations_lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *allocations;

/* The device of the allocation that all these bytes lie in; ANY: there is none. */
static int device_of(uint64_t pointer, size_t bytes)
{
    int device = ANY;
    pthread_mutex_lock(&allocations_lock);
    for (const struct allocation *at = allocations; at && device == ANY; at = at->next) {
        uint64_t first = word(at + 1);
        if (pointer >= first && bytes <= at->bytes && pointer - first <= at->bytes - bytes)
            device = at->device;
    }
    pthread_mutex_unlock(&allocations_lock);
    return device;
}

/* The code of a function that touches device memory. */
static int in_memory(const char *function, uint64_t pointer, size_t bytes)
{
    int device = device_of(pointer, bytes);
    return in_context(function, device, device == ANY ? KILN_STAND_IN_INVALID_VALUE : 0);
}

static void add_allocation(struct allocation *allocation)
{
    pthread_mutex_lock(&allocations_lock);
    allocation->next = allocations;
    allocations = allocation;
    pthread_mutex_unlock(&allocations_lock);
}

static void remove_allocation(const struct allocation *allocation)
{
    pthread_mutex_lock(&allocations_lock);
    struct allocation **at = &allocations;
    while (*at && *at != allocation)
        at = &(*at)->next;
    if (*at)
        *at = allocation->next;
    pthread_mutex_unlock(&allocations_lock);
}

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    int code = in_context("cuMemAlloc", ANY,
                          kiln_driver_disturb_capture(bytes ? 0 : KILN_STAND_IN_INVALID_VALUE));
    if (code == 0) {
        struct allocation *allocation = kiln_driver_allocate(sizeof(*allocation) + bytes);
        allocation->device = current->device;
        allocation->bytes = bytes;
        add_allocation(allocation);
        *pointer = word(allocation + 1);
    }
    return finish("cuMemAlloc", code, code ? 0 : *pointer, bytes, 0);
}

int cuMemFree_v2(uint64_t pointer)
{
    struct allocation *allocation = (struct allocation *)(uintptr_t)pointer - 1;
    int code = in_memory("cuMemFree", pointer, 0);
    code = code ? code : kiln_driver_disturb_capture(0);
    if (code == 0) {
        remove_allocation(allocation);
        kiln_driver_free(allocation);
    }
    return finish("cuMemFree", code, pointer, 0, 0);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    int code = in_memory("cuMemcpyHtoD", to, bytes);
    if (code == 0)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return finish("cuMemcpyHtoD", code, to, word(from), bytes);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    int code = in_memory("cuMemcpyDtoH", from, bytes);
    if (code == 0)
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return finish("cuMemcpyDtoH", code, word(to), from, bytes);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    int code = in_memory("cuMemcpyDtoDAsync", from, bytes);
    if (code == 0)
        code = in_memory("cuMemcpyDtoDAsync", to, bytes);
    if (code == 0)
        memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    struct kiln_stand_in_call call = {.arguments = {to, from, bytes, word(stream)}};
    record("cuMemcpyDtoDAsync", code, &call);
    return code;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    int code = in_context("cuMemGetInfo", ANY, 0);
    if (code == 0) {
        *free_bytes = KILN_STAND_IN_FREE_BYTES;
        *total_bytes = KILN_STAND_IN_TOTAL_BYTES;
    }
    return finish("cuMemGetInfo", code, 0, 0, 0);
}

int cuEventCreate(void **event, unsigned flags)
{
    int code = in_context("cuEventCreate", ANY, 0);
    if (code == 0)
        *event = kiln_driver_create_event(current->device);
    return finish("cuEventCreate", code, code ? 0 : word(*event), flags, 0);
}

/* The code of a function that needs the event's context. */
static int of_event(const char *function, const struct kiln_driver_event *event, int code)
{
    return in_context(function, event->device, code);
}

int cuEventDestroy_v2(void *event)
{
    int code = of_event("cuEventDestroy", event, 0);
    if (code == 0)
        kiln_driver_destroy_event(event);
    return finish("cuEventDestroy", code, word(event), 0, 0);
}

int cuEventRecord(void *event, void *stream)
{
    int code = of_event("cuEventRecord", event, 0);
    if (code == 0)
        kiln_driver_record_event(event);
    return finish("cuEventRecord", code, word(event), word(stream), 0);
}

int cuEventSynchronize(void *event)
{
    return finish("cuEventSynchronize", of_event("cuEventSynchronize", event, 0), word(event), 0,
                  0);
}

int cuEventElapsedTime(float *milliseconds, void *first, void *second)
{
    float elapsed = 0;
    int code = kiln_driver_elapsed(first, second, &elapsed);
    code = of_event("cuEventElapsedTime", first, code);
    if (code == 0)
        *milliseconds = elapsed;
    return finish("cuEventElapsedTime", code, word(first), word(second), 0);
}

int cuStreamSynchronize(void *stream)
{
    int code = in_context("cuStreamSynchronize", ANY, 0);
    return finish("cuStreamSynchronize", code, word(stream), 0, 0);
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    (void)snprintf(name, (size_t)bytes, "stand-in %d", device);
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 12080;
    return 0;
}
