/*
 * The CPU: the same interface as amdgcn.h. A kernel becomes a loop over the work-items of a group;
 * where work-items wait for one another the executor runs each as a fiber (one call with count 1).
 * How the two meet: host_abi.h.
 *
 * Where the GPU has an approximating instruction, the function here is wrong by as much as the
 * instruction may be, so that tests on the host prove the refinement that follows.
 */
#ifndef KILN_DEVICE_HOST_H
#define KILN_DEVICE_HOST_H

#include "device/host_abi.h"

#define KILN_DEVICE         static inline __attribute__((always_inline))
/* A function of its own, where inlining it into a loop would keep its arrays in memory. */
#define KILN_DEVICE_APART   static __attribute__((noinline))
#define KILN_DEVICE_MEMBER  inline
#define KILN_CONSTANT_TABLE static const
#define KILN_CONSTEXPR      static constexpr
#define KILN_FACT           static constexpr
/* Arrays need no registers of their own here: left as loops, kernels compile in less than half of the time and
 * vectorise all the same. */
#define KILN_UNROLL
#define KILN_NO_UNROLL      _Pragma("GCC unroll 1")
/* The value as it is, made in a way that the compiler does not know. */
#define KILN_HIDE(value)    __asm__("" : "+r"(value))
#define KILN_HOST_EXPORT    extern "C" __attribute__((visibility("default")))

#ifndef KILN_WAVE_SIZE
#define KILN_WAVE_SIZE 1
#endif

/*
 * The running work-item. A kernel's body has parameters of the same names, so that ids are plain
 * values there and its loop can be vectorised; functions that the body calls find these. Where none
 * does, the compiler drops them.
 */
static thread_local unsigned kiln_host_item __attribute__((unused));
static thread_local struct kiln_host_group *kiln_host_group_now __attribute__((unused));

#define KILN_KERNEL(symbol, block, arguments_type) KILN_HOST_KERNEL(symbol, block, arguments_type)
#define KILN_HOST_KERNEL(symbol, block, arguments_type)                                            \
    static inline __attribute__((always_inline)) void symbol##_body(                               \
        const arguments_type arguments, unsigned kiln_host_item,                                   \
        struct kiln_host_group *kiln_host_group_now, unsigned kiln_host_lds_used);                 \
    KILN_HOST_EXPORT void symbol(const void *kernarg, struct kiln_host_group *group,               \
                                 unsigned first, unsigned count)                                   \
    {                                                                                              \
        arguments_type arguments;                                                                  \
        __builtin_memcpy(&arguments, kernarg, sizeof arguments);                                   \
        kiln_host_group_now = group;                                                               \
        for (unsigned item = first; item != first + count; item++) {                               \
            kiln_host_item = item;                                                                 \
            symbol##_body(arguments, item, group, 0);                                              \
        }                                                                                          \
    }                                                                                              \
    KILN_HOST_EXPORT const struct kiln_host_kernel symbol##_kernel;                                \
    const struct kiln_host_kernel symbol##_kernel = {KILN_HOST_ABI, (unsigned)(block),             \
                                                     (unsigned)(KILN_WAVE_SIZE),                   \
                                                     (unsigned)sizeof(arguments_type), &symbol};   \
    static inline __attribute__((always_inline)) void symbol##_body(                               \
        [[maybe_unused]] const arguments_type arguments, [[maybe_unused]] unsigned kiln_host_item, \
        [[maybe_unused]] struct kiln_host_group *kiln_host_group_now,                              \
        [[maybe_unused]] unsigned kiln_host_lds_used)

#define KILN_LDS(type, name, count)                                                                \
    type(&name)[count] = *(type(*)[count])kiln_host_allot(kiln_host_group_now, kiln_host_lds_used, \
                                                          alignof(type), sizeof(type[count]))

