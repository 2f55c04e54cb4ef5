/*
 * The programs with attention's kernels. They are preferred to separate products whenever they can
 * be made, since scores then never go to memory. Attention of few rows may be cut into segments.
 */
#include "compiler/families/attention/fuse/attention_segments.h"
#include "compiler/families/attention/schedule/attention_limits.h"
#include "compiler/families/attention/schedule/attention_tile.h"
#include "compiler/ir/passes.h"
#include "compiler/plan/plan_family.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- passes ---- */

static enum kiln_status drop_hidden_values(struct kiln_ir *ir, struct kiln_pass_context *context,
                                           struct kiln_error *error)
{
    (void)error;
    kiln_drop_hidden_values(ir, context->graph);
    return KILN_OK;
}

/* Attention that waits for the statistics of another one is cut in a later round. */
static enum kiln_status cut_attention(struct kiln_ir *ir, struct kiln_pass_context *context,
                                      struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    uint32_t count = 0;
    context->is_found = false;
    do {
        uint32_t *segments = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *segments);
        if (segments == NULL)
            return kiln_error_set(error, KILN_NO_MEMORY, "no memory to cut attention");
        for (uint32_t i = 0; i < ir->op_count; i++) {
            if (ir->ops[i].opcode == KILN_OP_ATTEND)
                segments[i] =
                    kiln_choose_attention_segments(ir, i, context->target, context->options);
        }
        status = kiln_ir_segment_attention(ir, segments, &count, error);
        context->is_found |= count != 0;
    } while (status == KILN_OK && count != 0);
    return status;
}

static const struct kiln_pass drop_hidden = {.name = "drop_hidden_values",
                                             .run = drop_hidden_values};
static const struct kiln_pass cut = {.name = "cut_attention", .run = cut_attention};

static const struct kiln_pass *const find_steps[] = {&kiln_pass_recognize_attention,
                                                     &kiln_pass_recognize_attention_gradient};
static const struct kiln_pass find_with_gradients = {.name = "find_attention_with_gradients",
                                                     .pass_count = COUNT(find_steps),
                                                     .passes = find_steps,
                                                     .max_rounds = 1};

static const struct kiln_pass *const finish_steps[] = {&drop_hidden, &kiln_pass_round_weights,
                                                       &kiln_pass_optimize};
static const struct kiln_pass finish = {.name = "finish_attention",
                                        .pass_count = COUNT(finish_steps),
                                        .passes = finish_steps,
                                        .max_rounds = 1};

/* ---- variants ---- */

static bool is_cut_forced(const struct kiln_lower_options *options)
{
    return options->contraction.segments != 0;
}

static const struct kiln_variant variants[] = {
    {.name = "attention and its gradients",
     .find = &find_with_gradients,
     .finish = &finish,
     .is_for = kiln_attention_is_for},
    {.name = "attention",
     .find = &kiln_pass_recognize_attention,
     .finish = &finish,
     .is_for = kiln_attention_is_for},
    {.name = "attention in segments",
     .find = &cut,
     .finish = &kiln_pass_optimize,
     .refines = true,
     .is_forced = is_cut_forced},
};

/* ---- arithmetic ---- */

static uint64_t operations(const struct kiln_ir *ir, const struct kiln_op *op)
{
    uint64_t points = (uint64_t)kiln_domain_elements(&ir->domains[op->domain]);
    switch (op->opcode) {
    case KILN_OP_SCORE:
    case KILN_OP_ATTEND: /* a product and a sum at each point of k too */
        return 2 * points *
               (uint64_t)kiln_contraction_size(&ir->contractions[op->contraction], KILN_AXIS_K);
    case KILN_OP_SCORE_EXP:
        return 9 * points; /* a difference and an exponential */
    default:               /* reductions of scores */
        return (uint64_t)kiln_domain_elements(&ir->domains[kiln_ir_iteration(ir, op)]);
    }
}

const struct kiln_plan_family kiln_plan_attention = {
    .variant_count = COUNT(variants), .variants = variants, .operations = operations};
