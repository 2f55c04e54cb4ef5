/*
 * Why a cache does not have a program: the entries that are nearest to it, and what differs.
 */
#ifndef KILN_RUNTIME_ENGINE_MISS_REASON_H
#define KILN_RUNTIME_ENGINE_MISS_REASON_H

#include "runtime/engine/known_programs.h"

/* The fields of a program's key, one bit each. */
enum kiln_program_field {
    KILN_PROGRAM_FIELD_GRAPH = 1,
    KILN_PROGRAM_FIELD_TARGET = 2,
    KILN_PROGRAM_FIELD_TEMPLATES = 4, /* and generators: another build of Kiln */
    KILN_PROGRAM_FIELD_COMPILE_OPTIONS = 8,
    KILN_PROGRAM_FIELD_LOWER_OPTIONS = 16,
    KILN_PROGRAM_FIELD_END = 32,
};
/* "target", of one bit. */
const char *kiln_program_field_name(unsigned field);

/* A program that a cache does not have. */
struct kiln_missing_program {
    const struct kiln_graph *graph;
    const struct kiln_target *target;
    const struct kiln_lower_options *options; /* with KILN_SHAPES_AUTO either form is meant */
};

struct kiln_near_program {
    const struct kiln_known_program *program;
    unsigned differing_fields;     /* sum of enum kiln_program_field */
    struct kiln_buffer difference; /* a sentence without a full stop; owned */
};

/*
 * At most `most` of the nearest programs, nearest first; one with the same key may be among them. A
 * program of the same graph is near, and nearer the fewer other fields differ. If there is none,
 * programs of similar graphs (shape_hash) are near, ordered by the tensors and nodes that differ.
 * Fini each. KILN_NO_MEMORY.
 */
enum kiln_status kiln_missing_program_find_near(const struct kiln_missing_program *missing,
                                                const struct kiln_known_programs *known,
                                                size_t most, struct kiln_near_program *ret_near,
                                                size_t *ret_count,
                                                struct kiln_error *error) KILN_NODISCARD;
void kiln_near_program_fini(struct kiln_near_program *near);

/* One line for logs: the nearest program, or that there is none. KILN_NO_MEMORY. */
enum kiln_status kiln_missing_program_explain(const struct kiln_missing_program *missing,
                                              const struct kiln_known_programs *known,
                                              struct kiln_buffer *ret_line,
                                              struct kiln_error *error) KILN_NODISCARD;

#endif
