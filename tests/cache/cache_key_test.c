#include "cache/cache_key.h"

#include <criterion/criterion.h>

TestSuite(cache_key);

static struct kiln_cache_key key_of(const char *first, const char *second)
{
    struct kiln_cache_key key;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_cache_key_init(&key);
    kiln_cache_key_add_text(&key, first);
    if (second != NULL)
        kiln_cache_key_add_text(&key, second);
    cr_assert_eq(kiln_cache_key_finish(&key, &error), KILN_OK);
    return key;
}

static bool same(const struct kiln_cache_key *a, const struct kiln_cache_key *b)
{
    return a->hash_high == b->hash_high && a->hash_low == b->hash_low;
}

Test(cache_key, bytes_are_length_prefixed_fields)
{
    struct kiln_cache_key key = key_of("ab", "");
    cr_assert_eq(key.bytes.size, 18);
    cr_assert_arr_eq(key.bytes.data, "\2\0\0\0\0\0\0\0ab\0\0\0\0\0\0\0\0", 18);
    kiln_cache_key_fini(&key);
}

/* The values were computed with libxxhash: a change would orphan every cache. */
Test(cache_key, hash_is_xxh3_128_of_the_bytes)
{
    char hex[KILN_CACHE_HASH_HEX + 1];
    struct kiln_cache_key key = key_of("ab", "");
    kiln_cache_key_hex(&key, hex);
    cr_assert_str_eq(hex, "1c9fd40d715e2617802608c0f3559d21");
    kiln_cache_key_fini(&key);
}

Test(cache_key, the_border_between_fields_counts)
{
    static const struct {
        const char *first;
        const char *second;
    } cases[] = {{"abc", ""}, {"ab", "c"}, {"a", "bc"}, {"", "abc"}, {"abc", NULL}};
    enum { CASES = sizeof cases / sizeof *cases };
    struct kiln_cache_key keys[CASES];
    for (unsigned i = 0; i < CASES; i++)
        keys[i] = key_of(cases[i].first, cases[i].second);
    for (unsigned i = 0; i < CASES; i++) {
        for (unsigned j = 0; j < CASES; j++)
            cr_assert_eq(same(&keys[i], &keys[j]), i == j, "%u and %u", i, j);
    }
    for (unsigned i = 0; i < CASES; i++)
        kiln_cache_key_fini(&keys[i]);
}

Test(cache_key, finish_again_after_a_further_field)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_cache_key grown = key_of("a", NULL);
    struct kiln_cache_key whole = key_of("a", "b");
    kiln_cache_key_add_text(&grown, "b");
    cr_assert_not(same(&grown, &whole));
    cr_assert_eq(kiln_cache_key_finish(&grown, &error), KILN_OK);
    cr_assert(same(&grown, &whole));
    kiln_cache_key_fini(&grown);
    kiln_cache_key_fini(&whole);
}

Test(cache_key, a_field_that_found_no_memory_fails_the_key)
{
    struct kiln_error error;
    struct kiln_cache_key key;
    kiln_error_init(&error);
    kiln_cache_key_init(&key);
    kiln_cache_key_add(&key, "", SIZE_MAX / 2);
    kiln_cache_key_add_text(&key, "more");
    cr_assert_eq(kiln_cache_key_finish(&key, &error), KILN_NO_MEMORY);
    cr_assert_str_eq(error.text, "out of memory while building a cache key");
    kiln_cache_key_fini(&key);
}
