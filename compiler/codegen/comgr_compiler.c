/* comgr: clang, LLVM and lld as one library; the default for AMDGPU targets that it lists. */
#include "compiler/codegen/comgr_library.h"
#include "compiler/codegen/compiler.h"
#include "compiler/codegen/compiler_search.h"
#include "compiler/codegen/elf_file.h"

#include "runtime/support/environment.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ISA_PREFIX "amdgcn-amd-amdhsa--"

/*
 * LLVM's passes run twice: on the source's bitcode, and when comgr generates code. Once is not
 * enough (-disable-llvm-passes at either step): LLVM 15 then leaves some arrays in memory, and puts
 * them into LDS. The first time, -O1 takes 87 % of the time of -O3, and only arrays of bytes need
 * -O3. Other arrays must not have it: it joins neighbouring halves to vectors, and long arrays of
 * these stay in memory.
 *
 * The last two options are for LLVM 15, which repeats InstCombine, half of the time of all passes,
 * until nothing changes. Later versions run it once and end the process at an option that they
 * lack. A comgr that does not need LLVM as a library of its own does not tell its version.
 */
#define LLVM_15_OPTIONS "-mllvm", "-instcombine-max-iterations=1"
static const char *source_options[] = {"-O1",       "-std=c++17", "-ffp-contract=off",
                                       "-nogpuinc", "-nogpulib",  LLVM_15_OPTIONS};
static const char *byte_source_options[] = {"-O3",       "-std=c++17", "-ffp-contract=off",
                                            "-nogpuinc", "-nogpulib",  LLVM_15_OPTIONS};
static const char *codegen_options[] = {"-O3", LLVM_15_OPTIONS};
/* Raised whenever the options above change. */
#define OPTIONS_VERSION "options-6"

enum {
    SOURCE_OPTION_COUNT = sizeof source_options / sizeof *source_options,
    CODEGEN_OPTION_COUNT = sizeof codegen_options / sizeof *codegen_options,
    LLVM_15_OPTION_COUNT = 2,
};

static const char *options_version(void)
{
    return OPTIONS_VERSION;
}

static enum kiln_status find(struct kiln_compiler *ret_compiler, struct kiln_error *error)
{
    static const char *const names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so",
                                        NULL};
    char *path = kiln_compiler_search(kiln_library_find, KILN_ENVIRONMENT_KILN_COMGR_LIBRARY, names,
                                      "'libamd_comgr.so.{3,2}'", error);
    if (path == NULL)
        return error->status;
    return kiln_compiler_adopt(ret_compiler, path, NULL, "comgr " OPTIONS_VERSION, error);
}

/*
 * One thread at a time, for compilations in this process. comgr 2.4 takes a lock of its own, but
 * not early enough: of processes whose first compilations came from several threads one in ten
 * crashed, in LLVM's registration of options.
 */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static enum kiln_status serves(const struct kiln_compiler *compiler,
                               const struct kiln_target *target, bool *ret_serves,
                               struct kiln_error *error)
{
    const struct kiln_comgr_library *comgr;
    enum kiln_status status =
        kiln_comgr_library_open(compiler->path, compiler->identity, &comgr, error);
    if (status != KILN_OK)
        return status;
    char isa[sizeof target->processor + sizeof ISA_PREFIX];
    (void)snprintf(isa, sizeof isa, ISA_PREFIX "%s", target->processor);
    size_t count = 0;
    bool is_listed = false;
    pthread_mutex_lock(&one_at_a_time);
    if (comgr->get_isa_count(&count) != KILN_COMGR_STATUS_SUCCESS)
        count = 0;
    for (size_t i = 0; i < count && !is_listed; i++) {
        const char *name = NULL;
        is_listed = comgr->get_isa_name(i, &name) == KILN_COMGR_STATUS_SUCCESS && name != NULL &&
                    strcmp(name, isa) == 0;
    }
    pthread_mutex_unlock(&one_at_a_time);
    *ret_serves = is_listed;
    return KILN_OK;
}

/* The state of one compile; zero handles are none. */
struct job {
    const struct kiln_comgr_library *comgr;
    struct kiln_comgr_handle action;
    struct kiln_comgr_handle data;
    struct kiln_comgr_handle sets[4]; /* source, bitcode, relocatable, executable */
};

static void job_fini(struct job *job)
{
    for (size_t i = 0; i < sizeof job->sets / sizeof *job->sets; i++) {
        if (job->sets[i].handle != 0)
            (void)job->comgr->destroy_data_set(job->sets[i]);
    }
    if (job->data.handle != 0)
        (void)job->comgr->release_data(job->data);
    if (job->action.handle != 0)
        (void)job->comgr->destroy_action_info(job->action);
}

