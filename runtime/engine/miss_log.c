#include "runtime/engine/miss_log.h"

#include "compiler/graph/graph_reader.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <stdlib.h>

void kiln_miss_log_fini(struct kiln_miss_log *log)
{
    struct kiln_known_programs *known = atomic_load(&log->known);
    if (known)
        kiln_known_programs_fini(known);
    free(known);
}

/* The name of the graph in logs and captures. False when memory is out. */
static bool name_graph(const struct kiln_graph *graph, char ret_hex[KILN_CACHE_HASH_HEX + 1])
{
    struct kiln_error ignored;
    struct kiln_hash128 hash;
    kiln_error_init(&ignored);
    if (kiln_graph_hash(graph, &hash, &ignored) != KILN_OK)
        return false;
    const struct kiln_cache_key name = kiln_cache_key_of_hash(hash);
    kiln_cache_key_hex(&name, ret_hex);
    return true;
}

/* NULL when the programs cannot be listed. */
static const struct kiln_known_programs *list(struct kiln_miss_log *log,
                                              struct kiln_cache_store *store)
{
    struct kiln_known_programs *known = NULL;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    struct kiln_known_programs *fresh = malloc(sizeof *fresh);
    if (!fresh || kiln_known_programs_read(store, fresh, &ignored) != KILN_OK) {
        free(fresh);
        return NULL;
    }
    if (atomic_compare_exchange_strong(&log->known, &known, fresh))
        return fresh;
    kiln_known_programs_fini(fresh); /* another thread was faster */
    free(fresh);
    return known;
}

void kiln_miss_log_program(struct kiln_miss_log *log, struct kiln_cache_store *store,
                           const struct kiln_missing_program *missing)
{
    struct kiln_error ignored;
    struct kiln_buffer line;
    char graph[KILN_CACHE_HASH_HEX + 1];
    kiln_error_init(&ignored);
    if (!kiln_log_takes(KILN_LOG_INFO) || !name_graph(missing->graph, graph))
        return;
    const struct kiln_known_programs *known = atomic_load(&log->known);
    bool is_first = !known;
    if (is_first)
        known = list(log, store);
    kiln_buffer_init(&line);
    /* Later lines do not know what was compiled since. */
    if (known && kiln_missing_program_explain(missing, known, &line, &ignored) == KILN_OK)
        kiln_log(KILN_LOG_INFO, "no cache has graph '%s' for target '%s'; %s%s", graph,
                 missing->target->name,
                 is_first ? "" : "at the first miss: ", kiln_buffer_text(&line));
    kiln_buffer_fini(&line);
}

void kiln_miss_log_kernels(const struct kiln_missing_program *program,
                           const struct kiln_shared_program *recipe, uint32_t missing)
{
    uint32_t count = recipe->program.kernel_count;
    char graph[KILN_CACHE_HASH_HEX + 1];
    if (kiln_log_takes(KILN_LOG_INFO) && name_graph(program->graph, graph))
        kiln_log(KILN_LOG_INFO,
                 "the program of graph '%s' for target '%s' is in '%s', and %" PRIu32
                 " of its %" PRIu32 " %s %s in no cache",
                 graph, program->target->name, recipe->place, missing, count,
                 KILN_NOUN(count, "kernel"), missing == 1 ? "is" : "are");
}
