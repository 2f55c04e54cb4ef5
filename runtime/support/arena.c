#include "runtime/support/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 16384, ALIGNMENT = 16 };

struct kiln_arena_chunk {
    struct kiln_arena_chunk *previous;
    _Alignas(16) char data[];
};

void kiln_arena_init(struct kiln_arena *arena)
{
    arena->chunks = NULL;
    arena->next = NULL;
    arena->limit = NULL;
    arena->bytes = 0;
}

void kiln_arena_fini(struct kiln_arena *arena)
{
    struct kiln_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        struct kiln_arena_chunk *previous = chunk->previous;
        free(chunk);
        chunk = previous;
    }
    kiln_arena_init(arena);
}

static void *allocate_chunk(struct kiln_arena *arena, size_t bytes)
{
    size_t capacity = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
    struct kiln_arena_chunk *chunk = malloc(sizeof *chunk + capacity);
    if (chunk == NULL)
        return NULL;
    chunk->previous = arena->chunks;
    arena->chunks = chunk;
    arena->bytes += sizeof *chunk + capacity;
    if (capacity == CHUNK_BYTES) {
        arena->next = chunk->data + bytes;
        arena->limit = chunk->data + capacity;
    }
    return chunk->data;
}

void *kiln_arena_calloc(struct kiln_arena *arena, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total) || total > SIZE_MAX / 2)
        return NULL;
    total = (total + (ALIGNMENT - 1)) & ~(size_t)(ALIGNMENT - 1);
    void *memory;
    if (total <= (size_t)(arena->limit - arena->next) && arena->next != NULL) {
        memory = arena->next;
        arena->next += total;
    } else {
        memory = allocate_chunk(arena, total);
        if (memory == NULL)
            return NULL;
    }
    return memset(memory, 0, total);
}

char *kiln_arena_strndup(struct kiln_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? kiln_arena_calloc(arena, length + 1, 1) : NULL;
    if (copy != NULL && length != 0)
        memcpy(copy, text, length);
    return copy;
}
