#include "tests/stand_ins/cuda_stand_in.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct context {
    int device;
};

struct module {
    const struct context *context;
    struct function {
        struct module *module;
        char symbol[256];
    } function;
};

/* In front of the memory that is handed out. */
struct allocation {
    _Alignas(256) const struct context *context;
    struct allocation *next;
    size_t bytes;
};

struct event {
    const struct context *context;
    int recorded; /* its number among all that were recorded; 0: never */
};

enum { CACHE_BYTES = 50 << 20 };

static struct context contexts[KILN_CUDA_STAND_IN_DEVICES] = {{0}, {1}};
static int device_count = KILN_CUDA_STAND_IN_DEVICES;
static int capability[2] = {9, 0};
static int cache_bytes = CACHE_BYTES;
static int local_bytes;
static int initialized;
static int live_modules;
static int live_allocations;
static int live_contexts;
static int live_events;
static int recorded_events;
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

static uint64_t word(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* The code of a function that needs the driver to be initialised. */
static int after_init(const char *function, int code)
{
    return kiln_record_outcome(function, initialized ? code : KILN_CUDA_STAND_IN_NOT_INITIALIZED);
}

/* The code of a function that needs a current context, and that one where `needed` is not NULL. */
static int in_context(const char *function, const struct context *needed, int code)
{
    bool fits = current && (!needed || needed == current);
    return after_init(function, fits ? code : KILN_CUDA_STAND_IN_INVALID_CONTEXT);
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

EXPORT int kiln_stand_in_live_modules(void)
{
    return live_modules;
}

EXPORT int kiln_stand_in_live_allocations(void)
{
    return live_allocations;
}

EXPORT int kiln_stand_in_live_events(void)
{
    return live_events;
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
EXPORT int cuCtxSynchronize(void);
EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleUnload(void *module);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function);
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

int cuInit(unsigned flags)
{
    int code = device_count == 0 ? KILN_CUDA_STAND_IN_NO_DEVICE : 0;
    code = kiln_record_outcome("cuInit", flags == 0 ? code : KILN_CUDA_STAND_IN_INVALID_VALUE);
    initialized |= code == 0;
    return finish("cuInit", code, flags, 0, 0);
}

int cuGetErrorString(int code, const char **text)
{
    switch (code) {
    case KILN_CUDA_STAND_IN_INVALID_VALUE:
        *text = "invalid argument";
        return 0;
    case KILN_CUDA_STAND_IN_OUT_OF_MEMORY:
        *text = "out of memory";
        return 0;
    case KILN_CUDA_STAND_IN_INVALID_IMAGE:
        *text = "device kernel image is invalid";
        return 0;
    case KILN_CUDA_STAND_IN_INVALID_CONTEXT:
        *text = "invalid device context";
        return 0;
    case KILN_CUDA_STAND_IN_INVALID_HANDLE:
        *text = "invalid resource handle";
        return 0;
    case KILN_CUDA_STAND_IN_NOT_FOUND:
        *text = "named symbol not found";
        return 0;
    default:
        *text = NULL; /* as the driver does */
        return KILN_CUDA_STAND_IN_INVALID_VALUE;
    }
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
    int code = after_init("cuDeviceGetAttribute", known ? 0 : KILN_CUDA_STAND_IN_INVALID_VALUE);
    if (code == 0)
        *value = attribute == 38 ? cache_bytes : capability[attribute - 75];
    return finish("cuDeviceGetAttribute", code, (uint64_t)attribute, (uint64_t)device, 0);
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    bool known = device >= 0 && device < device_count;
    int code =
        after_init("cuDevicePrimaryCtxRetain", known ? 0 : KILN_CUDA_STAND_IN_INVALID_DEVICE);
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
    int code = in_context("cuCtxGetDevice", NULL, 0);
    if (code == 0)
        *device = current->device;
    return finish("cuCtxGetDevice", code, 0, 0, 0);
}

int cuCtxSynchronize(void)
{
    return finish("cuCtxSynchronize", in_context("cuCtxSynchronize", NULL, 0), 0, 0, 0);
}

int cuModuleLoadData(void **module, const void *image)
{
    int code = memcmp(image, "\177ELF", 4) == 0 ? 0 : KILN_CUDA_STAND_IN_INVALID_IMAGE;
    code = in_context("cuModuleLoadData", NULL, code);
    struct module *loaded = NULL;
    if (code == 0) {
        loaded = calloc(1, sizeof(*loaded));
        if (!loaded)
            abort();
        loaded->context = current;
        loaded->function.module = loaded;
        *module = loaded;
        kiln_record_count(&live_modules, 1);
    }
    return finish("cuModuleLoadData", code, word(loaded), word(image), 0);
}

int cuModuleUnload(void *module)
{
    const struct module *loaded = module;
    int code = in_context("cuModuleUnload", loaded->context, 0);
    if (code == 0) {
        free(module);
        kiln_record_count(&live_modules, -1);
    }
    return finish("cuModuleUnload", code, word(module), 0, 0);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    int code = after_init("cuModuleGetFunction", 0);
    struct module *loaded = module;
    struct kiln_stand_in_call call = {.arguments = {0, word(module)}};
    snprintf(call.symbol, sizeof(call.symbol), "%s", name);
    if (code == 0) {
        snprintf(loaded->function.symbol, sizeof(loaded->function.symbol), "%s", name);
        *function = &loaded->function;
        call.arguments[0] = word(&loaded->function);
    }
    record("cuModuleGetFunction", code, &call);
    return code;
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    int code = attribute == 3 ? 0 : KILN_CUDA_STAND_IN_INVALID_VALUE;
    code = after_init("cuFuncGetAttribute", code);
    if (code == 0)
        *value = local_bytes;
    return finish("cuFuncGetAttribute", code, (uint64_t)attribute, word(function), 0);
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                   void *stream, void **parameters, void **extra)
{
    const struct function *kernel = function;
    struct kiln_stand_in_call call = {.arguments = {word(function), grid_x, grid_y, grid_z, block_x,
                                                    block_y, block_z, lds_bytes, word(stream)}};
    snprintf(call.symbol, sizeof(call.symbol), "%s", kernel->symbol);
    bool packed =
        !parameters && extra && word(extra[0]) == 1 && word(extra[2]) == 2 && word(extra[4]) == 0;
    int code = packed ? 0 : KILN_CUDA_STAND_IN_INVALID_VALUE;
    if (packed) {
        size_t bytes = *(const size_t *)extra[3];
        if (bytes > sizeof(call.kernarg))
            code = KILN_CUDA_STAND_IN_INVALID_VALUE;
        else
            memcpy(call.kernarg, extra[1], bytes);
        call.kernarg_bytes = (uint32_t)bytes;
    }
    code = in_context("cuLaunchKernel", kernel->module->context, code);
    record("cuLaunchKernel", code, &call);
    return code;
}

static pthread_mutex_t allocations_lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *allocations;

/* The context of the allocation that all these bytes lie in; NULL: there is none. */
static const struct context *context_of(uint64_t pointer, size_t bytes)
{
    const struct context *context = NULL;
    pthread_mutex_lock(&allocations_lock);
    for (const struct allocation *at = allocations; at && !context; at = at->next) {
        uint64_t first = word(at + 1);
        if (pointer >= first && bytes <= at->bytes && pointer - first <= at->bytes - bytes)
            context = at->context;
    }
    pthread_mutex_unlock(&allocations_lock);
    return context;
}

/* The code of a function that touches device memory. */
static int in_memory(const char *function, uint64_t pointer, size_t bytes)
{
    const struct context *context = context_of(pointer, bytes);
    return in_context(function, context, context ? 0 : KILN_CUDA_STAND_IN_INVALID_VALUE);
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
    int code = in_context("cuMemAlloc", NULL, bytes ? 0 : KILN_CUDA_STAND_IN_INVALID_VALUE);
    if (code == 0) {
        struct allocation *allocation =
            aligned_alloc(256, sizeof(*allocation) + (bytes + 255) / 256 * 256);
        if (!allocation)
            abort();
        allocation->context = current;
        allocation->bytes = bytes;
        add_allocation(allocation);
        *pointer = word(allocation + 1);
        kiln_record_count(&live_allocations, 1);
    }
    return finish("cuMemAlloc", code, code ? 0 : *pointer, bytes, 0);
}

int cuMemFree_v2(uint64_t pointer)
{
    struct allocation *allocation = (struct allocation *)(uintptr_t)pointer - 1;
    int code = in_memory("cuMemFree", pointer, 0);
    if (code == 0) {
        remove_allocation(allocation);
        free(allocation);
        kiln_record_count(&live_allocations, -1);
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
    int code = in_context("cuMemGetInfo", NULL, 0);
    if (code == 0) {
        *free_bytes = KILN_STAND_IN_FREE_BYTES;
        *total_bytes = KILN_STAND_IN_TOTAL_BYTES;
    }
    return finish("cuMemGetInfo", code, 0, 0, 0);
}

int cuEventCreate(void **event, unsigned flags)
{
    int code = in_context("cuEventCreate", NULL, 0);
    struct event *made = NULL;
    if (code == 0) {
        made = calloc(1, sizeof(*made));
        if (!made)
            abort();
        made->context = current;
        *event = made;
        kiln_record_count(&live_events, 1);
    }
    return finish("cuEventCreate", code, word(made), flags, 0);
}

int cuEventDestroy_v2(void *event)
{
    int code = in_context("cuEventDestroy", ((const struct event *)event)->context, 0);
    if (code == 0) {
        free(event);
        kiln_record_count(&live_events, -1);
    }
    return finish("cuEventDestroy", code, word(event), 0, 0);
}

int cuEventRecord(void *event, void *stream)
{
    struct event *recorded = event;
    int code = in_context("cuEventRecord", recorded->context, 0);
    if (code == 0) {
        kiln_record_count(&recorded_events, 1);
        recorded->recorded = recorded_events;
    }
    return finish("cuEventRecord", code, word(event), word(stream), 0);
}

int cuEventSynchronize(void *event)
{
    int code = in_context("cuEventSynchronize", ((const struct event *)event)->context, 0);
    return finish("cuEventSynchronize", code, word(event), 0, 0);
}

int cuEventElapsedTime(float *milliseconds, void *first, void *second)
{
    const struct event *from = first;
    const struct event *to = second;
    int code = from->recorded && to->recorded ? 0 : KILN_CUDA_STAND_IN_INVALID_HANDLE;
    code = in_context("cuEventElapsedTime", from->context, code);
    if (code == 0)
        *milliseconds = (float)((to->recorded - from->recorded) * KILN_STAND_IN_EVENT_MILLISECONDS);
    return finish("cuEventElapsedTime", code, word(first), word(second), 0);
}

int cuStreamSynchronize(void *stream)
{
    int code = in_context("cuStreamSynchronize", NULL, 0);
    return finish("cuStreamSynchronize", code, word(stream), 0, 0);
}
