/*
 * Emission: a scheduled fusion group becomes the complete source text of one kernel.
 *
 * The text is, in this order: defines, the device header of the target, the math and conversion
 * headers that the group needs, generated types and functions, the template. Generated functions
 * are flat: one statement per operation.
 *
 * Nothing of the graph is in it but what the kernel computes: no name, no number of a tensor, no
 * place of the kernel in its program. Equal kernels of different graphs are the same text.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_H
#define KILN_COMPILER_EMIT_EMIT_H

#include "compiler/emit/emission.h"
#include "compiler/kernel.h"

/* Fills a kernel; its memory belongs to the arena of the IR. */
enum kiln_status kiln_emit_kernel(const struct kiln_emission *emission,
                                  struct kiln_kernel *ret_kernel,
                                  struct kiln_error *error) KILN_NODISCARD;

/* Appends what is the kernel's own in its text: the generated parts in order, without the symbol.
 * Where the text has a file of kernels_templates/, there is an #include line. KILN_NO_MEMORY. */
enum kiln_status kiln_emit_outline(const struct kiln_emission *emission, struct kiln_buffer *text,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
