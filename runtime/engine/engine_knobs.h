/*
 * The options that a graph is lowered with on a device, if a host has set knobs.
 */
#ifndef KILN_RUNTIME_ENGINE_ENGINE_KNOBS_H
#define KILN_RUNTIME_ENGINE_ENGINE_KNOBS_H

#include "runtime/engine/engine_state.h"
#include "runtime/engine/plan_knobs.h"

/* The engine's own options, with the values of the knobs; `knobs` may be NULL. Asks no cache. */
void kiln_engine_base_options(const struct kiln_engine *engine, const struct kiln_plan_knobs *knobs,
                              struct kiln_lower_options *ret_lower);

/*
 * The base options, with what a cache or the graph adds. Unless a schedule is forced, the tuned
 * choice of the graph is added (tuned_choices.h). With the benchmarking knob, a graph without a
 * choice is tuned now. A limit of the workspace lowers the graph, for the plan to compile. If the
 * plan needs more, another one is searched, without the tuned choice if need be. KILN_UNSUPPORTED,
 * with both sizes, if none fits or the host has set kiln.split_k.
 */
enum kiln_status kiln_engine_lower_options(struct kiln_engine *engine,
                                           const struct kiln_graph *graph,
                                           const struct kiln_engine_device *device,
                                           const struct kiln_plan_knobs *knobs,
                                           struct kiln_lower_options *ret_lower,
                                           struct kiln_error *error) KILN_NODISCARD;

/*
 * Changes the options so that the plan needs at most `limit` bytes, as kiln_plan_workspace_bytes
 * counts them. KILN_UNSUPPORTED, with both sizes, if that is not possible.
 */
enum kiln_status kiln_engine_limit_workspace(struct kiln_engine *engine,
                                             const struct kiln_graph *graph,
                                             const struct kiln_engine_device *device,
                                             uint64_t limit, struct kiln_lower_options *lower,
                                             struct kiln_error *error) KILN_NODISCARD;

/* The exact bytes of workspace of a plan whose program needs `exact`. A plan for override shapes
 * has more, since smaller shapes may need some: a quarter, and 64 KiB. A host's limit forbids that.
 */
uint64_t kiln_workspace_with_room(const struct kiln_graph *graph,
                                  const struct kiln_plan_knobs *knobs, uint64_t exact);

/*
 * For a caller that failed with these options. If they have a tuned choice, it is forgotten for the
 * rest of the process, with a line in the log, and the options are filled again without it, within
 * the limit of the workspace. Returns true if the caller should try again. Otherwise status and
 * error are as the caller gave them, or say that no plan fits.
 */
bool kiln_engine_drop_tuned_choice(struct kiln_engine *engine, const struct kiln_graph *graph,
                                   const struct kiln_engine_device *device,
                                   const struct kiln_plan_knobs *knobs,
                                   struct kiln_lower_options *lower, enum kiln_status *status,
                                   struct kiln_error *error) KILN_NODISCARD;

/* The exact bytes of workspace of the program with these options. */
enum kiln_status kiln_engine_program_workspace(struct kiln_engine *engine,
                                               const struct kiln_graph *graph,
                                               const struct kiln_target *target,
                                               const struct kiln_lower_options *lower,
                                               uint64_t *ret_bytes,
                                               struct kiln_error *error) KILN_NODISCARD;

#endif
