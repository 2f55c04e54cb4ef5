/*
 * Random graphs for tests: DAGs of pointwise nodes, reductions and norms of all modes, matrix
 * products, convolutions and attention over random shapes, layouts and types, and values for their
 * tensors. Everything follows from the seed, on every machine: print it when a test fails.
 *
 * Calling sequence: options_init, change what matters, make; fill each input and host scalar. The
 * graph obeys the invariants of compiler/graph/graph.h; kiln_graph_write
 * (compiler/graph/wire_messages.h) turns it into bytes.
 */
#ifndef KILN_TESTS_SUPPORT_RANDOM_GRAPH_H
#define KILN_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

/* Families of nodes. */
enum {
    KILN_RANDOM_POINTWISE = 1,
    KILN_RANDOM_REDUCTIONS =
        2, /* alone, and in chains like softmax's, with pointwise nodes between */
    /* Grouped products and their gradients, perhaps with pointwise nodes around; not in ALL. */
    KILN_RANDOM_GROUPED = 128,
    KILN_RANDOM_NORMS = 4,    /* layernorm, RMSNorm, batchnorm: forward and backward */
    KILN_RANDOM_PRODUCTS = 8, /* of matrices, with pointwise nodes before them */
    KILN_RANDOM_ALL = 15,
    /* Forward and both gradients, with the nodes that engines get before and after them. They are
     * not in ALL: they cannot be lowered yet. */
    KILN_RANDOM_CONVOLUTIONS = 16,
    /* Nodes, forward and backward, and attention written out. They are not in ALL. */
    KILN_RANDOM_ATTENTION = 32,
    KILN_RANDOM_POOLING = 64, /* perhaps with pointwise nodes before it; not in ALL */
    /* Quantisation by blocks, perhaps with pointwise nodes around it; not in ALL. */
    KILN_RANDOM_BLOCKS = 512,
    KILN_RANDOM_DEQUANTIZE = 2048, /* the same of dequantising */
    KILN_RANDOM_RAGGED = 4096,     /* attention with ragged operands, node by node; not in ALL */
};

/* Types that graphs have only if they are asked for: E8M0 and the packed ones. */
#define KILN_RANDOM_NARROW_DTYPES                                                                  \
    (UINT32_C(1) << KILN_DTYPE_E8M0 | UINT32_C(1) << KILN_DTYPE_F4E2M1 |                           \
     UINT32_C(1) << KILN_DTYPE_F6E2M3 | UINT32_C(1) << KILN_DTYPE_F6E3M2 |                         \
     UINT32_C(1) << KILN_DTYPE_I4)

struct kiln_random_graph_options {
    uint32_t families; /* set of KILN_RANDOM_x; not empty */
    uint32_t min_nodes;
    uint32_t max_nodes;
    int64_t max_elements; /* of the largest shape */
    uint32_t max_rank;    /* up to KILN_MAX_RANK; ranks 1 to 4 are the likely ones */
    uint32_t dtypes;      /* set of bits 1 << enum kiln_dtype */
    uint64_t modes;       /* set of bits 1 << enum kiln_pointwise_mode */
    bool
        special_values; /* now and then infinities, NaN, -0, subnormal and huge numbers in inputs */
    bool infinite_factors; /* now and then infinities and NaN in factors of products */
    /* NOV2025 keeps to what that layout can say: types, no host scalars, one compute type,
     * alignment 16, no node but pointwise, batchnorm and convolutions. */
    enum kiln_wire_era era;
};

/* 1 to 40 pointwise nodes, up to 2000 elements, all ranks, types and modes, special values, the
 * current layout. */
void kiln_random_graph_options_init(struct kiln_random_graph_options *ret_options);

/* Memory belongs to the arena. Fails only for lack of memory. */
enum kiln_status kiln_random_graph_make(uint64_t seed,
                                        const struct kiln_random_graph_options *options,
                                        struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                        struct kiln_error *error) KILN_NODISCARD;

/*
 * Writes the content of an input or host scalar: `memory` has the tensor's footprint in bytes.
 * Elements that no index reaches are 0xFF bytes. Values lie where the tensor's readers make sense
 * (positive below a logarithm).
 */
void kiln_random_graph_fill(uint64_t seed, const struct kiln_random_graph_options *options,
                            const struct kiln_graph *graph, uint32_t ordinal, void *memory);

#endif
