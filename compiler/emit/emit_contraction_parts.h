/*
 * What the files of the contraction template's generated part share.
 *
 * Names in the generated text: access i is the argument a<i>; its strides along rows, columns and
 * batch axis b are arguments.s<i>_<number>, numbered by enum kiln_contraction_stride, unless they
 * are 0 or 1, which is in the text. Sizes and steps of axes that an index is taken apart into:
 * m_size<axis>, w<window>_r<axis> and the like. What an access has loaded is inputs.x<i>.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_CONTRACTION_PARTS_H
#define KILN_COMPILER_EMIT_EMIT_CONTRACTION_PARTS_H

#include "compiler/emit/emit_integers.h"
#include "compiler/emit/emit_values.h"

/* Which operand of the kernel: rows of its tile are rows, or columns, of the result's. */
struct kiln_contraction_side {
    const struct kiln_operand_schedule *operand;
    const char *name; /* "left" */
    /* Which of the elements that are loaded for a run of rows is element e of row r. */
    const char *run_element;
    enum kiln_k_end k_end;
    bool is_copied; /* kiln_<side>_copy too */
    bool is_summed; /* its packs are added up, not multiplied */
    /* The operand, "left" or "right", as which it repeats batches; NULL: `name`. */
    const char *repeats;
    bool is_single; /* single factors of one part: emit_contraction_single.c */
    uint32_t part;  /* which, of a single one */
};

static inline const struct kiln_contraction_schedule *
kiln_contraction_of(const struct kiln_emission *emission)
{
    return &emission->schedule->contraction;
}

bool kiln_is_loaded_in(const struct kiln_emission *emission, uint32_t access,
                       enum kiln_place place);
bool kiln_is_loaded_for(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, uint32_t access);

/* The number of pieces of work, if work-groups take several: device/turns.h. */
void kiln_visit_chunks(struct kiln_integer_walk *walk);
/* Sizes of the batches, and how many of them share a left and a right operand; strides of all
 * accesses. */
void kiln_visit_batch_arguments(struct kiln_integer_walk *walk);
void kiln_visit_stride_arguments(struct kiln_integer_walk *walk);

/* struct kiln_batch's indices, found from `rest`: statements of kiln_locate_batch. */
void kiln_emit_contraction_batch_indices(const struct kiln_emission *emission,
                                         struct kiln_buffer *source);

/* Members of kiln_arguments. */
void kiln_emit_contraction_arguments(const struct kiln_emission *emission,
                                     struct kiln_buffer *source);
/* Whether a stride is one of them; others are in the text. */
bool kiln_is_stride_argument(const struct kiln_emission *emission, uint32_t access,
                             uint32_t stride);

/* ---- emit_contraction_split.c ---- */

/* Whether some index is taken apart: device/contraction/divide.h is needed. */
bool kiln_contraction_is_split(const struct kiln_emission *emission);
/* An access that walks along an axis with a window; of a side, whether it has windows. */
bool kiln_is_access_windowed(const struct kiln_emission *emission, uint32_t access);
bool kiln_is_side_windowed(const struct kiln_emission *emission,
                           const struct kiln_contraction_side *side);
/* Whether an access's rows, or k, are counted from the first of all, not from the tile's: its
 * pointer stays where it is. is_access_split: either. */
bool kiln_counts_rows_from_first(const struct kiln_emission *emission, uint32_t access);
bool kiln_counts_k_from_first(const struct kiln_emission *emission, uint32_t access);
/* The same of a batch that goes along a window. */
bool kiln_counts_batch_from_first(const struct kiln_emission *emission, uint32_t access,
                                  uint32_t batch);
bool kiln_is_access_split(const struct kiln_emission *emission, uint32_t access);
/* The phase whose taps an axis of k counts, or KILN_NONE. */
uint32_t kiln_phase_of_k_axis(const struct kiln_emission *emission, uint32_t axis);

/* kiln_m_index and kiln_split_m, and the same of n and k; behind kiln_batch. */
void kiln_emit_contraction_splits(const struct kiln_emission *emission, struct kiln_buffer *source);
/* Of phases: members of kiln_batch, statements that set them, and functions that ask them. */
void kiln_emit_contraction_phase_members(const struct kiln_emission *emission,
                                         struct kiln_buffer *source);
void kiln_emit_contraction_phases(const struct kiln_emission *emission, struct kiln_buffer *source);
void kiln_emit_contraction_phase_sizes(const struct kiln_emission *emission,
                                       struct kiln_buffer *source);
/* kiln_<side>_is_inside where the side has windows, kiln_<side>_offset_<access> of accesses that
 * are split; behind kiln_<side>_source. */
void kiln_emit_contraction_operand_offsets(const struct kiln_emission *emission,
                                           const struct kiln_contraction_side *side,
                                           struct kiln_buffer *source);
/* How long an axis of k is, an expression: an argument, or what the phase of `batch` has of it. */
void kiln_print_k_size(const struct kiln_emission *emission, uint32_t axis, const char *batch,
                       char *text, size_t size);
/* Of strips: the window that their lines go along, and what its coordinate changes by from one tap
 * to the next, 1 or -1, an expression. */
uint32_t kiln_strip_window(const struct kiln_contraction_schedule *contraction);
void kiln_print_strip_step(const struct kiln_contraction_schedule *contraction, char *text,
                           size_t size);
/* Whether an access has other elements in other rows of its operand. */
bool kiln_varies_along_rows(const struct kiln_access_schedule *access);
/* kiln_row_offset_<access> of the result's accesses that split rows. */
void kiln_emit_contraction_row_offsets(const struct kiln_emission *emission,
                                       struct kiln_buffer *source);
