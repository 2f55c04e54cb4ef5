/*
 * NVIDIA GPUs, through NVRTC: the same interface as amdgcn.h. No CUDA header; what is used here NVRTC knows by itself.
 *
 * It is compiled with --fmad=false, so that a * b + c is rounded twice as everywhere, and without --use_fast_math: square roots
 * are correctly rounded and denormals are kept.
 */
#ifndef KILN_DEVICE_CUDA_H
#define KILN_DEVICE_CUDA_H

/* What gcc and clang have built in and NVRTC does not; the arguments that say which NaN are all "". */
#define __builtin_fmaf(a, b, c) __fmaf_rn(a, b, c)
#define __builtin_fma(a, b, c)  __fma_rn(a, b, c)
#define __builtin_copysignf(a, sign) copysignf(a, sign)
#define __builtin_copysign(a, sign)  copysign(a, sign)
#define __builtin_fabsf(x)      fabsf(x)
#define __builtin_fabs(x)       fabs(x)
#define __builtin_rintf(x)      rintf(x)
#define __builtin_rint(x)       rint(x)
#define __builtin_ceilf(x)      ceilf(x)
#define __builtin_ceil(x)       ceil(x)
#define __builtin_floorf(x)     floorf(x)
#define __builtin_floor(x)      floor(x)
#define __builtin_inff()        __int_as_float(0x7f800000)
#define __builtin_inf()         __longlong_as_double(0x7ff0000000000000ll)
#define __builtin_nanf(which)   __int_as_float(0x7fc00000)
#define __builtin_nan(which)    __longlong_as_double(0x7ff8000000000000ll)
#define __builtin_memcpy(to, from, bytes) memcpy(to, from, bytes)

#define KILN_DEVICE         static __device__ __forceinline__
#define KILN_DEVICE_APART   KILN_DEVICE
#define KILN_DEVICE_MEMBER  __device__ __forceinline__
#define KILN_CONSTANT_TABLE static __device__ __constant__ const
#define KILN_CONSTEXPR      static __host__ __device__ constexpr
#define KILN_FACT           static __device__ constexpr
#define KILN_UNROLL         _Pragma("unroll")
#define KILN_NO_UNROLL      _Pragma("unroll 1")

/* The arguments stay where the launch has put them; without __grid_constant__ a reference to them would be one to a copy. */
#if defined(KILN_GROUPS_K) && KILN_GROUPS_K > 1
#define KILN_CLUSTER __cluster_dims__(KILN_GROUPS_K, 1, 1)
#elif defined(KILN_GROUPS_OF_ROW) && KILN_GROUPS_OF_ROW > 1
#define KILN_CLUSTER __cluster_dims__(KILN_GROUPS_OF_ROW, 1, 1)
#else
#define KILN_CLUSTER
#endif
#ifdef KILN_RESIDENTS /* work-groups in a multiprocessor that there are registers for */
#define KILN_BOUNDS(block) __launch_bounds__(block, KILN_RESIDENTS)
#else
#define KILN_BOUNDS(block) __launch_bounds__(block)
#endif
#define KILN_KERNEL(symbol, block, arguments_type)                                                 \
    extern "C" __global__ void KILN_CLUSTER KILN_BOUNDS(block)                                 \
    symbol(const __grid_constant__ arguments_type arguments)
/* More than 48 KiB is given at the launch. */
#ifdef KILN_LDS_IS_DYNAMIC
#define KILN_LDS(type, name, count) extern __shared__ __align__(1024) type name[]
#else
#define KILN_LDS(type, name, count) __shared__ type name[count]
#endif

#define kiln_uniform(value) __shfl_sync(0xffffffffu, (value), 0)
#define kiln_schedule_fence()
#define kiln_wave_fence() __syncwarp()

#define kiln_compute_here(number) (void)(number)
#define kiln_keep_branch()
#define KILN_ARGUMENTS_AGAIN(type, arguments, name) const type &name = arguments
#define kiln_interleave(count)
#define kiln_keep_offset(offset)  (void)(offset)
#define kiln_keep_uniform(value)  (void)(value)
/* A sum that is added to others as it is: the compiler takes sums of integers apart to hoist what it can, and adds up again what
 * it had. */
KILN_DEVICE unsigned kiln_as_one(unsigned sum)
{
    asm("" : "+r"(sum));
    return sum;
}

KILN_DEVICE int kiln_as_one(int sum)
{
    asm("" : "+r"(sum));
    return sum;
}

KILN_DEVICE unsigned long long kiln_as_one(unsigned long long sum)
{
    asm("" : "+l"(sum));
    return sum;
}

