/*
 * Many threads on one table that is too small for their keys: makers that fail, waits, evictions
 * and last references dropped anywhere. Run it under the thread and address sanitizers.
 */
#include "cache/object_table.h"

#include "tests/cache/sample_key.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 8,
    ROUNDS = 12000,
    /* Every few rounds all threads turn to new keys, so that they keep meeting in flights. */
    ROUNDS_OF_KEY = 8,
    HOT_KEYS = ROUNDS / ROUNDS_OF_KEY * 2,
    /* Enough more for evictions. */
    COLD_KEYS = KILN_OBJECT_TABLE_LIMIT + 2000,
};

struct object {
    atomic_uint references;
    unsigned number;
};

static atomic_uint alive;
static atomic_uint faults;
static atomic_uint in_flight[HOT_KEYS];
static struct kiln_object_table *table;

static void ref_object(void *object)
{
    atomic_fetch_add(&((struct object *)object)->references, 1);
}

static void unref_object(void *object)
{
    if (atomic_fetch_sub(&((struct object *)object)->references, 1) == 1) {
        free(object);
        atomic_fetch_sub(&alive, 1);
    }
}

static bool is_object_shared(void *object)
{
    return atomic_load(&((struct object *)object)->references) > 1;
}

static void fault(const char *text, unsigned number)
{
    (void)fprintf(stderr, "%s (key %u)\n", text, number);
    atomic_fetch_add(&faults, 1);
}

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

struct request {
    unsigned number;
    bool fails;
};

static enum kiln_status make(void *context, const struct kiln_cache_key *key, void **ret_object,
                             struct kiln_error *error)
{
    (void)key;
    const struct request *request = context;
    if (request->number < HOT_KEYS && atomic_fetch_add(&in_flight[request->number], 1) != 0)
        fault("two makers of one key at a time", request->number);
    /* Others come to wait. */
    (void)sched_yield();
    struct object *object = request->fails ? NULL : malloc(sizeof *object);
    if (request->number < HOT_KEYS)
        atomic_fetch_sub(&in_flight[request->number], 1);
    if (object == NULL)
        return kiln_error_set(error, KILN_COMPILE_FAILED, "key %u fails", request->number);
    atomic_init(&object->references, 1);
    object->number = request->number;
    atomic_fetch_add(&alive, 1);
    *ret_object = object;
    return KILN_OK;
}

static void *work(void *argument)
{
    unsigned state = *(unsigned *)argument * 7919 + 1;
    void *held[4] = {NULL};
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned draw = next_random(&state);
        unsigned hot_key = round / ROUNDS_OF_KEY * 2 + draw / 4 % 2;
        struct request request = {
            .number = draw % 4 == 0 ? HOT_KEYS + next_random(&state) % COLD_KEYS : hot_key,
            .fails = next_random(&state) % 8 == 0,
        };
        struct kiln_cache_key key = sample_key(request.number);
        struct kiln_error error;
        kiln_error_init(&error);
        void *object = NULL;
        enum kiln_status status =
            kiln_object_table_get(table, &key, make, &request, &object, &error);
        kiln_cache_key_fini(&key);
        if (status == KILN_OK) {
            if (((struct object *)object)->number != request.number)
                fault("the object of another key", request.number);
            if (held[round % 4] != NULL)
                unref_object(held[round % 4]);
            held[round % 4] = object;
        } else if (status != KILN_COMPILE_FAILED || strstr(error.text, "fails") == NULL) {
            fault(error.text, request.number);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        if (held[i] != NULL)
            unref_object(held[i]);
    }
    return NULL;
}

int main(void)
{
    static const struct kiln_object_type type = {
        .ref = ref_object, .unref = unref_object, .is_shared = is_object_shared};
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_object_table_create(&type, &table, &error) != KILN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i;
        if (pthread_create(&threads[i], NULL, work, &seeds[i]) != 0)
            return 1;
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    if (atomic_load(&alive) > KILN_OBJECT_TABLE_LIMIT)
        fault("more objects than the table may keep", atomic_load(&alive));
    kiln_object_table_destroy(table);
    if (atomic_load(&alive) != 0)
        fault("objects leaked", atomic_load(&alive));
    return atomic_load(&faults) == 0 ? 0 : 1;
}
