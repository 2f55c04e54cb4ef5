/*
 * device/unaligned.h: every byte of a warp's vectors is loaded and stored, no other byte is stored,
 * and every access is aligned to its size and lies in a 16-byte piece of memory that a vector
 * needs. The lanes of a warp run one after the other, three times: what a lane has given to an
 * exchange is known in the next run.
 */
#include <cstdio>
#include <cstring>

namespace {

struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
typedef unsigned kiln_words_of_4;
typedef uint2 kiln_words_of_8;
typedef uint4 kiln_words_of_16;

#define KILN_DEVICE static inline
#define KILN_UNROLL

enum { LANES = 32, EXCHANGES = 16, RUNS = 3, MEMORY_BYTES = 4096 };

unsigned active;
unsigned lane_now;
unsigned exchange_now; /* of the lane */
unsigned long long given[EXCHANGES][LANES], taken[EXCHANGES][LANES];

unsigned kiln_lane()
{
    return lane_now;
}

unsigned __activemask()
{
    return active;
}

unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}

/* A lane that takes no part gives an arbitrary value. */
template <class T> T __shfl_down_sync(unsigned lanes, T value, unsigned distance)
{
    const unsigned from = lane_now + distance;
    given[exchange_now][lane_now] = value;
    const bool is_there = from < LANES && (lanes >> from & 1) != 0;
    const unsigned long long other = is_there ? taken[exchange_now][from] : 0x5a5a5a5a5a5a5a5a;
    exchange_now++;
    return (T)other;
}

unsigned __ballot_sync(unsigned lanes, bool value)
{
    unsigned ballot = 0;
    given[exchange_now][lane_now] = value;
    for (unsigned i = 0; i < LANES; i++)
        ballot |= (lanes >> i & 1) != 0 && taken[exchange_now][i] != 0 ? 1u << i : 0;
    exchange_now++;
    return ballot;
}

#include "device/unaligned.h"

alignas(16) unsigned char memory[MEMORY_BYTES];
unsigned mistakes;

void expect(bool is_so, const char *what, int bytes, int element, unsigned begin)
{
    if (is_so)
        return;
    mistakes++;
    std::printf("%s: vectors of %d bytes, elements of %d, from byte %u\n", what, bytes, element,
                begin);
}

/* Lanes of `mask` store vectors of their own bytes; every `length` of them follow each other. */
template <int bytes, int element>
void store(unsigned begin, unsigned length, unsigned gap, unsigned mask)
{
    unsigned char expected[MEMORY_BYTES];
    std::memset(expected, 0xee, sizeof expected);
    std::memset(taken, 0, sizeof taken);
    active = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        const unsigned at = begin + lane * bytes + lane / length * gap;
        /* Aligned vectors do not take part in exchanges. */
        if ((mask >> lane & 1) != 0 && at % (bytes < 16 ? bytes : 16) != 0)
            active |= 1u << lane;
    }
    for (int run = 0; run < RUNS; run++) {
        std::memset(memory, 0xee, sizeof memory);
        for (lane_now = 0; lane_now < LANES; lane_now++) {
            unsigned char data[bytes];
            const unsigned at = begin + lane_now * bytes + lane_now / length * gap;
            if ((mask >> lane_now & 1) == 0)
                continue;
            for (int i = 0; i < bytes; i++)
                data[i] = expected[at + (unsigned)i] =
                    (unsigned char)(lane_now * 7 + (unsigned)i * 3);
            exchange_now = 0;
            kiln_store_unaligned<bytes, element>(memory + at, data);
        }
        std::memcpy(taken, given, sizeof taken);
    }
    expect(std::memcmp(memory, expected, sizeof memory) == 0, "store", bytes, element, begin);
}

template <int bytes, int element> void load(unsigned begin)
{
    unsigned char data[bytes];
    for (unsigned i = 0; i < MEMORY_BYTES; i++)
        memory[i] = (unsigned char)(i * 5 + 1);
    kiln_load_unaligned<bytes, element>(data, memory + begin);
    expect(std::memcmp(data, memory + begin, bytes) == 0, "load", bytes, element, begin);
}

/* Bytes of a vector that lie in the memory are right, wherever the vector begins. */
template <int bytes, int element> void load_within(unsigned begin)
{
    enum { END = 3 * bytes + 3 * element };
    unsigned char *within = memory + 512 + begin;
    for (unsigned i = 0; i < MEMORY_BYTES; i++)
        memory[i] = (unsigned char)(i * 5 + 1);
    for (int at = -2 * bytes; at < END + 2 * bytes; at += element) {
        unsigned char data[bytes];
        bool is_right = true;
        kiln_load_unaligned_within<bytes, element>(data, within, at, (int)END);
        for (int i = 0; i < bytes; i++)
            is_right &= at + i < 0 || at + i >= END || data[i] == within[at + i];
        expect(is_right, "load within", bytes, element, begin);
    }
}

template <int bytes, int element> void check()
{
    for (unsigned begin = 0; begin < 32; begin += element) {
        load<bytes, element>(begin);
        load_within<bytes, element>(begin);
        for (unsigned length = 1; length <= LANES; length *= 2) {
            for (unsigned gap = 0; gap <= 3 * element; gap += element) {
                store<bytes, element>(begin, length, gap, 0xffffffffu);
                store<bytes, element>(begin, length, gap, 0xfff7e7f3u);
            }
        }
    }
}

} // namespace

int main()
{
    check<2, 1>();
    check<4, 1>();
    check<8, 1>();
    check<16, 1>();
    check<4, 2>();
    check<8, 2>();
    check<16, 2>();
    check<32, 2>();
    check<8, 4>();
    check<16, 4>();
    check<32, 4>();
    check<16, 8>();
    check<32, 8>();
    if (mistakes == 0)
        std::printf("vectors at any multiple of an element: as expected\n");
    return mistakes != 0;
}
