/*
 * Answers to hosts that ask about the same graph again and again: PyTorch asks before every call.
 *
 * Maps the hash of a graph's bytes to the answer. A graph that the reader declines is declined for
 * good, since reading depends on the bytes alone. An acceptance comes with its epoch, a number that
 * the caller changes whenever acceptances may have become wrong.
 *
 * Bounded, with a fixed number of slots: a new answer overwrites an old one. Lookups and additions
 * are atomic operations without a lock, so a forked child can use the table too.
 *
 * The 128 bits are trusted and the bytes are not compared. Two graphs of a process collide with a
 * probability of 2^-100, and nothing but this answer depends on it: plans read the graph again.
 */
#ifndef KILN_RUNTIME_ENGINE_SEEN_GRAPHS_H
#define KILN_RUNTIME_ENGINE_SEEN_GRAPHS_H

#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    KILN_SEEN_GRAPHS_BUCKETS = 4096, /* powers of two */
    KILN_SEEN_GRAPHS_WAYS = 4,
    KILN_SEEN_GRAPHS_REASONS = 1024,
};

/* The hash is stored combined with the answer. A slot that two threads write at once matches no
 * hash. */
struct kiln_seen_graph {
    _Atomic uint64_t answer; /* 0: the slot is free */
    _Atomic uint64_t low;    /* hash ^ answer */
    _Atomic uint64_t high;
};

struct kiln_decline_reason; /* why the reader declined graphs; shared by all with this sentence */

struct kiln_seen_graphs {
    struct kiln_seen_graph slots[KILN_SEEN_GRAPHS_BUCKETS][KILN_SEEN_GRAPHS_WAYS];
    /* Owned; NULL: free. Set once. */
    _Atomic(struct kiln_decline_reason *) reasons[KILN_SEEN_GRAPHS_REASONS];
};

/* The memory is zeroed already, and most of its pages are never touched. */
void kiln_seen_graphs_fini(struct kiln_seen_graphs *graphs);

/* The name of a graph, whose bytes have this hash, on the device with this ordinal. */
struct kiln_hash128 kiln_seen_graphs_name(struct kiln_hash128 bytes, int ordinal);

enum kiln_seen_kind {
    KILN_SEEN_NOT,       /* no answer */
    KILN_SEEN_TAKEN,     /* taken, for it can be compiled */
    KILN_SEEN_IN_MEMORY, /* taken, for its program is in memory */
    KILN_SEEN_DECLINED,  /* declined by the reader */
};

/* The answer for a graph. KILN_SEEN_TAKEN and _IN_MEMORY set the epoch that came with it,
 * KILN_SEEN_DECLINED the reader's error. */
enum kiln_seen_kind kiln_seen_graphs_find(const struct kiln_seen_graphs *graphs,
                                          struct kiln_hash128 name, uint32_t *ret_epoch,
                                          struct kiln_error *error);

/* Adds KILN_SEEN_TAKEN or _IN_MEMORY. `epoch` was read before the graph was examined. */
void kiln_seen_graphs_add(struct kiln_seen_graphs *graphs, struct kiln_hash128 name,
                          enum kiln_seen_kind kind, uint32_t epoch);
/* Adds a graph that the reader declined, unless there is no room for its sentence. */
void kiln_seen_graphs_add_declined(struct kiln_seen_graphs *graphs, struct kiln_hash128 name,
                                   const struct kiln_error *reason);

#endif
