/*
 * Vector access to memory: `bytes` (a literal: 1, 2, 4, ... 128) in one access of up to 16 bytes, or several of 16.
 * Pointers need the alignment of one element only: amdhsa runs with unaligned access enabled, so that LLVM still makes
 * one wide access of a vector that claims no alignment; the host does not care.
 *
 * Macros over literal sizes, because templates over them took 2 of the 12 ms that a small kernel spends in the front end.
 */
#ifndef KILN_DEVICE_MEMORY_H
#define KILN_DEVICE_MEMORY_H

#if defined(__clang__) && !defined(KILN_DEVICE_HOST_H)

typedef unsigned kiln_words_2 __attribute__((ext_vector_type(2)));
typedef unsigned kiln_words_4 __attribute__((ext_vector_type(4)));
typedef unsigned char kiln_access_1 __attribute__((may_alias));
typedef unsigned short kiln_access_2 __attribute__((aligned(1), may_alias));
typedef unsigned kiln_access_4 __attribute__((aligned(1), may_alias));
typedef kiln_words_2 kiln_access_8 __attribute__((aligned(1), may_alias));
typedef kiln_words_4 kiln_access_16 __attribute__((aligned(1), may_alias));

#define KILN_LOAD_ONE(type, to, from, offset)                                                      \
    {                                                                                              \
        const type part = *(const type *)((const char *)(from) + (offset));                        \
        __builtin_memcpy((char *)(to) + (offset), &part, sizeof part);                             \
    }
#define KILN_STORE_ONE(type, to, from, offset)                                                     \
    {                                                                                              \
        type part;                                                                                 \
        __builtin_memcpy(&part, (const char *)(from) + (offset), sizeof part);                     \
        *(type *)((char *)(to) + (offset)) = part;                                                 \
    }
#define KILN_ACCESS_1(access, to, from, offset)  access(kiln_access_1, to, from, offset)
#define KILN_ACCESS_2(access, to, from, offset)  access(kiln_access_2, to, from, offset)
#define KILN_ACCESS_4(access, to, from, offset)  access(kiln_access_4, to, from, offset)
#define KILN_ACCESS_8(access, to, from, offset)  access(kiln_access_8, to, from, offset)
#define KILN_ACCESS_16(access, to, from, offset) access(kiln_access_16, to, from, offset)
#define KILN_ACCESS_32(access, to, from, offset)                                                   \
    KILN_ACCESS_16(access, to, from, offset) KILN_ACCESS_16(access, to, from, (offset) + 16)
#define KILN_ACCESS_64(access, to, from, offset)                                                   \
    KILN_ACCESS_32(access, to, from, offset) KILN_ACCESS_32(access, to, from, (offset) + 32)
#define KILN_ACCESS_128(access, to, from, offset)                                                  \
    KILN_ACCESS_64(access, to, from, offset) KILN_ACCESS_64(access, to, from, (offset) + 64)

#define KILN_LOAD_VECTOR(bytes, to, from)  KILN_ACCESS_##bytes(KILN_LOAD_ONE, to, from, 0)
#define KILN_STORE_VECTOR(bytes, to, from) KILN_ACCESS_##bytes(KILN_STORE_ONE, to, from, 0)

#else

#define KILN_LOAD_VECTOR(bytes, to, from)  __builtin_memcpy(to, from, bytes);
#define KILN_STORE_VECTOR(bytes, to, from) __builtin_memcpy(to, from, bytes);

#endif

#endif
