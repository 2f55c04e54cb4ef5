/*
 * Two products in one kernel: of rows m and columns n scores are made, of those weights, which are multiplied by values.
 *
 *   score_i[m, n]  = sum over c of left_i[m, c] * right_i[n, c]
 *   weight_v[m, n] = of the scores; with a softmax, of the exponential of one, relative to its row's largest
 *   result_v[m, d] = sum over n of weight_v[m, n] * value_v[n, d]
 *
 * A work-group has KILN_TILE_M rows of a batch, a wave a part of them; all of c and d are in a tile. It walks over n in tiles
 * of KILN_TILE_N. Weights are never in memory: sums of the first products are the left operand of the second ones,
 * in registers where the core can (device/mma/: kiln_chain_*). The parts (device/attention/, device/contraction/):
 *
 *   tiles     operands into LDS, the next ones while these are multiplied; value_tiles.h
 *   products  from LDS into matrix instructions; second_products.h
 *   scores    of a lane: its rows, its sums, and what is loaded for them
 *   store     results through LDS into rows, through what is computed of them, to global memory
 *
 * The prelude includes one header of device/attention/ for each choice:
 *   columns that a row sees   all_columns.h, visible_columns.h
 *   left operands             left_kept.h, left_in_tile.h
 *   weights                   softmax.h, weights.h
 *   the kernel                walk.h, fold.h
 *
 * Sizes and strides are arguments. default/attention_prelude.h has all that a prelude defines, for the plain case. Beyond that:
 *   KILN_SCORES 2, KILN_VALUES 2   left_1, right_1, value_1 with KILN_LEFT_1_RUN and so on, c_1, d_1
 *   KILN_VALUES 0, KILN_RESULTS 1  fold.h, no second product: a tile of weights itself is the result, d is n. They are summed over
 *                                  arguments.outer batches, along the axes of KILN_FOLDED_AXES, a bit for each
 *   KILN_HAS_OUTER                 kiln_outer_count(arguments, batch): n is walked so often, with batch.outer = 0, 1, ... These are
 *                                  neighbours along the axis KILN_OUTER_AXIS of the operands' batches
 *   KILN_VALUE_SHARES, KILN_VALUE_1_SHARES   1 + i where the value is in the memory of right_i: where the core can read
 *                                  a tile both ways it is not staged again
 *   KILN_HAS_SEGMENTS              n is cut into arguments.segments, which the last axis of batches counts: batch.segment. What kiln_finish stores of each, with the row's totals, is for another kernel
 *                                  to merge
 *   KILN_WAVES_D                   waves that share the same rows: each makes all of their scores, and has its part of the
 *                                  result's columns
 *   KILN_TILES_ARE_LATE            tiles are loaded where they are stored, a few packs at a time, so that no registers hold
 *                                  them in between
 * Where the first products' core is rolled (KILN_MMA_STEPS), left operands have to be in the tile.
 */
#ifndef KILN_SYMBOL
#include "default/attention_prelude.h"
#endif

KILN_TURN_KERNEL(kiln_pack, shared, KILN_LDS_PACKS)
{
    KILN_TURN(group, kiln_pack, shared, KILN_LDS_PACKS)
    kiln_attend(arguments, group, shared);
}
