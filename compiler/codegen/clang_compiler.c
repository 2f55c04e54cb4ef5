/*
 * clang 19 or newer with lld, as a program: serves AMDGPU targets that the comgr here lacks. The
 * oldest installed version compiles, because it is tested most. The newest one compiles for targets
 * that the oldest does not know.
 *
 * One command line makes a linked code object from header-free HIP. --no-gpu-bundle-output drops
 * the offload bundle, -fuse-cuid=none a symbol that would have a random name, and code object
 * version 4 loads on every HIP runtime (what version 5 adds, block counts as hidden arguments, no
 * kernel of ours asks for).
 */
#include "compiler/codegen/compiler_search.h"
#include "compiler/codegen/elf_file.h"
#include "compiler/codegen/program_compile.h"

#include "runtime/support/environment.h"
#include "runtime/support/subprocess.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct kiln_compiler_ops kiln_compiler_clang;
extern const struct kiln_compiler_ops kiln_compiler_newest_clang;

enum {
    OLDEST_VERSION = 19,
    NEWEST_VERSION = 40, /* that is looked for by name */
    TARGETS_LIMIT_BYTES = 64 << 10,
    PROBE_TIMEOUT_MILLISECONDS = 20000,
};

static const char *const options[] = {
    "--no-default-config",
    "--cuda-device-only",
    "--no-gpu-bundle-output",
    "-fuse-cuid=none",
    "-mcode-object-version=4",
    "-nogpuinc",
    "-nogpulib",
    "-nostdinc",
    "-nostdinc++",
    "-O2",
    "-std=c++17",
    "-ffp-contract=off",
    /* Arrays that are not taken apart stay in scratch memory, where they are counted as spills and
     * the next form of the schedule is tried, instead of going to LDS, which is counted out. */
    "-mllvm",
    "-disable-promote-alloca-to-lds",
};
/* Raised whenever the options above change. */
#define OPTIONS_VERSION "options-3"

/* The linker that clang's driver will start: next to clang, else on PATH. */
static char *find_linker(const char *clang)
{
    static const char *const names[] = {"lld", "ld.lld"};
    char *resolved = realpath(clang, NULL);
    char *slash = resolved != NULL ? strrchr(resolved, '/') : NULL;
    char *found = NULL;
    for (size_t i = 0; slash != NULL && found == NULL && i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        int size =
            snprintf(path, sizeof path, "%.*s/%s", (int)(slash - resolved), resolved, names[i]);
        if (size > 0 && (size_t)size < sizeof path)
            found = kiln_program_find(path);
    }
    for (size_t i = 0; found == NULL && i < sizeof names / sizeof *names; i++)
        found = kiln_program_find(names[i]);
    free(resolved);
    return found;
}

/* A clang that is new enough, with its linker; NULL, with errno, as kiln_library_find. By name the
 * oldest version that will do, or the newest; then what is called clang, then ROCm's. */
static char *find_clang(bool is_newest, char **ret_linker)
{
    const char *configured = kiln_environment_text(KILN_ENVIRONMENT_KILN_CLANG);
    bool is_configured = configured != NULL && *configured != '\0';
    const int versions = NEWEST_VERSION - OLDEST_VERSION + 1;
    for (int i = 0; i < (is_configured ? 1 : versions + 2); i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "clang-%d",
                       is_newest ? NEWEST_VERSION - i : OLDEST_VERSION + i);
        const char *candidate = name;
        if (is_configured)
            candidate = configured;
        else if (i >= versions)
            candidate = i == versions ? "clang" : "/opt/rocm/llvm/bin/clang";
        char *path = kiln_program_find(candidate);
        if (path == NULL)
            continue;
        char *linker = find_linker(path);
        errno = 0;
        if (linker != NULL && (is_configured || kiln_binary_llvm_version(path) >= OLDEST_VERSION)) {
            *ret_linker = linker;
            return path;
        }
        int failure = errno;
        free(linker);
        free(path);
        errno = failure;
        if (kiln_status_may_pass(kiln_status_of_errno(failure)))
            return NULL;
    }
    errno = ENOENT;
    return NULL;
}

static const char *options_version(void)
{
    return OPTIONS_VERSION;
}

static enum kiln_status find(struct kiln_compiler *ret_compiler, struct kiln_error *error)
{
    char *linker = NULL;
    char *path = find_clang(false, &linker);
    if (path == NULL)
        return kiln_compiler_absent(error, "there is no clang %d or newer with lld here",
                                    OLDEST_VERSION);
    enum kiln_status status =
        kiln_compiler_adopt(ret_compiler, path, linker, "clang " OPTIONS_VERSION, error);
    free(linker);
    return status;
}

