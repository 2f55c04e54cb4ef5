/*
 * Accumulators of several lanes, each a row of its own, as types: what work-items exchange and merge. A file that uses one
 * says KILN_ACCUMULATOR(operation, scalar, type) or KILN_MOMENTS_ACCUMULATOR(scalar, type) first, once each.
 *
 *   kiln_<operation>_lanes_<scalar><LANES>              the accumulators
 *   kiln_<operation>_entries_<scalar><LANES, ENTRIES>   so many of them in local memory
 *   kiln_merge<IS_EVEN>(second, first)                  into the first; IS_EVEN: both have taken in as many elements
 *   kiln_exchange<IS_ORDERED, IS_EVEN>                  both work-items of a pair get the same first and second. Not IS_ORDERED:
 *                                                       which is first does not show in the merge, and each is its own first
 *   kiln_put, kiln_get                                  to and from entry `entry`
 *   kiln_get_lane                                       one lane of it
 */
#ifndef KILN_DEVICE_ACCUMULATORS_H
#define KILN_DEVICE_ACCUMULATORS_H

#define KILN_EXCHANGE(scalar, type)                                                                \
    template <bool IS_ORDERED>                                                                     \
    KILN_DEVICE void kiln_exchange_##scalar(unsigned mask, bool is_second, type &first,            \
                                            type &second)                                          \
    {                                                                                              \
        const type mine = first;                                                                   \
        const type theirs = kiln_shuffle_xor_##scalar(mine, mask);                                 \
        if constexpr (IS_ORDERED)                                                                  \
            first = is_second ? theirs : mine;                                                     \
        second = IS_ORDERED && is_second ? mine : theirs;                                          \
    }

