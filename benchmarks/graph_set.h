/*
 * Different graphs that take about as long to compile: those of the compile group, with other
 * batch sizes.
 */
#ifndef KILN_BENCHMARKS_GRAPH_SET_H
#define KILN_BENCHMARKS_GRAPH_SET_H

#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

/* Graph number `index` as FlatBuffer bytes: no two numbers give the same computation. Buffer is
 * initialised here. */
enum kiln_status kiln_graph_set_at(unsigned index, struct kiln_buffer *ret_bytes,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
