/*
 * Conversions of kernels_templates/device against compiler/reference/convert.c, which does the same
 * by another method: every code of the 8- and 16-bit types, and float and double values around
 * every tie and limit of each type.
 *
 * conversion_test [samples]: random values per conversion (default 300,000)
 */
#include "device/host.h"

#include "device/convert/bf16.h"
#include "device/convert/bool.h"
#include "device/convert/e8m0.h"
#include "device/convert/f16.h"
#include "device/convert/f32.h"
#include "device/convert/f4e2m1.h"
#include "device/convert/f64.h"
#include "device/convert/f6e2m3.h"
#include "device/convert/f6e3m2.h"
#include "device/convert/f8e4m3.h"
#include "device/convert/f8e4m3fnuz.h"
#include "device/convert/f8e5m2.h"
#include "device/convert/f8e5m2fnuz.h"
#include "device/convert/i32.h"
#include "device/convert/i4.h"
#include "device/convert/i64.h"
#include "device/convert/i8.h"
#include "device/convert/u8.h"

/* In C a function may have the name of a structure. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#include "compiler/reference/convert.h"
}
#pragma GCC diagnostic pop

#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

unsigned long mistakes;
unsigned long comparisons;

void expect(bool is_right, const char *what, double x, double value, double expected)
{
    comparisons++;
    if (is_right)
        return;
    if (mistakes++ < 20)
        std::printf("%s(%a) gives %a, not %a\n", what, x, value, expected);
}

bool same(double a, double b)
{
    return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t random_state = 7;

uint64_t random_bits()
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

template <class To, class From> To from_bits(From bits)
{
    static_assert(sizeof(To) == sizeof(From), "same size");
    To value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

struct format {
    const char *name;
    enum kiln_dtype dtype;
    unsigned codes;
    float (*decode)(unsigned code);
    unsigned (*encode)(float x);
    float (*round_f32)(float x);
    double (*round_f64)(double x);
};

#define FORMAT(name, dtype, codes)                                                                 \
    {#name,                                                                                        \
     dtype,                                                                                        \
     codes,                                                                                        \
     [](unsigned code) { return kiln_decode_##name((kiln_storage_##name)code); },                  \
     [](float x) { return (unsigned)kiln_encode_##name(x); },                                      \
     [](float x) { return kiln_round_##name##_f32(x); },                                           \
     [](double x) { return kiln_round_##name##_f64(x); }}

const format formats[] = {
    FORMAT(f16, KILN_DTYPE_F16, 0x10000),
    FORMAT(bf16, KILN_DTYPE_BF16, 0x10000),
    FORMAT(f8e4m3, KILN_DTYPE_F8E4M3, 0x100),
    FORMAT(f8e5m2, KILN_DTYPE_F8E5M2, 0x100),
    FORMAT(f8e4m3fnuz, KILN_DTYPE_F8E4M3FNUZ, 0x100),
    FORMAT(f8e5m2fnuz, KILN_DTYPE_F8E5M2FNUZ, 0x100),
    FORMAT(e8m0, KILN_DTYPE_E8M0, 0x100),
    FORMAT(f4e2m1, KILN_DTYPE_F4E2M1, 0x10),
    FORMAT(f6e2m3, KILN_DTYPE_F6E2M3, 0x40),
    FORMAT(f6e3m2, KILN_DTYPE_F6E3M2, 0x40),
};

double reference_decode(const format &f, unsigned code)
{
    const unsigned short memory = (unsigned short)code; /* little-endian, like every target */
    return kiln_element_load(f.dtype, &memory).real;
}

unsigned reference_encode(const format &f, double x)
{
    struct kiln_constant value = {x, 0};
    unsigned short memory = 0;
    kiln_element_store(f.dtype, value, &memory);
    return memory;
}

void check_float(const format &f, float x)
{
    const unsigned expected = reference_encode(f, x);
    const double expected_value = reference_decode(f, expected);
    const unsigned code = f.encode(x);
    const bool is_right =
        std::isnan(x) && std::isnan(expected_value) ? std::isnan(f.decode(code)) : code == expected;
    expect(is_right, f.name, x, f.decode(code), expected_value);
    expect(same(f.round_f32(x), expected_value), f.name, x, f.round_f32(x), expected_value);
}

void check_double(const format &f, double x)
{
    const double expected = reference_decode(f, reference_encode(f, x));
    expect(same(f.round_f64(x), expected), f.name, x, f.round_f64(x), expected);
}

