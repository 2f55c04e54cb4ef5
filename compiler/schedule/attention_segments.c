#include "compiler/schedule/attention_segments.h"

enum {
    TILE_ROWS = 64, /* of a work-group, about */
    /* Columns of a segment, where there is one tile of rows: so that its loads are worth the start.
     * Results of many rows have to be worth writing and reading. */
    MIN_FEW_COLUMNS = 64,
    MIN_MANY_COLUMNS = 1024,
    /* Of few rows, a wave each, that a compute unit needs to be busy; and where segments are this
     * long, so that starts and the merge are little beside them. */
    FEW_ROWS_GROUPS = 2,
    FEW_ROWS_LONG_GROUPS = 3,
    LONG_COLUMNS = 512,
    MAX_BATCHES = 1 << 20, /* more fill any target */
};

uint32_t kiln_attention_segments(const struct kiln_ir *ir, uint32_t attend)
{
    const struct kiln_domain *result = &ir->domains[ir->ops[attend].domain];
    const struct kiln_domain *weights = &ir->domains[ir->ops[ir->ops[attend].operands[0]].domain];
    bool is_cut = ir->ops[attend].kernel == 0 && result->rank == weights->rank + 1;
    return is_cut ? (uint32_t)result->dims[0] : 1;
}

/* Whether a value is what attention has of each of its segments: a result, a maximum or a sum. */
static bool is_of_segments(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = &ir->ops[value];
    bool is_merged = op->opcode == KILN_OP_ATTEND || op->opcode == KILN_OP_SCORE_MAX ||
                     op->opcode == KILN_OP_SCORE_SUM;
    return is_merged &&
           ir->domains[op->domain].rank == ir->domains[ir->ops[op->operands[0]].domain].rank + 1;
}

bool kiln_merges_attention_segments(const struct kiln_ir *ir, const struct kiln_fusion_group *group)
{
    bool has_segments = false;
    for (uint32_t i = 0; i < group->load_count; i++)
        has_segments |= is_of_segments(ir, group->accesses[i].value);
    return has_segments && group->role == KILN_ROLE_WHOLE && group->reduced_axes == 1;
}

/* The walk over the merged results has an axis for them, and the attention's kernel a batch. */
static bool has_free_axis(const struct kiln_ir *ir, const struct kiln_op *op)
{
    const struct kiln_contraction *contraction = &ir->contractions[op->contraction];
    uint32_t batches = 0;
    for (uint32_t i = 0; i < contraction->axis_count; i++)
        batches += contraction->axes[i].role == KILN_AXIS_BATCH;
    return ir->domains[op->domain].rank < KILN_MAX_RANK &&
           batches < KILN_CONTRACTION_MAX_BATCH_AXES;
}

/* Heads of a single query that share values are rows of one work-group. */
static int64_t count_batches(const struct kiln_contraction *contraction, int64_t rows)
{
    int64_t batches = 1;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        if (axis->role == KILN_AXIS_BATCH)
            batches *= axis->size / (rows == 1 ? axis->right_repeat : 1);
    }
    return batches;
}

uint32_t kiln_choose_attention_segments(const struct kiln_ir *ir, uint32_t attend,
                                        const struct kiln_target *target,
                                        const struct kiln_lower_options *options)
{
    const struct kiln_op *op = &ir->ops[attend];
    const struct kiln_contraction *axes = &ir->contractions[op->contraction];
    int64_t columns = kiln_contraction_size(axes, KILN_AXIS_K);
    int64_t rows = kiln_contraction_size(axes, KILN_AXIS_M);
    int64_t batches = count_batches(axes, rows);
    int64_t forced = options->contraction.segments;
    if (kiln_attention_segments(ir, attend) != 1 || op->kernel != 0 || !has_free_axis(ir, op) ||
        forced == 1)
        return 1;
    if (forced != 0)
        return (uint32_t)(forced < KILN_MAX_ATTENTION_SEGMENTS ? forced
                                                               : KILN_MAX_ATTENTION_SEGMENTS);
    int64_t groups = (rows + TILE_ROWS - 1) / TILE_ROWS;
    if (target->wave_size == 1 || batches > MAX_BATCHES / groups)
        return 1;
    int64_t units = target->compute_units;
    int64_t segments = units * (groups == 1 ? FEW_ROWS_GROUPS : 1) / (groups * batches);
    int64_t more = units * FEW_ROWS_LONG_GROUPS / batches;
    if (groups == 1 && more * LONG_COLUMNS <= columns)
        segments = more;
    int64_t most = columns / (groups == 1 ? MIN_FEW_COLUMNS : MIN_MANY_COLUMNS);
    segments = segments < most ? segments : most;
    segments = segments < KILN_MAX_ATTENTION_SEGMENTS ? segments : KILN_MAX_ATTENTION_SEGMENTS;
    return segments < 2 ? 1 : (uint32_t)segments;
}
