/*
 * Sizes and strides in the text of kernels that walk over a collapsed domain: numbers, or members
 * of kiln_arguments if the schedule's sizes are arguments. Strides of 0 and 1 stay in the text,
 * since less is left to compute then.
 *
 *   d<axis>          size of a collapsed axis
 *   s<i>_<axis>      stride of access i; accesses with equal strides have those of the first
 *   <size>_divisor   divides an index of 32 bits by that size (device/sizes.h)
 */
#ifndef KILN_COMPILER_EMIT_EMIT_SIZES_H
#define KILN_COMPILER_EMIT_EMIT_SIZES_H

#include "compiler/emit/emit_integers.h"
#include "compiler/emit/template_text.h"

/* True if sizes and strides are members of kiln_arguments. */
bool kiln_sizes_are_arguments(const struct kiln_emission *emission);

/* True if the text says that a stride is 1. In general kernels it is an argument. */
bool kiln_stride_is_one(const struct kiln_schedule *schedule, int64_t stride);

/* "#define KILN_COLS 12u", or the member `name`. */
void kiln_emit_size_define(const struct kiln_emission *emission, const char *macro, uint64_t value,
                           const char *name, struct kiln_buffer *source);
/* "(kiln_index)12", or the member. */
__attribute__((format(printf, 4, 5))) void kiln_emit_size(const struct kiln_emission *emission,
                                                          int64_t value, struct kiln_buffer *source,
                                                          const char *name, ...);
/* Prints the stride of an access along a collapsed axis in the same way. */
void kiln_emit_stride(const struct kiln_emission *emission, uint32_t access, uint32_t axis,
                      struct kiln_buffer *source);
/* Two statements: `place` gets `rest` modulo a size, times or plus what `place` and `scale` add to
 * it, and `rest` gets the quotient: "    c1 = ", "rest % 7", " * KILN_VECTOR". */
void kiln_emit_split(const struct kiln_emission *emission, const char *indent, const char *place,
                     const char *scale, uint64_t size, const char *name,
                     struct kiln_buffer *source);
/* The header that these statements need. */
void kiln_emit_size_headers(const struct kiln_emission *emission,
                            struct kiln_template_inclusion *inclusion, struct kiln_buffer *source);

/* A size that indices are taken apart by. */
void kiln_visit_split_size(struct kiln_integer_walk *walk, uint64_t size, const char *name);
/* The size of a collapsed axis. */
void kiln_visit_axis(struct kiln_integer_walk *walk, uint32_t axis);
/* Strides of all accesses. */
void kiln_visit_strides(struct kiln_integer_walk *walk);

#endif
