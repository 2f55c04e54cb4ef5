/*
 * Attributes of nodes: how each group of kinds stores them in the canonical form and prints them.
 * Internal to compiler/graph.
 *
 * A group visits its fields in one order, once, with the functions below. The same function writes
 * a form and reads one back, so the two cannot differ.
 */
#ifndef KILN_COMPILER_GRAPH_NODE_ATTRIBUTES_H
#define KILN_COMPILER_GRAPH_NODE_ATTRIBUTES_H

#include "compiler/graph/graph.h"
#include "runtime/support/buffer.h"

/* A record that is written; large enough for a tensor or a node with the most operands. */
struct kiln_record {
    size_t size;
    unsigned char bytes[512];
};

/* Exactly one of both is set: `record` to write fields, `reader` to read them from untrusted bytes.
 */
struct kiln_fields {
    struct kiln_record *record;
    struct kiln_reader *reader;
};

/* Each writes the value, or reads it. A value that was not read is 0, or `least`, and
 * reader->failed is set. */
void kiln_field_bool(struct kiln_fields *fields, bool *value);
/* One byte, from `least` to below `end`. */
void kiln_field_u8(struct kiln_fields *fields, uint32_t *value, uint32_t least, uint32_t end);
void kiln_field_u32(struct kiln_fields *fields, uint32_t *value);
void kiln_field_i64(struct kiln_fields *fields, int64_t *value);
void kiln_field_real(struct kiln_fields *fields, double *value);
void kiln_field_dtype(struct kiln_fields *fields, enum kiln_dtype *value);
void kiln_field_list(struct kiln_fields *fields, int64_t *items, uint32_t count);

struct kiln_node_attributes {
    /* Visits the fields that the node's mode reads; others stay out of the form. Operands and roles
     * are known. NULL: no fields. */
    void (*visit)(struct kiln_fields *fields, struct kiln_node *node);
    /* Appends the attributes to the node's line, each with a leading space. NULL: nothing. */
    void (*print)(const struct kiln_node *node, struct kiln_buffer *buffer);
};

/* The attributes of a kind. Static. */
const struct kiln_node_attributes *kiln_node_attributes(enum kiln_node_kind kind);

/* "[1,2]" */
void kiln_print_list(struct kiln_buffer *buffer, const int64_t *items, uint32_t count);
/* " axes [0,2]" of a set, bit per axis. */
void kiln_print_axes(struct kiln_buffer *buffer, uint32_t axes);

#endif
