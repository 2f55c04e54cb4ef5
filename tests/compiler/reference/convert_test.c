#include "compiler/reference/convert.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

struct narrow_format {
    enum kiln_dtype dtype;
    uint32_t codes;        /* of one sign */
    uint32_t largest_code; /* finite */
    bool has_infinity;
    bool saturates;
    bool is_fnuz; /* no -0: its code is NaN's */
};

static const struct narrow_format narrow_formats[] = {
    {KILN_DTYPE_F16, 0x8000, 0x7bff, true, false, false},
    {KILN_DTYPE_BF16, 0x8000, 0x7f7f, true, false, false},
    {KILN_DTYPE_F8E4M3, 0x80, 0x7e, false, true, false},
    {KILN_DTYPE_F8E5M2, 0x80, 0x7b, true, true, false},
    {KILN_DTYPE_F8E4M3FNUZ, 0x80, 0x7f, false, true, true},
    {KILN_DTYPE_F8E5M2FNUZ, 0x80, 0x7f, false, true, true},
};

static double load_code(enum kiln_dtype dtype, uint32_t code)
{
    return kiln_element_load(dtype, &code).real; /* little endian */
}

static uint32_t store_code(enum kiln_dtype dtype, double value)
{
    uint32_t code = 0;
    kiln_element_store(dtype, (struct kiln_constant){.real = value}, &code);
    return code;
}

static uint32_t sign_bit(const struct narrow_format *format)
{
    return format->codes;
}

#define FOR_EACH_FORMAT(format)                                                                    \
    for (const struct narrow_format *format = narrow_formats;                                      \
         format < narrow_formats + sizeof narrow_formats / sizeof *narrow_formats; format++)

Test(convert, every_code_survives_a_round_trip)
{
    FOR_EACH_FORMAT(format)
    {
        for (uint32_t code = 0; code < 2 * format->codes; code++) {
            double value = load_code(format->dtype, code);
            uint32_t magnitude = code & (format->codes - 1);
            if (isnan(value)) {
                cr_assert(format->is_fnuz ? code == 0x80 : magnitude > format->largest_code);
                cr_assert(isnan(load_code(format->dtype, store_code(format->dtype, value))));
            } else if (isinf(value)) {
                cr_assert(format->has_infinity);
                uint32_t expected = format->saturates ? format->largest_code : magnitude;
                cr_assert_eq(store_code(format->dtype, value) & (format->codes - 1), expected);
            } else {
                cr_assert_eq(store_code(format->dtype, value), code, "code %#x", code);
            }
        }
    }
}

/* Values are strictly increasing with the code, ties go to the even code, and the next double on
 * either side of a tie to the nearer one. */
Test(convert, neighbours_and_ties_round_to_nearest_even)
{
    FOR_EACH_FORMAT(format)
    {
        for (uint32_t code = 0; code < format->largest_code; code++) {
            double low = load_code(format->dtype, code), high = load_code(format->dtype, code + 1);
            cr_assert_lt(low, high);
            double tie = low / 2 + high / 2; /* exact: far from double's limits */
            uint32_t even = (code & 1) == 0 ? code : code + 1;
            cr_assert_eq(store_code(format->dtype, tie), even, "tie above %#x", code);
            cr_assert_eq(store_code(format->dtype, nextafter(tie, -1)), code);
            cr_assert_eq(store_code(format->dtype, nextafter(tie, INFINITY)), code + 1);
            uint32_t sign = format->is_fnuz && even == 0 ? 0 : sign_bit(format);
            cr_assert_eq(store_code(format->dtype, -tie), even | sign);
        }
    }
}

Test(convert, overflow_goes_to_infinity_or_saturates)
{
    FOR_EACH_FORMAT(format)
    {
        double largest = load_code(format->dtype, format->largest_code);
        double step = largest - load_code(format->dtype, format->largest_code - 1);
        double tie = largest + step / 2;
        double above = format->saturates ? largest : (double)INFINITY;
        cr_assert_eq(kiln_round_to_dtype(format->dtype, nextafter(tie, 0)), largest);
        cr_assert_eq(kiln_round_to_dtype(format->dtype, tie), above);
        cr_assert_eq(kiln_round_to_dtype(format->dtype, -1e300), -above);
        cr_assert_eq(kiln_round_to_dtype(format->dtype, INFINITY), above);
        cr_assert(isnan(kiln_round_to_dtype(format->dtype, NAN)));
    }
}

