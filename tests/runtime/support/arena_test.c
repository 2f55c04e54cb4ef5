#include "runtime/support/arena.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

TestSuite(arena);

Test(arena, unused_arena_needs_no_fini_and_survives_it)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    kiln_arena_fini(&arena);
    kiln_arena_fini(&arena);
    cr_assert_not_null(kiln_arena_calloc(&arena, 1, 1));
    kiln_arena_fini(&arena);
}

Test(arena, memory_is_zeroed_aligned_and_disjoint)
{
    enum { BLOCKS = 600 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    for (unsigned i = 0; i < BLOCKS; i++) {
        /* From one byte to more than a chunk, large and small mixed. */
        sizes[i] = i % 50 == 49 ? 20000 + i : 1 + i * 7 % 900;
        blocks[i] = kiln_arena_calloc(&arena, sizes[i], 1);
        cr_assert_not_null(blocks[i]);
        cr_assert_eq((uintptr_t)blocks[i] % 16, 0);
        for (size_t b = 0; b < sizes[i]; b++)
            cr_assert_eq(blocks[i][b], 0, "block %u byte %zu", i, b);
        memset(blocks[i], (int)(i & 0xff), sizes[i]);
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        for (size_t b = 0; b < sizes[i]; b++)
            cr_assert_eq(blocks[i][b], i & 0xff, "block %u byte %zu was overwritten", i, b);
    }
    kiln_arena_fini(&arena);
}

Test(arena, sizes_around_a_chunk)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    for (size_t size = 16384 - 40; size <= 16384 + 40; size++) {
        unsigned char *block = kiln_arena_calloc(&arena, 1, size);
        unsigned char *next = kiln_arena_calloc(&arena, 1, 1);
        cr_assert_not_null(block);
        cr_assert_not_null(next);
        memset(block, 0xff, size);
        cr_assert_eq(*next, 0);
    }
    kiln_arena_fini(&arena);
}

Test(arena, overflow_and_absurd_sizes_give_null)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    cr_assert_null(kiln_arena_calloc(&arena, SIZE_MAX, 2));
    cr_assert_null(kiln_arena_calloc(&arena, SIZE_MAX / 2 + 1, 2));
    cr_assert_null(kiln_arena_calloc(&arena, 1, SIZE_MAX));
    cr_assert_null(kiln_arena_strndup(&arena, "x", SIZE_MAX));
    cr_assert_not_null(kiln_arena_calloc(&arena, 4, 4), "a failure must not spoil the arena");
    kiln_arena_fini(&arena);
}

Test(arena, count_zero_gives_a_pointer)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    cr_assert_not_null(kiln_arena_calloc(&arena, 0, 8));
    cr_assert_not_null(kiln_arena_calloc(&arena, 8, 0));
    kiln_arena_fini(&arena);
}

Test(arena, strndup_copies_bytes_and_ends_them)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    char *copy = kiln_arena_strndup(&arena, "ab\0cd", 5);
    cr_assert_arr_eq(copy, "ab\0cd", 6);
    cr_assert_str_eq(kiln_arena_strndup(&arena, "abcdef", 3), "abc");
    cr_assert_str_eq(kiln_arena_strndup(&arena, NULL, 0), "");
    kiln_arena_fini(&arena);
}
