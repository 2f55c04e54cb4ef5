#include "compiler/ir/passes.h"

#ifndef NDEBUG
static enum kiln_status check(const struct kiln_ir *ir, const struct kiln_graph *graph,
                              const char *after, struct kiln_error *error)
{
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    enum kiln_status status = KILN_OK;
    if (!kiln_ir_validate(ir, graph, &faults))
        status = kiln_error_set(error, KILN_INTERNAL, "the program is not valid after '%s': %s",
                                after, kiln_buffer_text(&faults));
    kiln_buffer_fini(&faults);
    return status;
}
#else
static enum kiln_status check(const struct kiln_ir *ir, const struct kiln_graph *graph,
                              const char *after, struct kiln_error *error)
{
    (void)ir, (void)graph, (void)after, (void)error;
    return KILN_OK;
}
#endif

/* Graphs have been made in which each round leaves a little for the next one, thousands of times;
 * what is left then is computed twice. */
enum { MAX_ROUNDS = 16 };

enum kiln_status kiln_ir_optimize(struct kiln_ir *ir, const struct kiln_graph *graph,
                                  struct kiln_error *error)
{
    enum kiln_status status = check(ir, graph, "import", error);
    /* Merging makes operands equal, which folding turns into more to merge. The count falls in each
     * round but the last. */
    uint32_t before = UINT32_MAX;
    for (int round = 0; status == KILN_OK && ir->op_count < before && round < MAX_ROUNDS; round++) {
        before = ir->op_count;
        status = kiln_ir_fold_constants(ir, graph, error);
        if (status == KILN_OK)
            status = check(ir, graph, "fold constants", error);
        if (status == KILN_OK)
            status = kiln_ir_merge_common(ir, error);
        if (status == KILN_OK)
            status = check(ir, graph, "merge common", error);
        if (status == KILN_OK)
            status = kiln_ir_drop_dead(ir, error);
        if (status == KILN_OK)
            status = check(ir, graph, "drop dead", error);
    }
    return status;
}
