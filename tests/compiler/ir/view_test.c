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
        {{2, {4, 64}, 0}, 2, {4, 64}, {64, 1}, {64, 1}},
        {{3, {4, 2, 32}, 0}, 2, {4, 64}, {64, 1}, {64, 32, 1}},
        {{3, {4, 2, 32}, 0}, 2, {4, 64}, {1, 4}, {1, 128, 4}},
        {{3, {2, 4, 7}, 0}, 2, {8, 7}, {10, 1}, {40, 10, 1}},
        /* Axes of size 1 come and go. */
        {{3, {4, 2, 1}, 0}, 2, {4, 2}, {2, 1}, {2, 1, 0}},
        {{3, {4, 1, 1}, 0}, 2, {4, 1}, {1, 9}, {1, 0, 0}},
        {{1, {4}, 0}, 3, {1, 4, 1}, {4, 1, 1}, {1}},
        {{0, {0}, 0}, 2, {1, 1}, {1, 1}, {0}},
        {{5, {2, 3, 2, 5, 2}, 0}, 3, {6, 2, 10}, {100, 20, 2}, {300, 100, 20, 4, 2}},
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
        {{2, {4, 64}, 0}, 3, {4, 2, 32}}, /* joins axes */
        {{2, {8, 32}, 0}, 2, {4, 64}},    /* as many elements */
        {{2, {4, 32}, 0}, 2, {4, 64}},    /* fewer */
        {{3, {2, 4, 64}, 0}, 2, {4, 64}}, /* more */
        {{3, {4, 3, 32}, 0}, 2, {4, 64}}, {{1, {64}, 0}, 2, {4, 64}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_not(kiln_domain_splits(&rows[i].domain, rows[i].dims, rows[i].rank), "row %zu",
                      i);
}
