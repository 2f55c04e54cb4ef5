/*
 * Hashes of bytes: XXH3 with seed 0. They are not cryptographic: they find damage and name
 * things. Code that takes one for an identity compares the bytes too. The results are part of file
 * formats and must never change.
 */
#ifndef KILN_RUNTIME_SUPPORT_HASH_H
#define KILN_RUNTIME_SUPPORT_HASH_H

#include <stddef.h>
#include <stdint.h>

struct kiln_hash128 {
    uint64_t high;
    uint64_t low;
};

/* XXH3-128 of `size` bytes; `bytes` may be NULL when size is 0. */
struct kiln_hash128 kiln_hash128(const void *bytes, size_t size);
/* XXH3-64. */
uint64_t kiln_hash64(const void *bytes, size_t size);

#endif
