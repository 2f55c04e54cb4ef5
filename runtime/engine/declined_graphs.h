/*
 * Graphs that Kiln had taken and whose plans then failed: the next question about one is answered
 * with no. hipDNN builds with the first engine that says yes, and fails when that one does.
 *
 * A fixed number of places, chosen by the hash of a graph's key. A newer graph may take the place
 * of an older one, which then fails once more. Thread-safe; no lock is held for longer than a copy
 * takes.
 */
#ifndef KILN_RUNTIME_ENGINE_DECLINED_GRAPHS_H
#define KILN_RUNTIME_ENGINE_DECLINED_GRAPHS_H

#include "cache/cache_key.h"
#include "runtime/support/error.h"
#include "runtime/support/process_mutex.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { KILN_DECLINED_GRAPHS_PLACES = 256 };

struct kiln_declined_graph {
    uint64_t hash_high;
    uint64_t hash_low;
    uint64_t until; /* as kiln_monotonic_milliseconds; UINT64_MAX: as long as the engine */
    enum kiln_status status;
    char *text; /* owned; NULL: the place is free */
};

struct kiln_declined_graphs {
    struct kiln_process_mutex lock;
    atomic_bool is_used; /* false: nothing was ever added, and nobody needs to make a key */
    _Atomic uint32_t epoch;
    struct kiln_declined_graph places[KILN_DECLINED_GRAPHS_PLACES];
};

void kiln_declined_graphs_init(struct kiln_declined_graphs *graphs);
void kiln_declined_graphs_fini(struct kiln_declined_graphs *graphs);

/* False while kiln_declined_graphs_check cannot find anything: one atomic read. */
bool kiln_declined_graphs_any(const struct kiln_declined_graphs *graphs);
/* Changes after each addition. A graph that was not among them, when the epoch had been read, is
 * not among them as long as the epoch is the same. */
uint32_t kiln_declined_graphs_epoch(const struct kiln_declined_graphs *graphs);
/* KILN_OK for a graph that is not among them, else what was said of it. */
enum kiln_status kiln_declined_graphs_check(struct kiln_declined_graphs *graphs,
                                            const struct kiln_cache_key *key,
                                            struct kiln_error *error) KILN_NODISCARD;
/* Adds a graph with its reason, for so many milliseconds; UINT64_MAX: as long as the engine. */
void kiln_declined_graphs_add(struct kiln_declined_graphs *graphs, const struct kiln_cache_key *key,
                              const struct kiln_error *reason, uint64_t milliseconds);
/* Takes a graph out that has a plan now. */
void kiln_declined_graphs_remove(struct kiln_declined_graphs *graphs,
                                 const struct kiln_cache_key *key);

#endif
