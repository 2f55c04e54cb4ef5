/*
 * A read-only layer under the directory of a store: a directory of the same format, or a pack.
 * Nothing in it is ever created, removed or dated.
 */
#ifndef KILN_CACHE_CACHE_LAYER_H
#define KILN_CACHE_CACHE_LAYER_H

#include "cache/cache_directory.h"
#include "cache/entry_file.h"
#include "cache/pack_file.h"

struct kiln_cache_layer {
    struct kiln_cache_directory directory; /* its descriptor is -1 when it is a pack */
    struct kiln_pack_file *pack;           /* owned; NULL when it is a directory */
    char *path;                            /* owned */
    bool is_system;
};

/* Opens a directory or pack that belongs to root or this user and that nobody else can write to.
 * KILN_NOT_FOUND when nothing has that name, KILN_IO, KILN_CORRUPT, KILN_NO_MEMORY. */
enum kiln_status kiln_cache_layer_open(const char *path, struct kiln_cache_layer *ret_layer,
                                       struct kiln_error *error) KILN_NODISCARD;
void kiln_cache_layer_close(struct kiln_cache_layer *layer);

#endif
