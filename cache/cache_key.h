/*
 * Cache keys: everything that decides what a compiled program is, as length-prefixed fields, and
 * the XXH3-128 hash of those bytes that names the entry. docs/cache-format.md.
 */
#ifndef KILN_CACHE_CACHE_KEY_H
#define KILN_CACHE_CACHE_KEY_H

#include "runtime/support/buffer.h"
#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#include <stdbool.h>

enum { KILN_CACHE_HASH_HEX = 32 };

struct kiln_cache_key {
    struct kiln_buffer bytes; /* owned */
    uint64_t hash_high;
    uint64_t hash_low;
    /* The hash is all that is known: it stands for every key that has it. */
    bool is_hash_only;
};

void kiln_cache_key_init(struct kiln_cache_key *key);
void kiln_cache_key_fini(struct kiln_cache_key *key);
/* Appends one field. The order of fields is part of the format. */
void kiln_cache_key_add(struct kiln_cache_key *key, const void *bytes, size_t size);
void kiln_cache_key_add_text(struct kiln_cache_key *key, const char *text);
/* Computes the hash; KILN_NO_MEMORY when a field could not be appended. Required before use,
 * and again after a further field. */
enum kiln_status kiln_cache_key_finish(struct kiln_cache_key *key,
                                       struct kiln_error *error) KILN_NODISCARD;
/* A key of which only the hash is known, for lookups; there is nothing to fini. */
struct kiln_cache_key kiln_cache_key_of_hash(struct kiln_hash128 hash);
/* 32 lower-case hex digits and a NUL. */
void kiln_cache_key_hex(const struct kiln_cache_key *key, char ret_hex[KILN_CACHE_HASH_HEX + 1]);

#endif
