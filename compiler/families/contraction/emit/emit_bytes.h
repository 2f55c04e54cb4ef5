/*
 * Packs of operands of one byte, several elements at once: with what is computed of single ones
 * compilers do worse.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_EMIT_BYTES_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_EMIT_BYTES_H

#include "compiler/emit/emit.h"
#include "compiler/emit/template_text.h"

/* Their headers, after device/mma/pack.h. */
void kiln_emit_bytes_headers(const struct kiln_emission *emission, enum kiln_dtype staged,
                             struct kiln_template_inclusion *inclusion, struct kiln_buffer *source);

#endif
