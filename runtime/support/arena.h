/*
 * Bump allocator: everything of one compile job, freed in one go.
 * Not thread-safe; one arena belongs to one job on one thread.
 */
#ifndef KILN_RUNTIME_SUPPORT_ARENA_H
#define KILN_RUNTIME_SUPPORT_ARENA_H

#include <stddef.h>

struct kiln_arena_chunk;

struct kiln_arena {
    struct kiln_arena_chunk *chunks;
    char *next;
    char *limit;
    size_t bytes; /* that it has allocated */
};

/* Allocates nothing; an arena that was never used needs no fini. */
void kiln_arena_init(struct kiln_arena *arena);
/* Frees all memory of the arena; it may be used again afterwards. */
void kiln_arena_fini(struct kiln_arena *arena);

/* Zeroed memory of `count * bytes` bytes, 16-byte aligned, owned by the arena; NULL when memory is
 * out or the product overflows. A count of 0 gives a valid pointer. */
void *kiln_arena_calloc(struct kiln_arena *arena, size_t count, size_t bytes);
/* A copy of `length` bytes with a NUL behind it; NULL when memory is out. */
char *kiln_arena_strndup(struct kiln_arena *arena, const char *text, size_t length);

#endif
