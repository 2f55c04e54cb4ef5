/*
 * What the hip and the cuda device share: all of the table but opening and closing. Every function
 * makes the device current on the calling thread and gives the thread back what was current before.
 */
#ifndef KILN_RUNTIME_DEVICE_GPU_DEVICE_H
#define KILN_RUNTIME_DEVICE_GPU_DEVICE_H

#include "runtime/device/device.h"
#include "runtime/device/gpu_library.h"

struct kiln_gpu_device;

/* A mode of capture, of both drivers: nothing that the thread calls is held against a capture. */
enum { KILN_GPU_CAPTURE_MODE_RELAXED = 2 };

/*
 * A driver's calls, under one shape. All return the driver's own code and do one call, or a few
 * that belong together. Pointers are device pointers but where they are the host's by name. Sizes
 * are never 0.
 */
struct kiln_gpu_driver {
    /* What is current on the calling thread: a context, or an ordinal made a pointer. */
    int (*get_current)(const struct kiln_gpu_device *device, void **ret_current);
    int (*set_current)(const struct kiln_gpu_device *device, void *current);
    int (*load_module)(const struct kiln_gpu_device *device, void **ret_module, const void *code);
    /* `lds_bytes` as in struct kiln_launch. */
    int (*find_function)(const struct kiln_gpu_device *device, void **ret_function, void *module,
                         const char *symbol, uint32_t lds_bytes);
    int (*unload_module)(const struct kiln_gpu_device *device, void *module);
    /* Optional: bytes of each work-item that the compiler could not keep in registers, where
     * code objects are not checked for it when they are made. */
    int (*local_bytes)(const struct kiln_gpu_device *device, int *ret_bytes, void *function);
    int (*launch)(const struct kiln_gpu_device *device, const struct kiln_launch *launch,
                  kiln_stream stream);
    int (*allocate)(const struct kiln_gpu_device *device, void **ret_pointer, size_t bytes);
    /* Waits until the device has done all that was enqueued. */
    int (*release)(const struct kiln_gpu_device *device, void *pointer);
    int (*copy_in)(const struct kiln_gpu_device *device, void *to, const void *host_from,
                   size_t bytes);
    int (*copy_out)(const struct kiln_gpu_device *device, void *host_to, const void *from,
                    size_t bytes);
    int (*copy_within)(const struct kiln_gpu_device *device, void *to, const void *from,
                       size_t bytes, kiln_stream stream);
    int (*wait_for_stream)(const struct kiln_gpu_device *device, kiln_stream stream);
    /* What the calling thread may do while some thread captures a stream; `mode` is exchanged. */
    int (*exchange_capture_mode)(const struct kiln_gpu_device *device, int *mode);
    int (*describe_memory)(const struct kiln_gpu_device *device,
                           struct kiln_device_memory *ret_memory);
    int (*create_event)(const struct kiln_gpu_device *device, void **ret_event);
    int (*destroy_event)(const struct kiln_gpu_device *device, void *event);
    int (*record_event)(const struct kiln_gpu_device *device, void *event, kiln_stream stream);
    int (*wait_for_event)(const struct kiln_gpu_device *device, void *event);
    int (*elapsed)(const struct kiln_gpu_device *device, float *ret_milliseconds, void *first,
                   void *second);
};

/* Head of both devices, which embed it as first member and fill it while they open. */
struct kiln_gpu_device {
    struct kiln_device base;
    const struct kiln_gpu_driver *driver;
    const struct kiln_gpu_library *library; /* for the text of errors */
    void *own;                              /* what get_current gives while it is current */
};

/* The slots of struct kiln_device_ops, but .name, .open, .close and .current_ordinal. */
#define KILN_GPU_DEVICE_OPS                                                                        \
    .load = kiln_gpu_load, .unload = kiln_gpu_unload, .launch = kiln_gpu_launch,                   \
    .allocate = kiln_gpu_allocate, .release = kiln_gpu_release, .copy_in = kiln_gpu_copy_in,       \
    .copy_out = kiln_gpu_copy_out, .synchronize = kiln_gpu_synchronize,                            \
    .copy_within = kiln_gpu_copy_within, .describe_memory = kiln_gpu_describe_memory,              \
    .event_create = kiln_gpu_event_create, .event_destroy = kiln_gpu_event_destroy,                \
    .event_record = kiln_gpu_event_record, .event_elapsed = kiln_gpu_event_elapsed

/* As device.h says. */
enum kiln_status kiln_gpu_load(struct kiln_device *device, const void *code, size_t size,
                               const char *symbol, uint32_t lds_bytes, bool uses_barrier,
                               struct kiln_device_module **ret_module,
                               struct kiln_device_function **ret_function,
                               struct kiln_error *error);
void kiln_gpu_unload(struct kiln_device *device, struct kiln_device_module *module);
enum kiln_status kiln_gpu_launch(struct kiln_device *device, kiln_stream stream,
                                 const struct kiln_launch *launch, struct kiln_error *error);
enum kiln_status kiln_gpu_allocate(struct kiln_device *device, size_t bytes, void **ret_pointer,
                                   struct kiln_error *error);
void kiln_gpu_release(struct kiln_device *device, void *pointer);
enum kiln_status kiln_gpu_copy_in(struct kiln_device *device, void *to, const void *from,
                                  size_t bytes, struct kiln_error *error);
enum kiln_status kiln_gpu_copy_out(struct kiln_device *device, void *to, const void *from,
                                   size_t bytes, struct kiln_error *error);
enum kiln_status kiln_gpu_synchronize(struct kiln_device *device, kiln_stream stream,
                                      struct kiln_error *error);
enum kiln_status kiln_gpu_copy_within(struct kiln_device *device, kiln_stream stream, void *to,
                                      const void *from, size_t bytes, struct kiln_error *error);
enum kiln_status kiln_gpu_describe_memory(struct kiln_device *device,
                                          struct kiln_device_memory *ret_memory,
                                          struct kiln_error *error);
enum kiln_status kiln_gpu_event_create(struct kiln_device *device,
                                       struct kiln_device_event **ret_event,
                                       struct kiln_error *error);
void kiln_gpu_event_destroy(struct kiln_device *device, struct kiln_device_event *event);
enum kiln_status kiln_gpu_event_record(struct kiln_device *device, struct kiln_device_event *event,
                                       kiln_stream stream, struct kiln_error *error);
enum kiln_status kiln_gpu_event_elapsed(struct kiln_device *device, struct kiln_device_event *first,
                                        struct kiln_device_event *second, double *ret_seconds,
                                        struct kiln_error *error);

#endif
