#include "cache/pack_format.h"

#include "cache/entry_format.h"

#include <inttypes.h>
#include <string.h>

/* As of an entry (entry_format.c). */
static const unsigned char magic[8] = {0x89, 'K', 'P', 'A', 'K', '\r', '\n', 0x1a};

/* What the checksum behind them covers, together with the index. */
enum { CHECKED_HEADER_BYTES = 32 };

int kiln_pack_hash_compare(struct kiln_hash128 a, struct kiln_hash128 b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

int kiln_pack_row_compare(const struct kiln_pack_row *a, const struct kiln_pack_row *b)
{
    int order = kiln_pack_hash_compare(a->hash, b->hash);
    return order != 0 ? order : (a->mark > b->mark) - (a->mark < b->mark);
}

enum kiln_status kiln_pack_header_decode(const unsigned char bytes[KILN_PACK_HEADER_BYTES],
                                         uint64_t file_bytes, struct kiln_pack_header *ret_header,
                                         struct kiln_error *error)
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, KILN_PACK_HEADER_BYTES);
    if (memcmp(kiln_reader_bytes(&reader, sizeof magic), magic, sizeof magic) != 0)
        return kiln_error_set(error, KILN_CORRUPT, "it does not start as a pack does");
    uint32_t version = kiln_reader_u32(&reader);
    if (version != KILN_PACK_FORMAT_VERSION)
        return kiln_error_set(error, KILN_CORRUPT, "its format version is %" PRIu32 ", not %d",
                              version, KILN_PACK_FORMAT_VERSION);
    uint32_t reserved = kiln_reader_u32(&reader);
    if (reserved != 0)
        return kiln_error_set(error, KILN_CORRUPT, "its reserved field is %" PRIu32 ", not 0",
                              reserved);
    struct kiln_pack_header header = {.entry_count = kiln_reader_u64(&reader)};
    header.index_offset = kiln_reader_u64(&reader);
    if (header.entry_count > KILN_PACK_LIMIT_ENTRIES)
        return kiln_error_set(error, KILN_CORRUPT,
                              "its header says %" PRIu64 " entries, more than the limit of %d",
                              header.entry_count, KILN_PACK_LIMIT_ENTRIES);
    uint64_t index_bytes = header.entry_count * KILN_PACK_ROW_BYTES;
    if (file_bytes < index_bytes || header.index_offset != file_bytes - index_bytes)
        return kiln_error_set(error, KILN_CORRUPT,
                              "it has %" PRIu64 " bytes, its header says %" PRIu64
                              " entries and an index at byte %" PRIu64,
                              file_bytes, header.entry_count, header.index_offset);
    *ret_header = header;
    return KILN_OK;
}

static struct kiln_hash128 checksum(const unsigned char *header, const unsigned char *index,
                                    size_t index_bytes)
{
    /* Both parts have a hash of their own: no copy of the index to have them side by side. */
    unsigned char digest[CHECKED_HEADER_BYTES + 16];
    memcpy(digest, header, CHECKED_HEADER_BYTES);
    struct kiln_hash128 of_index = kiln_hash128(index, index_bytes);
    for (unsigned i = 0; i < 8; i++) {
        digest[CHECKED_HEADER_BYTES + i] = (unsigned char)(of_index.low >> 8 * i);
        digest[CHECKED_HEADER_BYTES + 8 + i] = (unsigned char)(of_index.high >> 8 * i);
    }
    return kiln_hash128(digest, sizeof digest);
}

static enum kiln_status check_row(const struct kiln_pack_row *row, size_t index, uint64_t offset,
                                  const struct kiln_pack_row *before, struct kiln_error *error)
{
    if (before != NULL && kiln_pack_row_compare(before, row) >= 0)
        return kiln_error_set(error, KILN_CORRUPT, "its index is not sorted at entry %zu", index);
    if (row->size < KILN_ENTRY_HEADER_BYTES + KILN_ENTRY_CHECKSUM_BYTES ||
        row->size > KILN_ENTRY_LIMIT_BYTES)
        return kiln_error_set(error, KILN_CORRUPT, "its index says %" PRIu64 " bytes for entry %zu",
                              row->size, index);
    if (row->offset != offset)
        return kiln_error_set(error, KILN_CORRUPT,
                              "its index has entry %zu at byte %" PRIu64 " instead of %" PRIu64,
                              index, row->offset, offset);
    return KILN_OK;
}

