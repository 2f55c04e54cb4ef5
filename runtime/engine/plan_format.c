#include "runtime/engine/plan_format.h"

#include "cache/entry_format.h"
#include "runtime/engine/kernel_format.h"
#include "runtime/support/hash.h"
#include "runtime/support/version.h"

#include <inttypes.h>
#include <string.h>

/* As of cache entries, with other letters. */
static const unsigned char magic[8] = {0x89, 'K', 'P', 'L', 'N', '\r', '\n', 0x1a};

static void append_field(struct kiln_buffer *buffer, const struct kiln_plan_field *field)
{
    kiln_buffer_append_field(buffer, field->bytes, field->size);
}

static enum kiln_status append_kernel(const struct kiln_shared_kernel *kernel,
                                      struct kiln_buffer *buffer, struct kiln_error *error)
{
    const struct kiln_cache_maker maker = {.build = kiln_version.text};
    struct kiln_buffer payload;
    struct kiln_buffer entry;
    kiln_buffer_init(&payload);
    kiln_buffer_init(&entry);
    kiln_kernel_format_write(kernel, true, &payload);
    enum kiln_status status = kiln_buffer_check(&payload, error);
    if (status == KILN_OK)
        status = kiln_entry_encode(&kernel->key, &maker, payload.data, payload.size, &entry, error);
    if (status == KILN_OK)
        kiln_buffer_append_field(buffer, entry.data, entry.size);
    kiln_buffer_fini(&entry);
    kiln_buffer_fini(&payload);
    return status;
}

/* Sets the size in the header and appends the checksum. */
static void finish(struct kiln_buffer *buffer)
{
    uint64_t size = buffer->size + KILN_PLAN_CHECKSUM_BYTES;
    for (int i = 0; i < 8 && !buffer->failed; i++)
        buffer->data[16 + i] = (char)(size >> (8 * i));
    if (buffer->failed)
        return;
    const struct kiln_hash128 hash = kiln_hash128(buffer->data, buffer->size);
    kiln_buffer_append_u64(buffer, hash.low);
    kiln_buffer_append_u64(buffer, hash.high);
}

enum kiln_status kiln_plan_encode(const struct kiln_plan_record *record,
                                  struct kiln_shared_kernel *const *kernels, uint32_t kernel_count,
                                  struct kiln_buffer *buffer, struct kiln_error *error)
{
    kiln_buffer_append(buffer, magic, sizeof magic);
    kiln_buffer_append_u32(buffer, KILN_PLAN_FORMAT_VERSION);
    kiln_buffer_append_u32(buffer, 0);
    kiln_buffer_append_u64(buffer, 0);
    append_field(buffer, &record->config);
    append_field(buffer, &record->target);
    append_field(buffer, &record->graph);
    append_field(buffer, &record->recipe);
    kiln_buffer_append_u32(buffer, kernel_count);
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < kernel_count; i++)
        status = append_kernel(kernels[i], buffer, error);
    finish(buffer);
    return status == KILN_OK ? kiln_buffer_check(buffer, error) : status;
}

static struct kiln_plan_field take_field(struct kiln_reader *reader)
{
    struct kiln_plan_field field = {0};
    field.bytes = kiln_reader_field(reader, &field.size);
    return field;
}

static enum kiln_status check_frame(const unsigned char *bytes, size_t size,
                                    struct kiln_error *error)
{
    if (size < KILN_PLAN_HEADER_BYTES + KILN_PLAN_CHECKSUM_BYTES ||
        memcmp(bytes, magic, sizeof magic) != 0)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the %zu bytes are not a plan of Kiln",
                              size);
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes + sizeof magic, KILN_PLAN_HEADER_BYTES - sizeof magic);
    uint32_t version = kiln_reader_u32(&reader);
    uint32_t reserved = kiln_reader_u32(&reader);
    uint64_t stored = kiln_reader_u64(&reader);
    if (version != KILN_PLAN_FORMAT_VERSION || reserved != 0)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "the plan has format version %" PRIu32 ", this Kiln reads version %d",
                              version, KILN_PLAN_FORMAT_VERSION);
    if (stored != size)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the plan has %" PRIu64 " bytes, and %zu of them are given", stored,
                              size);
    size_t covered = size - KILN_PLAN_CHECKSUM_BYTES;
    const struct kiln_hash128 hash = kiln_hash128(bytes, covered);
    kiln_reader_init(&reader, bytes + covered, KILN_PLAN_CHECKSUM_BYTES);
    uint64_t low = kiln_reader_u64(&reader);
    uint64_t high = kiln_reader_u64(&reader);
    if (low != hash.low || high != hash.high)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the plan's checksum is wrong: it is damaged");
    return KILN_OK;
}

enum kiln_status kiln_plan_decode(const void *bytes, size_t size,
                                  struct kiln_plan_record *ret_record, struct kiln_error *error)
{
    enum kiln_status status = check_frame(bytes, size, error);
    if (status)
        return status;
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size - KILN_PLAN_CHECKSUM_BYTES);
    (void)kiln_reader_bytes(&reader, KILN_PLAN_HEADER_BYTES);
    struct kiln_plan_record record;
    record.config = take_field(&reader);
    record.target = take_field(&reader);
    record.graph = take_field(&reader);
    record.recipe = take_field(&reader);
    record.kernel_count = kiln_reader_u32(&reader);
    record.kernels = reader;
    for (uint32_t i = 0; !reader.failed && i < record.kernel_count; i++)
        (void)take_field(&reader);
    if (reader.failed || reader.position != reader.size ||
        memchr(record.target.bytes, '\0', record.target.size))
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the plan does not have the fields of one");
    *ret_record = record;
    return KILN_OK;
}
