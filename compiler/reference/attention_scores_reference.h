/*
 * What the references of attention and of its gradients share: operands by position, and the scores
 * of a row.
 */
#ifndef KILN_COMPILER_REFERENCE_ATTENTION_SCORES_REFERENCE_H
#define KILN_COMPILER_REFERENCE_ATTENTION_SCORES_REFERENCE_H

#include "compiler/reference/interval.h"
#include "compiler/reference/reference.h"

/* An input or output of the node; absent when `content` is NULL. */
struct kiln_attention_operand {
    struct kiln_reference_tensor *content;
    enum kiln_dtype dtype;
    int64_t strides[4]; /* into packed content, 0 where it has one element */
    int64_t elements;
};

/* A row of the scores: what one query of one head sees. */
struct kiln_attention_row {
    int64_t batch, head, query;
    int64_t key_head, value_head;
    int64_t queries;         /* SEQ_LEN_Q, or all of them */
    int64_t keys;            /* SEQ_LEN_KV, or all of them */
    bool *seen;              /* per key */
    struct kiln_interval *x; /* of the keys that are seen */
};

struct kiln_attention_view {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    struct kiln_reference_tensor *tensors;
    enum kiln_scalar scalar;
    const struct kiln_arithmetic *arithmetic;
    struct kiln_attention_sizes sizes;
    struct kiln_attention_operand q, k, v, mask, scale, query_length, key_length;
    struct kiln_attention_operand descale_q, descale_k;
};

struct kiln_attention_view kiln_attention_view_of(const struct kiln_graph *graph,
                                                  const struct kiln_node *node,
                                                  enum kiln_scalar scalar,
                                                  struct kiln_reference_tensor *tensors);
struct kiln_attention_operand kiln_attention_find_input(const struct kiln_attention_view *view,
                                                        enum kiln_operand role);
struct kiln_attention_operand kiln_attention_find_output(const struct kiln_attention_view *view,
                                                         enum kiln_operand role);

/* The element at a position of four axes, broadcast right-aligned. */
struct kiln_interval kiln_attention_read(const struct kiln_attention_view *view,
                                         const struct kiln_attention_operand *operand, int64_t b,
                                         int64_t h, int64_t i, int64_t j);
/* Does nothing where the operand is absent. */
void kiln_attention_write(const struct kiln_attention_operand *operand, int64_t b, int64_t h,
                          int64_t i, int64_t j, const struct kiln_interval *value);

/* SCALE and the descales for a head of k. */
struct kiln_interval kiln_attention_row_factor(const struct kiln_attention_view *view,
                                               const struct kiln_attention_row *row);

/* False when memory is out. */
bool kiln_attention_row_init(struct kiln_attention_row *row, const struct kiln_attention_view *view,
                             struct kiln_arena *arena);
/* Fills the row for a query. */
void kiln_attention_row_evaluate(const struct kiln_attention_view *view, int64_t b, int64_t h,
                                 int64_t i, struct kiln_attention_row *row);

/* Roundings of an exponent x - shift and of its exponential, relative to the exponential. */
double kiln_attention_exponent_error(const struct kiln_arithmetic *arithmetic, double x,
                                     double shift);
/* The error of rounding a weight to 16 bits, where attention_reference.c allows it for an operand's
 * type. The error is `relative` to the weight, but at least `absolute`. The largest finite weight
 * is `overflow`. */
struct kiln_attention_narrowing {
    double relative, absolute, overflow;
};
struct kiln_attention_narrowing kiln_attention_narrowing_for(enum kiln_dtype dtype,
                                                             enum kiln_scalar scalar);

#endif
