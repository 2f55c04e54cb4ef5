#include "compiler/codegen/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SECTION_LIMIT = 65535,
    DYNAMIC_LIMIT = 128,      /* entries that are read, 16 bytes each */
    NOTES_LIMIT = 256,        /* notes of one segment */
    SYMBOL_LIMIT = 1 << 20,   /* entries of one table */
    SYMBOL_NAME_BYTES = 1024, /* longest name that is looked for, with its NUL */
};

bool kiln_elf_read(const struct kiln_elf *elf, uint64_t offset, void *ret_bytes, size_t size)
{
    if (offset > elf->size_bytes || size > elf->size_bytes - offset)
        return false;
    if (elf->bytes != NULL) {
        memcpy(ret_bytes, elf->bytes + offset, size);
        return true;
    }
    char *to = ret_bytes;
    while (size != 0) {
        ssize_t count = pread(elf->descriptor, to, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        to += count;
        offset += (uint64_t)count;
        size -= (size_t)count;
    }
    return true;
}

static bool table_fits(const struct kiln_elf *elf, uint64_t at, uint64_t count, uint64_t entry)
{
    return at <= elf->size_bytes && count <= (elf->size_bytes - at) / entry;
}

static bool read_segments(struct kiln_elf *elf, const Elf64_Ehdr *header)
{
    Elf64_Phdr segments[KILN_ELF_SEGMENTS];
    if (elf->segment_count == 0)
        return true;
    if (header->e_phentsize != sizeof *segments ||
        !kiln_elf_read(elf, header->e_phoff, segments, elf->segment_count * sizeof *segments))
        return false;
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        elf->segments[i] = (struct kiln_elf_segment){
            .type = segments[i].p_type,
            .offset = segments[i].p_offset,
            .address = segments[i].p_vaddr,
            .size_bytes = segments[i].p_filesz,
            .alignment = segments[i].p_align,
        };
    }
    return true;
}

static bool open_elf(struct kiln_elf *elf)
{
    Elf64_Ehdr header;
    if (!kiln_elf_read(elf, 0, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    elf->type = header.e_type;
    elf->machine = header.e_machine;
    elf->flags = header.e_flags;
    elf->os_abi = header.e_ident[EI_OSABI];
    elf->abi_version = header.e_ident[EI_ABIVERSION];
    elf->segment_count = header.e_phnum;
    elf->sections_at = header.e_shoff;
    elf->section_count = header.e_shnum;
    elf->section_names = header.e_shstrndx;
    if (elf->segment_count > KILN_ELF_SEGMENTS || elf->section_count > SECTION_LIMIT ||
        !read_segments(elf, &header))
        return false;
    return elf->section_count == 0 ||
           (header.e_shentsize == sizeof(Elf64_Shdr) &&
            table_fits(elf, elf->sections_at, elf->section_count, sizeof(Elf64_Shdr)));
}

bool kiln_elf_open_memory(const void *bytes, size_t size, struct kiln_elf *ret_elf)
{
    struct kiln_elf elf = {.bytes = bytes, .descriptor = -1, .size_bytes = size};
    if (bytes == NULL || !open_elf(&elf))
        return false;
    *ret_elf = elf;
    return true;
}

bool kiln_elf_open_descriptor(int descriptor, struct kiln_elf *ret_elf)
{
    struct stat attributes;
    if (fstat(descriptor, &attributes) != 0 || !S_ISREG(attributes.st_mode))
        return false;
    struct kiln_elf elf = {.descriptor = descriptor, .size_bytes = (uint64_t)attributes.st_size};
    if (!open_elf(&elf))
        return false;
    *ret_elf = elf;
    return true;
}

static bool read_section(const struct kiln_elf *elf, uint32_t index, Elf64_Shdr *ret_section)
{
    return index < elf->section_count &&
           kiln_elf_read(elf, elf->sections_at + (uint64_t)index * sizeof *ret_section, ret_section,
                         sizeof *ret_section);
}

/* Notes are padded to 4 bytes, in segments of alignment 8 to 8. */
static bool find_note_in(const struct kiln_elf *elf, const struct kiln_elf_segment *segment,
                         const char *owner, uint32_t type, uint64_t *ret_offset, uint64_t *ret_size)
{
    uint64_t alignment = segment->alignment == 8 ? 8 : 4;
    if (!table_fits(elf, segment->offset, segment->size_bytes, 1))
        return false;
    uint64_t at = segment->offset;
    uint64_t end = segment->offset + segment->size_bytes;
    size_t owner_size = strlen(owner) + 1;
    for (unsigned i = 0; i < NOTES_LIMIT && end - at >= sizeof(Elf64_Nhdr); i++) {
        Elf64_Nhdr note;
        if (!kiln_elf_read(elf, at, &note, sizeof note))
            return false;
        uint64_t name_at = at + sizeof note;
        uint64_t description_at =
            (name_at - segment->offset + note.n_namesz + alignment - 1) / alignment * alignment +
            segment->offset;
        if (description_at > end || note.n_descsz > end - description_at)
            return false;
        char name[32];
        if (note.n_type == type && note.n_namesz == owner_size && owner_size <= sizeof name &&
            kiln_elf_read(elf, name_at, name, owner_size) && memcmp(name, owner, owner_size) == 0) {
            *ret_offset = description_at;
            *ret_size = note.n_descsz;
            return true;
        }
        uint64_t next = (description_at - segment->offset + note.n_descsz + alignment - 1) /
                            alignment * alignment +
                        segment->offset;
        if (next > end)
            return false;
        at = next;
    }
    return false;
}

bool kiln_elf_find_note(const struct kiln_elf *elf, const char *owner, uint32_t type,
                        uint64_t *ret_offset, uint64_t *ret_size)
{
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        if (elf->segments[i].type == PT_NOTE &&
            find_note_in(elf, &elf->segments[i], owner, type, ret_offset, ret_size))
            return true;
    }
    return false;
}

static bool address_to_offset(const struct kiln_elf *elf, uint64_t address, uint64_t *ret_offset)
{
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        const struct kiln_elf_segment *segment = &elf->segments[i];
        if (segment->type == PT_LOAD && address >= segment->address &&
            address - segment->address < segment->size_bytes &&
            !__builtin_add_overflow(segment->offset, address - segment->address, ret_offset))
            return true;
    }
    return false;
}

