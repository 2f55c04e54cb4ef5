/*
 * What an engine is made of, for the files of this folder.
 */
#ifndef KILN_RUNTIME_ENGINE_ENGINE_STATE_H
#define KILN_RUNTIME_ENGINE_ENGINE_STATE_H

#include "runtime/engine/declined_graphs.h"
#include "runtime/engine/module_table.h"
#include "runtime/engine/seen_graphs.h"
#include "runtime/engine/tuned_choices.h"

struct kiln_engine {
    atomic_uint references;
    char *cache_directory; /* owned copies of the options; NULL as there */
    char *device_name;
    struct kiln_codegen *codegen;
    struct kiln_engine_devices devices;
    struct kiln_program_cache programs;
    struct kiln_module_table modules;
    struct kiln_declined_graphs declined;
    struct kiln_seen_graphs seen;
    struct kiln_tuned_choices tuned;
};

/*
 * Tells kiln_engine_check the outcome of a graph that it accepted. After a failure that would come
 * again, it declines the graph from then on. After a failure of the machine, it declines the graph
 * for a minute. After KILN_OK it accepts the graph again. `reason` describes the failure.
 */
void kiln_engine_note_outcome(struct kiln_engine *engine, const struct kiln_graph *graph,
                              const struct kiln_engine_device *device, enum kiln_status status,
                              const struct kiln_error *reason);

#endif
