/*
 * Which number was given first for a hash: finds equal graphs among thousands.
 */
#ifndef KILN_CLI_HASH_INDEX_H
#define KILN_CLI_HASH_INDEX_H

#include "runtime/support/hash.h"

#include <stddef.h>

struct kiln_hash_slot {
    struct kiln_hash128 hash;
    size_t number_plus_one; /* 0: free */
};

struct kiln_hash_index {
    struct kiln_hash_slot *slots; /* owned */
    size_t capacity;              /* a power of two, or 0 */
    size_t count;
};

/* An index of zeros is empty. */
void kiln_hash_index_fini(struct kiln_hash_index *index);
/* The number that the hash was put in with first; puts it in with `number` when it is new. */
size_t kiln_hash_index_put(struct kiln_hash_index *index, struct kiln_hash128 hash, size_t number);

#endif
