/*
 * Devices: where kernels run. One table of functions per kind; rows in devices.def.
 *
 * hip   the product: HIP's module API, opened at run time. No AMD GPU has run it yet; it is tested
 * against a stand-in library that records calls. host  the same kernel templates on the CPU, with
 * work-groups, barriers and local memory. cuda  the same on an NVIDIA GPU, for measuring on real
 * hardware and for developers; never chosen unless it is named.
 *
 * Pointers are device pointers; for host they are ordinary memory. Functions may be called from any
 * thread.
 */
#ifndef KILN_RUNTIME_DEVICE_DEVICE_H
#define KILN_RUNTIME_DEVICE_DEVICE_H

#include "compiler/codegen/target.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kiln_device;
struct kiln_device_module;   /* one loaded code object */
struct kiln_device_function; /* an entry point; lives as long as its module */
struct kiln_device_event;    /* a moment in a stream's work */

/* A stream is whatever the caller of the plugin API passes: hipStream_t for hip, CUstream for cuda,
 * ignored for host (synchronous). NULL is the default stream. */
typedef void *kiln_stream;

struct kiln_launch {
    struct kiln_device_function *function;
    uint32_t grid[3];
    uint32_t block[3];
    const void *kernarg; /* 8 bytes per argument, read during the call */
    uint32_t kernarg_bytes;
    uint32_t lds_bytes; /* local memory of a work-group, as given to load */
};

/* Of measurements: how much can be allocated, and what must not stay cached from run to run. */
struct kiln_device_memory {
    uint64_t free_bytes;  /* about; other processes may take it */
    uint64_t cache_bytes; /* last-level cache; where it cannot be asked, no less than it has */
};

/* What people are told about a device. Texts come from the driver: print them escaped. A text is
 * empty where the driver does not tell. */
struct kiln_device_description {
    char name[128];           /* "AMD Instinct MI300X"; of the host, its processor */
    char driver_version[32];  /* "6.4.43482" */
    char runtime_version[32]; /* the same of the library */
    char library[512];        /* path of the library that was opened */
    int count;                /* devices of this kind here; 0 if there can be only one */
};

struct kiln_device_ops {
    const char *name; /* "hip", "host", "cuda" */
    /* Opens the device. KILN_UNSUPPORTED with a sentence when its library or hardware is not there.
     */
    enum kiln_status (*open)(const struct kiln_device_ops *ops, struct kiln_device **ret_device,
                             struct kiln_error *error);
    void (*close)(struct kiln_device *device);
    /* Loads a checked code object; `symbol` is its entry point. KILN_REFUSED when the device does
     * not take this code object, as far as the driver tells; KILN_DEVICE when it may take
     * none at the moment: it is lost, say, or a stream is being captured. */
    enum kiln_status (*load)(struct kiln_device *device, const void *code, size_t size,
                             const char *symbol, uint32_t lds_bytes, bool uses_barrier,
                             struct kiln_device_module **ret_module,
                             struct kiln_device_function **ret_function, struct kiln_error *error);
    void (*unload)(struct kiln_device *device, struct kiln_device_module *module);
    /* Enqueues a kernel. No allocation, no lock on the way to the driver. */
    enum kiln_status (*launch)(struct kiln_device *device, kiln_stream stream,
                               const struct kiln_launch *launch, struct kiln_error *error);
    /* Memory and synchronisation: for `kiln run`, tests and benchmarks; the plugin gets its
     * buffers. */
    enum kiln_status (*allocate)(struct kiln_device *device, size_t bytes, void **ret_pointer,
                                 struct kiln_error *error);
    void (*release)(struct kiln_device *device, void *pointer);
    enum kiln_status (*copy_in)(struct kiln_device *device, void *to, const void *from,
                                size_t bytes, struct kiln_error *error);
    enum kiln_status (*copy_out)(struct kiln_device *device, void *to, const void *from,
                                 size_t bytes, struct kiln_error *error);
    enum kiln_status (*synchronize)(struct kiln_device *device, kiln_stream stream,
                                    struct kiln_error *error);
    /* Enqueues a copy within device memory; the two must not overlap. */
    enum kiln_status (*copy_within)(struct kiln_device *device, kiln_stream stream, void *to,
                                    const void *from, size_t bytes, struct kiln_error *error);
    enum kiln_status (*describe_memory)(struct kiln_device *device,
                                        struct kiln_device_memory *ret_memory,
                                        struct kiln_error *error);
    /* Optional: for `kiln doctor` and reports of measurements. Never fails. */
    void (*describe)(struct kiln_device *device, struct kiln_device_description *ret_description);
    /* Timing, of the same users. An event stands behind what the stream had been given when it was
     * recorded, and may be recorded again; it must be destroyed before the device is closed. */
    enum kiln_status (*event_create)(struct kiln_device *device,
                                     struct kiln_device_event **ret_event,
                                     struct kiln_error *error);
    void (*event_destroy)(struct kiln_device *device, struct kiln_device_event *event);
    enum kiln_status (*event_record)(struct kiln_device *device, struct kiln_device_event *event,
                                     kiln_stream stream, struct kiln_error *error);
    /* Waits for `second`; the seconds that the device took from `first` to it. Both must have been
     * recorded, `first` before. */
    enum kiln_status (*event_elapsed)(struct kiln_device *device, struct kiln_device_event *first,
                                      struct kiln_device_event *second, double *ret_seconds,
                                      struct kiln_error *error);
    /* Optional (NULL: there is one device of the kind): the ordinal of the device that open would
     * open on the calling thread. Cheap: asked at each plan. */
    enum kiln_status (*current_ordinal)(struct kiln_device *device, int *ret_ordinal,
                                        struct kiln_error *error);
    /* Optional: the ordinal of the device that a stream belongs to, -1 where the driver cannot
     * tell. A default stream belongs to `device`. */
    int (*stream_ordinal)(struct kiln_device *device, kiln_stream stream);
    /* Optional: true where the pointer is certain to be host memory that kernels of the device
     * cannot reach. Slow. */
    bool (*is_host_pointer)(struct kiln_device *device, const void *pointer);
};

/* Common head of every device; implementations embed it as their first member. */
struct kiln_device {
    const struct kiln_device_ops *ops;
    struct kiln_target target;
    /* Vector accesses need pointers aligned to the whole vector (else to the element only). */
    bool needs_vector_alignment;
    /* Identifies the physical device among those of its kind. */
    int ordinal;
};

/*
 * Opens a device by name ("hip", "host", "cuda"). Several names have commas between them: the first
 * whose library and hardware are there is opened. NULL or "" stands for KILN_DEVICE, and where
 * that is unset for hip: hosts hand over device memory, which the CPU cannot read. A name that is
 * unknown gives KILN_BAD_ARGUMENT with the known ones.
 */
enum kiln_status kiln_device_open(const char *names, struct kiln_device **ret_device,
                                  struct kiln_error *error) KILN_NODISCARD;
/* KILN_BAD_ARGUMENT, as kiln_device_open gives it, where a name is unknown. Opens nothing. */
enum kiln_status kiln_device_check_names(const char *names,
                                         struct kiln_error *error) KILN_NODISCARD;
/* The names for a program that allocates its buffers itself, and so can run graphs anywhere: NULL
 * where KILN_DEVICE decides, otherwise hip and then host. Static. */
const char *kiln_device_default_names(void);
void kiln_device_close(struct kiln_device *device);
void kiln_device_describe(struct kiln_device *device,
                          struct kiln_device_description *ret_description);

/* The table, for listings. */
size_t kiln_device_kind_count(void);
const struct kiln_device_ops *kiln_device_kind(size_t index);

#endif
