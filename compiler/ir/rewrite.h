/*
 * How a pass rebuilds a program: old operations are visited in order, each becomes a value of the
 * new program.
 *
 * Calling sequence: begin; per old operation either append a copy with renamed operands
 * (kiln_rewrite_operands) or name a replacement, and tell kiln_rewrite_set; finish puts the new
 * program in the old one's place. Between begin and finish the old one is only read: the new one
 * adds its domains and contractions to the same arrays.
 */
#ifndef KILN_COMPILER_IR_REWRITE_H
#define KILN_COMPILER_IR_REWRITE_H

#include "compiler/ir/ir.h"

struct kiln_rewrite {
    struct kiln_ir *ir; /* the old program */
    struct kiln_ir out; /* the new one, which takes over the tables of domains and contractions */
    uint32_t *map;      /* old value -> new value */
};

enum kiln_status kiln_rewrite_begin(struct kiln_rewrite *rewrite, struct kiln_ir *ir,
                                    struct kiln_error *error) KILN_NODISCARD;
/* Copy of old operation `index` with its operands renamed. */
struct kiln_op kiln_rewrite_operands(const struct kiln_rewrite *rewrite, uint32_t index);
/* Old value `index` is new value `value` from now on. The tensor that the old one was marked with
 * goes to the new one if that has none. */
void kiln_rewrite_set(struct kiln_rewrite *rewrite, uint32_t index, uint32_t value);
enum kiln_status kiln_rewrite_finish(struct kiln_rewrite *rewrite,
                                     struct kiln_error *error) KILN_NODISCARD;

#endif
