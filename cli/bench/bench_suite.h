/*
 * The graphs that `kiln bench` has built in. The suite is what fusion is for (chains, norms,
 * softmax, reductions, transposes, batch norms), at any size. The models are layers of networks
 * (bench_models.def), whose batch alone varies.
 */
#ifndef KILN_CLI_BENCH_BENCH_SUITE_H
#define KILN_CLI_BENCH_BENCH_SUITE_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

#include <stdbool.h>

struct kiln_bench_builder; /* a graph in the making */

struct kiln_bench_case {
    const char *name;      /* "softmax": the part of the graph's name before the element type */
    const char *summary;   /* what it computes, for the table of the documentation */
    enum kiln_dtype dtype; /* of the large tensors */
    void (*build)(struct kiln_bench_builder *builder, int64_t elements);
    bool is_default;   /* measured when no case is named */
    const void *layer; /* sizes of a model's layer, for `build`; NULL: a case of the suite */
};

/* Sorted as results are shown: one case after the other, fp32 before fp16 and bf16. */
extern const struct kiln_bench_case kiln_bench_suite[];
extern const unsigned kiln_bench_suite_count;

/* The rows of bench_models.def. */
extern const struct kiln_bench_case kiln_bench_models[];
extern const unsigned kiln_bench_model_count;

/* All of them, the suite first. */
unsigned kiln_bench_case_count(void);
const struct kiln_bench_case *kiln_bench_case_at(unsigned index);

enum { KILN_BENCH_NAME_BYTES = 64 };
/* Of a large tensor: more would be no benchmark but a typing error. */
#define KILN_BENCH_MAX_ELEMENTS ((int64_t)1 << 40)

/* "softmax_fp16". */
void kiln_bench_case_name(const struct kiln_bench_case *which,
                          char ret_name[KILN_BENCH_NAME_BYTES]);

/*
 * Builds the graph with large tensors of about so many elements each: rounded down to whole rows of
 * 8192 (transpose_add: to a square; batch norms: to as many images of 256 x 56 x 56 as a power of
 * two), but two rows, two images, at least. A model's layer has as many tokens, images or sequences
 * as make so many elements, a power of two, and one at least. It is named after the case, its
 * inputs and outputs as the builders in bench_suite.c say, virtual tensors are float. It is in
 * canonical form, as if read from bytes. Memory belongs to the arena. KILN_BAD_ARGUMENT when
 * `elements` is not 1 to KILN_BENCH_MAX_ELEMENTS.
 */
enum kiln_status kiln_bench_case_make(const struct kiln_bench_case *which, int64_t elements,
                                      struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                      struct kiln_error *error) KILN_NODISCARD;

/* Builds a graph of the suite with tensors of these rows and columns, or of these images, channels,
 * heights and widths. */
enum kiln_status kiln_bench_case_make_shape(const struct kiln_bench_case *which,
                                            const int64_t *sizes, struct kiln_arena *arena,
                                            struct kiln_graph *ret_graph,
                                            struct kiln_error *error) KILN_NODISCARD;

/* A graph of one identity node on a tensor of so many bytes, rounded down to whole floats: the copy
 * that rates are compared with. Errors as above. */
enum kiln_status kiln_bench_copy_make(int64_t tensor_bytes, struct kiln_arena *arena,
                                      struct kiln_graph *ret_graph,
                                      struct kiln_error *error) KILN_NODISCARD;

#endif
