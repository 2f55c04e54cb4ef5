/*
 * Products in groups for the IR's interpreter: the point that an element of the result belongs to,
 * and the k that is summed for it.
 */
#ifndef KILN_TESTS_COMPILER_IR_INTERPRETER_GROUPS_H
#define KILN_TESTS_COMPILER_IR_INTERPRETER_GROUPS_H

#include "compiler/ir/ir.h"

/* The content of operands 2 to 4 of a product; NULL where it has none. */
struct kiln_interpreter_routes {
    const struct kiln_constant *offsets, *index, *ks;
    int64_t groups, tokens;
};

/*
 * Moves `index`, the point of an element of the result, to the left operand's row and the group's
 * matrix. *ret_first and *ret_size: the k that is summed, all of `size` unless groups divide k.
 * False if the element is zero.
 */
bool kiln_interpreter_route(const struct kiln_contraction *contraction,
                            const struct kiln_interpreter_routes *routes, int64_t *index,
                            int64_t *ret_first, int64_t *ret_size);

#endif