Test(convert, known_codes)
{
    cr_assert_eq(store_code(KILN_DTYPE_F16, 1), 0x3c00);
    cr_assert_eq(store_code(KILN_DTYPE_F16, 0x1p-24), 1);
    cr_assert_eq(store_code(KILN_DTYPE_F16, 65520), 0x7c00);
    cr_assert_eq(store_code(KILN_DTYPE_BF16, 1), 0x3f80);
    cr_assert_eq(store_code(KILN_DTYPE_BF16, -0x1p-133), 0x8001);
    cr_assert_eq(store_code(KILN_DTYPE_F8E4M3, 448), 0x7e);
    cr_assert_eq(store_code(KILN_DTYPE_F8E4M3, 0x1p-9), 1);
    cr_assert_eq(store_code(KILN_DTYPE_F8E4M3, 1.5), 0x3c);
    cr_assert_eq(store_code(KILN_DTYPE_F8E5M2, 57344), 0x7b);
    cr_assert_eq(store_code(KILN_DTYPE_F8E5M2, 1.5), 0x3e);
    cr_assert_eq(store_code(KILN_DTYPE_F8E4M3FNUZ, 1), 0x40);
    cr_assert_eq(store_code(KILN_DTYPE_F8E4M3FNUZ, 240), 0x7f);
    cr_assert_eq(store_code(KILN_DTYPE_F8E4M3FNUZ, 0x1p-10), 1);
    cr_assert_eq(store_code(KILN_DTYPE_F8E4M3FNUZ, -1e-30), 0);
    cr_assert_eq(store_code(KILN_DTYPE_F8E4M3FNUZ, NAN), 0x80);
    cr_assert_eq(store_code(KILN_DTYPE_F8E5M2FNUZ, -1), 0xc0);
    cr_assert_eq(store_code(KILN_DTYPE_F8E5M2FNUZ, INFINITY), 0x7f);
    cr_assert_eq(store_code(KILN_DTYPE_F32, 1), 0x3f800000);
    cr_assert(signbit(kiln_round_to_dtype(KILN_DTYPE_F8E4M3, -1e-30)));
}

/* The hardware's cast is another implementation for float: it must agree everywhere, subnormals
 * included. */
Test(convert, float_agrees_with_the_cast)
{
    uint64_t state = 1;
    for (int i = 0; i < 2000000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t exponent = 1023 - 160 + (state >> 40) % 300; /* around float's range */
        uint64_t bits = state << 63 | exponent << 52 | (state ^ state >> 17) >> 12;
        if (i % 4 == 0) /* few significant bits: ties */
            bits &= ~UINT64_C(0) << (28 - i % 3);
        double value;
        memcpy(&value, &bits, sizeof value);
        double rounded = kiln_round_to_dtype(KILN_DTYPE_F32, value);
        cr_assert_eq(rounded, (double)(float)value, "%a", value);
    }
}

Test(convert, the_rounding_mode_of_the_environment_does_not_matter)
{
    cr_assert_eq(fesetround(FE_UPWARD), 0);
    uint32_t up = store_code(KILN_DTYPE_F16, 1 + 0x1p-13);
    double one = kiln_round_to_dtype(KILN_DTYPE_F32, 1 + 0x1p-40);
    int64_t integer = kiln_round_to_integer(2.25, -10, 10);
    fesetround(FE_TONEAREST);
    cr_assert_eq(up, 0x3c00);
    cr_assert_eq(one, 1);
    cr_assert_eq(integer, 2);
}

Test(convert, integers_round_to_even_and_clamp)
{
    cr_assert_eq(kiln_round_to_integer(0.5, -9, 9), 0);
    cr_assert_eq(kiln_round_to_integer(1.5, -9, 9), 2);
    cr_assert_eq(kiln_round_to_integer(-2.5, -9, 9), -2);
    cr_assert_eq(kiln_round_to_integer(-2.6, -9, 9), -3);
    cr_assert_eq(kiln_round_to_integer(0x1p52 + 1, INT64_MIN, INT64_MAX), (INT64_C(1) << 52) + 1);
    cr_assert_eq(kiln_round_to_integer(NAN, -9, 9), 0);
    cr_assert_eq(kiln_round_to_integer(INFINITY, -9, 9), 9);
    cr_assert_eq(kiln_round_to_integer(-1e300, INT64_MIN, INT64_MAX), INT64_MIN);
    cr_assert_eq(kiln_round_to_integer(0x1p63, INT64_MIN, INT64_MAX), INT64_MAX);
    cr_assert_eq(kiln_round_to_integer(-0x1p63, INT64_MIN, INT64_MAX), INT64_MIN);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_U8, -3), 0);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_U8, 300), 255);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_I8, -128.5), -128);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_I32, 3e9), INT32_MAX);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_BOOL, -0.0), 0);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_BOOL, NAN), 1);
}

