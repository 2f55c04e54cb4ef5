/*
 * NVRTC: NVIDIA's compiler as a library, for CUDA targets.
 *
 * It makes a CUBIN for exactly one processor, so no driver compiles anything when a kernel is
 * loaded, and what the cache holds is what runs. Options are those that keep the promises of the
 * device headers: operations are not contracted, square roots and quotients of doubles are
 * correctly rounded, denormals are kept.
 */
#include "compiler/codegen/compiler.h"
#include "compiler/codegen/compiler_search.h"
#include "compiler/codegen/nvrtc_library.h"
#include "compiler/codegen/program_compile.h"

#include "runtime/support/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSOR_PREFIX "sm_"

static const char *const options[] = {
    "--std=c++17",        "--device-as-default-execution-space",
    "--fmad=false",       "--ftz=false",
    "--prec-div=true",    "--prec-sqrt=true",
    "--disable-warnings",
};
/* Raised whenever the options above change. */
#define OPTIONS_VERSION "options-2"

enum { OPTION_COUNT = sizeof options / sizeof *options, MINIMAL_SINCE = 13 };

static const char *options_version(void)
{
    return OPTIONS_VERSION;
}

static enum kiln_status find(struct kiln_compiler *ret_compiler, struct kiln_error *error)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    char *path = kiln_compiler_search(kiln_library_find, KILN_ENVIRONMENT_KILN_NVRTC_LIBRARY, names,
                                      "'libnvrtc.so.{13,12}'", error);
    if (path == NULL)
        return error->status;
    return kiln_compiler_adopt(ret_compiler, path, NULL, "nvrtc " OPTIONS_VERSION, error);
}

static enum kiln_status check(const struct kiln_nvrtc_library *nvrtc, int code, const char *what,
                              struct kiln_error *error)
{
    if (code == KILN_NVRTC_SUCCESS)
        return KILN_OK;
    const char *text = nvrtc->nvrtcGetErrorString(code);
    return kiln_error_set(error, KILN_COMPILE_FAILED, "NVRTC failed to %s: %s (result %d)", what,
                          text != NULL ? text : "no text", code);
}

static enum kiln_status serves(const struct kiln_compiler *compiler,
                               const struct kiln_target *target, bool *ret_serves,
                               struct kiln_error *error)
{
    const struct kiln_nvrtc_library *nvrtc;
    enum kiln_status status =
        kiln_nvrtc_library_open(compiler->path, compiler->identity, &nvrtc, error);
    if (status != KILN_OK)
        return status;
    int count = 0;
    status = check(nvrtc, nvrtc->nvrtcGetNumSupportedArchs(&count), "list its processors", error);
    if (status != KILN_OK)
        return status;
    int *numbers = calloc(count > 0 ? (size_t)count : 1, sizeof *numbers);
    if (numbers == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while asking NVRTC");
    status = check(nvrtc, nvrtc->nvrtcGetSupportedArchs(numbers), "list its processors", error);
    bool is_listed = false;
    for (int i = 0; i < count && status == KILN_OK && !is_listed; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, PROCESSOR_PREFIX "%d", numbers[i]);
        is_listed = strcmp(name, target->processor) == 0;
    }
    free(numbers);
    if (status == KILN_OK)
        *ret_serves = is_listed;
    return status;
}

/* Appends what `get` writes, `size` bytes, less a trailing NUL of logs. */
static int append(int (*get)(void *program, char *bytes), void *program, size_t size, bool is_text,
                  struct kiln_buffer *bytes)
{
    enum { NVRTC_ERROR_OUT_OF_MEMORY = 1 };
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    copy[size] = '\0';
    int code = get(program, copy);
    if (code == KILN_NVRTC_SUCCESS)
        kiln_buffer_append(bytes, copy, is_text ? strnlen(copy, size) : size);
    free(copy);
    return code;
}

