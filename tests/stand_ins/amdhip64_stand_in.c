#include "tests/stand_ins/amdhip64_stand_in.h"

#include "tests/stand_ins/driver_objects.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define EXPORT         __attribute__((visibility("default")))
#define DEFAULT_GFX    "gfx90a:sramecc+:xnack-"
#define DEFAULT_OFFSET 1160

static int device_count = KILN_STAND_IN_DEVICES;
static char architecture[64] = DEFAULT_GFX;
static size_t architecture_offset = DEFAULT_OFFSET;
static int stream_device;
static const void *unknown_pointer;
static int pageable;
static _Thread_local int current_device;

static void record(const char *function, int result, const struct kiln_stand_in_call *details)
{
    kiln_record_call(function, result, current_device, details);
}

static int finish(const char *function, int result, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    struct kiln_stand_in_call call = {.arguments = {a, b, c, d}};
    record(function, result, &call);
    return result;
}

EXPORT void kiln_stand_in_reset(void)
{
    kiln_record_reset();
    device_count = KILN_STAND_IN_DEVICES;
    stream_device = 0;
    unknown_pointer = NULL;
    pageable = 0;
    snprintf(architecture, sizeof(architecture), "%s", DEFAULT_GFX);
    architecture_offset = DEFAULT_OFFSET;
}

EXPORT void kiln_stand_in_set_architecture(const char *name, size_t offset)
{
    snprintf(architecture, sizeof(architecture), "%s", name);
    architecture_offset = offset;
}

EXPORT void kiln_stand_in_set_device_count(int value)
{
    device_count = value;
}

EXPORT void kiln_stand_in_set_stream_device(int ordinal)
{
    stream_device = ordinal;
}

EXPORT void kiln_stand_in_set_unknown_pointer(const void *pointer)
{
    unknown_pointer = pointer;
}

EXPORT void kiln_stand_in_set_pageable(int is_pageable)
{
    pageable = is_pageable;
}

/* ---- HIP ---- */

EXPORT const char *hipGetErrorString(int code);
EXPORT int hipGetDeviceCount(int *ret_count);
EXPORT int hipGetDevice(int *ordinal);
EXPORT int hipSetDevice(int ordinal);
EXPORT int hipGetDevicePropertiesR0600(void *properties, int ordinal);
EXPORT int hipModuleLoadData(void **module, const void *image);
EXPORT int hipModuleUnload(void *module);
EXPORT int hipModuleGetFunction(void **function, void *module, const char *name);
EXPORT int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned lds_bytes, void *stream, void **parameters, void **extra);
EXPORT int hipMalloc(void **pointer, size_t bytes);
EXPORT int hipFree(void *pointer);
EXPORT int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
EXPORT int hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *stream);
EXPORT int hipMemGetInfo(size_t *free_bytes, size_t *total_bytes);
EXPORT int hipEventCreate(void **event);
EXPORT int hipEventDestroy(void *event);
EXPORT int hipEventRecord(void *event, void *stream);
EXPORT int hipEventSynchronize(void *event);
EXPORT int hipEventElapsedTime(float *milliseconds, void *first, void *second);
EXPORT int hipStreamSynchronize(void *stream);
EXPORT int hipThreadExchangeStreamCaptureMode(int *mode);
EXPORT int hipGetStreamDeviceId(void *stream);
EXPORT int hipPointerGetAttributes(void *attributes, const void *pointer);
EXPORT int hipDeviceGetAttribute(int *value, int attribute, int ordinal);
EXPORT int hipDeviceGetName(char *name, int bytes, int ordinal);
EXPORT int hipDriverGetVersion(int *version);
EXPORT int hipRuntimeGetVersion(int *version);

const char *hipGetErrorString(int code)
{
    const char *text = kiln_driver_error_text(code);
    return text ? text : "some other error";
}

