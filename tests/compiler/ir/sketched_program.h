/*
 * The IR of a sketched graph, imported and optimized, for tests of what comes after. A step that
 * fails fails the test.
 *
 * Calling sequence: init; passes on `ir`; validate, as often as wanted; fini.
 */
#ifndef KILN_TESTS_COMPILER_IR_SKETCHED_PROGRAM_H
#define KILN_TESTS_COMPILER_IR_SKETCHED_PROGRAM_H

#include "compiler/ir/ir.h"
#include "tests/compiler/graph/graph_sketch.h"

struct sketched_program {
    const char *sketch; /* borrowed */
    struct json_graph graph;
    struct kiln_arena arena;
    struct kiln_ir ir;
    struct kiln_error error;
};

void sketched_program_init(struct sketched_program *program, const char *sketch);
void sketched_program_validate(struct sketched_program *program);
void sketched_program_fini(struct sketched_program *program);

#endif
