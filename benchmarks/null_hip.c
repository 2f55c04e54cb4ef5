/*
 * A HIP runtime that does nothing, successfully: what is left of the time of an execute is Kiln's
 * own. The table's functions are declared by expanding it, so that a change of the table is a
 * compile error here.
 */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define KILN_HIP_FUNCTION(name, parameters) EXPORT int name parameters;
#include "runtime/device/hip_functions.def"

EXPORT const char *hipGetErrorString(int code);
EXPORT int hipGetDeviceProperties(void *properties, int ordinal);

static char object;

int hipGetDeviceCount(int *count)
{
    *count = 1;
    return 0;
}

int hipGetDevice(int *ordinal)
{
    *ordinal = 0;
    return 0;
}

int hipSetDevice(int ordinal)
{
    return ordinal;
}

int hipModuleLoadData(void **module, const void *image)
{
    *module = &object;
    return image ? 0 : 1;
}

int hipModuleUnload(void *module)
{
    return module != &object;
}

int hipModuleGetFunction(void **function, void *module, const char *name)
{
    *function = module;
    return name ? 0 : 1;
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                          void *stream, void **parameters, void **extra)
{
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
    (void)block_z, (void)lds_bytes, (void)stream, (void)parameters, (void)extra;
    return 0;
}

int hipMalloc(void **pointer, size_t bytes)
{
    (void)bytes;
    *pointer = &object;
    return 0;
}

int hipFree(void *pointer)
{
    (void)pointer;
    return 0;
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)to, (void)from, (void)bytes, (void)kind;
    return 0;
}

int hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *stream)
{
    (void)stream;
    return hipMemcpy(to, from, bytes, 0);
}

int hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = *total_bytes = (size_t)1 << 30;
    return 0;
}

int hipEventCreate(void **event)
{
    *event = &object;
    return 0;
}

int hipEventDestroy(void *event)
{
    return event != &object;
}

int hipEventRecord(void *event, void *stream)
{
    (void)stream;
    return event != &object;
}

int hipEventSynchronize(void *event)
{
    return event != &object;
}

int hipEventElapsedTime(float *milliseconds, void *first, void *second)
{
    *milliseconds = 0;
    return first != second;
}

int hipStreamSynchronize(void *stream)
{
    (void)stream;
    return 0;
}

int hipThreadExchangeStreamCaptureMode(int *mode)
{
    *mode = 0;
    return 0;
}

const char *hipGetErrorString(int code)
{
    return code ? "failure" : "success";
}

/* The processor's name stands behind the device's name, wherever the layout of the day has it. */
int hipGetDeviceProperties(void *properties, int ordinal)
{
    enum { NAME_BYTES = 256 };
    static const char processor[] = "gfx90a:sramecc+:xnack-";
    memcpy((char *)properties + NAME_BYTES + 140, processor, sizeof(processor));
    return ordinal;
}
