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

struct stand_in stand_in_open(void)
{
    void *library = dlopen(KILN_STAND_IN_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    setenv("KILN_HIP_LIBRARY", KILN_STAND_IN_LIBRARY, 1);
    struct stand_in hip = {0};
    find(library, "kiln_stand_in_reset", &hip.reset);
    find(library, "kiln_stand_in_call_count", &hip.call_count);
    find(library, "kiln_stand_in_call", &hip.call);
    find(library, "kiln_stand_in_fail", &hip.fail);
    find(library, "kiln_stand_in_set_architecture", &hip.set_architecture);
    find(library, "kiln_stand_in_set_device_count", &hip.set_device_count);
    find(library, "kiln_stand_in_live_modules", &hip.live_modules);
    find(library, "kiln_stand_in_live_allocations", &hip.live_allocations);
    find(library, "hipSetDevice", &hip.set_device);
    hip.reset();
    return hip;
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
