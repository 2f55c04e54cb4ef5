/*
 * Everything that `kiln explain` knows of a graph on a target, and the two ways to print it.
 */
#ifndef KILN_CLI_EXPLANATION_H
#define KILN_CLI_EXPLANATION_H

#include "cli/fusion_view.h"
#include "compiler/program.h"
#include "runtime/engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define KILN_EVERY_KERNEL UINT32_MAX

struct kiln_explanation {
    const struct kiln_graph *graph;
    const struct kiln_target *target;
    enum kiln_shapes shapes;
    const char *shapes_reason;
    const struct kiln_fusion_view *view;
    const struct kiln_program *program;           /* sources */
    const struct kiln_compiled_program *compiled; /* code; NULL when it could not be compiled */
    enum kiln_program_origin origin;
    const char *why_not_compiled; /* with compiled NULL */
    bool with_ir;
    bool with_source;
    const char **isa; /* one text per kernel; NULL when not asked for */
    uint32_t kernel;  /* KILN_EVERY_KERNEL, or the only one that source and isa are shown of */
};

/* True for kernels whose source and instructions are shown. */
bool kiln_explanation_shows(const struct kiln_explanation *explanation, uint32_t index);
/* KILN_NO_MEMORY. */
enum kiln_status kiln_explanation_print(const struct kiln_explanation *explanation,
                                        struct kiln_error *error) KILN_NODISCARD;
void kiln_explanation_print_json(const struct kiln_explanation *explanation);

#endif
