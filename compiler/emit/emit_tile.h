/*
 * Kernels that walk in tiles: tiles in local memory, and the functions that stage
 * operands through them. Tile t<i> belongs to access i.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_TILE_H
#define KILN_COMPILER_EMIT_EMIT_TILE_H

#include "compiler/emit/emission.h"

/* struct kiln_tiles; struct kiln_square: the elements that a work-item loads before it stages them.
 */
void kiln_emit_tiles(const struct kiln_emission *emission, struct kiln_buffer *source);

/* Whole vectors: kiln_fetch, kiln_stage_in, kiln_load_staged, kiln_stage_out. One element:
 * kiln_stage_in_element, kiln_stage_out_element. */
void kiln_emit_tile_functions(const struct kiln_emission *emission, uint32_t elements,
                              struct kiln_buffer *source);

#endif
