#include "compiler/codegen/msgpack_reader.h"

#include <string.h>

static uint64_t read_big_endian(struct kiln_reader *reader, size_t size)
{
    const unsigned char *bytes = kiln_reader_bytes(reader, size);
    uint64_t number = 0;
    for (size_t i = 0; bytes != NULL && i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

static void read_span(struct kiln_reader *reader, enum kiln_msgpack_type type, uint64_t size,
                      struct kiln_msgpack_value *value)
{
    value->type = type;
    value->size = (size_t)size;
    value->bytes = kiln_reader_bytes(reader, (size_t)size);
}

static void read_signed(struct kiln_reader *reader, size_t size, struct kiln_msgpack_value *value)
{
    uint64_t number = read_big_endian(reader, size);
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    value->number = (number ^ sign) - sign;
    value->type = (number & sign) != 0 ? KILN_MSGPACK_NEGATIVE : KILN_MSGPACK_UNSIGNED;
}

/* The types of 0xc0 to 0xdf; the lengths and numbers behind them are big endian. */
static void read_tagged(struct kiln_reader *reader, unsigned tag, struct kiln_msgpack_value *value)
{
    switch (tag) {
    case 0xc0:
        value->type = KILN_MSGPACK_NIL;
        break;
    case 0xc2:
    case 0xc3:
        value->type = KILN_MSGPACK_BOOLEAN;
        value->number = tag & 1;
        break;
    case 0xc4: /* bin 8, 16, 32 */
    case 0xc5:
    case 0xc6:
        read_span(reader, KILN_MSGPACK_BINARY, read_big_endian(reader, 1U << (tag - 0xc4)), value);
        break;
    case 0xc7: /* ext 8, 16, 32: a type byte in front of the data */
    case 0xc8:
    case 0xc9:
        read_span(reader, KILN_MSGPACK_BINARY, read_big_endian(reader, 1U << (tag - 0xc7)) + 1,
                  value);
        break;
    case 0xca: /* float 32, 64 */
    case 0xcb:
        read_span(reader, KILN_MSGPACK_FLOAT, 4U << (tag - 0xca), value);
        break;
    case 0xcc: /* uint 8, 16, 32, 64 */
    case 0xcd:
    case 0xce:
    case 0xcf:
        value->type = KILN_MSGPACK_UNSIGNED;
        value->number = read_big_endian(reader, 1U << (tag - 0xcc));
        break;
    case 0xd0: /* int 8, 16, 32, 64 */
    case 0xd1:
    case 0xd2:
    case 0xd3:
        read_signed(reader, 1U << (tag - 0xd0), value);
        break;
    case 0xd4: /* fixext 1, 2, 4, 8, 16 */
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        read_span(reader, KILN_MSGPACK_BINARY, (1U << (tag - 0xd4)) + 1, value);
        break;
    case 0xd9: /* str 8, 16, 32 */
    case 0xda:
    case 0xdb:
        read_span(reader, KILN_MSGPACK_TEXT, read_big_endian(reader, 1U << (tag - 0xd9)), value);
        break;
    case 0xdc: /* array 16, 32 */
    case 0xdd:
        value->type = KILN_MSGPACK_ARRAY;
        value->number = read_big_endian(reader, 2U << (tag - 0xdc));
        break;
    case 0xde: /* map 16, 32 */
    case 0xdf:
        value->type = KILN_MSGPACK_MAP;
        value->number = read_big_endian(reader, 2U << (tag - 0xde));
        break;
    default: /* 0xc1 is never used */
        reader->failed = true;
        break;
    }
}

bool kiln_msgpack_next(struct kiln_reader *reader, struct kiln_msgpack_value *ret_value)
{
    const unsigned char *tag = kiln_reader_bytes(reader, 1);
    if (tag == NULL)
        return false;
    struct kiln_msgpack_value value = {0};
    if (*tag <= 0x7f) {
        value.type = KILN_MSGPACK_UNSIGNED;
        value.number = *tag;
    } else if (*tag <= 0x8f) {
        value.type = KILN_MSGPACK_MAP;
        value.number = *tag & 0x0f;
    } else if (*tag <= 0x9f) {
        value.type = KILN_MSGPACK_ARRAY;
        value.number = *tag & 0x0f;
    } else if (*tag <= 0xbf) {
        read_span(reader, KILN_MSGPACK_TEXT, *tag & 0x1f, &value);
    } else if (*tag >= 0xe0) {
        value.type = KILN_MSGPACK_NEGATIVE;
        value.number = (uint64_t)(int64_t)(signed char)*tag;
    } else {
        read_tagged(reader, *tag, &value);
    }
    if (reader->failed)
        return false;
    *ret_value = value;
    return true;
}

static uint64_t count_children(const struct kiln_msgpack_value *value)
{
    if (value->type == KILN_MSGPACK_ARRAY)
        return value->number;
    return value->type == KILN_MSGPACK_MAP ? 2 * value->number : 0;
}

/* Each value takes at least one byte, so the loop ends with the data whatever the lengths claim.
 * Lengths have 32 bits: the sum over all bytes of a note cannot overflow. */
bool kiln_msgpack_skip(struct kiln_reader *reader, const struct kiln_msgpack_value *value)
{
    uint64_t pending = count_children(value);
    while (pending != 0) {
        struct kiln_msgpack_value child;
        if (!kiln_msgpack_next(reader, &child))
            return false;
        pending += count_children(&child);
        pending--;
    }
    return true;
}

bool kiln_msgpack_is_text(const struct kiln_msgpack_value *value, const char *text)
{
    size_t length = strlen(text);
    return value->type == KILN_MSGPACK_TEXT && value->size == length &&
           memcmp(value->bytes, text, length) == 0;
}
