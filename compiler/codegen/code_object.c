#include "compiler/codegen/code_object.h"

#include "compiler/codegen/cubin.h"
#include "compiler/codegen/elf_file.h"
#include "compiler/codegen/msgpack_reader.h"
#include "compiler/codegen/scratch_code.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* LLVM AMDGPUUsage, "ELF Code Object"; elf.h of older C libraries lacks them. */
enum {
    MACHINE_AMDGPU = 224,
    NT_AMDGPU_METADATA = 32,
    OS_ABI_AMDGPU_HSA = 64,
    ABI_VERSION_V4 = 2,
    ABI_VERSION_V6 = 4,
    DESCRIPTOR_BYTES = 64,
    GENERIC_VERSION_MASK = (int)0xff000000, /* e_flags of generic processors, code object v6 */
};

/* Padding that a compiler may put between arrays in local memory. */
enum { LDS_SLACK_BYTES = 128 };

/* What the metadata say about one kernel. */
struct metadata {
    struct kiln_kernel_resources resources;
    bool has_kernel;
    bool is_target;
    bool has_kernarg_size;
    bool has_hidden_arguments;
    bool uses_dynamic_stack;
    uint64_t block_limit;
    uint64_t argument_count;
    char target[96]; /* as found, for the error */
};

static uint32_t clamp(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* One entry of ".args": a map. */
static bool read_argument(struct kiln_reader *reader, struct metadata *metadata)
{
    struct kiln_msgpack_value head;
    if (!kiln_msgpack_next(reader, &head) || head.type != KILN_MSGPACK_MAP)
        return false;
    for (uint64_t i = 0; i < head.number; i++) {
        struct kiln_msgpack_value key;
        struct kiln_msgpack_value value;
        if (!kiln_msgpack_next(reader, &key) || !kiln_msgpack_skip(reader, &key) ||
            !kiln_msgpack_next(reader, &value) || !kiln_msgpack_skip(reader, &value))
            return false;
        static const char hidden[] = "hidden_";
        if (kiln_msgpack_is_text(&key, ".value_kind") && value.type == KILN_MSGPACK_TEXT &&
            value.size >= sizeof hidden - 1 && memcmp(value.bytes, hidden, sizeof hidden - 1) == 0)
            metadata->has_hidden_arguments = true;
    }
    metadata->argument_count++;
    return true;
}

static void store_number(const struct kiln_msgpack_value *key, uint64_t number,
                         struct metadata *metadata)
{
    struct kiln_kernel_resources *resources = &metadata->resources;
    const struct {
        const char *key;
        uint32_t *number;
    } numbers[] = {
        {".vgpr_count", &resources->vgprs},
        {".sgpr_count", &resources->sgprs},
        {".vgpr_spill_count", &resources->vgpr_spills},
        {".sgpr_spill_count", &resources->sgpr_spills},
        {".group_segment_fixed_size", &resources->lds_bytes},
        {".private_segment_fixed_size", &resources->scratch_bytes},
        {".kernarg_segment_size", &resources->kernarg_bytes},
        {".wavefront_size", &resources->wave_size},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (kiln_msgpack_is_text(key, numbers[i].key))
            *numbers[i].number = clamp(number);
    }
    if (kiln_msgpack_is_text(key, ".kernarg_segment_size"))
        metadata->has_kernarg_size = true;
    if (kiln_msgpack_is_text(key, ".max_flat_workgroup_size"))
        metadata->block_limit = number;
}

/* One entry of "amdhsa.kernels". Metadata of a kernel with another name are dropped. */
static bool read_kernel(struct kiln_reader *reader, const char *symbol, struct metadata *metadata)
{
    struct metadata kernel = {0};
    bool is_named = false;
    bool has_descriptor = false;
    char descriptor[1024];
    (void)snprintf(descriptor, sizeof descriptor, "%s.kd", symbol);

    struct kiln_msgpack_value head;
    if (!kiln_msgpack_next(reader, &head) || head.type != KILN_MSGPACK_MAP)
        return false;
    for (uint64_t i = 0; i < head.number; i++) {
        struct kiln_msgpack_value key;
        struct kiln_msgpack_value value;
        if (!kiln_msgpack_next(reader, &key) || !kiln_msgpack_skip(reader, &key) ||
            !kiln_msgpack_next(reader, &value))
            return false;
        if (kiln_msgpack_is_text(&key, ".args") && value.type == KILN_MSGPACK_ARRAY) {
            for (uint64_t k = 0; k < value.number; k++) {
                if (!read_argument(reader, &kernel))
                    return false;
            }
            continue;
        }
        if (!kiln_msgpack_skip(reader, &value))
            return false;
        if (value.type == KILN_MSGPACK_UNSIGNED)
            store_number(&key, value.number, &kernel);
        else if (value.type == KILN_MSGPACK_BOOLEAN &&
                 kiln_msgpack_is_text(&key, ".uses_dynamic_stack"))
            kernel.uses_dynamic_stack = value.number != 0;
        else if (kiln_msgpack_is_text(&key, ".name"))
            is_named = kiln_msgpack_is_text(&value, symbol);
        else if (kiln_msgpack_is_text(&key, ".symbol"))
            has_descriptor = kiln_msgpack_is_text(&value, descriptor);
    }
    if (is_named && has_descriptor) {
        kernel.has_kernel = true;
        kernel.is_target = metadata->is_target;
        memcpy(kernel.target, metadata->target, sizeof kernel.target);
        *metadata = kernel;
    }
    return true;
}

static bool read_metadata(struct kiln_reader *reader, const struct kiln_target *target,
                          const char *symbol, struct metadata *metadata)
{
    char expected[sizeof target->name + 32];
    (void)snprintf(expected, sizeof expected, "amdgcn-amd-amdhsa--%s", target->name);
    struct kiln_msgpack_value head;
    if (!kiln_msgpack_next(reader, &head) || head.type != KILN_MSGPACK_MAP)
        return false;
    for (uint64_t i = 0; i < head.number; i++) {
        struct kiln_msgpack_value key;
        struct kiln_msgpack_value value;
        if (!kiln_msgpack_next(reader, &key) || !kiln_msgpack_skip(reader, &key) ||
            !kiln_msgpack_next(reader, &value))
            return false;
        if (kiln_msgpack_is_text(&key, "amdhsa.kernels") && value.type == KILN_MSGPACK_ARRAY) {
            for (uint64_t k = 0; k < value.number; k++) {
                if (!read_kernel(reader, symbol, metadata))
                    return false;
            }
            continue;
        }
        if (!kiln_msgpack_skip(reader, &value))
            return false;
        if (kiln_msgpack_is_text(&key, "amdhsa.target") && value.type == KILN_MSGPACK_TEXT) {
            metadata->is_target = kiln_msgpack_is_text(&value, expected);
            (void)snprintf(metadata->target, sizeof metadata->target, "%.*s",
                           value.size < 90 ? (int)value.size : 90, (const char *)value.bytes);
        }
    }
    return true;
}

static enum kiln_status compare_elf(const struct kiln_elf *elf, const struct kiln_target *target,
                                    const struct kiln_kernel *kernel, struct kiln_error *error)
{
    uint32_t expected = kiln_target_elf_flags(target);
    if (elf->machine != MACHINE_AMDGPU || elf->type != ET_DYN)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the code object of kernel '%s' is no linked AMDGPU object (ELF "
                              "machine %u, type %u)",
                              kernel->symbol, elf->machine, elf->type);
    if (elf->os_abi != OS_ABI_AMDGPU_HSA || elf->abi_version < ABI_VERSION_V4 ||
        elf->abi_version > ABI_VERSION_V6)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the code object of kernel '%s' has OS ABI %u version %u instead of "
                              "HSA code object version 4 to 6",
                              kernel->symbol, elf->os_abi, elf->abi_version);
    if ((elf->flags & ~(uint32_t)GENERIC_VERSION_MASK) != expected)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the code object of kernel '%s' has ELF flags 0x%" PRIx32
                              " instead of 0x%" PRIx32 " for target '%s'",
                              kernel->symbol, elf->flags, expected, target->name);

    char descriptor_name[1024];
    struct kiln_elf_symbol code;
    struct kiln_elf_symbol descriptor;
    int length = snprintf(descriptor_name, sizeof descriptor_name, "%s.kd", kernel->symbol);
    if (length < 0 || (size_t)length >= sizeof descriptor_name ||
        !kiln_elf_find_symbol(elf, kernel->symbol, &code) || code.type != STT_FUNC ||
        code.offset == UINT64_MAX || !kiln_elf_find_symbol(elf, descriptor_name, &descriptor) ||
        descriptor.type != STT_OBJECT || descriptor.size_bytes != DESCRIPTOR_BYTES ||
        descriptor.offset == UINT64_MAX)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the code object does not define kernel '%s' with its descriptor",
                              kernel->symbol);
    return KILN_OK;
}