/* Entries lie side by side in the order of the index, so that none overlaps another and no byte of
 * the file is outside them. */
static enum kiln_status check_rows(const struct kiln_pack_row *rows,
                                   const struct kiln_pack_header *header, struct kiln_error *error)
{
    uint64_t offset = KILN_PACK_HEADER_BYTES;
    for (size_t i = 0; i < header->entry_count; i++) {
        enum kiln_status status =
            check_row(&rows[i], i, offset, i != 0 ? &rows[i - 1] : NULL, error);
        if (status != KILN_OK)
            return status;
        offset += kiln_pack_align(rows[i].size);
    }
    if (offset != header->index_offset)
        return kiln_error_set(error, KILN_CORRUPT,
                              "its entries end at byte %" PRIu64 ", its index is at %" PRIu64,
                              offset, header->index_offset);
    return KILN_OK;
}

enum kiln_status kiln_pack_index_decode(const unsigned char bytes[KILN_PACK_HEADER_BYTES],
                                        const struct kiln_pack_header *header,
                                        const unsigned char *index, struct kiln_pack_row *ret_rows,
                                        struct kiln_error *error)
{
    size_t index_bytes = (size_t)header->entry_count * KILN_PACK_ROW_BYTES;
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes + CHECKED_HEADER_BYTES, 16);
    struct kiln_hash128 expected = {.low = kiln_reader_u64(&reader)};
    expected.high = kiln_reader_u64(&reader);
    struct kiln_hash128 found = checksum(bytes, index, index_bytes);
    if (found.low != expected.low || found.high != expected.high)
        return kiln_error_set(error, KILN_CORRUPT,
                              "the checksum of its header and index does not match them");
    kiln_reader_init(&reader, index, index_bytes);
    for (size_t i = 0; i < header->entry_count; i++) {
        ret_rows[i].hash.high = kiln_reader_u64(&reader);
        ret_rows[i].hash.low = kiln_reader_u64(&reader);
        ret_rows[i].mark = kiln_reader_u64(&reader);
        ret_rows[i].offset = kiln_reader_u64(&reader);
        ret_rows[i].size = kiln_reader_u64(&reader);
    }
    return check_rows(ret_rows, header, error);
}

void kiln_pack_encode(const struct kiln_pack_row *rows, size_t count, uint64_t index_offset,
                      struct kiln_buffer *buffer)
{
    struct kiln_buffer index;
    kiln_buffer_init(&index);
    for (size_t i = 0; i < count; i++) {
        kiln_buffer_append_u64(&index, rows[i].hash.high);
        kiln_buffer_append_u64(&index, rows[i].hash.low);
        kiln_buffer_append_u64(&index, rows[i].mark);
        kiln_buffer_append_u64(&index, rows[i].offset);
        kiln_buffer_append_u64(&index, rows[i].size);
    }
    kiln_buffer_append(buffer, magic, sizeof magic);
    kiln_buffer_append_u32(buffer, KILN_PACK_FORMAT_VERSION);
    kiln_buffer_append_u32(buffer, 0);
    kiln_buffer_append_u64(buffer, count);
    kiln_buffer_append_u64(buffer, index_offset);
    if (!buffer->failed && !index.failed) {
        struct kiln_hash128 sum = checksum((const unsigned char *)buffer->data,
                                           (const unsigned char *)index.data, index.size);
        kiln_buffer_append_u64(buffer, sum.low);
        kiln_buffer_append_u64(buffer, sum.high);
        kiln_buffer_append(buffer, index.data, index.size);
    }
    if (index.failed)
        buffer->failed = true;
    kiln_buffer_fini(&index);
}
