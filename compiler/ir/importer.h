/*
 * What the files of the import share. Used by compiler/ir/import*.c alone.
 *
 * A node's operations are appended between reading its operands (kiln_importer_value) and defining
 * its outputs (kiln_importer_define). A failed allocation is remembered in the program, as with
 * kiln_ir_append: functions return KILN_NONE since, and whoever looks into an operation by its
 * index asks ir->failed first.
 */
#ifndef KILN_COMPILER_IR_IMPORTER_H
#define KILN_COMPILER_IR_IMPORTER_H

#include "compiler/ir/ir.h"

struct kiln_importer {
    struct kiln_ir *ir;
    const struct kiln_graph *graph;
    uint32_t *values; /* per tensor: the value that is its content, KILN_NONE while unread */
};

/* The content of a tensor, in the type and the domain of its own: a load the first time, a
 * constant, or what its producer defined. */
uint32_t kiln_importer_value(struct kiln_importer *importer, uint32_t tensor);
/* `value`, rounded once, becomes the content of the tensor, and is stored if the tensor is an
 * output. It has any type, and a domain that broadcasts to the tensor's or splits it. */
void kiln_importer_define(struct kiln_importer *importer, uint32_t tensor, uint32_t value);

/* value / count, where that is a division by a constant or an exact product. `value` is a float. */
uint32_t kiln_import_divide(struct kiln_ir *ir, uint32_t value, int64_t count);

/* The index along an axis of `domain`, an integer; 0 along an axis that the domain lost as a
 * leading one of size 1. */
uint32_t kiln_import_index(struct kiln_ir *ir, enum kiln_scalar scalar, uint32_t domain,
                           uint32_t axis_from_right);

/* One function per kind of node, or for kinds alike: the column `importer`. */
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight)                \
    void kiln_import_##importer(struct kiln_importer *context, const struct kiln_node *node);
#include "compiler/graph/node_kind.def"

#endif