/* The NUL-terminated text at a file offset; false when it does not fit `capacity`. */
static bool read_text(const struct kiln_elf *elf, uint64_t offset, char *ret_text, size_t capacity)
{
    if (offset >= elf->size_bytes)
        return false;
    uint64_t left = elf->size_bytes - offset;
    size_t count = left < capacity ? (size_t)left : capacity;
    return kiln_elf_read(elf, offset, ret_text, count) && memchr(ret_text, '\0', count) != NULL;
}

bool kiln_elf_dynamic_text(const struct kiln_elf *elf, int64_t tag, size_t index, char *ret_text,
                           size_t capacity)
{
    uint64_t strings = 0;
    uint64_t text = 0;
    bool has_strings = false;
    bool has_text = false;
    uint32_t dynamic = 0;
    while (dynamic < elf->segment_count && elf->segments[dynamic].type != PT_DYNAMIC)
        dynamic++;
    if (dynamic == elf->segment_count)
        return false;
    Elf64_Dyn entries[DYNAMIC_LIMIT];
    uint64_t count = elf->segments[dynamic].size_bytes / sizeof *entries;
    if (count > DYNAMIC_LIMIT)
        count = DYNAMIC_LIMIT;
    if (!kiln_elf_read(elf, elf->segments[dynamic].offset, entries, count * sizeof *entries))
        return false;
    for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_STRTAB) {
            has_strings = address_to_offset(elf, entries[i].d_un.d_ptr, &strings);
        } else if (entries[i].d_tag == tag && !has_text) {
            has_text = index == 0;
            text = entries[i].d_un.d_val;
            index--;
        }
    }
    uint64_t at;
    return has_strings && has_text && !__builtin_add_overflow(strings, text, &at) &&
           read_text(elf, at, ret_text, capacity);
}

static bool name_equals(const struct kiln_elf *elf, uint64_t strings, uint32_t offset,
                        const char *name, size_t size)
{
    char text[SYMBOL_NAME_BYTES];
    uint64_t at;
    return !__builtin_add_overflow(strings, (uint64_t)offset, &at) &&
           kiln_elf_read(elf, at, text, size) && memcmp(text, name, size) == 0;
}