static enum kiln_status check(const struct job *job, unsigned code, const char *what,
                              struct kiln_error *error)
{
    if (code == KILN_COMGR_STATUS_SUCCESS)
        return KILN_OK;
    const char *text = NULL;
    if (job->comgr->status_string(code, &text) != KILN_COMGR_STATUS_SUCCESS || text == NULL)
        text = "unknown status";
    return kiln_error_set(error, KILN_COMPILE_FAILED, "comgr failed to %s: %s (status %u)", what,
                          text, code);
}

/* Appends the bytes of the first data object of a kind in a set, less a trailing NUL of logs. */
static unsigned append_data(const struct job *job, struct kiln_comgr_handle set, unsigned kind,
                            struct kiln_buffer *bytes)
{
    const struct kiln_comgr_library *comgr = job->comgr;
    size_t count = 0;
    unsigned code = comgr->action_data_count(set, kind, &count);
    if (code != KILN_COMGR_STATUS_SUCCESS || count == 0)
        return code != KILN_COMGR_STATUS_SUCCESS ? code : 1;
    struct kiln_comgr_handle data;
    code = comgr->action_data_get_data(set, kind, 0, &data);
    if (code != KILN_COMGR_STATUS_SUCCESS)
        return code;
    size_t size = 0;
    code = comgr->get_data(data, &size, NULL);
    char *copy = code == KILN_COMGR_STATUS_SUCCESS ? malloc(size + 1) : NULL;
    if (copy != NULL && (code = comgr->get_data(data, &size, copy)) == KILN_COMGR_STATUS_SUCCESS)
        kiln_buffer_append(bytes, copy,
                           kind == KILN_COMGR_DATA_KIND_LOG ? strnlen(copy, size) : size);
    else if (copy == NULL)
        code = 1;
    free(copy);
    (void)comgr->release_data(data);
    return code;
}

static enum kiln_status prepare(struct job *job, const struct kiln_target *target,
                                const struct kiln_compile_source *source, struct kiln_error *error)
{
    const struct kiln_comgr_library *comgr = job->comgr;
    char isa[sizeof target->name + sizeof ISA_PREFIX];
    (void)snprintf(isa, sizeof isa, ISA_PREFIX "%s", target->name);
    unsigned code = comgr->create_data(KILN_COMGR_DATA_KIND_SOURCE, &job->data);
    if (code == KILN_COMGR_STATUS_SUCCESS)
        code = comgr->set_data(job->data, source->size_bytes, source->text);
    if (code == KILN_COMGR_STATUS_SUCCESS)
        code = comgr->set_data_name(job->data, "kernel.hip");
    for (size_t i = 0; i < sizeof job->sets / sizeof *job->sets; i++) {
        if (code == KILN_COMGR_STATUS_SUCCESS)
            code = comgr->create_data_set(&job->sets[i]);
    }
    if (code == KILN_COMGR_STATUS_SUCCESS)
        code = comgr->data_set_add(job->sets[0], job->data);
    if (code == KILN_COMGR_STATUS_SUCCESS)
        code = comgr->create_action_info(&job->action);
    if (code == KILN_COMGR_STATUS_SUCCESS)
        code = comgr->action_info_set_language(job->action, comgr->language_hip);
    if (code == KILN_COMGR_STATUS_SUCCESS)
        code = comgr->action_info_set_isa_name(job->action, isa);
    if (code == KILN_COMGR_STATUS_SUCCESS)
        code = comgr->action_info_set_logging(job->action, true);
    return check(job, code, "prepare a compilation", error);
}

static enum kiln_status step(struct job *job, unsigned action, const char *options[], size_t count,
                             size_t from, const char *what, struct kiln_buffer *log,
                             struct kiln_error *error)
{
    const struct kiln_comgr_library *comgr = job->comgr;
    unsigned code = comgr->action_info_set_option_list(job->action, options, count);
    if (code == KILN_COMGR_STATUS_SUCCESS)
        code = comgr->do_action(action, job->action, job->sets[from], job->sets[from + 1]);
    (void)append_data(job, job->sets[from + 1], KILN_COMGR_DATA_KIND_LOG, log);
    return check(job, code, what, error);
}

/* True if a header of device/convert/ stands in the source whose storage type is a byte. */
static bool has_byte_elements(const struct kiln_compile_source *source)
{
    static const char declaration[] = " char kiln_storage_";
    return memmem(source->text, source->size_bytes, declaration, sizeof declaration - 1) != NULL;
}

