#include "runtime/device/device.h"

#include "runtime/device/cuda_device.h"
#include "runtime/device/hip_device.h"
#include "runtime/device/host_device.h"
#include "runtime/support/environment.h"
#include "runtime/support/log.h"

#include <string.h>

static const struct kiln_device_ops *const kinds[] = {
#define KILN_DEVICE_KIND(name, text) &kiln_##name##_device_ops,
#include "runtime/device/devices.def"
};

static const char known_names[] =
#define KILN_DEVICE_KIND(name, text) " " #name
#include "runtime/device/devices.def"
    ;

size_t kiln_device_kind_count(void)
{
    return sizeof(kinds) / sizeof(kinds[0]);
}

const struct kiln_device_ops *kiln_device_kind(size_t index)
{
    return kinds[index];
}

/* Tries the kinds in table order. Only "not there" leads on to the next: a GPU that is there but
 * fails must not silently become the CPU, which could not even read the caller's device memory. */
static enum kiln_status open_first_present(struct kiln_device **ret_device,
                                           struct kiln_error *error)
{
    enum kiln_status status = KILN_UNSUPPORTED;
    for (size_t i = 0; i < kiln_device_kind_count() && status == KILN_UNSUPPORTED; i++) {
        status = kinds[i]->open(kinds[i], ret_device, error);
        if (status == KILN_UNSUPPORTED)
            kiln_log(KILN_LOG_INFO, "device '%s' is not used: %s", kinds[i]->name, error->text);
    }
    return status;
}

enum kiln_status kiln_device_open(const char *name, struct kiln_device **ret_device,
                                  struct kiln_error *error)
{
    if (!name || !*name)
        name = kiln_environment_text(KILN_ENVIRONMENT_KILN_DEVICE);
    if (!name || !*name)
        return open_first_present(ret_device, error);
    for (size_t i = 0; i < kiln_device_kind_count(); i++) {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i]->open(kinds[i], ret_device, error);
    }
    enum kiln_status status =
        kiln_error_set(error, KILN_BAD_ARGUMENT, "device '%.64s' is not known", name);
    kiln_error_hint(error, "known devices are%s", known_names);
    return status;
}

void kiln_device_describe(struct kiln_device *device,
                          struct kiln_device_description *ret_description)
{
    *ret_description = (struct kiln_device_description){0};
    if (device->ops->describe)
        device->ops->describe(device, ret_description);
}

void kiln_device_close(struct kiln_device *device)
{
    if (device)
        device->ops->close(device);
}
