#include "runtime/engine/engine_devices.h"

#include "runtime/support/log.h"

#include <stdlib.h>

void kiln_engine_devices_init(struct kiln_engine_devices *devices, const char *name,
                              struct kiln_codegen *codegen)
{
    *devices = (struct kiln_engine_devices){.name = name, .codegen = codegen};
    kiln_process_mutex_init(&devices->lock);
}

static void close_entry(struct kiln_engine_device *entry)
{
    kiln_device_close(entry->device);
    if (entry->ability)
        kiln_compile_ability_fini(entry->ability);
    free(entry->ability);
}

void kiln_engine_devices_fini(struct kiln_engine_devices *devices)
{
    for (uint32_t i = 0; i < devices->count; i++) {
        close_entry(&devices->entries[i]);
    }
    free(devices->failure);
    kiln_process_mutex_fini(&devices->lock);
}

/* A copy that lives on; out of memory only means that the next caller tries again. */
static struct kiln_error *remember(const struct kiln_error *error)
{
    struct kiln_error *copy = malloc(sizeof(*copy));
    if (copy)
        *copy = *error;
    return copy;
}

static enum kiln_status recall(const struct kiln_error *failure, struct kiln_error *error)
{
    *error = *failure;
    return failure->status;
}

static enum kiln_status no_memory(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_NO_MEMORY, "no memory to open a 'device'");
}

/* Without the lock: a forked child would lose what it guards. */
static enum kiln_status open_entry(const struct kiln_engine_devices *devices, const char *name,
                                   struct kiln_engine_device *ret_entry, struct kiln_error *error)
{
    struct kiln_engine_device entry = {0};
    enum kiln_status status = kiln_device_open(name, &entry.device, error);
    if (status)
        return status;
    entry.ability = malloc(sizeof(*entry.ability));
    if (!entry.ability) {
        close_entry(&entry);
        return no_memory(error);
    }
    kiln_compile_ability_init(entry.ability, devices->codegen);
    *ret_entry = entry;
    return KILN_OK;
}

/* Why there is no device, if one was asked for before. */
static enum kiln_status recall_failure(struct kiln_engine_devices *devices,
                                       struct kiln_error *error)
{
    (void)kiln_process_mutex_lock(&devices->lock);
    enum kiln_status status = devices->failure ? recall(devices->failure, error) : KILN_OK;
    kiln_process_mutex_unlock(&devices->lock);
    return status;
}

enum kiln_status kiln_engine_devices_find(struct kiln_engine_devices *devices,
                                          const struct kiln_engine_device **ret_device,
                                          struct kiln_error *error)
{
    *ret_device = NULL;
    uint32_t count = atomic_load_explicit(&devices->count, memory_order_acquire);
    if (count == 0)
        return recall_failure(devices, error);
    struct kiln_device *first = devices->entries[0].device;
    int ordinal = first->ordinal;
    if (first->ops->current_ordinal) {
        enum kiln_status status = first->ops->current_ordinal(first, &ordinal, error);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < count; i++)
        if (devices->entries[i].device->ordinal == ordinal)
            *ret_device = &devices->entries[i];
    return KILN_OK;
}

static enum kiln_status open_current(struct kiln_engine_devices *devices, const char *name,
                                     const struct kiln_engine_device **ret_device,
                                     struct kiln_error *error)
{
    struct kiln_engine_device fresh;
    enum kiln_status status = open_entry(devices, name, &fresh, error);
    (void)kiln_process_mutex_lock(&devices->lock);
    if (status) {
        /* The first device decides the kind for the life of the engine. */
        if (devices->count == 0 && !devices->failure && !kiln_status_may_pass(status))
            devices->failure = remember(error);
        kiln_process_mutex_unlock(&devices->lock);
        return status;
    }
    const struct kiln_engine_device *found = NULL;
    for (uint32_t i = 0; i < devices->count && !found; i++)
        if (devices->entries[i].device->ordinal == fresh.device->ordinal)
            found = &devices->entries[i];
    bool is_taken = !found && devices->count < KILN_ENGINE_MAX_DEVICES;
    if (is_taken) {
        devices->entries[devices->count] = fresh;
        found = &devices->entries[devices->count++];
    }
    kiln_process_mutex_unlock(&devices->lock);
    if (is_taken)
        kiln_log(KILN_LOG_INFO, "plans run on device '%s' %d, target '%s'",
                 found->device->ops->name, found->device->ordinal, found->device->target.name);
    else { /* another thread was faster, or there are too many */
        close_entry(&fresh);
    }
    if (!found)
        return kiln_error_set(error, KILN_UNSUPPORTED, "more than %d devices in one process",
                              KILN_ENGINE_MAX_DEVICES);
    *ret_device = found;
    return KILN_OK;
}

enum kiln_status kiln_engine_devices_current(struct kiln_engine_devices *devices,
                                             const struct kiln_engine_device **ret_device,
                                             struct kiln_error *error)
{
    const struct kiln_engine_device *device = NULL;
    enum kiln_status status = kiln_engine_devices_find(devices, &device, error);
    if (status == KILN_OK && !device) {
        const char *name = devices->count ? devices->entries[0].device->ops->name : devices->name;
        status = open_current(devices, name, &device, error);
    }
    if (status)
        return status;
    *ret_device = device;
    return KILN_OK;
}
