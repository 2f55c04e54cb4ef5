/*
 * Memory accesses as text of the generated functions. Access i of the group is the argument a<i>;
 * what it loaded is `inputs.x<i>`, what it stores `y<i>`, arrays of storage elements: as many as
 * the vector has, or one where all elements of a vector are the same.
 *
 * Functions exist for a whole vector and, where rows have tails, for one element, `elements` being
 * how many there are: "kiln_load", "kiln_load_element".
 */
#ifndef KILN_COMPILER_EMIT_EMIT_ACCESS_H
#define KILN_COMPILER_EMIT_EMIT_ACCESS_H

#include "compiler/emit/emission.h"

/* struct kiln_arguments: pointers and host scalars, then integers. */
void kiln_emit_arguments(const struct kiln_emission *emission, struct kiln_buffer *source);

/* The suffix of the device type that an access has elements of: "f16". Static. */
const char *kiln_storage_suffix(const struct kiln_access *access);
/* "" or "_element". Static. */
const char *kiln_element_suffix(const struct kiln_emission *emission, uint32_t elements);
/* True if an access has one element per vector only. */
bool kiln_access_is_splat(const struct kiln_emission *emission, uint32_t access);
uint32_t kiln_vector_bytes(const struct kiln_access *access, uint32_t elements);
/* The kind of KILN_LOAD and KILN_STORE for the vectors of an access: "UNALIGNED", or `aligned`. */
const char *kiln_vector_kind(const struct kiln_emission *emission, uint32_t access,
                             const char *aligned);

/* Opens a block that runs for each element e. */
void kiln_emit_element_loop(const char *indent, uint32_t elements, struct kiln_buffer *source);
/* The members of an inputs structure. */
void kiln_emit_input_members(const struct kiln_emission *emission, const bool *selected,
                             uint32_t elements, struct kiln_buffer *source);
/* Statements that fill `inputs`. */
void kiln_emit_loads(const struct kiln_emission *emission, const bool *selected, uint32_t elements,
                     struct kiln_buffer *source);
/* "kiln_storage_f16 y3[8];" of the selected stores. */
void kiln_emit_output_arrays(const struct kiln_emission *emission, const bool *selected,
                             uint32_t elements, struct kiln_buffer *source);
/* Statements that store them, where their guards allow. */
void kiln_emit_stores(const struct kiln_emission *emission, const bool *selected, uint32_t elements,
                      struct kiln_buffer *source);

/* Statements that copy the array `vector`, as long as a vector or one element, to (is_store) or
 * from the access's tile, at `column` of the line that is called `line`. */
void kiln_emit_tile_access(const struct kiln_emission *emission, uint32_t access, bool is_store,
                           uint32_t elements, const char *vector, const char *line,
                           struct kiln_buffer *source);

#endif
