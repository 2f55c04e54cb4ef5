/*
 * The programs in a store's directory and layers by what decides them, read once: for saying which
 * entry is nearest to one that is missing, and what differs. For people; no lookup depends on it.
 */
#ifndef KILN_RUNTIME_ENGINE_KNOWN_PROGRAMS_H
#define KILN_RUNTIME_ENGINE_KNOWN_PROGRAMS_H

#include "cache/cache_store.h"
#include "runtime/engine/program_key.h"

enum {
    /* Programs that are kept, and bytes of the largest entry that is read: recipes are small, and
     * kernels are not looked at. Entries beyond that are no longer near to anything. */
    KILN_KNOWN_PROGRAMS_LIMIT = 4096,
    KILN_KNOWN_PROGRAM_LIMIT_BYTES = 64 * 1024,
    KILN_KNOWN_PROGRAMS_LIMIT_BYTES = 32 * 1024 * 1024,
};

struct kiln_known_program {
    char hex[KILN_CACHE_HASH_HEX + 1];
    const char *place;              /* path of the directory or layer, the store's */
    const char *compiler;           /* of its maker, untrusted; "" where the entry does not say */
    const char *build;              /* the same */
    struct kiln_hash128 graph_hash; /* as kiln_graph_hash */
    struct kiln_hash128
        shape_hash; /* equal for graphs of as many tensors and the same kinds of nodes */
    struct kiln_program_key key;
};

struct kiln_known_programs {
    struct kiln_arena arena;
    struct kiln_known_program *programs; /* owned */
    size_t count;
    size_t capacity;
    size_t bytes;
    size_t unreadable; /* entries that are no program and no kernel of this build's formats */
    bool is_cut;       /* a limit left entries out */
};

/* Reads the store; entries that are damaged are left out. KILN_NO_MEMORY, or KILN_IO when the
 * directory cannot be listed. On failure there is nothing to fini. */
enum kiln_status kiln_known_programs_read(struct kiln_cache_store *store,
                                          struct kiln_known_programs *ret_known,
                                          struct kiln_error *error) KILN_NODISCARD;
void kiln_known_programs_fini(struct kiln_known_programs *known);

/* The hash for shape_hash. KILN_NO_MEMORY. */
enum kiln_status kiln_graph_hash_shape(const struct kiln_graph *graph,
                                       struct kiln_hash128 *ret_hash,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
