/*
 * File calls that fail when they are told to: the linker puts a function of ours in the place of
 * each of libc's that has a row in store_faults.def (--wrap). While nothing is armed all of them do
 * what libc's do.
 *
 * For programs with one thread. A program that is linked with this needs the linker's options from
 * CMakeLists.txt.
 */
#ifndef KILN_TESTS_CACHE_FAULT_WRAPPERS_H
#define KILN_TESTS_CACHE_FAULT_WRAPPERS_H

#include <stdbool.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_ONCE,  /* the call fails and does nothing */
    FAULT_STAYS, /* so do all later ones */
    FAULT_LATE,  /* the call does what it should and then says that it failed */
    FAULT_SHORT, /* a read or write of half the bytes */
};

struct fault {
    enum fault_kind kind;
    int number; /* errno; 0 for FAULT_NONE and FAULT_SHORT */
};

/* From now on calls are counted, and it befalls the one with the number `at`, from 1. With
 * FAULT_NONE nothing is counted. */
void fault_wrappers_arm(struct fault fault, unsigned long at);
/* Ends it. Returns how many calls were made since then. */
unsigned long fault_wrappers_disarm(void);
/* True if an unlinkat() failed since it was armed last: then a file may be left. */
bool fault_wrappers_unlink_failed(void);
/* What was armed last, for messages. Valid until the next call. */
const char *fault_wrappers_describe(void);

#endif