static bool find_symbol_in(const struct kiln_elf *elf, uint32_t table_type, const char *name,
                           struct kiln_elf_symbol *ret_symbol)
{
    size_t name_size = strlen(name) + 1;
    if (name_size > SYMBOL_NAME_BYTES)
        return false;
    for (uint32_t i = 0; i < elf->section_count; i++) {
        Elf64_Shdr table;
        Elf64_Shdr strings;
        if (!read_section(elf, i, &table))
            return false;
        if (table.sh_type != table_type)
            continue;
        if (table.sh_entsize != sizeof(Elf64_Sym) || !read_section(elf, table.sh_link, &strings) ||
            !table_fits(elf, table.sh_offset, table.sh_size, 1))
            return false;
        uint64_t count = table.sh_size / sizeof(Elf64_Sym);
        for (uint64_t k = 0; k < count && k < SYMBOL_LIMIT; k++) {
            Elf64_Sym symbol;
            if (!kiln_elf_read(elf, table.sh_offset + k * sizeof symbol, &symbol, sizeof symbol))
                return false;
            unsigned binding = ELF64_ST_BIND(symbol.st_info);
            if (symbol.st_shndx == SHN_UNDEF || (binding != STB_GLOBAL && binding != STB_WEAK) ||
                !name_equals(elf, strings.sh_offset, symbol.st_name, name, name_size))
                continue;
            *ret_symbol = (struct kiln_elf_symbol){
                .address = symbol.st_value,
                .size_bytes = symbol.st_size,
                .offset = UINT64_MAX,
                .type = ELF64_ST_TYPE(symbol.st_info),
            };
            uint64_t offset;
            if (address_to_offset(elf, symbol.st_value, &offset))
                ret_symbol->offset = offset;
            return true;
        }
    }
    return false;
}

bool kiln_elf_find_symbol(const struct kiln_elf *elf, const char *name,
                          struct kiln_elf_symbol *ret_symbol)
{
    return find_symbol_in(elf, SHT_DYNSYM, name, ret_symbol);
}

bool kiln_elf_find_static_symbol(const struct kiln_elf *elf, const char *name,
                                 struct kiln_elf_symbol *ret_symbol)
{
    return find_symbol_in(elf, SHT_SYMTAB, name, ret_symbol);
}

bool kiln_elf_find_section(const struct kiln_elf *elf, const char *name,
                           struct kiln_elf_section *ret_section)
{
    size_t name_size = strlen(name) + 1;
    Elf64_Shdr names;
    if (name_size > SYMBOL_NAME_BYTES || !read_section(elf, elf->section_names, &names))
        return false;
    for (uint32_t i = 0; i < elf->section_count; i++) {
        Elf64_Shdr section;
        if (!read_section(elf, i, &section))
            return false;
        if (!name_equals(elf, names.sh_offset, section.sh_name, name, name_size))
            continue;
        *ret_section = (struct kiln_elf_section){
            .type = section.sh_type,
            .offset = section.sh_offset,
            .size_bytes = section.sh_size,
        };
        return true;
    }
    return false;
}

bool kiln_elf_is_whole(const struct kiln_elf *elf)
{
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        if (!table_fits(elf, elf->segments[i].offset, elf->segments[i].size_bytes, 1))
            return false;
    }
    for (uint32_t i = 0; i < elf->section_count; i++) {
        Elf64_Shdr section;
        if (!read_section(elf, i, &section))
            return false;
        if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS &&
            !table_fits(elf, section.sh_offset, section.sh_size, 1))
            return false;
    }
    return true;
}

bool kiln_elf_build_id(const struct kiln_elf *elf, unsigned char ret_id[KILN_BUILD_ID_BYTES],
                       size_t *ret_size)
{
    uint64_t offset;
    uint64_t size;
    if (!kiln_elf_find_note(elf, "GNU", NT_GNU_BUILD_ID, &offset, &size) || size == 0 ||
        size > KILN_BUILD_ID_BYTES || !kiln_elf_read(elf, offset, ret_id, (size_t)size))
        return false;
    *ret_size = (size_t)size;
    return true;
}
