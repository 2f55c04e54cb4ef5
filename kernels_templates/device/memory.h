/*
 * Vector access to memory: `bytes` (a literal: 2, 4, ... 128; at least two
 * elements) in one access of up to 16 bytes, or several of 16.
 * Pointers need the alignment of one element only: amdhsa runs with unaligned access enabled, so that LLVM still makes
 * one wide access of a vector that claims no alignment; the host does not care. CUDA traps: there a pointer needs the alignment
 * of the whole access, up to 16 (compiler/schedule/vector_access.h); device/unaligned.h does without it.
 *
 * Their own names begin with kiln_, since arguments may name anything.
 * Macros over literal sizes, because templates over them took 2 of the 12 ms that a small kernel spends in the front end.
 */
#ifndef KILN_DEVICE_MEMORY_H
#define KILN_DEVICE_MEMORY_H

#if defined(__CUDACC__)

typedef unsigned short kiln_words_of_2;
typedef unsigned kiln_words_of_4;
typedef uint2 kiln_words_of_8;
typedef uint4 kiln_words_of_16;

#define KILN_LOAD_ONE(bytes, to, from, offset)                                                     \
    {                                                                                              \
        const kiln_words_of_##bytes kiln_words =                                                   \
            *(const kiln_words_of_##bytes *)((const char *)(from) + (offset));                     \
        __builtin_memcpy((char *)(to) + (offset), &kiln_words, bytes);                             \
    }
#define KILN_STORE_ONE(bytes, to, from, offset)                                                    \
    {                                                                                              \
        kiln_words_of_##bytes kiln_words;                                                          \
        __builtin_memcpy(&kiln_words, (const char *)(from) + (offset), bytes);                     \
        *(kiln_words_of_##bytes *)((char *)(to) + (offset)) = kiln_words;                          \
    }
#define KILN_HIDE_ONE(bytes, to, from, offset)                                                     \
    {                                                                                              \
        unsigned kiln_words[(bytes) / 4];                                                          \
        __builtin_memcpy(kiln_words, (char *)(to) + (offset), bytes);                              \
        KILN_UNROLL                                                                                \
        for (int kiln_word = 0; kiln_word < (bytes) / 4; kiln_word++)                              \
            asm("" : "+r"(kiln_words[kiln_word]));                                                 \
        __builtin_memcpy((char *)(to) + (offset), kiln_words, bytes);                              \
    }
/* Past the cache of the multiprocessor. */
#define KILN_STREAM_ONE(bytes, to, from, offset)                                                   \
    {                                                                                              \
        const kiln_words_of_##bytes kiln_words =                                                   \
            __ldcg((const kiln_words_of_##bytes *)((const char *)(from) + (offset)));              \
        __builtin_memcpy((char *)(to) + (offset), &kiln_words, bytes);                             \
    }

#elif defined(__clang__) && !defined(KILN_DEVICE_HOST_H)

typedef unsigned short kiln_words_of_2;
typedef unsigned kiln_words_of_4;
typedef unsigned kiln_words_of_8 __attribute__((ext_vector_type(2)));
typedef unsigned kiln_words_of_16 __attribute__((ext_vector_type(4)));
typedef kiln_words_of_2 kiln_access_2 __attribute__((aligned(1), may_alias));
typedef kiln_words_of_4 kiln_access_4 __attribute__((aligned(1), may_alias));
typedef kiln_words_of_8 kiln_access_8 __attribute__((aligned(1), may_alias));
typedef kiln_words_of_16 kiln_access_16 __attribute__((aligned(1), may_alias));
typedef kiln_words_of_2 kiln_local_2 __attribute__((may_alias));
typedef kiln_words_of_4 kiln_local_4 __attribute__((may_alias));
typedef kiln_words_of_8 kiln_local_8 __attribute__((may_alias));
typedef kiln_words_of_16 kiln_local_16 __attribute__((may_alias));

/* Between memory and the array the bytes are a vector of the array's own elements: as words, LLVM 15 would keep an array of
 * 16-bit elements in memory, and put that into LDS. */
#define KILN_LANES(bytes, element)                                                                 \
    typedef __typeof__(element)                                                                    \
        kiln_lanes __attribute__((ext_vector_type((bytes) / (int)sizeof(element))))
#define KILN_LOAD_AS(type, bytes, to, from, offset)                                                \
    {                                                                                              \
        KILN_LANES(bytes, (to)[0]);                                                                \
        const kiln_lanes kiln_elements =                                                           \
            __builtin_bit_cast(kiln_lanes, *(const type *)((const char *)(from) + (offset)));      \
        __builtin_memcpy((char *)(to) + (offset), &kiln_elements, bytes);                          \
    }
#define KILN_STORE_AS(type, bytes, to, from, offset)                                               \
    {                                                                                              \
        KILN_LANES(bytes, (to)[0]);                                                                \
        kiln_lanes kiln_elements;                                                                  \
        __builtin_memcpy(&kiln_elements, (const char *)(from) + (offset), bytes);                  \
        *(type *)((char *)(to) + (offset)) = __builtin_bit_cast(kiln_words_of_##bytes, kiln_elements); \
    }
#define KILN_HIDE_ONE(bytes, to, from, offset)                                                     \
    {                                                                                              \
        KILN_LANES(bytes, (to)[0]);                                                                \
        kiln_lanes kiln_elements;                                                                  \
        __builtin_memcpy(&kiln_elements, (char *)(to) + (offset), bytes);                          \
        kiln_words_of_##bytes kiln_words =                                                         \
            __builtin_bit_cast(kiln_words_of_##bytes, kiln_elements);                              \
        __asm__("" : "+v"(kiln_words));                                                            \
        kiln_elements = __builtin_bit_cast(kiln_lanes, kiln_words);                                \
        __builtin_memcpy((char *)(to) + (offset), &kiln_elements, bytes);                          \
    }
#define KILN_LOAD_ONE(bytes, to, from, offset)                                                     \
    KILN_LOAD_AS(kiln_access_##bytes, bytes, to, from, offset)
#define KILN_STORE_ONE(bytes, to, from, offset)                                                    \
    KILN_STORE_AS(kiln_access_##bytes, bytes, to, from, offset)
#define KILN_LOAD_LOCAL_ONE(bytes, to, from, offset)                                               \
    KILN_LOAD_AS(kiln_local_##bytes, bytes, to, from, offset)
#define KILN_STORE_LOCAL_ONE(bytes, to, from, offset)                                              \
    KILN_STORE_AS(kiln_local_##bytes, bytes, to, from, offset)

#endif

#ifdef KILN_LOAD_ONE

#define KILN_ACCESS_2(access, to, from, offset)  access(2, to, from, offset)
#define KILN_ACCESS_4(access, to, from, offset)  access(4, to, from, offset)
#define KILN_ACCESS_8(access, to, from, offset)  access(8, to, from, offset)
#define KILN_ACCESS_16(access, to, from, offset) access(16, to, from, offset)
#define KILN_ACCESS_32(access, to, from, offset)                                                   \
    KILN_ACCESS_16(access, to, from, offset) KILN_ACCESS_16(access, to, from, (offset) + 16)
#define KILN_ACCESS_64(access, to, from, offset)                                                   \
    KILN_ACCESS_32(access, to, from, offset) KILN_ACCESS_32(access, to, from, (offset) + 32)
#define KILN_ACCESS_128(access, to, from, offset)                                                  \
    KILN_ACCESS_64(access, to, from, offset) KILN_ACCESS_64(access, to, from, (offset) + 64)

#ifndef KILN_STREAM_ONE
#define KILN_STREAM_ONE KILN_LOAD_ONE
#endif
#ifndef KILN_LOAD_LOCAL_ONE
#define KILN_LOAD_LOCAL_ONE  KILN_LOAD_ONE
#define KILN_STORE_LOCAL_ONE KILN_STORE_ONE
#endif

#define KILN_LOAD_VECTOR(bytes, to, from)  KILN_ACCESS_##bytes(KILN_LOAD_ONE, to, from, 0)
#define KILN_STORE_VECTOR(bytes, to, from) KILN_ACCESS_##bytes(KILN_STORE_ONE, to, from, 0)
/* The same of local memory, of up to 16 bytes and aligned to all of them. */
#define KILN_LOAD_LOCAL(bytes, to, from)   KILN_ACCESS_##bytes(KILN_LOAD_LOCAL_ONE, to, from, 0)
#define KILN_STORE_LOCAL(bytes, to, from)  KILN_ACCESS_##bytes(KILN_STORE_LOCAL_ONE, to, from, 0)

#else

#define KILN_LOAD_VECTOR(bytes, to, from)  __builtin_memcpy(to, from, bytes);
#define KILN_STORE_VECTOR(bytes, to, from) __builtin_memcpy(to, from, bytes);
#define KILN_LOAD_LOCAL(bytes, to, from)   __builtin_memcpy(to, from, bytes);
#define KILN_STORE_LOCAL(bytes, to, from)  __builtin_memcpy(to, from, bytes);

#endif

/* A vector of an operand while it waits to be used: KILN_INPUT declares a member, KILN_LOAD_INPUT fills it. On the host, whose
 * caches hold what registers would on a GPU, it stays where it is in memory: gcc would copy it to the stack and back.
 * KILN_LOAD_STREAM is for an operand that is large and that hardly anybody else reads at the time: it leaves the nearest cache to what
 * is read again, such as the scale and bias of a norm.
 * KILN_HIDE_INPUT makes the compiler forget what it has computed of a vector of at least 4 bytes, so that a kernel that keeps the
 * vector does not keep its elements as floats instead. */
#ifdef KILN_LOAD_ONE
#define KILN_INPUT(type, name, count)    type name[count]
#define KILN_LOAD_INPUT(bytes, to, from)  KILN_LOAD_VECTOR(bytes, to, from)
#define KILN_LOAD_STREAM(bytes, to, from) KILN_ACCESS_##bytes(KILN_STREAM_ONE, to, from, 0)
#define KILN_HIDE_INPUT(bytes, array)     KILN_ACCESS_##bytes(KILN_HIDE_ONE, array, array, 0)
#else
#define KILN_INPUT(type, name, count)    const type *name
#define KILN_LOAD_INPUT(bytes, to, from)  (to) = (from);
#define KILN_LOAD_STREAM(bytes, to, from) (to) = (from);
#endif

#endif
