/* Payloads that tell by their first bytes what all of them must be. */
#ifndef KILN_TESTS_CACHE_SAMPLE_PAYLOAD_H
#define KILN_TESTS_CACHE_SAMPLE_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>

enum { SAMPLE_PAYLOAD_LEAST_BYTES = 8 };

/* Fills `size` bytes, at least the least, with what key `number` and `seed` decide. */
void sample_payload_fill(void *payload, size_t size, unsigned number, unsigned seed);
/* True if somebody filled exactly these bytes for key `number`. */
bool sample_payload_is_whole(const void *payload, size_t size, unsigned number);

/* A small generator: the same state gives the same numbers everywhere. */
unsigned sample_random(unsigned *state);

#endif