static enum kiln_status compile_program(const struct kiln_nvrtc_library *nvrtc, void *program,
                                        const struct kiln_target *target,
                                        struct kiln_buffer *object, struct kiln_buffer *log,
                                        struct kiln_error *error)
{
    char architecture[sizeof target->processor + 32];
    /* Hopper alone has what its matrix instructions need, which no later processor is to run. */
    bool is_hopper = strcmp(target->processor, "sm_90") == 0;
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=%s%s", target->processor,
                   is_hopper ? "a" : "");
    const char *all[OPTION_COUNT + 2] = {architecture};
    memcpy(all + 1, options, sizeof options);
    int count = OPTION_COUNT + 1;
    /* Without declarations that no kernel uses: 4 of the 21 ms that the smallest kernel takes. */
    int major = 0, minor = 0;
    if (nvrtc->nvrtcVersion(&major, &minor) == KILN_NVRTC_SUCCESS && major >= MINIMAL_SINCE)
        all[count++] = "--minimal";
    int compiled = nvrtc->nvrtcCompileProgram(program, count, all);
    size_t size = 0;
    if (nvrtc->nvrtcGetProgramLogSize(program, &size) == KILN_NVRTC_SUCCESS)
        (void)append(nvrtc->nvrtcGetProgramLog, program, size, true, log);
    enum kiln_status status = check(nvrtc, compiled, "compile the source", error);
    if (status != KILN_OK)
        return status;
    int code = nvrtc->nvrtcGetCUBINSize(program, &size);
    if (code == KILN_NVRTC_SUCCESS)
        code = append(nvrtc->nvrtcGetCUBIN, program, size, false, object);
    return check(nvrtc, code, "give the code object", error);
}

static enum kiln_status compile(const struct kiln_compiler *compiler,
                                const struct kiln_target *target,
                                const struct kiln_compile_source *source,
                                struct kiln_buffer *object, struct kiln_buffer *log,
                                struct kiln_error *error)
{
    const struct kiln_nvrtc_library *nvrtc;
    enum kiln_status status =
        kiln_nvrtc_library_open(compiler->path, compiler->identity, &nvrtc, error);
    if (status != KILN_OK)
        return status;
    /* NVRTC wants a NUL behind the text. */
    char *text = strndup(source->text, source->size_bytes);
    if (text == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for the source of kernel '%s'",
                              source->symbol);
    void *program = NULL;
    status = check(nvrtc, nvrtc->nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL),
                   "prepare a compilation", error);
    if (status == KILN_OK) {
        status = compile_program(nvrtc, program, target, object, log, error);
        (void)nvrtc->nvrtcDestroyProgram(&program);
    }
    free(text);
    return status;
}

static enum kiln_status disassemble(const struct kiln_compiler *compiler,
                                    const struct kiln_target *target,
                                    const struct kiln_compile_source *object,
                                    struct kiln_buffer *text, struct kiln_error *error)
{
    (void)compiler;
    char *disassembler = kiln_program_find("nvdisasm");
    if (disassembler == NULL) {
        (void)kiln_error_set(error, KILN_UNSUPPORTED, "there is no 'nvdisasm' for target '%s'",
                             target->name);
        kiln_error_hint(error, "install the CUDA toolkit and put its programs on PATH");
        return KILN_UNSUPPORTED;
    }
    struct kiln_program_arguments arguments = {.count = 0};
    kiln_program_add(&arguments, disassembler);
    kiln_program_add(&arguments, "--print-code");
    enum kiln_status status = kiln_program_disassemble(&arguments, object, text, error);
    free(disassembler);
    return status;
}

extern const struct kiln_compiler_ops kiln_compiler_nvrtc;
const struct kiln_compiler_ops kiln_compiler_nvrtc = {
    .name = "nvrtc",
    .kind = KILN_TARGET_CUDA,
    .hint = "install NVRTC of CUDA 12 or 13, or set KILN_NVRTC_LIBRARY",
    .options = options_version,
    .find = find,
    .serves = serves,
    .compile = compile,
    .disassemble = disassemble,
};
