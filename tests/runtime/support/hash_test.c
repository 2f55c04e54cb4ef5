#include "runtime/support/hash.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(hash);

/* The values are those of xxhash's specification and of `xxhsum -H3` and `-H2`: they are part of
 * file formats. */
Test(hash, known_values)
{
    cr_assert_eq(kiln_hash64(NULL, 0), 0x2d06800538d394c2);
    struct kiln_hash128 empty = kiln_hash128(NULL, 0);
    cr_assert_eq(empty.high, 0x99aa06d3014798d8);
    cr_assert_eq(empty.low, 0x6001c324468d497f);
}

Test(hash, every_byte_of_every_length_class_counts)
{
    /* XXH3 has its own code for each of 1-3, 4-8, 9-16, 17-128, 129-240 and more bytes. */
    static const size_t sizes[] = {1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1024, 3000};
    static unsigned char bytes[3000];
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct kiln_hash128 before = kiln_hash128(bytes, sizes[i]);
        uint64_t before64 = kiln_hash64(bytes, sizes[i]);
        for (size_t b = 0; b < sizes[i]; b++) {
            bytes[b] = 1;
            struct kiln_hash128 after = kiln_hash128(bytes, sizes[i]);
            cr_assert(after.high != before.high || after.low != before.low, "%zu of %zu", b,
                      sizes[i]);
            cr_assert_neq(kiln_hash64(bytes, sizes[i]), before64, "%zu of %zu", b, sizes[i]);
            bytes[b] = 0;
        }
    }
}
