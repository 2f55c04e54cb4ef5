#include "runtime/engine/lowered_programs.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE_SLOT = KILN_LOWERED_SLOTS - 1 };

void kiln_lowered_programs_init(struct kiln_lowered_programs *programs)
{
    for (int i = 0; i < KILN_LOWERED_SLOTS; i++)
        atomic_init(&programs->slots[i], NULL);
    atomic_init(&programs->next, 0);
}

void kiln_lowered_programs_fini(struct kiln_lowered_programs *programs)
{
    for (int i = 0; i < KILN_LOWERED_SLOTS; i++)
        kiln_lowered_program_free(atomic_exchange(&programs->slots[i], NULL));
}

static enum kiln_status copy_key(const struct kiln_cache_key *key, struct kiln_cache_key *copy,
                                 struct kiln_error *error)
{
    kiln_cache_key_init(copy);
    kiln_buffer_append(&copy->bytes, key->bytes.data, key->bytes.size);
    copy->hash_high = key->hash_high;
    copy->hash_low = key->hash_low;
    return kiln_buffer_check(&copy->bytes, error);
}

enum kiln_status kiln_lowered_program_create(const struct kiln_cache_key *key,
                                             const struct kiln_graph *graph,
                                             const struct kiln_target *target,
                                             const struct kiln_lower_options *options,
                                             struct kiln_lowered_program **ret_lowered,
                                             struct kiln_error *error)
{
    struct kiln_lowered_program *lowered = calloc(1, sizeof(*lowered));
    if (!lowered)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a lowered program");
    kiln_arena_init(&lowered->arena);
    enum kiln_status status = copy_key(key, &lowered->key, error);
    if (status == KILN_OK)
        status =
            kiln_lower(graph, target, options, &lowered->arena, &lowered->program, NULL, error);
    if (status)
        kiln_lowered_program_free(lowered);
    else
        *ret_lowered = lowered;
    return status;
}

void kiln_lowered_program_free(struct kiln_lowered_program *lowered)
{
    if (!lowered)
        return;
    kiln_arena_fini(&lowered->arena);
    kiln_cache_key_fini(&lowered->key);
    free(lowered);
}

static bool is_of(const struct kiln_lowered_program *lowered, const struct kiln_cache_key *key)
{
    return lowered->key.hash_high == key->hash_high && lowered->key.hash_low == key->hash_low &&
           lowered->key.bytes.size == key->bytes.size &&
           memcmp(lowered->key.bytes.data, key->bytes.data, key->bytes.size) == 0;
}

struct kiln_lowered_program *kiln_lowered_programs_take(struct kiln_lowered_programs *programs,
                                                        const struct kiln_cache_key *key)
{
    for (int i = 0; i < KILN_LOWERED_SLOTS; i++) {
        /* Only the thread that has taken it may look at it. */
        struct kiln_lowered_program *lowered = atomic_exchange(&programs->slots[i], NULL);
        if (lowered && is_of(lowered, key))
            return lowered;
        if (lowered)
            kiln_lowered_program_free(atomic_exchange(&programs->slots[i], lowered));
    }
    return NULL;
}

static bool is_large(const struct kiln_lowered_program *lowered)
{
    return lowered->arena.bytes > KILN_LOWERED_LARGE_BYTES;
}

void kiln_lowered_programs_put(struct kiln_lowered_programs *programs,
                               struct kiln_lowered_program *lowered)
{
    unsigned slot =
        is_large(lowered) ? LARGE_SLOT : atomic_fetch_add(&programs->next, 1) % LARGE_SLOT;
    kiln_lowered_program_free(atomic_exchange(&programs->slots[slot], lowered));
}
