/*
 * Evaluators of node kinds, one for each name in the column `evaluator` of node_kind.def. Internal
 * to compiler/reference.
 */
#ifndef KILN_COMPILER_REFERENCE_NODE_EVALUATORS_H
#define KILN_COMPILER_REFERENCE_NODE_EVALUATORS_H

#include "compiler/reference/reference.h"

/*
 * Evaluates a node in `scalar` (kiln_node_scalar). Reads the values and bounds of its inputs in
 * `tensors` and fills in its outputs there. The arena provides scratch memory. Fails only when
 * memory is out.
 */
typedef enum kiln_status kiln_node_evaluator(const struct kiln_graph *graph,
                                             const struct kiln_node *node, enum kiln_scalar scalar,
                                             struct kiln_reference_tensor *tensors,
                                             struct kiln_arena *arena, struct kiln_error *error);

#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight)                \
    kiln_node_evaluator kiln_##evaluator##_evaluate;
#include "compiler/graph/node_kind.def"

#endif
