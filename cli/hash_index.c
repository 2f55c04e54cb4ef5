#include "cli/hash_index.h"

#include "cli/text.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

void kiln_hash_index_fini(struct kiln_hash_index *index)
{
    free(index->slots);
    *index = (struct kiln_hash_index){0};
}

/* The slot that holds the hash, or the free one where it belongs. */
static struct kiln_hash_slot *find_slot(struct kiln_hash_slot *slots, size_t capacity,
                                        struct kiln_hash128 hash)
{
    size_t at = (size_t)hash.low & (capacity - 1);
    while (slots[at].number_plus_one != 0 &&
           (slots[at].hash.low != hash.low || slots[at].hash.high != hash.high))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static void grow(struct kiln_hash_index *index)
{
    size_t capacity = index->capacity ? index->capacity * 2 : FIRST_CAPACITY;
    struct kiln_hash_slot *slots = kiln_cli_calloc(capacity, sizeof(*slots));
    for (size_t i = 0; i < index->capacity; i++)
        if (index->slots[i].number_plus_one != 0)
            *find_slot(slots, capacity, index->slots[i].hash) = index->slots[i];
    free(index->slots);
    index->slots = slots;
    index->capacity = capacity;
}

size_t kiln_hash_index_put(struct kiln_hash_index *index, struct kiln_hash128 hash, size_t number)
{
    if (index->count * 2 >= index->capacity)
        grow(index);
    struct kiln_hash_slot *slot = find_slot(index->slots, index->capacity, hash);
    if (slot->number_plus_one == 0) {
        *slot = (struct kiln_hash_slot){hash, number + 1};
        index->count++;
    }
    return slot->number_plus_one - 1;
}
