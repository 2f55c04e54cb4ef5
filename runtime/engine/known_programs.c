#include "runtime/engine/known_programs.h"

#include "cache/cache_inventory.h"
#include "cache/cache_visit.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/kernel_key.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct kiln_known_programs *known;
    const char *place;
};

enum kiln_status kiln_graph_hash_shape(const struct kiln_graph *graph,
                                       struct kiln_hash128 *ret_hash, struct kiln_error *error)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_buffer_append_u32(&text, graph->tensor_count);
    for (uint32_t i = 0; i < graph->node_count; i++)
        kiln_buffer_append_u32(&text, graph->nodes[i].kind);
    enum kiln_status status = kiln_buffer_check(&text, error);
    if (status == KILN_OK)
        *ret_hash = kiln_hash128(text.data, text.size);
    kiln_buffer_fini(&text);
    return status;
}

static enum kiln_status describe(const struct reading *reading,
                                 const struct kiln_cache_visited *entry,
                                 struct kiln_known_program *ret_program, struct kiln_error *error)
{
    struct kiln_arena *arena = &reading->known->arena;
    const struct kiln_entry_view *view = &entry->view;
    struct kiln_known_program program = {
        .place = reading->place,
        .compiler = kiln_arena_strndup(arena, view->compiler.text, view->compiler.size),
        .build = kiln_arena_strndup(arena, view->build.text, view->build.size)};
    if (!program.compiler || !program.build)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while listing a cache");
    memcpy(program.hex, entry->hex, sizeof program.hex);
    enum kiln_status status =
        kiln_program_key_read(view->key, view->key_bytes, arena, &program.key, error);
    if (status == KILN_OK)
        status = kiln_graph_hash(&program.key.graph, &program.graph_hash, error);
    if (status == KILN_OK)
        status = kiln_graph_hash_shape(&program.key.graph, &program.shape_hash, error);
    if (status == KILN_OK)
        *ret_program = program;
    return status;
}

/* Ends the walk with KILN_SHORTAGE where a limit is reached. */
static enum kiln_status take_entry(void *context, const struct kiln_cache_visited *entry,
                                   struct kiln_error *error)
{
    struct reading *reading = context;
    struct kiln_known_programs *known = reading->known;
    const void *key = entry->view.key;
    size_t key_bytes = entry->view.key_bytes;
    if (entry->status || kiln_kernel_key_is_one(key, key_bytes) ||
        kiln_program_key_strip_mark(&key, &key_bytes))
        return KILN_OK;
    known->bytes += entry->bytes;
    if (known->count == KILN_KNOWN_PROGRAMS_LIMIT || known->bytes > KILN_KNOWN_PROGRAMS_LIMIT_BYTES)
        return kiln_error_set(error, KILN_SHORTAGE, "enough programs");
    if (known->count == known->capacity) {
        size_t capacity = known->capacity ? known->capacity * 2 : 64;
        void *grown = realloc(known->programs, capacity * sizeof *known->programs);
        if (!grown)
            return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while listing a cache");
        known->programs = grown;
        known->capacity = capacity;
    }
    enum kiln_status status = describe(reading, entry, &known->programs[known->count], error);
    if (status == KILN_NO_MEMORY)
        return status;
    if (status)
        known->unreadable++;
    else
        known->count++;
    return KILN_OK;
}

enum kiln_status kiln_known_programs_read(struct kiln_cache_store *store,
                                          struct kiln_known_programs *ret_known,
                                          struct kiln_error *error)
{
    struct kiln_known_programs known = {0};
    struct reading reading = {.known = &known};
    struct kiln_error failure;
    enum kiln_status status = KILN_OK;
    int layers = (int)kiln_cache_store_layer_count(store);
    kiln_error_init(&failure);
    kiln_arena_init(&known.arena);
    for (int source = KILN_CACHE_SOURCE_DIRECTORY; source < layers && status == KILN_OK; source++) {
        reading.place = source == KILN_CACHE_SOURCE_DIRECTORY
                            ? kiln_cache_store_directory(store)
                            : kiln_cache_store_layer(store, (size_t)source).path;
        status = kiln_cache_store_visit_small(store, source, KILN_KNOWN_PROGRAM_LIMIT_BYTES,
                                              take_entry, &reading, &failure);
    }
    known.is_cut = status == KILN_SHORTAGE;
    if (status && !known.is_cut) {
        *error = failure;
        kiln_known_programs_fini(&known);
        return status;
    }
    *ret_known = known;
    return KILN_OK;
}

void kiln_known_programs_fini(struct kiln_known_programs *known)
{
    free(known->programs);
    kiln_arena_fini(&known->arena);
}
