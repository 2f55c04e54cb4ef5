/*
 * Sentences that a process has told, so that it does not tell them again.
 */
#ifndef KILN_SUPPORT_TOLD_ONCE_H
#define KILN_SUPPORT_TOLD_ONCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A machine has a handful of wrong settings, and few errno. */
enum { KILN_TOLD_LIMIT = 64 };

/* Zeros at first; thread-safe, without a lock. */
struct kiln_told {
    _Atomic(uint64_t) hashes[KILN_TOLD_LIMIT]; /* 0: free */
};

/* True for the first caller with this hash; false for everyone beyond the limit. */
bool kiln_told_add(struct kiln_told *told, uint64_t hash);
/* As if nothing had been told yet: for tests. */
void kiln_told_forget(struct kiln_told *told);

#endif
