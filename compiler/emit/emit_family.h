/*
 * What emission asks a family of kernels. One struct per row of compiler/kernel_family.def, defined
 * in the family's file: emit_pointwise.c, emit_reduction.c, emit_contraction.c. Internal to the
 * stage.
 *
 * Order of a kernel's text: KILN_WAVE_SIZE and KILN_BLOCK, `defines`, the device header and
 * device/memory.h, `headers`, `text`, the template.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_FAMILY_H
#define KILN_COMPILER_EMIT_EMIT_FAMILY_H

#include "compiler/emit/emit.h"
#include "compiler/emit/template_text.h"

struct kiln_emit_family {
    /* What the template is told in numbers. */
    void (*defines)(const struct kiln_emission *emission, struct kiln_buffer *source);
    /* Headers of conversions, mathematics and what else text and template need. */
    void (*headers)(const struct kiln_emission *emission, struct kiln_template_inclusion *inclusion,
                    struct kiln_buffer *source);
    /* Generated types and functions. */
    void (*text)(const struct kiln_emission *emission, struct kiln_buffer *source);
    /* Whether work-items wait for one another: over tiles, or to merge what they have accumulated.
     */
    bool (*uses_barrier)(const struct kiln_schedule *schedule);
    /* Counts the integers after the pointers, and writes them to ret_values unless that is NULL, in
     * the order of kiln_arguments. NULL: there are none. */
    uint32_t (*integers)(const struct kiln_emission *emission, int64_t *ret_values);
    /* Whether the result of an operation of the family's class differs between the elements of a
     * vector, given whether its first operand does, if the group has that. NULL: such results are
     * never evaluated as a vector of their own. */
    bool (*result_varies)(const struct kiln_schedule *schedule, bool operand_varies);
    /* Constants stand in the text as they are, so that functions need not hand them on. */
    bool has_literals;
};

/* The functions of a family. Static. */
const struct kiln_emit_family *kiln_emit_family(enum kiln_kernel_family family);

/* ---- for the families' `defines` ---- */

/* KILN_HAS_TURNS: true if the launch has fewer work-groups, KILN_GRID, than there are pieces of
 * work. */
void kiln_emit_grid(const struct kiln_emission *emission, struct kiln_buffer *source);
/* KILN_CHUNK(turn), which piece of work comes when, and KILN_VECTOR. */
void kiln_emit_turns(const struct kiln_emission *emission, struct kiln_buffer *source);

/* ---- for the families' `headers` ---- */

/* device/convert/ of one type; of those of all accesses; and what the operations need beyond plain
 * arithmetic. */
void kiln_emit_convert_header(enum kiln_dtype dtype, struct kiln_template_inclusion *inclusion,
                              struct kiln_buffer *source);
void kiln_emit_access_headers(const struct kiln_emission *emission,
                              struct kiln_template_inclusion *inclusion,
                              struct kiln_buffer *source);
void kiln_emit_operation_headers(const struct kiln_emission *emission,
                                 struct kiln_template_inclusion *inclusion,
                                 struct kiln_buffer *source);

#endif
