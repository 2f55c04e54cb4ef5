/*
 * What is the same behind HIP's and CUDA's names: memory, modules, kernels, events, and the text of
 * errors. A module and an event belong to a device; whether it may be used is for each library to
 * say, which also records the calls. Compiled into both.
 */
#ifndef KILN_TESTS_DRIVER_OBJECTS_H
#define KILN_TESTS_DRIVER_OBJECTS_H

#include "tests/stand_ins/call_record.h"

struct kiln_driver_function {
    const struct kiln_driver_module *module;
    char symbol[256];
};

struct kiln_driver_module {
    int device;
    struct kiln_driver_function function; /* the only one, whatever is asked for */
};

struct kiln_driver_event {
    int device;
    int recorded; /* its number among all that were recorded; 0: never */
};

/* Exported, for tests: modules loaded and not unloaded; allocations not freed; events not
 * destroyed. */

int kiln_stand_in_live_modules(void);
int kiln_stand_in_live_allocations(void);
int kiln_stand_in_live_events(void);
/* Some other thread starts to capture a stream, in the mode that forbids the most. */
void kiln_stand_in_begin_capture(void);
/* It ends; false when a call has invalidated what was captured. */
int kiln_stand_in_end_capture(void);

/* For the library itself; from any thread. What is made is freed by the function that follows;
 * without memory the process aborts. */

/* Of 256 bytes' alignment. */
void *kiln_driver_allocate(size_t bytes);
void kiln_driver_free(void *memory);

/* INVALID_IMAGE for what does not start like an ELF file, else 0. */
int kiln_driver_check_image(const void *image);
struct kiln_driver_module *kiln_driver_load(int device);
void kiln_driver_unload(struct kiln_driver_module *module);
/* Belongs to the module. */
struct kiln_driver_function *kiln_driver_find(struct kiln_driver_module *module, const char *name);
/* Puts the kernel's name and arguments into the record of its launch. INVALID_VALUE when the
 * arguments are not one block in `extra`, whose last entry is `end`. */
int kiln_driver_take_arguments(const struct kiln_driver_function *kernel, void **parameters,
                               void **extra, uint64_t end, struct kiln_stand_in_call *call);

struct kiln_driver_event *kiln_driver_create_event(int device);
void kiln_driver_destroy_event(struct kiln_driver_event *event);
void kiln_driver_record_event(struct kiln_driver_event *event);
/* INVALID_HANDLE when one of them was never recorded. */
int kiln_driver_elapsed(const struct kiln_driver_event *first,
                        const struct kiln_driver_event *second, float *ret_milliseconds);

/* The mode of capture of the calling thread, 0 at first, is exchanged; INVALID_VALUE where there is
 * none of that number. */
int kiln_driver_exchange_capture_mode(int *mode);
/* The code of a function that waits or allocates: while a stream is captured, a thread whose mode
 * is not relaxed (2) invalidates the capture and gets STREAM_IS_CAPTURED. */
int kiln_driver_disturb_capture(int code);

/* NULL for codes that the stand-ins do not give by themselves. */
const char *kiln_driver_error_text(int code);

/* A pointer as an argument in a record. */
static inline uint64_t word(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

#endif
