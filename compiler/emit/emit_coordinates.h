/*
 * Where a work-item is in the domain and where an access finds its elements, as text of the
 * generated functions.
 *
 * Coordinates are position.c<k> for collapsed axis k, position.column for the inner axis and
 * position.line for the tile axis. position.t<i> is where the row of a staged access i begins in
 * local memory. In a flattened schedule position.column counts along the line
 * and k<axis> are taken out of it. In PARTIAL groups position.segment is the segment.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_COORDINATES_H
#define KILN_COMPILER_EMIT_EMIT_COORDINATES_H

#include "compiler/emit/emission.h"

bool kiln_emission_is_tiled(const struct kiln_emission *emission);

/* kiln_index and struct kiln_position. */
void kiln_emit_position(const struct kiln_emission *emission, struct kiln_buffer *source);
/* kiln_locate or kiln_locate_tile. */
void kiln_emit_locate(const struct kiln_emission *emission, struct kiln_buffer *source);
/* kiln_locate_chunk (of segments), kiln_locate_row, kiln_locate_step and kiln_locate_tail of a
 * kernel that reduces rows: each sets the coordinates on the axes that it counts along. */
void kiln_emit_row_locations(const struct kiln_emission *emission, struct kiln_buffer *source);
/* True if rows that are reduced have elements that are in no vector. Segments whose sizes are
 * arguments may have some in any case, so that there are fewer kernels. */
bool kiln_rows_have_tails(const struct kiln_emission *emission);
/* Whole vectors of a line of rows, at least 1. */
uint64_t kiln_steps_of_line(const struct kiln_schedule *schedule);
/* Vectors of an axis of rows, in the form `columns`, and where the last one begins: so that it is
 * whole, perhaps within the one before. */
int64_t kiln_vectors_of_rows(const struct kiln_schedule *schedule);
int64_t kiln_last_vector_of_rows(const struct kiln_schedule *schedule);
/* Vectors of a line, and tiles along an axis of tiles. */
uint64_t kiln_vectors_of_line(const struct kiln_schedule *schedule);
uint64_t kiln_tiles_along(const struct kiln_schedule *schedule, uint32_t axis);
/* The coordinate on a collapsed axis when elements are not taken from a flattened line. */
void kiln_emit_coordinate(const struct kiln_emission *emission, uint32_t axis,
                          struct kiln_buffer *source);
/* The offset in elements of an access at `position`, as an expression. */
void kiln_emit_offset(const struct kiln_emission *emission, uint32_t access,
                      struct kiln_buffer *source);
/* Statements that take element e of a flattened line apart into k<axis>. */
void kiln_emit_line_coordinates(const struct kiln_emission *emission, struct kiln_buffer *source);
/* The offset of element e for an access with an address per element. */
void kiln_emit_element_offset(const struct kiln_emission *emission, uint32_t access,
                              struct kiln_buffer *source);

#endif
