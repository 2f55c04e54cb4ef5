/*
 * Tuning for callers with the bytes of a graph.
 */
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/tuning.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void append_choice(const struct kiln_contraction_options *choice, char *ret_text,
                          size_t capacity)
{
    static const char *const forms[] = {[KILN_CONTRACTION_ANY] = "any form",
                                        [KILN_CONTRACTION_PLAIN] = "plain",
                                        [KILN_CONTRACTION_PINGPONG] = "ping-pong",
                                        [KILN_CONTRACTION_STREAMED] = "streamed",
                                        [KILN_CONTRACTION_SPECIALIZED] = "specialized",
                                        [KILN_CONTRACTION_DIRECT] = "direct",
                                        [KILN_CONTRACTION_SMALL] = "small"};
    static const struct kiln_contraction_options nothing;
    if (memcmp(choice, &nothing, sizeof nothing) == 0) {
        (void)snprintf(ret_text, capacity, "the same plan");
        return;
    }
    int length = snprintf(ret_text, capacity, "%s", forms[choice->form]);
    if (choice->tile_m != 0)
        length += snprintf(ret_text + length, capacity - (size_t)length,
                           ", tile %" PRIu32 "x%" PRIu32, choice->tile_m, choice->tile_n);
    if (choice->segments != 0)
        (void)snprintf(ret_text + length, capacity - (size_t)length, ", segments %" PRIu32,
                       choice->segments);
}

static struct kiln_tuning_result result_of(const struct kiln_tuned_choice *choice)
{
    struct kiln_tuning_result result = {.candidates = choice->candidates,
                                        .untuned_ns = choice->untuned_ns,
                                        .tuned_ns = choice->tuned_ns};
    append_choice(&choice->contraction, result.choice, sizeof result.choice);
    return result;
}

/* Tunes the graph, or looks for the choice that is known. */
static enum kiln_status answer(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                               bool is_tuning, struct kiln_tuning_result *ret_result,
                               struct kiln_error *error)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_tuned_choice choice = {0};
    const struct kiln_engine_device *device = NULL;
    const struct kiln_lower_options *lower = &engine->programs.lower;
    bool is_known = false;
    kiln_arena_init(&arena);
    enum kiln_status status = kiln_graph_read(graph_bytes, size, &arena, &graph, error);
    if (status == KILN_OK)
        status = kiln_engine_devices_current(&engine->devices, &device, error);
    if (status == KILN_OK && kiln_tuning_applies(&graph, lower)) {
        const struct kiln_tuned_subject subject = {&engine->programs, &graph, device->device,
                                                   lower};
        if (is_tuning)
            status = kiln_tune(engine, &graph, device, lower, &choice, error);
        is_known = is_tuning ? status == KILN_OK
                             : kiln_tuned_choices_find(&engine->tuned, &subject, &choice);
    }
    kiln_arena_fini(&arena);
    if (status == KILN_OK)
        *ret_result = is_known ? result_of(&choice) : (struct kiln_tuning_result){0};
    return status;
}

enum kiln_status kiln_engine_tune(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                  struct kiln_tuning_result *ret_result, struct kiln_error *error)
{
    return answer(engine, graph_bytes, size, true, ret_result, error);
}

enum kiln_status kiln_engine_find_tuned(struct kiln_engine *engine, const void *graph_bytes,
                                        size_t size, struct kiln_tuning_result *ret_result,
                                        struct kiln_error *error)
{
    return answer(engine, graph_bytes, size, false, ret_result, error);
}
