#include "runtime/device/cuda_library.h"

static const char *error_text(const struct kiln_gpu_library *library, int code)
{
    const struct kiln_cuda_library *cuda = (const struct kiln_cuda_library *)library;
    const char *text = NULL;
    return cuda->cuGetErrorString(code, &text) == KILN_GPU_SUCCESS ? text : NULL;
}

static const char *const names[] = {"libcuda.so.1", NULL};
static const struct kiln_gpu_library_kind kind = {
    .title = "CUDA",
    .names = names,
    .names_text = "libcuda.so.1",
    .install_hint = "install NVIDIA's driver",
    .variable = KILN_ENVIRONMENT_KILN_CUDA_LIBRARY,
    .error_text = error_text,
};

enum kiln_status kiln_cuda_library_open(struct kiln_cuda_library *ret_library,
                                        struct kiln_error *error)
{
    struct kiln_cuda_library library = {0};
    enum kiln_status status = kiln_gpu_library_open(&kind, &library.base, error);
    if (status)
        return status;
#define KILN_CUDA_FUNCTION(name, symbol, parameters)                                               \
    if (!status)                                                                                   \
        status = kiln_gpu_library_find(&library.base, #symbol, &library.name, error);
#include "runtime/device/cuda_functions.def"
    if (status) {
        kiln_gpu_library_close(&library.base);
        return status;
    }
    *ret_library = library;
    return KILN_OK;
}
