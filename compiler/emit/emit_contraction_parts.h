/*
 * What the files of the contraction template's generated part share.
 *
 * Names in the generated text: access i is the argument a<i>; its strides along rows, columns and
 * batch axis b are arguments.s<i>_<number>, numbered by enum kiln_contraction_stride, unless they
 * are 0 or 1, which is in the text. What an access has loaded is inputs.x<i>.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_CONTRACTION_PARTS_H
#define KILN_COMPILER_EMIT_EMIT_CONTRACTION_PARTS_H

#include "compiler/emit/emit_values.h"

/* Which operand of the kernel: rows of its tile are rows, or columns, of the result's. */
struct kiln_contraction_side {
    const struct kiln_operand_schedule *operand;
    const char *name; /* "left" */
    const char *upper;
};

static inline const struct kiln_contraction_schedule *
kiln_contraction_of(const struct kiln_emission *emission)
{
    return &emission->schedule->contraction;
}

bool kiln_is_loaded_in(const struct kiln_emission *emission, uint32_t access,
                       enum kiln_place place);

/* " + <what> * <stride>" in `type`; nothing for a stride of 0. */
void kiln_emit_contraction_term(const struct kiln_emission *emission, const char *type,
                                uint32_t access, uint32_t stride, const char *what,
                                struct kiln_buffer *source);
/* "const kiln_storage_f16 *p3;", a member of a source. */
void kiln_emit_contraction_pointer(const struct kiln_emission *emission, uint32_t access,
                                   struct kiln_buffer *source);
/* "source.p3 = arguments.a3 + ...;": where the tile of an access starts. Of an operand `repeat` is
 * "left" or "right" and `column` NULL; of the result `repeat` is NULL. */
void kiln_emit_contraction_start(const struct kiln_emission *emission, uint32_t access,
                                 const char *repeat, const char *row, const char *column,
                                 struct kiln_buffer *source);

/* What holds the values of one place; `elements` is as in kiln_value_table. False when memory is
 * out. */
bool kiln_contraction_table_init(const struct kiln_emission *emission, enum kiln_place place,
                                 const char *const *elements,
                                 struct kiln_value_table *ret_table) KILN_NODISCARD;
/* Statements for all values of a place, in the element loop. */
void kiln_emit_contraction_values(const struct kiln_emission *emission,
                                  const struct kiln_value_table *table, enum kiln_place place,
                                  struct kiln_buffer *source);

/* One of them: a member of `row` where it is the same in all of a row. */
void kiln_emit_contraction_value(const struct kiln_emission *emission,
                                 const struct kiln_value_table *table, uint32_t value,
                                 struct kiln_buffer *source);
/* An INDEX: a coordinate of a point of the result. */
void kiln_emit_contraction_index(const struct kiln_emission *emission,
                                 const struct kiln_value_table *table, uint32_t value,
                                 struct kiln_buffer *source);

/* Source, inputs, start, advance, load and pack of an operand. */
void kiln_emit_contraction_operand(const struct kiln_emission *emission,
                                   const struct kiln_contraction_side *side,
                                   struct kiln_buffer *source);
/* kiln_result_source, kiln_result_start and kiln_finish, or what rows have instead of that. */
void kiln_emit_contraction_result(const struct kiln_emission *emission, struct kiln_buffer *source);

/* Statements that fill inputs.x<access>, and that store y<access>, at at_row and column. */
void kiln_emit_contraction_result_load(const struct kiln_emission *emission, uint32_t access,
                                       struct kiln_buffer *source);
void kiln_emit_contraction_result_store(const struct kiln_emission *emission, uint32_t access,
                                        struct kiln_buffer *source);
/* kiln_row, kiln_row_start, the passes and KILN_ROW_PASSES; `elements` is as in kiln_value_table.
 */
void kiln_emit_contraction_rows(const struct kiln_emission *emission, const char *const *elements,
                                struct kiln_buffer *source);

#endif
