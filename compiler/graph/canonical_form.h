/* Records of the canonical form, the same functions for writing and reading. Internal to
 * compiler/graph. */
#ifndef KILN_COMPILER_GRAPH_CANONICAL_FORM_H
#define KILN_COMPILER_GRAPH_CANONICAL_FORM_H

#include "compiler/graph/node_attributes.h"

/* Raised whenever the layout of the form, or the meaning of a record, changes. */
enum { KILN_CANONICAL_VERSION = 4 };

/* Writes the tensor, or reads it into a zeroed one. Read: names, uids and producers are left out.
 */
void kiln_visit_tensor(struct kiln_fields *fields, struct kiln_tensor *tensor);

/* Writes the node, or reads it into a zeroed one. Operands that are not below `tensor_count` fail.
 */
void kiln_visit_node(struct kiln_fields *fields, uint32_t tensor_count, struct kiln_node *node);

#endif
