/*
 * The functions of passes.def. Each rewrites the program in place and keeps it valid. The steps of
 * optimize change no result by a bit, except that folded constants are rounded once from double
 * where the device would round per step. The others say what they change. All are run through
 * kiln_pass_run; only tests call one by itself.
 */
#ifndef KILN_COMPILER_IR_PASSES_H
#define KILN_COMPILER_IR_PASSES_H

#include "compiler/ir/pass.h"

/*
 * A variance that is written out in pointwise nodes and sums becomes REDUCE_SQUARES, its mean
 * REDUCE_MEAN: one walk over the elements for both. Results change by roundings of the sums only.
 * Not part of kiln_ir_optimize, because a program that is to have a kernel per node keeps its
 * nodes; to be followed by it.
 */
kiln_pass_function kiln_ir_recognize_moments;

/*
 * A matrix product that is written out, as a sum of products of repeated operands, becomes a
 * CONTRACT. Results change by roundings of the sums only. As kiln_ir_recognize_moments, it is no
 * part of kiln_ir_optimize, and to be followed by it.
 */
kiln_pass_function kiln_ir_recognize_contractions;

/*
 * Turns two products into operations of class ATTENTION (rewrite_attention.c). Between them lies a
 * function of the first product's elements, and perhaps the softmax of its rows. Rows of the
 * operands and of the result may have at most KILN_ATTENTION_MAX_ROW elements, and no other
 * operation may read the values in between. Sets is_found, and sets miss to the first near miss.
 * The pass is not part of kiln_ir_optimize, and the program must have no dead operations.
 */
kiln_pass_function kiln_ir_recognize_attention;

/*
 * Cuts attention into segments of its columns (segment_attention.c): segments[i] of them for the
 * ATTEND at value i, with what belongs to it; 0 or 1 for what is not cut. Its result, SCORE_MAX and
 * SCORE_SUM get a leading axis of that size, and reductions along it merge them. The kernel chooses
 * the columns of each segment: all together are all. The result's rank must be below KILN_MAX_RANK.
 * *ret_cut ATTENDs were cut, at least one if any was to be: attention that waits for the statistics
 * of another one is left to another call. To be followed by kiln_ir_optimize.
 */
enum kiln_status kiln_ir_segment_attention(struct kiln_ir *ir, const uint32_t *segments,
                                           uint32_t *ret_cut,
                                           struct kiln_error *error) KILN_NODISCARD;

/*
 * The weights of an ATTEND become values of 16 bits where the other operand has as many and its
 * result is rounded to 16 bits anyway (round_weights.c). To be called after
 * kiln_ir_recognize_attention.
 */
kiln_pass_function kiln_ir_round_weights;

/*
 * Packed elements that a product or a reduction of windows reads directly get a COPY
 * (copy_packed.c). No result changes. To be called once all that rewrites operands has run.
 */
kiln_pass_function kiln_ir_copy_packed_operands;

/*
 * A constant factor of a product's operand goes behind the product where the operand has at most 16
 * bits without it (hoist_scales.c). Results change by roundings only, but for sums beyond the
 * largest float. No part of kiln_ir_optimize either.
 */
kiln_pass_function kiln_ir_hoist_scales;

/*
 * Turns the products of attention's gradients into SCORE and ATTEND (rewrite_attention_gradient.c).
 * Such a product multiplies rows or columns of the operands by a function of score elements. The
 * scores are one product, or two with the same layout. Each kernel then computes the values between
 * its products once. Sets is_found. Conditions and use: see kiln_ir_recognize_attention.
 */
kiln_pass_function kiln_ir_recognize_attention_gradient;

/*
 * Splits a reduction over n and other axes of values computed from a product's result. The first
 * new reduction is over n, so the product's kernel can do it; the second is over the other axes.
 * Requires n of at most KILN_CONTRACTION_MAX_ROW, or half of that for results of 8 bytes.
 * The pass is not part of kiln_ir_optimize.
 */
kiln_pass_function kiln_ir_split_reductions;

/*
 * A sum over a product's k of one of its operands (operand_sums.h) comes behind the product, with
 * all that is computed from it, so that the product's kernel may have it too. No result changes.
 */
kiln_pass_function kiln_ir_put_sums_behind_products;

/*
 * Moves views of elementwise work towards its loads, which see their tensors along the axes of the
 * view (move_views.c). Leaves what it repeats to kiln_ir_optimize.
 */
kiln_pass_function kiln_ir_move_views;
/*
 * The same over products, whose rows or columns are counted along two axes from then on. To be
 * called after kiln_ir_recognize_attention, which does not know such products. Sets is_found.
 */
kiln_pass_function kiln_ir_move_views_over_products;

/* Operations on constants become constants; identities that are exact for every input (x*1, convert
 * of a convert that loses nothing, select with a constant condition, round of an already rounded
 * value) vanish. */
kiln_pass_function kiln_ir_fold_constants;
/* Equal operations on equal operands become one; operands of commutative operations are ordered
 * first. */
kiln_pass_function kiln_ir_merge_common;
/* Drops what no STORE needs, and domains that nothing uses. */
kiln_pass_function kiln_ir_drop_dead;

/* Absorbed results become unused ones: to be run after the first optimize, which drops what no
 * output needs, and before passes replace patterns of operations. */
kiln_pass_function kiln_ir_settle_results;

#endif
