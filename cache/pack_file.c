#include "cache/pack_file.h"

#include "cache/cache_directory.h"
#include "cache/entry_format.h"
#include "cache/pack_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct kiln_pack_file {
    int descriptor;
    size_t entry_count;
    struct kiln_pack_row *rows; /* owned; sorted by hash */
};

static enum kiln_status read_at(int descriptor, void *bytes, size_t size, uint64_t offset,
                                struct kiln_error *error)
{
    char *rest = bytes;
    char *end = rest + size;
    while (rest != end) {
        ssize_t count = pread(descriptor, rest, (size_t)(end - rest), (off_t)offset);
        if (count < 0 && errno != EINTR)
            return kiln_error_set(error, KILN_IO, "it cannot be read: %m");
        if (count == 0)
            return kiln_error_set(error, KILN_CORRUPT, "its file ends inside of it");
        if (count > 0) {
            rest += count;
            offset += (uint64_t)count;
        }
    }
    return KILN_OK;
}

/* The rows of the index, verified; `pack` has a descriptor. */
static enum kiln_status read_index(struct kiln_pack_file *pack, uint64_t file_bytes,
                                   struct kiln_error *error)
{
    unsigned char bytes[KILN_PACK_HEADER_BYTES];
    if (file_bytes < sizeof bytes)
        return kiln_error_set(error, KILN_CORRUPT,
                              "it has fewer bytes than the %d of an empty pack",
                              KILN_PACK_HEADER_BYTES);
    struct kiln_pack_header header;
    enum kiln_status status = read_at(pack->descriptor, bytes, sizeof bytes, 0, error);
    if (status == KILN_OK)
        status = kiln_pack_header_decode(bytes, file_bytes, &header, error);
    if (status != KILN_OK)
        return status;
    size_t count = (size_t)header.entry_count;
    unsigned char *index = malloc(count * KILN_PACK_ROW_BYTES + 1);
    pack->rows = calloc(count + 1, sizeof *pack->rows);
    if (index == NULL || pack->rows == NULL)
        status = kiln_error_set(error, KILN_NO_MEMORY, "out of memory for an index of %zu entries",
                                count);
    if (status == KILN_OK)
        status = read_at(pack->descriptor, index, count * KILN_PACK_ROW_BYTES, header.index_offset,
                         error);
    if (status == KILN_OK)
        status = kiln_pack_index_decode(bytes, &header, index, pack->rows, error);
    if (status == KILN_OK)
        pack->entry_count = count;
    free(index);
    return status;
}

static enum kiln_status open_checked(struct kiln_pack_file *pack, const char *path,
                                     struct kiln_error *error)
{
    struct stat attributes;
    if (fstat(pack->descriptor, &attributes) != 0)
        return kiln_error_set(error, KILN_IO, "it cannot be inspected: %m");
    if (!S_ISREG(attributes.st_mode))
        return kiln_error_set(error, KILN_IO, "it is not an ordinary file");
    const char *reason = kiln_cache_directory_distrust(&attributes, true);
    if (reason != NULL) {
        (void)kiln_error_set(error, KILN_IO, "%s", reason);
        kiln_cache_directory_distrust_hint(reason, path, error);
        return KILN_IO;
    }
    return read_index(pack, (uint64_t)attributes.st_size, error);
}

