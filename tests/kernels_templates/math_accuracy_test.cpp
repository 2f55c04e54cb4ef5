/*
 * Accuracy of kernels_templates/device/math: float against double libm, double against long double.
 * Every half and every bfloat16, then samples over all bit patterns and around the places where the
 * functions change their ways.
 *
 * With KILN_HAS_SEED_EXP2 defined it tests what is done where 2^x is an instruction.
 *
 * math_accuracy_test [samples] [function]: samples per function and type (default 200,000), and
 * which function only.
 */
#include "device/host.h"

#include "device/convert/bf16.h"
#include "device/convert/f16.h"
#include "device/math/cos_f32.h"
#include "device/math/cos_f64.h"
#include "device/math/erf_f32.h"
#include "device/math/erf_f64.h"
#include "device/math/exp2_f32.h"
#include "device/math/exp2_f64.h"
#include "device/math/exp_f32.h"
#include "device/math/exp_f64.h"
#include "device/math/expm1_f32.h"
#include "device/math/expm1_f64.h"
#include "device/math/log1p_f32.h"
#include "device/math/log1p_f64.h"
#include "device/math/log_f32.h"
#include "device/math/log_f64.h"
#include "device/math/normal_cdf_f32.h"
#include "device/math/normal_cdf_f64.h"
#include "device/math/rsqrt_f32.h"
#include "device/math/rsqrt_f64.h"
#include "device/math/sigmoid_f32.h"
#include "device/math/sigmoid_f64.h"
#include "device/math/sin_f32.h"
#include "device/math/sin_f64.h"
#include "device/math/sqrt_f32.h"
#include "device/math/sqrt_f64.h"
#include "device/math/tan_f32.h"
#include "device/math/tan_f64.h"
#include "device/math/tanh_f32.h"
#include "device/math/tanh_f64.h"
#include "device/math/tanh_part_f32.h"
#include "device/moments.h"
#include "device/quotient_f32.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>

