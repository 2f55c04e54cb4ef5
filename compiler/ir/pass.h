/*
 * Passes: functions that rewrite a program in place and keep it valid, and their runner.
 *
 * passes.def has a row for each pass of this folder; families add their own (plan/plan_family.h). A
 * pipeline is a pass that runs others. The planner runs passes through kiln_pass_run alone. It
 * validates the program after each in debug builds, and prints it after each on request.
 */
#ifndef KILN_COMPILER_IR_PASS_H
#define KILN_COMPILER_IR_PASS_H

#include "compiler/ir/ir.h"

struct kiln_target;
struct kiln_lower_options;

/* The surroundings of a pass: what it may ask, and what it says apart from the program. */
struct kiln_pass_context {
    const struct kiln_graph *graph;
    const struct kiln_target *target;         /* NULL: passes of families are not run */
    const struct kiln_lower_options *options; /* NULL: the default ones */
    struct kiln_buffer *dump;                 /* takes the program after each pass; NULL: none */
    const char *program;                      /* the name of the program, for dumps */
    size_t dumped_at, dumped_bytes;           /* where the last program is in `dump` */
    /* Set by passes that look for a computation. */
    bool is_found;    /* they found it, and rewrote the program */
    const char *miss; /* why they left something that resembles it, a sentence that names nodes, in
                         the program's arena; unchanged if nothing does */
};

typedef enum kiln_status kiln_pass_function(struct kiln_ir *ir, struct kiln_pass_context *context,
                                            struct kiln_error *error);

enum kiln_pass_condition {
    KILN_PASS_ALWAYS,
    KILN_PASS_FUSED, /* not if each node is to have kernels of its own */
};

struct kiln_pass {
    const char *name; /* the first column of passes.def */
    enum kiln_pass_condition condition;
    kiln_pass_function *run; /* NULL: a pipeline */
    /* Pipeline: its steps. They are run again while operations get fewer, in at most `max_rounds`
     * rounds. */
    uint32_t pass_count;
    const struct kiln_pass *const *passes;
    uint32_t max_rounds;
};

#define KILN_PASS(name, condition) extern const struct kiln_pass kiln_pass_##name;
#define KILN_PIPELINE(name, condition, rounds, steps)                                              \
    extern const struct kiln_pass kiln_pass_##name;
#include "compiler/ir/passes.def"

/* Runs a pass or pipeline. KILN_INTERNAL names the pass that left an invalid program, with every
 * fault. */
enum kiln_status kiln_pass_run(const struct kiln_pass *pass, struct kiln_ir *ir,
                               struct kiln_pass_context *context,
                               struct kiln_error *error) KILN_NODISCARD;

/* Validates and prints the program that the first pass starts from. `after` names its maker. */
enum kiln_status kiln_pass_check(const char *after, const struct kiln_ir *ir,
                                 struct kiln_pass_context *context,
                                 struct kiln_error *error) KILN_NODISCARD;

/* Runs kiln_pass_optimize on a program that needs nothing but its graph. */
enum kiln_status kiln_ir_optimize(struct kiln_ir *ir, const struct kiln_graph *graph,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