#define kiln_uniform(value) (value)
#define kiln_schedule_fence()
#define kiln_compute_here(number) (void)(number)
#define kiln_keep_branch()
#define KILN_ARGUMENTS_AGAIN(type, arguments, name) const type &name = arguments
#define kiln_interleave(count)
#define kiln_keep_offset(offset)  (void)(offset)
#define kiln_keep_uniform(value)  (void)(value)
#define kiln_as_one(sum) (sum)
#define kiln_work_item()    (kiln_host_item)
#define kiln_work_group_x() (kiln_host_group_now->id[0])
#define kiln_work_group_y() (kiln_host_group_now->id[1])
#define kiln_work_group_z() (kiln_host_group_now->id[2])
#define kiln_lane()         (kiln_host_item % (KILN_WAVE_SIZE))
#define kiln_barrier()      kiln_host_wait(kiln_host_group_now, kiln_host_item, 0)
#if KILN_WAVE_SIZE > 1
#define kiln_wave_fence() kiln_host_wait(kiln_host_group_now, kiln_host_item, KILN_WAVE_SIZE)
#else
#define kiln_wave_fence()
#endif

/* The next `bytes` of the group's local memory. A kernel that was promised less than it takes is a
 * defect. */
KILN_DEVICE void *kiln_host_allot(struct kiln_host_group *group, unsigned &used,
                                  unsigned long alignment, unsigned long bytes)
{
    const unsigned long start = (used + alignment - 1) / alignment * alignment;
    if (start + bytes > group->lds_bytes)
        __builtin_trap();
    used = (unsigned)(start + bytes);
    return group->lds + start;
}

KILN_DEVICE void kiln_host_wait(struct kiln_host_group *group, unsigned item, unsigned span)
{
    if (!group->wait)
        __builtin_trap();
    group->wait(group, item, span);
    kiln_host_item = item;
    kiln_host_group_now = group;
}

KILN_DEVICE unsigned long long kiln_host_exchange(struct kiln_host_group *group, unsigned item,
                                                  unsigned block, unsigned long long value,
                                                  unsigned mask)
{
    unsigned long long *row = group->slots + (group->exchanges & 1u) * block;
    row[item] = value;
    kiln_host_wait(group, item, KILN_WAVE_SIZE);
    const unsigned partner = item ^ mask;
    return partner < block ? row[partner] : value;
}

#ifdef KILN_BLOCK
#define KILN_HOST_SHUFFLE(scalar, type, word)                                                      \
    KILN_DEVICE type kiln_shuffle_xor_##scalar(type value, unsigned mask)                          \
    {                                                                                              \
        return __builtin_bit_cast(                                                                 \
            type,                                                                                  \
            (word)kiln_host_exchange(kiln_host_group_now, kiln_host_item, KILN_BLOCK,              \
                                     (unsigned long long)__builtin_bit_cast(word, value), mask));  \
    }
KILN_HOST_SHUFFLE(bool, bool, unsigned char)
KILN_HOST_SHUFFLE(i32, int, unsigned)
KILN_HOST_SHUFFLE(i64, long long, unsigned long long)
KILN_HOST_SHUFFLE(f32, float, unsigned)
KILN_HOST_SHUFFLE(f64, double, unsigned long long)
#undef KILN_HOST_SHUFFLE

/* True if it is so in any lane of the wave. */
KILN_DEVICE bool kiln_any(bool value)
{
    for (unsigned mask = 1; mask < KILN_WAVE_SIZE; mask *= 2)
        value |= kiln_shuffle_xor_bool(value, mask);
    return value;
}
#endif

/* x * 2^n for |n| < 252 and x in [2^-1, 2^2): the first product is exact, so the result is rounded
 * once. */
KILN_DEVICE float kiln_scale_f32(float x, int n)
{
    const int half = n >> 1;
    return x * __builtin_bit_cast(float, (unsigned)(half + 127) << 23) *
           __builtin_bit_cast(float, (unsigned)(n - half + 127) << 23);
}

/* The same for |n| < 2044. */
KILN_DEVICE double kiln_scale_f64(double x, int n)
{
    const int half = n >> 1;
    return x * __builtin_bit_cast(double, (unsigned long long)(half + 1023) << 52) *
           __builtin_bit_cast(double, (unsigned long long)(n - half + 1023) << 52);
}

/* v_sqrt_f32, v_rsq_f32 and v_rcp_f32: wrong by one ulp, for all but zero, infinity and NaN. */
KILN_DEVICE float kiln_host_off_by_one(float exact)
{
    const unsigned bits = __builtin_bit_cast(unsigned, exact);
    const bool is_ordinary = exact > 0.0f && exact <= 0x1.fffffep127f;
    return __builtin_bit_cast(float, is_ordinary ? bits ^ 1u : bits);
}

