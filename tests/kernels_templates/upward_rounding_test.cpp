/*
 * device/math/div_up and round_up.h against exact models: quotients of every magnitude, and numbers
 * on both sides of each number of the storage types. Built a second time with
 * KILN_QUOTIENT_CHOOSES, for the quotient of CUDA.
 */
#include "device/host.h"

#ifdef KILN_QUOTIENT_CHOOSES
#define kiln_seed_rcp_f32(x) (1.0f / (x))
#include "device/quotient_f32.h"
#undef kiln_div_f32
#define kiln_div_f32(a, b) kiln_quotient_f32(a, b)
#endif

#include "device/math/div_up_f32.h"
#include "device/math/div_up_f64.h"
#include "device/math/round_up.h"

/* In C a function may have the name of a structure. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#include "compiler/reference/round_up.h"
}
#pragma GCC diagnostic pop

#include <cmath>
#include <cstdio>
#include <initializer_list>

namespace {

unsigned long mistakes;
unsigned long comparisons;

void expect(double got, double expected, const char *what, double a, double b)
{
    comparisons++;
    if (got == expected)
        return;
    if (mistakes++ < 20)
        std::printf("%s of %a and %a: got %a, expected %a\n", what, a, b, got, expected);
}

const float divisors[] = {
    6, 7.5F, 28, 127, 240, 255, 448, 57344, 65504, 65535, 1.0F, 0x1.fep127F, 0x1.fffffep127F, 3};

void check_quotient(float a, float b)
{
    expect(kiln_div_up_f32(a, b), kiln_quotient_up(KILN_SCALAR_F32, a, b), "quotient", a, b);
    expect(kiln_div_up_f64(a, b), kiln_quotient_up(KILN_SCALAR_F64, a, b), "double quotient", a, b);
}

/* Numbers of every exponent, denormal ones too, and multiples of the divisor next to them. */
void check_quotients()
{
    unsigned long long state = 1;
    for (const float b : divisors) {
        for (unsigned bits = 0; bits < 0x7f800000u; bits += 0x9357u + (unsigned)(state >> 52)) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            const float a = kiln_from_bits_f32(bits);
            check_quotient(a, b);
            const float multiple = std::floor(a) * b;
            if (a < 0x1p16F && multiple < 0x1p120F)
                check_quotient(multiple, b);
        }
        for (unsigned bits = 0; bits < 3000; bits++)
            check_quotient(kiln_from_bits_f32(bits), b);
    }
}

void check_rounding(float x)
{
    expect(kiln_round_up_f32_f32(x), x, "float", x, 0);
    expect(kiln_round_up_f16_f32(x), kiln_round_up_to_dtype(KILN_DTYPE_F16, x), "half", x, 0);
    expect(kiln_round_up_bf16_f32(x), kiln_round_up_to_dtype(KILN_DTYPE_BF16, x), "bfloat16", x, 0);
    int exponent; /* of the power of two above, or half of the one that it is */
    const bool is_power = std::frexp((double)x, &exponent) == 0.5;
    const double power = std::ldexp(1.0, is_power ? exponent - 1 : exponent);
    expect(kiln_round_up_e8m0_f32(x),
           x == 0 ? 0x1p-127 : std::fmin(std::fmax(power, 0x1p-127), 0x1p127), "e8m0", x, 0);
}

void check_double(double x)
{
    expect(kiln_round_up_f32_f64(x), kiln_round_up_to_dtype(KILN_DTYPE_F32, x), "double to float",
           x, 0);
    expect(kiln_round_up_f16_f64(x), kiln_round_up_to_dtype(KILN_DTYPE_F16, x), "double to half", x,
           0);
    expect(kiln_round_up_bf16_f64(x), kiln_round_up_to_dtype(KILN_DTYPE_BF16, x),
           "double to bfloat16", x, 0);
}

/* Each number of half and bfloat16 has its last 13 bits zero, so these are all sides of all. */
void check_numbers()
{
    for (unsigned upper = 0; upper < 0x7f800000u; upper += 0x2000u) {
        for (const unsigned lower : {0u, 1u, 0x1000u, 0x1fffu}) {
            const float x = kiln_from_bits_f32(upper + lower);
            check_rounding(x);
            check_double(x);
            check_double(std::nextafter((double)x, 1e300));
            check_double(x > 0 ? std::nextafter((double)x, 0.0) : 0.0);
        }
    }
    check_double(1e300);
    expect(kiln_round_up_f16_f32(__builtin_inff()), 65504, "infinity to half", 0, 0);
    expect(kiln_round_up_bf16_f32(__builtin_nanf("")), 0x1.fep127F, "NaN to bfloat16", 0, 0);
    expect(kiln_round_up_e8m0_f32(__builtin_inff()), 0x1p127F, "infinity to e8m0", 0, 0);
}

} // namespace

int main()
{
    check_quotients();
    check_numbers();
    std::printf("%lu comparisons, %lu mistakes\n", comparisons, mistakes);
    return mistakes == 0 && comparisons > 1000000 ? 0 : 1;
}
