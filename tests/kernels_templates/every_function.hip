/*
 * Uses every function of kernels_templates/device in a kernel, so that a compiler for any target shows that they compile,
 * that nothing is called and that no scratch memory is needed. Compiled, never run.
 */
#define KILN_BLOCK 64
#ifndef KILN_WAVE_SIZE
#define KILN_WAVE_SIZE 64
#endif
#include "device/device.h"

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
#include "device/math/cos_f32.h"
#include "device/math/cos_f64.h"
#include "device/math/div_up_f32.h"
#include "device/math/div_up_f64.h"
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
#include "device/math/round_up.h"
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
#include "device/memory.h"
#include "device/moments.h"

template <class To, class From> struct mapping {
    const From *from;
    To *to;
};

/* result[i] = expression(x), eight elements per work-item. */
#define MAP(name, To, From, expression)                                                            \
    KILN_KERNEL(name, KILN_BLOCK, mapping<To KILN_COMMA From>)                                     \
    {                                                                                              \
        const unsigned first = (kiln_work_group_x() * KILN_BLOCK + kiln_work_item()) * 8;          \
        From in[8];                                                                                \
        To out[8];                                                                                 \
        KILN_UNROLL                                                                                \
        for (int i = 0; i < 8; i++)                                                                \
            in[i] = arguments.from[first + i];                                                     \
        KILN_UNROLL                                                                                \
        for (int i = 0; i < 8; i++) {                                                              \
            const From x = in[i];                                                                  \
            out[i] = expression;                                                                   \
        }                                                                                          \
        KILN_UNROLL                                                                                \
        for (int i = 0; i < 8; i++)                                                                \
            arguments.to[first + i] = out[i];                                                      \
    }