/* " + ...": the row `at_row` of the tile, in an offset of one of the result's accesses. */
void kiln_emit_contraction_row_offset(const struct kiln_emission *emission, uint32_t access,
                                      struct kiln_buffer *source);
/* A coordinate of a point of the result, as an expression. */
void kiln_emit_contraction_coordinate(const struct kiln_emission *emission, uint8_t from_right,
                                      struct kiln_buffer *source);

/* ---- emit_contraction_copy.c ---- */

/* The access that loads an operand of which nothing is computed, in this type. KILN_NONE else. */
uint32_t kiln_loaded_access(const struct kiln_emission *emission, enum kiln_place place,
                            uint32_t operand, enum kiln_dtype dtype);
/* kiln_<side>_copy: from memory to LDS as it is, where work-items do nothing but stage. */
void kiln_emit_contraction_copy(const struct kiln_emission *emission,
                                const struct kiln_contraction_side *side,
                                struct kiln_buffer *source);

/* ---- the others ---- */

/* " + <what> * <stride>" in `type`; nothing for a stride of 0. */
void kiln_emit_contraction_term(const struct kiln_emission *emission, const char *type,
                                uint32_t access, uint32_t stride, const char *what,
                                struct kiln_buffer *source);
/* "const kiln_storage_f16 *p3;", a member of a source. */
void kiln_emit_contraction_pointer(const struct kiln_emission *emission, uint32_t access,
                                   struct kiln_buffer *source);
/* The index of a batch, of the result's or of attention's scores, which may be more: an expression
 * of the kiln_batch called `of`. */
void kiln_print_batch_coordinate(const struct kiln_emission *emission, uint32_t batch,
                                 bool is_of_scores, const char *of, char *text, size_t size);
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

/* struct kiln_arguments: pointers, host scalars, and what `integers` appends. */
void kiln_emit_contraction_argument_struct(const struct kiln_emission *emission,
                                           void (*integers)(const struct kiln_emission *emission,
                                                            struct kiln_buffer *source),
                                           struct kiln_buffer *source);

/* Source, inputs, start, advance, load and pack of an operand. */
void kiln_emit_contraction_operand(const struct kiln_emission *emission,
                                   const struct kiln_contraction_side *side,
                                   struct kiln_buffer *source);
/* The same where work-items compute elements of the result: image and weights. */
void kiln_emit_contraction_direct(const struct kiln_emission *emission, struct kiln_buffer *source);
/* Operands of small products: left, right and second. */
void kiln_emit_contraction_small(const struct kiln_emission *emission, struct kiln_buffer *source);
/* True if sums with padding may be NaN: single factors are in the text then. */
bool kiln_has_single_factors(const struct kiln_emission *emission);
void kiln_emit_contraction_single(const struct kiln_emission *emission, struct kiln_buffer *source);
/* kiln_result_source, kiln_result_start, kiln_result_load and kiln_finish, or what rows have
 * instead of the last two. */
void kiln_emit_contraction_result(const struct kiln_emission *emission, struct kiln_buffer *source);

/* kiln_finish: `totals` is what else it is given, "" or "const kiln_row &totals, "; `products` how
 * many products' sums. `elements` is as in kiln_value_table. */
void kiln_emit_contraction_finish(const struct kiln_emission *emission, const char *totals,
                                  const char *products, const char *const *elements,
                                  struct kiln_buffer *source);
/* kiln_result_source and _start, kiln_row_offset_<access> and kiln_result_inputs; fills elements.
 */
void kiln_emit_contraction_result_source(const struct kiln_emission *emission,
                                         const char **ret_elements, struct kiln_buffer *source);

/* Statements that fill inputs.x<access>, and that store y<access>, at at_row and column. */
void kiln_emit_contraction_result_load(const struct kiln_emission *emission, uint32_t access,
                                       struct kiln_buffer *source);
void kiln_emit_contraction_result_store(const struct kiln_emission *emission, uint32_t access,
                                        struct kiln_buffer *source);
/* kiln_finish_sum: what a work-item does with the sum of an operand's row. */
void kiln_emit_contraction_sums(const struct kiln_emission *emission, struct kiln_buffer *source);
/* kiln_row, kiln_row_start, the passes and KILN_ROW_PASSES; `elements` is as in kiln_value_table.
 */
void kiln_emit_contraction_rows(const struct kiln_emission *emission, const char *const *elements,
                                struct kiln_buffer *source);

/* ---- emit_contraction_walk.c ---- */

/* Packs along runs of k (emit_contraction_runs.c): the accesses that are loaded so; the function
 * kiln_<side>_run, which says by a bit for each element of a pack whether it counts; and the load
 * of a pack, which wants that in inputs.inside. */
bool kiln_is_loaded_in_runs(const struct kiln_emission *emission, uint32_t access);
void kiln_emit_contraction_run(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side,
                               struct kiln_buffer *source);
void kiln_emit_contraction_run_load(const struct kiln_emission *emission,
                                    const struct kiln_contraction_side *side, uint32_t access,
                                    struct kiln_buffer *source);

/* Whether neighbours along k may lie along any of its axes: from one to the next there are carries
 * then, kiln_next_k, and kiln_<side>_coordinate_<window> where the side has windows. */
bool kiln_walks_along_k(const struct kiln_emission *emission);
void kiln_emit_contraction_next_k(const struct kiln_emission *emission, struct kiln_buffer *source);
/* The accesses of a side that are loaded so, and their loads, with inputs.inside. */
bool kiln_is_walked(const struct kiln_emission *emission, const struct kiln_contraction_side *side,
                    uint32_t access);
void kiln_emit_contraction_walk(const struct kiln_emission *emission,
                                const struct kiln_contraction_side *side,
                                struct kiln_buffer *source);

#endif
