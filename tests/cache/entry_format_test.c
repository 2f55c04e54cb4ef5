#include "cache/entry_format.h"

#include "tests/cache/sample_key.h"

#include <criterion/criterion.h>
#include <string.h>

static const char payload[] = "the payload of a sample entry";

static const struct kiln_cache_maker maker = {"clang 19", "0.1.0"};

static struct kiln_buffer entry;
static struct kiln_cache_key key;

static void set_up(void)
{
    struct kiln_error error;
    kiln_error_init(&error);
    key = sample_key(1);
    kiln_buffer_init(&entry);
    cr_assert_eq(kiln_entry_encode(&key, &maker, payload, sizeof payload, &entry, &error), KILN_OK,
                 "%s", error.text);
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
    cr_assert_eq(view.compiler.size, 8);
    cr_assert_arr_eq(view.compiler.text, "clang 19", 8);
    cr_assert_eq(view.build.size, 5);
    cr_assert_arr_eq(view.build.text, "0.1.0", 5);
    cr_assert_eq(kiln_entry_view_mark(&view), kiln_cache_compiler_mark("clang 19"));
}

/* Sound by its checksum: somebody has forged it. */
static enum kiln_status decode_changed(size_t offset, const void *bytes, size_t size,
                                       struct kiln_error *error)
{
    memcpy(entry.data + offset, bytes, size);
    struct kiln_hash128 checksum = kiln_hash128(entry.data, entry.size - 16);
    memcpy(entry.data + entry.size - 16, &checksum.low, 8);
    memcpy(entry.data + entry.size - 8, &checksum.high, 8);
    return decode(entry.data, entry.size, error);
}

Test(entry_format, texts_about_the_maker_that_are_none_are_refused)
{
    struct kiln_error error;
    kiln_error_init(&error);
    const uint32_t lengths[] = {7, 9, 0, UINT32_MAX, KILN_ENTRY_TEXT_LIMIT_BYTES + 1, 100};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        cr_expect_eq(decode_changed(32, &lengths[i], 4, &error), KILN_CORRUPT, "%zu", i);
        cr_expect_geq(strlen(error.text), 10);
    }
    const uint32_t right = 8;
    cr_expect_eq(decode_changed(32, &right, 4, &error), KILN_OK);
    cr_expect_eq(decode_changed(40 + 26 + 3, "", 1, &error), KILN_CORRUPT, "a NUL hides the rest");
    cr_expect_eq(decode_changed(40 + 26 + 3, "x", 1, &error), KILN_OK);
    cr_expect_eq(decode_changed(40 + 26 + 8, "", 1, &error), KILN_CORRUPT);

    char text[KILN_ENTRY_TEXT_LIMIT_BYTES + 2];
    memset(text, 'c', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const struct kiln_cache_maker verbose = {.compiler = text};
    struct kiln_buffer large;
    kiln_buffer_init(&large);
    cr_expect_eq(kiln_entry_encode(&key, &verbose, payload, 1, &large, &error), KILN_BAD_ARGUMENT);
    text[sizeof text - 2] = '\0';
    cr_expect_eq(kiln_entry_encode(&key, &verbose, payload, 1, &large, &error), KILN_OK);
    cr_expect_eq(decode(large.data, large.size, &error), KILN_OK);
    kiln_buffer_fini(&large);
}

Test(entry_format, a_mark_stands_for_a_compiler)
{
    cr_expect_eq(kiln_cache_compiler_mark(NULL), 0);
    cr_expect_eq(kiln_cache_compiler_mark(""), 0);
    cr_expect_neq(kiln_cache_compiler_mark("clang 19"), 0);
    cr_expect_neq(kiln_cache_compiler_mark("clang 19"), kiln_cache_compiler_mark("clang 20"));
}

/* docs/cache-format.md, byte for byte. */
Test(entry_format, layout_is_the_documented_one)
{
    size_t maker_bytes = sizeof "clang 19" - 1 + sizeof "0.1.0" - 1;
    cr_assert_eq(entry.size, 40 + key.bytes.size + maker_bytes + sizeof payload + 16);
    cr_assert_eq(key.bytes.size, 26);
    cr_assert_arr_eq(entry.data,
                     "\x89KILN\r\n\x1a"
                     "\3\0\0\0\0\0\0\0"
                     "\x1a\0\0\0\0\0\0\0"
                     "\x1e\0\0\0\0\0\0\0"
                     "\x8\0\0\0\5\0\0\0",
                     40);
    cr_assert_arr_eq(entry.data + 40, key.bytes.data, 26);
    cr_assert_arr_eq(entry.data + 40 + 26, "clang 190.1.0", maker_bytes);
    cr_assert_arr_eq(entry.data + 40 + 26 + maker_bytes, payload, sizeof payload);
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
    cr_assert_eq(kiln_entry_encode(&none, NULL, NULL, 0, &empty, &error), KILN_OK, "%s",
                 error.text);
    cr_assert_eq(empty.size, 56);
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
    cr_assert_eq(
        kiln_entry_encode(&key, NULL, payload, KILN_ENTRY_LIMIT_BYTES - 56 - 25, &large, &error),
        KILN_BAD_ARGUMENT);
    cr_assert_eq(kiln_entry_encode(&key, NULL, payload, SIZE_MAX, &large, &error),
                 KILN_BAD_ARGUMENT);
    cr_assert_null(large.data);
}
