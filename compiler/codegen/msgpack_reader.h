/*
 * MessagePack, as far as the metadata of AMDGPU code objects needs it: reads one value after the
 * other from bytes that somebody else wrote. Nothing is copied and nothing recurses.
 *
 * A map of n entries is followed by 2n values (key, value, ...), an array of n elements by n
 * values.
 */
#ifndef KILN_COMPILER_CODEGEN_MSGPACK_READER_H
#define KILN_COMPILER_CODEGEN_MSGPACK_READER_H

#include "runtime/support/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kiln_msgpack_type {
    KILN_MSGPACK_NIL,
    KILN_MSGPACK_BOOLEAN,  /* number: 0 or 1 */
    KILN_MSGPACK_UNSIGNED, /* number */
    KILN_MSGPACK_NEGATIVE, /* number, as two's complement */
    KILN_MSGPACK_FLOAT,    /* bytes */
    KILN_MSGPACK_TEXT,     /* bytes, no NUL behind */
    KILN_MSGPACK_BINARY,   /* bytes, also extension types */
    KILN_MSGPACK_ARRAY,    /* number of elements */
    KILN_MSGPACK_MAP,      /* number of entries */
};

struct kiln_msgpack_value {
    enum kiln_msgpack_type type;
    uint64_t number;
    const void *bytes; /* borrowed from the data */
    size_t size;
};

/* Reads the head of the next value: of an array or map its length alone. False at the end of the
 * data and when they are not MessagePack; the reader has failed then. */
bool kiln_msgpack_next(struct kiln_reader *reader, struct kiln_msgpack_value *ret_value);

/* Passes over what belongs to a value that kiln_msgpack_next gave: all that an array or map holds.
 */
bool kiln_msgpack_skip(struct kiln_reader *reader, const struct kiln_msgpack_value *value);

/* True when the value is the text `text`. */
bool kiln_msgpack_is_text(const struct kiln_msgpack_value *value, const char *text);

#endif
