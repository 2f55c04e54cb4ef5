#include "cache/object_table.h"

#include "runtime/support/process_mutex.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUCKETS = 2 * KILN_OBJECT_TABLE_LIMIT,
    /* How many of the least recently used objects are asked whether they are shared before the
       oldest goes. */
    EVICTION_SEARCH = 32,
};

/*
 * One run of a maker and the threads that wait for it. It outlives the entry's interest in it: the
 * last of its users frees it. The maker's thread takes the waiting threads' references before it
 * wakes them, so that a waiting thread never looks at the entry again, which may be evicted before
 * it gets the lock.
 */
struct flight {
    pthread_cond_t landed;
    pthread_t maker;
    pid_t process;  /* of the maker */
    unsigned users; /* the maker's thread and those that wait */
    bool done;
    enum kiln_status status;
    void *object;
    struct kiln_error error;
};

struct entry {
    struct entry *next_in_bucket;
    struct entry *newer; /* in the list by last use; only entries with an object are in it */
    struct entry *older;
    struct flight *flight; /* NULL once there is an object */
    void *object;
    struct kiln_cache_key key;
};

struct kiln_object_table {
    struct kiln_object_type type;
    _Atomic uint32_t losses;
    struct kiln_process_mutex lock; /* of all below */
    size_t objects;
    struct entry *newest;
    struct entry *oldest;
    struct entry *buckets[BUCKETS];
};

enum kiln_status kiln_object_table_create(const struct kiln_object_type *type,
                                          struct kiln_object_table **ret_table,
                                          struct kiln_error *error)
{
    struct kiln_object_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while creating a table");
    kiln_process_mutex_init(&table->lock);
    table->type = *type;
    *ret_table = table;
    return KILN_OK;
}

static struct entry **bucket_of(struct kiln_object_table *table, const struct kiln_cache_key *key)
{
    return &table->buckets[key->hash_low % BUCKETS];
}

static bool same_key(const struct kiln_cache_key *a, const struct kiln_cache_key *b)
{
    return a->hash_low == b->hash_low && a->hash_high == b->hash_high &&
           a->bytes.size == b->bytes.size &&
           (a->bytes.size == 0 || memcmp(a->bytes.data, b->bytes.data, a->bytes.size) == 0);
}

static struct entry *find(struct kiln_object_table *table, const struct kiln_cache_key *key)
{
    struct entry *entry = *bucket_of(table, key);
    while (entry != NULL && !same_key(&entry->key, key))
        entry = entry->next_in_bucket;
    return entry;
}

static void unlink_from_bucket(struct kiln_object_table *table, struct entry *entry)
{
    struct entry **link = bucket_of(table, &entry->key);
    while (*link != entry)
        link = &(*link)->next_in_bucket;
    *link = entry->next_in_bucket;
}

static void unlink_from_uses(struct kiln_object_table *table, struct entry *entry)
{
    *(entry->newer != NULL ? &entry->newer->older : &table->newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &table->oldest) = entry->newer;
}

static void link_as_newest(struct kiln_object_table *table, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = table->newest;
    *(table->newest != NULL ? &table->newest->newer : &table->oldest) = entry;
    table->newest = entry;
}

static void entry_destroy(struct entry *entry)
{
    kiln_cache_key_fini(&entry->key);
    free(entry);
}

/* Of this thread; NULL when memory is out. */
static struct flight *flight_create(void)
{
    struct flight *flight = calloc(1, sizeof *flight);
    if (flight == NULL || pthread_cond_init(&flight->landed, NULL) != 0) {
        free(flight);
        return NULL;
    }
    flight->maker = pthread_self();
    flight->process = getpid();
    flight->users = 1;
    return flight;
}

/* Called with the lock held. */
static void leave_flight(struct flight *flight)
{
    if (--flight->users != 0)
        return;
    pthread_cond_destroy(&flight->landed);
    free(flight);
}

static struct entry *entry_create(const struct kiln_cache_key *key)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    kiln_cache_key_init(&entry->key);
    kiln_buffer_append(&entry->key.bytes, key->bytes.data, key->bytes.size);
    entry->key.hash_high = key->hash_high;
    entry->key.hash_low = key->hash_low;
    entry->flight = entry->key.bytes.failed ? NULL : flight_create();
    if (entry->flight == NULL) {
        entry_destroy(entry);
        return NULL;
    }
    return entry;
}

void kiln_object_table_destroy(struct kiln_object_table *table)
{
    if (table == NULL)
        return;
    while (table->newest != NULL) {
        struct entry *entry = table->newest;
        unlink_from_uses(table, entry);
        unlink_from_bucket(table, entry);
        table->type.unref(entry->object);
        entry_destroy(entry);
    }
    kiln_process_mutex_fini(&table->lock);
    free(table);
}

static void note_loss(struct kiln_object_table *table)
{
    atomic_fetch_add_explicit(&table->losses, 1, memory_order_release);
}

uint32_t kiln_object_table_losses(const struct kiln_object_table *table)
{
    return atomic_load_explicit(&table->losses, memory_order_acquire);
}

/*
 * Takes out of the table what is to go to keep the bound, or NULL; called with the lock held. The
 * caller drops the reference after the lock, since the last one may unload a module.
 */
