/*
 * Objects behind the opaque pointers of the ABI: a pointer that a host passes is looked up, never
 * trusted.
 *
 * Slots live in chunks that are never freed before the table, so a lookup reads only memory of the
 * table, whatever the pointer is. Lookups take no lock and look at one address range per chunk;
 * each chunk has twice the slots of the one before it, so there are few, however many objects live.
 * A slot that was given back is used again: a stale pointer may then name a newer object, but never
 * anything else.
 */
#ifndef KILN_PLUGIN_API_SLOT_TABLE_H
#define KILN_PLUGIN_API_SLOT_TABLE_H

#include "runtime/support/process_mutex.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* First member of every object in a table. */
struct kiln_slot {
    atomic_bool is_live;
    struct kiln_slot *next_free; /* of a free slot; under the table's lock */
};

enum { KILN_SLOT_CHUNKS = 26 }; /* some 4 billion slots */

struct kiln_slot_table {
    size_t slot_bytes; /* of one object, a multiple of 16 */
    struct kiln_process_mutex lock;
    struct kiln_slot *free;                               /* under the lock */
    _Atomic(struct kiln_slot *) chunks[KILN_SLOT_CHUNKS]; /* filled from the front, NULL behind */
};

#define KILN_SLOT_TABLE_INITIALIZER(type)                                                          \
    {.slot_bytes = (sizeof(type) + 15) / 16 * 16, .lock = KILN_PROCESS_MUTEX_INITIALIZER}

/* A zeroed object that no lookup finds before it is published; NULL when memory is out. */
void *kiln_slot_table_take(struct kiln_slot_table *table);
void kiln_slot_publish(void *object);
/* True when `pointer`, which may be anything, is a published object of the table. */
bool kiln_slot_table_contains(struct kiln_slot_table *table, const void *pointer);
/* Makes a published object unfindable. False when it was not published, or another thread was
 * faster. */
bool kiln_slot_retract(void *object);
/* Gives an unpublished or retracted object back. */
void kiln_slot_table_give_back(struct kiln_slot_table *table, void *object);

/* A walk over a table; zero it to begin. */
struct kiln_slot_cursor {
    size_t chunk;
    size_t index;
};
/* Retracts the next published object behind the cursor and returns it; NULL at the end. Objects
 * that are published during the walk may be missed. */
void *kiln_slot_table_retract_next(struct kiln_slot_table *table, struct kiln_slot_cursor *cursor);
/* Frees all memory; nobody may use the table any more. */
void kiln_slot_table_fini(struct kiln_slot_table *table);

#endif
