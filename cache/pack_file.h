/*
 * Packs: many entries in one file, with an index sorted by hash. Made by `kiln cache export`, used
 * as read-only layers under the directory store. docs/cache-format.md has every offset.
 *
 * An entry in a pack is the same bytes as an entry file and is verified the same way each time it
 * is read. The index is read and verified once, when the pack is opened; entries are read by pread,
 * not mapped: a mapped file that somebody truncates kills the process that touches it.
 */
#ifndef KILN_CACHE_PACK_FILE_H
#define KILN_CACHE_PACK_FILE_H

#include "cache/cache_key.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kiln_pack_file; /* opaque, immutable, thread-safe */

/* Opens an ordinary file that belongs to root or this user and that nobody else can write to.
 * KILN_NOT_FOUND, KILN_IO, KILN_NO_MEMORY, KILN_CORRUPT with the reason when it is no pack or its
 * index is damaged. */
enum kiln_status kiln_pack_file_open(const char *path, struct kiln_pack_file **ret_pack,
                                     struct kiln_error *error) KILN_NODISCARD;
void kiln_pack_file_close(struct kiln_pack_file *pack);
size_t kiln_pack_file_entry_count(const struct kiln_pack_file *pack);
/* These return what the pack's index says of entry `index`, in the order of hashes: the hash of its
 * key, the mark of its compiler, and its size. They do not read the entry. */
struct kiln_hash128 kiln_pack_file_entry_hash(const struct kiln_pack_file *pack, size_t index);
uint64_t kiln_pack_file_entry_mark(const struct kiln_pack_file *pack, size_t index);
size_t kiln_pack_file_entry_bytes(const struct kiln_pack_file *pack, size_t index);

/* Appends the whole, verified entry of the key, compared byte for byte, to an empty buffer. `mark`
 * chooses the compiler that made it; with 0 the first sound entry is taken. KILN_NOT_FOUND
 * for a miss, KILN_CORRUPT when entries are there and damaged, KILN_IO, KILN_NO_MEMORY. */
enum kiln_status kiln_pack_file_lookup(const struct kiln_pack_file *pack,
                                       const struct kiln_cache_key *key, uint64_t mark,
                                       struct kiln_buffer *ret_entry,
                                       struct kiln_error *error) KILN_NODISCARD;
/* The same of entry `index` of the pack, in the order of hashes, for listing and merging. */
enum kiln_status kiln_pack_file_read_entry(const struct kiln_pack_file *pack, size_t index,
                                           struct kiln_buffer *ret_entry,
                                           struct kiln_error *error) KILN_NODISCARD;

struct kiln_pack_writer; /* opaque; writes a temporary file next to the pack */

/* A symbolic link at `path` stays, and what it names is written. KILN_IO when something is there
 * that is no ordinary file, or when nothing can be written there; KILN_NOT_FOUND without the
 * directory; KILN_BAD_ARGUMENT when the path names no file; KILN_NO_MEMORY. */
enum kiln_status kiln_pack_writer_create(const char *path, struct kiln_pack_writer **ret_writer,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Verifies the entry and adds it; `ret_added` is false when the pack already has one of its hash
 * and its compiler: the first one stays. KILN_CORRUPT when it is damaged, KILN_BAD_ARGUMENT when
 * the pack is full; the writer goes on after either. After KILN_IO it adds and finishes nothing any
 * more. */
enum kiln_status kiln_pack_writer_add(struct kiln_pack_writer *writer, const void *entry,
                                      size_t size, bool *ret_added,
                                      struct kiln_error *error) KILN_NODISCARD;
/* Writes the index, renames the file to its name and waits until it is on the disk. The same
 * entries give the same bytes, in whatever order they came. Without it, or when it fails, destroy
 * leaves nothing behind, and what was there before stays as it was. */
enum kiln_status kiln_pack_writer_finish(struct kiln_pack_writer *writer,
                                         struct kiln_error *error) KILN_NODISCARD;
void kiln_pack_writer_destroy(struct kiln_pack_writer *writer);

#endif
