/*
 * Scores, masks, and products of rows and columns, for attention and its gradients. Used by
 * import_attention*.c alone.
 *
 * All values are of the type that the node computes in, but for lengths and indices, which are
 * int32: sequences are no longer (struct kiln_attention).
 */
#ifndef KILN_COMPILER_IR_IMPORT_ATTENTION_SCORES_H
#define KILN_COMPILER_IR_IMPORT_ATTENTION_SCORES_H

#include "compiler/ir/importer.h"

/* Attention under import. */
struct kiln_attention_import {
    struct kiln_importer *importer;
    struct kiln_ir *ir;
    const struct kiln_node *node;
    enum kiln_scalar scalar;
    struct kiln_attention_sizes sizes;
    uint32_t kept;         /* axes of the scores, as kiln_domain.kept has them */
    uint32_t scores;       /* domain [B, Hq, Sq, Skv] */
    uint32_t rows;         /* domain [B, Hq, Sq, 1] */
    uint32_t query_length; /* KILN_NONE: all queries */
    uint32_t key_length;   /* KILN_NONE: all keys */
    bool may_have_empty_rows;
    bool is_key_repeated; /* there is one: sizes.keys is 2, and the second one is hidden */
};

/* False when memory is out. */
bool kiln_attention_begin(struct kiln_attention_import *attention, struct kiln_importer *importer,
                          const struct kiln_node *node);

/* The operand's value over its tensor's domain; KILN_NONE when the node has no such operand. */
uint32_t kiln_attention_input(struct kiln_attention_import *attention, enum kiln_operand role);
/* K or V, with a second key where there is one: kiln_attention_import.is_key_repeated. */
uint32_t kiln_attention_keys(struct kiln_attention_import *attention, enum kiln_operand role,
                             int64_t heads, int64_t depth);
enum kiln_dtype kiln_attention_dtype(const struct kiln_attention_import *attention,
                                     enum kiln_operand role);
/* True if there is a mask that is added to the scores; a boolean one says which keys are seen. */
bool kiln_attention_has_additive_mask(const struct kiln_attention_import *attention);
/* Defines the operand where the node has it. */
void kiln_attention_define(struct kiln_attention_import *attention, enum kiln_operand role,
                           uint32_t value);

/* The value over `domain`; a uniform one as it is. */
uint32_t kiln_attention_spread(struct kiln_attention_import *attention, uint32_t value,
                               uint32_t domain);
/* The value itself where it has that domain already. */
uint32_t kiln_attention_reduce(struct kiln_attention_import *attention, enum kiln_opcode opcode,
                               uint32_t value, uint32_t domain);

/* The uniform factor of the products of queries and keys: SCALE times the descales that have one
 * element. */
uint32_t kiln_attention_factor(struct kiln_attention_import *attention);
/* The scores with the additive mask, over attention->scores; of keys that a query does not see,
 * too. */
uint32_t kiln_attention_scores(struct kiln_attention_import *attention);
/* A value over the scores' domain, and `hidden` where a query does not see a key: because of a
 * bound or a boolean mask, or because one of them is at or beyond its length. */
uint32_t kiln_attention_hide(struct kiln_attention_import *attention, uint32_t value,
                             double hidden);

/* A value over [.., sequence, ..], and `beyond` from `length` on: what lies there may be NaN. The
 * value itself if `length` is KILN_NONE. A value of a single element is taken for index 0: one that
 * holds for a whole sequence is broadcast first. */
uint32_t kiln_attention_within(struct kiln_attention_import *attention, uint32_t value,
                               uint32_t length, double beyond);

/*
 * `value`, a weight of a product with a tensor of type `dtype`, rounded so that matrix instructions
 * can multiply both: to `dtype` where that has 16 bits, to half where it has 8. Unchanged for wider
 * types and in double.
 */
uint32_t kiln_attention_narrow(struct kiln_attention_import *attention, uint32_t value,
                               enum kiln_dtype dtype);

/* Products of rows: left[b, h, i, c] * right[b, hr, j, c], summed over c. `right_heads` divides the
 * heads of q, hr = h / (Hq / right_heads). The result is over the scores' domain. */
uint32_t kiln_attention_row_products(struct kiln_attention_import *attention, uint32_t left,
                                     uint32_t right, int64_t right_heads, int64_t depth);
/* Weights of rows: weights[b, h, i, j] * right[b, hr, j, d], summed over j. */
uint32_t kiln_attention_weighted_rows(struct kiln_attention_import *attention, uint32_t weights,
                                      uint32_t right, int64_t right_heads, int64_t depth);
/* Weights of columns: weights[b, h, i, j] * right[b, h, i, d], summed over i and the heads of each
 * of `groups`, which are the heads of operand `like`. */
uint32_t kiln_attention_weighted_columns(struct kiln_attention_import *attention, uint32_t weights,
                                         uint32_t right, enum kiln_operand like, int64_t groups,
                                         int64_t depth);

#endif
