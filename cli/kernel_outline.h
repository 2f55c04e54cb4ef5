/*
 * A kernel's text for readers: a head that lists its operations and tensors, and the part of the
 * text that is its own (kiln_program_outline).
 */
#ifndef KILN_CLI_KERNEL_OUTLINE_H
#define KILN_CLI_KERNEL_OUTLINE_H

#include "cli/explanation.h"

/* KILN_NO_MEMORY. */
enum kiln_status kiln_kernel_outline_append(const struct kiln_explanation *explanation,
                                            uint32_t kernel, struct kiln_buffer *text,
                                            struct kiln_error *error) KILN_NODISCARD;

#endif
