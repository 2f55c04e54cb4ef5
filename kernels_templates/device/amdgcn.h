/*
 * AMD GPUs: kernel entry, work-item and work-group ids, barriers, cross-lane exchange, and the few
 * instructions that the math functions start from. Compiler builtins only; no HIP header.
 */
#ifndef KILN_DEVICE_AMDGCN_H
#define KILN_DEVICE_AMDGCN_H

/* HIP's default would contract a * b + c differently on each target; fused operations are written
 * out instead. */
#pragma clang fp contract(off)

#define KILN_DEVICE         static inline __attribute__((device, always_inline))
#define KILN_DEVICE_APART   KILN_DEVICE
#define KILN_DEVICE_MEMBER  __attribute__((device, always_inline))
#define KILN_CONSTANT_TABLE static __attribute__((constant)) const
#define KILN_CONSTEXPR      static constexpr
#define KILN_FACT           static constexpr
#define KILN_UNROLL         _Pragma("unroll")
#define KILN_NO_UNROLL      _Pragma("clang loop unroll(disable) vectorize(disable)")

#ifdef KILN_SIMD_WAVES /* waves of a SIMD that there are registers for */
#define KILN_SIMD_BOUNDS __attribute__((amdgpu_waves_per_eu(KILN_SIMD_WAVES)))
#else
#define KILN_SIMD_BOUNDS
#endif
#define KILN_KERNEL(symbol, block, arguments_type)                                                 \
    extern "C" __attribute__((global)) KILN_SIMD_BOUNDS                                           \
    __attribute__((amdgpu_flat_work_group_size(block, block))) void                                \
    symbol(arguments_type arguments)
#define KILN_LDS(type, name, count) __attribute__((shared)) type name[count]

/* A value that is the same in all lanes of a wave. */
#define kiln_uniform(value) __builtin_amdgcn_readfirstlane(value)
/* Instructions are not moved across it. A hint: where a compiler lacks it, nothing but speed is lost. */
#if __has_builtin(__builtin_amdgcn_sched_barrier)
#define kiln_schedule_fence() __builtin_amdgcn_sched_barrier(0)
#else
#define kiln_schedule_fence()
#endif
/* Separates accesses of LDS by lanes of one wave. The hardware keeps them in order; only the compiler must not move them. */
KILN_DEVICE void kiln_wave_fence()
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
/* For an offset that stays the same in a loop: the compiler must not know that, or it widens the offset to 64 bits before the
 * loop, and then adds it to the pointer in the loop instead of naming both in the load. */
#define kiln_keep_offset(offset) __asm__("" : "+v"(offset))
/* For a number or a pointer that is the same in all lanes: what the compiler does not know it cannot mix with what differs
 * between lanes, in vector instructions. */
#define kiln_keep_uniform(value) __asm__("" : "+s"(value))
/* `name` is the kernel's only parameter, loaded from here on: without it registers hold from the kernel's begin, or from before
 * a loop on, what is asked for once. */
#define KILN_ARGUMENTS_AGAIN(type, arguments, name)                                                \
    auto *name##_at = __builtin_amdgcn_kernarg_segment_ptr();                                      \
    __asm__ volatile("" : "+s"(name##_at));                                                                 \
    const type &name = *(const type *)name##_at
/* At the end of a branch that is not to be merged with the other one: LLVM makes one load of two, of an address that is no longer
 * the sum of what is the same for all lanes and an offset. */
#define kiln_keep_branch() __asm__ volatile("")
/* A number is computed before what follows in the text. */
#define kiln_compute_here(number) __asm__ volatile("" : "+v"(number))
/* Behind `count` matrix instructions: a few vector instructions follow each of them, while the matrix unit is busy. */
#if __has_builtin(__builtin_amdgcn_sched_group_barrier)
#define kiln_interleave(count)                                                                     \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (int i = 0; i < (int)(count); i++) {                                                        \
            __builtin_amdgcn_sched_group_barrier(0x8, 1, 0);                                       \
            __builtin_amdgcn_sched_group_barrier(0x2, 7, 0);                                       \
        }                                                                                          \
    }
#else
#define kiln_interleave(count)
#endif
#define kiln_as_one(sum) (sum)
/* A barrier that makes no memory visible, and the end of a wave's own accesses to local memory: for kernels of gfx9
 * that keep their waves a barrier apart. */
