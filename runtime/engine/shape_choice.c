#include "runtime/engine/shape_choice.h"

#include <stdlib.h>
#include <string.h>

const char *kiln_shape_reason_text(enum kiln_shape_reason reason)
{
    static const char *const texts[] = {
        [KILN_SHAPE_FORCED] = "set by --shapes or KILN_SHAPES",
        [KILN_SHAPE_FIRST] = "one of the first two shapes of its computation",
        [KILN_SHAPE_LATER] = "the third shape of its computation, or a later one",
        [KILN_SHAPE_CACHED] = "the cache has this program",
        [KILN_SHAPE_OVERRIDES] = "the graph takes override shapes",
        [KILN_SHAPE_KERNELS] = "the cache has kernels that take sizes as arguments",
    };
    return texts[reason];
}

struct kiln_choice_table *kiln_choice_table_create(void)
{
    struct kiln_choice_table *table = calloc(1, sizeof *table);
    if (table != NULL)
        kiln_process_mutex_init(&table->lock);
    return table;
}

void kiln_choice_table_destroy(struct kiln_choice_table *table)
{
    if (table == NULL)
        return;
    kiln_process_mutex_fini(&table->lock);
    free(table);
}

/* A child of a fork starts from zero if a thread of the parent held the lock. */
static void lock(struct kiln_choice_table *table)
{
    if (kiln_process_mutex_lock(&table->lock))
        return;
    table->clock = 0;
    memset(table->computations, 0, sizeof table->computations);
    memset(table->shapes, 0, sizeof table->shapes);
}

static struct kiln_choice_slot *find(struct kiln_choice_table *table,
                                     struct kiln_choice_slot slots[KILN_CHOICE_WAYS],
                                     struct kiln_hash128 hash)
{
    for (int i = 0; i < KILN_CHOICE_WAYS; i++) {
        struct kiln_choice_slot *slot = &slots[i];
        if (slot->used != 0 && slot->hash.high == hash.high && slot->hash.low == hash.low) {
            slot->used = ++table->clock;
            return slot;
        }
    }
    return NULL;
}

/* In the place of the one that was used least recently, or free. */
static struct kiln_choice_slot *add(struct kiln_choice_table *table,
                                    struct kiln_choice_slot slots[KILN_CHOICE_WAYS],
                                    struct kiln_hash128 hash)
{
    struct kiln_choice_slot *oldest = &slots[0];
    for (int i = 1; i < KILN_CHOICE_WAYS; i++) {
        if (slots[i].used < oldest->used)
            oldest = &slots[i];
    }
    *oldest = (struct kiln_choice_slot){.hash = hash, .used = ++table->clock};
    return oldest;
}

static struct kiln_choice_slot *computation_place(struct kiln_choice_table *table,
                                                  struct kiln_hash128 hash)
{
    return table->computations[hash.low % KILN_CHOICE_COMPUTATION_PLACES];
}

static struct kiln_choice_slot *shape_place(struct kiln_choice_table *table,
                                            struct kiln_hash128 hash)
{
    return table->shapes[hash.low % KILN_CHOICE_SHAPE_PLACES];
}

bool kiln_choice_table_find(struct kiln_choice_table *table, struct kiln_hash128 shape,
                            struct kiln_shape_choice *ret_choice)
{
    lock(table);
    const struct kiln_choice_slot *slot = find(table, shape_place(table, shape), shape);
    if (slot != NULL)
        *ret_choice = slot->choice;
    kiln_process_mutex_unlock(&table->lock);
    return slot != NULL;
}

bool kiln_choice_table_is_early(struct kiln_choice_table *table, struct kiln_hash128 computation)
{
    lock(table);
    const struct kiln_choice_slot *slot =
        find(table, computation_place(table, computation), computation);
    bool is_early = slot == NULL || slot->count < KILN_CONSTANT_SHAPES;
    kiln_process_mutex_unlock(&table->lock);
    return is_early;
}

static struct kiln_shape_choice choose(struct kiln_choice_table *table,
                                       struct kiln_hash128 computation,
                                       const struct kiln_shape_choice *found)
{
    struct kiln_choice_slot *place = computation_place(table, computation);
    struct kiln_choice_slot *slot = find(table, place, computation);
    if (slot == NULL)
        slot = add(table, place, computation);
    bool is_early = slot->count < KILN_CONSTANT_SHAPES;
    slot->count += is_early;
    if (found != NULL)
        return *found;
    return is_early ? (struct kiln_shape_choice){KILN_SHAPES_CONSTANT, KILN_SHAPE_FIRST}
                    : (struct kiln_shape_choice){KILN_SHAPES_ARGUMENT, KILN_SHAPE_LATER};
}

struct kiln_shape_choice kiln_choice_table_settle(struct kiln_choice_table *table,
                                                  struct kiln_hash128 computation,
                                                  struct kiln_hash128 shape,
                                                  const struct kiln_shape_choice *found)
{
    lock(table);
    struct kiln_choice_slot *place = shape_place(table, shape);
    struct kiln_choice_slot *slot = find(table, place, shape);
    if (slot == NULL) {
        slot = add(table, place, shape);
        slot->choice = choose(table, computation, found);
    }
    const struct kiln_shape_choice choice = slot->choice;
    kiln_process_mutex_unlock(&table->lock);
    return choice;
}
