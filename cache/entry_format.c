#include "cache/entry_format.h"

#include "runtime/support/hash.h"

#include <inttypes.h>
#include <string.h>

/* The idea of PNG's signature: the first byte is no text, the line ends show a transfer in text
 * mode. */
static const unsigned char magic[8] = {0x89, 'K', 'I', 'L', 'N', '\r', '\n', 0x1a};

enum { FRAME_BYTES = KILN_ENTRY_HEADER_BYTES + KILN_ENTRY_CHECKSUM_BYTES };

static uint64_t mark_of(const void *text, size_t size)
{
    uint64_t mark = size != 0 ? kiln_hash128(text, size).low : 0;
    return mark == 0 && size != 0 ? 1 : mark;
}

uint64_t kiln_cache_compiler_mark(const char *compiler)
{
    return compiler != NULL ? mark_of(compiler, strlen(compiler)) : 0;
}

uint64_t kiln_entry_view_mark(const struct kiln_entry_view *view)
{
    return mark_of(view->compiler.text, view->compiler.size);
}

static enum kiln_status check_sizes(size_t key_bytes, size_t compiler_bytes, size_t build_bytes,
                                    size_t payload_bytes, struct kiln_error *error)
{
    if (compiler_bytes > KILN_ENTRY_TEXT_LIMIT_BYTES || build_bytes > KILN_ENTRY_TEXT_LIMIT_BYTES)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "a cache entry's maker of %zu and %zu bytes is longer than the limit "
                              "of %d bytes",
                              compiler_bytes, build_bytes, KILN_ENTRY_TEXT_LIMIT_BYTES);
    size_t room = KILN_ENTRY_LIMIT_BYTES - FRAME_BYTES - compiler_bytes - build_bytes;
    if (key_bytes > room || payload_bytes > room - key_bytes)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "a cache entry of a %zu-byte key and a %zu-byte payload is larger "
                              "than the limit of %d bytes",
                              key_bytes, payload_bytes, KILN_ENTRY_LIMIT_BYTES);
    return KILN_OK;
}

enum kiln_status kiln_entry_encode(const struct kiln_cache_key *key,
                                   const struct kiln_cache_maker *maker, const void *payload,
                                   size_t payload_bytes, struct kiln_buffer *ret_entry,
                                   struct kiln_error *error)
{
    const char *compiler = maker != NULL && maker->compiler != NULL ? maker->compiler : "";
    const char *build = maker != NULL && maker->build != NULL ? maker->build : "";
    size_t compiler_bytes = strlen(compiler);
    size_t build_bytes = strlen(build);
    enum kiln_status status =
        check_sizes(key->bytes.size, compiler_bytes, build_bytes, payload_bytes, error);
    if (status != KILN_OK)
        return status;

    struct kiln_buffer entry;
    kiln_buffer_init(&entry);
    kiln_buffer_append(&entry, magic, sizeof magic);
    kiln_buffer_append_u32(&entry, KILN_ENTRY_FORMAT_VERSION);
    kiln_buffer_append_u32(&entry, 0);
    kiln_buffer_append_u64(&entry, key->bytes.size);
    kiln_buffer_append_u64(&entry, payload_bytes);
    kiln_buffer_append_u32(&entry, (uint32_t)compiler_bytes);
    kiln_buffer_append_u32(&entry, (uint32_t)build_bytes);
    kiln_buffer_append(&entry, key->bytes.data, key->bytes.size);
    kiln_buffer_append(&entry, compiler, compiler_bytes);
    kiln_buffer_append(&entry, build, build_bytes);
    kiln_buffer_append(&entry, payload, payload_bytes);
    if (!entry.failed) {
        struct kiln_hash128 checksum = kiln_hash128(entry.data, entry.size);
        kiln_buffer_append_u64(&entry, checksum.low);
        kiln_buffer_append_u64(&entry, checksum.high);
    }
    status = kiln_buffer_check(&entry, error);
    if (status != KILN_OK) {
        kiln_buffer_fini(&entry);
        return status;
    }
    *ret_entry = entry;
    return KILN_OK;
}

