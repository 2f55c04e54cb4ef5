#include "plugin_api/slot_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK_SLOTS = 64 };

static size_t chunk_slots(size_t chunk)
{
    return (size_t)FIRST_CHUNK_SLOTS << chunk;
}

/* NULL when the table has no such chunk yet. */
static struct kiln_slot *chunk_at(struct kiln_slot_table *table, size_t chunk)
{
    return atomic_load_explicit(&table->chunks[chunk], memory_order_acquire);
}

static struct kiln_slot *slot_at(const struct kiln_slot_table *table, struct kiln_slot *first,
                                 size_t index)
{
    return (struct kiln_slot *)(void *)((unsigned char *)first + index * table->slot_bytes);
}

/* Called with the lock held. */
static void add_chunk(struct kiln_slot_table *table)
{
    size_t chunk = 0;
    while (chunk < KILN_SLOT_CHUNKS && chunk_at(table, chunk))
        chunk++;
    if (chunk == KILN_SLOT_CHUNKS)
        return;
    struct kiln_slot *first = calloc(chunk_slots(chunk), table->slot_bytes);
    if (!first)
        return;
    for (size_t i = chunk_slots(chunk); i > 0; i--) {
        struct kiln_slot *slot = slot_at(table, first, i - 1);
        slot->next_free = table->free;
        table->free = slot;
    }
    atomic_store_explicit(&table->chunks[chunk], first, memory_order_release);
}

static void lock(struct kiln_slot_table *table)
{
    if (!kiln_process_mutex_lock(&table->lock))
        table->free = NULL; /* what was free in the parent is lost */
}

void *kiln_slot_table_take(struct kiln_slot_table *table)
{
    lock(table);
    if (!table->free)
        add_chunk(table);
    struct kiln_slot *slot = table->free;
    if (slot)
        table->free = slot->next_free;
    kiln_process_mutex_unlock(&table->lock);
    if (slot)
        memset(slot + 1, 0, table->slot_bytes - sizeof(*slot));
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
    struct kiln_slot *first = NULL;
    for (size_t i = 0; i < KILN_SLOT_CHUNKS && (first = chunk_at(table, i)) != NULL; i++) {
        uintptr_t start = (uintptr_t)first;
        if (address < start || address - start >= chunk_slots(i) * table->slot_bytes)
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
    lock(table);
    slot->next_free = table->free;
    table->free = slot;
    kiln_process_mutex_unlock(&table->lock);
}

void *kiln_slot_table_retract_next(struct kiln_slot_table *table, struct kiln_slot_cursor *cursor)
{
    struct kiln_slot *first = NULL;
    for (; cursor->chunk < KILN_SLOT_CHUNKS && (first = chunk_at(table, cursor->chunk)) != NULL;
         cursor->chunk++, cursor->index = 0) {
        while (cursor->index < chunk_slots(cursor->chunk)) {
            struct kiln_slot *slot = slot_at(table, first, cursor->index++);
            if (kiln_slot_retract(slot))
                return slot;
        }
    }
    return NULL;
}

void kiln_slot_table_fini(struct kiln_slot_table *table)
{
    for (size_t i = 0; i < KILN_SLOT_CHUNKS; i++)
        free(atomic_exchange(&table->chunks[i], NULL));
    table->free = NULL;
}
