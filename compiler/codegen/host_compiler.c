/*
 * The machine's C++ compiler, for the host device: a shared object from the same kernel source.
 *
 * Random-graph tests compile thousands of kernels, so time matters. Measured with gcc 12 on a small
 * kernel: 47 ms as the driver does it, 24 ms with -pipe and without start files and default
 * libraries (the linker then reads three libraries instead of nine files); clang 19 takes 80 ms,
 * most of it for loading itself. Over 40 kernels of random graphs -O1 takes 97 ms each and -O2
 * 136 ms. What they make is as fast: vectors are written out, and what matters is inlined either
 * way.
 */
#include "compiler/codegen/compiler_search.h"
#include "compiler/codegen/program_compile.h"

#include "runtime/support/environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const options[] = {
    "-pipe",
    "-w",
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    /* Results are compared with a reference: no contraction, and nothing of -ffast-math that
       changes values. Not -fno-trapping-math: gcc 12 then turns (float)(int)x into a truncation,
       which makes -0 of a small negative x. */
    "-ffp-contract=off",
    "-fno-math-errno",
};
static const char *const plain_options[] = {"-nostdlib"};
static const char *const plain_libraries[] = {"-lm", "-lc", "-lgcc"};
#define SANITIZED "sanitized"
static const char *const sanitizer_options[] = {"-g1", "-fno-omit-frame-pointer",
                                                "-fsanitize=address,undefined",
                                                "-fno-sanitize-recover=undefined"};
static const char *const sanitizer_libraries[] = {"-lm"};
/* Raised whenever the options above change. */
#define OPTIONS_VERSION "options-3"

/* Kernels with sanitizers and without are not each other's, whatever compiler made them. */
static const char *options_version(void)
{
    return kiln_environment_flag(KILN_ENVIRONMENT_KILN_HOST_SANITIZE) ? OPTIONS_VERSION
               " " SANITIZED
                                                                      : OPTIONS_VERSION;
}

static enum kiln_status find(struct kiln_compiler *ret_compiler, struct kiln_error *error)
{
    static const char *const names[] = {"c++", "g++", "clang++", NULL};
    char *path = kiln_compiler_search(kiln_program_find, KILN_ENVIRONMENT_KILN_HOST_CXX, names,
                                      "C++ compiler", error);
    if (path == NULL)
        return error->status;
    /* ccache and its like are one program for all compilers: what it is called says which. */
    char start[NAME_MAX + 64];
    (void)snprintf(start, sizeof start, "host %s called=%s", options_version(),
                   strrchr(path, '/') + 1);
    return kiln_compiler_adopt(ret_compiler, path, NULL, start, error);
}

static enum kiln_status serves(const struct kiln_compiler *compiler,
                               const struct kiln_target *target, bool *ret_serves,
                               struct kiln_error *error)
{
    (void)compiler;
    (void)error;
    *ret_serves = target->kind == KILN_TARGET_HOST;
    return KILN_OK;
}

static enum kiln_status compile(const struct kiln_compiler *compiler,
                                const struct kiln_target *target,
                                const struct kiln_compile_source *source,
                                struct kiln_buffer *object, struct kiln_buffer *log,
                                struct kiln_error *error)
{
    struct kiln_program_arguments arguments = {.count = 0};
    bool is_sanitized = strstr(compiler->identity, " " SANITIZED " ") != NULL;
    const char *level = target->name + sizeof "host:" - 1;
    char architecture[sizeof target->name + 8];
    kiln_program_add(&arguments, compiler->path);
    kiln_program_add_all(&arguments, options, sizeof options / sizeof *options);
    if (strncmp(level, "x86-64", 6) == 0) {
        (void)snprintf(architecture, sizeof architecture, "-march=%s", level);
        kiln_program_add(&arguments, architecture);
    }
    if (is_sanitized)
        kiln_program_add_all(&arguments, sanitizer_options,
                             sizeof sanitizer_options / sizeof *sanitizer_options);
    else
        kiln_program_add_all(&arguments, plain_options,
                             sizeof plain_options / sizeof *plain_options);
    kiln_program_add(&arguments, "-x");
    kiln_program_add(&arguments, "c++");
    kiln_program_add(&arguments, "-");
    enum kiln_status status =
        is_sanitized
            ? kiln_program_compile(&arguments, sanitizer_libraries,
                                   sizeof sanitizer_libraries / sizeof *sanitizer_libraries, source,
                                   object, log, error)
            : kiln_program_compile(&arguments, plain_libraries,
                                   sizeof plain_libraries / sizeof *plain_libraries, source, object,
                                   log, error);
    /* Afterwards: had it been replaced before it was started, it would show. */
    struct kiln_error change;
    kiln_error_init(&change);
    if (kiln_binary_check_identity(compiler->path, compiler->identity, &change) == KILN_OK)
        return status;
    *error = change;
    return change.status;
}

/* An assembler or a linker may be missing, or the program be none that compiles. */
static enum kiln_status try_out(const struct kiln_compiler *compiler,
                                const struct kiln_target *target, bool is_in_process,
                                struct kiln_error *error)
{
    static const char text[] = "extern \"C\" int kiln_trial() { return 0; }\n";
    const struct kiln_compile_source source = {.symbol = "kiln_trial",
                                               .text = text,
                                               .size_bytes = sizeof text - 1,
                                               .timeout_milliseconds = 10000,
                                               .is_in_process = is_in_process};
    struct kiln_buffer object, log;
    kiln_buffer_init(&object);
    kiln_buffer_init(&log);
    enum kiln_status status = compile(compiler, target, &source, &object, &log, error);
    if (status == KILN_COMPILE_FAILED) {
        const char *line = kiln_buffer_text(&log);
        int length = (int)strcspn(line, "\n");
        status = kiln_error_set(error, status, "the C++ compiler '%.300s' does not work: %.*s",
                                compiler->path, length ? length : 24,
                                length ? line : "it compiles nothing here");
        kiln_error_hint(error, "set KILN_HOST_CXX to a C++ compiler with its linker");
    }
    kiln_buffer_fini(&object);
    kiln_buffer_fini(&log);
    return status;
}

static enum kiln_status disassemble(const struct kiln_compiler *compiler,
                                    const struct kiln_target *target,
                                    const struct kiln_compile_source *object,
                                    struct kiln_buffer *text, struct kiln_error *error)
{
    (void)compiler;
    char *objdump = kiln_program_find("objdump");
    if (objdump == NULL)
        return kiln_error_set(error, KILN_UNSUPPORTED, "there is no 'objdump' for target '%s'",
                              target->name);
    struct kiln_program_arguments arguments = {.count = 0};
    kiln_program_add(&arguments, objdump);
    kiln_program_add(&arguments, "-d");
    kiln_program_add(&arguments, "--no-show-raw-insn");
    enum kiln_status status = kiln_program_disassemble(&arguments, object, text, error);
    free(objdump);
    return status;
}

extern const struct kiln_compiler_ops kiln_compiler_host;
const struct kiln_compiler_ops kiln_compiler_host = {
    .name = "host",
    .kind = KILN_TARGET_HOST,
    .hint = "install g++, or set KILN_HOST_CXX",
    .options = options_version,
    .find = find,
    .serves = serves,
    .try_out = try_out,
    .compile = compile,
    .disassemble = disassemble,
};
