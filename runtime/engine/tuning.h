/*
 * Tuning: the plans that a graph could have are timed on its device, and the fastest is kept.
 */
#ifndef KILN_RUNTIME_ENGINE_TUNING_H
#define KILN_RUNTIME_ENGINE_TUNING_H

#include "runtime/engine/engine_state.h"

/* True if there is more than one plan to time for a graph with these options: it has products or
 * attention, and nothing is forced. */
bool kiln_tuning_applies(const struct kiln_graph *graph, const struct kiln_lower_options *lower);

/*
 * Times the candidates and keeps the choice (tuned_choices.h). Each candidate is a whole plan, as
 * it would be deployed, executed on memory of the engine's own. The plan without tuning is one of
 * them; another one is chosen only if it is faster in two independent rounds. A candidate that
 * cannot be made or executed is left out. Fails if the untuned plan cannot be made or timed, for
 * example because the device has no memory for the tensors.
 */
enum kiln_status kiln_tune(struct kiln_engine *engine, const struct kiln_graph *graph,
                           const struct kiln_engine_device *device,
                           const struct kiln_lower_options *lower,
                           struct kiln_tuned_choice *ret_choice,
                           struct kiln_error *error) KILN_NODISCARD;

#endif
