#include "tests/stand_ins/driver_objects.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static int live_modules;
static int live_allocations;
static int live_events;
static int recorded_events;

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

enum { NOT_CAPTURING, CAPTURING, INVALIDATED };
enum { CAPTURE_MODE_RELAXED = 2 };

static _Atomic int capture;
static _Thread_local int capture_mode;

EXPORT void kiln_stand_in_begin_capture(void)
{
    capture = CAPTURING;
}

EXPORT int kiln_stand_in_end_capture(void)
{
    return atomic_exchange(&capture, NOT_CAPTURING) == CAPTURING;
}

int kiln_driver_exchange_capture_mode(int *mode)
{
    if (*mode < 0 || *mode > CAPTURE_MODE_RELAXED)
        return KILN_STAND_IN_INVALID_VALUE;
    int previous = capture_mode;
    capture_mode = *mode;
    *mode = previous;
    return 0;
}

int kiln_driver_disturb_capture(int code)
{
    if (capture == NOT_CAPTURING || capture_mode == CAPTURE_MODE_RELAXED)
        return code;
    capture = INVALIDATED;
    return KILN_STAND_IN_STREAM_IS_CAPTURED;
}

static void *allocate_zeroed(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory)
        abort();
    return memory;
}

void *kiln_driver_allocate(size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!memory)
        abort();
    kiln_record_count(&live_allocations, 1);
    return memory;
}

void kiln_driver_free(void *memory)
{
    free(memory);
    kiln_record_count(&live_allocations, -1);
}

int kiln_driver_check_image(const void *image)
{
    return memcmp(image, "\177ELF", 4) == 0 ? 0 : KILN_STAND_IN_INVALID_IMAGE;
}

struct kiln_driver_module *kiln_driver_load(int device)
{
    struct kiln_driver_module *module = allocate_zeroed(sizeof(*module));
    module->device = device;
    module->function.module = module;
    kiln_record_count(&live_modules, 1);
    return module;
}

void kiln_driver_unload(struct kiln_driver_module *module)
{
    free(module);
    kiln_record_count(&live_modules, -1);
}

struct kiln_driver_function *kiln_driver_find(struct kiln_driver_module *module, const char *name)
{
    struct kiln_driver_function *function = &module->function;
    snprintf(function->symbol, sizeof(function->symbol), "%s", name);
    return function;
}

int kiln_driver_take_arguments(const struct kiln_driver_function *kernel, void **parameters,
                               void **extra, uint64_t end, struct kiln_stand_in_call *call)
{
    snprintf(call->symbol, sizeof(call->symbol), "%s", kernel->symbol);
    bool packed =
        !parameters && extra && word(extra[0]) == 1 && word(extra[2]) == 2 && word(extra[4]) == end;
    if (!packed)
        return KILN_STAND_IN_INVALID_VALUE;
    size_t bytes = *(const size_t *)extra[3];
    call->kernarg_bytes = (uint32_t)bytes;
    if (bytes > sizeof(call->kernarg))
        return KILN_STAND_IN_INVALID_VALUE;
    memcpy(call->kernarg, extra[1], bytes);
    return 0;
}

struct kiln_driver_event *kiln_driver_create_event(int device)
{
    struct kiln_driver_event *event = allocate_zeroed(sizeof(*event));
    event->device = device;
    kiln_record_count(&live_events, 1);
    return event;
}

void kiln_driver_destroy_event(struct kiln_driver_event *event)
{
    free(event);
    kiln_record_count(&live_events, -1);
}

void kiln_driver_record_event(struct kiln_driver_event *event)
{
    kiln_record_count(&recorded_events, 1);
    event->recorded = recorded_events;
}

int kiln_driver_elapsed(const struct kiln_driver_event *first,
                        const struct kiln_driver_event *second, float *ret_milliseconds)
{
    if (!first->recorded || !second->recorded)
        return KILN_STAND_IN_INVALID_HANDLE;
    *ret_milliseconds =
        (float)((second->recorded - first->recorded) * KILN_STAND_IN_EVENT_MILLISECONDS);
    return 0;
}

const char *kiln_driver_error_text(int code)
{
    switch (code) {
    case KILN_STAND_IN_INVALID_VALUE:
        return "invalid argument";
    case KILN_STAND_IN_OUT_OF_MEMORY:
        return "out of memory";
    case KILN_STAND_IN_INVALID_IMAGE:
        return "device kernel image is invalid";
    case KILN_STAND_IN_INVALID_CONTEXT:
        return "invalid device context";
    case KILN_STAND_IN_INVALID_HANDLE:
        return "invalid resource handle";
    case KILN_STAND_IN_NOT_FOUND:
        return "named symbol not found";
    case KILN_STAND_IN_LAUNCH_FAILURE:
        return "unspecified launch failure";
    case KILN_STAND_IN_STREAM_IS_CAPTURED:
        return "operation not permitted when stream is capturing";
    default:
        return NULL;
    }
}