/* x and what lies next to it, by float's and by double's spacing. */
void check_around(const format &f, double x)
{
    for (double sign : {1.0, -1.0}) {
        const float narrow = (float)(sign * x);
        check_float(f, narrow);
        check_float(f, std::nextafterf(narrow, -INFINITY));
        check_float(f, std::nextafterf(narrow, INFINITY));
        check_double(f, sign * x);
        check_double(f, std::nextafter(sign * x, -INFINITY));
        check_double(f, std::nextafter(sign * x, INFINITY));
        /* Close enough for a first rounding to float to hide on which side of a tie it lies. */
        check_double(f, sign * x * (1 + 0x1p-40));
        check_double(f, sign * x * (1 - 0x1p-40));
    }
}

void check_format(const format &f, uint64_t samples)
{
    for (unsigned code = 0; code < f.codes; code++) {
        const double expected = reference_decode(f, code);
        expect(same(f.decode(code), expected), f.name, code, f.decode(code), expected);
        const bool is_kept = std::isfinite(expected);
        if (is_kept)
            expect(f.encode((float)expected) == code, f.name, expected, f.encode((float)expected),
                   code);
        if (code + 1 < f.codes / 2) {
            const double next = reference_decode(f, code + 1);
            check_around(f, expected);
            if (std::isfinite(expected) && std::isfinite(next))
                check_around(f, (expected + next) / 2); /* the tie between them */
        }
    }
    for (double x : {0.0,
                     448.0,
                     464.0,
                     480.0,
                     57344.0,
                     61440.0,
                     65504.0,
                     65519.0,
                     65520.0,
                     65536.0,
                     0x1.fep127,
                     0x1.ffp127,
                     0x1.fffffep127,
                     0x1p128,
                     0x1p1023,
                     0x1p-126,
                     0x1p-149,
                     0x1p-150,
                     0x1p-134,
                     0x1p-133,
                     0x1p-1074,
                     0x1p-25,
                     0x1p-10,
                     (double)INFINITY,
                     (double)NAN})
        check_around(f, x);
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t bits = random_bits();
        check_float(f, from_bits<float>((uint32_t)bits));
        check_double(f, from_bits<double>(bits));
        /* Exponents that the format has. */
        check_double(f, std::ldexp((double)(int64_t)bits, (int)(bits % 48) - 63 - 30));
    }
}

void check_byte_integers()
{
    const int edges[] = {INT_MIN, INT_MIN + 1, -32769, -257, -256, 255, 256, 257, 65536, INT_MAX};
    for (int i = -1000; i < 1000 + (int)(sizeof edges / sizeof *edges); i++) {
        const int x = i < 1000 ? i : edges[i - 1000];
        const int as_i8 = x < -128 ? -128 : x > 127 ? 127 : x;
        const int as_u8 = x < 0 ? 0 : x > 255 ? 255 : x;
        expect(kiln_round_i8_i32(x) == as_i8, "round_i8", x, kiln_round_i8_i32(x), as_i8);
        expect(kiln_round_u8_i32(x) == as_u8, "round_u8", x, kiln_round_u8_i32(x), as_u8);
        expect(kiln_decode_i8(kiln_encode_i8(x)) == as_i8, "i8", x, kiln_encode_i8(x), as_i8);
        expect(kiln_decode_u8(kiln_encode_u8(x)) == as_u8, "u8", x, kiln_encode_u8(x), as_u8);
    }
    for (int i = -1000; i < 1000; i++) {
        const int as_i4 = i < -8 ? -8 : i > 7 ? 7 : i;
        expect(kiln_round_i4_i32(i) == as_i4, "round_i4", i, kiln_round_i4_i32(i), as_i4);
        expect(kiln_decode_i4(kiln_encode_i4(i)) == as_i4, "i4", i, kiln_encode_i4(i), as_i4);
    }
    for (unsigned code = 0; code < 256; code++)
        expect(kiln_decode_bool((unsigned char)code) == (code != 0), "bool", code, 0, 0);
    expect(kiln_encode_bool(true) == 1 && kiln_encode_bool(false) == 0, "encode_bool", 0, 0, 0);
}

void check_identity()
{
    for (int i = 0; i < 1000; i++) {
        const uint64_t bits = random_bits();
        expect(kiln_decode_i32(kiln_encode_i32((int)bits)) == (int)bits, "i32", i, 0, 0);
        expect(kiln_decode_i64(kiln_encode_i64((long long)bits)) == (long long)bits, "i64", i, 0,
               0);
        const float single = from_bits<float>((uint32_t)bits);
        const double wide = from_bits<double>(bits);
        expect(same(kiln_decode_f32(kiln_encode_f32(single)), single), "f32", single, 0, 0);
        expect(same(kiln_decode_f64(kiln_encode_f64(wide)), wide), "f64", wide, 0, 0);
    }
}