static enum kiln_status find_newest(struct kiln_compiler *ret_compiler, struct kiln_error *error)
{
    char *linker = NULL, *linker_of_oldest = NULL;
    char *oldest = find_clang(false, &linker_of_oldest);
    char *path = oldest != NULL ? find_clang(true, &linker) : NULL;
    bool is_second = path != NULL && strcmp(path, oldest) != 0;
    enum kiln_status status =
        is_second ? kiln_compiler_adopt(ret_compiler, path, linker, "clang " OPTIONS_VERSION, error)
                  : kiln_compiler_absent(error, "there is no second, newer clang here");
    if (!is_second)
        free(path);
    free(linker);
    free(oldest);
    free(linker_of_oldest);
    return status;
}

/* The processors of a clang, asked once per process: for each row of compilers.def. */
struct processors {
    char *path;
    char *text; /* what --print-supported-cpus says */
};
static pthread_mutex_t supported_lock = PTHREAD_MUTEX_INITIALIZER;
static struct processors supported[2];

static enum kiln_status ask_processors(const char *path, struct processors *ret_processors,
                                       struct kiln_error *error)
{
    const char *const arguments[] = {path,
                                     "--no-default-config",
                                     "-nogpulib",
                                     "--target=amdgcn-amd-amdhsa",
                                     "--print-supported-cpus",
                                     NULL};
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    struct kiln_subprocess_run run = {
        .arguments = arguments,
        .output_limit_bytes = TARGETS_LIMIT_BYTES,
        .timeout_milliseconds = PROBE_TIMEOUT_MILLISECONDS,
    };
    struct kiln_subprocess_exit exit = {0};
    enum kiln_status status = kiln_subprocess_run(&run, &text, &exit, error);
    if (status != KILN_OK) {
        kiln_buffer_fini(&text);
        return status;
    }
    char *copy = strdup(path);
    if (copy == NULL || text.data == NULL) {
        free(copy);
        kiln_buffer_fini(&text);
        return kiln_error_set(error, KILN_UNSUPPORTED, "'%s' does not tell its processors", path);
    }
    free(ret_processors->path);
    free(ret_processors->text);
    *ret_processors = (struct processors){copy, text.data}; /* takes the memory */
    return KILN_OK;
}

/* True when a line of the listing is the word, with blanks around. */
static bool has_line(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length) {
        bool starts = at == text || at[-1] == '\t' || at[-1] == ' ' || at[-1] == '\n';
        if (starts && (at[length] == '\n' || at[length] == '\0' || at[length] == ' '))
            return true;
    }
    return false;
}

static enum kiln_status serves(const struct kiln_compiler *compiler,
                               const struct kiln_target *target, bool *ret_serves,
                               struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    struct processors *processors = &supported[compiler->ops == &kiln_compiler_newest_clang];
    (void)pthread_mutex_lock(&supported_lock);
    if (processors->path == NULL || strcmp(processors->path, compiler->path) != 0)
        status = ask_processors(compiler->path, processors, error);
    if (status == KILN_OK)
        *ret_serves = has_line(processors->text, target->processor);
    (void)pthread_mutex_unlock(&supported_lock);
    return status;
}

static enum kiln_status compile(const struct kiln_compiler *compiler,
                                const struct kiln_target *target,
                                const struct kiln_compile_source *source,
                                struct kiln_buffer *object, struct kiln_buffer *log,
                                struct kiln_error *error)
{
    char architecture[sizeof target->name + 32];
    (void)snprintf(architecture, sizeof architecture, "--offload-arch=%s", target->name);
    struct kiln_program_arguments arguments = {.count = 0};
    kiln_program_add(&arguments, compiler->path);
    kiln_program_add_all(&arguments, options, sizeof options / sizeof *options);
    kiln_program_add(&arguments, architecture);
    kiln_program_add(&arguments, "-x");
    kiln_program_add(&arguments, "hip");
    kiln_program_add(&arguments, "-");
    enum kiln_status status = kiln_program_compile(&arguments, NULL, 0, source, object, log, error);
    /* Afterwards: had one been replaced before it was started, it would show. */
    struct kiln_error change;
    kiln_error_init(&change);
    char *linker = find_linker(compiler->path);
    enum kiln_status changed =
        kiln_binary_check_identity(compiler->path, compiler->identity, &change);
    if (changed == KILN_OK && linker != NULL)
        changed = kiln_binary_check_identity(linker, compiler->identity, &change);
    free(linker);
    if (changed == KILN_OK)
        return status;
    *error = change;
    return changed;
}

/* Appends the instructions of llvm-objdump's text: what stands in front of the first label and the
 * comments with addresses and encodings behind them are left out. */
