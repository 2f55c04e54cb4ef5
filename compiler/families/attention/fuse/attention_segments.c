#include "compiler/families/attention/fuse/attention_segments.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"

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

/* A result, a maximum or a sum of each segment. */
bool kiln_attention_has_segment_axis(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = &ir->ops[value];
    bool is_merged = op->opcode == KILN_OP_ATTEND || op->opcode == KILN_OP_SCORE_MAX ||
                     op->opcode == KILN_OP_SCORE_SUM;
    return is_merged &&
           ir->domains[op->domain].rank == ir->domains[ir->ops[op->operands[0]].domain].rank + 1;
}

/* The walk over the merged results has an axis for them, and the attention's kernel a batch. */
static bool has_free_axis(const struct kiln_ir *ir, const struct kiln_op *op)
{
    const struct kiln_contraction *contraction = &ir->contractions[op->contraction];
    uint32_t batches = 0;
    for (uint32_t i = 0; i < contraction->axis_count; i++)
        batches += contraction->roles[i] == KILN_AXIS_BATCH;
    return ir->domains[op->domain].rank < KILN_MAX_RANK &&
           batches < KILN_CONTRACTION_MAX_BATCH_AXES;
}

/* Heads of a single query that share values are rows of one work-group. */
static int64_t count_batches(const struct kiln_contraction *contraction, int64_t rows)
{
    int64_t batches = 1;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        int64_t repeat = contraction->maps[KILN_CONTRACT_RIGHT].axes[i].repeat.value;
        if (contraction->roles[i] == KILN_AXIS_BATCH)
            batches *= contraction->sizes[i] / (rows == 1 ? repeat : 1);
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
        return (uint32_t)(forced < KILN_MAX_SEGMENT_AXIS ? forced : KILN_MAX_SEGMENT_AXIS);
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
    segments = segments < KILN_MAX_SEGMENT_AXIS ? segments : KILN_MAX_SEGMENT_AXIS;
    return segments < 2 ? 1 : (uint32_t)segments;
}