static enum kiln_status compare_metadata(const struct metadata *metadata,
                                         const struct kiln_target *target,
                                         const struct kiln_kernel *kernel, struct kiln_error *error)
{
    const struct kiln_kernel_resources *resources = &metadata->resources;
    uint64_t block = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
    uint64_t kernarg_bytes = (uint64_t)kernel->argument_count * 8;
    const char *symbol = kernel->symbol;
    if (!metadata->has_kernel || !metadata->has_kernarg_size)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the metadata of the code object do not describe kernel '%s'",
                              symbol);
    if (!metadata->is_target)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the code object of kernel '%s' is for '%s' instead of '%s'", symbol,
                              metadata->target, target->name);
    if (metadata->has_hidden_arguments || resources->kernarg_bytes != kernarg_bytes)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "kernel '%s' takes %" PRIu32 " bytes of %sarguments instead of "
                              "%" PRIu64,
                              symbol, resources->kernarg_bytes,
                              metadata->has_hidden_arguments ? "plain and hidden " : "",
                              kernarg_bytes);
    if (resources->lds_bytes > target->lds_bytes ||
        resources->lds_bytes > kernel->lds_bytes + LDS_SLACK_BYTES ||
        (kernel->lds_bytes == 0 && resources->lds_bytes != 0))
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "kernel '%s' takes %" PRIu32 " bytes of local memory instead of "
                              "%" PRIu32 " (target '%s' has %" PRIu32 ")",
                              symbol, resources->lds_bytes, kernel->lds_bytes, target->name,
                              target->lds_bytes);
    if (block > metadata->block_limit)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "kernel '%s' takes work-groups of %" PRIu64 " instead of %" PRIu64
                              " work-items",
                              symbol, metadata->block_limit, block);
    if (resources->wave_size != target->wave_size)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "kernel '%s' has wavefronts of %" PRIu32 " instead of %" PRIu32,
                              symbol, resources->wave_size, target->wave_size);
    if (metadata->uses_dynamic_stack)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "kernel '%s' needs a stack without a known size", symbol);
    return KILN_OK;
}

