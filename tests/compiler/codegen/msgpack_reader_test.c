#include "compiler/codegen/msgpack_reader.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

struct head {
    const char *bytes;
    size_t size;
    enum kiln_msgpack_type type;
    uint64_t number;
    size_t span;
};

Test(msgpack_reader, heads)
{
    static const struct head heads[] = {
        {"\x00", 1, KILN_MSGPACK_UNSIGNED, 0, 0},
        {"\x7f", 1, KILN_MSGPACK_UNSIGNED, 127, 0},
        {"\xff", 1, KILN_MSGPACK_NEGATIVE, UINT64_MAX, 0},
        {"\xe0", 1, KILN_MSGPACK_NEGATIVE, (uint64_t)-32, 0},
        {"\xc0", 1, KILN_MSGPACK_NIL, 0, 0},
        {"\xc2", 1, KILN_MSGPACK_BOOLEAN, 0, 0},
        {"\xc3", 1, KILN_MSGPACK_BOOLEAN, 1, 0},
        {"\xcc\xff", 2, KILN_MSGPACK_UNSIGNED, 255, 0},
        {"\xcd\x01\x02", 3, KILN_MSGPACK_UNSIGNED, 0x102, 0},
        {"\xce\x01\x02\x03\x04", 5, KILN_MSGPACK_UNSIGNED, 0x1020304, 0},
        {"\xcf\x01\x02\x03\x04\x05\x06\x07\x08", 9, KILN_MSGPACK_UNSIGNED, 0x102030405060708, 0},
        {"\xd0\x80", 2, KILN_MSGPACK_NEGATIVE, (uint64_t)-128, 0},
        {"\xd1\x01\x00", 3, KILN_MSGPACK_UNSIGNED, 256, 0},
        {"\xd2\xff\xff\xff\xfe", 5, KILN_MSGPACK_NEGATIVE, (uint64_t)-2, 0},
        {"\xd3\xff\xff\xff\xff\xff\xff\xff\xff", 9, KILN_MSGPACK_NEGATIVE, UINT64_MAX, 0},
        {"\xca\x00\x00\x00\x00", 5, KILN_MSGPACK_FLOAT, 0, 4},
        {"\xcb\x00\x00\x00\x00\x00\x00\x00\x00", 9, KILN_MSGPACK_FLOAT, 0, 8},
        {"\xa3"
         "abc",
         4, KILN_MSGPACK_TEXT, 0, 3},
        {"\xd9\x02hi", 4, KILN_MSGPACK_TEXT, 0, 2},
        {"\xda\x00\x01x", 4, KILN_MSGPACK_TEXT, 0, 1},
        {"\xdb\x00\x00\x00\x01x", 6, KILN_MSGPACK_TEXT, 0, 1},
        {"\xc4\x01x", 3, KILN_MSGPACK_BINARY, 0, 1},
        {"\xc7\x02\x09xy", 5, KILN_MSGPACK_BINARY, 0, 3},
        {"\xd4\x09x", 3, KILN_MSGPACK_BINARY, 0, 2},
        {"\xd8\x09"
         "0123456789abcdef",
         18, KILN_MSGPACK_BINARY, 0, 17},
        {"\x93", 1, KILN_MSGPACK_ARRAY, 3, 0},
        {"\xdc\x01\x00", 3, KILN_MSGPACK_ARRAY, 256, 0},
        {"\xdd\xff\xff\xff\xff", 5, KILN_MSGPACK_ARRAY, UINT32_MAX, 0},
        {"\x82", 1, KILN_MSGPACK_MAP, 2, 0},
        {"\xde\x00\x10", 3, KILN_MSGPACK_MAP, 16, 0},
        {"\xdf\x00\x00\x00\x11", 5, KILN_MSGPACK_MAP, 17, 0},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        /* Whole, and cut at every place. */
        for (size_t size = 0; size <= heads[i].size; size++) {
            struct kiln_reader reader;
            struct kiln_msgpack_value value;
            char *copy = malloc(size + 1);
            memcpy(copy, heads[i].bytes, size);
            kiln_reader_init(&reader, copy, size);
            bool is_read = kiln_msgpack_next(&reader, &value);
            cr_expect_eq(is_read, size == heads[i].size, "head %zu cut to %zu", i, size);
            cr_expect_eq(reader.failed, !is_read);
            if (is_read) {
                cr_expect_eq(value.type, heads[i].type, "head %zu", i);
                cr_expect_eq(value.number, heads[i].number, "head %zu", i);
                cr_expect_eq(value.size, heads[i].span, "head %zu", i);
                cr_expect_eq(reader.position, size);
            }
            free(copy);
        }
    }
}

Test(msgpack_reader, never_used_byte_fails)
{
    struct kiln_reader reader;
    struct kiln_msgpack_value value;
    kiln_reader_init(&reader, "\xc1", 1);
    cr_expect_not(kiln_msgpack_next(&reader, &value));
}

Test(msgpack_reader, skips_nested_values)
{
    /* {"a": [1, {"b": nil}], "c": "d"}, 5 */
    static const char bytes[] = "\x82\xa1"
                                "a\x92\x01\x81\xa1"
                                "b\xc0\xa1"
                                "c\xa1"
                                "d\x05";
    struct kiln_reader reader;
    struct kiln_msgpack_value value;
    kiln_reader_init(&reader, bytes, sizeof bytes - 1);
    cr_assert(kiln_msgpack_next(&reader, &value));
    cr_expect_eq(value.type, KILN_MSGPACK_MAP);
    cr_assert(kiln_msgpack_skip(&reader, &value));
    cr_assert(kiln_msgpack_next(&reader, &value));
    cr_expect_eq(value.number, 5);
}

Test(msgpack_reader, lengths_that_lie_end)
{
    /* Arrays of 2^32-1 elements, each of which is such an array. */
    char bytes[5 * 200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i % 5 == 0 ? '\xdd' : '\xff';
    struct kiln_reader reader;
    struct kiln_msgpack_value value;
    kiln_reader_init(&reader, bytes, sizeof bytes);
    cr_assert(kiln_msgpack_next(&reader, &value));
    cr_expect_not(kiln_msgpack_skip(&reader, &value));
}

Test(msgpack_reader, deep_nesting_needs_no_stack)
{
    size_t size = 4 << 20;
    char *bytes = malloc(size);
    memset(bytes, '\x91', size);
    bytes[size - 1] = '\x00';
    struct kiln_reader reader;
    struct kiln_msgpack_value value;
    kiln_reader_init(&reader, bytes, size);
    cr_assert(kiln_msgpack_next(&reader, &value));
    cr_expect(kiln_msgpack_skip(&reader, &value));
    cr_expect_eq(reader.position, size);
    free(bytes);
}

Test(msgpack_reader, random_bytes)
{
    enum { ROUNDS = 200000, BYTES = 64 };
    uint32_t state = 12345;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char bytes[BYTES];
        for (size_t i = 0; i < sizeof bytes; i++) {
            state = state * 1664525 + 1013904223;
            bytes[i] = (unsigned char)(state >> 24);
        }
        struct kiln_reader reader;
        struct kiln_msgpack_value value;
        kiln_reader_init(&reader, bytes, sizeof bytes);
        while (kiln_msgpack_next(&reader, &value)) {
            size_t before = reader.position;
            if (!kiln_msgpack_skip(&reader, &value))
                break;
            cr_assert_geq(reader.position, before);
        }
        cr_assert_leq(reader.position, sizeof bytes);
    }
}
