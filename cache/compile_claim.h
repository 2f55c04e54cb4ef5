/*
 * Single flight across processes, which only saves time. A process that compiles a program says
 * so in the cache directory. Other processes of this machine that want the same program wait
 * for it a while instead of compiling it too. No lock, and nothing depends on it: a claim that
 * cannot be made, is left behind, or is removed by somebody costs a compilation.
 * docs/decisions/0013-claims-instead-of-locks.md.
 *
 * A claim is a symbolic link in the fan-out directory of its entry, because a link is made whole or
 * not at all and only once:
 *
 *     .kiln-<hash of the key>-<machine>-<mark of the compiler>.tmp -> <a name of
 * kiln_temporary_name_make>
 *
 * Its target says which process made it, and stands for no file. The name is one of a temporary
 * file, so that the store counts it and removes it like one.
 *
 * Calling sequence, after a lookup that missed: kiln_compile_claim_open, kiln_compile_claim_take;
 * look again unless KILN_CLAIM_NONE came back, in the directory alone when the claim was taken;
 * compile and insert if that missed too; kiln_compile_claim_close.
 */
#ifndef KILN_CACHE_COMPILE_CLAIM_H
#define KILN_CACHE_COMPILE_CLAIM_H

#include "cache/cache_store.h"
#include "cache/entry_file.h"
#include "runtime/support/temporary_name.h"

#include <stdint.h>

/* How long one process waits for others before it compiles by itself: more than most programs take,
 * and no more than a user takes for a hang. */
enum { KILN_CLAIM_WAIT_MILLISECONDS = 10000 };

struct kiln_compile_claim {
    int fanout; /* -1: there can be no claim */
    char entry[KILN_ENTRY_FILE_NAME_BYTES];
    char name[KILN_TEMPORARY_NAME_BYTES];
    char owner[KILN_TEMPORARY_NAME_BYTES]; /* what our claim says; "" while we have none */
};

enum kiln_claim {
    KILN_CLAIM_NONE,   /* no claims here, or time is over: compile */
    KILN_CLAIM_TAKEN,  /* others wait for us: look again, compile, insert, close */
    KILN_CLAIM_WAITED, /* somebody else had it: look again, and compile if that was in vain */
};

/* `mark`: of the compiler that the entry is wanted of (kiln_cache_compiler_mark). Never fails: what
 * goes wrong means KILN_CLAIM_NONE. */
void kiln_compile_claim_open(struct kiln_compile_claim *claim, struct kiln_cache_store *store,
                             const struct kiln_cache_key *key, uint64_t mark);
/* Takes the claim, or waits until its owner gives it up, has inserted the entry or is dead, and at
 * most until the deadline (kiln_monotonic_milliseconds). The claim of a dead process is taken. */
enum kiln_claim kiln_compile_claim_take(struct kiln_compile_claim *claim, uint64_t deadline);
/* Gives up a claim that was taken. */
void kiln_compile_claim_close(struct kiln_compile_claim *claim);

#endif
