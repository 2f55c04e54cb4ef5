#include "compiler/reference/convert.h"

#include <string.h>

/*
 * All floating-point storage types are sign, exponent field, mantissa, with gradual underflow, so a
 * magnitude's code is ordered as its value is and one routine serves all: round the significand to
 * an integer count of quanta, then the code is that count plus the number of exponent steps above
 * the smallest. Integer arithmetic only, so the result depends on no rounding mode and no
 * flush-to-zero flag.
 */
struct float_format {
    int precision;          /* bits of significand with the hidden one */
    int min_exponent;       /* of the smallest normal number */
    uint64_t largest_code;  /* of the largest finite magnitude */
    uint64_t infinity_code; /* 0: the format has none */
    uint64_t nan_code;
    bool saturates; /* overflow and infinity become the largest finite number */
    bool is_fnuz;   /* the sign alone is NaN; there is no -0 */
    bool has_no_nan;
};

/* IEEE 754-2019 table 3.5; bfloat16: upper half of binary32; fp8: OCP OFP8 1.0, tables 1 and 2;
 * FNUZ: Float8E4M3FNUZ and Float8E5M2FNUZ of LLVM's APFloat.h; FP4 and FP6: OCP Microscaling 1.0,
 * tables 3 to 5. NaN becomes the largest number there, as in HIP. */
static const struct float_format formats[KILN_DTYPE_COUNT] = {
    [KILN_DTYPE_F32] = {24, -126, 0x7f7fffff, 0x7f800000, 0x7fc00000, false, false, false},
    [KILN_DTYPE_F16] = {11, -14, 0x7bff, 0x7c00, 0x7e00, false, false, false},
    [KILN_DTYPE_BF16] = {8, -126, 0x7f7f, 0x7f80, 0x7fc0, false, false, false},
    [KILN_DTYPE_F8E4M3] = {4, -6, 0x7e, 0, 0x7f, true, false, false},
    [KILN_DTYPE_F8E5M2] = {3, -14, 0x7b, 0x7c, 0x7f, true, false, false},
    [KILN_DTYPE_F8E4M3FNUZ] = {4, -7, 0x7f, 0, 0x80, true, true, false},
    [KILN_DTYPE_F8E5M2FNUZ] = {3, -15, 0x7f, 0, 0x80, true, true, false},
    [KILN_DTYPE_F4E2M1] = {2, 0, 0x07, 0, 0x07, true, false, true},
    [KILN_DTYPE_F6E2M3] = {4, 0, 0x1f, 0, 0x1f, true, false, true},
    [KILN_DTYPE_F6E3M2] = {3, -2, 0x1f, 0, 0x1f, true, false, true},
};

enum { DOUBLE_FRACTION_BITS = 52, DOUBLE_EXPONENT_MASK = 0x7ff, DOUBLE_BIAS = 1023 };

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The code of a magnitude, given by the bits of a double without its sign. */
static uint64_t encode_magnitude(const struct float_format *format, uint64_t bits)
{
    uint64_t fraction = bits & ((UINT64_C(1) << DOUBLE_FRACTION_BITS) - 1);
    int field = (int)(bits >> DOUBLE_FRACTION_BITS);
    if (field == DOUBLE_EXPONENT_MASK) {
        if (fraction != 0)
            return format->nan_code;
        return format->saturates ? format->largest_code : format->infinity_code;
    }
    if (field == 0) /* zero, or below 2^-1022: less than half of every format's smallest number */
        return 0;
    uint64_t significand = fraction | UINT64_C(1) << DOUBLE_FRACTION_BITS;
    int exponent = field - DOUBLE_BIAS;
    int steps = exponent > format->min_exponent ? exponent - format->min_exponent : 0;
    int quantum = format->min_exponent + steps - (format->precision - 1);
    int shift = quantum - (exponent - DOUBLE_FRACTION_BITS);
    if (shift > DOUBLE_FRACTION_BITS + 2) /* below a quarter of the smallest number */
        return 0;
    uint64_t count = significand >> shift;
    uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    if (rest > half || (rest == half && (count & 1) != 0))
        count++;
    uint64_t code = ((uint64_t)steps << (format->precision - 1)) + count;
    if (code > format->largest_code)
        return format->saturates ? format->largest_code : format->infinity_code;
    return code;
}

