#include "tests/cache/sample_payload.h"

#include <stdint.h>
#include <string.h>

static unsigned char byte_at(size_t index, size_t size, unsigned seed)
{
    return (unsigned char)((seed + size * 31 + index * 2654435761U) >> 16);
}

void sample_payload_fill(void *payload, size_t size, unsigned number, unsigned seed)
{
    unsigned char *bytes = payload;
    memcpy(bytes, &number, 4);
    memcpy(bytes + 4, &seed, 4);
    for (size_t i = SAMPLE_PAYLOAD_LEAST_BYTES; i < size; i++)
        bytes[i] = byte_at(i, size, seed);
}

bool sample_payload_is_whole(const void *payload, size_t size, unsigned number)
{
    const unsigned char *bytes = payload;
    unsigned stored;
    unsigned seed;
    if (size < SAMPLE_PAYLOAD_LEAST_BYTES)
        return false;
    memcpy(&stored, bytes, 4);
    memcpy(&seed, bytes + 4, 4);
    for (size_t i = SAMPLE_PAYLOAD_LEAST_BYTES; i < size; i++) {
        if (bytes[i] != byte_at(i, size, seed))
            return false;
    }
    return stored == number;
}

unsigned sample_random(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}
