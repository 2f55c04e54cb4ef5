/*
 * Growable byte buffer: generated text, serialised records, messages.
 *
 * A failed allocation is remembered (`failed`) and later appends do nothing, so that a long
 * sequence of appends is checked once at its end. The data is always followed by a NUL that
 * `size` does not count, once anything was appended.
 */
#ifndef KILN_RUNTIME_SUPPORT_BUFFER_H
#define KILN_RUNTIME_SUPPORT_BUFFER_H

#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kiln_buffer {
    char *data; /* owned; NULL while empty */
    size_t size;
    size_t capacity;
    bool failed;
};

void kiln_buffer_init(struct kiln_buffer *buffer);
void kiln_buffer_fini(struct kiln_buffer *buffer);
/* Forgets the content and keeps the memory. */
void kiln_buffer_clear(struct kiln_buffer *buffer);

void kiln_buffer_append(struct kiln_buffer *buffer, const void *bytes, size_t size);
void kiln_buffer_append_text(struct kiln_buffer *buffer, const char *text);
void kiln_buffer_printf(struct kiln_buffer *buffer, const char *format, ...) KILN_PRINTF(2, 3);
/* Little endian. */
void kiln_buffer_append_u32(struct kiln_buffer *buffer, uint32_t value);
void kiln_buffer_append_u64(struct kiln_buffer *buffer, uint64_t value);
/* A u64 length, then the bytes: two different sequences of fields never give the same bytes. */
void kiln_buffer_append_field(struct kiln_buffer *buffer, const void *bytes, size_t size);

/* The text, never NULL. */
const char *kiln_buffer_text(const struct kiln_buffer *buffer);
/* KILN_NO_MEMORY when any append failed. */
enum kiln_status kiln_buffer_check(const struct kiln_buffer *buffer,
                                   struct kiln_error *error) KILN_NODISCARD;

/*
 * Bounds-checked reader over bytes that somebody else wrote. A read past the end sets `failed`,
 * returns zero or NULL, and every later read fails too: check `failed` once at the end.
 */
struct kiln_reader {
    const unsigned char *data; /* borrowed */
    size_t size;
    size_t position;
    bool failed;
};

void kiln_reader_init(struct kiln_reader *reader, const void *data, size_t size);
uint32_t kiln_reader_u32(struct kiln_reader *reader);
uint64_t kiln_reader_u64(struct kiln_reader *reader);
/* Points into the data; NULL when fewer than `size` bytes are left. */
const void *kiln_reader_bytes(struct kiln_reader *reader, size_t size);
/* A field as kiln_buffer_append_field writes it. */
const void *kiln_reader_field(struct kiln_reader *reader, size_t *ret_size);

#endif