namespace {

template <class T> T inverse(T x)
{
    return 1 / x;
}

template <class T> T logistic(T x)
{
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

template <class T> T inverse_sqrt(T x)
{
    return 1 / std::sqrt(x);
}

template <class T> T standard_normal(T x)
{
    return (T)0.5 * std::erfc(-x * (T)0.70710678118654752440084436210484903928L);
}

double flat(double)
{
    return 1;
}

/* An ulp of x changes the result by about x^2 ulps where it falls. */
double steep_on_the_left(double x)
{
    return x < -2 ? x * x / 4 : 1;
}

/* What may be missed by, in ulps of the exact result times the steepness there; `interesting` is
 * where the result is neither constant nor x. */
struct function {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    double (*truth_f32)(double);
    long double (*truth_f64)(long double);
    double bound_f32;
    double bound_f64;
    double interesting;
    double (*steepness)(double);
};

#ifdef KILN_HAS_SEED_EXP2
const double exp_bound = 3.0;
const double sigmoid_bound = 6.0;
const double normal_cdf_bound = 14.0;
#else
const double exp_bound = 1.5;
const double sigmoid_bound = 2.5;
const double normal_cdf_bound = 9.0;
#endif

/* clang-format off */
#define FUNCTION(text, truth, bound_f32, bound_f64, interesting, steepness)                        \
    {#text,                                                                                        \
     [](float x) { return kiln_##text##_f32(x); },                                                 \
     [](double x) { return kiln_##text##_f64(x); },                                                \
     [](double x) { return (double)truth(x); },                                                    \
     [](long double x) { return (long double)truth(x); },                                          \
     bound_f32,                                                                                    \
     bound_f64,                                                                                    \
     interesting,                                                                                  \
     steepness}

const function functions[] = {
    FUNCTION(exp, std::exp, exp_bound, 1.5, 760, flat),
    FUNCTION(exp2, std::exp2, 1.5, 1.5, 1100, flat),
    FUNCTION(expm1, std::expm1, 2.5, 2.5, 720, flat),
    FUNCTION(log, std::log, 1.5, 1.5, 4, flat),
    FUNCTION(log1p, std::log1p, 2.0, 2.0, 4, flat),
    FUNCTION(sin, std::sin, 2.0, 1.5, 1e6, flat),
    FUNCTION(cos, std::cos, 2.0, 1.5, 1e6, flat),
    FUNCTION(tan, std::tan, 4.0, 3.0, 1e6, flat),
    FUNCTION(sigmoid, logistic, sigmoid_bound, 3.0, 760, flat),
    FUNCTION(tanh, std::tanh, 4.0, 4.0, 25, flat),
    FUNCTION(erf, std::erf, 2.0, 2.0, 7, flat),
    FUNCTION(normal_cdf, standard_normal, normal_cdf_bound, 9.0, 40, steep_on_the_left),
    FUNCTION(sqrt, std::sqrt, 0.5, 0.5, 10, flat),
    FUNCTION(rsqrt, inverse_sqrt, 1.5, 1.5, 10, flat),
    FUNCTION(rcp, inverse, 0.5, 0.5, 10, flat),
};
/* clang-format on */

#undef FUNCTION

/* Distance in ulps of the exact result, whose spacing is that of T at `truth`. */
template <class T, class Wide> double ulps(T value, Wide truth)
{
    if (std::isnan(truth) || std::isnan(value))
        return std::isnan(truth) == std::isnan(value) ? 0 : HUGE_VAL;
    if (value == (T)truth)
        return std::signbit(value) == std::signbit(truth)
                   ? (double)(std::isinf(value)
                                  ? 0
                                  : std::fabs((Wide)value - truth) /
                                        std::ldexp(
                                            (Wide)1,
                                            std::max(
                                                std::ilogb(truth == 0 ? 1e-300 : (double)truth),
                                                std::numeric_limits<T>::min_exponent - 1) -
                                                (std::numeric_limits<T>::digits - 1)))
                   : HUGE_VAL;
    if (std::isinf(truth) || std::isinf((T)truth) || std::isinf(value)) {
        /* Next to overflow: compare with what would follow the largest number. */
        if (std::signbit(value) != std::signbit(truth))
            return HUGE_VAL;
        const Wide limit = std::ldexp((Wide)1, std::numeric_limits<T>::max_exponent);
        const Wide ulp = std::ldexp((Wide)1, std::numeric_limits<T>::max_exponent -
                                                 std::numeric_limits<T>::digits);
        const Wide a = std::isinf(value) ? limit : (Wide)std::fabs(value);
        const Wide b = std::fmin(std::fabs(truth), limit);
        return (double)(std::fabs(a - b) / ulp);
    }
    const int exponent =
        std::max(truth == 0 ? -20000 : std::ilogb(truth), std::numeric_limits<T>::min_exponent - 1);
    return (double)(std::fabs((Wide)value - truth) /
                    std::ldexp((Wide)1, exponent - (std::numeric_limits<T>::digits - 1)));
}

struct worst {
    double ulps = 0;
    double at = 0;

    void see(double distance, double x)
    {
        if (!(distance <= ulps)) {
            ulps = distance;
            at = x;
        }
    }
};

uint64_t random_state = 0x9e3779b97f4a7c15;

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t random_bits()
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

const double specials[] = {0.0,
                           1.0,
                           2.0,
                           0.5,
                           0.75,
                           1.5,
                           3.0,
                           4.0,
                           0.25,
                           0.92,
                           10.0,
                           20.0,
                           22.0,
                           40.0,
                           88.7228394,
                           88.72284,
                           103.972,
                           104.0,
                           709.782712893384,
                           745.13,
                           745.2,
                           6.0,
                           27.2,
                           27.3,
                           10.2,
                           10.05,
                           0.34657359,
                           0.693147180559945,
                           0.785398163397448,
                           1.5707963267948966,
                           3.14159265358979,
                           65536.0,
                           65535.99,
                           1048576.0,
                           1048575.9,
                           2.356194490192345,
                           0x1p-126,
                           0x1p-149,
                           0x1p-1022,
                           0x1p-1074,
                           0x1p127,
                           0x1.fffffep127,
                           0x1.fffffffffffffp1023,
                           0x1p-96,
                           0x1p-767,
                           0x1p30,
                           0x1p60,
                           6381956970095103.0 * 0x1p797,
                           16367173.0 * 0x1p72,
                           HUGE_VAL,
                           (double)NAN};

template <class T, class Check> void for_samples(uint64_t count, double interesting, Check check)
{
    for (double special : specials) {
        T x = (T)special;
        T near_x[] = {x, std::nextafter(x, (T)-HUGE_VAL), std::nextafter(x, (T)HUGE_VAL)};
        for (T each : near_x) {
            check(each);
            check(-each);
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t bits = random_bits();
        T x;
        switch (i % 4) {
        case 0: /* any bit pattern: mostly far from 1 */
            std::memcpy(&x, &bits, sizeof x);
            break;
        case 1: /* evenly where the function does something */
            x = (T)(((double)(bits >> 11) * 0x1p-52 - 1) * interesting);
            break;
        case 2: /* exponents within 2^-30 and 2^10 */
            x = (T)std::ldexp((double)(bits >> 11) * 0x1p-53, (int)(bits % 40) - 30) *
                (bits & 64 ? -1 : 1);
            break;
        default: /* next to a multiple of pi/2, or to 1 */
            x = (T)(bits & 1 ? (double)(bits >> 40) * 1.5707963267948966
                             : 1 + ((double)(bits >> 11) * 0x1p-53 - 0.5) * 0x1p-4);
            break;
        }
        check(x);
    }
}

bool report(const char *name, const char *domain, const worst &seen, double bound)
{
    const bool fine = seen.ulps <= bound;
    std::printf("%-6s %-9s max %.4f ulp at %a (bound %.2f)%s\n", name, domain, seen.ulps, seen.at,
                bound, fine ? "" : "  FAILED");
    return fine;
}

/* Every code of a 16-bit type: the float result, and whether rounding it to the type gives what the
 * truth gives. */
template <class Decode, class Round>
bool check_16_bit(const function &f, const char *domain, Decode decode, Round round)
{
    worst seen;
    unsigned long differ = 0;
    worst in_type;
    for (unsigned code = 0; code < 0x10000; code++) {
        const float x = decode((unsigned short)code);
        const float value = f.f32(x);
        const double truth = f.truth_f32(x);
        seen.see(ulps(value, truth) / f.steepness(x), x);
        const float rounded = round(value);
        const double expected = round(truth);
        if (std::isnan(expected) ? !std::isnan(rounded) : rounded != expected) {
            differ++;
            /* Only a truth next to a tie of the type may round the other way; denormal halfs are
             * 2^-24 apart. */
            in_type.see(std::fabs(rounded - expected) / std::fmax(std::fabs(expected), 0x1p-17), x);
        }
    }
    std::printf("%-6s %-9s %lu of 65536 results differ once rounded to the type\n", f.name, domain,
                differ);
    return report(f.name, domain, seen, f.bound_f32) && differ <= 16 && !(in_type.ulps > 0x1p-7);
}

bool check_function(const function &f, uint64_t samples)
{
    bool fine = check_16_bit(
        f, "half", [](unsigned short code) { return kiln_decode_f16(code); },
        [](double x) { return (float)kiln_round_f16_f64(x); });
    fine &= check_16_bit(
        f, "bfloat16", [](unsigned short code) { return kiln_decode_bf16(code); },
        [](double x) { return (float)kiln_round_bf16_f64(x); });
    worst single;
    for_samples<float>(samples, f.interesting, [&](float x) {
        single.see(ulps(f.f32(x), f.truth_f32(x)) / f.steepness(x), x);
    });
    fine &= report(f.name, "float", single, f.bound_f32);
    worst wide;
    for_samples<double>(samples / 2, f.interesting, [&](double x) {
        wide.see(ulps(f.f64(x), f.truth_f64(x)) / f.steepness(x), x);
    });
    /* The truth's own rounding to 64 bits. */
    return fine & report(f.name, "double", wide, f.bound_f64 + 0x1p-10);
}

/* Half an ulp and a bit, but for the lower end of the range: the residual of a tiny dividend is of
 * no use. A zero has its sign. */
bool check_quotient(float a, float b, worst &seen)
{
    const float value = kiln_quotient_f32(a, b);
    const double truth = (double)a / (double)b;
    const double magnitude = std::fabs(truth);
#ifdef KILN_QUOTIENT_CHOOSES
    const bool is_at_upper_end = magnitude > 0x1p127;
#else
    const bool is_at_upper_end = false;
#endif
    const bool is_extreme = std::fabs(a) < 0x1p-100f || magnitude < 0x1p-100 || is_at_upper_end;
    const double distance = ulps(value, truth);
    const bool fine = distance <= (is_extreme ? 4.0 : 0.51) &&
                      (std::isnan(truth) || std::signbit(value) == std::signbit(truth));
    if (!is_extreme)
        seen.see(distance, (double)a);
    if (!fine)
        std::printf("quotient %a / %a = %a  FAILED\n", a, b, value);
    return fine;
}

/* Division by way of the reciprocal: any operands, and quotients that are numbers of the type. */
bool check_quotients(uint64_t samples)
{
    worst seen;
    bool fine = true;
    for (double dividend : specials) {
        for (double divisor : specials) {
            for (float sign : {1.0f, -1.0f}) {
                fine &= check_quotient((float)dividend, sign * (float)divisor, seen);
                fine &= check_quotient(-(float)dividend, sign * (float)divisor, seen);
            }
        }
    }
    for (uint64_t i = 0; i < samples && fine; i++) {
        const uint64_t bits = random_bits();
        const uint32_t low = (uint32_t)bits;
        const uint32_t high = (uint32_t)(bits >> 32);
        float a, b;
        std::memcpy(&a, &low, sizeof a);
        std::memcpy(&b, &high, sizeof b);
        fine &= check_quotient(a, b, seen);
        const float factor = (float)(low % 4096);
        const float whole = (float)(high % 4096 + 1);
        if (kiln_quotient_f32(factor * whole, whole) != factor) {
            std::printf("quotient %a / %a is not exact  FAILED\n", factor * whole, whole);
            fine = false;
        }
    }
    return report("quotient", "float", seen, 0.51) && fine;
}

/* Shares of counts: any two of them. */
bool check_count_ratios(uint64_t samples)
{
    worst seen;
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t bits = random_bits();
        const float whole = (float)(1 + (bits >> 32 >> (bits >> 58)));
        const float part = (float)(uint32_t)(1 + (uint32_t)bits % (uint32_t)whole);
        seen.see(ulps(kiln_count_ratio_f32(part, whole), (double)part / (double)whole), part);
        const float count = (float)(1 + i);
        seen.see(ulps(kiln_count_ratio_f32(1, count), 1 / (double)count), count);
    }
    return report("ratio", "counts", seen, 0.51);
}

/* Signs of zeros and results on special values that a distance in ulps does not tell apart. */
bool check_zero_signs()
{
    bool fine = true;
    for (const function &f : functions) {
        for (double zero : {0.0, -0.0}) {
            const double truth = f.truth_f32(zero);
            const bool same = std::signbit(truth) == std::signbit(f.f32((float)zero)) &&
                              std::signbit(truth) == std::signbit(f.f64(zero));
            if (!same)
                std::printf("%s(%g): wrong sign  FAILED\n", f.name, zero);
            fine &= same;
        }
    }
    return fine;
}

/* 1/2 and 1 are exact, and what is above 1 would make the product with a large x infinite.
 * The stand-in for the instruction that inverts is wrong even where every GPU's is exact. */
bool check_ends_of_sigmoid()
{
    bool fine = true;
#ifndef KILN_HAS_SEED_EXP2
    fine &= kiln_sigmoid_f32(0.0f) == 0.5f;
    for (float x :
         {20.0f, 100.0f, std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()})
        fine &= kiln_sigmoid_f32(x) == 1.0f;
#endif
    fine &= kiln_sigmoid_f64(0.0) == 0.5;
    for (double x : {40.0, 1000.0, std::numeric_limits<double>::infinity()})
        fine &= kiln_sigmoid_f64(x) == 1.0;
    if (!fine)
        std::printf("sigmoid does not end at 1  FAILED\n");
    return fine;
}

/* Its error is absolute: tanh(y) = 1 + 2 part(2 y log2(e)). */
bool check_tanh_part(uint64_t samples)
{
    const double two_log2_e = 2 / std::log(2.0), bound = 0x1p-22;
    worst seen;
    for_samples<float>(samples, 25, [&](float x) {
        const float argument = (float)(x * two_log2_e);
        const double exact = (std::tanh(argument / two_log2_e) - 1) / 2;
        const double value = kiln_tanh_part_f32(argument);
        if (std::isnan(exact) != std::isnan(value))
            seen.see(HUGE_VAL, x);
        else if (!std::isnan(exact))
            seen.see(std::fabs(value - exact) / bound, x);
    });
    return report("tanh_part", "samples", seen, 1);
}

} // namespace

int main(int argument_count, char **arguments)
{
    const uint64_t samples = argument_count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 200000;
    const char *only = argument_count > 2 ? arguments[2] : nullptr;
    bool fine = check_zero_signs();
    fine &= check_ends_of_sigmoid();
    if (!only || std::strcmp(only, "quotient") == 0) {
        fine &= check_quotients(samples);
        fine &= check_count_ratios(samples);
    }
    if (!only || std::strcmp(only, "tanh_part") == 0)
        fine &= check_tanh_part(samples);
    for (const function &f : functions) {
        if (!only || std::strcmp(only, f.name) == 0)
            fine &= check_function(f, samples);
    }
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
