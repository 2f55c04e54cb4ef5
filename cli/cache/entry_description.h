/*
 * What a cache entry is of, from its bytes alone.
 */
#ifndef KILN_CLI_CACHE_ENTRY_DESCRIPTION_H
#define KILN_CLI_CACHE_ENTRY_DESCRIPTION_H

#include "cache/entry_format.h"
#include "runtime/engine/program_key.h"
#include "runtime/engine/shared_program.h"

struct kiln_entry_description {
    struct kiln_arena arena;
    bool has_key; /* else it is of another version, or of another program */
    struct kiln_program_key key;
    struct kiln_shared_program *program; /* NULL when the payload is not of this version */
    struct kiln_error reason;            /* why there is no key, or no program */
    uint64_t code_bytes;                 /* sum of the kernels' */
};

/* Never fails: what cannot be read is left out. `with_program`: else the payload is not read. */
void kiln_entry_describe(const struct kiln_entry_view *view, bool with_program,
                         struct kiln_entry_description *ret_description);
void kiln_entry_description_fini(struct kiln_entry_description *description);

/* "ADD, GELU_FWD -> half [16,512,768]": the operations in the order of the canonical form and the
 * first output. Empty without a key. */
void kiln_entry_summary(const struct kiln_entry_description *description,
                        struct kiln_buffer *buffer);

/* Whether an entry for `target` is meant by the name that a user gave, which kiln_target_parse has
 * taken: "host" means every level. */
bool kiln_entry_is_for(const struct kiln_entry_description *description, const char *target);

#endif
