/*
 * nvrtc_check TEMPLATES SOURCE [wide|alone]
 * Compiles a source of kernels_templates for an NVIDIA GPU as compiler/codegen/nvrtc_compiler.c
 * does and checks that no kernel keeps anything in memory of its work-items. With `wide`, also that
 * copy_f16_16 and copy_u8_16 use 128-bit accesses; with `alone`, no kernel is needed. Exit status
 * 77: no NVRTC here.
 */
#include "compiler/codegen/compiler_search.h"
#include "compiler/codegen/nvrtc_library.h"
#include "runtime/support/file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, SOURCE_LIMIT_BYTES = 1 << 20 };

struct compiled {
    struct kiln_buffer log;
    char *ptx;
};

/* Ends the program unless `code` is success. */
static void require(const struct kiln_nvrtc_library *nvrtc, int code, const char *what,
                    const char *log)
{
    if (code == KILN_NVRTC_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: %s\n%.4000s\n", what, nvrtc->nvrtcGetErrorString(code), log);
    exit(1);
}

static void compile(const struct kiln_nvrtc_library *nvrtc, void *handle, const char *templates,
                    const char *source, struct compiled *compiled)
{
    char include[4096];
    (void)snprintf(include, sizeof include, "--include-path=%s", templates);
    const char *const options[] = {
        "--gpu-architecture=sm_90",
        "--std=c++17",
        "--device-as-default-execution-space",
        "--fmad=false",
        include,
        "--ptxas-options=-v",
    };
    void *program = NULL;
    require(nvrtc, nvrtc->nvrtcCreateProgram(&program, source, "kernel.cu", 0, NULL, NULL),
            "create", "");
    int code = nvrtc->nvrtcCompileProgram(program, sizeof options / sizeof *options, options);
    size_t size = 0;
    require(nvrtc, nvrtc->nvrtcGetProgramLogSize(program, &size), "log", "");
    char *log = calloc(size + 1, 1);
    if (log == NULL)
        exit(1);
    require(nvrtc, nvrtc->nvrtcGetProgramLog(program, log), "log", "");
    require(nvrtc, code, "compile", log);
    kiln_buffer_append_text(&compiled->log, log);
    free(log);

    int (*get_size)(void *, size_t *);
    int (*get)(void *, char *);
    void *symbol = dlsym(handle, "nvrtcGetPTXSize");
    memcpy(&get_size, &symbol, sizeof symbol);
    symbol = dlsym(handle, "nvrtcGetPTX");
    memcpy(&get, &symbol, sizeof symbol);
    require(nvrtc, get_size(program, &size), "PTX", "");
    compiled->ptx = calloc(size + 1, 1);
    if (compiled->ptx == NULL)
        exit(1);
    require(nvrtc, get(program, compiled->ptx), "PTX", "");
    require(nvrtc, nvrtc->nvrtcDestroyProgram(&program), "destroy", "");
}

/* Kernels in ptxas's report; ends the program when one of them has a stack. */
static unsigned count_kernels(const char *log)
{
    static const char clean[] = " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
    unsigned kernels = 0;
    for (const char *at = log; (at = strstr(at, "bytes stack frame")) != NULL; at++) {
        const char *line = at;
        while (line > log && line[-1] != '\n')
            line--;
        const char *end = strchr(line, '\n');
        size_t length = end != NULL ? (size_t)(end - line) : strlen(line);
        if (memmem(line, length, clean, sizeof clean - 1) == NULL) {
            (void)fprintf(stderr, "kernel number %u: %.*s\n", kernels, (int)length, line);
            exit(1);
        }
        kernels++;
    }
    return kernels;
}

static void require_wide(const char *ptx, const char *kernel)
{
    static const char *const accesses[] = {"ld.global.v4", "st.global.v4"};
    char entry[128];
    (void)snprintf(entry, sizeof entry, ".entry %s(", kernel);
    const char *start = strstr(ptx, entry);
    const char *end = start != NULL ? strstr(start, "\n}") : NULL;
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        if (end == NULL ||
            memmem(start, (size_t)(end - start), accesses[i], strlen(accesses[i])) == NULL) {
            (void)fprintf(stderr, "no '%s' in kernel '%s'\n", accesses[i], kernel);
            exit(1);
        }
    }
}

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    char *path = kiln_library_find("libnvrtc.so.13");
    if (path == NULL)
        path = kiln_library_find("libnvrtc.so.12");
    if (path == NULL) {
        puts("skipped: no NVRTC here");
        return SKIPPED;
    }
    struct kiln_error error;
    struct kiln_buffer identity;
    struct kiln_buffer source;
    struct compiled compiled = {.ptx = NULL};
    const struct kiln_nvrtc_library *nvrtc = NULL;
    kiln_error_init(&error);
    kiln_buffer_init(&identity);
    kiln_buffer_init(&source);
    kiln_buffer_init(&compiled.log);
    (void)kiln_binary_append_identity(path, &identity);
    if (kiln_nvrtc_library_open(path, kiln_buffer_text(&identity), &nvrtc, &error) != KILN_OK ||
        kiln_file_read(arguments[2], SOURCE_LIMIT_BYTES, &source, &error) != KILN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    compile(nvrtc, handle, arguments[1], kiln_buffer_text(&source), &compiled);
    unsigned kernels = count_kernels(kiln_buffer_text(&compiled.log));
    bool is_alone = count > 3 && strcmp(arguments[3], "alone") == 0;
    if (kernels == 0 && !is_alone) {
        (void)fprintf(stderr, "no kernel in ptxas's report\n%s\n", kiln_buffer_text(&compiled.log));
        return 1;
    }
    if (count > 3 && !is_alone) {
        require_wide(compiled.ptx, "copy_f16_16");
        require_wide(compiled.ptx, "copy_u8_16");
    }
    printf("%u kernels\n", kernels);
    free(compiled.ptx);
    kiln_buffer_fini(&compiled.log);
    kiln_buffer_fini(&source);
    kiln_buffer_fini(&identity);
    free(path);
    return 0;
}
