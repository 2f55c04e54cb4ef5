/*
 * Keeps a directory within a number of bytes, among any number of processes and without a lock.
 * docs/decisions/0012-cache-budget-without-locks.md says why it holds.
 *
 * A process counts all files after an insert when it has inserted a KILN_CACHE_BUDGET_SHARE-th of
 * the limit since it did so last, and evicts what it finds above the limit, down to nine tenths of
 * it. Its first count comes after a random part of a share: so processes that insert little pay for
 * little, and still somebody counts in time. N processes exceed the limit by no more than N shares
 * and the one entry that each is writing. Nobody counts while it looks something up.
 */
#ifndef KILN_CACHE_CACHE_BUDGET_H
#define KILN_CACHE_CACHE_BUDGET_H

#include "cache/cache_directory.h"
#include "runtime/support/hash.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { KILN_CACHE_BUDGET_SHARE = 1024 };

struct kiln_cache_budget {
    uint64_t max_bytes; /* 0: no limit */
    /* Inserted since the last count began, or since the random start. */
    _Atomic(uint64_t) uncounted_bytes;
    /* Process ids, since a forked child starts for itself; 0: none. */
    _Atomic(int64_t) started_by;
    _Atomic(int64_t) counting; /* a thread of this process does it now: the others go on */
};

void kiln_cache_budget_init(struct kiln_cache_budget *budget, uint64_t max_bytes);

/* To be called after each insert; `hash` names the entry that was written, which is not evicted.
 * What goes wrong is logged once and costs the budget's accuracy, nothing else. */
void kiln_cache_budget_spend(struct kiln_cache_budget *budget,
                             const struct kiln_cache_directory *directory, struct kiln_hash128 hash,
                             size_t bytes);

#endif
