/*
 * Compiled kernels as bytes: the payload of a kernel's cache entry.
 *
 * Little endian, in this order (u32, and fields as kiln_buffer_append_field writes them), and then
 * nothing more:
 * - u32 format version
 * - field symbol
 * - u32 block[3]; u32 lds bytes; u32 uses barrier; u32 argument count
 * - u32 x 8 resources (the members of struct kiln_kernel_resources in order)
 * - field name of the compiler that made it, of those that the entry names
 * - field code object; empty in the note that a kernel spills, whose key says so: another program
 *   with this kernel takes the next form of its schedule without compiling this one
 */
#ifndef KILN_RUNTIME_ENGINE_KERNEL_FORMAT_H
#define KILN_RUNTIME_ENGINE_KERNEL_FORMAT_H

#include "runtime/engine/shared_kernel.h"
#include "runtime/support/buffer.h"

/* Part of every key. A change of the layout above, of what a field means, or of the key's fields
 * needs a new number. */
enum { KILN_KERNEL_FORMAT_VERSION = 5 };

/* Appends the payload, without the code when `with_code` is false. Out of memory shows in the
 * buffer (kiln_buffer_check). */
void kiln_kernel_format_write(const struct kiln_shared_kernel *kernel, bool with_code,
                              struct kiln_buffer *buffer);

/* Reads a payload. The result has no key. Nothing of the bytes is trusted or referenced afterwards;
 * KILN_CORRUPT says what is wrong with them. */
enum kiln_status kiln_kernel_format_read(const void *bytes, size_t size,
                                         struct kiln_shared_kernel **ret_kernel,
                                         struct kiln_error *error) KILN_NODISCARD;

#endif
