/*
 * Graphs that are sketched (tests/compiler/graph/graph_sketch.h), run on the host device. A build
 * that has a part of the long sweeps (test_share.h) runs that part of each test's sketches.
 */
#ifndef KILN_TESTS_CHECKED_SKETCH_H
#define KILN_TESTS_CHECKED_SKETCH_H

#include "compiler/graph/graph.h"
#include "compiler/lower_options.h"
#include "runtime/engine/engine.h"

/* Fails the test unless every element of every output is checked and agrees with the interpreter.
 */
void run_checked_sketch(const char *sketch, const struct kiln_lower_options *options);
/* The same where `prepare` changes what tensors have at first: memory[i] is tensor i's. */
void run_prepared_sketch(const char *sketch, const struct kiln_lower_options *options,
                         void (*prepare)(const struct kiln_graph *graph, void *const *memory));

/* The same, and `expect` checks the outputs instead of the interpreter. Either may be NULL. */
void run_sketch(const char *sketch, const struct kiln_lower_options *lower,
                void (*prepare)(const struct kiln_graph *graph, void *const *memory),
                void (*expect)(const struct kiln_graph *graph, void *const *memory));

/* As run_sketch, with the caller's engine, whose device is the host. A part of a sweep has all of
 * these runs. */
void run_sketch_on(struct kiln_engine *engine, const char *sketch,
                   void (*prepare)(const struct kiln_graph *graph, void *const *memory),
                   void (*expect)(const struct kiln_graph *graph, void *const *memory));

#endif
