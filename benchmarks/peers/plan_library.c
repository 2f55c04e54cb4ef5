/*
 * Kiln's plans for a program in Python: a library of few functions, so that Kiln and PyTorch take
 * turns in one process and on one stream. Results and buffers are the caller's; errors are printed,
 * and NULL or a number other than 0 comes back.
 */
#include "compiler/graph/graph_json.h"
#include "runtime/engine/engine.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Forces how matrix products are done, before the first plan: form, rows, columns and k of a tile,
 * waves along them, in the order and with the meaning of struct kiln_contraction_options. */
EXPORT void kiln_peer_force(const uint32_t *values);
/* The plan of a graph, JSON text, on the device that KILN_DEVICE names. It is never dropped. */
EXPORT struct kiln_plan *kiln_peer_plan(const char *graph_text);
EXPORT uint64_t kiln_peer_workspace_bytes(const struct kiln_plan *plan);
EXPORT uint32_t kiln_peer_kernel_count(const struct kiln_plan *plan);
EXPORT int kiln_peer_execute(const struct kiln_plan *plan, void *stream, void *workspace,
                             const struct kiln_buffer_binding *buffers, uint32_t buffer_count);

static struct kiln_engine *engine;
static struct kiln_contraction_options forced;

static enum kiln_status make_plan(const char *graph_text, struct kiln_buffer *bytes,
                                  struct kiln_plan **ret_plan, struct kiln_error *error)
{
    const struct kiln_engine_options options = {.lower = {.contraction = forced}};
    enum kiln_wire_era era;
    enum kiln_status status = KILN_OK;
    if (engine == NULL)
        status = kiln_engine_create(&options, &engine, error);
    if (status == KILN_OK)
        status = kiln_graph_json_to_bytes(graph_text, strlen(graph_text), NULL, bytes, &era, error);
    if (status == KILN_OK)
        status = kiln_plan_create(engine, bytes->data, bytes->size, ret_plan, error);
    return status;
}

void kiln_peer_force(const uint32_t *values)
{
    forced = (struct kiln_contraction_options){
        .form = (enum kiln_contraction_form)values[0],
        .tile_m = values[1],
        .tile_n = values[2],
        .tile_k = values[3],
        .waves_m = values[4],
        .waves_n = values[5],
        .waves_k = values[6],
    };
}

struct kiln_plan *kiln_peer_plan(const char *graph_text)
{
    struct kiln_error error = {0};
    struct kiln_buffer bytes;
    struct kiln_plan *plan = NULL;
    kiln_buffer_init(&bytes);
    if (make_plan(graph_text, &bytes, &plan, &error) != KILN_OK)
        (void)fprintf(stderr, "%s\n", error.text);
    kiln_buffer_fini(&bytes);
    return plan;
}

uint64_t kiln_peer_workspace_bytes(const struct kiln_plan *plan)
{
    return kiln_plan_workspace_bytes(plan);
}

uint32_t kiln_peer_kernel_count(const struct kiln_plan *plan)
{
    return kiln_plan_kernel_count(plan);
}

int kiln_peer_execute(const struct kiln_plan *plan, void *stream, void *workspace,
                      const struct kiln_buffer_binding *buffers, uint32_t buffer_count)
{
    struct kiln_error error = {0};
    enum kiln_status status =
        kiln_plan_execute(plan, stream, workspace, buffers, buffer_count, &error);
    if (status != KILN_OK)
        (void)fprintf(stderr, "%s\n", error.text);
    return (int)status;
}