#define kiln_phase_end()                                                                           \
    {                                                                                              \
        __asm__ volatile("" ::: "memory");                                                         \
        kiln_schedule_fence();                                                                     \
        __builtin_amdgcn_s_barrier();                                                              \
        kiln_schedule_fence();                                                                     \
        __asm__ volatile("" ::: "memory");                                                         \
    }
#define kiln_await_local()  __builtin_amdgcn_s_waitcnt(0xc07f)
#define kiln_work_item()    __builtin_amdgcn_workitem_id_x()
#define kiln_work_group_x() __builtin_amdgcn_workgroup_id_x()
#define kiln_work_group_y() __builtin_amdgcn_workgroup_id_y()
#define kiln_work_group_z() __builtin_amdgcn_workgroup_id_z()

KILN_DEVICE void kiln_barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#ifdef KILN_WAVE_SIZE
KILN_DEVICE unsigned kiln_lane()
{
#if KILN_WAVE_SIZE == 64
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}

/* True if it is so in any lane of the wave. All lanes take part. */
KILN_DEVICE bool kiln_any(bool value)
{
#if !__has_builtin(__builtin_amdgcn_ballot_w32)
    return __builtin_amdgcn_uicmp((unsigned)value, 0u, 33) != 0; /* not equal: LLVM's number */
#elif KILN_WAVE_SIZE == 64
    return __builtin_amdgcn_ballot_w64(value) != 0;
#else
    return __builtin_amdgcn_ballot_w32(value) != 0;
#endif
}

/* An exchange within 16 lanes, hidden from LLVM 20 and later. LLVM 22 folds it into one instruction that reads it and drops it,
 * although a packed instruction reads it as half of a register pair (GCNDPPCombine). The packed one then gets the lane's own
 * value. LLVM 19 has no such fault. */
KILN_DEVICE int kiln_keep_exchange(int other)
{
#if __clang_major__ >= 20
    __asm__("" : "+v"(other));
#endif
    return other;
}

/* The value of the lane whose number differs in the bits of `mask`, a power of two. All lanes take part. With a mask that
 * is known when compiling it is one instruction: an exchange within four or 16 neighbours as an operand
 * (DPP), within 32 by the swizzle that needs no addresses. */
KILN_DEVICE int kiln_shuffle_xor_i32(int value, unsigned mask)
{
#if defined(__gfx950__)
    /* Exchanges between rows of 16, and between halves, without LDS. Lanes with the bit find the other lane's value
     * in the first result, lanes without it in the second one. */
    if (mask == 16 || mask == 32) {
        const auto both = mask == 16 ? __builtin_amdgcn_permlane16_swap(value, value, false, false)
                                     : __builtin_amdgcn_permlane32_swap(value, value, false, false);
        return (int)((kiln_lane() & mask) != 0 ? both[0] : both[1]);
    }
#endif
    switch (mask) {
    case 1: /* quad_perm 1 0 3 2 */
        return kiln_keep_exchange(__builtin_amdgcn_mov_dpp(value, 0xb1, 0xf, 0xf, true));
    case 2: /* quad_perm 2 3 0 1 */
        return kiln_keep_exchange(__builtin_amdgcn_mov_dpp(value, 0x4e, 0xf, 0xf, true));
    case 4:
        return __builtin_amdgcn_ds_swizzle(value, 0x101f);
    case 8: /* row_ror 8 */
        return kiln_keep_exchange(__builtin_amdgcn_mov_dpp(value, 0x128, 0xf, 0xf, true));
    case 16:
        return __builtin_amdgcn_ds_swizzle(value, 0x401f);
    default:
        return __builtin_amdgcn_ds_bpermute((int)((kiln_lane() ^ mask) * 4), value);
    }
}

KILN_DEVICE bool kiln_shuffle_xor_bool(bool value, unsigned mask)
{
    return kiln_shuffle_xor_i32(value, mask) != 0;
}

KILN_DEVICE float kiln_shuffle_xor_f32(float value, unsigned mask)
{
    return __builtin_bit_cast(float, kiln_shuffle_xor_i32(__builtin_bit_cast(int, value), mask));
}

KILN_DEVICE long long kiln_shuffle_xor_i64(long long value, unsigned mask)
{
    const unsigned low = (unsigned)kiln_shuffle_xor_i32((int)value, mask);
    const unsigned high = (unsigned)kiln_shuffle_xor_i32((int)(value >> 32), mask);
    return (long long)((unsigned long long)high << 32 | low);
}

KILN_DEVICE double kiln_shuffle_xor_f64(double value, unsigned mask)
{
    return __builtin_bit_cast(double,
                              kiln_shuffle_xor_i64(__builtin_bit_cast(long long, value), mask));
}
#endif

