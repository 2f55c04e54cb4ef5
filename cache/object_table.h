/*
 * The in-memory table: key -> shared object, with single flight. N threads that ask for one key while it is
 * absent run the maker once; the others wait for its result. No lock is held while the maker runs.
 * A maker that fails leaves nothing behind: the waiting threads get the same error, a later caller tries again.
 */
#ifndef KILN_CACHE_OBJECT_TABLE_H
#define KILN_CACHE_OBJECT_TABLE_H

#include "cache/cache_key.h"
#include "runtime/support/error.h"

struct kiln_object_table; /* opaque, thread-safe */

/* Takes (ref) or drops (unref) one reference of an object in the table. */
struct kiln_object_type {
    void (*ref)(void *object);
    void (*unref)(void *object);
};

enum kiln_status kiln_object_table_create(const struct kiln_object_type *type,
                                          struct kiln_object_table **ret_table,
                                          struct kiln_error *error) KILN_NODISCARD;
/* Drops the table's references. No other thread may use the table any more. */
void kiln_object_table_destroy(struct kiln_object_table *table);

/* Makes the object for a key: one reference, owned by the table from then on. */
typedef enum kiln_status (*kiln_object_maker)(void *context, const struct kiln_cache_key *key,
                                              void **ret_object, struct kiln_error *error);

/* The object for the key, with a reference for the caller. The table keeps at most a few thousand objects:
 * the least recently used unreferenced ones go first. */
enum kiln_status kiln_object_table_get(struct kiln_object_table *table,
                                       const struct kiln_cache_key *key, kiln_object_maker maker,
                                       void *context, void **ret_object,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
