/*
 * What the files of the contraction template's generated part share.
 *
 * Names in the generated text: access i is the argument a<i>; its strides along rows, columns and
 * batch axis b are arguments.s<i>_<number>, numbered by enum kiln_contraction_stride, unless they
 * are 0 or 1, which is in the text. Sizes and steps of axes that an index is taken apart into:
 * m_size<axis>, w<window>_r<axis> and the like. What an access has loaded is inputs.x<i>.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_EMIT_CONTRACTION_PARTS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_EMIT_CONTRACTION_PARTS_H

#include "compiler/emit/emit_integers.h"
#include "compiler/emit/emit_values.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* Which operand of the kernel: rows of its tile are rows, or columns, of the result's. */
struct kiln_contraction_side {
    const struct kiln_operand_schedule *operand;
    const char *name;   /* "left" */
    const char *define; /* "LEFT" */
    bool is_summed;     /* its packs are added up, not multiplied */
    /* The operand, "left" or "right", as which it repeats batches; NULL: `name`. */
    const char *repeats;
    bool is_single; /* one part of the operand, whose elements are loaded one by one */
    uint32_t part;  /* which, of a single one */
};

/* The schedule of the kernel, or of the products of another family's kernel. */
static inline const struct kiln_contraction_schedule *
kiln_contraction_of(const struct kiln_emission *emission)
{
    return emission->details;
}

bool kiln_is_loaded_in(const struct kiln_emission *emission, uint32_t access,
                       enum kiln_place place);
bool kiln_is_loaded_for(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, uint32_t access);

/* True if an operand is an odd function of the elements of an access. False if memory is out. */
bool kiln_is_operand_odd(const struct kiln_emission *emission, enum kiln_place place,
                         uint32_t access);

/* The number of pieces of work, if work-groups take several: device/turns.h. */
void kiln_visit_chunks(struct kiln_integer_walk *walk);
/* Sizes of the batches, and how many of them share a left and a right operand; strides of all
 * accesses. */
void kiln_visit_batch_arguments(struct kiln_integer_walk *walk);
void kiln_visit_stride_arguments(struct kiln_integer_walk *walk);

/* True if a stride is a member of kiln_arguments; others are in the text. */
bool kiln_is_stride_argument(const struct kiln_emission *emission, uint32_t access,
                             uint32_t stride);

/* ---- emit_contraction_facts.c ---- */

/* Before every header: how many axes of batches there are, and how many phases. */
void kiln_emit_batch_defines(const struct kiln_emission *emission, struct kiln_buffer *source);
/* kiln_batch_sizes, kiln_phase_axes and kiln_offset, for device/contraction/batch.h. */
void kiln_emit_batch_facts(const struct kiln_emission *emission, struct kiln_buffer *source);
/* A stride of an access: KILN_ARGUMENT(s1_0) or KILN_CONSTANT(1). */
void kiln_emit_contraction_stride(const struct kiln_emission *emission, uint32_t access,
                                  uint32_t stride, struct kiln_buffer *source);
/* True if an access loads how long a ragged tensor's batches are. */
bool kiln_is_length_access(const struct kiln_emission *emission, uint32_t access);
/* "{...}", a kiln_map. `repeat` is "left" or the like, the operand whose batches share elements;
 * of the result NULL. */
void kiln_emit_map(const struct kiln_emission *emission, uint32_t access, const char *repeat,
                   struct kiln_buffer *source);
/* "KILN_FACT kiln_map kiln_map_3 = {...};". */
void kiln_emit_map_fact(const struct kiln_emission *emission, uint32_t access, const char *repeat,
                        struct kiln_buffer *source);
/* kiln_map_<number> of the accesses of an operand, and kiln_split_<number> of those that are split.
 */
void kiln_emit_operand_maps(const struct kiln_emission *emission,
                            const struct kiln_contraction_side *side, struct kiln_buffer *source);
/* KILN_<SIDE>_ACCESSES; and what an operand's rows count over, with KILN_<SIDE>_IS_WINDOWED. */
void kiln_emit_accesses(const struct kiln_emission *emission,
                        const struct kiln_contraction_side *side, struct kiln_buffer *source);
void kiln_emit_side_rows(const struct kiln_emission *emission,
                         const struct kiln_contraction_side *side, struct kiln_buffer *source);
/* The accesses of an operand and what is computed of it; after its maps. */
void kiln_emit_operand_facts(const struct kiln_emission *emission,
                             const struct kiln_contraction_side *side, struct kiln_buffer *source);

/* Accesses and value of an operand that is loaded element by element: element_operand.h. */
void kiln_emit_element_operand_facts(const struct kiln_emission *emission,
                                     const struct kiln_contraction_side *side,
                                     struct kiln_buffer *source);

/* Facts about an operand of a direct contraction: direct_operand.h. */
void kiln_emit_direct_operand_facts(const struct kiln_emission *emission,
                                    const struct kiln_contraction_side *side,
                                    struct kiln_buffer *source);

/* ---- emit_contraction_groups.c ---- */

/* Functions that read offsets and indices, for device/contraction/group_starts.h; nothing without
 * groups. */
void kiln_emit_routing_facts(const struct kiln_emission *emission, struct kiln_buffer *source);
/* Numbers of groups and rows. */
void kiln_visit_routing_integers(struct kiln_integer_walk *walk);

/* ---- emit_contraction_axes.c ---- */

