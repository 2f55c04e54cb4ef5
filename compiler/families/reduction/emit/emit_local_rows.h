/*
 * Rows in local memory: struct kiln_local, and the functions that copy rows there and back.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_EMIT_LOCAL_ROWS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_EMIT_LOCAL_ROWS_H

#include "compiler/families/reduction/emit/emit_reduction_parts.h"

void kiln_emit_local_rows(const struct kiln_reduction_emission *reduction,
                          struct kiln_buffer *source);

#endif
