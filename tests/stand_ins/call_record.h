/*
 * What every stand-in library for a driver has: a record of its calls, and functions that fail when
 * told to. Compiled into each of them.
 */
#ifndef KILN_TESTS_CALL_RECORD_H
#define KILN_TESTS_CALL_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum { KILN_STAND_IN_CALLS = 4096, KILN_STAND_IN_KERNARG_BYTES = 8192 };

/* What the stand-ins say of memory; every event is so much later than the one recorded before. */
enum {
    KILN_STAND_IN_FREE_BYTES = 1 << 30,
    KILN_STAND_IN_TOTAL_BYTES = KILN_STAND_IN_FREE_BYTES + (1 << 29),
    KILN_STAND_IN_EVENT_MILLISECONDS = 3,
};

/* The codes that the stand-ins give by themselves: HIP has taken CUDA's numbers. */
enum {
    KILN_STAND_IN_INVALID_VALUE = 1,
    KILN_STAND_IN_OUT_OF_MEMORY = 2,
    KILN_STAND_IN_NOT_INITIALIZED = 3,
    KILN_STAND_IN_NO_DEVICE = 100,
    KILN_STAND_IN_INVALID_DEVICE = 101,
    KILN_STAND_IN_INVALID_IMAGE = 200,
    KILN_STAND_IN_INVALID_CONTEXT = 201,
    KILN_STAND_IN_INVALID_HANDLE = 400,
    KILN_STAND_IN_NOT_FOUND = 500,
    KILN_STAND_IN_NOT_SUPPORTED = 801,
    KILN_STAND_IN_LAUNCH_FAILURE = 719, /* of an earlier kernel: the device is lost */
    KILN_STAND_IN_STREAM_IS_CAPTURED = 900,
};

struct kiln_stand_in_call {
    const char *function;
    int result;
    int device; /* current on the calling thread */
    /* Module, function, stream, pointers and sizes in the order of the driver's parameters; grid
     * and block of a launch. */
    uint64_t arguments[9];
    char symbol[256]; /* of the function that was asked for or launched */
    uint32_t kernarg_bytes;
    unsigned char kernarg[KILN_STAND_IN_KERNARG_BYTES];
};

/* Exported, for tests. */

size_t kiln_stand_in_call_count(void);
/* Call number `index`, oldest first; good until the next reset. Asking for the text of an error is
 * not recorded. */
const struct kiln_stand_in_call *kiln_stand_in_call(size_t index);
/* From now on the function fails with the code, after `successes` more calls that succeed; code 0
 * ends that. */
void kiln_stand_in_fail(const char *function, int code, int successes);

/* For the library itself; from any thread. */

/* Forgets the calls and what was to fail. */
void kiln_record_reset(void);
/* The code that was ordered for the function, else `code`. */
int kiln_record_outcome(const char *function, int code);
/* Adds a call; `details` may be NULL, and its function, result and device are not looked at. */
void kiln_record_call(const char *function, int result, int device,
                      const struct kiln_stand_in_call *details);
/* Changes a counter of the library. */
void kiln_record_count(int *counter, int change);

#endif
