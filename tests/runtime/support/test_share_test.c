#include "tests/runtime/support/test_share.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

Test(test_share, parts_have_every_case_once)
{
    unsigned runs[20] = {0};
    for (unsigned part = 1; part <= 3; part++) {
        char share[16];
        (void)snprintf(share, sizeof share, "%u/3", part);
        cr_assert_eq(setenv("KILN_TEST_SHARE", share, 1), 0);
        for (unsigned long i = 0; i < 20; i++)
            runs[i] += test_share_has(i);
    }
    for (unsigned long i = 0; i < 20; i++)
        cr_expect_eq(runs[i], 1, "case %lu: %u times", i, runs[i]);
}

Test(test_share, without_a_part_every_case_is_run)
{
    static const char *const shares[] = {"1/1", "", "0/3", "4/3", "2", "half"};
    cr_assert_eq(unsetenv("KILN_TEST_SHARE"), 0);
    cr_expect(test_share_has(7));
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        cr_assert_eq(setenv("KILN_TEST_SHARE", shares[i], 1), 0);
        cr_expect(test_share_has(7), "'%s'", shares[i]);
    }
}
