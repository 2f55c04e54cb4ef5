#include "cache/entry_format.h"

#include "tests/cache/sample_key.h"

#include <criterion/criterion.h>
#include <string.h>

static const char payload[] = "the payload of a sample entry";

static struct kiln_buffer entry;
static struct kiln_cache_key key;

static void set_up(void)
{
    struct kiln_error error;
    kiln_error_init(&error);
    key = sample_key(1);
    kiln_buffer_init(&entry);
    cr_assert_eq(kiln_entry_encode(&key, payload, sizeof payload, &entry, &error), KILN_OK, "%s",
                 error.text);
}

static void tear_down(void)
{
    kiln_buffer_fini(&entry);
    kiln_cache_key_fini(&key);
}

TestSuite(entry_format, .init = set_up, .fini = tear_down);

static enum kiln_status decode(const void *bytes, size_t size, struct kiln_error *error)
{
    struct kiln_entry_view view = {.key_bytes = 12345};
    kiln_error_init(error);
    enum kiln_status status = kiln_entry_decode(bytes, size, &view, error);
    if (status != KILN_OK)
        cr_assert_eq(view.key_bytes, 12345, "a failure touched the result");
    return status;
}

Test(entry_format, decodes_what_it_encodes)
{
    struct kiln_entry_view view;
    struct kiln_error error;
    cr_assert_eq(kiln_entry_decode(entry.data, entry.size, &view, &error), KILN_OK, "%s",
                 error.text);
    cr_assert_eq(view.key_bytes, key.bytes.size);
    cr_assert_eq(memcmp(view.key, key.bytes.data, view.key_bytes), 0);
    cr_assert_eq(view.payload_bytes, sizeof payload);
    cr_assert_eq(memcmp(view.payload, payload, sizeof payload), 0);
}

/* docs/cache-format.md, byte for byte. */
Test(entry_format, layout_is_the_documented_one)
{
    cr_assert_eq(entry.size, 32 + key.bytes.size + sizeof payload + 16);
    cr_assert_eq(key.bytes.size, 26);
    cr_assert_arr_eq(entry.data,
                     "\x89KILN\r\n\x1a"
                     "\2\0\0\0\0\0\0\0"
                     "\x1a\0\0\0\0\0\0\0"
                     "\x1e\0\0\0\0\0\0\0",
                     32);
    cr_assert_arr_eq(entry.data + 32, key.bytes.data, 26);
    cr_assert_arr_eq(entry.data + 32 + 26, payload, sizeof payload);
}

Test(entry_format, empty_key_and_payload)
{
    struct kiln_error error;
    struct kiln_cache_key none;
    struct kiln_buffer empty;
    kiln_error_init(&error);
    kiln_cache_key_init(&none);
    kiln_buffer_init(&empty);
    cr_assert_eq(kiln_cache_key_finish(&none, &error), KILN_OK);
    cr_assert_eq(kiln_entry_encode(&none, NULL, 0, &empty, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(empty.size, 48);
    cr_assert_eq(decode(empty.data, empty.size, &error), KILN_OK, "%s", error.text);
    kiln_buffer_fini(&empty);
}

Test(entry_format, every_flipped_bit_is_noticed)
{
    struct kiln_error error;
    for (size_t bit = 0; bit < 8 * entry.size; bit++) {
        entry.data[bit / 8] ^= (char)(1 << bit % 8);
        cr_assert_eq(decode(entry.data, entry.size, &error), KILN_CORRUPT, "bit %zu", bit);
        cr_assert_str_not_empty(error.text);
        entry.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    cr_assert_eq(decode(entry.data, entry.size, &error), KILN_OK);
}

Test(entry_format, every_other_length_is_noticed)
{
    struct kiln_error error;
    for (size_t size = 0; size < entry.size; size++) {
        /* In memory of its own, so that a sanitizer sees a read past the end. */
        char *part = malloc(size + (size == 0));
        memcpy(part, entry.data, size);
        cr_assert_eq(decode(part, size, &error), KILN_CORRUPT, "%zu bytes", size);
        free(part);
    }
    for (unsigned extra = 0; extra < 64; extra++) {
        kiln_buffer_append(&entry, "", 1);
        cr_assert_eq(decode(entry.data, entry.size, &error), KILN_CORRUPT);
    }
}

Test(entry_format, sizes_that_overflow_their_sum_are_noticed)
{
    static const struct {
        uint64_t key_bytes;
        uint64_t payload_bytes;
    } cases[] = {
        {UINT64_MAX, 57}, {57, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}, {1ULL << 63, 1ULL << 63}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_error error;
        memcpy(entry.data + 16, &cases[i].key_bytes, 8);
        memcpy(entry.data + 24, &cases[i].payload_bytes, 8);
        cr_assert_eq(decode(entry.data, entry.size, &error), KILN_CORRUPT, "case %u", i);
    }
}

Test(entry_format, too_large_an_entry_is_refused)
{
    struct kiln_error error;
    struct kiln_buffer large;
    kiln_error_init(&error);
    kiln_buffer_init(&large);
    /* The sizes are judged before a byte is read. */
    cr_assert_eq(kiln_entry_encode(&key, payload, KILN_ENTRY_LIMIT_BYTES - 48 - 25, &large, &error),
                 KILN_BAD_ARGUMENT);
    cr_assert_eq(kiln_entry_encode(&key, payload, SIZE_MAX, &large, &error), KILN_BAD_ARGUMENT);
    cr_assert_null(large.data);
}
