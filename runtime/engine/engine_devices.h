/*
 * The devices that an engine has opened: one of each ordinal of the engine's kind, with the
 * compilers for it. They stay open as long as the engine.
 */
#ifndef KILN_RUNTIME_ENGINE_ENGINE_DEVICES_H
#define KILN_RUNTIME_ENGINE_ENGINE_DEVICES_H

#include "runtime/device/device.h"
#include "runtime/engine/compile_ability.h"
#include "runtime/support/process_mutex.h"

#include <stdatomic.h>

enum { KILN_ENGINE_MAX_DEVICES = 64 };

struct kiln_engine_device {
    struct kiln_device *device;
    struct kiln_compile_ability *ability; /* owned; changes, and is thread-safe */
};

/* Entries are added under the lock and never change or move afterwards. */
struct kiln_engine_devices {
    const char *name; /* borrowed; as in kiln_device_open */
    struct kiln_codegen *codegen;
    struct kiln_process_mutex lock;
    atomic_uint count; /* grows when the entry is whole: a forked child may meet it at any time */
    struct kiln_engine_device entries[KILN_ENGINE_MAX_DEVICES];
    struct kiln_error *failure; /* why there is no device at all */
};

/* Opens nothing yet. `name` and `codegen` must outlive the table. */
void kiln_engine_devices_init(struct kiln_engine_devices *devices, const char *name,
                              struct kiln_codegen *codegen);
void kiln_engine_devices_fini(struct kiln_engine_devices *devices);

/*
 * The device that is current on this thread, or NULL if it is not open yet. Takes no lock once a
 * device is open. Fails like kiln_engine_devices_current.
 */
enum kiln_status kiln_engine_devices_find(struct kiln_engine_devices *devices,
                                          const struct kiln_engine_device **ret_device,
                                          struct kiln_error *error) KILN_NODISCARD;
/*
 * The device that is current on this thread, opened when it is met for the first time. What went
 * wrong with a device is remembered and told again to every later caller, except for a failure that
 * may pass (kiln_status_may_pass). `ret_device` lives as
 * long as the table.
 */
enum kiln_status kiln_engine_devices_current(struct kiln_engine_devices *devices,
                                             const struct kiln_engine_device **ret_device,
                                             struct kiln_error *error) KILN_NODISCARD;

#endif
