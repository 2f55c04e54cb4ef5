#include "runtime/engine/general_plans.h"

#include "compiler/graph/shape_samples.h"
#include "runtime/engine/engine_knobs.h"
#include "runtime/support/log.h"

#include <string.h>

bool kiln_general_options(const struct kiln_plan *plan, struct kiln_lower_options *ret_lower)
{
    *ret_lower = plan->lower;
    if (plan->lower.shapes == KILN_SHAPES_CONSTANT || plan->lower.no_fusion)
        return false;
    ret_lower->is_general = true;
    ret_lower->shapes = KILN_SHAPES_ARGUMENT;
    ret_lower->workspace_limit = 0;
    return true;
}

/* True if the plan, or one that is kept for its shapes, has the kernel. */
static bool has_kernel(const struct kiln_plan *plan, const char *symbol)
{
    bool has = false;
    for (uint32_t i = 0; i < plan->kernel_count; i++)
        has |= strcmp(plan->kernels[i].recipe->symbol, symbol) == 0;
    for (uint32_t i = 0; i < plan->general_count; i++)
        has = has || has_kernel(plan->general[i], symbol);
    return has;
}

/* Takes over the reference. A plan whose kernels others have, too, is dropped. */
static void keep(struct kiln_plan *plan, struct kiln_plan *general)
{
    bool is_new = false;
    for (uint32_t i = 0; i < general->kernel_count; i++)
        is_new |= !has_kernel(plan, general->kernels[i].recipe->symbol);
    if (is_new && plan->general_count < KILN_MAX_GENERAL_PLANS)
        plan->general[plan->general_count++] = general;
    else
        kiln_plan_unref(general);
}

static enum kiln_status make_sample(struct kiln_plan *plan, const struct kiln_graph *declared,
                                    uint32_t sample, struct kiln_arena *arena,
                                    struct kiln_error *error)
{
    struct kiln_shape_overrides overrides;
    struct kiln_lower_options lower;
    struct kiln_graph graph = *declared;
    struct kiln_plan *general = NULL;
    if (!kiln_general_options(plan, &lower))
        return KILN_OK;
    enum kiln_status status = kiln_shape_sample(declared, sample, arena, &overrides, error);
    if (status == KILN_OK && overrides.count != 0) {
        status = kiln_graph_read_with_overrides(plan->graph, plan->graph_bytes, &overrides, arena,
                                                &graph, error);
        if (status == KILN_REJECTED ||
            status == KILN_BAD_ARGUMENT) { /* sizes do not fit together */
            kiln_error_init(error);
            return KILN_OK;
        }
    }
    if (status == KILN_OK)
        status = kiln_engine_limit_workspace(plan->engine, &graph, plan->device,
                                             kiln_plan_workspace_bytes(plan), &lower, error);
    if (status == KILN_OK)
        status = kiln_plan_make(plan->engine, &graph, plan->device, &lower, &general, error);
    if (status == KILN_OK)
        keep(plan, general);
    return status;
}

enum kiln_status kiln_plan_make_general(struct kiln_plan *plan, const struct kiln_graph *graph,
                                        struct kiln_error *error)
{
    uint32_t count = kiln_shape_sample_count(graph);
    for (uint32_t i = 0; i < count; i++) {
        struct kiln_arena arena;
        kiln_arena_init(&arena);
        enum kiln_status status = make_sample(plan, graph, i, &arena, error);
        kiln_arena_fini(&arena);
        if (status == KILN_NO_MEMORY)
            return status;
        /* The first one speaks for most shapes. */
        if (status != KILN_OK && (i == 0 || status != KILN_UNSUPPORTED)) {
            kiln_log(KILN_LOG_INFO,
                     "graph '%.64s': kernels of smaller override shapes may be compiled at their "
                     "first execution: %s",
                     plan->name, error->text);
            break;
        }
        kiln_error_init(error);
    }
    kiln_error_init(error);
    return KILN_OK;
}