static double decode_magnitude(const struct float_format *format, uint64_t code)
{
    if (code > format->largest_code)
        return double_from_bits(code == format->infinity_code ? UINT64_C(0x7ff0000000000000)
                                                              : UINT64_C(0x7ff8000000000000));
    uint64_t hidden = UINT64_C(1) << (format->precision - 1);
    uint64_t field = code >> (format->precision - 1);
    uint64_t count = field == 0 ? code : (code & (hidden - 1)) | hidden;
    int quantum =
        format->min_exponent - (format->precision - 1) + (field == 0 ? 0 : (int)field - 1);
    /* Both factors are exact and so is the product: count has few bits, 2^quantum is a normal
     * double. */
    return (double)count *
           double_from_bits((uint64_t)(quantum + DOUBLE_BIAS) << DOUBLE_FRACTION_BITS);
}

/* E8M0 takes the nearest power of two. A tie goes to the even code; 255 is NaN. */
enum { E8M0_BIAS = 127, E8M0_LARGEST = 254, E8M0_NAN = 255 };

static uint64_t encode_e8m0(double value)
{
    if (value != value)
        return E8M0_NAN;
    uint64_t bits = double_bits(value);
    int exponent = (int)(bits >> DOUBLE_FRACTION_BITS) - DOUBLE_BIAS;
    if (value < 0x1p-127) /* negative too */
        return 0;
    if (exponent >= E8M0_LARGEST - E8M0_BIAS)
        return E8M0_LARGEST;
    uint64_t code = (uint64_t)(exponent + E8M0_BIAS);
    uint64_t fraction = bits & ((UINT64_C(1) << DOUBLE_FRACTION_BITS) - 1);
    uint64_t half = UINT64_C(1) << (DOUBLE_FRACTION_BITS - 1);
    return code + (fraction > half || (fraction == half && (code & 1) != 0));
}

static double decode_e8m0(uint64_t code)
{
    if (code == E8M0_NAN)
        return double_from_bits(UINT64_C(0x7ff8000000000000));
    return double_from_bits((code + (uint64_t)(DOUBLE_BIAS - E8M0_BIAS)) << DOUBLE_FRACTION_BITS);
}

static uint64_t encode(enum kiln_dtype dtype, double value)
{
    if (dtype == KILN_DTYPE_E8M0)
        return encode_e8m0(value);
    if (formats[dtype].has_no_nan && value != value)
        return formats[dtype].nan_code;
    uint64_t bits = double_bits(value);
    uint64_t magnitude = encode_magnitude(&formats[dtype], bits & ~(UINT64_C(1) << 63));
    if (formats[dtype].is_fnuz && (magnitude == 0 || magnitude == formats[dtype].nan_code))
        return magnitude;
    return magnitude | (bits >> 63) << (kiln_dtype_info(dtype)->bits - 1);
}

static double decode(enum kiln_dtype dtype, uint64_t code)
{
    if (dtype == KILN_DTYPE_E8M0)
        return decode_e8m0(code);
    uint64_t sign = UINT64_C(1) << (kiln_dtype_info(dtype)->bits - 1);
    if (formats[dtype].is_fnuz && code == formats[dtype].nan_code)
        return double_from_bits(UINT64_C(0x7ff8000000000000));
    double magnitude = decode_magnitude(&formats[dtype], code & (sign - 1));
    return (code & sign) != 0 ? -magnitude : magnitude;
}

int64_t kiln_round_to_integer(double value, int64_t low, int64_t high)
{
    if (value != value)
        return 0;
    if (value >= 0x1p63)
        return high;
    if (value < -0x1p63)
        return low;
    int64_t integer = (int64_t)value; /* towards zero; exact from 2^52 on */
    double rest = value - (double)integer;
    double distance = rest < 0 ? -rest : rest;
    if (distance > 0.5 || (distance == 0.5 && (integer & 1) != 0))
        integer += rest < 0 ? -1 : 1;
    if (integer < low)
        return low;
    return integer > high ? high : integer;
}

static void integer_range(enum kiln_dtype dtype, int64_t *ret_low, int64_t *ret_high)
{
    switch (dtype) {
    case KILN_DTYPE_U8:
        *ret_low = 0;
        *ret_high = UINT8_MAX;
        break;
    case KILN_DTYPE_I8:
        *ret_low = INT8_MIN;
        *ret_high = INT8_MAX;
        break;
    case KILN_DTYPE_I4:
        *ret_low = -8;
        *ret_high = 7;
        break;
    case KILN_DTYPE_I32:
        *ret_low = INT32_MIN;
        *ret_high = INT32_MAX;
        break;
    default:
        *ret_low = INT64_MIN;
        *ret_high = INT64_MAX;
        break;
    }
}

double kiln_round_to_dtype(enum kiln_dtype dtype, double value)
{
    if (dtype == KILN_DTYPE_F64)
        return value;
    if (dtype == KILN_DTYPE_BOOL)
        return value != 0 ? 1 : 0;
    if (kiln_dtype_is_integer(dtype)) {
        int64_t low, high;
        integer_range(dtype, &low, &high);
        return (double)kiln_round_to_integer(value, low, high);
    }
    return decode(dtype, encode(dtype, value));
}

