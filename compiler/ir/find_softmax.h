/*
 * Finds the softmax between the scores and the weights of attention. Used by find_attention.c
 * alone.
 */
#ifndef KILN_COMPILER_IR_FIND_SOFTMAX_H
#define KILN_COMPILER_IR_FIND_SOFTMAX_H

#include "compiler/ir/found_attention.h"
#include "compiler/ir/ir.h"

/*
 * Fills what belongs to the softmax, but not `is_online`; `score`, `attend` and `side` must be set.
 * `score_of` is, of each value, the product of which it is an elementwise function, or KILN_NONE.
 * False where the weights are something else than an exponential, in which the maximum of its row
 * was subtracted, times factors; or where the kernel could not round them as the graph does.
 */
bool kiln_find_softmax(const struct kiln_ir *ir, const uint32_t *score_of,
                       struct kiln_found_attention *attention);

#endif
