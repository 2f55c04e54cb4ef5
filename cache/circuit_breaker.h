/*
 * Pauses requests to a service that fails. After a failure there is no request for a second, then
 * one. While that fails, the pause doubles, up to a minute.
 *
 * It is not thread-safe: callers that share one hold a lock around the calls, and none while
 * asking.
 */
#ifndef KILN_CACHE_CIRCUIT_BREAKER_H
#define KILN_CACHE_CIRCUIT_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    KILN_BREAKER_FIRST_PAUSE_MS = 1000,
    KILN_BREAKER_LONGEST_PAUSE_MS = 60000,
};

/* All zeros: nothing has failed. Times are of kiln_monotonic_milliseconds. */
struct kiln_circuit_breaker {
    uint64_t retry_at_ms;
    uint32_t pause_ms; /* 0: nothing has failed since the last success */
    uint32_t
        failures; /* how often it was tripped; tells attempts before a failure from later ones */
};

/* True if this asker may ask. If so, it reports what came of it with `*ret_ticket`. */
bool kiln_breaker_admit(struct kiln_circuit_breaker *breaker, uint64_t now_ms,
                        uint32_t *ret_ticket);
/* True if an asker that was admitted, and then waited, still may. */
bool kiln_breaker_holds(const struct kiln_circuit_breaker *breaker, uint32_t ticket);
/* True when this failure starts a pause: of many askers that fail together only the first counts.
 */
bool kiln_breaker_fail(struct kiln_circuit_breaker *breaker, uint32_t ticket, uint64_t now_ms);
/* True when this ends a time of failures. */
bool kiln_breaker_succeed(struct kiln_circuit_breaker *breaker, uint32_t ticket);

#endif