static struct entry *evict_one(struct kiln_object_table *table)
{
    if (table->objects <= KILN_OBJECT_TABLE_LIMIT)
        return NULL;
    struct entry *victim = table->oldest;
    if (table->type.is_shared != NULL) {
        struct entry *candidate = table->oldest;
        for (unsigned i = 0; i < EVICTION_SEARCH && candidate != table->newest; i++) {
            if (!table->type.is_shared(candidate->object)) {
                victim = candidate;
                break;
            }
            candidate = candidate->newer;
        }
    }
    unlink_from_uses(table, victim);
    unlink_from_bucket(table, victim);
    table->objects--;
    note_loss(table);
    return victim;
}

static void lock(struct kiln_object_table *table)
{
    if (kiln_process_mutex_lock(&table->lock))
        return;
    /* What the parent's table had stays in memory. */
    table->objects = 0;
    note_loss(table);
    table->newest = NULL;
    table->oldest = NULL;
    memset(table->buckets, 0, sizeof table->buckets);
}

/* Waits for another thread's maker; called with the lock held, returns without it. */
static enum kiln_status join_flight(struct kiln_object_table *table, struct flight *flight,
                                    void **ret_object, struct kiln_error *error)
{
    if (pthread_equal(flight->maker, pthread_self())) {
        kiln_process_mutex_unlock(&table->lock);
        return kiln_error_set(error, KILN_INTERNAL, "the maker of an object asked for that object");
    }
    flight->users++;
    while (!flight->done)
        pthread_cond_wait(&flight->landed, &table->lock.mutex);
    enum kiln_status status = flight->status;
    if (status == KILN_OK)
        *ret_object = flight->object;
    else
        *error = flight->error;
    leave_flight(flight);
    kiln_process_mutex_unlock(&table->lock);
    return status;
}

/* Runs the maker for an entry that this thread has put into the table; called without the lock. */
static enum kiln_status fly(struct kiln_object_table *table, struct entry *entry,
                            kiln_object_maker maker, void *context, void **ret_object,
                            struct kiln_error *error)
{
    struct flight *flight = entry->flight;
    void *object = NULL;
    enum kiln_status status = maker(context, &entry->key, &object, error);
    assert(status != KILN_OK || object != NULL);

    struct entry *gone = NULL;
    lock(table);
    flight->done = true;
    flight->status = status;
    if (status == KILN_OK) {
        /* One for the caller of every thread in the flight, this one too; the maker's own is the
         * table's. */
        for (unsigned i = 0; i < flight->users; i++)
            table->type.ref(object);
        flight->object = object;
        entry->object = object;
        entry->flight = NULL;
        link_as_newest(table, entry);
        table->objects++;
        gone = evict_one(table);
    } else {
        flight->error = *error;
        unlink_from_bucket(table, entry);
    }
    pthread_cond_broadcast(&flight->landed);
    leave_flight(flight);
    kiln_process_mutex_unlock(&table->lock);

    if (gone != NULL) {
        table->type.unref(gone->object);
        entry_destroy(gone);
    }
    if (status == KILN_OK)
        *ret_object = object;
    else
        entry_destroy(entry);
    return status;
}

void kiln_object_table_drop(struct kiln_object_table *table, const struct kiln_cache_key *key,
                            const void *object)
{
    lock(table);
    struct entry *entry = find(table, key);
    if (entry != NULL && entry->flight == NULL && entry->object == object) {
        unlink_from_uses(table, entry);
        unlink_from_bucket(table, entry);
        table->objects--;
        note_loss(table);
    } else {
        entry = NULL;
    }
    kiln_process_mutex_unlock(&table->lock);
    if (entry != NULL) {
        table->type.unref(entry->object);
        entry_destroy(entry);
    }
}

/* The entry of the key, with a flight for this thread to make: a new one, or one whose maker stayed
 * in the process that we were forked from. Called with the lock held. The flight of such a maker is
 * left behind: to destroy it would mean to wait for threads that stayed there too. NULL when memory
 * is out. */
static struct entry *board(struct kiln_object_table *table, struct entry *entry,
                           const struct kiln_cache_key *key)
{
    if (entry != NULL) {
        struct flight *flight = flight_create();
        if (flight == NULL)
            return NULL;
        entry->flight = flight;
        return entry;
    }
    entry = entry_create(key);
    if (entry == NULL)
        return NULL;
    struct entry **bucket = bucket_of(table, key);
    entry->next_in_bucket = *bucket;
    *bucket = entry;
    return entry;
}

/* The object of an entry, with a reference for the caller; called with the lock held. */
static void *use(struct kiln_object_table *table, struct entry *entry)
{
    unlink_from_uses(table, entry);
    link_as_newest(table, entry);
    table->type.ref(entry->object);
    return entry->object;
}

void *kiln_object_table_find(struct kiln_object_table *table, const struct kiln_cache_key *key)
{
    lock(table);
    struct entry *entry = find(table, key);
    void *object = entry != NULL && entry->flight == NULL ? use(table, entry) : NULL;
    kiln_process_mutex_unlock(&table->lock);
    return object;
}

enum kiln_status kiln_object_table_get(struct kiln_object_table *table,
                                       const struct kiln_cache_key *key, kiln_object_maker maker,
                                       void *context, void **ret_object, struct kiln_error *error)
{
    lock(table);
    struct entry *entry = find(table, key);
    if (entry != NULL && entry->flight != NULL && entry->flight->process == getpid())
        return join_flight(table, entry->flight, ret_object, error);
    if (entry != NULL && entry->flight == NULL) {
        *ret_object = use(table, entry);
        kiln_process_mutex_unlock(&table->lock);
        return KILN_OK;
    }
    entry = board(table, entry, key);
    kiln_process_mutex_unlock(&table->lock);
    if (entry == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while adding to a table");
    return fly(table, entry, maker, context, ret_object, error);
}
