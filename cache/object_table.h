/*
 * The in-memory table: key -> shared object, with single flight. N threads that ask for one key
 * while it is absent run the maker once; the others wait for its result. No lock is held while the
 * maker runs. A maker that fails leaves nothing behind: the waiting threads get the same error, a
 * later caller tries again. After a fork nobody waits for makers that stayed in the parent.
 */
#ifndef KILN_CACHE_OBJECT_TABLE_H
#define KILN_CACHE_OBJECT_TABLE_H

#include "cache/cache_key.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Objects that a table keeps; in-flight ones come on top. */
enum { KILN_OBJECT_TABLE_LIMIT = 4096 };

struct kiln_object_table; /* opaque, thread-safe */

/*
 * What the table does with its objects. `ref` and `is_shared` are called with the table's lock
 * held: cheap, and no call back into the table. `unref` is called without it.
 */
struct kiln_object_type {
    void (*ref)(void *object);
    void (*unref)(void *object);
    /* True if somebody holds a reference besides the table's. Optional: with NULL the least
     * recently used object goes first, shared or not. */
    bool (*is_shared)(void *object);
};

enum kiln_status kiln_object_table_create(const struct kiln_object_type *type,
                                          struct kiln_object_table **ret_table,
                                          struct kiln_error *error) KILN_NODISCARD;
/* Drops the table's references. No other thread may use the table any more. */
void kiln_object_table_destroy(struct kiln_object_table *table);

/*
 * Makes the object for a key: one reference, owned by the table from then on; never NULL with
 * KILN_OK. It may ask the table for objects of other keys as long as no two makers ask for each
 * other's, which would wait for ever. For its own key it gets KILN_INTERNAL.
 */
typedef enum kiln_status (*kiln_object_maker)(void *context, const struct kiln_cache_key *key,
                                              void **ret_object, struct kiln_error *error);

/*
 * The object for the key, with a reference for the caller. Fails as the maker does, or with
 * KILN_NO_MEMORY. `key` is copied. The table keeps at most KILN_OBJECT_TABLE_LIMIT objects: the
 * least recently used unreferenced ones go first. References to an object that went stay good;
 * only a new request makes another one.
 */
enum kiln_status kiln_object_table_get(struct kiln_object_table *table,
                                       const struct kiln_cache_key *key, kiln_object_maker maker,
                                       void *context, void **ret_object,
                                       struct kiln_error *error) KILN_NODISCARD;

/* The object for the key, with a reference for the caller; NULL when it is absent or being made. */
void *kiln_object_table_find(struct kiln_object_table *table, const struct kiln_cache_key *key);

/* Count of objects that have left the table. An object that was in it is still there as long as the
 * count is the same. A forked child counts its parent's objects as lost when it first uses the
 * table. Takes no lock. */
uint32_t kiln_object_table_losses(const struct kiln_object_table *table);

/* Takes the object of the key out of the table when it is still this one, which turned out to be of
 * no use: the next request makes another. The caller holds a reference. */
void kiln_object_table_drop(struct kiln_object_table *table, const struct kiln_cache_key *key,
                            const void *object);

#endif
