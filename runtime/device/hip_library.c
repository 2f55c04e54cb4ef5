#include "runtime/device/hip_library.h"

static const char *error_text(const struct kiln_gpu_library *library, int code)
{
    return ((const struct kiln_hip_library *)library)->hipGetErrorString(code);
}

static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                    "libamdhip64.so", NULL};
static const struct kiln_gpu_library_kind kind = {
    .title = "HIP",
    .names = names,
    .names_text = "libamdhip64.so.{7,6,5}",
    .install_hint = "install the HIP runtime",
    .variable = KILN_ENVIRONMENT_KILN_HIP_LIBRARY,
    .error_text = error_text,
};

static enum kiln_status find_functions(struct kiln_hip_library *library, struct kiln_error *error)
{
    const struct kiln_gpu_library *base = &library->base;
    enum kiln_status status = KILN_OK;
#define KILN_HIP_FUNCTION(name, parameters)                                                        \
    if (!status)                                                                                   \
        status = kiln_gpu_library_find(base, #name, &library->name, error);
#include "runtime/device/hip_functions.def"
    if (!status)
        status =
            kiln_gpu_library_find(base, "hipGetErrorString", &library->hipGetErrorString, error);
    if (status)
        return status;
    /* These stay NULL where they are not found. */
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    (void)!kiln_gpu_library_find(base, "hipGetStreamDeviceId", &library->hipGetStreamDeviceId,
                                 &ignored);
    (void)!kiln_gpu_library_find(base, "hipPointerGetAttributes", &library->hipPointerGetAttributes,
                                 &ignored);
    (void)!kiln_gpu_library_find(base, "hipDeviceGetAttribute", &library->hipDeviceGetAttribute,
                                 &ignored);
    (void)!kiln_gpu_library_find(base, "hipGetLastError", &library->hipGetLastError, &ignored);
    /* ROCm 6 and newer have both names for two layouts, older ones only the second. */
    if (!kiln_gpu_library_find(base, "hipGetDevicePropertiesR0600", &library->get_properties,
                               &ignored))
        return KILN_OK;
    return kiln_gpu_library_find(base, "hipGetDeviceProperties", &library->get_properties, error);
}

enum kiln_status kiln_hip_library_open(struct kiln_hip_library *ret_library,
                                       struct kiln_error *error)
{
    struct kiln_hip_library library = {0};
    enum kiln_status status = kiln_gpu_library_open(&kind, &library.base, error);
    if (status)
        return status;
    status = find_functions(&library, error);
    if (status) {
        kiln_gpu_library_close(&library.base);
        return status;
    }
    *ret_library = library;
    return KILN_OK;
}
