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
#define KILN_DEVICE_KIND(name, text) ", " #name
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

static const struct kiln_device_ops *find_kind(const char *name, size_t length)
{
    for (size_t i = 0; i < kiln_device_kind_count(); i++) {
        if (strncmp(kinds[i]->name, name, length) == 0 && kinds[i]->name[length] == '\0')
            return kinds[i];
    }
    return NULL;
}

enum kiln_status kiln_device_check_names(const char *names, struct kiln_error *error)
{
    for (const char *at = names;; at++) {
        size_t length = strcspn(at, ",");
        if (!find_kind(at, length)) {
            enum kiln_status status =
                kiln_error_set(error, KILN_BAD_ARGUMENT, "device '%.*s' is not known",
                               length < 64 ? (int)length : 64, at);
            kiln_error_hint(error, "known devices are%s", known_names + 1);
            return status;
        }
        at += length;
        if (*at == '\0')
            return KILN_OK;
    }
}

/* Only "not there" leads on to the next name: a GPU that is there but fails must not silently
 * become the CPU, which could not even read the caller's device memory. */
static enum kiln_status open_first_present(const char *names, struct kiln_device **ret_device,
                                           struct kiln_error *error)
{
    for (const char *at = names;; at++) {
        size_t length = strcspn(at, ",");
        const struct kiln_device_ops *kind = find_kind(at, length);
        enum kiln_status status = kind->open(kind, ret_device, error);
        at += length;
        if (status != KILN_UNSUPPORTED || *at == '\0')
            return status;
        kiln_log(KILN_LOG_INFO, "device '%s' is not used: %s", kind->name, error->text);
    }
}

enum kiln_status kiln_device_open(const char *names, struct kiln_device **ret_device,
                                  struct kiln_error *error)
{
    if (!names || !*names)
        names = kiln_environment_text(KILN_ENVIRONMENT_KILN_DEVICE);
    bool is_default = !names || !*names;
    if (is_default)
        names = kiln_hip_device_ops.name;
    enum kiln_status status = kiln_device_check_names(names, error);
    if (status == KILN_OK)
        status = open_first_present(names, ret_device, error);
    if (is_default && status == KILN_UNSUPPORTED)
        kiln_error_hint(error, "KILN_DEVICE=host runs graphs on the CPU");
    return status;
}

const char *kiln_device_default_names(void)
{
    const char *names = kiln_environment_text(KILN_ENVIRONMENT_KILN_DEVICE);
    return names && *names ? NULL : "hip,host";
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
