#include "cli/hash_index.h"
#include "cli/shard.h"

#include <criterion/criterion.h>

Test(shard, takes_two_numbers)
{
    struct kiln_shard shard;
    cr_assert(kiln_shard_parse("2/8", &shard));
    cr_assert_eq(shard.index, 2);
    cr_assert_eq(shard.count, 8);
    cr_assert(kiln_shard_parse("1/1", &shard));
    cr_assert(kiln_shard_parse("1048576/1048576", &shard));
}

Test(shard, takes_nothing_else)
{
    static const char *const wrong[] = {"",
                                        "1",
                                        "/",
                                        "1/",
                                        "/2",
                                        "0/2",
                                        "3/2",
                                        "1/0",
                                        "1/2/",
                                        "1/2 ",
                                        " 1/2",
                                        "+1/2",
                                        "-1/2",
                                        "a/b",
                                        "1/1048577",
                                        "0x1/2",
                                        "1//2",
                                        "1/2x",
                                        "99999999999999999999/99999999999999999999"};
    struct kiln_shard shard = {7, 9};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        cr_assert_not(kiln_shard_parse(wrong[i], &shard), "'%s'", wrong[i]);
    cr_assert_eq(shard.index, 7, "untouched");
}

Test(shard, every_hash_is_in_one_shard)
{
    enum { SHARDS = 7, HASHES = 1000 };
    for (uint64_t i = 0; i < HASHES; i++) {
        struct kiln_hash128 hash = kiln_hash128(&i, sizeof(i));
        int owners = 0;
        for (uint32_t s = 1; s <= SHARDS; s++)
            owners += kiln_shard_has(&(struct kiln_shard){s, SHARDS}, hash);
        cr_assert_eq(owners, 1);
        cr_assert(kiln_shard_has(&(struct kiln_shard){0}, hash), "no shards: everything is in");
    }
}

Test(hash_index, the_first_number_of_a_hash_stays)
{
    enum { HASHES = 5000 };
    struct kiln_hash_index index = {0};
    for (size_t i = 0; i < HASHES; i++)
        cr_assert_eq(kiln_hash_index_put(&index, kiln_hash128(&i, sizeof(i)), i), i);
    for (size_t i = 0; i < HASHES; i++)
        cr_assert_eq(kiln_hash_index_put(&index, kiln_hash128(&i, sizeof(i)), i + 1), i);
    cr_assert_eq(index.count, HASHES);
    kiln_hash_index_fini(&index);
}

Test(hash_index, both_halves_of_a_hash_count)
{
    struct kiln_hash_index index = {0};
    cr_assert_eq(kiln_hash_index_put(&index, (struct kiln_hash128){1, 5}, 10), 10);
    cr_assert_eq(kiln_hash_index_put(&index, (struct kiln_hash128){2, 5}, 20), 20);
    cr_assert_eq(kiln_hash_index_put(&index, (struct kiln_hash128){0, 0}, 30), 30);
    cr_assert_eq(kiln_hash_index_put(&index, (struct kiln_hash128){0, 0}, 40), 30);
    kiln_hash_index_fini(&index);
}