struct kiln_constant kiln_element_load(enum kiln_dtype dtype, const void *memory)
{
    struct kiln_constant value = {0, 0};
    switch (dtype) {
    case KILN_DTYPE_F64:
        memcpy(&value.real, memory, sizeof value.real);
        return value;
    case KILN_DTYPE_BOOL:
        value.integer = *(const uint8_t *)memory != 0;
        break;
    case KILN_DTYPE_U8:
        value.integer = *(const uint8_t *)memory;
        break;
    case KILN_DTYPE_I8:
        value.integer = *(const int8_t *)memory;
        break;
    case KILN_DTYPE_I4:
        value.integer = ((*(const uint8_t *)memory & 0xf) ^ 8) - 8;
        break;
    case KILN_DTYPE_I32: {
        int32_t element;
        memcpy(&element, memory, sizeof element);
        value.integer = element;
        break;
    }
    case KILN_DTYPE_I64:
        memcpy(&value.integer, memory, sizeof value.integer);
        break;
    default: {
        uint8_t bytes[8] = {0};
        memcpy(bytes, memory, kiln_dtype_info(dtype)->bytes);
        uint64_t code = 0;
        for (int i = 7; i >= 0; i--)
            code = code << 8 | bytes[i];
        if (kiln_dtype_is_packed(dtype))
            code &= (UINT64_C(1) << kiln_dtype_info(dtype)->bits) - 1;
        value.real = decode(dtype, code);
        return value;
    }
    }
    value.real = (double)value.integer;
    return value;
}

void kiln_element_store(enum kiln_dtype dtype, struct kiln_constant value, void *memory)
{
    uint64_t code;
    if (dtype == KILN_DTYPE_F64) {
        code = double_bits(value.real);
    } else if (dtype == KILN_DTYPE_BOOL) {
        code = value.integer != 0;
    } else if (kiln_dtype_is_integer(dtype)) {
        int64_t low, high;
        integer_range(dtype, &low, &high);
        int64_t integer = value.integer < low ? low : value.integer > high ? high : value.integer;
        code = (uint64_t)integer;
    } else {
        code = encode(dtype, value.real);
    }
    if (kiln_dtype_is_packed(dtype))
        code &= (UINT64_C(1) << kiln_dtype_info(dtype)->bits) - 1;
    uint8_t *bytes = memory;
    for (unsigned i = 0; i < kiln_dtype_info(dtype)->bytes; i++)
        bytes[i] = (uint8_t)(code >> (8 * i));
}

/* An element of 4 or 6 bits lies in one byte or in two neighbours. */
struct packed_place {
    int64_t byte;
    uint32_t shift, mask;
    bool has_two;
};

static struct packed_place packed_place(enum kiln_dtype dtype, int64_t index)
{
    uint32_t bits = kiln_dtype_info(dtype)->bits;
    struct packed_place place = {.byte = index * bits / 8, .shift = (uint32_t)(index * bits % 8)};
    place.mask = ((1u << bits) - 1) << place.shift;
    place.has_two = place.shift + bits > 8;
    return place;
}

struct kiln_constant kiln_element_load_at(enum kiln_dtype dtype, const void *memory, int64_t index)
{
    const uint8_t *bytes = memory;
    if (!kiln_dtype_is_packed(dtype))
        return kiln_element_load(dtype, bytes + index * kiln_dtype_info(dtype)->bytes);
    struct packed_place place = packed_place(dtype, index);
    uint32_t word = bytes[place.byte];
    if (place.has_two)
        word |= (uint32_t)bytes[place.byte + 1] << 8;
    uint8_t code = (uint8_t)((word & place.mask) >> place.shift);
    return kiln_element_load(dtype, &code);
}

void kiln_element_store_at(enum kiln_dtype dtype, struct kiln_constant value, void *memory,
                           int64_t index)
{
    uint8_t *bytes = memory;
    if (!kiln_dtype_is_packed(dtype)) {
        kiln_element_store(dtype, value, bytes + index * kiln_dtype_info(dtype)->bytes);
        return;
    }
    struct packed_place place = packed_place(dtype, index);
    uint8_t code;
    kiln_element_store(dtype, value, &code);
    uint32_t word = (uint32_t)code << place.shift;
    bytes[place.byte] = (uint8_t)((bytes[place.byte] & ~place.mask) | word);
    if (place.has_two)
        bytes[place.byte + 1] = (uint8_t)((bytes[place.byte + 1] & ~(place.mask >> 8)) | word >> 8);
}
