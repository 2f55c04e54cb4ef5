/*
 * The texts of a program's kernels, each once. A text has up to 250 KB, and graphs of many nodes
 * have many equal kernels.
 */
#ifndef KILN_COMPILER_EMIT_SOURCE_TABLE_H
#define KILN_COMPILER_EMIT_SOURCE_TABLE_H

#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct kiln_source_entry {
    const char *symbol; /* NULL: free */
    const char *source;
};

/* An open hash table by symbol, which holds the hash of the text. Zeroed at first; its memory
 * belongs to the arena that texts are added with. */
struct kiln_source_table {
    struct kiln_source_entry *slots;
    uint32_t slot_count; /* a power of two, or 0 */
    uint32_t count;
};

/* Finds an equal text with this symbol, or copies both to the arena. `table` may be NULL. False
 * when memory is out. */
bool kiln_source_table_add(struct kiln_source_table *table, struct kiln_arena *arena,
                           const char *symbol, const struct kiln_buffer *source,
                           const char **ret_symbol, const char **ret_source);

#endif
