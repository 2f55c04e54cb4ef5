#include "runtime/engine/engine_report.h"

#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine_statistics.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The hash that captures are called by. */
static struct kiln_hash128 hash_of(const struct kiln_graph *graph, bool is_readable,
                                   const void *bytes, size_t size)
{
    struct kiln_hash128 hash;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    if (!is_readable || kiln_graph_hash(graph, &hash, &ignored))
        hash = kiln_hash128(bytes, size);
    return hash;
}

void kiln_report_answer(const struct kiln_graph *graph, bool is_readable, const void *bytes,
                        size_t size, const struct kiln_error *reason)
{
    static atomic_bool told;
    bool is_on = kiln_statistics_are_on();
    bool is_machine = reason && reason->status != KILN_REJECTED;
    bool is_line = is_machine && (!atomic_load_explicit(&told, memory_order_relaxed) ||
                                  kiln_log_takes(KILN_LOG_INFO));
    if (!is_on && !is_line) /* hashing a graph takes long */
        return;
    struct kiln_hash128 hash = hash_of(graph, is_readable, bytes, size);
    if (!reason) {
        kiln_statistics_count_taken(hash);
        return;
    }
    bool is_new = !is_on || kiln_statistics_count_decline(hash, reason);
    bool is_warning = is_machine && !atomic_exchange(&told, true);
    if (is_new || is_warning)
        kiln_log(is_warning ? KILN_LOG_WARN : KILN_LOG_INFO,
                 "graph '%.64s' %016" PRIx64 "%016" PRIx64 " is declined%s: %s", graph->name,
                 hash.high, hash.low, is_machine ? " on this machine" : "", reason->text);
}

struct origin {
    enum kiln_kernel_source source;
    const char *place; /* NULL except for caches */
};

static enum kiln_kernel_source tier_of(struct kiln_cache_store *store, const char *place)
{
    const char *directory = kiln_cache_store_directory(store);
    if (directory && strcmp(directory, place) == 0)
        return KILN_FROM_DIRECTORY;
    for (size_t i = 0; i < kiln_cache_store_layer_count(store); i++)
        if (strcmp(kiln_cache_store_layer(store, i).path, place) == 0)
            return KILN_FROM_LAYER;
    return KILN_FROM_SHARED_TIER;
}

/* A kernel that an earlier plan has is in memory, wherever it came from at first. */
static struct origin origin_of(const struct kiln_plan *plan, struct kiln_shared_kernel *kernel)
{
    struct kiln_cache_store *store = NULL;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    if (atomic_exchange(&kernel->is_planned, true))
        return (struct origin){KILN_FROM_MEMORY, NULL};
    if (kernel->was_compiled_here)
        return (struct origin){KILN_FROM_COMPILER, NULL};
    if (!kernel->place || kiln_engine_cache(plan->engine, &store, &ignored))
        return (struct origin){KILN_FROM_MEMORY, NULL};
    return (struct origin){tier_of(store, kernel->place), kernel->place};
}

static bool are_equal(struct origin a, struct origin b)
{
    return a.source == b.source &&
           (a.place == b.place || (a.place && b.place && strcmp(a.place, b.place) == 0));
}

/* Appends the kernels of one origin, whose first is `first`: by name while they are few. */
static void append_origin(const struct kiln_plan *plan, const struct origin *origins,
                          uint32_t first, struct kiln_buffer *text)
{
    enum { NAMED_KERNELS = 4 };
    uint32_t count = 0;
    for (uint32_t i = first; i < plan->kernel_count; i++)
        count += are_equal(origins[i], origins[first]);
    kiln_buffer_append_text(text, text->size ? "; " : "");
    if (count > NAMED_KERNELS)
        kiln_buffer_printf(text, "%" PRIu32 " kernels", count);
    for (uint32_t i = first; i < plan->kernel_count && count <= NAMED_KERNELS; i++) {
        if (are_equal(origins[i], origins[first]))
            kiln_buffer_printf(text, "%s%s", i == first ? "" : ", ",
                               plan->kernels[i].recipe->symbol);
    }
    switch (origins[first].source) {
    case KILN_FROM_COMPILER:
        kiln_buffer_append_text(text, " compiled");
        break;
    case KILN_FROM_MEMORY:
        kiln_buffer_append_text(text, " in memory");
        break;
    default:
        kiln_buffer_printf(text, " from '%s'", origins[first].place);
        break;
    }
}

static void append_origins(const struct kiln_plan *plan, const struct origin *origins,
                           struct kiln_buffer *text)
{
    for (uint32_t i = 0; i < plan->kernel_count; i++) {
        bool is_first = true;
        for (uint32_t j = 0; j < i && is_first; j++)
            is_first = !are_equal(origins[j], origins[i]);
        if (is_first)
            append_origin(plan, origins, i, text);
    }
}

void kiln_report_plan(const struct kiln_plan *plan, const struct kiln_graph *graph,
                      uint64_t nanoseconds)
{
    if (!kiln_statistics_are_on() && !kiln_log_takes(KILN_LOG_INFO))
        return;
    struct kiln_shared_program *program = plan->loaded->program;
    struct origin *origins = calloc(plan->kernel_count, sizeof(*origins));
    if (!origins) /* only the report is lost */
        return;
    struct kiln_plan_facts facts = {.graph = hash_of(graph, true, "", 0), .plan_ns = nanoseconds};
    for (uint32_t i = 0; i < plan->kernel_count; i++) {
        origins[i] = origin_of(plan, program->kernels[i]);
        facts.kernels[origins[i].source]++;
        if (origins[i].source == KILN_FROM_COMPILER)
            facts.compile_ns += program->program.kernels[i].object.compile_ns;
    }
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    append_origins(plan, origins, &text);
    kiln_log(KILN_LOG_INFO,
             "graph '%.64s' %016" PRIx64 "%016" PRIx64 " has a plan of %" PRIu32
             " kernel%s, made in %" PRIu64 " ms: %s",
             graph->name, facts.graph.high, facts.graph.low, plan->kernel_count,
             plan->kernel_count == 1 ? "" : "s", nanoseconds / 1000000, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    free(origins);
    if (kiln_statistics_are_on())
        kiln_statistics_count_plan(&facts);
}