/* True when the kernel's own code reaches the private memory that its metadata ask for, or when the
 * code cannot be found. */
static bool touches_scratch(const struct kiln_elf *elf, const struct kiln_target *target,
                            const struct kiln_kernel *kernel)
{
    struct kiln_elf_symbol code;
    return !kiln_elf_find_symbol(elf, kernel->symbol, &code) || code.size_bytes == 0 ||
           code.offset > elf->size_bytes || code.size_bytes > elf->size_bytes - code.offset ||
           kiln_code_may_touch_scratch(target, elf->bytes + code.offset, (size_t)code.size_bytes);
}

static enum kiln_status check_amdgpu(const struct kiln_elf *elf, const struct kiln_target *target,
                                     const struct kiln_kernel *kernel,
                                     struct kiln_kernel_resources *ret_resources,
                                     struct kiln_error *error)
{
    enum kiln_status status = compare_elf(elf, target, kernel, error);
    if (status != KILN_OK)
        return status;
    uint64_t offset;
    uint64_t size;
    struct kiln_reader reader;
    struct metadata metadata = {0};
    if (!kiln_elf_find_note(elf, "AMDGPU", NT_AMDGPU_METADATA, &offset, &size))
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the code object of kernel '%s' has no metadata", kernel->symbol);
    kiln_reader_init(&reader, elf->bytes + offset, (size_t)size);
    if (!read_metadata(&reader, target, kernel->symbol, &metadata))
        return kiln_error_set(error, KILN_CORRUPT,
                              "the metadata of the code object of kernel '%s' are damaged",
                              kernel->symbol);
    status = compare_metadata(&metadata, target, kernel, error);
    if (status != KILN_OK)
        return status;
    if (metadata.resources.scratch_bytes != 0 && !touches_scratch(elf, target, kernel))
        metadata.resources.scratch_bytes = 0;
    *ret_resources = metadata.resources;
    return KILN_OK;
}

static uint16_t this_machine(void)
{
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#elif defined(__riscv)
    return EM_RISCV;
#elif defined(__powerpc64__)
    return EM_PPC64;
#else
    return EM_NONE;
#endif
}

static enum kiln_status check_host(const struct kiln_elf *elf, const struct kiln_kernel *kernel,
                                   struct kiln_kernel_resources *ret_resources,
                                   struct kiln_error *error)
{
    struct kiln_elf_symbol symbol;
    if (elf->type != ET_DYN || elf->machine != this_machine())
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the code of kernel '%s' is no shared object of this machine (ELF "
                              "machine %u, type %u)",
                              kernel->symbol, elf->machine, elf->type);
    if (!kiln_elf_find_symbol(elf, kernel->symbol, &symbol) || symbol.type != STT_FUNC)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the shared object does not define kernel '%s'", kernel->symbol);
    *ret_resources = (struct kiln_kernel_resources){0};
    return KILN_OK;
}

enum kiln_status kiln_code_object_check(const void *bytes, size_t size,
                                        const struct kiln_target *target,
                                        const struct kiln_kernel *kernel,
                                        struct kiln_kernel_resources *ret_resources,
                                        struct kiln_error *error)
{
    struct kiln_elf elf;
    if (!kiln_elf_open_memory(bytes, size, &elf))
        return kiln_error_set(error, KILN_CORRUPT,
                              "the code object of kernel '%s' is no sound ELF file",
                              kernel->symbol);
    if (!kiln_elf_is_whole(&elf))
        return kiln_error_set(error, KILN_CORRUPT,
                              "the code object of kernel '%s' has parts beyond its end",
                              kernel->symbol);
    switch (target->kind) {
    case KILN_TARGET_AMDGPU:
        return check_amdgpu(&elf, target, kernel, ret_resources, error);
    case KILN_TARGET_HOST:
        return check_host(&elf, kernel, ret_resources, error);
    case KILN_TARGET_CUDA:
        return kiln_cubin_check(&elf, target, kernel, ret_resources, error);
    }
    return kiln_error_set(error, KILN_UNSUPPORTED, "target '%s' has no code objects to check",
                          target->name);
}
