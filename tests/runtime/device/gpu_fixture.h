/*
 * What the tests of the hip and of the cuda device have in common. `driver` is the stand-in that
 * the device was opened on. What is expected here is expected of both; every failure fails the
 * test.
 */
#ifndef KILN_TESTS_RUNTIME_DEVICE_GPU_FIXTURE_H
#define KILN_TESTS_RUNTIME_DEVICE_GPU_FIXTURE_H

#include "runtime/device/device.h"
#include "tests/stand_ins/stand_in.h"

/* What the stand-ins take for a code object, with its final NUL. */
extern const char *const gpu_code_object;

struct gpu_loaded {
    struct kiln_device_module *module;
    struct kiln_device_function *function;
};

/* Opens the device of this kind; the caller closes it. */
struct kiln_device *gpu_open(const char *kind);
/* Expects that no device of the kind opens, and `part` in the error. */
void gpu_expect_open_fails(const char *kind, enum kiln_status expected, const char *part);

/* Loads 'kernel' from gpu_code_object; the caller unloads it. */
struct gpu_loaded gpu_load(struct kiln_device *device);
/* Expects that 'kernel' is not loaded from the code, a text, and that this is the error. */
void gpu_expect_load_fails(struct kiln_device *device, const char *code, enum kiln_status expected,
                           const char *sentence);
/* One block of a kernel without arguments. */
struct kiln_launch gpu_launch_of(const struct gpu_loaded *loaded);
/* Launches the kernel on a stream; expects that the driver's function, not called before, gets the
 * stream, the sizes and the arguments. */
void gpu_expect_launch_arrives(const struct stand_in *driver, struct kiln_device *device,
                               const struct gpu_loaded *loaded, const char *function);

/* Expects that a module is unloaded while another thread captures a stream, and the capture is good
 * afterwards. */
void gpu_expect_unload_spares_captures(const struct stand_in *driver, struct kiln_device *device);

/* 16 bytes on the device, which hold the text of up to 15; the caller releases them. */
void *gpu_allocate_text(struct kiln_device *device, const char *text);
/* Expects that 16 bytes come back from the device as they were copied there. */
void gpu_expect_copies_arrive(struct kiln_device *device, void *memory);

/* Makes two events, expects an error that is `refusal` for the time between them, records them on
 * the stream, and expects the time then. The caller gives them to gpu_expect_events_end. */
void gpu_expect_events_time(struct kiln_device *device, void *stream, const char *refusal,
                            struct kiln_device_event *ret_events[2]);
/* Destroys two events, the driver's only ones. */
void gpu_expect_events_end(const struct stand_in *driver, struct kiln_device *device,
                           struct kiln_device_event *const events[2]);

/* Expects these calls, each followed by a blank, from number `first` on. */
void gpu_expect_trace(const struct stand_in *driver, size_t first, const char *expected);
/* The first call of the driver's function; never NULL. */
const struct kiln_stand_in_call *gpu_first_call(const struct stand_in *driver,
                                                const char *function);

#endif
