/*
 * A stand-in for libamdhip64: a shared library with HIP's names that runs nothing and records
 * everything. Tests load it through KILN_HIP_LIBRARY, find these functions with dlsym, and compare
 * what was called.
 *
 * It reports KILN_STAND_IN_DEVICES devices. Device memory is ordinary memory. The current device is
 * per thread, as HIP's is, and a kernel may only be launched while the device that its module was
 * loaded on is current.
 */
#ifndef KILN_TESTS_AMDHIP64_STAND_IN_H
#define KILN_TESTS_AMDHIP64_STAND_IN_H

#include <stddef.h>
#include <stdint.h>

enum { KILN_STAND_IN_DEVICES = 3, KILN_STAND_IN_CALLS = 4096, KILN_STAND_IN_KERNARG_BYTES = 8192 };

/* HIP's codes that the stand-in gives by itself. */
enum {
    KILN_STAND_IN_INVALID_VALUE = 1,
    KILN_STAND_IN_OUT_OF_MEMORY = 2,
    KILN_STAND_IN_NO_DEVICE = 100,
    KILN_STAND_IN_INVALID_DEVICE = 101,
    KILN_STAND_IN_INVALID_IMAGE = 200,
    KILN_STAND_IN_INVALID_HANDLE = 400,
    KILN_STAND_IN_NOT_FOUND = 500,
};

struct kiln_stand_in_call {
    const char *function;
    int result;
    int device; /* current on the calling thread */
    /* Module, function, stream, pointers and sizes in the order of HIP's parameters; grid and block
     * of a launch. */
    uint64_t arguments[9];
    char symbol[256]; /* of hipModuleGetFunction and of the function launched */
    uint32_t kernarg_bytes;
    unsigned char kernarg[KILN_STAND_IN_KERNARG_BYTES];
};

/* Forgets calls and settings; modules and memory stay. */
void kiln_stand_in_reset(void);
size_t kiln_stand_in_call_count(void);
/* Call number `index`, oldest first; good until the next reset. hipGetErrorString is not recorded.
 */
const struct kiln_stand_in_call *kiln_stand_in_call(size_t index);
/* From now on the function fails with the code, after `successes` more calls that succeed; code 0
 * ends that. */
void kiln_stand_in_fail(const char *function, int code, int successes);
/* What the properties call the processor ("gfx90a:sramecc+:xnack-"), and where in the struct they
 * do (at least 256). */
void kiln_stand_in_set_architecture(const char *name, size_t offset);
void kiln_stand_in_set_device_count(int count);
/* Modules loaded and not unloaded; allocations not freed. */
int kiln_stand_in_live_modules(void);
int kiln_stand_in_live_allocations(void);

#endif