enum kiln_status kiln_pack_file_open(const char *path, struct kiln_pack_file **ret_pack,
                                     struct kiln_error *error)
{
    struct kiln_pack_file *pack = calloc(1, sizeof *pack);
    if (pack == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening '%s'", path);
    do {
        /* O_NONBLOCK: a FIFO at this place must not hang us. */
        pack->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    } while (pack->descriptor < 0 && errno == EINTR);
    if (pack->descriptor < 0) {
        enum kiln_status status = kiln_status_of_errno(errno == ENOTDIR ? ENOENT : errno);
        status = kiln_error_set(error, status, "cannot open '%s': %m", path);
        free(pack);
        return status;
    }
    enum kiln_status status = open_checked(pack, path, error);
    if (status != KILN_OK) {
        kiln_error_prefix(error, "cannot use the pack '%s'", path);
        kiln_pack_file_close(pack);
        return status;
    }
    *ret_pack = pack;
    return KILN_OK;
}

void kiln_pack_file_close(struct kiln_pack_file *pack)
{
    if (pack == NULL)
        return;
    (void)close(pack->descriptor);
    free(pack->rows);
    free(pack);
}

size_t kiln_pack_file_entry_count(const struct kiln_pack_file *pack)
{
    return pack->entry_count;
}

struct kiln_hash128 kiln_pack_file_entry_hash(const struct kiln_pack_file *pack, size_t index)
{
    return pack->rows[index].hash;
}

uint64_t kiln_pack_file_entry_mark(const struct kiln_pack_file *pack, size_t index)
{
    return pack->rows[index].mark;
}

size_t kiln_pack_file_entry_bytes(const struct kiln_pack_file *pack, size_t index)
{
    return (size_t)pack->rows[index].size;
}

/* Reads the entry with what aligns the next one, which is verified like the rest and then dropped.
 * `bytes` has room for both. */
static enum kiln_status read_verified(const struct kiln_pack_file *pack,
                                      const struct kiln_pack_row *row, char *bytes,
                                      struct kiln_entry_view *ret_view, struct kiln_error *error)
{
    size_t size = (size_t)row->size;
    size_t aligned = (size_t)kiln_pack_align(row->size);
    enum kiln_status status = read_at(pack->descriptor, bytes, aligned, row->offset, error);
    for (size_t i = size; i < aligned && status == KILN_OK; i++)
        if (bytes[i] != 0)
            status = kiln_error_set(error, KILN_CORRUPT, "the byte %zu behind it is not 0",
                                    i - size + 1);
    if (status == KILN_OK)
        status = kiln_entry_decode(bytes, size, ret_view, error);
    if (status != KILN_OK)
        return status;
    struct kiln_hash128 hash = kiln_hash128(ret_view->key, ret_view->key_bytes);
    if (kiln_pack_hash_compare(hash, row->hash) != 0)
        return kiln_error_set(error, KILN_CORRUPT, "its key does not hash to what the index says");
    if (kiln_entry_view_mark(ret_view) != row->mark)
        return kiln_error_set(error, KILN_CORRUPT, "the index has it under another compiler");
    return KILN_OK;
}

/* `key` may be NULL. */
static enum kiln_status read_row(const struct kiln_pack_file *pack, const struct kiln_pack_row *row,
                                 const struct kiln_cache_key *key, struct kiln_buffer *ret_entry,
                                 struct kiln_error *error)
{
    size_t capacity = (size_t)kiln_pack_align(row->size) + 1;
    char *bytes = malloc(capacity);
    if (bytes == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for an entry of %zu bytes",
                              (size_t)row->size);
    struct kiln_entry_view view;
    enum kiln_status status = read_verified(pack, row, bytes, &view, error);
    if (status == KILN_OK && key != NULL && !kiln_entry_view_has_key(&view, key))
        status = kiln_error_set(error, KILN_NOT_FOUND, "it is of another key with the same hash");
    if (status != KILN_OK) {
        free(bytes);
        return status;
    }
    bytes[row->size] = '\0';
    kiln_buffer_fini(ret_entry);
    *ret_entry =
        (struct kiln_buffer){.data = bytes, .size = (size_t)row->size, .capacity = capacity};
    return KILN_OK;
}

/* The first row that does not come before the wanted one. */
static size_t lower_bound(const struct kiln_pack_file *pack, const struct kiln_pack_row *wanted)
{
    size_t low = 0;
    size_t high = pack->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kiln_pack_row_compare(&pack->rows[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum kiln_status kiln_pack_file_lookup(const struct kiln_pack_file *pack,
                                       const struct kiln_cache_key *key, uint64_t mark,
                                       struct kiln_buffer *ret_entry, struct kiln_error *error)
{
    const struct kiln_pack_row wanted = {.hash = {.high = key->hash_high, .low = key->hash_low},
                                         .mark = mark};
    enum kiln_status status = KILN_NOT_FOUND;
    for (size_t i = lower_bound(pack, &wanted); i < pack->entry_count; i++) {
        const struct kiln_pack_row *row = &pack->rows[i];
        if (kiln_pack_hash_compare(row->hash, wanted.hash) != 0 || (mark != 0 && row->mark != mark))
            break;
        status = read_row(pack, row, key, ret_entry, error);
        if (status == KILN_OK || kiln_status_may_pass(status))
            return status;
    }
    return status != KILN_NOT_FOUND
               ? status
               : kiln_error_set(error, KILN_NOT_FOUND, "there is no such entry");
}

enum kiln_status kiln_pack_file_read_entry(const struct kiln_pack_file *pack, size_t index,
                                           struct kiln_buffer *ret_entry, struct kiln_error *error)
{
    return read_row(pack, &pack->rows[index], NULL, ret_entry, error);
}