Test(convert, integer_elements_load_and_store_unaligned)
{
    unsigned char memory[16] = {0};
    static const struct {
        enum kiln_dtype dtype;
        int64_t value, stored;
    } rows[] = {
        {KILN_DTYPE_U8, 255, 255},
        {KILN_DTYPE_U8, -1, 0},
        {KILN_DTYPE_I8, -128, -128},
        {KILN_DTYPE_I8, 200, 127},
        {KILN_DTYPE_I32, INT32_MIN, INT32_MIN},
        {KILN_DTYPE_I32, INT64_MAX, INT32_MAX},
        {KILN_DTYPE_I64, INT64_MIN + 1, INT64_MIN + 1},
        {KILN_DTYPE_BOOL, -7, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_constant value = {.integer = rows[i].value};
        kiln_element_store(rows[i].dtype, value, memory + 3);
        struct kiln_constant loaded = kiln_element_load(rows[i].dtype, memory + 3);
        cr_assert_eq(loaded.integer, rows[i].stored, "row %zu", i);
        cr_assert_eq(loaded.real, (double)rows[i].stored);
    }
    memory[0] = 0x80; /* any byte but zero is true */
    cr_assert_eq(kiln_element_load(KILN_DTYPE_BOOL, memory).integer, 1);
    cr_assert_eq(kiln_element_load(KILN_DTYPE_BOOL, memory).real, 1);
}

static const struct {
    enum kiln_dtype dtype;
    uint32_t bits;
    double largest;
} packed_rows[] = {{KILN_DTYPE_F4E2M1, 4, 6},
                   {KILN_DTYPE_F6E2M3, 6, 7.5},
                   {KILN_DTYPE_F6E3M2, 6, 28},
                   {KILN_DTYPE_I4, 4, 7}};

Test(convert, packed_elements_are_a_stream_of_bits)
{
    enum { COUNT = 11 };
    for (size_t row = 0; row < sizeof packed_rows / sizeof *packed_rows; row++) {
        enum kiln_dtype dtype = packed_rows[row].dtype;
        uint32_t bits = packed_rows[row].bits;
        unsigned char memory[COUNT + 1];
        size_t bytes = (size_t)kiln_dtype_memory_bytes(dtype, COUNT);
        cr_assert_eq(bytes, (COUNT * bits + 7) / 8);
        memset(memory, 0xff, sizeof memory);
        for (int i = COUNT; i-- > 0;) {
            struct kiln_constant value = {.real = i % 7, .integer = i % 7};
            kiln_element_store_at(dtype, value, memory, i);
        }
        for (int i = 0; i < COUNT; i++) {
            cr_assert_eq(kiln_element_load_at(dtype, memory, i).real,
                         kiln_round_to_dtype(dtype, i % 7));
            /* The same, bit by bit. */
            uint32_t code = 0;
            for (uint32_t bit = 0; bit < bits; bit++) {
                uint32_t at = (uint32_t)i * bits + bit;
                code |= (uint32_t)(memory[at / 8] >> at % 8 & 1) << bit;
            }
            cr_assert_eq(load_code(dtype, code), kiln_round_to_dtype(dtype, i % 7));
        }
        cr_assert_eq(memory[bytes], 0xff);
        uint32_t tail = COUNT * bits % 8; /* bits after the last element stay */
        cr_assert(tail == 0 || memory[bytes - 1] >> tail == 0xff >> tail);
    }
}

Test(convert, packed_types_saturate_and_have_no_nan)
{
    for (size_t row = 0; row < sizeof packed_rows / sizeof *packed_rows; row++) {
        enum kiln_dtype dtype = packed_rows[row].dtype;
        bool is_integer = dtype == KILN_DTYPE_I4;
        double largest = packed_rows[row].largest;
        cr_assert_eq(kiln_round_to_dtype(dtype, INFINITY), largest);
        cr_assert_eq(kiln_round_to_dtype(dtype, -1e300), is_integer ? -8 : -largest);
        cr_assert_eq(kiln_round_to_dtype(dtype, NAN), is_integer ? 0 : largest);
        cr_assert_eq(kiln_round_to_dtype(dtype, -0.01), 0);
    }
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_F4E2M1, 2.5), 2);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_F4E2M1, 5), 4);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_F4E2M1, 0.25), 0);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_F6E2M3, 7.3), 7.5);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_F6E3M2, 0.0625), 0.0625);
}

Test(convert, e8m0_has_powers_of_two_alone)
{
    for (uint32_t code = 0; code < 255; code++) {
        double value = load_code(KILN_DTYPE_E8M0, code);
        cr_assert_eq(value, ldexp(1, (int)code - 127));
        cr_assert_eq(store_code(KILN_DTYPE_E8M0, value), code);
        cr_assert_eq(store_code(KILN_DTYPE_E8M0, nextafter(1.5 * value, 0)), code);
        if (code == 254)
            continue;
        cr_assert_eq(store_code(KILN_DTYPE_E8M0, 1.5 * value), code + code % 2);
        cr_assert_eq(store_code(KILN_DTYPE_E8M0, nextafter(1.5 * value, INFINITY)), code + 1);
    }
    cr_assert(isnan(load_code(KILN_DTYPE_E8M0, 255)));
    cr_assert_eq(store_code(KILN_DTYPE_E8M0, NAN), 255);
    cr_assert_eq(store_code(KILN_DTYPE_E8M0, INFINITY), 254);
    cr_assert_eq(store_code(KILN_DTYPE_E8M0, 0), 0);
    cr_assert_eq(store_code(KILN_DTYPE_E8M0, -8), 0);
}

Test(convert, double_passes_unchanged)
{
    double value = 0x1.23456789abcdep-1060, loaded;
    kiln_element_store(KILN_DTYPE_F64, (struct kiln_constant){.real = value}, &loaded);
    cr_assert_eq(loaded, value);
    cr_assert_eq(kiln_element_load(KILN_DTYPE_F64, &value).real, value);
    cr_assert_eq(kiln_round_to_dtype(KILN_DTYPE_F64, value), value);
}
