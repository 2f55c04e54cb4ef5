/*
 * The engines of `kiln bench`, and how long they take to make a plan. Their caches lie in a
 * temporary directory, so that the user's own cache, its layers and its shared tier are neither
 * read nor written.
 */
#ifndef KILN_CLI_BENCH_BENCH_ENGINES_H
#define KILN_CLI_BENCH_BENCH_ENGINES_H

#include "cli/bench/bench_result.h"
#include "runtime/engine/engine.h"

enum kiln_bench_form {
    KILN_BENCH_FUSED,
    KILN_BENCH_UNFUSED,  /* one kernel per node */
    KILN_BENCH_ARGUMENT, /* fused, with sizes as arguments */
    KILN_BENCH_FORM_COUNT
};

struct kiln_bench_engines {
    struct kiln_engine *compiling[KILN_BENCH_FORM_COUNT]; /* meets every graph for the first time */
    struct kiln_engine *reading[KILN_BENCH_FORM_COUNT];   /* finds them all in the directory */
    struct kiln_engine *copying;                          /* of copies, with a cache of its own */
};

/* The device is opened and, for forms with a bit in `forms`, the workers of every compiler are
 * started and warm afterwards. `device` as in kiln_device_open. The engines are initialised in any
 * case: fini them. */
enum kiln_status kiln_bench_engines_init(struct kiln_bench_engines *engines, const char *device,
                                         const struct kiln_lower_options *lower, uint32_t forms,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Removes the temporary directory too. */
void kiln_bench_engines_fini(struct kiln_bench_engines *engines);

/* Options of a form. */
struct kiln_lower_options kiln_bench_lower_options(enum kiln_bench_form form,
                                                   const struct kiln_lower_options *lower);

/* Makes the plan of a graph, and measures how long that takes cold and cached: the contestant's
 * compile times and its number of kernels. A time is 0 when it could not be had: this engine has
 * met an equal graph before, or one with the same kernels. The caller drops the plan. */
enum kiln_status kiln_bench_compile(struct kiln_bench_engines *engines, enum kiln_bench_form form,
                                    const void *graph_bytes, size_t size,
                                    struct kiln_plan **ret_plan,
                                    struct kiln_bench_contestant *contestant,
                                    struct kiln_error *error) KILN_NODISCARD;

#endif
