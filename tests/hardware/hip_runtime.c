#include "tests/hardware/hip_runtime.h"

/* A function that is missing stays NULL; `status` gets that one's unless it has failed before. */
static void find(const struct kiln_gpu_library *library, const char *name, bool required,
                 void *ret_function, enum kiln_status *status, struct kiln_error *error)
{
    struct kiln_error missing;
    kiln_error_init(&missing);
    enum kiln_status found = kiln_gpu_library_find(library, name, ret_function, &missing);
    if (found != KILN_OK && required && *status == KILN_OK)
        *status = kiln_error_set(error, found, "%s", missing.text);
}

static enum kiln_status find_functions(struct hip_runtime *hip, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
#define HIP_RUNTIME_FUNCTION(required, name, parameters)                                           \
    find(&hip->library.base, #name, required, &hip->name, &status, error);
#include "tests/hardware/hip_runtime_functions.def"
    return status;
}

enum kiln_status hip_runtime_open(struct hip_runtime *ret_runtime, struct kiln_error *error)
{
    *ret_runtime = (struct hip_runtime){0};
    enum kiln_status status = kiln_hip_library_open(&ret_runtime->library, error);
    if (status)
        return status;
    int count = 0;
    if (ret_runtime->library.hipGetDeviceCount(&count) != 0 || count <= 0)
        status = kiln_error_set(error, KILN_UNSUPPORTED, "HIP finds no AMD GPU on this machine");
    return status ? status : find_functions(ret_runtime, error);
}