static void append_instructions(const struct kiln_buffer *listing, struct kiln_buffer *text)
{
    const char *at = strstr(kiln_buffer_text(listing), "\n<");
    at = at != NULL ? at + 1 : kiln_buffer_text(listing);
    while (*at != '\0') {
        size_t length = strcspn(at, "\n");
        const char *comment = memmem(at, length, "//", 2);
        size_t kept = comment != NULL ? (size_t)(comment - at) : length;
        while (kept != 0 && at[kept - 1] == ' ')
            kept--;
        kiln_buffer_append(text, at, kept);
        kiln_buffer_append_text(text, "\n");
        at += length + (at[length] != '\0');
    }
}

/* The llvm-objdump of this clang, otherwise the newest on PATH that is as new: an older one does
 * not know all of clang's processors. `version` is clang's, 0 when it is not known. */
static char *find_objdump(const char *clang, unsigned version)
{
    char *resolved = realpath(clang, NULL);
    char *slash = resolved != NULL ? strrchr(resolved, '/') : NULL;
    char *found = NULL;
    char path[PATH_MAX];
    if (slash != NULL && snprintf(path, sizeof path, "%.*s/llvm-objdump", (int)(slash - resolved),
                                  resolved) < (int)sizeof path)
        found = kiln_program_find(path);
    free(resolved);
    unsigned oldest = version != 0 ? version : OLDEST_VERSION;
    for (unsigned i = NEWEST_VERSION; found == NULL && i >= oldest; i--) {
        char name[32];
        (void)snprintf(name, sizeof name, "llvm-objdump-%u", i);
        found = kiln_program_find(name);
    }
    if (found == NULL)
        found = kiln_program_find("llvm-objdump");
    else
        return found;
    if (found != NULL && kiln_binary_llvm_version(found) < oldest) {
        free(found);
        found = NULL;
    }
    return found;
}

static enum kiln_status disassemble(const struct kiln_compiler *compiler,
                                    const struct kiln_target *target,
                                    const struct kiln_compile_source *object,
                                    struct kiln_buffer *text, struct kiln_error *error)
{
    unsigned version = kiln_binary_llvm_version(compiler->path);
    char *objdump = find_objdump(compiler->path, version);
    if (objdump == NULL) {
        unsigned oldest = version != 0 ? version : OLDEST_VERSION;
        (void)kiln_error_set(error, KILN_UNSUPPORTED,
                             "there is no llvm-objdump %u or newer here for target '%s'", oldest,
                             target->name);
        kiln_error_hint(error, "install llvm-%u, or put llvm-objdump next to '%s'", oldest,
                        compiler->path);
        return KILN_UNSUPPORTED;
    }
    struct kiln_elf elf;
    struct kiln_elf_symbol symbol;
    if (!kiln_elf_open_memory(object->text, object->size_bytes, &elf) ||
        !kiln_elf_find_symbol(&elf, object->symbol, &symbol)) {
        free(objdump);
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the code object has no kernel '%s'",
                              object->symbol);
    }
    char symbols[KILN_ERROR_TEXT_BYTES];
    (void)snprintf(symbols, sizeof symbols, "--disassemble-symbols=%s", object->symbol);
    /* llvm-objdump goes on to the next symbol, over what the compiler pads the code with. */
    char stop[64];
    (void)snprintf(stop, sizeof stop, "--stop-address=0x%" PRIx64,
                   symbol.address + symbol.size_bytes);
    struct kiln_program_arguments arguments = {.count = 0};
    kiln_program_add(&arguments, objdump);
    kiln_program_add(&arguments, "--no-show-raw-insn");
    kiln_program_add(&arguments, "--no-leading-addr");
    kiln_program_add(&arguments, symbols);
    kiln_program_add(&arguments, stop);
    struct kiln_buffer listing;
    kiln_buffer_init(&listing);
    enum kiln_status status = kiln_program_disassemble(&arguments, object, &listing, error);
    if (status == KILN_OK)
        append_instructions(&listing, text);
    kiln_buffer_fini(&listing);
    free(objdump);
    return status;
}

const struct kiln_compiler_ops kiln_compiler_clang = {
    .name = "clang",
    .kind = KILN_TARGET_AMDGPU,
    .hint = "install clang-19 and lld-19 or newer, or set KILN_CLANG",
    .options = options_version,
    .find = find,
    .serves = serves,
    .compile = compile,
    .disassemble = disassemble,
};

const struct kiln_compiler_ops kiln_compiler_newest_clang = {
    .name = "newest-clang",
    .kind = KILN_TARGET_AMDGPU,
    .hint = "install clang-22 and lld-22, if the target is new",
    .options = options_version,
    .find = find_newest,
    .serves = serves,
    .compile = compile,
    .disassemble = disassemble,
};
