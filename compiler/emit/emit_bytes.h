/*
 * Packs of operands of one byte, several elements at once: with what is computed of single ones
 * compilers do worse.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_BYTES_H
#define KILN_COMPILER_EMIT_EMIT_BYTES_H

#include "compiler/emit/emit.h"
#include "compiler/emit/template_text.h"

/* The headers that these need, after that of the packs. */
void kiln_emit_bytes_headers(const struct kiln_emission *emission, enum kiln_dtype staged,
                             struct kiln_template_inclusion *inclusion, struct kiln_buffer *source);

/* Fills `out` with the halves that the fp8 numbers of an access are. `element`: the index of
 * element e in what is loaded. */
void kiln_emit_fp8_as_half(uint32_t access, enum kiln_dtype dtype, uint32_t count,
                           const char *element, struct kiln_buffer *source);

/* An array floats<access> of a pack of the int8 numbers of an access, along k; of row r where `run`
 * rows are loaded at once. */
void kiln_emit_i8_as_floats(uint32_t access, uint32_t count, uint32_t run,
                            struct kiln_buffer *source);

#endif
