/* Domains that split the axes of a shape. */
#include "compiler/ir/view.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(view);

Test(view, strides_of_split_axes)
{
    static const struct {
        struct kiln_domain domain;
        uint32_t rank;
        int64_t dims[4], strides[4], expected[5];
    } rows[] = {
        {{.rank = 2, .dims = {4, 64}}, 2, {4, 64}, {64, 1}, {64, 1}},
        {{.rank = 3, .dims = {4, 2, 32}}, 2, {4, 64}, {64, 1}, {64, 32, 1}},
        {{.rank = 3, .dims = {4, 2, 32}}, 2, {4, 64}, {1, 4}, {1, 128, 4}},
        {{.rank = 3, .dims = {2, 4, 7}}, 2, {8, 7}, {10, 1}, {40, 10, 1}},
        /* Axes of size 1 come and go. */
        {{.rank = 3, .dims = {4, 2, 1}}, 2, {4, 2}, {2, 1}, {2, 1, 0}},
        {{.rank = 3, .dims = {4, 1, 1}}, 2, {4, 1}, {1, 9}, {1, 0, 0}},
        {{.rank = 1, .dims = {4}}, 3, {1, 4, 1}, {4, 1, 1}, {1}},
        {{.rank = 0, .dims = {0}}, 2, {1, 1}, {1, 1}, {0}},
        {{.rank = 5, .dims = {2, 3, 2, 5, 2}}, 3, {6, 2, 10}, {100, 20, 2}, {300, 100, 20, 4, 2}},
        /* A short last block. */
        {{.rank = 3, .dims = {4, 3, 32}, .end = 70}, 2, {4, 70}, {80, 1}, {80, 32, 1}},
        {{.rank = 3, .dims = {3, 32, 9}, .end = 70, .block_axis = 1},
         2,
         {70, 9},
         {9, 1},
         {288, 9, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t strides[KILN_MAX_RANK];
        cr_expect(kiln_view_strides(&rows[i].domain, rows[i].dims, rows[i].strides, rows[i].rank,
                                    strides),
                  "row %zu", i);
        for (uint32_t axis = 0; axis < rows[i].domain.rank; axis++)
            cr_expect_eq(strides[axis], rows[i].expected[axis], "row %zu axis %u", i, axis);
    }
}

Test(view, other_domains)
{
    static const struct {
        struct kiln_domain domain;
        uint32_t rank;
        int64_t dims[4];
    } rows[] = {
        {{.rank = 2, .dims = {4, 64}}, 3, {4, 2, 32}}, /* joins axes */
        {{.rank = 2, .dims = {8, 32}}, 2, {4, 64}},    /* as many elements */
        {{.rank = 2, .dims = {4, 32}}, 2, {4, 64}},    /* fewer */
        {{.rank = 3, .dims = {2, 4, 64}}, 2, {4, 64}}, /* more */
        {{.rank = 3, .dims = {4, 3, 32}}, 2, {4, 64}},
        {{.rank = 1, .dims = {64}}, 2, {4, 64}},
        {{.rank = 3, .dims = {4, 3, 32}}, 2, {4, 70}},            /* no end */
        {{.rank = 3, .dims = {4, 3, 32}, .end = 70}, 2, {4, 96}}, /* no whole blocks */
        {{.rank = 3, .dims = {4, 3, 32}, .end = 70}, 2, {4, 71}},
        {{.rank = 3, .dims = {3, 32, 70}, .end = 70}, 1, {70}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_not(kiln_domain_splits(&rows[i].domain, rows[i].dims, rows[i].rank), "row %zu",
                      i);
}

Test(view, shapes_without_a_short_block)
{
    const struct kiln_domain blocks = {
        .rank = 4, .dims = {2, 3, 32, 5}, .end = 70, .block_axis = 1};
    struct kiln_domain whole = kiln_domain_without_end(&blocks);
    const struct kiln_domain expected = {.rank = 3, .dims = {2, 70, 5}};
    cr_expect(kiln_domain_is_equal(&whole, &expected));
    whole = kiln_domain_without_end(&expected);
    cr_expect(kiln_domain_is_equal(&whole, &expected));
}
