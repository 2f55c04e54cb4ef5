/*
 * The bytes of one entry, in memory: header, key, payload, checksum. docs/cache-format.md has every
 * offset. Nothing here touches a file.
 */
#ifndef KILN_CACHE_ENTRY_FORMAT_H
#define KILN_CACHE_ENTRY_FORMAT_H

#include "cache/cache_key.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* A change of any byte's meaning needs a new version and a new file suffix (entry_file.h), so
     * that versions can share a directory without taking each other's entries for damaged ones. */
    KILN_ENTRY_FORMAT_VERSION = 3,
    KILN_ENTRY_HEADER_BYTES = 40,
    KILN_ENTRY_CHECKSUM_BYTES = 16,
    /* Of a whole entry. Far above any code object; keeps a damaged file from eating the memory. */
    KILN_ENTRY_LIMIT_BYTES = 256 * 1024 * 1024,
    /* The limit of each text about the maker. */
    KILN_ENTRY_TEXT_LIMIT_BYTES = 64 * 1024,
};

/* The maker of an entry: facts that it carries, which are no part of its name. */
struct kiln_cache_maker {
    const char *compiler; /* identity of the compilers; NULL: not known, or none here */
    const char *build;    /* version of Kiln; NULL: not known */
};

/* A text of an entry: not NUL-terminated, without a NUL inside, and from anybody. */
struct kiln_entry_text {
    const char *text;
    size_t size;
};

/* The parts of an entry, pointing into its bytes. */
struct kiln_entry_view {
    const void *key;
    size_t key_bytes;
    struct kiln_entry_text compiler; /* of its maker; empty when that is not known */
    struct kiln_entry_text build;    /* the same */
    const void *payload;
    size_t payload_bytes;
};

/* A hash that stands for a compiler in names of files; 0 for NULL and "", and for nothing else. */
uint64_t kiln_cache_compiler_mark(const char *compiler);
/* The mark of the compiler that made an entry. */
uint64_t kiln_entry_view_mark(const struct kiln_entry_view *view);

/* Appends the entry to `ret_entry`, an initialised, empty buffer that the caller finis. `maker` may
 * be NULL for an unknown one. KILN_BAD_ARGUMENT when the entry or a text would exceed its
 * limit, KILN_NO_MEMORY. */
enum kiln_status kiln_entry_encode(const struct kiln_cache_key *key,
                                   const struct kiln_cache_maker *maker, const void *payload,
                                   size_t payload_bytes, struct kiln_buffer *ret_entry,
                                   struct kiln_error *error) KILN_NODISCARD;

/* Checks the first KILN_ENTRY_HEADER_BYTES bytes of an entry, or all that a shorter one has,
 * against its size in bytes, before the rest is read. KILN_CORRUPT as kiln_entry_decode. */
enum kiln_status kiln_entry_check_header(const void *header, size_t entry_bytes,
                                         struct kiln_error *error) KILN_NODISCARD;

/* Verifies every byte. KILN_CORRUPT with the reason when anything is not as kiln_entry_encode
 * writes it. */
enum kiln_status kiln_entry_decode(const void *bytes, size_t size, struct kiln_entry_view *ret_view,
                                   struct kiln_error *error) KILN_NODISCARD;

/* Compares byte for byte: two keys may have one hash. Of a key of which no more is known the hash
 * is computed and compared. */
bool kiln_entry_view_has_key(const struct kiln_entry_view *view, const struct kiln_cache_key *key);

#endif