static enum kiln_status compile(const struct kiln_compiler *compiler,
                                const struct kiln_target *target,
                                const struct kiln_compile_source *source,
                                struct kiln_buffer *object, struct kiln_buffer *log,
                                struct kiln_error *error)
{
    struct job job = {0};
    enum kiln_status status =
        kiln_comgr_library_open(compiler->path, compiler->identity, &job.comgr, error);
    if (status != KILN_OK)
        return status;
    bool is_llvm_15 = kiln_binary_llvm_version(compiler->path) == 15;
    size_t left_out = is_llvm_15 ? 0 : LLVM_15_OPTION_COUNT;
    pthread_mutex_lock(&one_at_a_time);
    status = prepare(&job, target, source, error);
    if (status == KILN_OK)
        status = step(&job, KILN_COMGR_ACTION_COMPILE_SOURCE_TO_BC,
                      has_byte_elements(source) ? byte_source_options : source_options,
                      SOURCE_OPTION_COUNT - left_out, 0, "compile the source", log, error);
    if (status == KILN_OK)
        status = step(&job, job.comgr->action_codegen, codegen_options,
                      CODEGEN_OPTION_COUNT - left_out, 1, "generate code", log, error);
    if (status == KILN_OK)
        status = step(&job, job.comgr->action_link, NULL, 0, 2, "link the code object", log, error);
    if (status == KILN_OK)
        status =
            check(&job, append_data(&job, job.sets[3], KILN_COMGR_DATA_KIND_EXECUTABLE, object),
                  "give the code object", error);
    job_fini(&job);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

struct instructions {
    const struct kiln_elf *elf;
    const struct kiln_elf_symbol *symbol;
    struct kiln_buffer *text;
};

/* Callback of comgr: copies up to `size` bytes of the kernel's code, and says how many. */
static uint64_t read_code(uint64_t from, char *to, uint64_t size, void *context)
{
    const struct instructions *instructions = context;
    const struct kiln_elf_symbol *symbol = instructions->symbol;
    if (from < symbol->address || from - symbol->address >= symbol->size_bytes)
        return 0;
    uint64_t skipped = from - symbol->address;
    uint64_t left = symbol->size_bytes - skipped;
    uint64_t count = size < left ? size : left;
    if (!kiln_elf_read(instructions->elf, symbol->offset + skipped, to, (size_t)count))
        return 0;
    return count;
}

static void print_instruction(const char *instruction, void *context)
{
    const struct instructions *instructions = context;
    instruction += strspn(instruction, " \t");
    kiln_buffer_printf(instructions->text, "\t%s\n", instruction);
}

static void print_address(uint64_t address, void *context)
{
    (void)address;
    (void)context;
}

static enum kiln_status disassemble(const struct kiln_compiler *compiler,
                                    const struct kiln_target *target,
                                    const struct kiln_compile_source *object,
                                    struct kiln_buffer *text, struct kiln_error *error)
{
    struct job job = {0};
    enum kiln_status status =
        kiln_comgr_library_open(compiler->path, compiler->identity, &job.comgr, error);
    if (status != KILN_OK)
        return status;
    struct kiln_elf elf;
    struct kiln_elf_symbol symbol;
    if (!kiln_elf_open_memory(object->text, object->size_bytes, &elf) ||
        !kiln_elf_find_symbol(&elf, object->symbol, &symbol) || symbol.offset == UINT64_MAX)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the code object has no kernel '%s'",
                              object->symbol);
    char isa[sizeof target->name + sizeof ISA_PREFIX];
    (void)snprintf(isa, sizeof isa, ISA_PREFIX "%s", target->name);
    struct kiln_comgr_handle info;
    struct instructions instructions = {.elf = &elf, .symbol = &symbol, .text = text};
    pthread_mutex_lock(&one_at_a_time);
    unsigned code =
        job.comgr->create_disassembly_info(isa, read_code, print_instruction, print_address, &info);
    status = check(&job, code, "disassemble", error);
    if (status != KILN_OK) {
        pthread_mutex_unlock(&one_at_a_time);
        return status;
    }
    kiln_buffer_printf(text, "%s:\n", object->symbol);
    for (uint64_t at = 0; at < symbol.size_bytes;) {
        uint64_t size = 0;
        code = job.comgr->disassemble_instruction(info, symbol.address + at, &instructions, &size);
        if (code != KILN_COMGR_STATUS_SUCCESS || size == 0) {
            kiln_buffer_append_text(text, "\t; not an instruction\n");
            size = 4;
        }
        at += size;
    }
    (void)job.comgr->destroy_disassembly_info(info);
    pthread_mutex_unlock(&one_at_a_time);
    return KILN_OK;
}

extern const struct kiln_compiler_ops kiln_compiler_comgr;
const struct kiln_compiler_ops kiln_compiler_comgr = {
    .name = "comgr",
    .kind = KILN_TARGET_AMDGPU,
    .hint = "install libamd-comgr-dev or ROCm, or set KILN_COMGR_LIBRARY",
    .options = options_version,
    .find = find,
    .serves = serves,
    .compile = compile,
    .disassemble = disassemble,
};
