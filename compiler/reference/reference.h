/*
 * The oracle: a double-precision interpreter of graphs, with an error bound for every element.
 *
 * Values are computed node by node in double (64-bit integers exactly) and rounded to each tensor's
 * type. Each value has an error bound for implementations that compute in the scalar type of
 * compiler/ir/import.h. It is the sum of three errors: the input perturbation pushed through the
 * mode's reference function, the mode's own error in ulps, and one rounding to the tensor's type.
 *
 * If the perturbation straddles a jump (floor, comparisons, rounding to integers), the bound is the
 * height of the jump. If it straddles a pole or an overflow, the bound is infinite and the element
 * counts as unchecked. Bounds of reductions and norms hold for every order of summation:
 * reduction_reference.h, normalization_reference.c, sum_bound.h.
 */
#ifndef KILN_COMPILER_REFERENCE_REFERENCE_H
#define KILN_COMPILER_REFERENCE_REFERENCE_H

#include "compiler/graph/ragged.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

/* Content of one tensor by logical index, row-major over dims, packed. */
struct kiln_reference_tensor {
    double *real;     /* value; for integer types also here, rounded */
    int64_t *integer; /* exact value for integer types, else NULL */
    double *bound;    /* absolute error bound, >= 0, may be infinite */
    /* Where each batch of a ragged tensor lies; NULL for other tensors. Elements after a batch's
     * length have no memory, and are 0 in inputs. */
    const struct kiln_span *spans;
};

/*
 * Evaluates the graph. `memory[i]` is the memory of tensor i as a device would see it (dtype,
 * strides) for inputs and host scalars, else NULL; ret_tensors has graph->tensor_count entries,
 * filled for all tensors, with memory of the arena. Tensors are materialised: meant for tests and
 * --verify, not for huge graphs.
 */
enum kiln_status kiln_reference_run(const struct kiln_graph *graph, const void *const *memory,
                                    struct kiln_arena *arena,
                                    struct kiln_reference_tensor *ret_tensors,
                                    struct kiln_error *error) KILN_NODISCARD;

struct kiln_comparison {
    int64_t elements;
    int64_t wrong;       /* outside the bound */
    int64_t unchecked;   /* bound infinite */
    int64_t first_wrong; /* logical row-major index; -1 when none */
    double worst_ratio;  /* largest error/bound among the checked */
    double got;          /* at first_wrong */
    double expected;
    double bound;
};

/* Compares the memory of tensor `ordinal` (dtype, strides) with the reference. NaN matches NaN
 * only. */
void kiln_reference_compare(const struct kiln_graph *graph, uint32_t ordinal, const void *memory,
                            const struct kiln_reference_tensor *reference,
                            struct kiln_comparison *ret_comparison);

#endif
