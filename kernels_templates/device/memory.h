/*
 * Vector access to memory: N elements in one access of up to 16 bytes, or several of 16 bytes.
 * Pointers need the alignment of one element only (amdhsa runs with unaligned access enabled; so
 * does the host).
 */
#ifndef KILN_DEVICE_MEMORY_H
#define KILN_DEVICE_MEMORY_H

#if defined(__clang__) && !defined(KILN_DEVICE_HOST_H)

/* A vector type of Bytes bytes with the alignment of T: of 4-byte words, or of T where there is no
 * whole word. */
template <class T, int Bytes, bool HasWords> struct kiln_access_type {
    typedef T vector __attribute__((ext_vector_type(Bytes / (int)sizeof(T))));
    typedef vector type __attribute__((aligned(sizeof(T)), may_alias));
};

template <class T, int Bytes> struct kiln_access_type<T, Bytes, true> {
    typedef unsigned vector __attribute__((ext_vector_type(Bytes / 4)));
    typedef vector type __attribute__((aligned(sizeof(T)), may_alias));
};

template <int N, class T> KILN_DEVICE void kiln_load_vector(const T *pointer, T (&out)[N])
{
    constexpr int whole = N * (int)sizeof(T);
    constexpr int bytes = whole < 16 ? whole : 16;
    constexpr int elements = bytes / (int)sizeof(T);
    typedef typename kiln_access_type<T, bytes, bytes % 4 == 0>::type access;
    typedef T lanes __attribute__((ext_vector_type(elements)));
    KILN_UNROLL
    for (int i = 0; i < N; i += elements) {
        const lanes part = __builtin_bit_cast(lanes, *(const access *)(pointer + i));
        KILN_UNROLL
        for (int e = 0; e < elements; e++)
            out[i + e] = part[e];
    }
}

template <int N, class T> KILN_DEVICE void kiln_store_vector(T *pointer, const T (&in)[N])
{
    constexpr int whole = N * (int)sizeof(T);
    constexpr int bytes = whole < 16 ? whole : 16;
    constexpr int elements = bytes / (int)sizeof(T);
    typedef typename kiln_access_type<T, bytes, bytes % 4 == 0>::vector vector;
    typedef typename kiln_access_type<T, bytes, bytes % 4 == 0>::type access;
    typedef T lanes __attribute__((ext_vector_type(elements)));
    KILN_UNROLL
    for (int i = 0; i < N; i += elements) {
        lanes part;
        KILN_UNROLL
        for (int e = 0; e < elements; e++)
            part[e] = in[i + e];
        *(access *)(pointer + i) = __builtin_bit_cast(vector, part);
    }
}

#else

template <int N, class T> KILN_DEVICE void kiln_load_vector(const T *pointer, T (&out)[N])
{
    __builtin_memcpy(out, pointer, sizeof out);
}

template <int N, class T> KILN_DEVICE void kiln_store_vector(T *pointer, const T (&in)[N])
{
    __builtin_memcpy(pointer, in, sizeof in);
}

#endif

#endif
