/*
 * Keeps a directory within a number of bytes, among any number of processes and without a lock.
 * docs/decisions/0012-cache-budget-without-locks.md says why it holds.
 *
 * A process counts all files before its first insert, and again after an insert when it has
 * inserted a KILN_CACHE_BUDGET_SHARE-th of the limit since. What it finds above the limit it evicts
 * down to nine tenths of it. So N processes exceed the limit by no more than N such shares and the
 * one entry that each is writing, and nobody counts while it looks something up.
 *
 * The count before the first insert also removes what writers that were killed have left, whether
 * there is a limit or not: to leave something, a process has to pass there first.
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
    /* Inserted since the last count began. */
    _Atomic(uint64_t) uncounted_bytes;
    /* Process ids, since a forked child has to count for itself; 0: none. */
    _Atomic(int64_t) counted_by;
    _Atomic(int64_t) counting; /* a thread of this process does it now: the others go on */
};

void kiln_cache_budget_init(struct kiln_cache_budget *budget, uint64_t max_bytes);

/* What goes wrong in these is logged once and costs the budget's accuracy, nothing else. */
void kiln_cache_budget_before_insert(struct kiln_cache_budget *budget,
                                     const struct kiln_cache_directory *directory);
/* `hash` names the entry that was written; it is not evicted. */
void kiln_cache_budget_after_insert(struct kiln_cache_budget *budget,
                                    const struct kiln_cache_directory *directory,
                                    struct kiln_hash128 hash, size_t bytes);

#endif
