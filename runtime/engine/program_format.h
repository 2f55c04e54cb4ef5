/*
 * Compiled programs as bytes: the payload of a cache entry.
 *
 * Little endian, in this order (u32, u64, and fields as kiln_buffer_append_field writes them).
 *
 * Program:
 * - u32 format version
 * - u64 workspace bytes
 * - u32 kernel count, then the kernels, then nothing more
 *
 * Kernel:
 * - field symbol
 * - u32 grid[3]; u32 block[3]; u32 lds bytes; u32 uses barrier; u32 form of the schedule
 * - u32 argument count, then the arguments
 * - u32 x 8 resources (the members of struct kiln_kernel_resources in order)
 * - field code object
 *
 * Argument:
 * - u32 kind, u32 tensor ordinal, u64 offset bytes, u32 alignment bytes
 */
#ifndef KILN_RUNTIME_ENGINE_PROGRAM_FORMAT_H
#define KILN_RUNTIME_ENGINE_PROGRAM_FORMAT_H

#include "runtime/engine/shared_program.h"
#include "runtime/support/buffer.h"

/* Part of every key. A change of the layout above, or of what a field means, needs a new number. */
enum { KILN_PROGRAM_FORMAT_VERSION = 2 };

/* Appends the payload. Out of memory shows in the buffer (kiln_buffer_check). */
void kiln_program_format_write(const struct kiln_compiled_program *program,
                               struct kiln_buffer *buffer);

/* Reads a payload that was written for `graph`. Nothing of the bytes is trusted or referenced
 * afterwards; KILN_CORRUPT says what is wrong with them. */
enum kiln_status kiln_program_format_read(const void *bytes, size_t size,
                                          const struct kiln_graph *graph,
                                          struct kiln_shared_program **ret_program,
                                          struct kiln_error *error) KILN_NODISCARD;

#endif
