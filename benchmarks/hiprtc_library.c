#include "benchmarks/hiprtc_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A library of its own since ROCm 6; before that part of the runtime. */
static const char *const library_names[] = {"libhiprtc.so.7",   "libhiprtc.so.6",
                                            "libhiprtc.so.5",   "libamdhip64.so.7",
                                            "libamdhip64.so.6", "libamdhip64.so.5"};

static void *open_library(void)
{
    for (size_t i = 0; i < sizeof(library_names) / sizeof(library_names[0]); i++) {
        void *handle = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return handle;
    }
    return NULL;
}

enum kiln_status kiln_hiprtc_open(struct kiln_hiprtc *ret_hiprtc, struct kiln_error *error)
{
    void *library = open_library();
    if (!library)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "no library 'libamdhip64.so' or 'libhiprtc.so' here");
    struct kiln_hiprtc hiprtc;
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"hiprtcCreateProgram", &hiprtc.create},       {"hiprtcCompileProgram", &hiprtc.compile},
        {"hiprtcGetProgramLogSize", &hiprtc.log_size}, {"hiprtcGetProgramLog", &hiprtc.log},
        {"hiprtcGetCodeSize", &hiprtc.code_size},      {"hiprtcGetCode", &hiprtc.code},
        {"hiprtcDestroyProgram", &hiprtc.destroy},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address)
            return kiln_error_set(error, KILN_UNSUPPORTED, "HIP library has no function '%s'",
                                  functions[i].name);
        memcpy(functions[i].function, &address, sizeof(address));
    }
    *ret_hiprtc = hiprtc;
    return KILN_OK;
}

static enum kiln_status fail_with_log(const struct kiln_hiprtc *hiprtc, void *program, int code,
                                      struct kiln_error *error)
{
    size_t bytes = 0;
    char *log = NULL;
    if (hiprtc->log_size(program, &bytes) == 0 && bytes && (log = calloc(1, bytes + 1)) != NULL)
        hiprtc->log(program, log);
    enum kiln_status status = kiln_error_set(
        error, KILN_COMPILE_FAILED, "hipRTC failed (code %d): %s", code, log ? log : "no log");
    free(log);
    return status;
}

enum kiln_status kiln_hiprtc_compile(const struct kiln_hiprtc *hiprtc, const char *source,
                                     const char *processor, struct kiln_error *error)
{
    char architecture[64];
    snprintf(architecture, sizeof(architecture), "--offload-arch=%s", processor);
    const char *options[] = {architecture, "-O3", "-std=c++17"};
    void *program = NULL;
    int code = hiprtc->create(&program, source, "kernel.hip", 0, NULL, NULL);
    if (code)
        return kiln_error_set(error, KILN_COMPILE_FAILED, "hipRTC makes no program (code %d)",
                              code);
    enum kiln_status status = KILN_OK;
    code = hiprtc->compile(program, (int)(sizeof(options) / sizeof(options[0])), options);
    if (code)
        status = fail_with_log(hiprtc, program, code, error);
    size_t bytes = 0;
    if (!status && hiprtc->code_size(program, &bytes) == 0) {
        char *object = malloc(bytes ? bytes : 1);
        if (!bytes || !object || hiprtc->code(program, object) != 0)
            status = kiln_error_set(error, KILN_COMPILE_FAILED, "hipRTC gives no code object");
        free(object);
    }
    hiprtc->destroy(&program);
    return status;
}
