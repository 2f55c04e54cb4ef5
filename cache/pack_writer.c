/*
 * Entries are appended to a temporary file as they come. Those of one pack or directory come in the
 * order of hashes, and then this file is the pack; else finish copies them into a second one.
 */
#include "cache/pack_file.h"

#include "cache/entry_format.h"
#include "cache/pack_format.h"
#include "runtime/support/file_target.h"
#include "runtime/support/temporary_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEWEST_SLOTS = 256, NO_ROW = 0 };

struct kiln_pack_writer {
    char *path;    /* owned: with no link at its end */
    int directory; /* -1: none */
    struct kiln_temporary_file file;
    bool is_open; /* the file */
    bool is_sorted;
    bool has_failed; /* the file may end in a part of an entry */
    struct kiln_pack_row *rows;
    size_t count;
    size_t capacity;
    /* Open addressing by the low bits of the hash: row + 1, or NO_ROW. At most half full. */
    uint32_t *slots;
    size_t slot_count; /* a power of two */
};

static enum kiln_status fail_without_memory(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while writing a pack");
}

/* Readable by everybody, as a layer for many has to be; never writable by others, whatever the
 * umask: nobody would use it. */
static enum kiln_status create_file(struct kiln_pack_writer *writer, const char *name,
                                    struct kiln_temporary_file *ret_file, struct kiln_error *error)
{
    return kiln_temporary_file_create(writer->directory, name, 0644, ret_file, error);
}

enum kiln_status kiln_pack_writer_create(const char *path, struct kiln_pack_writer **ret_writer,
                                         struct kiln_error *error)
{
    struct kiln_pack_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return fail_without_memory(error);
    writer->directory = -1;
    writer->is_sorted = true;
    writer->slot_count = FEWEST_SLOTS;
    writer->slots = calloc(writer->slot_count, sizeof *writer->slots);
    enum kiln_status status = KILN_OK;
    if (writer->slots == NULL)
        status = fail_without_memory(error);
    if (status == KILN_OK)
        status = kiln_file_target(path, true, &writer->path, error);
    const char *name = NULL;
    if (status == KILN_OK)
        status = kiln_file_open_parent(writer->path, &writer->directory, &name, error);
    if (status == KILN_OK)
        status = create_file(writer, name, &writer->file, error);
    writer->is_open = status == KILN_OK;
    /* Its place: the header is written last. */
    static const unsigned char header[KILN_PACK_HEADER_BYTES];
    if (status == KILN_OK)
        status = kiln_temporary_file_append(&writer->file, header, sizeof header, error);
    if (status != KILN_OK) {
        kiln_pack_writer_destroy(writer);
        return status;
    }
    *ret_writer = writer;
    return KILN_OK;
}

/* The slot that has an entry of the row's hash and mark, or the empty one that it belongs into. */
static uint32_t *find_slot(struct kiln_pack_writer *writer, const struct kiln_pack_row *row)
{
    size_t mask = writer->slot_count - 1;
    for (size_t i = (size_t)row->hash.low & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &writer->slots[i];
        if (*slot == NO_ROW || kiln_pack_row_compare(&writer->rows[*slot - 1], row) == 0)
            return slot;
    }
}

/* Room for one more row and its slot. */
static enum kiln_status reserve(struct kiln_pack_writer *writer, struct kiln_error *error)
{
    if (writer->count == KILN_PACK_LIMIT_ENTRIES)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "a pack has at most %d entries",
                              KILN_PACK_LIMIT_ENTRIES);
    if (writer->count == writer->capacity) {
        size_t capacity = writer->capacity != 0 ? writer->capacity * 2 : FEWEST_SLOTS / 2;
        struct kiln_pack_row *rows = realloc(writer->rows, capacity * sizeof *rows);
        if (rows == NULL)
            return fail_without_memory(error);
        writer->rows = rows;
        writer->capacity = capacity;
    }
    if (writer->count < writer->slot_count / 2)
        return KILN_OK;
    uint32_t *slots = calloc(writer->slot_count * 2, sizeof *slots);
    if (slots == NULL)
        return fail_without_memory(error);
    free(writer->slots);
    writer->slots = slots;
    writer->slot_count *= 2;
    for (size_t i = 0; i < writer->count; i++)
        *find_slot(writer, &writer->rows[i]) = (uint32_t)i + 1;
    return KILN_OK;
}

static enum kiln_status append_aligned(struct kiln_temporary_file *file, const void *entry,
                                       size_t size, struct kiln_error *error)
{
    static const unsigned char zeros[KILN_PACK_ALIGNMENT];
    enum kiln_status status = kiln_temporary_file_append(file, entry, size, error);
    if (status == KILN_OK)
        status =
            kiln_temporary_file_append(file, zeros, (size_t)kiln_pack_align(size) - size, error);
    return status;
}

static enum kiln_status fail_again(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_IO, "the pack could not be written before");
}

