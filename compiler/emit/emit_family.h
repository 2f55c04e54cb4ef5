/*
 * The functions that emission calls in a family of kernels. Each row of compiler/kernel_family.def
 * has one struct, defined in compiler/families/<name>/emit_<name>.c. Internal to the stage.
 *
 * A kernel's text has this order: KILN_WAVE_SIZE and KILN_BLOCK, `defines`, the device header and
 * device/memory.h, `headers`, `text`, `forms`, the template.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_FAMILY_H
#define KILN_COMPILER_EMIT_EMIT_FAMILY_H

#include "compiler/emit/emission.h"
#include "compiler/emit/emit_integers.h"
#include "compiler/emit/template_text.h"

struct kiln_emit_family {
    /* The part of a schedule's details that emission works on (struct kiln_emission). NULL: all. */
    const void *(*details)(const struct kiln_schedule *schedule);
    /* What the template is told in numbers. */
    void (*defines)(const struct kiln_emission *emission, struct kiln_buffer *source);
    /* Headers of conversions, mathematics and what else text and template need. */
    void (*headers)(const struct kiln_emission *emission, struct kiln_template_inclusion *inclusion,
                    struct kiln_buffer *source);
    /* Generated types and functions, and headers that come between them. */
    void (*text)(const struct kiln_emission *emission, struct kiln_template_inclusion *inclusion,
                 struct kiln_buffer *source);
    /* Headers that make up the template's form; they use the generated text. NULL: there are none.
     */
    void (*forms)(const struct kiln_emission *emission, struct kiln_template_inclusion *inclusion,
                  struct kiln_buffer *source);
    /* True if work-items wait for one another: over tiles, or to merge what they have accumulated.
     */
    bool (*uses_barrier)(const struct kiln_schedule *schedule);
    /* Visits the integers after the pointers, in the order of kiln_arguments. NULL: there are none.
     */
    void (*visit_integers)(struct kiln_integer_walk *walk);
    /* True if the result of an operation of the family's class differs between the elements of a
     * vector, given whether its first operand does, if the group has that. NULL: such results are
     * never evaluated as a vector of their own. */
    bool (*result_varies)(const struct kiln_schedule *schedule, bool operand_varies);
    /* Completes the statement that gives an operation of the family's class its value, which
     * kiln_emit_operation has begun: from what the template has computed. NULL: the family's own
     * text does that. */
    void (*core_value)(const struct kiln_emission *emission, uint32_t value,
                       struct kiln_buffer *source);
    /* Constants stand in the text as they are, so that functions need not hand them on. */
    bool has_literals;
};

/* The functions of a family. Static. */
const struct kiln_emit_family *kiln_emit_family(enum kiln_kernel_family family);

/* All integers of the kernel, from the first on. */
void kiln_visit_integers(struct kiln_integer_walk *walk);

/* ---- for the families' `defines` ---- */

/* "#define KILN_<name> <value>". */
void kiln_emit_constant(const char *name, uint64_t value, struct kiln_buffer *source);

/* KILN_HAS_TURNS: true if the launch has fewer work-groups, KILN_GRID, than there are pieces of
 * work. */
void kiln_emit_grid(const struct kiln_emission *emission, struct kiln_buffer *source);
/* True if KILN_CHUNK gives neighbouring pieces of work to one cache. It needs KILN_CHUNKS then. */
bool kiln_shares_out_chunks(const struct kiln_emission *emission);
/* KILN_CHUNK(turn), which piece of work comes when, and KILN_VECTOR. */
void kiln_emit_turns(const struct kiln_emission *emission, struct kiln_buffer *source);

/* ---- for the families' `headers` and `forms` ---- */

/* device/chunk_of_cache.h where the KILN_CHUNK of kiln_emit_turns calls it. */
void kiln_emit_chunk_header(const struct kiln_emission *emission,
                            struct kiln_template_inclusion *inclusion, struct kiln_buffer *source);
/* device/turns.h or turns_none.h, for templates with KILN_TURN_KERNEL. */
void kiln_emit_turns_header(const struct kiln_emission *emission,
                            struct kiln_template_inclusion *inclusion, struct kiln_buffer *source);

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
