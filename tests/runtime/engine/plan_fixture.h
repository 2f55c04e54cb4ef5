/*
 * Where tests of plans begin: a cache of the test's own, the stand-in for HIP, and a graph.
 *
 * A test suite has the first two functions as .init and .fini. The others fail the test when they
 * cannot do their work, and leave their errors in `fixture`.
 */
#ifndef KILN_TESTS_RUNTIME_ENGINE_PLAN_FIXTURE_H
#define KILN_TESTS_RUNTIME_ENGINE_PLAN_FIXTURE_H

#include "runtime/engine/engine.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/stand_ins/stand_in.h"

struct plan_fixture {
    struct stand_in hip;
    char directory[64];       /* of the cache */
    struct kiln_buffer graph; /* an addition at first */
    struct kiln_error error;
};

/* The process's only one. */
extern struct plan_fixture fixture;

void plan_fixture_init(void);
void plan_fixture_fini(void);

/* On the hip device; the caller's. */
struct kiln_engine *plan_fixture_engine(void);
/* kiln_plan_create for the graph, which may fail. */
enum kiln_status plan_fixture_create(struct kiln_engine *engine, struct kiln_plan **ret_plan);
/* The same where it must not fail; the caller's. */
struct kiln_plan *plan_fixture_plan(struct kiln_engine *engine);
/* Where a plan comes from in an engine that has done nothing before. */
enum kiln_program_origin plan_fixture_origin_in_new_engine(void);
/* Puts the graph's program for a target into the cache, as `kiln compile` does. */
void plan_fixture_compile(const char *target_name);
/* Runs the function in eight threads at once, with the engine; expects NULL of each. */
void plan_fixture_run_threads(void *(*function)(void *engine), struct kiln_engine *engine);
/* Puts another graph in the place of the first. */
void plan_fixture_rewrite(const struct sample_graph *sample);

#endif
