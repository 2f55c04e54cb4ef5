/*
 * Graphs for tests, one line each:
 *
 *   "Layernorm x=2,3,40 scale=40 bias=40 epsilon=k y=2,3,40 !normalized_dim_count=1 | ..."
 *
 * Nodes are separated by '|'. The first word of a node is its table without "Attributes" (and the
 * node's name), words with '!' are attributes, the others operands:
 *
 *   name=DIMS       a new dense float tensor of this name; its uid is its position, from 1
 *   name@UID=DIMS   the same with a uid
 *   name@UID        a tensor that some other word makes
 *
 * DIMS may be "k", a constant 0.001 of dims [1], or with a number behind it, "k-2.5", that; or "s",
 * a host scalar. After a ':' follow a data type, "virtual", "last": axis 1, of channels, is the one
 * with neighbours in memory, or "turned": the last axis but one is. "spread": a gap of one element
 * lies behind each.
 */
#ifndef KILN_TESTS_COMPILER_GRAPH_GRAPH_SKETCH_H
#define KILN_TESTS_COMPILER_GRAPH_GRAPH_SKETCH_H

#include "json_graph.h"

/* The graph as JSON with single quotes, for json_graph_init; free() it. */
char *graph_sketch_text(const char *sketch);

/* json_graph_init, json_graph_accept of a sketch. */
void graph_sketch_init(struct json_graph *graph, const char *sketch, const enum kiln_wire_era *era);
void graph_sketch_accept(struct json_graph *graph, const char *sketch,
                         const enum kiln_wire_era *era);

/* A test failure unless the sketch is declined for the reason with the words in the sentence. */
void graph_sketch_decline(const char *sketch, const enum kiln_wire_era *era,
                          enum kiln_reject_reason reason, const char *words);

#endif
