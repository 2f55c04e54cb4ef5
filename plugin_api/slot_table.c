#include "plugin_api/slot_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_SLOTS = 64 };

struct kiln_slot_chunk {
    struct kiln_slot_chunk *next; /* set before the chunk is linked in */
    _Alignas(16) unsigned char slots[];
};

static struct kiln_slot *slot_at(const struct kiln_slot_table *table, struct kiln_slot_chunk *chunk,
                                 size_t index)
{
    return (struct kiln_slot *)(void *)(chunk->slots + index * table->slot_bytes);
}

static struct kiln_slot_chunk *first_chunk(struct kiln_slot_table *table)
{
    return atomic_load_explicit(&table->chunks, memory_order_acquire);
}

static struct kiln_slot *find_free(struct kiln_slot_table *table)
{
    for (struct kiln_slot_chunk *chunk = first_chunk(table); chunk; chunk = chunk->next) {
        for (size_t i = 0; i < CHUNK_SLOTS; i++) {
            struct kiln_slot *slot = slot_at(table, chunk, i);
            if (!slot->is_taken)
                return slot;
        }
    }
    struct kiln_slot_chunk *chunk = calloc(1, sizeof(*chunk) + CHUNK_SLOTS * table->slot_bytes);
    if (!chunk)
        return NULL;
    chunk->next = first_chunk(table);
    atomic_store_explicit(&table->chunks, chunk, memory_order_release);
    return slot_at(table, chunk, 0);
}

void *kiln_slot_table_take(struct kiln_slot_table *table, const void *owner)
{
    pthread_mutex_lock(&table->lock);
    struct kiln_slot *slot = find_free(table);
    if (slot) {
        slot->is_taken = true;
        slot->owner = owner;
        memset(slot + 1, 0, table->slot_bytes - sizeof(*slot));
    }
    pthread_mutex_unlock(&table->lock);
    return slot;
}

void kiln_slot_publish(void *object)
{
    struct kiln_slot *slot = object;
    atomic_store_explicit(&slot->is_live, true, memory_order_release);
}

bool kiln_slot_table_contains(struct kiln_slot_table *table, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;
    for (struct kiln_slot_chunk *chunk = first_chunk(table); chunk; chunk = chunk->next) {
        uintptr_t start = (uintptr_t)chunk->slots;
        if (address < start || address - start >= CHUNK_SLOTS * table->slot_bytes)
            continue;
        if ((address - start) % table->slot_bytes != 0)
            return false;
        const struct kiln_slot *slot = pointer;
        return atomic_load_explicit(&slot->is_live, memory_order_acquire);
    }
    return false;
}

bool kiln_slot_retract(void *object)
{
    struct kiln_slot *slot = object;
    return atomic_exchange_explicit(&slot->is_live, false, memory_order_acq_rel);
}

void kiln_slot_table_give_back(struct kiln_slot_table *table, void *object)
{
    struct kiln_slot *slot = object;
    pthread_mutex_lock(&table->lock);
    slot->is_taken = false;
    pthread_mutex_unlock(&table->lock);
}

static struct kiln_slot *find_owned(struct kiln_slot_table *table, const void *owner)
{
    for (struct kiln_slot_chunk *chunk = first_chunk(table); chunk; chunk = chunk->next) {
        for (size_t i = 0; i < CHUNK_SLOTS; i++) {
            struct kiln_slot *slot = slot_at(table, chunk, i);
            if (slot->is_taken && slot->owner == owner && kiln_slot_retract(slot))
                return slot;
        }
    }
    return NULL;
}

void *kiln_slot_table_retract_owned(struct kiln_slot_table *table, const void *owner)
{
    pthread_mutex_lock(&table->lock);
    struct kiln_slot *slot = find_owned(table, owner);
    pthread_mutex_unlock(&table->lock);
    return slot;
}

void kiln_slot_table_fini(struct kiln_slot_table *table)
{
    struct kiln_slot_chunk *chunk = atomic_exchange(&table->chunks, NULL);
    while (chunk) {
        struct kiln_slot_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}
