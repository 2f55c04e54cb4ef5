/*
 * Keys of kernels: all that decides what a compiled kernel is, and nothing of the graph that it is
 * for, so that equal kernels of different graphs are one entry. Recipes name a kernel by the hash
 * of its key, which is also the name of the entry.
 *
 * Fields:
 * - "kernel"; u32 format version of the payload; target; compile options
 * - the launch: u32 block[3], lds bytes, uses barrier, argument count
 * - u64 size and hash (low, high) of the whole source
 * - the source without the texts of template files. These are most of it and the same for all
 *   kernels, and the hash covers them.
 *
 * The launch follows from the schedule, and another Kiln may change it without the source.
 *
 * The note that a kernel spills has the same fields and then "spills": a name of its own, because
 * another compiler may have made the kernel without spills.
 */
#ifndef KILN_RUNTIME_ENGINE_KERNEL_KEY_H
#define KILN_RUNTIME_ENGINE_KERNEL_KEY_H

#include "cache/cache_key.h"
#include "compiler/codegen/target.h"
#include "compiler/kernel.h"
#include "runtime/support/error.h"

/* The finished key of a kernel; the caller finis it, also after a failure. */
enum kiln_status kiln_kernel_key_make(const struct kiln_kernel *kernel,
                                      const struct kiln_target *target,
                                      struct kiln_cache_key *ret_key,
                                      struct kiln_error *error) KILN_NODISCARD;

/* The finished key of the note that the kernel of a finished key spills; the caller finis it, also
 * after a failure. */
enum kiln_status kiln_kernel_key_make_note(const struct kiln_cache_key *key,
                                           struct kiln_cache_key *ret_note,
                                           struct kiln_error *error) KILN_NODISCARD;

/* A text that is not NUL-terminated, into bytes that anybody may have written. */
struct kiln_key_text {
    const char *text;
    size_t size;
};

struct kiln_kernel_key {
    uint32_t format_version;
    struct kiln_key_text target;
    struct kiln_key_text compile_options; /* as kiln_codegen_append_options writes them */
    uint32_t block[3];
    uint32_t lds_bytes;
    bool uses_barrier;
    uint32_t argument_count;
    uint64_t source_bytes;
    struct kiln_hash128 source_hash;
    struct kiln_key_text generated; /* the part of the source that is no template */
    bool is_note;                   /* of a kernel that spills */
};

/* True if bytes are the key of a kernel, of whatever version. */
bool kiln_kernel_key_is_one(const void *bytes, size_t size);
/* Takes a key apart; the result points into it. KILN_UNSUPPORTED for the key of a Kiln that builds
 * them otherwise, KILN_CORRUPT. */
enum kiln_status kiln_kernel_key_read(const void *bytes, size_t size,
                                      struct kiln_kernel_key *ret_key,
                                      struct kiln_error *error) KILN_NODISCARD;
/* True when the template files of this build give the source that the key is of: the marks in its
 * generated part say which file stood where. KILN_NO_MEMORY. */
enum kiln_status kiln_kernel_key_check_source(const struct kiln_kernel_key *key, bool *ret_is_ours,
                                              struct kiln_error *error) KILN_NODISCARD;
bool kiln_key_text_is(const struct kiln_key_text *text, const char *expected);

#endif
