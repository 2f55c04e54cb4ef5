#include "cache/circuit_breaker.h"

#include <criterion/criterion.h>

static struct kiln_circuit_breaker breaker;

static uint32_t admitted(uint64_t now_ms)
{
    uint32_t ticket;
    cr_assert(kiln_breaker_admit(&breaker, now_ms, &ticket), "at %lu", (unsigned long)now_ms);
    return ticket;
}

static void assert_paused(uint64_t now_ms)
{
    uint32_t ticket;
    cr_assert_not(kiln_breaker_admit(&breaker, now_ms, &ticket), "at %lu", (unsigned long)now_ms);
}

Test(circuit_breaker, pauses_double_up_to_a_minute)
{
    static const uint64_t pauses[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    uint64_t now = 5;
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        cr_assert(kiln_breaker_fail(&breaker, admitted(now), now));
        assert_paused(now);
        assert_paused(now + pauses[i] - 1);
        now += pauses[i];
    }
    cr_assert(kiln_breaker_succeed(&breaker, admitted(now)));
    uint32_t ticket = admitted(now);
    cr_assert_not(kiln_breaker_succeed(&breaker, ticket), "nothing had failed");
    cr_assert(kiln_breaker_fail(&breaker, ticket, now));
    assert_paused(now + 999);
    (void)admitted(now + 1000);
}

Test(circuit_breaker, one_asker_tries_after_a_pause)
{
    cr_assert(kiln_breaker_fail(&breaker, admitted(0), 0));
    uint32_t first = admitted(1000);
    assert_paused(1000);
    assert_paused(1999);
    cr_assert(kiln_breaker_succeed(&breaker, first));
    (void)admitted(1000);
    (void)admitted(1000);
}

Test(circuit_breaker, an_asker_that_never_reports_blocks_nobody_for_ever)
{
    cr_assert(kiln_breaker_fail(&breaker, admitted(0), 0));
    (void)admitted(1000);
    assert_paused(1500);
    (void)admitted(2000);
}

Test(circuit_breaker, of_failures_at_once_the_first_counts)
{
    uint32_t tickets[8];
    for (unsigned i = 0; i < 8; i++)
        tickets[i] = admitted(0);
    cr_assert(kiln_breaker_holds(&breaker, tickets[7]));
    cr_assert(kiln_breaker_fail(&breaker, tickets[0], 0));
    for (unsigned i = 1; i < 8; i++) {
        cr_assert_not(kiln_breaker_holds(&breaker, tickets[i]));
        cr_assert_not(kiln_breaker_fail(&breaker, tickets[i], 0));
    }
    assert_paused(999);
    /* A success from before the failure says nothing about the time after it. */
    cr_assert_not(kiln_breaker_succeed(&breaker, tickets[1]));
    assert_paused(999);
    (void)admitted(1000);
}
