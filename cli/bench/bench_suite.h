/*
 * The graphs that `kiln bench` measures when none is named: what fusion is for (chains, norms,
 * softmax, reductions, transposes, batch norms), built in memory at any size.
 */
#ifndef KILN_CLI_BENCH_BENCH_SUITE_H
#define KILN_CLI_BENCH_BENCH_SUITE_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

struct kiln_bench_builder; /* a graph in the making */

struct kiln_bench_case {
    const char *name;      /* "softmax": the part of the graph's name before the element type */
    const char *summary;   /* what it computes, for the table of the documentation */
    enum kiln_dtype dtype; /* of the large tensors */
    void (*build)(struct kiln_bench_builder *builder, int64_t elements);
};

/* Sorted as results are shown: one case after the other, fp32 before fp16 and bf16. */
extern const struct kiln_bench_case kiln_bench_suite[];
extern const unsigned kiln_bench_suite_count;

enum { KILN_BENCH_NAME_BYTES = 64 };

/* "softmax_fp16". */
void kiln_bench_case_name(const struct kiln_bench_case *which,
                          char ret_name[KILN_BENCH_NAME_BYTES]);

/* Builds the graph with large tensors of about so many elements each (rounded so that rows are
 * whole; never fewer than one row). Memory belongs to the arena. */
enum kiln_status kiln_bench_case_make(const struct kiln_bench_case *which, int64_t elements,
                                      struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                      struct kiln_error *error) KILN_NODISCARD;

/* A graph of one identity node on a tensor of so many bytes: the copy that rates are compared
 * with. */
enum kiln_status kiln_bench_copy_make(int64_t tensor_bytes, struct kiln_arena *arena,
                                      struct kiln_graph *ret_graph,
                                      struct kiln_error *error) KILN_NODISCARD;

#endif