void check_to_integers(double x)
{
    const int64_t i32 = kiln_round_to_integer(x, INT32_MIN, INT32_MAX);
    const int64_t i64 = kiln_round_to_integer(x, INT64_MIN, INT64_MAX);
    expect(kiln_convert_f64_i32(x) == i32, "f64_i32", x, kiln_convert_f64_i32(x), (double)i32);
    expect(kiln_convert_f64_i64(x) == i64, "f64_i64", x, (double)kiln_convert_f64_i64(x),
           (double)i64);
    expect(kiln_convert_f64_bool(x) == (x != 0), "f64_bool", x, 0, 0);
    expect(same(kiln_convert_f64_f32(x), (float)x), "f64_f32", x, kiln_convert_f64_f32(x),
           (float)x);
    const float f = (float)x;
    const int64_t i32_f = kiln_round_to_integer(f, INT32_MIN, INT32_MAX);
    const int64_t i64_f = kiln_round_to_integer(f, INT64_MIN, INT64_MAX);
    expect(kiln_convert_f32_i32(f) == i32_f, "f32_i32", f, kiln_convert_f32_i32(f), (double)i32_f);
    expect(kiln_convert_f32_i64(f) == i64_f, "f32_i64", f, (double)kiln_convert_f32_i64(f),
           (double)i64_f);
    expect(kiln_convert_f32_bool(f) == (f != 0), "f32_bool", f, 0, 0);
}

void check_from_integer(long long x)
{
    const int narrow = (int)(x < INT_MIN ? INT_MIN : x > INT_MAX ? INT_MAX : x);
    expect(kiln_convert_i64_i32(x) == narrow, "i64_i32", (double)x, kiln_convert_i64_i32(x),
           narrow);
    expect(kiln_convert_i64_f64(x) == (double)x, "i64_f64", (double)x, 0, 0);
    expect(kiln_convert_i64_f32(x) == (float)x, "i64_f32", (double)x, 0, 0);
    expect(kiln_convert_i64_bool(x) == (x != 0), "i64_bool", (double)x, 0, 0);
    expect(kiln_convert_i32_i64(narrow) == narrow, "i32_i64", narrow, 0, 0);
    expect(kiln_convert_i32_f32(narrow) == (float)narrow, "i32_f32", narrow, 0, 0);
    expect(kiln_convert_i32_f64(narrow) == narrow, "i32_f64", narrow, 0, 0);
    expect(kiln_convert_i32_bool(narrow) == (narrow != 0), "i32_bool", narrow, 0, 0);
}

void check_scalars(uint64_t samples)
{
    for (double x : {0.0,          0.25,          0.5,           0.75,          1.0,
                     1.5,          2.5,           3.5,           0x1p31,        0x1p31 - 1,
                     0x1p31 - 0.5, 0x1p31 - 0.25, 0x1p31 + 0.5,  0x1p31 + 1,    0x1p52 + 1,
                     0x1p53,       0x1p63,        0x1p63 - 1024, 0x1p63 + 2048, 0x1p24 + 1,
                     8388607.5,    8388608.5,     0x1p1023,      0x1p-1074,     (double)INFINITY,
                     (double)NAN}) {
        check_to_integers(x);
        check_to_integers(-x);
    }
    for (long long x : {0ll, 1ll, -1ll, (long long)INT_MAX, INT_MAX + 1ll, (long long)INT_MIN,
                        INT_MIN - 1ll, LLONG_MAX, LLONG_MIN, 16777217ll, 9007199254740993ll})
        check_from_integer(x);
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t bits = random_bits();
        check_to_integers(from_bits<double>(bits));
        check_to_integers(std::ldexp((double)(int64_t)bits, -(int)(bits % 66)));
        check_from_integer((long long)(int64_t)bits >> bits % 64);
    }
    expect(kiln_convert_bool_f32(true) == 1.0f && kiln_convert_bool_f64(true) == 1.0 &&
               kiln_convert_bool_i32(true) == 1 && kiln_convert_bool_i64(true) == 1 &&
               kiln_convert_bool_bool(true) && !kiln_convert_bool_bool(false),
           "from bool", 1, 0, 0);
}