/* x * 2^n, rounded once, denormal results included. */
KILN_DEVICE float kiln_scale_f32(float x, int n)
{
    return __builtin_amdgcn_ldexpf(x, n);
}

KILN_DEVICE double kiln_scale_f64(double x, int n)
{
    return __builtin_amdgcn_ldexp(x, n);
}

/* Approximations for normal x: to 1 ulp in float, to 2^-24 in double. */
KILN_DEVICE float kiln_seed_sqrt_f32(float x)
{
    return __builtin_amdgcn_sqrtf(x);
}

KILN_DEVICE float kiln_seed_rsqrt_f32(float x)
{
    return __builtin_amdgcn_rsqf(x);
}

KILN_DEVICE float kiln_seed_rcp_f32(float x)
{
    return __builtin_amdgcn_rcpf(x);
}

/* v_max_f32 and v_min_f32 give the operand that is no NaN, and take -0 for less than 0; med3 with an infinity is the same without
 * quieting its operands first. Only gfx12 has an instruction that keeps NaN. */
#define KILN_HAS_MIN_MAX_F32
#if defined(__GFX12__)
KILN_DEVICE float kiln_max_f32(float a, float b)
{
    float result;
    asm("v_maximum_f32 %0, %1, %2" : "=v"(result) : "v"(a), "v"(b));
    return result;
}

KILN_DEVICE float kiln_min_f32(float a, float b)
{
    float result;
    asm("v_minimum_f32 %0, %1, %2" : "=v"(result) : "v"(a), "v"(b));
    return result;
}
#else
KILN_DEVICE float kiln_max_f32(float a, float b)
{
    const float number = __builtin_amdgcn_fmed3f(a, b, __builtin_inff());
    return __builtin_isunordered(a, b) ? __builtin_nanf("") : number;
}

KILN_DEVICE float kiln_min_f32(float a, float b)
{
    const float number = __builtin_amdgcn_fmed3f(a, b, -__builtin_inff());
    return __builtin_isunordered(a, b) ? __builtin_nanf("") : number;
}
#endif

/* The extreme of many numbers. NaN is noted apart, so that the compiler can pack two of these operations into one. */
#define KILN_HAS_EXTREMES_F32
#define kiln_max_number_f32(a, b) __builtin_fmaxf(a, b)
#define kiln_min_number_f32(a, b) __builtin_fminf(a, b)
KILN_DEVICE void kiln_note_nan_f32(float x, bool &has_nan)
{
    has_nan |= x != x;
}
KILN_DEVICE float kiln_extreme_f32(float number, bool has_nan)
{
    return has_nan ? __builtin_nanf("") : number;
}

/* The nearest finite number; of a NaN any number. */
KILN_DEVICE float kiln_limit_f32(float x)
{
    return __builtin_amdgcn_fmed3f(x, -0x1.fffffep127f, 0x1.fffffep127f);
}

/* Products and sums of two floats in one instruction, at twice the rate, where the compiler has a word for them. */
#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
#if __has_builtin(__builtin_elementwise_fma)
#define KILN_HAS_PACKED_F32
#endif
#endif

#define KILN_HAS_SEED_EXP2
#define KILN_EXP2_ANCHOR (0x1.8p23f + 127.0f) /* leaves n and the bias of exponents in the low bits */
KILN_DEVICE float kiln_seed_exp2_f32(float x)
{
#if __has_builtin(__builtin_amdgcn_exp2f)
    return __builtin_amdgcn_exp2f(x);
#else
    return __builtin_exp2f(x); /* before there was the other one, this was the instruction alone */
#endif
}

/* KILN_EXP2_ANCHOR + n for the whole n next to x log2 e, limited to [-126, 126]; of a NaN one of those. */
KILN_DEVICE float kiln_exp2_anchored_f32(float x)
{
    return __builtin_fmaf(__builtin_amdgcn_fmed3f(x, -87.0f, 87.0f), 0x1.715476p+0f,
                          KILN_EXP2_ANCHOR);
}

KILN_DEVICE double kiln_seed_rsqrt_f64(double x)
{
    return __builtin_amdgcn_rsq(x);
}

#include "device/arithmetic.h"
#include "device/quotient_f32.h"

/* The compiler's own division is eleven instructions for every dividend; by a divisor that many share, five. */
#undef kiln_div_shared_f32
#define kiln_div_shared_f32(a, b) kiln_quotient_f32(a, b)

#endif