KILN_DEVICE float kiln_seed_sqrt_f32(float x)
{
    return kiln_host_off_by_one(__builtin_sqrtf(x));
}

KILN_DEVICE float kiln_seed_rsqrt_f32(float x)
{
    return kiln_host_off_by_one(1.0f / __builtin_sqrtf(x));
}

KILN_DEVICE float kiln_seed_rcp_f32(float x)
{
    return kiln_host_off_by_one(1.0f / x);
}

/* The nearest finite number; of a NaN any number. */
KILN_DEVICE float kiln_limit_f32(float x)
{
    const float largest = 0x1.fffffep127f;
    return x > -largest ? x < largest ? x : largest : -largest;
}

/* v_exp_f32 and ex2.approx.ftz.f32, only for tests of what GPUs do, such as kernels for a GPU's waves: a polynomial is faster
 * here. */
#if defined(KILN_WAVE_SIZE) && KILN_WAVE_SIZE > 1 && !defined(KILN_HAS_SEED_EXP2)
#define KILN_HAS_SEED_EXP2
#endif
#ifdef KILN_HAS_SEED_EXP2
KILN_DEVICE float kiln_seed_exp2_f32(float x)
{
    return x < -126.0f ? 0.0f : kiln_host_off_by_one(__builtin_exp2f(x));
}

/* The way of cuda.h, whose n may be off by one. */
#define KILN_EXP2_ANCHOR (0x1.8p23f + 127.0f)
KILN_DEVICE float kiln_exp2_anchored_f32(float x)
{
    const float share = __builtin_fmaf(x, 0x1.77313cp-8f, 0.5f);
    const float limited = share > 0.0f ? share < 1.0f ? share : 1.0f : 0.0f;
    return __builtin_floorf(__builtin_fmaf(limited, 252.0f, -126.0f)) + KILN_EXP2_ANCHOR;
}
#endif

/* v_rsq_f64 has 24 bits right; rsqrt.approx.ftz.f64 of NVIDIA sees and gives the upper word alone. */
KILN_DEVICE double kiln_seed_rsqrt_f64(double x)
{
    const unsigned long long upper = 0xffffffff00000000ull;
    const double seen =
        __builtin_bit_cast(double, __builtin_bit_cast(unsigned long long, x) & upper);
    const double exact = 1.0 / __builtin_sqrt(seen);
    return __builtin_bit_cast(double, __builtin_bit_cast(unsigned long long, exact) & upper);
}

/* With bits: gcc makes two paths of dy * (x > 0 ? 1 : 0), and a loop with paths is not vectorised
 * where a product may trap. */
#define KILN_HAS_FLOAT_SELECT
KILN_DEVICE float kiln_select_f32(bool condition, float a, float b)
{
    const unsigned mask = 0u - (unsigned)condition;
    return __builtin_bit_cast(float, (__builtin_bit_cast(unsigned, a) & mask) |
                                         (__builtin_bit_cast(unsigned, b) & ~mask));
}

KILN_DEVICE double kiln_select_f64(bool condition, double a, double b)
{
    const unsigned long long mask = 0ull - (unsigned long long)condition;
    return __builtin_bit_cast(double, (__builtin_bit_cast(unsigned long long, a) & mask) |
                                          (__builtin_bit_cast(unsigned long long, b) & ~mask));
}

#include "device/arithmetic.h"

#ifndef __clang__
/*
 * gcc 12 drops both conversions of (double)(float)x where it puts neighbouring doubles into one vector
 * (conversion_test); with an empty asm between them it does not.
 */
#ifdef __x86_64__
#define KILN_ANY_FLOAT_REGISTER "+x"
#else
#define KILN_ANY_FLOAT_REGISTER "+m"
#endif
#undef kiln_convert_f64_f32
KILN_DEVICE float kiln_convert_f64_f32(double x)
{
    float rounded = (float)x;
    __asm__("" : KILN_ANY_FLOAT_REGISTER(rounded));
    return rounded;
}
#endif

#endif
