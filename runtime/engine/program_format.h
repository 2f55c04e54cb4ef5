/*
 * Recipes as bytes: the payload of a program's cache entry. A recipe says how to launch a graph's
 * kernels and which they are; their code is in entries of their own (kernel_format.h).
 *
 * Little endian, in this order (u32, u64, and fields as kiln_buffer_append_field writes them).
 *
 * Program:
 * - u32 format version
 * - u64 workspace bytes
 * - u32 kernel count, then the kernels, then nothing more
 *
 * Kernel:
 * - u64 high, u64 low: the hash of its key, which names its entry
 * - field symbol
 * - u32 grid[3]; u32 block[3]; u32 form of the schedule, the one that was taken
 * - u32 argument count, then the arguments
 *
 * Argument:
 * - u32 kind, u32 tensor ordinal, u64 offset bytes, u32 alignment bytes
 */
#ifndef KILN_RUNTIME_ENGINE_PROGRAM_FORMAT_H
#define KILN_RUNTIME_ENGINE_PROGRAM_FORMAT_H

#include "runtime/engine/shared_program.h"
#include "runtime/support/buffer.h"

/* Part of every key. A change of the layout above, or of what a field means, needs a new number. */
enum { KILN_PROGRAM_FORMAT_VERSION = 9 };

/* Appends the payload. Out of memory shows in the buffer (kiln_buffer_check). */
void kiln_program_format_write(const struct kiln_compiled_program *program,
                               struct kiln_buffer *buffer);

/* Reads a payload that was written for `graph`: a program whose kernels have no code yet. Nothing
 * of the bytes is trusted or referenced afterwards; KILN_CORRUPT says what is wrong with them. */
enum kiln_status kiln_program_format_read(const void *bytes, size_t size,
                                          const struct kiln_graph *graph,
                                          struct kiln_shared_program **ret_program,
                                          struct kiln_error *error) KILN_NODISCARD;

#endif
