/*
 * The bytes of a pack around its entries: header and index. docs/cache-format.md has every offset.
 * Nothing here touches a file.
 */
#ifndef KILN_CACHE_PACK_FORMAT_H
#define KILN_CACHE_PACK_FORMAT_H

#include "runtime/support/buffer.h"
#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#include <stddef.h>
#include <stdint.h>

enum {
    KILN_PACK_FORMAT_VERSION = 3,
    KILN_PACK_HEADER_BYTES = 48,
    KILN_PACK_ROW_BYTES = 40,
    KILN_PACK_ALIGNMENT = 8, /* of entries and the index; what is between them is 0 */
    /* An index of 160 MiB: keeps a damaged or sparse file from eating the memory. */
    KILN_PACK_LIMIT_ENTRIES = 1 << 22,
};

/* One entry in the index. */
struct kiln_pack_row {
    struct kiln_hash128 hash; /* of its key */
    uint64_t mark;            /* of its compiler: kiln_entry_view_mark */
    uint64_t offset;          /* in the file */
    uint64_t size;            /* bytes, without what aligns the next one */
};

/* Negative, 0 or positive: by the high 64 bits, then the low ones. */
int kiln_pack_hash_compare(struct kiln_hash128 a, struct kiln_hash128 b);
/* The order of the index: by the hashes, then the marks. */
int kiln_pack_row_compare(const struct kiln_pack_row *a, const struct kiln_pack_row *b);

static inline uint64_t kiln_pack_align(uint64_t size)
{
    return (size + KILN_PACK_ALIGNMENT - 1) & ~(uint64_t)(KILN_PACK_ALIGNMENT - 1);
}

struct kiln_pack_header {
    uint64_t entry_count;
    uint64_t index_offset;
};

/* Reads the header of a pack whose file has `file_bytes`; afterwards the counts fit that. Its
 * checksum covers the index too: kiln_pack_index_decode. KILN_CORRUPT with the reason. */
enum kiln_status kiln_pack_header_decode(const unsigned char bytes[KILN_PACK_HEADER_BYTES],
                                         uint64_t file_bytes, struct kiln_pack_header *ret_header,
                                         struct kiln_error *error) KILN_NODISCARD;

/* Verifies header and index, every byte of them, and fills header->entry_count rows. `index`: the
 * bytes from header->index_offset to the end of the file. KILN_CORRUPT with the reason. */
enum kiln_status kiln_pack_index_decode(const unsigned char bytes[KILN_PACK_HEADER_BYTES],
                                        const struct kiln_pack_header *header,
                                        const unsigned char *index, struct kiln_pack_row *ret_rows,
                                        struct kiln_error *error) KILN_NODISCARD;

/* Appends the header of a pack and then the bytes of its index, which lies at `index_offset`. Out
 * of memory shows in the buffer. */
void kiln_pack_encode(const struct kiln_pack_row *rows, size_t count, uint64_t index_offset,
                      struct kiln_buffer *buffer);

#endif
