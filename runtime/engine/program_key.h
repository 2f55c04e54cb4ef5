/*
 * The key of a compiled program, and the key taken apart again, for people that look into a cache.
 * It is in files that anybody may have written.
 */
#ifndef KILN_RUNTIME_ENGINE_PROGRAM_KEY_H
#define KILN_RUNTIME_ENGINE_PROGRAM_KEY_H

#include "cache/cache_key.h"
#include "compiler/codegen/target.h"
#include "compiler/graph/graph.h"
#include "compiler/lower_options.h"
#include "runtime/support/arena.h"

#include <stdbool.h>

struct kiln_program_key {
    uint32_t format_version; /* of the payload: KILN_PROGRAM_FORMAT_VERSION */
    struct kiln_graph graph; /* as kiln_graph_read_canonical says: for describing only */
    const char *target;
    const char *templates_digest;
    const char *compile_options; /* as kiln_codegen_append_options writes them */
    struct kiln_lower_options options;
};

/*
 * Adds to an initialised key all that decides what a program is: format version, canonical graph,
 * target, template texts, options. The compiler is no part of it. The caller may add
 * more and finishes it.
 */
enum kiln_status kiln_program_key_append(const struct kiln_graph *graph,
                                         const struct kiln_target *target,
                                         const struct kiln_lower_options *options,
                                         struct kiln_cache_key *key,
                                         struct kiln_error *error) KILN_NODISCARD;

/* The first field of the key of a tuned choice; the fields of the program's key follow. */
#define KILN_TUNED_KEY_MARK "tuned"
/* True for the key of a tuned choice, and then takes the mark off. */
bool kiln_program_key_strip_mark(const void **bytes, size_t *size);

/* All memory of the result belongs to the arena; texts are untrusted. KILN_UNSUPPORTED for the key
 * of a Kiln that builds them otherwise, KILN_CORRUPT, KILN_NO_MEMORY. */
enum kiln_status kiln_program_key_read(const void *bytes, size_t size, struct kiln_arena *arena,
                                       struct kiln_program_key *ret_key,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
