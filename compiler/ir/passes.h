/*
 * Passes over the IR. Each rewrites the program in place and keeps it valid. Those of
 * kiln_ir_optimize change no result by a bit, except that folded constants are rounded once from
 * double where the device would round per step. The others say what they change.
 */
#ifndef KILN_COMPILER_IR_PASSES_H
#define KILN_COMPILER_IR_PASSES_H

#include "compiler/ir/attention_miss.h"
#include "compiler/ir/ir.h"

/*
 * A variance that is written out in pointwise nodes and sums becomes REDUCE_SQUARES, its mean
 * REDUCE_MEAN: one walk over the elements for both. Results change by roundings of the sums only.
 * Not part of kiln_ir_optimize, because a program that is to have a kernel per node keeps its
 * nodes; to be followed by it.
 */
enum kiln_status kiln_ir_recognize_moments(struct kiln_ir *ir,
                                           struct kiln_error *error) KILN_NODISCARD;

/*
 * A matrix product that is written out, as a sum of products of repeated operands, becomes a
 * CONTRACT. Results change by roundings of the sums only. As kiln_ir_recognize_moments, it is no
 * part of kiln_ir_optimize, and to be followed by it.
 */
enum kiln_status kiln_ir_recognize_contractions(struct kiln_ir *ir,
                                                struct kiln_error *error) KILN_NODISCARD;

/*
 * Two products with a function of the first one's elements between them, and perhaps the softmax of
 * their rows, become operations of class ATTENTION (rewrite_attention.c), where rows of the
 * operands and of the result have at most `most` elements and nothing else reads what lies between.
 * *ret_missed is the first of what looks like it and is not.
 * No part of kiln_ir_optimize either, and to be called on a program without dead operations.
 */
enum kiln_status kiln_ir_recognize_attention(struct kiln_ir *ir, int64_t most, bool *ret_found,
                                             struct kiln_missed_attention *ret_missed,
                                             struct kiln_error *error) KILN_NODISCARD;

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
enum kiln_status kiln_ir_round_weights(struct kiln_ir *ir, const struct kiln_graph *graph,
                                       struct kiln_error *error) KILN_NODISCARD;

/*
 * A constant factor of a product's operand goes behind the product where the operand has at most 16
 * bits without it (hoist_scales.c). Results change by roundings only, but for sums beyond the
 * largest float. No part of kiln_ir_optimize either.
 */
enum kiln_status kiln_ir_hoist_scales(struct kiln_ir *ir, const struct kiln_graph *graph,
                                      struct kiln_error *error) KILN_NODISCARD;

/*
 * Products of functions of one product's elements, or of two products' that lie alike, with rows or
 * columns of the operands, as attention's gradients are, become SCORE and ATTEND
 * (rewrite_attention_gradient.c): what lies between is computed once for each kernel. Conditions
 * and use are those of kiln_ir_recognize_attention.
 */
enum kiln_status kiln_ir_recognize_attention_gradient(struct kiln_ir *ir, int64_t most,
                                                      bool *ret_found,
                                                      struct kiln_error *error) KILN_NODISCARD;

/*
 * A reduction of what is computed of a product's result, over n and other axes, becomes one over n
 * and one over the others, if n is at most `most` long (half of that for results of 8 bytes): the
 * product's kernel can do the first. No part of kiln_ir_optimize either.
 */
enum kiln_status kiln_ir_split_reductions(struct kiln_ir *ir, int64_t most,
                                          struct kiln_error *error) KILN_NODISCARD;

/*
 * A sum over a product's k of one of its operands (operand_sums.h) comes behind the product, with
 * all that is computed from it, so that the product's kernel may have it too. No result changes.
 */
enum kiln_status kiln_ir_put_sums_behind_products(struct kiln_ir *ir,
                                                  struct kiln_error *error) KILN_NODISCARD;

/* Operations on constants become constants; identities that are exact for every input (x*1, convert
 * of a convert that loses nothing, select with a constant condition, round of an already rounded
 * value) vanish. */
enum kiln_status kiln_ir_fold_constants(struct kiln_ir *ir, const struct kiln_graph *graph,
                                        struct kiln_error *error) KILN_NODISCARD;
/* Equal operations on equal operands become one; operands of commutative operations are ordered
 * first. */
enum kiln_status kiln_ir_merge_common(struct kiln_ir *ir, struct kiln_error *error) KILN_NODISCARD;
/* Drops what no STORE needs, and domains that nothing uses. */
enum kiln_status kiln_ir_drop_dead(struct kiln_ir *ir, struct kiln_error *error) KILN_NODISCARD;

/* All of them in order, with kiln_ir_validate after each in debug builds (KILN_INTERNAL on a
 * fault). */
enum kiln_status kiln_ir_optimize(struct kiln_ir *ir, const struct kiln_graph *graph,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
