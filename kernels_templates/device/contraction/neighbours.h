/*
 * Vectors of neighbours in memory. A vector's size has to be a literal, so branches choose it. LLVM 15 does not unroll a loop here.
 */
#ifndef KILN_DEVICE_CONTRACTION_NEIGHBOURS_H
#define KILN_DEVICE_CONTRACTION_NEIGHBOURS_H

#define KILN_MOVE_NEIGHBOURS(MOVE, count, from, to)                                                \
    const unsigned bytes = count * (unsigned)sizeof(Element);                                      \
    if (count == 1) {                                                                              \
        *to = *from;                                                                               \
    } else if (bytes == 16) {                                                                      \
        MOVE(16, to, from)                                                                         \
    } else if (bytes == 8) {                                                                       \
        MOVE(8, to, from)                                                                          \
    } else if (bytes == 32) {                                                                      \
        MOVE(32, to, from)                                                                         \
    } else if constexpr (sizeof(Element) >= 4) {                                                   \
        if (bytes == 64) {                                                                         \
            MOVE(64, to, from)                                                                     \
        } else {                                                                                   \
            MOVE(128, to, from)                                                                    \
        }                                                                                          \
    } else if (bytes == 4) {                                                                       \
        MOVE(4, to, from)                                                                          \
    } else if constexpr (sizeof(Element) == 1) {                                                   \
        MOVE(2, to, from)                                                                          \
    }

/* The prelude includes device/unaligned.h first if some vector may begin anywhere, and its device traps on that. */
#ifdef KILN_DEVICE_UNALIGNED_H
#define KILN_LOAD_ANYWHERE(bytes, to, from) KILN_LOAD_UNALIGNED(bytes, to, from)
#else
#define KILN_LOAD_ANYWHERE(bytes, to, from) KILN_LOAD_VECTOR(bytes, to, from)
#endif

template <class Element>
KILN_DEVICE void kiln_load_neighbours(unsigned count, const Element *from, Element *to)
{
    KILN_MOVE_NEIGHBOURS(KILN_LOAD_ANYWHERE, count, from, to)
}

template <class Element>
KILN_DEVICE void kiln_store_neighbours(unsigned count, const Element *from, Element *to)
{
    KILN_MOVE_NEIGHBOURS(KILN_STORE_VECTOR, count, from, to)
}

#endif