enum kiln_status kiln_pack_writer_add(struct kiln_pack_writer *writer, const void *entry,
                                      size_t size, bool *ret_added, struct kiln_error *error)
{
    if (writer->has_failed || !writer->is_open)
        return fail_again(error);
    struct kiln_entry_view view;
    enum kiln_status status = KILN_OK;
    if (size > KILN_ENTRY_LIMIT_BYTES)
        status = kiln_error_set(error, KILN_CORRUPT, "it has more than the %d bytes of an entry",
                                KILN_ENTRY_LIMIT_BYTES);
    if (status == KILN_OK)
        status = kiln_entry_decode(entry, size, &view, error);
    if (status != KILN_OK)
        return status;
    const struct kiln_pack_row row = {.hash = kiln_hash128(view.key, view.key_bytes),
                                      .mark = kiln_entry_view_mark(&view),
                                      .offset = writer->file.size,
                                      .size = size};
    if (*find_slot(writer, &row) != NO_ROW) {
        *ret_added = false;
        return KILN_OK;
    }
    status = reserve(writer, error);
    if (status != KILN_OK)
        return status;
    status = append_aligned(&writer->file, entry, size, error);
    if (status != KILN_OK) {
        writer->has_failed = true;
        return status;
    }
    if (writer->count != 0 && kiln_pack_row_compare(&writer->rows[writer->count - 1], &row) > 0)
        writer->is_sorted = false;
    *find_slot(writer, &row) = (uint32_t)writer->count + 1;
    writer->rows[writer->count++] = row;
    *ret_added = true;
    return KILN_OK;
}

static int compare_rows(const void *a, const void *b)
{
    return kiln_pack_row_compare(a, b);
}

/* Copies one entry from the file as it came into the file as it will be. */
static enum kiln_status copy_entry(const struct kiln_temporary_file *from,
                                   struct kiln_pack_row *row, struct kiln_temporary_file *to,
                                   struct kiln_error *error)
{
    char piece[65536];
    uint64_t offset = row->offset;
    uint64_t rest = kiln_pack_align(row->size);
    row->offset = to->size;
    while (rest != 0) {
        size_t size = rest < sizeof piece ? (size_t)rest : sizeof piece;
        ssize_t count = pread(from->descriptor, piece, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0)
            errno = EIO; /* somebody has cut a file that only we know of */
        if (count <= 0)
            return kiln_error_set(error, KILN_IO, "cannot read what was written for '%s': %m",
                                  to->name);
        enum kiln_status status = kiln_temporary_file_append(to, piece, (size_t)count, error);
        if (status != KILN_OK)
            return status;
        offset += (uint64_t)count;
        rest -= (uint64_t)count;
    }
    return KILN_OK;
}

/* Puts a file with the entries in the order of hashes in the place of the one as they came. The
 * slots are of no use afterwards. */
static enum kiln_status sort_entries(struct kiln_pack_writer *writer, struct kiln_error *error)
{
    qsort(writer->rows, writer->count, sizeof *writer->rows, compare_rows);
    struct kiln_temporary_file sorted;
    enum kiln_status status = create_file(writer, writer->file.name, &sorted, error);
    if (status != KILN_OK)
        return status;
    static const unsigned char header[KILN_PACK_HEADER_BYTES];
    status = kiln_temporary_file_append(&sorted, header, sizeof header, error);
    for (size_t i = 0; i < writer->count && status == KILN_OK; i++)
        status = copy_entry(&writer->file, &writer->rows[i], &sorted, error);
    kiln_temporary_file_discard(status == KILN_OK ? &writer->file : &sorted);
    if (status == KILN_OK)
        writer->file = sorted;
    return status;
}

static enum kiln_status write_index(struct kiln_pack_writer *writer, struct kiln_error *error)
{
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    kiln_pack_encode(writer->rows, writer->count, writer->file.size, &bytes);
    enum kiln_status status = kiln_buffer_check(&bytes, error);
    if (status == KILN_OK)
        status = kiln_temporary_file_append(&writer->file, bytes.data + KILN_PACK_HEADER_BYTES,
                                            bytes.size - KILN_PACK_HEADER_BYTES, error);
    if (status == KILN_OK)
        status = kiln_temporary_file_overwrite(&writer->file, 0, bytes.data, KILN_PACK_HEADER_BYTES,
                                               error);
    kiln_buffer_fini(&bytes);
    return status;
}

enum kiln_status kiln_pack_writer_finish(struct kiln_pack_writer *writer, struct kiln_error *error)
{
    if (writer->has_failed || !writer->is_open)
        return fail_again(error);
    enum kiln_status status = writer->is_sorted ? KILN_OK : sort_entries(writer, error);
    if (status == KILN_OK)
        status = write_index(writer, error);
    if (status != KILN_OK) {
        writer->has_failed = true;
        return status;
    }
    writer->is_open = false;
    return kiln_temporary_file_commit(&writer->file, true, error);
}

void kiln_pack_writer_destroy(struct kiln_pack_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->is_open)
        kiln_temporary_file_discard(&writer->file);
    if (writer->directory >= 0)
        (void)close(writer->directory);
    free(writer->slots);
    free(writer->rows);
    free(writer->path);
    free(writer);
}