/* Integers wrap, NaN and comparisons behave. */
void check_arithmetic()
{
    expect(kiln_add_i32(INT_MAX, 1) == INT_MIN, "add_i32", 0, 0, 0);
    expect(kiln_sub_i32(INT_MIN, 1) == INT_MAX, "sub_i32", 0, 0, 0);
    expect(kiln_mul_i32(65537, 65537) == 131073, "mul_i32", 0, kiln_mul_i32(65537, 65537), 131073);
    expect(kiln_mul_i32(INT_MIN, -1) == INT_MIN, "mul_i32", 0, 0, 0);
    expect(kiln_neg_i32(INT_MIN) == INT_MIN && kiln_abs_i32(INT_MIN) == INT_MIN, "neg_i32", 0, 0,
           0);
    expect(kiln_abs_i32(-5) == 5 && kiln_min_i32(-5, 3) == -5 && kiln_max_i32(-5, 3) == 3, "i32", 0,
           0, 0);
    expect(kiln_add_i64(LLONG_MAX, 1) == LLONG_MIN, "add_i64", 0, 0, 0);
    expect(kiln_mul_i64(LLONG_MIN, -1) == LLONG_MIN, "mul_i64", 0, 0, 0);
    expect(kiln_neg_i64(LLONG_MIN) == LLONG_MIN && kiln_abs_i64(LLONG_MIN) == LLONG_MIN, "neg_i64",
           0, 0, 0);
    const float nan = NAN;
    expect(std::isnan(kiln_min_f32(nan, 1)) && std::isnan(kiln_min_f32(1, nan)), "min_f32", 0, 0,
           0);
    expect(std::isnan(kiln_max_f32(nan, 1)) && std::isnan(kiln_max_f32(1, nan)), "max_f32", 0, 0,
           0);
    expect(std::isnan(kiln_min_f64(nan, 1)) && std::isnan(kiln_max_f64(1, nan)), "min_f64", 0, 0,
           0);
    expect(kiln_min_f32(-INFINITY, 2) == -INFINITY && kiln_max_f32(3, 2) == 3, "min_f32", 0, 0, 0);
    expect(kiln_ne_f32(nan, nan) && !kiln_eq_f32(nan, nan) && !kiln_le_f32(nan, 1) &&
               !kiln_ge_f32(nan, 1) && !kiln_lt_f64(nan, 1) && !kiln_gt_f64(nan, 1),
           "compare", 0, 0, 0);
    expect(kiln_lt_bool(false, true) && kiln_and_bool(true, true) && !kiln_and_bool(true, false) &&
               kiln_or_bool(false, true) && kiln_not_bool(false),
           "bool", 0, 0, 0);
    expect(kiln_select_i32(true, 1, 2) == 1 && kiln_select_f64(false, 1, 2) == 2, "select", 0, 0,
           0);
    expect(kiln_ceil_f32(-0.5f) == 0 && std::signbit(kiln_ceil_f32(-0.5f)), "ceil_f32", 0, 0, 0);
    expect(kiln_floor_f64(-0.5) == -1 && kiln_floor_f32(2.5f) == 2, "floor", 0, 0, 0);
    expect(std::isinf(kiln_rcp_f32(0)) && std::signbit(kiln_rcp_f32(-0.0f)), "rcp_f32", 0, 0, 0);
    expect(kiln_rcp_f32(0x1p127f) == 0x1p-127f, "rcp_f32", 0x1p127, kiln_rcp_f32(0x1p127f),
           0x1p-127);
    expect(kiln_div_f32(0x1p-149f, 0x1p-149f) == 1, "div_f32", 0, 0, 0);
}

/* As a kernel does with a vector: compilers put the lanes into one register. */
__attribute__((noinline)) void round_and_scale(const double *x, double factor, double *ret_results)
{
    double results[2];
    for (int e = 0; e < 2; e++) {
        const float rounded = kiln_convert_f64_f32(kiln_mul_f64(x[e], factor));
        results[e] = kiln_mul_f64(kiln_convert_f32_f64(rounded), factor);
    }
    std::memcpy(ret_results, results, sizeof results);
}

void check_rounding_in_vectors()
{
    const double x[2] = {1 / 3.0, 1 / 7.0};
    double results[2];
    round_and_scale(x, 3, results);
    for (int e = 0; e < 2; e++) {
        volatile float rounded = (float)(x[e] * 3);
        const double expected = (double)rounded * 3;
        expect(same(results[e], expected), "f64_f32_f64 in a vector", x[e], results[e], expected);
    }
}

} // namespace

int main(int argument_count, char **arguments)
{
    const uint64_t samples = argument_count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 300000;
    for (const format &f : formats)
        check_format(f, samples);
    check_byte_integers();
    check_identity();
    check_scalars(samples);
    check_arithmetic();
    check_rounding_in_vectors();
    std::printf("%lu comparisons, %lu mistakes\n", comparisons, mistakes);
    return mistakes == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