/* One component, merged by kiln_<operation>_<scalar>. */
#define KILN_ACCUMULATOR(operation, scalar, type)                                                  \
    template <int LANES> struct kiln_##operation##_lanes_##scalar {                                \
        type value[LANES];                                                                         \
    };                                                                                             \
    template <int LANES, int ENTRIES> struct kiln_##operation##_entries_##scalar {                 \
        type value[LANES][ENTRIES];                                                                \
    };                                                                                             \
    template <bool IS_EVEN, int LANES>                                                             \
    KILN_DEVICE void kiln_merge(const kiln_##operation##_lanes_##scalar<LANES> &second,            \
                                kiln_##operation##_lanes_##scalar<LANES> &first)                   \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < LANES; e++)                                                            \
            first.value[e] = kiln_##operation##_##scalar(first.value[e], second.value[e]);         \
    }                                                                                              \
    template <bool IS_ORDERED, bool IS_EVEN, int LANES>                                            \
    KILN_DEVICE void kiln_exchange(unsigned mask, bool is_second,                                  \
                                   kiln_##operation##_lanes_##scalar<LANES> &first,                \
                                   kiln_##operation##_lanes_##scalar<LANES> &second)               \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < LANES; e++)                                                            \
            kiln_exchange_##scalar<IS_ORDERED>(mask, is_second, first.value[e], second.value[e]);  \
    }                                                                                              \
    template <int LANES, int ENTRIES>                                                              \
    KILN_DEVICE void kiln_put(const kiln_##operation##_lanes_##scalar<LANES> &lanes,               \
                              unsigned entry,                                                      \
                              kiln_##operation##_entries_##scalar<LANES, ENTRIES> &entries)        \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < LANES; e++)                                                            \
            entries.value[e][entry] = lanes.value[e];                                              \
    }                                                                                              \
    template <int LANES, int ENTRIES>                                                              \
    KILN_DEVICE void kiln_get(const kiln_##operation##_entries_##scalar<LANES, ENTRIES> &entries,  \
                              unsigned entry, kiln_##operation##_lanes_##scalar<LANES> &lanes)     \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < LANES; e++)                                                            \
            lanes.value[e] = entries.value[e][entry];                                              \
    }                                                                                              \
    template <int LANES, int ENTRIES>                                                              \
    KILN_DEVICE void kiln_get_lane(                                                                \
        const kiln_##operation##_entries_##scalar<LANES, ENTRIES> &entries, unsigned lane,         \
        unsigned entry, kiln_##operation##_lanes_##scalar<1> &one)                                 \
    {                                                                                              \
        one.value[0] = entries.value[lane][entry];                                                 \
    }

/* device/moments.h: all lanes have one count. */
#define KILN_MOMENTS_ACCUMULATOR(scalar, type)                                                     \
    template <int LANES> struct kiln_moments_lanes_##scalar {                                      \
        type count;                                                                                \
        type mean[LANES];                                                                          \
        type squares[LANES];                                                                       \
    };                                                                                             \
    template <int LANES, int ENTRIES> struct kiln_moments_entries_##scalar {                       \
        type count[ENTRIES];                                                                       \
        type mean[LANES][ENTRIES];                                                                 \
        type squares[LANES][ENTRIES];                                                              \
    };                                                                                             \
    template <bool IS_EVEN, int LANES>                                                             \
    KILN_DEVICE void kiln_merge(const kiln_moments_lanes_##scalar<LANES> &second,                  \
                                kiln_moments_lanes_##scalar<LANES> &first)                         \
    {                                                                                              \
        if constexpr (IS_EVEN) {                                                                   \
            const type half = first.count * (type)0.5;                                             \
            KILN_UNROLL                                                                            \
            for (int e = 0; e < LANES; e++)                                                        \
                kiln_moments_twin_##scalar(half, second.mean[e], second.squares[e], first.mean[e], \
                                           first.squares[e]);                                      \
        } else {                                                                                   \
            const type share = kiln_moments_share_##scalar(first.count, second.count);             \
            KILN_UNROLL                                                                            \
            for (int e = 0; e < LANES; e++)                                                        \
                kiln_moments_merge_##scalar(first.count, share, second.mean[e], second.squares[e], \
                                            first.mean[e], first.squares[e]);                      \
        }                                                                                          \
        first.count += second.count;                                                               \
    }                                                                                              \
    template <bool IS_ORDERED, bool IS_EVEN, int LANES>                                            \
    KILN_DEVICE void kiln_exchange(unsigned mask, bool is_second,                                  \
                                   kiln_moments_lanes_##scalar<LANES> &first,                      \
                                   kiln_moments_lanes_##scalar<LANES> &second)                     \
    {                                                                                              \
        if constexpr (IS_EVEN)                                                                     \
            second.count = first.count;                                                            \
        else                                                                                       \
            kiln_exchange_##scalar<IS_ORDERED>(mask, is_second, first.count, second.count);        \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < LANES; e++)                                                            \
            kiln_exchange_##scalar<IS_ORDERED>(mask, is_second, first.mean[e], second.mean[e]);    \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < LANES; e++)                                                            \
            kiln_exchange_##scalar<IS_ORDERED>(mask, is_second, first.squares[e],                  \
                                               second.squares[e]);                                 \
    }                                                                                              \
    template <int LANES, int ENTRIES>                                                              \
    KILN_DEVICE void kiln_put(const kiln_moments_lanes_##scalar<LANES> &lanes, unsigned entry,     \
                              kiln_moments_entries_##scalar<LANES, ENTRIES> &entries)              \
    {                                                                                              \
        entries.count[entry] = lanes.count;                                                        \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < LANES; e++) {                                                          \
            entries.mean[e][entry] = lanes.mean[e];                                                \
            entries.squares[e][entry] = lanes.squares[e];                                          \
        }                                                                                          \
    }                                                                                              \
    template <int LANES, int ENTRIES>                                                              \
    KILN_DEVICE void kiln_get(const kiln_moments_entries_##scalar<LANES, ENTRIES> &entries,        \
                              unsigned entry, kiln_moments_lanes_##scalar<LANES> &lanes)           \
    {                                                                                              \
        lanes.count = entries.count[entry];                                                        \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < LANES; e++) {                                                          \
            lanes.mean[e] = entries.mean[e][entry];                                                \
            lanes.squares[e] = entries.squares[e][entry];                                          \
        }                                                                                          \
    }                                                                                              \
    template <int LANES, int ENTRIES>                                                              \
    KILN_DEVICE void kiln_get_lane(const kiln_moments_entries_##scalar<LANES, ENTRIES> &entries,   \
                                   unsigned lane, unsigned entry,                                  \
                                   kiln_moments_lanes_##scalar<1> &one)                            \
    {                                                                                              \
        one.count = entries.count[entry];                                                          \
        one.mean[0] = entries.mean[lane][entry];                                                   \
        one.squares[0] = entries.squares[lane][entry];                                             \
    }

KILN_EXCHANGE(bool, bool)
KILN_EXCHANGE(i32, int)
KILN_EXCHANGE(i64, long long)
KILN_EXCHANGE(f32, float)
KILN_EXCHANGE(f64, double)
#undef KILN_EXCHANGE

#endif