/* True if some index is decomposed: the kernel has device/contraction/axes.h and its facts. */
bool kiln_contraction_is_split(const struct kiln_emission *emission);
/* Before every header: the numbers that axes.h names, if some index is decomposed. */
void kiln_emit_axis_defines(const struct kiln_emission *emission, struct kiln_buffer *source);
/* kiln_m_axes, kiln_n_axes, kiln_k_axes and kiln_windows. */
void kiln_emit_axis_facts(const struct kiln_emission *emission, struct kiln_buffer *source);
/* kiln_split_<number> of an access that is split. */
void kiln_emit_split_fact(const struct kiln_emission *emission,
                          const struct kiln_contraction_side *side, uint32_t access,
                          struct kiln_buffer *source);

/* An access of a side that is walked (kiln_walks_along_k). */
bool kiln_is_walked(const struct kiln_emission *emission, const struct kiln_contraction_side *side,
                    uint32_t access);
/* An access that is loaded in packs along runs of k. */
bool kiln_is_loaded_in_runs(const struct kiln_emission *emission, uint32_t access);

/* ---- emit_contraction_split.c ---- */

/* An access that walks along an axis with a window; of a side, whether it has windows. */
bool kiln_is_access_windowed(const struct kiln_emission *emission, uint32_t access);
bool kiln_is_side_windowed(const struct kiln_emission *emission,
                           const struct kiln_contraction_side *side);
/* True if an access's rows, or k, are counted from the first of all, not from the tile's: its
 * pointer stays where it is. is_access_split: either. */
bool kiln_counts_rows_from_first(const struct kiln_emission *emission, uint32_t access);
bool kiln_counts_k_from_first(const struct kiln_emission *emission, uint32_t access);
/* The same of a batch that goes along a window. */
bool kiln_counts_batch_from_first(const struct kiln_emission *emission, uint32_t access,
                                  uint32_t batch);
bool kiln_is_access_split(const struct kiln_emission *emission, uint32_t access);
/* The phase whose taps an axis of k counts, or KILN_NONE. */
uint32_t kiln_phase_of_k_axis(const struct kiln_emission *emission, uint32_t axis);

/* The window that lines of strips go along. */
uint32_t kiln_strip_window(const struct kiln_contraction_schedule *contraction);
/* A coordinate of element (m, n) of the result, as an expression of m, n and batch. */
void kiln_emit_contraction_coordinate(const struct kiln_emission *emission, uint8_t from_right,
                                      struct kiln_buffer *source);

/* ---- emit_contraction_copy.c ---- */

/* True if an operand's elements differ along k. Along a window one element may be inside while its
 * neighbour is not, even where the stride is 0. */
bool kiln_varies_along_k(const struct kiln_emission *emission, uint32_t access);
/* True if vectors of the access begin anywhere, and the target needs device/unaligned.h for that.
 */
bool kiln_is_pack_unaligned(const struct kiln_emission *emission, uint32_t access);

/* The access that loads an operand of which nothing is computed, in this type. KILN_NONE else. */
uint32_t kiln_loaded_access(const struct kiln_emission *emission, enum kiln_place place,
                            uint32_t operand, enum kiln_dtype dtype);
/* ---- the others ---- */

/* The values of one place, in a function of one element. False when memory is out. */
bool kiln_contraction_table_init(const struct kiln_emission *emission, enum kiln_place place,
                                 struct kiln_value_table *ret_table) KILN_NODISCARD;
/* Statements for all values of a place, in the element loop. */
void kiln_emit_contraction_values(const struct kiln_emission *emission,
                                  const struct kiln_value_table *table, enum kiln_place place,
                                  struct kiln_buffer *source);

/* struct kiln_emit_family: core_value. */
void kiln_emit_contraction_core_value(const struct kiln_emission *emission, uint32_t value,
                                      struct kiln_buffer *source);

/* One of them: a member of `row` where it is the same in all of a row. */
void kiln_emit_contraction_value(const struct kiln_emission *emission,
                                 const struct kiln_value_table *table, uint32_t value,
                                 struct kiln_buffer *source);
/* An INDEX: a coordinate of a point of the result. */
void kiln_emit_contraction_index(const struct kiln_emission *emission,
                                 const struct kiln_value_table *table, uint32_t value,
                                 struct kiln_buffer *source);

/* True if sums with padding may be NaN: single factors are in the text then. */
bool kiln_has_single_factors(const struct kiln_emission *emission);
void kiln_emit_contraction_single(const struct kiln_emission *emission, struct kiln_buffer *source);
/* Facts about the result, and about passes over its rows if they are reduced. */
void kiln_emit_contraction_result(const struct kiln_emission *emission, struct kiln_buffer *source);

/* Facts about the result for device/contraction/result.h. The function of an element has the sums
 * of so many products, and `totals`, one more parameter or "". */
void kiln_emit_result_facts(const struct kiln_emission *emission, const char *totals,
                            uint32_t products, struct kiln_buffer *source);
/* "KILN_FACT kiln_result_access kiln_result_3 = {...};". `repeat` is that of kiln_emit_map. */
void kiln_emit_result_access(const struct kiln_emission *emission, uint32_t access,
                             const char *repeat, struct kiln_buffer *source);
/* " use(3, f16, PLAIN)": an access in a list, and ", kiln_sum value0": the sums of an element. */
void kiln_emit_result_use(const struct kiln_emission *emission, uint32_t access,
                          struct kiln_buffer *source);
void kiln_emit_sum_parameters(uint32_t products, struct kiln_buffer *source);
/* Facts about what a work-item does with the sum of an operand's row. */
void kiln_emit_contraction_sums(const struct kiln_emission *emission, struct kiln_buffer *source);
/* Facts about passes over rows. */
void kiln_emit_contraction_rows(const struct kiln_emission *emission, struct kiln_buffer *source);

#endif
