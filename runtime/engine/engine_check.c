/*
 * kiln_engine_check: hosts ask before they build a plan, and some of them before every call.
 *
 * A graph that was examined before is answered from engine->seen, without a lock or an allocation.
 */
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/engine_report.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/engine_statistics.h"

/* A compiled program needs no compiler; otherwise the compilers are asked. Sets `ret_is_loaded` if
 * the program is in memory then. */
static enum kiln_status check_program(struct kiln_engine *engine,
                                      struct kiln_program_request *request,
                                      const struct kiln_engine_device *device, bool *ret_is_loaded,
                                      struct kiln_error *error)
{
    /* Until then no cache is asked for the graph again, which may take a server's time. */
    enum { MISS_MILLISECONDS = 30000 };
    bool is_precompiled = engine->programs.is_precompiled;
    enum kiln_status status = kiln_program_request_find(request, kiln_program_cache_find, error);
    *ret_is_loaded = status == KILN_OK;
    if (status == KILN_OK || kiln_status_may_pass(status))
        return status;
    kiln_error_init(error);
    if (!is_precompiled)
        status = kiln_compile_ability_ask(device->ability, &device->device->target, error);
    if (status == KILN_OK || kiln_status_may_pass(status))
        return status;
    struct kiln_error second;
    kiln_error_init(&second);
    enum kiln_status found =
        kiln_program_request_find(request, kiln_program_cache_find_kernels, &second);
    if (found == KILN_OK)
        return KILN_OK;
    if (kiln_status_may_pass(found) || is_precompiled)
        *error = second;
    else
        kiln_program_cache_tell_miss(request->graph, error);
    if (!kiln_status_may_pass(found))
        kiln_declined_graphs_add(&engine->declined, &request->key, error, MISS_MILLISECONDS);
    return error->status;
}

/* True while every graph that can be read is taken, unless its plan has failed. */
static bool can_compile(const struct kiln_engine *engine, const struct kiln_engine_device *device)
{
    return !engine->programs.is_precompiled && kiln_compile_ability_is_known(device->ability);
}

/* A question about a graph. */
struct question {
    const void *bytes;
    size_t size;
    struct kiln_hash128 hash;                /* of the bytes */
    const struct kiln_engine_device *device; /* NULL: not open yet */
    /* Before the graph is examined: count of graphs that were declined after all, and the same with
     * programs that went out of memory. */
    uint32_t declined;
    uint32_t declined_or_lost;
    enum kiln_seen_kind kind; /* of the answer, if it stays true */
};

static enum kiln_status check_graph(struct kiln_engine *engine, const struct kiln_graph *graph,
                                    struct question *question, struct kiln_error *error)
{
    const struct kiln_engine_device *device = question->device;
    bool is_compiling = can_compile(engine, device);
    bool is_loaded = false;
    enum kiln_status status = KILN_OK;
    if (!is_compiling || kiln_declined_graphs_any(&engine->declined)) {
        struct kiln_program_request request;
        status = kiln_program_request_peek(&engine->programs, graph, &device->device->target, NULL,
                                           &request, error);
        if (status)
            return status;
        status = kiln_declined_graphs_check(&engine->declined, &request.key, error);
        if (status == KILN_OK && !is_compiling)
            status = check_program(engine, &request, device, &is_loaded, error);
        kiln_program_request_fini(&request);
    }
    if (status == KILN_OK && can_compile(engine, device))
        question->kind = KILN_SEEN_TAKEN;
    else if (is_loaded)
        question->kind = KILN_SEEN_IN_MEMORY;
    return status;
}

/* Asks the graph's reader and the device. */
static enum kiln_status examine(struct kiln_engine *engine, struct question *question,
                                struct kiln_error *error)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_graph graph;
    enum kiln_status status =
        kiln_graph_read(question->bytes, question->size, &arena, &graph, error);
    bool is_readable = status == KILN_OK;
    if (status == KILN_OK)
        status = kiln_engine_devices_current(&engine->devices, &question->device, error);
    if (status == KILN_OK)
        status = check_graph(engine, &graph, question, error);
    if (!is_readable && status == KILN_REJECTED)
        question->kind = KILN_SEEN_DECLINED;
    kiln_report_answer(&graph, is_readable, question->bytes, question->size, status ? error : NULL);
    kiln_arena_fini(&arena);
    return status;
}

static struct kiln_hash128 name_of(const struct question *question)
{
    return kiln_seen_graphs_name(question->hash, question->device->device->ordinal);
}

static void remember(struct kiln_engine *engine, const struct question *question,
                     const struct kiln_error *error)
{
    if (!question->device || question->kind == KILN_SEEN_NOT)
        return;
    if (question->kind == KILN_SEEN_DECLINED)
        kiln_seen_graphs_add_declined(&engine->seen, name_of(question), error);
    else
        kiln_seen_graphs_add(&engine->seen, name_of(question), question->kind,
                             question->kind == KILN_SEEN_TAKEN ? question->declined
                                                               : question->declined_or_lost);
}

/* True if the graph was examined before, and the same would come out again. */
static bool recall(const struct kiln_engine *engine, const struct question *question,
                   enum kiln_status *ret_status, struct kiln_error *error)
{
    uint32_t epoch = 0;
    if (!question->device)
        return false;
    *ret_status = KILN_OK;
    switch (kiln_seen_graphs_find(&engine->seen, name_of(question), &epoch, error)) {
    case KILN_SEEN_TAKEN:
        return epoch == question->declined && can_compile(engine, question->device);
    case KILN_SEEN_IN_MEMORY:
        return epoch == question->declined_or_lost;
    case KILN_SEEN_DECLINED:
        *ret_status = KILN_REJECTED;
        return true;
    default:
        return false;
    }
}

enum kiln_status kiln_engine_check(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                   struct kiln_error *error)
{
    struct question question = {.bytes = graph_bytes, .size = size};
    enum kiln_status status = KILN_OK;
    if (kiln_statistics_are_on()) /* they count graphs, which only reading tells apart */
        return examine(engine, &question, error);
    question.hash = kiln_hash128(graph_bytes, size);
    question.declined = kiln_declined_graphs_epoch(&engine->declined);
    question.declined_or_lost =
        question.declined + kiln_object_table_losses(engine->programs.programs);
    if (kiln_engine_devices_find(&engine->devices, &question.device, error))
        kiln_error_init(error);
    if (recall(engine, &question, &status, error))
        return status;
    status = examine(engine, &question, error);
    remember(engine, &question, error);
    return status;
}
