/* Rounding up, against a search among all numbers of small types, and exact arithmetic. */
#include "compiler/reference/convert.h"
#include "compiler/reference/round_up.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(round_up);

Test(round_up, largest_numbers)
{
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F32), (double)0x1.fffffep127F);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F16), 65504);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_BF16), 0x1.fep127);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F8E4M3), 448);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F8E5M2), 57344);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F8E4M3FNUZ), 240);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F8E5M2FNUZ), 57344);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_E8M0), 0x1p127);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F4E2M1), 6);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F6E2M3), 7.5);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_F6E3M2), 28);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_I8), 127);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_U8), 255);
    cr_expect_eq(kiln_dtype_largest(KILN_DTYPE_I32), 2147483647);
}

/* Between neighbours, on them, and past the last one. */
Test(round_up, all_numbers_of_half)
{
    double before = 0;
    for (uint16_t code = 1; code <= 0x7bff; code++) {
        double number = kiln_element_load(KILN_DTYPE_F16, &code).real;
        double between[] = {nextafter(before, 1e9), (before + number) / 2, nextafter(number, 0),
                            number};
        for (size_t i = 0; i < sizeof between / sizeof *between; i++)
            cr_assert_eq(kiln_round_up_to_dtype(KILN_DTYPE_F16, between[i]), number, "%a",
                         between[i]);
        before = number;
    }
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_F16, 0), 0);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_F16, 65505), 65504);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_F16, INFINITY), 65504);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_F16, NAN), 65504);
}

Test(round_up, powers_of_two)
{
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_E8M0, 0), 0x1p-127);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_E8M0, 0x1p-149), 0x1p-127);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_E8M0, 0x1.8p-127), 0x1p-126);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_E8M0, 1), 1);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_E8M0, 1 + 0x1p-52), 2);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_E8M0, 0x1.000002p126), 0x1p127);
    cr_expect_eq(kiln_round_up_to_dtype(KILN_DTYPE_E8M0, 1e300), 0x1p127);
}

Test(round_up, quotients)
{
    static const double divisors[] = {6, 7.5, 28, 127, 240, 255, 448, 57344, 65504};
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        float a = (float)ldexp((double)(state >> 40), (int)(state >> 8 & 0xff) - 172);
        double b = divisors[state >> 16 & 7];
        double quotient = kiln_quotient_up(KILN_SCALAR_F32, (double)a, b);
        cr_assert(quotient * b >= (double)a, "%a / %g", (double)a, b);
        float below = nextafterf((float)quotient, 0);
        cr_assert(quotient == 0 || (double)below * b < (double)a, "%a / %g", (double)a, b);
    }
    cr_expect_eq(kiln_quotient_up(KILN_SCALAR_F32, 896, 448), 2);
    cr_expect_eq(kiln_quotient_up(KILN_SCALAR_F64, 896, 448), 2);
    cr_expect(kiln_quotient_up(KILN_SCALAR_F64, 1, 3) > 1.0 / 3);
    cr_expect_eq(kiln_quotient_up(KILN_SCALAR_F64, 2, 3),
                 nextafter(2.0 / 3, fma(2.0 / 3, -3, 2) > 0));
}
