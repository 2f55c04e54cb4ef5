#include "plugin_api/engine_details.h"

#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "plugin_api/engine_identity.h"
#include "runtime/engine/plan_knobs.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A set of work that knobs apply to, for engines that may compile and for those that may not. */
enum { MESSAGES = 2 * KILN_WORK_SETS };

/* Made by the first request; owned. */
static _Atomic(struct kiln_buffer *) messages[MESSAGES];

static unsigned work_of(const void *graph_bytes, size_t size)
{
    unsigned work = 0;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_error ignored;
    kiln_arena_init(&arena);
    kiln_error_init(&ignored);
    if (graph_bytes && size != 0 &&
        kiln_graph_read(graph_bytes, size, &arena, &graph, &ignored) == KILN_OK)
        work = kiln_plan_knobs_work(&graph);
    kiln_arena_fini(&arena);
    return work;
}

static enum kiln_status write_message(unsigned work, bool may_compile, struct kiln_buffer *bytes,
                                      struct kiln_error *error)
{
    /* Executing launches kernels and nothing else, so streams can be captured. */
    enum kiln_behavior_note notes[2] = {KILN_BEHAVIOR_GRAPH_CAPTURE};
    size_t note_count = 1;
    if (may_compile)
        notes[note_count++] = KILN_BEHAVIOR_RUNTIME_COMPILATION;
    struct kiln_knob_description knobs[KILN_KNOB_COUNT];
    const struct kiln_engine_details details = {.engine_id = kiln_engine_id(),
                                                .name = KILN_ENGINE_NAME,
                                                .notes = notes,
                                                .note_count = note_count,
                                                .knobs = knobs,
                                                .knob_count =
                                                    kiln_plan_knobs_describe(work, knobs)};
    return kiln_engine_details_write(&details, bytes, error);
}

static void drop(struct kiln_buffer *message)
{
    if (message)
        kiln_buffer_fini(message);
    free(message);
}

static enum kiln_status make_message(unsigned work, bool may_compile,
                                     struct kiln_buffer **ret_message, struct kiln_error *error)
{
    struct kiln_buffer *message = malloc(sizeof *message);
    if (!message)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for 'EngineDetails'");
    kiln_buffer_init(message);
    enum kiln_status status = write_message(work, may_compile, message, error);
    if (status)
        drop(message);
    else
        *ret_message = message;
    return status;
}

enum kiln_status kiln_engine_details_of(const struct kiln_engine *engine, const void *graph_bytes,
                                        size_t size, const struct kiln_buffer **ret_details,
                                        struct kiln_error *error)
{
    unsigned work = work_of(graph_bytes, size);
    bool may_compile = kiln_engine_may_compile(engine);
    _Atomic(struct kiln_buffer *) *place = &messages[work + (may_compile ? KILN_WORK_SETS : 0)];
    struct kiln_buffer *there = atomic_load_explicit(place, memory_order_acquire);
    if (!there) {
        struct kiln_buffer *fresh = NULL;
        enum kiln_status status = make_message(work, may_compile, &fresh, error);
        if (status)
            return status;
        if (atomic_compare_exchange_strong(place, &there, fresh))
            there = fresh;
        else /* another thread was faster */
            drop(fresh);
    }
    *ret_details = there;
    return KILN_OK;
}

bool kiln_engine_details_are_ours(const void *bytes)
{
    bool are_ours = false;
    for (size_t i = 0; bytes && i < MESSAGES; i++) {
        const struct kiln_buffer *message =
            atomic_load_explicit(&messages[i], memory_order_acquire);
        are_ours |= message && message->data == bytes;
    }
    return are_ours;
}

__attribute__((destructor)) static void free_messages(void)
{
    for (size_t i = 0; i < MESSAGES; i++)
        drop(atomic_exchange(&messages[i], NULL));
}
