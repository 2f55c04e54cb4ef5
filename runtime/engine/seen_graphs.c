#include "runtime/engine/seen_graphs.h"

#include <stdlib.h>
#include <string.h>

/* An answer is its kind, never KILN_SEEN_NOT, and a number: the epoch or the reason's index. */
enum { KIND_BITS = 2, KIND_MASK = (1 << KIND_BITS) - 1 };

struct kiln_decline_reason {
    uint32_t reject_reason;
    char text[];
};

void kiln_seen_graphs_fini(struct kiln_seen_graphs *graphs)
{
    for (size_t i = 0; i < KILN_SEEN_GRAPHS_REASONS; i++)
        free(atomic_load(&graphs->reasons[i]));
}

struct kiln_hash128 kiln_seen_graphs_name(struct kiln_hash128 bytes, int ordinal)
{
    bytes.high += (uint64_t)(unsigned)ordinal * UINT64_C(0x9e3779b97f4a7c15);
    return bytes;
}

static uint64_t make_answer(enum kiln_seen_kind kind, uint32_t number)
{
    return (uint64_t)number << KIND_BITS | (uint64_t)kind;
}

static bool holds(const struct kiln_seen_graph *slot, struct kiln_hash128 name, uint64_t answer)
{
    return (atomic_load_explicit(&slot->low, memory_order_relaxed) ^ answer) == name.low &&
           (atomic_load_explicit(&slot->high, memory_order_relaxed) ^ answer) == name.high;
}

/* 0 for a graph that is not there. */
static uint64_t find_answer(const struct kiln_seen_graphs *graphs, struct kiln_hash128 name)
{
    const struct kiln_seen_graph *bucket = graphs->slots[name.low % KILN_SEEN_GRAPHS_BUCKETS];
    for (size_t i = 0; i < KILN_SEEN_GRAPHS_WAYS; i++) {
        uint64_t answer = atomic_load_explicit(&bucket[i].answer, memory_order_acquire);
        if (answer != 0 && holds(&bucket[i], name, answer))
            return answer;
    }
    return 0;
}

enum kiln_seen_kind kiln_seen_graphs_find(const struct kiln_seen_graphs *graphs,
                                          struct kiln_hash128 name, uint32_t *ret_epoch,
                                          struct kiln_error *error)
{
    uint64_t answer = find_answer(graphs, name);
    enum kiln_seen_kind kind = (enum kiln_seen_kind)(answer & KIND_MASK);
    if (kind == KILN_SEEN_DECLINED) {
        const struct kiln_decline_reason *reason =
            atomic_load_explicit(&graphs->reasons[answer >> KIND_BITS], memory_order_acquire);
        (void)kiln_error_set(error, KILN_REJECTED, "%s", reason->text);
        error->reject_reason = reason->reject_reason;
    } else if (kind != KILN_SEEN_NOT) {
        *ret_epoch = (uint32_t)(answer >> KIND_BITS);
    }
    return kind;
}

/* The graph's own slot, a free one, or the one that its hash chooses. */
static struct kiln_seen_graph *slot_for(struct kiln_seen_graphs *graphs, struct kiln_hash128 name)
{
    struct kiln_seen_graph *bucket = graphs->slots[name.low % KILN_SEEN_GRAPHS_BUCKETS];
    struct kiln_seen_graph *slot = &bucket[name.high % KILN_SEEN_GRAPHS_WAYS];
    for (size_t i = KILN_SEEN_GRAPHS_WAYS; i-- > 0;) {
        uint64_t answer = atomic_load_explicit(&bucket[i].answer, memory_order_acquire);
        if (answer != 0 && holds(&bucket[i], name, answer))
            return &bucket[i];
        if (answer == 0)
            slot = &bucket[i];
    }
    return slot;
}

static void add(struct kiln_seen_graphs *graphs, struct kiln_hash128 name, uint64_t answer)
{
    struct kiln_seen_graph *slot = slot_for(graphs, name);
    atomic_store_explicit(&slot->low, name.low ^ answer, memory_order_relaxed);
    atomic_store_explicit(&slot->high, name.high ^ answer, memory_order_relaxed);
    atomic_store_explicit(&slot->answer, answer, memory_order_release);
}

void kiln_seen_graphs_add(struct kiln_seen_graphs *graphs, struct kiln_hash128 name,
                          enum kiln_seen_kind kind, uint32_t epoch)
{
    add(graphs, name, make_answer(kind, epoch));
}

static struct kiln_decline_reason *make_reason(const struct kiln_error *error)
{
    size_t bytes = strlen(error->text) + 1;
    struct kiln_decline_reason *reason = malloc(sizeof(*reason) + bytes);
    if (!reason)
        return NULL;
    reason->reject_reason = error->reject_reason;
    memcpy(reason->text, error->text, bytes);
    return reason;
}

/* The index of the sentence, or KILN_SEEN_GRAPHS_REASONS: no room, or no memory. */
static uint32_t index_of_reason(struct kiln_seen_graphs *graphs, const struct kiln_error *error)
{
    enum { TRIES = 16 };
    struct kiln_decline_reason *fresh = NULL;
    uint64_t start = kiln_hash64(error->text, strlen(error->text));
    uint32_t found = KILN_SEEN_GRAPHS_REASONS;
    for (uint64_t i = 0; i < TRIES && found == KILN_SEEN_GRAPHS_REASONS; i++) {
        uint32_t index = (uint32_t)((start + i) % KILN_SEEN_GRAPHS_REASONS);
        struct kiln_decline_reason *there =
            atomic_load_explicit(&graphs->reasons[index], memory_order_acquire);
        if (!there && !fresh && !(fresh = make_reason(error)))
            break;
        if (!there && atomic_compare_exchange_strong(&graphs->reasons[index], &there, fresh)) {
            fresh = NULL;
            found = index;
        } else if (there->reject_reason == error->reject_reason &&
                   strcmp(there->text, error->text) == 0) {
            found = index;
        }
    }
    free(fresh);
    return found;
}

void kiln_seen_graphs_add_declined(struct kiln_seen_graphs *graphs, struct kiln_hash128 name,
                                   const struct kiln_error *reason)
{
    uint32_t index = index_of_reason(graphs, reason);
    if (index != KILN_SEEN_GRAPHS_REASONS)
        add(graphs, name, make_answer(KILN_SEEN_DECLINED, index));
}