/* Of an entry with `size` bytes; leaves the reader behind the header. */
static enum kiln_status read_header(struct kiln_reader *reader, size_t size,
                                    struct kiln_entry_view *view, struct kiln_error *error)
{
    if (memcmp(kiln_reader_bytes(reader, sizeof magic), magic, sizeof magic) != 0)
        return kiln_error_set(error, KILN_CORRUPT, "it does not start as a cache entry does");
    uint32_t version = kiln_reader_u32(reader);
    if (version != KILN_ENTRY_FORMAT_VERSION)
        return kiln_error_set(error, KILN_CORRUPT, "its format version is %" PRIu32 ", not %d",
                              version, KILN_ENTRY_FORMAT_VERSION);
    uint32_t reserved = kiln_reader_u32(reader);
    if (reserved != 0)
        return kiln_error_set(error, KILN_CORRUPT, "its reserved field is %" PRIu32 ", not 0",
                              reserved);
    uint64_t key_bytes = kiln_reader_u64(reader);
    uint64_t payload_bytes = kiln_reader_u64(reader);
    uint32_t compiler_bytes = kiln_reader_u32(reader);
    uint32_t build_bytes = kiln_reader_u32(reader);
    if (compiler_bytes > KILN_ENTRY_TEXT_LIMIT_BYTES || build_bytes > KILN_ENTRY_TEXT_LIMIT_BYTES)
        return kiln_error_set(error, KILN_CORRUPT,
                              "its header says %" PRIu32 " and %" PRIu32
                              " bytes for what made it, more than the limit of %d",
                              compiler_bytes, build_bytes, KILN_ENTRY_TEXT_LIMIT_BYTES);
    uint64_t body_bytes = size - FRAME_BYTES;
    uint64_t maker_bytes = (uint64_t)compiler_bytes + build_bytes;
    if (maker_bytes > body_bytes || key_bytes > body_bytes - maker_bytes ||
        payload_bytes != body_bytes - maker_bytes - key_bytes)
        return kiln_error_set(error, KILN_CORRUPT,
                              "it has %zu bytes, its header says a %" PRIu64 "-byte key, %" PRIu64
                              " bytes for what made it and a %" PRIu64 "-byte payload",
                              size, key_bytes, maker_bytes, payload_bytes);
    *view = (struct kiln_entry_view){.key_bytes = (size_t)key_bytes,
                                     .compiler.size = compiler_bytes,
                                     .build.size = build_bytes,
                                     .payload_bytes = (size_t)payload_bytes};
    return KILN_OK;
}

static enum kiln_status check_size(size_t size, struct kiln_error *error)
{
    if (size >= FRAME_BYTES)
        return KILN_OK;
    return kiln_error_set(error, KILN_CORRUPT,
                          "it has %zu bytes, fewer than the %d of an empty entry", size,
                          FRAME_BYTES);
}

enum kiln_status kiln_entry_check_header(const void *header, size_t entry_bytes,
                                         struct kiln_error *error)
{
    struct kiln_entry_view view;
    struct kiln_reader reader;
    enum kiln_status status = check_size(entry_bytes, error);
    if (status != KILN_OK)
        return status;
    kiln_reader_init(&reader, header, KILN_ENTRY_HEADER_BYTES);
    return read_header(&reader, entry_bytes, &view, error);
}

enum kiln_status kiln_entry_decode(const void *bytes, size_t size, struct kiln_entry_view *ret_view,
                                   struct kiln_error *error)
{
    struct kiln_entry_view view;
    struct kiln_reader reader;
    enum kiln_status status = check_size(size, error);
    kiln_reader_init(&reader, bytes, size);
    if (status == KILN_OK)
        status = read_header(&reader, size, &view, error);
    if (status != KILN_OK)
        return status;
    view.key = kiln_reader_bytes(&reader, view.key_bytes);
    view.compiler.text = kiln_reader_bytes(&reader, view.compiler.size);
    view.build.text = kiln_reader_bytes(&reader, view.build.size);
    view.payload = kiln_reader_bytes(&reader, view.payload_bytes);
    struct kiln_hash128 checksum = kiln_hash128(bytes, reader.position);
    uint64_t low = kiln_reader_u64(&reader);
    uint64_t high = kiln_reader_u64(&reader);
    if (reader.failed || checksum.low != low || checksum.high != high)
        return kiln_error_set(error, KILN_CORRUPT, "its checksum does not match its content");
    /* A NUL would hide what follows it. */
    if (memchr(view.compiler.text, '\0', view.compiler.size) != NULL ||
        memchr(view.build.text, '\0', view.build.size) != NULL)
        return kiln_error_set(error, KILN_CORRUPT, "what it says of its maker is no text");
    *ret_view = view;
    return KILN_OK;
}

bool kiln_entry_view_has_key(const struct kiln_entry_view *view, const struct kiln_cache_key *key)
{
    if (key->is_hash_only) {
        struct kiln_hash128 hash = kiln_hash128(view->key, view->key_bytes);
        return hash.high == key->hash_high && hash.low == key->hash_low;
    }
    size_t key_bytes = key->bytes.size;
    return view->key_bytes == key_bytes &&
           (key_bytes == 0 || memcmp(view->key, key->bytes.data, key_bytes) == 0);
}
