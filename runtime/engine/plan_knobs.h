/*
 * Knobs of a plan (knob.def): which ones apply to a graph, and what a host's settings mean.
 *
 * A setting changes the options that the graph is lowered with. They are part of the program's key,
 * so plans with different settings never share a program.
 */
#ifndef KILN_RUNTIME_ENGINE_PLAN_KNOBS_H
#define KILN_RUNTIME_ENGINE_PLAN_KNOBS_H

#include "compiler/graph/graph.h"
#include "compiler/graph/wire_messages.h"
#include "compiler/lower_options.h"

#include <stdbool.h>

enum kiln_knob {
#define KILN_KNOB(name, id, least, most, step, none, applies, text) KILN_KNOB_##name,
#include "runtime/engine/knob.def"
    KILN_KNOB_COUNT
};

/* Values by knob. */
struct kiln_plan_knobs {
    int64_t values[KILN_KNOB_COUNT];
};

/* All knobs at their defaults. */
void kiln_plan_knobs_init(struct kiln_plan_knobs *knobs);
/* True if the plan is the one without knobs. */
bool kiln_plan_knobs_are_default(const struct kiln_plan_knobs *knobs);

/* Kinds of work in a graph that knobs apply to, one bit each. */
enum {
    KILN_WORK_PRODUCTS = 1,
    KILN_WORK_ATTENTION = 2,
    KILN_WORK_SETS = 4, /* sets of kinds */
};
unsigned kiln_plan_knobs_work(const struct kiln_graph *graph);

/* Describes the knobs that apply to graphs with this work. Returns their count. */
size_t kiln_plan_knobs_describe(unsigned work,
                                struct kiln_knob_description ret_knobs[KILN_KNOB_COUNT]);

/* Takes a host's settings over the defaults. KILN_BAD_ARGUMENT with a sentence for an unknown knob,
 * a value of another type, one that the knob does not have, and a knob that is set twice. */
enum kiln_status kiln_plan_knobs_set(const struct kiln_knob_setting *settings, size_t count,
                                     struct kiln_plan_knobs *knobs,
                                     struct kiln_error *error) KILN_NODISCARD;

/* Enters the values into options for lowering. */
void kiln_plan_knobs_apply(const struct kiln_plan_knobs *knobs, struct kiln_lower_options *options);

#endif
