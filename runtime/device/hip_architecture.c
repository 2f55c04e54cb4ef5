#include "runtime/device/hip_architecture.h"

#include <string.h>

enum {
    PROPERTIES_BYTES = 16384, /* hipDeviceProp_t has had 792 to 1472 bytes */
    NAME_BYTES = 256,
};

/* Length of the processor text at `text`, 0 when there is none: "gfx", then letters, digits and
 * features up to a NUL. */
static size_t architecture_length(const char *text, size_t limit)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789:+-_";
    size_t length = 0;
    while (length < limit && text[length] && strchr(alphabet, text[length]))
        length++;
    if (length < 4 || length >= limit || length >= KILN_TARGET_NAME_BYTES || text[length] != '\0')
        return 0;
    return memcmp(text, "gfx", 3) == 0 ? length : 0;
}

enum kiln_status kiln_hip_architecture(const struct kiln_hip_library *library, int ordinal,
                                       struct kiln_target *ret_target, struct kiln_error *error)
{
    _Alignas(16) char properties[PROPERTIES_BYTES];
    memset(properties, 0, sizeof(properties));
    enum kiln_status status =
        kiln_gpu_check(&library->base, library->get_properties(properties, ordinal), error,
                       "reading the properties of HIP device %d", ordinal);
    if (status)
        return status;

    const char *unknown = NULL;
    for (size_t i = NAME_BYTES; i < PROPERTIES_BYTES; i++) {
        if (properties[i] != 'g' || !architecture_length(properties + i, PROPERTIES_BYTES - i))
            continue;
        if (kiln_target_parse(properties + i, ret_target, error) == KILN_OK)
            return KILN_OK;
        if (!unknown)
            unknown = properties + i;
    }
    if (unknown)
        return kiln_error_set(error, KILN_DEVICE,
                              "HIP device %d is a '%s', which Kiln has no target for", ordinal,
                              unknown);
    return kiln_error_set(error, KILN_DEVICE,
                          "the properties of HIP device %d name no 'gfx' processor", ordinal);
}
