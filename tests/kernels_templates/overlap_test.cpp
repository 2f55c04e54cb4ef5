/*
 * device/contraction/overlap.h: of the packs that are made between products, each is made once, and
 * each product is computed once.
 */
#include "device/host.h"

#include <cstdio>

#define KILN_LEFT_PACKS  5
#define KILN_RIGHT_PACKS 2

namespace {

/* Everything counts how often it was made or computed. */
typedef unsigned kiln_pack;
typedef unsigned kiln_fragment;
typedef unsigned kiln_mma_sums;
struct kiln_arguments {};
struct kiln_left_stage {};
struct kiln_right_stage {};

void kiln_multiply_add(kiln_mma_sums &sum, kiln_fragment, kiln_fragment)
{
    sum++;
}

template <unsigned SHARE, unsigned SHARES, unsigned COUNT> void make(kiln_pack (&packs)[COUNT])
{
    for (unsigned n = SHARE * COUNT / SHARES; n < (SHARE + 1) * COUNT / SHARES; n++)
        packs[n]++;
}

template <unsigned SHARE, unsigned SHARES>
void kiln_left_make(const kiln_arguments &, const kiln_left_stage &,
                    kiln_pack (&packs)[KILN_LEFT_PACKS])
{
    make<SHARE, SHARES>(packs);
}

template <unsigned SHARE, unsigned SHARES>
void kiln_right_make(const kiln_arguments &, const kiln_right_stage &,
                     kiln_pack (&packs)[KILN_RIGHT_PACKS])
{
    make<SHARE, SHARES>(packs);
}

#include "device/contraction/overlap.h"

unsigned mistakes;

void expect(const char *what, unsigned phases, const unsigned *counts, unsigned size,
            unsigned wanted)
{
    for (unsigned n = 0; n < size; n++) {
        if (counts[n] == wanted)
            continue;
        mistakes++;
        std::printf("%s %u in %u phases: %u times instead of %u\n", what, n, phases, counts[n],
                    wanted);
    }
}

struct subject {
    kiln_fragment left[KILN_FRAGMENTS_M] = {}, right[KILN_FRAGMENTS_N] = {};
    kiln_mma_sums sums[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N] = {};
    kiln_packs packs = {};
};

template <bool LEFT, bool RIGHT, unsigned PHASE, unsigned PHASES> void run_phase(subject &subject)
{
    kiln_multiply_and_make<LEFT, RIGHT, PHASE, PHASES>(
        kiln_arguments(), subject.left, subject.right, subject.sums, kiln_left_stage(),
        kiln_right_stage(), subject.packs);
}

void check(const subject &subject, bool left, bool right, unsigned phases)
{
    expect("left pack", phases, subject.packs.left, KILN_LEFT_PACKS, left);
    expect("right pack", phases, subject.packs.right, KILN_RIGHT_PACKS, right);
    expect("product", phases, subject.sums[0], KILN_FRAGMENTS_M * KILN_FRAGMENTS_N, phases);
}

template <bool LEFT, bool RIGHT> void check_operands()
{
    subject one, two, three;
    run_phase<LEFT, RIGHT, 0, 1>(one);
    check(one, LEFT, RIGHT, 1);
    run_phase<LEFT, RIGHT, 0, 2>(two);
    run_phase<LEFT, RIGHT, 1, 2>(two);
    check(two, LEFT, RIGHT, 2);
    run_phase<LEFT, RIGHT, 0, 3>(three);
    run_phase<LEFT, RIGHT, 1, 3>(three);
    run_phase<LEFT, RIGHT, 2, 3>(three);
    check(three, LEFT, RIGHT, 3);
}

} // namespace

int main()
{
    check_operands<false, false>();
    check_operands<true, false>();
    check_operands<false, true>();
    check_operands<true, true>();
    if (mistakes > 0)
        return 1;
    std::printf("each pack and each product once\n");
    return 0;
}