#define UNARY(text, scalar, type) MAP(map_##text##_##scalar, type, type, kiln_##text##_##scalar(x))
#define BINARY(text, scalar, type)                                                                 \
    MAP(map_##text##_##scalar, type, type, kiln_##text##_##scalar(x, in[7 - i]))
#define COMPARE(text, scalar, type)                                                                \
    MAP(map_##text##_##scalar, unsigned char, type, kiln_##text##_##scalar(x, in[7 - i]))
#define CONVERT(from, from_type, to, to_type)                                                      \
    MAP(map_convert_##from##_##to, to_type, from_type, kiln_convert_##from##_##to(x))
#define STORAGE(device, scalar, type)                                                              \
    MAP(map_decode_##device, type, kiln_storage_##device, kiln_decode_##device(x))                 \
    MAP(map_encode_##device, kiln_storage_##device, type, kiln_encode_##device(x))
#define ROUND(device, scalar, type)                                                                \
    MAP(map_round_##device##_##scalar, type, type, kiln_round_##device##_##scalar(x))

#define ANY_SCALAR(scalar, type)                                                                   \
    COMPARE(eq, scalar, type)                                                                      \
    COMPARE(ne, scalar, type)                                                                      \
    COMPARE(lt, scalar, type)                                                                      \
    COMPARE(le, scalar, type)                                                                      \
    COMPARE(gt, scalar, type)                                                                      \
    COMPARE(ge, scalar, type)                                                                      \
    MAP(map_select_##scalar, type, type, kiln_select_##scalar(x < in[0], x, in[7 - i]))            \
    CONVERT(scalar, type, bool, bool)                                                              \
    CONVERT(scalar, type, i32, int)                                                                \
    CONVERT(scalar, type, i64, long long)                                                          \
    CONVERT(scalar, type, f32, float)                                                              \
    CONVERT(scalar, type, f64, double)                                                             \
    MAP(map_shuffle_##scalar, type, type, kiln_shuffle_xor_##scalar(x, 1u << i % 6))
#define NUMBER(scalar, type)                                                                       \
    ANY_SCALAR(scalar, type)                                                                       \
    UNARY(neg, scalar, type)                                                                       \
    UNARY(abs, scalar, type)                                                                       \
    BINARY(add, scalar, type)                                                                      \
    BINARY(sub, scalar, type)                                                                      \
    BINARY(mul, scalar, type)                                                                      \
    BINARY(min, scalar, type)                                                                      \
    BINARY(max, scalar, type)
#define FLOAT(scalar, type)                                                                        \
    NUMBER(scalar, type)                                                                           \
    BINARY(div, scalar, type)                                                                      \
    BINARY(div_shared, scalar, type)                                                               \
    UNARY(rcp, scalar, type)                                                                       \
    UNARY(ceil, scalar, type)                                                                      \
    UNARY(floor, scalar, type)                                                                     \
    UNARY(sqrt, scalar, type)                                                                      \
    UNARY(rsqrt, scalar, type)                                                                     \
    UNARY(exp, scalar, type)                                                                       \
    UNARY(exp2, scalar, type)                                                                      \
    UNARY(expm1, scalar, type)                                                                     \
    UNARY(log, scalar, type)                                                                       \
    UNARY(log1p, scalar, type)                                                                     \
    UNARY(sin, scalar, type)                                                                       \
    UNARY(cos, scalar, type)                                                                       \
    UNARY(tan, scalar, type)                                                                       \
    UNARY(sigmoid, scalar, type)                                                                   \
    UNARY(tanh, scalar, type)                                                                      \
    UNARY(erf, scalar, type)                                                                       \
    UNARY(normal_cdf, scalar, type)                                                                \
    ROUND(f16, scalar, type)                                                                       \
    ROUND(bf16, scalar, type)                                                                      \
    ROUND(f8e4m3, scalar, type)                                                                    \
    ROUND(f8e5m2, scalar, type)                                                                    \
    ROUND(f8e4m3fnuz, scalar, type)                                                                \
    ROUND(f8e5m2fnuz, scalar, type)                                                                \
    ROUND(e8m0, scalar, type)                                                                      \
    ROUND(f4e2m1, scalar, type)                                                                    \
    ROUND(f6e2m3, scalar, type)                                                                    \
    ROUND(f6e3m2, scalar, type)                                                                    \
    MOMENTS(scalar, type)

/* in[7] is a count, in[6] a mean and in[5] squares. */
#define MOMENTS(scalar, type)                                                                      \
    MAP(map_moments_update_##scalar, type, type,                                                   \
        (kiln_moments_update_##scalar(x, in[7], in[6], in[5]), in[6] + in[5]))                     \
    MAP(map_moments_twin_##scalar, type, type,                                                     \
        (kiln_moments_twin_##scalar(in[7], x, in[0], in[6], in[5]), in[6] + in[5]))                \
    MAP(map_moments_merge_##scalar, type, type,                                                    \
        (kiln_moments_merge_##scalar(in[7], kiln_moments_share_##scalar(in[7], in[1]), x, in[0],   \
                                     in[6], in[5]),                                                \
         in[6] + in[5]))

#define KILN_COMMA ,
ANY_SCALAR(bool, bool)
NUMBER(i32, int)
NUMBER(i64, long long)
FLOAT(f32, float)
FLOAT(f64, double)
BINARY(div_up, f32, float)
BINARY(div_up, f64, double)
UNARY(round_up_f32, f32, float)
UNARY(round_up_f16, f32, float)
UNARY(round_up_bf16, f32, float)
UNARY(round_up_e8m0, f32, float)
UNARY(round_up_f32, f64, double)
UNARY(round_up_f16, f64, double)
UNARY(round_up_bf16, f64, double)
UNARY(round_up_e8m0, f64, double)
BINARY(and, bool, bool)
BINARY(or, bool, bool)
UNARY(not, bool, bool)
STORAGE(f32, f32, float)
STORAGE(f16, f32, float)
STORAGE(bf16, f32, float)
STORAGE(f64, f64, double)
STORAGE(u8, i32, int)
STORAGE(i32, i32, int)
STORAGE(i8, i32, int)
STORAGE(f8e4m3, f32, float)
STORAGE(f8e5m2, f32, float)
STORAGE(f8e4m3fnuz, f32, float)
STORAGE(f8e5m2fnuz, f32, float)
STORAGE(e8m0, f32, float)
STORAGE(f4e2m1, f32, float)
STORAGE(f6e2m3, f32, float)
STORAGE(f6e3m2, f32, float)
STORAGE(i4, i32, int)
STORAGE(i64, i64, long long)
STORAGE(bool, bool, bool)
ROUND(i8, i32, int)
ROUND(i4, i32, int)
ROUND(u8, i32, int)

KILN_KERNEL(reverse_through_lds, KILN_BLOCK, mapping<float KILN_COMMA float>)
{
    KILN_LDS(float, line, KILN_BLOCK);
    const unsigned item = kiln_work_item();
    const unsigned group =
        kiln_work_group_x() + kiln_work_group_y() * 4 + kiln_work_group_z() * 16;
    line[item] = arguments.from[group * KILN_BLOCK + item];
    kiln_barrier();
    arguments.to[group * KILN_BLOCK + item] = line[KILN_BLOCK - 1 - item];
}

/* Accesses of every size from 8 bytes up over every element size, and smaller ones. */
#define COPY(bytes, device)                                                                        \
    KILN_KERNEL(copy_##device##_##bytes, KILN_BLOCK,                                               \
                mapping<kiln_storage_##device KILN_COMMA kiln_storage_##device>)                   \
    {                                                                                              \
        const unsigned index = kiln_work_group_x() * KILN_BLOCK + kiln_work_item();                \
        constexpr unsigned count = bytes / sizeof(kiln_storage_##device);                          \
        kiln_storage_##device elements[count];                                                     \
        KILN_LOAD_VECTOR(bytes, elements, arguments.from + index * count)                          \
        KILN_STORE_VECTOR(bytes, arguments.to + index * count, elements)                           \
    }
#define COPIES(device)                                                                             \
    COPY(16, device)                                                                               \
    COPY(32, device)                                                                               \
    COPY(64, device)                                                                               \
    COPY(128, device)
COPY(2, u8)
COPY(4, u8)
COPY(8, u8)
COPIES(u8)
COPY(4, f16)
COPY(8, f16)
COPIES(f16)
COPY(8, bf16)
COPIES(bf16)
COPY(8, f32)
COPIES(f32)
COPIES(f64)

#ifdef __CUDACC__
#include "device/unaligned.h"
#define COPY_UNALIGNED(bytes, device)                                                              \
    KILN_KERNEL(copy_unaligned_##device##_##bytes, KILN_BLOCK,                                     \
                mapping<kiln_storage_##device KILN_COMMA kiln_storage_##device>)                   \
    {                                                                                              \
        const unsigned index = kiln_work_group_x() * KILN_BLOCK + kiln_work_item();                \
        constexpr unsigned count = bytes / sizeof(kiln_storage_##device);                          \
        kiln_storage_##device elements[count];                                                     \
        KILN_LOAD_UNALIGNED(bytes, elements, arguments.from + index * count + 1)                   \
        KILN_STORE_UNALIGNED(bytes, arguments.to + index * count + 1, elements)                    \
    }
COPY_UNALIGNED(2, u8)
COPY_UNALIGNED(4, u8)
COPY_UNALIGNED(8, u8)
COPY_UNALIGNED(16, u8)
COPY_UNALIGNED(16, bf16)
COPY_UNALIGNED(32, f32)
COPY_UNALIGNED(32, f64)
#endif

/* Vectors of packed elements, in accesses of each size. */
#define PACKED(bits, count, step)                                                                  \
    KILN_KERNEL(packed_##bits##_##step, KILN_BLOCK,                                                \
                mapping<unsigned char KILN_COMMA unsigned char>)                                   \
    {                                                                                              \
        const unsigned index =                                                                     \
            (kiln_work_group_x() * KILN_BLOCK + kiln_work_item()) * (bits * count / 8);            \
        unsigned char codes[count];                                                                \
        kiln_load_packed<bits, count, step>(arguments.from + index, codes);                        \
        kiln_store_packed<bits, count, step>(arguments.to + index, codes);                         \
    }
PACKED(4, 2, 1)
PACKED(4, 4, 2)
PACKED(4, 8, 4)
PACKED(4, 16, 8)
PACKED(4, 32, 16)
PACKED(6, 4, 1)
PACKED(6, 8, 2)
PACKED(6, 16, 4)
PACKED(6, 32, 8)
PACKED(6, 64, 16)
