#include "compiler/codegen/cubin.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_CUDA = 190, /* EM_CUDA; elf.h of older C libraries lacks it */
    /* From compute capability 9.0 on the section of shared memory has a KiB for the system in it.
     */
    RESERVED_LDS_BYTES = 1024,
    FIRST_RESERVING_PROCESSOR = 90,
    LDS_SLACK_BYTES = 128, /* padding between arrays */
    ATTRIBUTES_LIMIT = 4096,
};

/* How an attribute's value is stored: in the two bytes of the head, or behind it with its size
 * there. */
enum { FORMAT_HALF = 3, FORMAT_SIZED = 4 };

enum attribute {
    ATTRIBUTE_MAX_THREADS = 0x05,      /* three words: the largest block */
    ATTRIBUTE_FRAME_SIZE = 0x11,       /* symbol, bytes of stack per thread */
    ATTRIBUTE_CBANK_PARAM_SIZE = 0x19, /* bytes of arguments */
    ATTRIBUTE_REGCOUNT = 0x2f,         /* symbol, registers per thread */
};

/* Zero: not told. */
struct attributes {
    uint32_t registers;
    uint32_t frame_bytes;
    uint32_t argument_bytes;
    uint64_t block_limit;
};

static void store(unsigned format, unsigned attribute, uint16_t half, const uint32_t words[3],
                  struct attributes *attributes)
{
    if (format == FORMAT_HALF && attribute == ATTRIBUTE_CBANK_PARAM_SIZE)
        attributes->argument_bytes = half;
    else if (format != FORMAT_SIZED)
        return;
    else if (attribute == ATTRIBUTE_REGCOUNT && half == 2 * sizeof *words)
        attributes->registers = words[1];
    else if (attribute == ATTRIBUTE_FRAME_SIZE && half == 2 * sizeof *words)
        attributes->frame_bytes = words[1];
    else if (attribute == ATTRIBUTE_MAX_THREADS && half == 3 * sizeof *words &&
             words[0] <= UINT16_MAX && words[1] <= UINT16_MAX && words[2] <= UINT16_MAX)
        attributes->block_limit = (uint64_t)words[0] * words[1] * words[2];
}

/* Each attribute has a head of four bytes: format, number, two bytes. Stops at what does not fit.
 */
static void read_attributes(const struct kiln_elf *elf, const char *section_name,
                            struct attributes *attributes)
{
    struct kiln_elf_section section;
    if (!kiln_elf_find_section(elf, section_name, &section) || section.type == SHT_NOBITS)
        return;
    uint64_t at = 0;
    for (unsigned i = 0; i < ATTRIBUTES_LIMIT; i++) {
        unsigned char head[4];
        uint32_t words[3] = {0};
        if (at > section.size_bytes || section.size_bytes - at < sizeof head ||
            !kiln_elf_read(elf, section.offset + at, head, sizeof head))
            return;
        uint16_t half = (uint16_t)(head[2] | head[3] << 8);
        at += sizeof head;
        uint64_t size = head[0] == FORMAT_SIZED ? half : 0;
        if (size > section.size_bytes - at)
            return;
        size_t taken = size < sizeof words ? (size_t)size : sizeof words;
        if (!kiln_elf_read(elf, section.offset + at, words, taken))
            return;
        at += size;
        store(head[0], head[1], half, words, attributes);
    }
}

static enum kiln_status compare(const struct attributes *attributes, uint64_t lds_bytes,
                                const struct kiln_target *target, const struct kiln_kernel *kernel,
                                struct kiln_error *error)
{
    uint64_t block = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
    uint64_t argument_bytes = (uint64_t)kernel->argument_count * 8;
    if (attributes->argument_bytes != 0 && attributes->argument_bytes != argument_bytes)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "kernel '%s' takes %" PRIu32
                              " bytes of arguments instead of %" PRIu64,
                              kernel->symbol, attributes->argument_bytes, argument_bytes);
    if (attributes->block_limit != 0 && attributes->block_limit < block)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "kernel '%s' takes work-groups of %" PRIu64 " instead of %" PRIu64
                              " work-items",
                              kernel->symbol, attributes->block_limit, block);
    if (lds_bytes > target->lds_bytes ||
        lds_bytes > (uint64_t)kernel->lds_bytes + LDS_SLACK_BYTES ||
        (kernel->lds_bytes == 0 && lds_bytes != 0))
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "kernel '%s' takes %" PRIu64 " bytes of local memory instead of "
                              "%" PRIu32 " (target '%s' has %" PRIu32 ")",
                              kernel->symbol, lds_bytes, kernel->lds_bytes, target->name,
                              target->lds_bytes);
    return KILN_OK;
}

/* Bytes that the kernel's own arrays take. */
static uint64_t find_lds_bytes(const struct kiln_elf *elf, const char *section_name,
                               const struct kiln_target *target)
{
    struct kiln_elf_section section;
    if (!kiln_elf_find_section(elf, section_name, &section))
        return 0;
    unsigned long processor =
        strtoul(target->processor + strcspn(target->processor, "0123456789"), NULL, 10);
    uint64_t reserved = processor >= FIRST_RESERVING_PROCESSOR ? RESERVED_LDS_BYTES : 0;
    return section.size_bytes > reserved ? section.size_bytes - reserved : 0;
}

enum kiln_status kiln_cubin_check(const struct kiln_elf *elf, const struct kiln_target *target,
                                  const struct kiln_kernel *kernel,
                                  struct kiln_kernel_resources *ret_resources,
                                  struct kiln_error *error)
{
    struct kiln_elf_symbol symbol;
    if (elf->machine != MACHINE_CUDA || elf->type != ET_EXEC)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the code object of kernel '%s' is no linked CUBIN (ELF machine %u, "
                              "type %u)",
                              kernel->symbol, elf->machine, elf->type);
    if (!kiln_elf_find_static_symbol(elf, kernel->symbol, &symbol) || symbol.type != STT_FUNC)
        return kiln_error_set(error, KILN_COMPILE_FAILED, "the CUBIN does not define kernel '%s'",
                              kernel->symbol);
    char name[1024];
    struct attributes attributes = {0};
    /* Of a single kernel, so what is told of a symbol is told of it. */
    read_attributes(elf, ".nv.info", &attributes);
    (void)snprintf(name, sizeof name, ".nv.info.%s", kernel->symbol);
    read_attributes(elf, name, &attributes);
    (void)snprintf(name, sizeof name, ".nv.shared.%s", kernel->symbol);
    uint64_t lds_bytes = find_lds_bytes(elf, name, target);
    enum kiln_status status = compare(&attributes, lds_bytes, target, kernel, error);
    if (status != KILN_OK)
        return status;
    *ret_resources = (struct kiln_kernel_resources){
        .vgprs = attributes.registers,
        .lds_bytes = (uint32_t)lds_bytes,
        .scratch_bytes = attributes.frame_bytes,
        .kernarg_bytes = attributes.argument_bytes,
        .wave_size = target->wave_size,
    };
    return KILN_OK;
}
