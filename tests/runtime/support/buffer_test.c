#include "runtime/support/buffer.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(buffer);
TestSuite(reader);

Test(buffer, empty_buffer_has_empty_text)
{
    struct kiln_buffer buffer;
    kiln_buffer_init(&buffer);
    cr_assert_str_eq(kiln_buffer_text(&buffer), "");
    cr_assert_eq(buffer.size, 0);
    kiln_buffer_fini(&buffer);
}

Test(buffer, appends_keep_their_order_and_a_nul_behind)
{
    struct kiln_buffer buffer;
    kiln_buffer_init(&buffer);
    kiln_buffer_append_text(&buffer, "one ");
    kiln_buffer_printf(&buffer, "%d %s", 2, "three");
    kiln_buffer_append(&buffer, NULL, 0);
    cr_assert_str_eq(kiln_buffer_text(&buffer), "one 2 three");
    cr_assert_eq(buffer.size, strlen("one 2 three"));
    kiln_buffer_clear(&buffer);
    cr_assert_str_eq(kiln_buffer_text(&buffer), "");
    kiln_buffer_append_text(&buffer, "again");
    cr_assert_str_eq(kiln_buffer_text(&buffer), "again");
    kiln_buffer_fini(&buffer);
}

Test(buffer, grows_by_append_and_by_printf)
{
    struct kiln_buffer buffer;
    kiln_buffer_init(&buffer);
    for (unsigned i = 0; i < 5000; i++) {
        kiln_buffer_append(&buffer, "x", 1);
        kiln_buffer_printf(&buffer, "%04u", i);
    }
    cr_assert_eq(buffer.size, 25000);
    cr_assert_eq(buffer.data[buffer.size], '\0');
    cr_assert_eq(memcmp(buffer.data + 5 * 1234, "x1234", 5), 0);
    kiln_buffer_fini(&buffer);
}

Test(buffer, a_failure_is_remembered_until_clear)
{
    struct kiln_buffer buffer;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_buffer_init(&buffer);
    kiln_buffer_append_text(&buffer, "kept");
    cr_assert_eq(kiln_buffer_check(&buffer, &error), KILN_OK);
    kiln_buffer_append(&buffer, "x", SIZE_MAX / 2);
    cr_assert(buffer.failed);
    kiln_buffer_append_text(&buffer, "lost");
    kiln_buffer_printf(&buffer, "lost");
    kiln_buffer_append_u32(&buffer, 1);
    cr_assert_str_eq(kiln_buffer_text(&buffer), "kept");
    cr_assert_eq(kiln_buffer_check(&buffer, &error), KILN_NO_MEMORY);
    cr_assert_eq(error.status, KILN_NO_MEMORY);
    kiln_buffer_clear(&buffer);
    kiln_buffer_append_text(&buffer, "fresh");
    cr_assert_str_eq(kiln_buffer_text(&buffer), "fresh");
    kiln_buffer_fini(&buffer);
}

Test(buffer, numbers_are_little_endian)
{
    struct kiln_buffer buffer;
    kiln_buffer_init(&buffer);
    kiln_buffer_append_u32(&buffer, 0x04030201);
    kiln_buffer_append_u64(&buffer, 0x0c0b0a0908070605);
    kiln_buffer_append_field(&buffer, "ab", 2);
    cr_assert_eq(buffer.size, 22);
    cr_assert_arr_eq(buffer.data, "\1\2\3\4\5\6\7\10\11\12\13\14\2\0\0\0\0\0\0\0ab", 22);
    kiln_buffer_fini(&buffer);
}

Test(reader, reads_what_a_buffer_wrote)
{
    struct kiln_buffer buffer;
    kiln_buffer_init(&buffer);
    kiln_buffer_append_u32(&buffer, UINT32_MAX);
    kiln_buffer_append_field(&buffer, "", 0);
    kiln_buffer_append_field(&buffer, "text", 4);
    kiln_buffer_append_u64(&buffer, UINT64_MAX - 1);
    struct kiln_reader reader;
    kiln_reader_init(&reader, buffer.data, buffer.size);
    cr_assert_eq(kiln_reader_u32(&reader), UINT32_MAX);
    size_t size = 99;
    cr_assert_not_null(kiln_reader_field(&reader, &size));
    cr_assert_eq(size, 0);
    const void *field = kiln_reader_field(&reader, &size);
    cr_assert_eq(size, 4);
    cr_assert_eq(memcmp(field, "text", 4), 0);
    cr_assert_eq(kiln_reader_u64(&reader), UINT64_MAX - 1);
    cr_assert_not(reader.failed);
    cr_assert_eq(reader.position, reader.size);
    kiln_buffer_fini(&buffer);
}

Test(reader, past_the_end_fails_and_stays_failed)
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, "abcde", 5);
    cr_assert_eq(kiln_reader_u64(&reader), 0);
    cr_assert(reader.failed);
    cr_assert_eq(kiln_reader_u32(&reader), 0, "four bytes are there, but the reader has failed");
    cr_assert_null(kiln_reader_bytes(&reader, 0));
}

Test(reader, a_field_longer_than_the_rest_fails_and_leaves_the_size)
{
    static const unsigned char lengths[][12] = {
        {5, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c', 'd'},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'a', 'b', 'c', 'd'},
        {0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'a', 'b', 'c', 'd'},
    };
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct kiln_reader reader;
        kiln_reader_init(&reader, lengths[i], sizeof lengths[i]);
        size_t size = 77;
        cr_assert_null(kiln_reader_field(&reader, &size));
        cr_assert(reader.failed);
        cr_assert_eq(size, 77);
    }
}

Test(reader, no_bytes_at_all)
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, NULL, 0);
    cr_assert_not_null(kiln_reader_bytes(&reader, 0));
    cr_assert_not(reader.failed);
    cr_assert_null(kiln_reader_bytes(&reader, 1));
    cr_assert(reader.failed);
}
