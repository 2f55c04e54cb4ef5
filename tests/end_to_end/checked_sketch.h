/*
 * Graphs that are sketched (tests/compiler/graph/graph_sketch.h), run on the host device.
 */
#ifndef KILN_TESTS_CHECKED_SKETCH_H
#define KILN_TESTS_CHECKED_SKETCH_H

#include "compiler/program.h"

/* Fails the test unless every element of every output is checked and agrees with the interpreter.
 */
void run_checked_sketch(const char *sketch, const struct kiln_lower_options *options);

#endif