int hipGetDeviceCount(int *ret_count)
{
    int code =
        kiln_record_outcome("hipGetDeviceCount", device_count == 0 ? KILN_STAND_IN_NO_DEVICE : 0);
    if (code == 0)
        *ret_count = device_count;
    return finish("hipGetDeviceCount", code, 0, 0, 0, 0);
}

int hipGetDevice(int *ordinal)
{
    int code = kiln_record_outcome("hipGetDevice", 0);
    if (code == 0)
        *ordinal = current_device;
    return finish("hipGetDevice", code, 0, 0, 0, 0);
}

int hipSetDevice(int ordinal)
{
    bool known = ordinal >= 0 && ordinal < device_count;
    int code = kiln_record_outcome("hipSetDevice", known ? 0 : KILN_STAND_IN_INVALID_DEVICE);
    if (code == 0)
        current_device = ordinal;
    return finish("hipSetDevice", code, (uint64_t)(int64_t)ordinal, 0, 0, 0);
}

int hipGetDevicePropertiesR0600(void *properties, int ordinal)
{
    int code = kiln_record_outcome("hipGetDevicePropertiesR0600", 0);
    if (code == 0) {
        /* The name comes first, may say anything, and is not the processor. */
        snprintf(properties, 256, "AMD Instinct gfx000");
        memcpy((char *)properties + architecture_offset, architecture, strlen(architecture) + 1);
    }
    return finish("hipGetDevicePropertiesR0600", code, (uint64_t)(int64_t)ordinal, 0, 0, 0);
}

int hipModuleLoadData(void **module, const void *image)
{
    int code = kiln_record_outcome("hipModuleLoadData", kiln_driver_check_image(image));
    if (code == 0)
        *module = kiln_driver_load(current_device);
    return finish("hipModuleLoadData", code, code ? 0 : word(*module), word(image), 0, 0);
}

int hipModuleUnload(void *module)
{
    int code = kiln_record_outcome("hipModuleUnload", kiln_driver_disturb_capture(0));
    if (code == 0)
        kiln_driver_unload(module);
    return finish("hipModuleUnload", code, word(module), 0, 0, 0);
}

int hipModuleGetFunction(void **function, void *module, const char *name)
{
    int code = kiln_record_outcome("hipModuleGetFunction", 0);
    if (code == 0)
        *function = kiln_driver_find(module, name);
    struct kiln_stand_in_call call = {.arguments = {code ? 0 : word(*function), word(module)}};
    snprintf(call.symbol, sizeof(call.symbol), "%s", name);
    record("hipModuleGetFunction", code, &call);
    return code;
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                          void *stream, void **parameters, void **extra)
{
    const struct kiln_driver_function *kernel = function;
    struct kiln_stand_in_call call = {.arguments = {word(function), grid_x, grid_y, grid_z, block_x,
                                                    block_y, block_z, lds_bytes, word(stream)}};
    int code = kiln_driver_take_arguments(kernel, parameters, extra, 3, &call);
    if (kernel->module->device != current_device)
        code = KILN_STAND_IN_INVALID_HANDLE;
    code = kiln_record_outcome("hipModuleLaunchKernel", code);
    record("hipModuleLaunchKernel", code, &call);
    return code;
}

int hipMalloc(void **pointer, size_t bytes)
{
    int code = kiln_record_outcome("hipMalloc", kiln_driver_disturb_capture(0));
    if (code == 0)
        *pointer = kiln_driver_allocate(bytes);
    return finish("hipMalloc", code, code ? 0 : word(*pointer), bytes, 0, 0);
}

int hipFree(void *pointer)
{
    int refusal = kiln_driver_disturb_capture(0);
    int code = kiln_record_outcome("hipFree", refusal);
    /* A planted failure stands for an earlier launch's, reported here: the memory is free. */
    if (refusal == 0)
        kiln_driver_free(pointer);
    return finish("hipFree", code, word(pointer), 0, 0, 0);
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    int code =
        kiln_record_outcome("hipMemcpy", kind == 1 || kind == 2 ? 0 : KILN_STAND_IN_INVALID_VALUE);
    if (code == 0)
        memcpy(to, from, bytes);
    return finish("hipMemcpy", code, word(to), word(from), bytes, (uint64_t)kind);
}

int hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *stream)
{
    int code = kiln_record_outcome("hipMemcpyDtoDAsync", 0);
    if (code == 0)
        memcpy(to, from, bytes);
    return finish("hipMemcpyDtoDAsync", code, word(to), word(from), bytes, word(stream));
}

int hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    int code = kiln_record_outcome("hipMemGetInfo", 0);
    if (code == 0) {
        *free_bytes = KILN_STAND_IN_FREE_BYTES;
        *total_bytes = KILN_STAND_IN_TOTAL_BYTES;
    }
    return finish("hipMemGetInfo", code, 0, 0, 0, 0);
}

int hipEventCreate(void **event)
{
    int code = kiln_record_outcome("hipEventCreate", 0);
    if (code == 0)
        *event = kiln_driver_create_event(current_device);
    return finish("hipEventCreate", code, code ? 0 : word(*event), 0, 0, 0);
}

int hipEventDestroy(void *event)
{
    int code = kiln_record_outcome("hipEventDestroy", 0);
    if (code == 0)
        kiln_driver_destroy_event(event);
    return finish("hipEventDestroy", code, word(event), 0, 0, 0);
}

int hipEventRecord(void *event, void *stream)
{
    bool fits = ((const struct kiln_driver_event *)event)->device == current_device;
    int code = kiln_record_outcome("hipEventRecord", fits ? 0 : KILN_STAND_IN_INVALID_HANDLE);
    if (code == 0)
        kiln_driver_record_event(event);
    return finish("hipEventRecord", code, word(event), word(stream), 0, 0);
}

int hipEventSynchronize(void *event)
{
    int code = kiln_record_outcome("hipEventSynchronize", 0);
    return finish("hipEventSynchronize", code, word(event), 0, 0, 0);
}

int hipEventElapsedTime(float *milliseconds, void *first, void *second)
{
    float elapsed = 0;
    int code = kiln_driver_elapsed(first, second, &elapsed);
    code = kiln_record_outcome("hipEventElapsedTime", code);
    if (code == 0)
        *milliseconds = elapsed;
    return finish("hipEventElapsedTime", code, word(first), word(second), 0, 0);
}

int hipStreamSynchronize(void *stream)
{
    int code = kiln_record_outcome("hipStreamSynchronize", 0);
    return finish("hipStreamSynchronize", code, word(stream), 0, 0, 0);
}

int hipThreadExchangeStreamCaptureMode(int *mode)
{
    int code = kiln_record_outcome("hipThreadExchangeStreamCaptureMode",
                                   kiln_driver_exchange_capture_mode(mode));
    return finish("hipThreadExchangeStreamCaptureMode", code, (uint64_t)(int64_t)*mode, 0, 0, 0);
}

int hipGetStreamDeviceId(void *stream)
{
    finish("hipGetStreamDeviceId", 0, word(stream), 0, 0, 0);
    return stream_device;
}

/* Calls are not recorded: nothing depends on their order. */
int hipPointerGetAttributes(void *attributes, const void *pointer)
{
    if (!unknown_pointer)
        return KILN_STAND_IN_NOT_SUPPORTED;
    if (pointer == unknown_pointer)
        return KILN_STAND_IN_INVALID_VALUE;
    memcpy((char *)attributes + 8, &pointer, sizeof(pointer));
    return 0;
}

int hipDeviceGetAttribute(int *value, int attribute, int ordinal)
{
    (void)ordinal;
    *value = attribute == 65 ? pageable : 0;
    return 0;
}

int hipDeviceGetName(char *name, int bytes, int ordinal)
{
    (void)snprintf(name, (size_t)bytes, "stand-in %d", ordinal);
    return 0;
}

int hipDriverGetVersion(int *version)
{
    *version = 60443482;
    return 0;
}

int hipRuntimeGetVersion(int *version)
{
    *version = 70012345;
    return 0;
}
