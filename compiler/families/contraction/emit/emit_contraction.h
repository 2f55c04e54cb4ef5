/*
 * The generated part of the contraction template: types of the core, kiln_arguments with sizes and
 * strides after the pointers, facts about batches and operands, and functions that finish a vector
 * of the result.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_EMIT_CONTRACTION_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_EMIT_CONTRACTION_H

#include "compiler/emit/emit_integers.h"
#include "compiler/emit/template_text.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* Neither the grid nor any size: the text is the same for all shapes. */
void kiln_emit_contraction_defines(const struct kiln_emission *emission,
                                   struct kiln_buffer *source);

/* Types and macros that the headers of device/mma/ are made for; behind the conversions. */
void kiln_emit_contraction_core(const struct kiln_emission *emission, struct kiln_buffer *source);
/* "device/mma/mfma.h". Static. */
const char *kiln_contraction_core_header(const struct kiln_emission *emission);

/* True if nothing is computed of the operand, however its elements are put together. */
bool kiln_contraction_is_moved(const struct kiln_emission *emission,
                               const struct kiln_operand_schedule *operand);
/* True if the operand's packs, along k or along its rows, may be staged as they lie in memory:
 * nothing is computed of it, and no pack is cut. */
bool kiln_contraction_is_copied(const struct kiln_emission *emission,
                                const struct kiln_operand_schedule *operand);

/* True if the operand is staged as it lies, along its rows, and the core transposes it. */
bool kiln_is_operand_transposed(const struct kiln_emission *emission,
                                const struct kiln_operand_schedule *operand);

/* Headers of device/contraction/, one for each choice that contraction.hip and its relatives leave
 * open; after kiln_emit_contraction. */
void kiln_emit_contraction_forms(const struct kiln_emission *emission,
                                 struct kiln_template_inclusion *inclusion,
                                 struct kiln_buffer *source);

/* After the core. */
void kiln_emit_contraction(const struct kiln_emission *emission,
                           struct kiln_template_inclusion *inclusion, struct kiln_buffer *source);

/* The integers after the pointers (struct kiln_emit_family). */
void kiln_visit_contraction_integers(struct kiln_integer_walk *walk);

#endif
