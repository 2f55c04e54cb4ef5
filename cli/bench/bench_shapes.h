/*
 * The sweep over shapes: memory-bound graphs with rows of 17 to 262144 elements, odd lengths among
 * them. Each kind of graph has each length in one type or two.
 */
#ifndef KILN_CLI_BENCH_BENCH_SHAPES_H
#define KILN_CLI_BENCH_BENCH_SHAPES_H

#include "cli/bench/bench_suite.h"

/* A graph of the sweep, and its cell of the heat map. */
struct kiln_bench_shape {
    unsigned row;      /* kiln_bench_shape_case(row) is its kind and type */
    unsigned column;   /* kiln_bench_shape_length(column) is its length, or near it */
    int64_t row_elems; /* elements of a row; of images, channels; 0: a graph of no sweep */
};

unsigned kiln_bench_shape_row_count(void);
unsigned kiln_bench_shape_column_count(void);
struct kiln_bench_case kiln_bench_shape_case(unsigned row);
int64_t kiln_bench_shape_length(unsigned column);

/* All graphs, in their order; free() them. Seed 0 keeps the table's order and lengths. Others
 * shuffle the order and change each length by 1/32 at most, odd ones to odd ones. */
struct kiln_bench_shape *kiln_bench_shapes_make(uint64_t seed, unsigned *ret_count);

/* "softmax_bf16_1023". */
void kiln_bench_shape_name(const struct kiln_bench_shape *shape,
                           char ret_name[KILN_BENCH_NAME_BYTES]);
/* Builds the graph with large tensors of about so many elements, but two rows at least. Otherwise
 * as kiln_bench_case_make. */
enum kiln_status kiln_bench_shape_make(const struct kiln_bench_shape *shape, int64_t elements,
                                       struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
