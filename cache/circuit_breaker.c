#include "cache/circuit_breaker.h"

bool kiln_breaker_admit(struct kiln_circuit_breaker *breaker, uint64_t now_ms, uint32_t *ret_ticket)
{
    if (breaker->pause_ms != 0) {
        if (now_ms < breaker->retry_at_ms)
            return false;
        /* One tries; the others go on as if it failed until it says otherwise. */
        breaker->retry_at_ms = now_ms + breaker->pause_ms;
    }
    *ret_ticket = breaker->failures;
    return true;
}

bool kiln_breaker_holds(const struct kiln_circuit_breaker *breaker, uint32_t ticket)
{
    return ticket == breaker->failures;
}

bool kiln_breaker_fail(struct kiln_circuit_breaker *breaker, uint32_t ticket, uint64_t now_ms)
{
    if (ticket != breaker->failures)
        return false;
    breaker->failures++;
    if (breaker->pause_ms == 0)
        breaker->pause_ms = KILN_BREAKER_FIRST_PAUSE_MS;
    else if (breaker->pause_ms > KILN_BREAKER_LONGEST_PAUSE_MS / 2)
        breaker->pause_ms = KILN_BREAKER_LONGEST_PAUSE_MS;
    else
        breaker->pause_ms *= 2;
    breaker->retry_at_ms = now_ms + breaker->pause_ms;
    return true;
}

bool kiln_breaker_succeed(struct kiln_circuit_breaker *breaker, uint32_t ticket)
{
    if (ticket != breaker->failures || breaker->pause_ms == 0)
        return false;
    breaker->pause_ms = 0;
    return true;
}
