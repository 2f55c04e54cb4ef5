#include "runtime/engine/declined_graphs.h"

#include "runtime/support/subprocess.h"

#include <stdlib.h>
#include <string.h>

void kiln_declined_graphs_init(struct kiln_declined_graphs *graphs)
{
    memset(graphs->places, 0, sizeof(graphs->places));
    atomic_init(&graphs->is_used, false);
    atomic_init(&graphs->epoch, 0);
    kiln_process_mutex_init(&graphs->lock);
}

void kiln_declined_graphs_fini(struct kiln_declined_graphs *graphs)
{
    for (size_t i = 0; i < KILN_DECLINED_GRAPHS_PLACES; i++)
        free(graphs->places[i].text);
    kiln_process_mutex_fini(&graphs->lock);
}

bool kiln_declined_graphs_any(const struct kiln_declined_graphs *graphs)
{
    return atomic_load_explicit(&graphs->is_used, memory_order_acquire);
}

uint32_t kiln_declined_graphs_epoch(const struct kiln_declined_graphs *graphs)
{
    return atomic_load_explicit(&graphs->epoch, memory_order_acquire);
}

static struct kiln_declined_graph *place_of(struct kiln_declined_graphs *graphs,
                                            const struct kiln_cache_key *key)
{
    return &graphs->places[key->hash_low % KILN_DECLINED_GRAPHS_PLACES];
}

static bool holds(const struct kiln_declined_graph *place, const struct kiln_cache_key *key)
{
    return place->text && place->hash_high == key->hash_high && place->hash_low == key->hash_low;
}

static void lock(struct kiln_declined_graphs *graphs)
{
    if (!kiln_process_mutex_lock(&graphs->lock))
        memset(graphs->places, 0, sizeof(graphs->places));
}

enum kiln_status kiln_declined_graphs_check(struct kiln_declined_graphs *graphs,
                                            const struct kiln_cache_key *key,
                                            struct kiln_error *error)
{
    uint64_t now = kiln_monotonic_milliseconds();
    enum kiln_status status = KILN_OK;
    lock(graphs);
    const struct kiln_declined_graph *place = place_of(graphs, key);
    if (holds(place, key) && now < place->until)
        status = kiln_error_set(error, place->status, "%s", place->text);
    kiln_process_mutex_unlock(&graphs->lock);
    return status;
}

/* Puts the graph into its place, or clears that of a graph with `text` NULL. */
static void store(struct kiln_declined_graphs *graphs, const struct kiln_cache_key *key,
                  const struct kiln_declined_graph *graph)
{
    char *old = NULL;
    lock(graphs);
    struct kiln_declined_graph *place = place_of(graphs, key);
    if (graph->text || holds(place, key)) {
        old = place->text;
        *place = *graph;
    }
    kiln_process_mutex_unlock(&graphs->lock);
    free(old);
}

void kiln_declined_graphs_add(struct kiln_declined_graphs *graphs, const struct kiln_cache_key *key,
                              const struct kiln_error *reason, uint64_t milliseconds)
{
    uint64_t now = kiln_monotonic_milliseconds();
    struct kiln_declined_graph graph = {
        .hash_high = key->hash_high,
        .hash_low = key->hash_low,
        .until = milliseconds < UINT64_MAX - now ? now + milliseconds : UINT64_MAX,
        .status = reason->status,
        .text = strdup(reason->text),
    };
    if (!graph.text) /* it only fails once more */
        return;
    store(graphs, key, &graph);
    atomic_store_explicit(&graphs->is_used, true, memory_order_release);
    atomic_fetch_add_explicit(&graphs->epoch, 1, memory_order_release);
}

void kiln_declined_graphs_remove(struct kiln_declined_graphs *graphs,
                                 const struct kiln_cache_key *key)
{
    static const struct kiln_declined_graph nothing;
    store(graphs, key, &nothing);
}
