#include "runtime/support/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kiln_buffer_init(struct kiln_buffer *buffer)
{
    *buffer = (struct kiln_buffer){0};
}

void kiln_buffer_fini(struct kiln_buffer *buffer)
{
    free(buffer->data);
    kiln_buffer_init(buffer);
}

void kiln_buffer_clear(struct kiln_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
    if (buffer->data != NULL)
        buffer->data[0] = '\0';
}

/* Room for `extra` more bytes and the NUL. */
static bool reserve(struct kiln_buffer *buffer, size_t extra)
{
    if (buffer->failed || extra >= SIZE_MAX / 4 || buffer->size >= SIZE_MAX / 4) {
        buffer->failed = true;
        return false;
    }
    size_t needed = buffer->size + extra + 1;
    if (needed <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity < 128 ? 256 : buffer->capacity * 2;
    if (capacity < needed)
        capacity = needed;
    char *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void kiln_buffer_append(struct kiln_buffer *buffer, const void *bytes, size_t size)
{
    if (!reserve(buffer, size))
        return;
    if (size != 0)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

void kiln_buffer_append_text(struct kiln_buffer *buffer, const char *text)
{
    kiln_buffer_append(buffer, text, strlen(text));
}

void kiln_buffer_printf(struct kiln_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    /* Most texts fit where there is room already; the others are written a second time. */
    size_t room = buffer->failed ? 0 : buffer->capacity - buffer->size;
    int length = vsnprintf(room != 0 ? buffer->data + buffer->size : NULL, room, format, arguments);
    if (length < 0) {
        buffer->failed = true;
    } else if ((size_t)length < room) {
        buffer->size += (size_t)length;
    } else if (reserve(buffer, (size_t)length)) {
        (void)vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void kiln_buffer_append_u32(struct kiln_buffer *buffer, uint32_t value)
{
    unsigned char bytes[4];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    kiln_buffer_append(buffer, bytes, sizeof bytes);
}

void kiln_buffer_append_u64(struct kiln_buffer *buffer, uint64_t value)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    kiln_buffer_append(buffer, bytes, sizeof bytes);
}

void kiln_buffer_append_field(struct kiln_buffer *buffer, const void *bytes, size_t size)
{
    kiln_buffer_append_u64(buffer, size);
    kiln_buffer_append(buffer, bytes, size);
}

const char *kiln_buffer_text(const struct kiln_buffer *buffer)
{
    return buffer->data != NULL ? buffer->data : "";
}

enum kiln_status kiln_buffer_check(const struct kiln_buffer *buffer, struct kiln_error *error)
{
    if (buffer->failed)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while building a buffer");
    return KILN_OK;
}

void kiln_reader_init(struct kiln_reader *reader, const void *data, size_t size)
{
    /* No arithmetic on a null pointer later, and a read of 0 bytes gives a pointer. */
    *reader = (struct kiln_reader){.data = size != 0 ? data : "", .size = size};
}

const void *kiln_reader_bytes(struct kiln_reader *reader, size_t size)
{
    if (reader->failed || size > reader->size - reader->position) {
        reader->failed = true;
        return NULL;
    }
    const void *bytes = reader->data + reader->position;
    reader->position += size;
    return bytes;
}

static uint64_t read_little_endian(struct kiln_reader *reader, size_t size)
{
    const unsigned char *bytes = kiln_reader_bytes(reader, size);
    uint64_t value = 0;
    for (size_t i = 0; bytes != NULL && i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint32_t kiln_reader_u32(struct kiln_reader *reader)
{
    return (uint32_t)read_little_endian(reader, 4);
}

uint64_t kiln_reader_u64(struct kiln_reader *reader)
{
    return read_little_endian(reader, 8);
}

const void *kiln_reader_field(struct kiln_reader *reader, size_t *ret_size)
{
    uint64_t size = kiln_reader_u64(reader);
    const void *bytes = size <= SIZE_MAX ? kiln_reader_bytes(reader, (size_t)size) : NULL;
    if (!reader->failed)
        *ret_size = (size_t)size;
    return bytes;
}
