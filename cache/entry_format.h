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

enum {
    /* A change of any byte's meaning needs a new version and a new file suffix (entry_file.h), so
     * that versions can share a directory without taking each other's entries for damaged ones. */
    KILN_ENTRY_FORMAT_VERSION = 2,
    KILN_ENTRY_HEADER_BYTES = 32,
    KILN_ENTRY_CHECKSUM_BYTES = 16,
    /* Of a whole entry. Far above any code object; keeps a damaged file from eating the memory. */
    KILN_ENTRY_LIMIT_BYTES = 256 * 1024 * 1024,
};

/* The parts of an entry, pointing into its bytes. */
struct kiln_entry_view {
    const void *key;
    size_t key_bytes;
    const void *payload;
    size_t payload_bytes;
};

/* Appends the entry to `ret_entry`, an initialised, empty buffer that the caller finis.
 * KILN_BAD_ARGUMENT when the entry would exceed KILN_ENTRY_LIMIT_BYTES, KILN_NO_MEMORY. */
enum kiln_status kiln_entry_encode(const struct kiln_cache_key *key, const void *payload,
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
