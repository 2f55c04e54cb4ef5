/*
 * device/contraction/divide.h and find_phase.h: quotients by reciprocals against the processor's
 * division, with divisors that the host makes and that the device does, and phases against a
 * search.
 */
#include "device/host.h"

#include "device/contraction/divide.h"
#include "device/contraction/find_phase.h"

#include "compiler/schedule/divisor.h"

#include <climits>
#include <cstdio>
#include <cstdlib>

namespace {

unsigned long mistakes;
unsigned long comparisons;

void expect(bool is_right, const char *what, long long a, long long b, long long got)
{
    comparisons++;
    if (is_right)
        return;
    if (mistakes++ < 20)
        std::printf("%s of %lld and %lld: got %lld\n", what, a, b, got);
}

void check_quotient(unsigned n, long long divisor, unsigned size)
{
    const unsigned got = kiln_divide(n, divisor);
    expect(got == n / size, "quotient", n, size, got);
}

/* All that is below 2^31. */
void check_quotients(unsigned size)
{
    const long long divisor = kiln_divisor_argument(size);
    const unsigned most = INT_MAX, whole = most / size * size;
    expect(kiln_make_divisor(size) == divisor, "divisor", size, 0, kiln_make_divisor(size));
    for (unsigned n = 0; n < 40; n++) {
        check_quotient(n, divisor, size);
        check_quotient(most - n, divisor, size);
        check_quotient(whole - (n < whole ? n : 0), divisor, size);
        check_quotient(size - 1 + (n < most - size ? n : 0), divisor, size);
        for (unsigned power = 6; power < 31; power++) {
            const unsigned near = (1u << power) - 20 + n;
            check_quotient(near, divisor, size);
            check_quotient(near / size * size, divisor, size);
            check_quotient(near / size * size + size - 1 > most ? most
                                                                : near / size * size + size - 1,
                           divisor, size);
        }
    }
}

void check_divisors()
{
    for (unsigned size = 1; size <= 300; size++)
        check_quotients(size);
    for (unsigned power = 9; power < 31; power++)
        for (unsigned size = (1u << power) - 2; size <= (1u << power) + 2; size++)
            check_quotients(size);
    for (unsigned size = INT_MAX - 2u; size <= INT_MAX; size++)
        check_quotients(size);
    unsigned long long state = 1;
    for (int i = 0; i < 2000; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        check_quotients(1 + (unsigned)(state >> 33) % INT_MAX);
    }
}

int greatest_divisor(int a, int b)
{
    return b == 0 ? std::abs(a) : greatest_divisor(b, a % b);
}

/* Its taps are those with a whole coordinate, in order, and no others. */
void check_phase(int coordinate, int step, int divisor, int taps)
{
    const int spread = divisor / greatest_divisor(divisor, step);
    const kiln_phase phase =
        kiln_find_phase(coordinate, step, divisor, (unsigned)taps, (unsigned)spread);
    int found = 0;
    expect(phase.count >= 1, "taps of a phase", coordinate, step, phase.count);
    for (int tap = 0; tap < taps; tap++) {
        const int at = coordinate + step * tap;
        if (at % divisor != 0)
            continue;
        expect(!phase.is_empty && tap == (int)phase.first + found * spread, "tap", coordinate, step,
               tap);
        expect(at / divisor == phase.at + found * (step * spread / divisor), "coordinate",
               coordinate, step, phase.at);
        found++;
    }
    expect(phase.is_empty ? found == 0 : found == (int)phase.count, "number of taps", coordinate,
           step, phase.count);
}

void check_phases()
{
    for (int divisor = 1; divisor <= 6; divisor++)
        for (int step = -7; step <= 7; step++)
            for (int taps = 1; taps <= 8; taps++)
                for (int coordinate = -13; coordinate <= 13; coordinate++)
                    if (step != 0)
                        check_phase(coordinate, step, divisor, taps);
}

} // namespace

int main()
{
    check_divisors();
    check_phases();
    std::printf("%lu comparisons, %lu mistakes\n", comparisons, mistakes);
    return mistakes == 0 && comparisons > 1000000 ? 0 : 1;
}