#define kiln_work_item()    (threadIdx.x)
#define kiln_work_group_x() (blockIdx.x)
#define kiln_work_group_y() (blockIdx.y)
#define kiln_work_group_z() (blockIdx.z)
#define kiln_barrier()      __syncthreads()

/* Blocks have one dimension and a warp has 32 lanes. */
#define kiln_lane() (threadIdx.x & 31u)

/* True if it is so in any lane of the warp. */
#define kiln_any(value) (__any_sync(0xffffffffu, (value)) != 0)

/* All lanes of a warp take part, as in the other device headers. */
#define KILN_CUDA_SHUFFLE(scalar, type)                                                            \
    KILN_DEVICE type kiln_shuffle_xor_##scalar(type value, unsigned mask)                          \
    {                                                                                              \
        return __shfl_xor_sync(0xffffffffu, value, (int)mask);                                     \
    }
KILN_CUDA_SHUFFLE(i32, int)
KILN_CUDA_SHUFFLE(i64, long long)
KILN_CUDA_SHUFFLE(f32, float)
KILN_CUDA_SHUFFLE(f64, double)
#undef KILN_CUDA_SHUFFLE

KILN_DEVICE bool kiln_shuffle_xor_bool(bool value, unsigned mask)
{
    return kiln_shuffle_xor_i32(value, mask) != 0;
}

/* x * 2^n for |n| < 252 and x in [2^-1, 2^2): the first product is exact, so the result is rounded
 * once. */
KILN_DEVICE float kiln_scale_f32(float x, int n)
{
    const int half = n >> 1;
    return x * __int_as_float((half + 127) << 23) * __int_as_float((n - half + 127) << 23);
}

/* The same for |n| < 2044. */
KILN_DEVICE double kiln_scale_f64(double x, int n)
{
    const int half = n >> 1;
    return x * __hiloint2double((half + 1023) << 20, 0) *
           __hiloint2double((n - half + 1023) << 20, 0);
}

/* Exact, since sqrt.approx may be wrong by nearly two ulps, and what follows mends one. */
KILN_DEVICE float kiln_seed_sqrt_f32(float x)
{
    return __fsqrt_rn(x);
}

/* Relative error below 2^-22.9, denormals included (PTX ISA, rsqrt). */
KILN_DEVICE float kiln_seed_rsqrt_f32(float x)
{
    float result;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/* For normal x with a normal result: wrong by one ulp at most (PTX ISA, rcp). */
KILN_DEVICE float kiln_seed_rcp_f32(float x)
{
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/* Relative error below 2^-22 (PTX ISA, ex2). An asm statement would be done again in each basic block: NVRTC takes it for
 * convergent. Where the builtin is missing there are a few instructions more, for denormal results. */
#define KILN_HAS_SEED_EXP2
#define KILN_EXP2_ANCHOR (0x1.8p23f + 127.0f) /* leaves n and the bias of exponents in the low bits */
KILN_DEVICE float kiln_seed_exp2_f32(float x)
{
#if defined(__has_builtin)
#if __has_builtin(__nvvm_ex2_approx_ftz_f)
#define KILN_HAS_EX2_BUILTIN
#endif
#endif
#ifdef KILN_HAS_EX2_BUILTIN
    return __nvvm_ex2_approx_ftz_f(x);
#else
    return exp2f(x);
#endif
}

/* KILN_EXP2_ANCHOR + n for a whole n within one of x log2 e, limited to [-126, 126]; of a NaN one of those. The limits come
 * free with the first operation, whose result is (n + 126) / 252. */
KILN_DEVICE float kiln_exp2_anchored_f32(float x)
{
    const float share = __saturatef(__fmaf_rn(x, 0x1.77313cp-8f, 0.5f));
    return __fmaf_rd(share, 252.0f, KILN_EXP2_ANCHOR - 126.0f);
}

#if __CUDA_ARCH__ >= 800
#define KILN_HAS_MIN_MAX_F32
KILN_DEVICE float kiln_min_f32(float a, float b)
{
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}

KILN_DEVICE float kiln_max_f32(float a, float b)
{
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
#endif

/* For normal x: computed from the upper word of x, and the lower word of the result is zero (PTX ISA, rsqrt.approx.ftz.f64),
 * so to about 2^-20. */
KILN_DEVICE double kiln_seed_rsqrt_f64(double x)
{
    double result;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(x));
    return result;
}

#include "device/arithmetic.h"
#define KILN_QUOTIENT_CHOOSES
#include "device/quotient_f32.h"

/* The compiler's own division takes a branch for each quotient, and all of it again where many share a divisor. */
#undef kiln_div_f32
#undef kiln_rcp_f32
#define kiln_div_f32(a, b) kiln_quotient_f32(a, b)
#define kiln_rcp_f32(a)    kiln_quotient_f32(1.0f, a)

#endif
