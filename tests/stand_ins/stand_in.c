#include "tests/stand_ins/stand_in.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find(void *library, const char *name, void *ret_function)
{
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "the stand-in has no '%s'\n", name);
        abort();
    }
    memcpy(ret_function, &address, sizeof(address));
}

/* Opens the library, points the variable at it and finds what all stand-ins have. */
static struct stand_in open_library(const char *path, const char *variable, void **ret_library)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    setenv(variable, path, 1);
    struct stand_in stand_in = {0};
    find(library, "kiln_stand_in_reset", &stand_in.reset);
    find(library, "kiln_stand_in_call_count", &stand_in.call_count);
    find(library, "kiln_stand_in_call", &stand_in.call);
    find(library, "kiln_stand_in_fail", &stand_in.fail);
    find(library, "kiln_stand_in_set_device_count", &stand_in.set_device_count);
    find(library, "kiln_stand_in_live_modules", &stand_in.live_modules);
    find(library, "kiln_stand_in_live_allocations", &stand_in.live_allocations);
    find(library, "kiln_stand_in_live_events", &stand_in.live_events);
    find(library, "kiln_stand_in_begin_capture", &stand_in.begin_capture);
    find(library, "kiln_stand_in_end_capture", &stand_in.end_capture);
    stand_in.reset();
    *ret_library = library;
    return stand_in;
}

struct stand_in stand_in_open(void)
{
    void *library;
    struct stand_in hip = open_library(KILN_STAND_IN_LIBRARY, "KILN_HIP_LIBRARY", &library);
    find(library, "kiln_stand_in_set_architecture", &hip.set_architecture);
    find(library, "kiln_stand_in_set_stream_device", &hip.set_stream_device);
    find(library, "hipSetDevice", &hip.set_device);
    find(library, "kiln_stand_in_set_unknown_pointer", &hip.set_unknown_pointer);
    find(library, "kiln_stand_in_set_pageable", &hip.set_pageable);
    return hip;
}

struct cuda_stand_in cuda_stand_in_open(void)
{
    void *library;
    struct cuda_stand_in cuda = {
        .base = open_library(KILN_CUDA_STAND_IN_LIBRARY, "KILN_CUDA_LIBRARY", &library)};
    find(library, "kiln_stand_in_set_capability", &cuda.set_capability);
    find(library, "kiln_stand_in_set_local_bytes", &cuda.set_local_bytes);
    find(library, "kiln_stand_in_context", &cuda.context);
    find(library, "kiln_stand_in_live_contexts", &cuda.live_contexts);
    find(library, "kiln_stand_in_set_cache_bytes", &cuda.set_cache_bytes);
    find(library, "cuInit", &cuda.init);
    find(library, "cuCtxSetCurrent", &cuda.set_current);
    find(library, "cuCtxGetCurrent", &cuda.get_current);
    return cuda;
}

const char *stand_in_trace(const struct stand_in *hip, size_t first, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = first; i < hip->call_count() && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s ", hip->call(i)->function);
    return text;
}

const struct kiln_stand_in_call *stand_in_find(const struct stand_in *hip, const char *function,
                                               size_t nth)
{
    for (size_t i = 0; i < hip->call_count(); i++) {
        const struct kiln_stand_in_call *call = hip->call(i);
        if (strcmp(call->function, function) == 0 && nth-- == 0)
            return call;
    }
    return NULL;
}
