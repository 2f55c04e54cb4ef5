/*
 * Reading 64-bit little-endian ELF files that somebody else wrote: libraries on disk (build ids and
 * the libraries that they need) and code objects in memory. Every offset is checked; a damaged file
 * makes a function return false, never more. A file on disk is read piecewise and never mapped.
 */
#ifndef KILN_COMPILER_CODEGEN_ELF_FILE_H
#define KILN_COMPILER_CODEGEN_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KILN_ELF_SEGMENTS = 32 }; /* files with more are not read */

struct kiln_elf_segment {
    uint32_t type; /* PT_* */
    uint64_t offset;
    uint64_t address;
    uint64_t size_bytes; /* in the file */
    uint64_t alignment;
};

struct kiln_elf {
    const unsigned char *bytes; /* borrowed; NULL: read from `descriptor` */
    int descriptor;             /* borrowed */
    uint64_t size_bytes;
    uint16_t type;    /* ET_* */
    uint16_t machine; /* EM_* */
    uint32_t flags;   /* e_flags */
    uint8_t os_abi;
    uint8_t abi_version;
    struct kiln_elf_segment segments[KILN_ELF_SEGMENTS];
    uint32_t segment_count;
    uint64_t sections_at;
    uint32_t section_count;
    uint32_t section_names; /* index of the section that holds their names */
};

/* Both check the header and that the tables of segments and sections lie in the file. */
bool kiln_elf_open_memory(const void *bytes, size_t size, struct kiln_elf *ret_elf);
bool kiln_elf_open_descriptor(int descriptor, struct kiln_elf *ret_elf);

/* Copies `size` bytes from file offset `offset`. */
bool kiln_elf_read(const struct kiln_elf *elf, uint64_t offset, void *ret_bytes, size_t size);

/* The first note of this owner and type: file offset and size of its description. */
bool kiln_elf_find_note(const struct kiln_elf *elf, const char *owner, uint32_t type,
                        uint64_t *ret_offset, uint64_t *ret_size);

/* The text of entry number `index` among the dynamic entries of `tag` (DT_NEEDED, DT_SONAME,
 * DT_RUNPATH). False when there are fewer, or the text and its NUL are longer than `capacity`. */
bool kiln_elf_dynamic_text(const struct kiln_elf *elf, int64_t tag, size_t index, char *ret_text,
                           size_t capacity);

struct kiln_elf_symbol {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t offset; /* in the file; UINT64_MAX when no segment holds the address */
    uint8_t type;    /* STT_* */
};

/* A global symbol that the dynamic symbol table defines. */
bool kiln_elf_find_symbol(const struct kiln_elf *elf, const char *name,
                          struct kiln_elf_symbol *ret_symbol);

/* The same in the static symbol table, which linked objects for a CUDA device have instead. */
bool kiln_elf_find_static_symbol(const struct kiln_elf *elf, const char *name,
                                 struct kiln_elf_symbol *ret_symbol);

struct kiln_elf_section {
    uint32_t type; /* SHT_*; the bytes of SHT_NOBITS are not in the file */
    uint64_t offset;
    uint64_t size_bytes;
};

/* The first section of this name. */
bool kiln_elf_find_section(const struct kiln_elf *elf, const char *name,
                           struct kiln_elf_section *ret_section);

/* True if all segments and sections lie in the file. The loader of code objects gets no size, so it
 * trusts them. */
bool kiln_elf_is_whole(const struct kiln_elf *elf);

enum { KILN_BUILD_ID_BYTES = 32 };

/* The GNU build id, 1 to KILN_BUILD_ID_BYTES bytes; false when there is none. */
bool kiln_elf_build_id(const struct kiln_elf *elf, unsigned char ret_id[KILN_BUILD_ID_BYTES],
                       size_t *ret_size);

#endif
