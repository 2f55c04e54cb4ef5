#include "compiler/families/contraction/schedule/contraction_print.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"

#include "compiler/families/contraction/fuse/contraction_group.h"

#include <inttypes.h>

void kiln_print_operand_loads(const char *name, const struct kiln_operand_schedule *operand,
                              const struct kiln_schedule *schedule,
                              const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    uint32_t vectors = 0;
    for (uint32_t i = 0; i < group->load_count; i++)
        for (uint32_t part = 0; part < operand->part_count; part++)
            vectors += group->accesses[i].place == operand->places[part] &&
                       schedule->accesses[i].mode == KILN_ACCESS_VECTOR;
    const char *direction = operand->is_along_k ? "along k" : "along its rows";
    uint32_t together = operand->is_along_k ? operand->vector : operand->run;
    kiln_buffer_printf(buffer, ", %s operand read %s", name, direction);
    if (vectors != 0 && together > 1)
        kiln_buffer_printf(buffer, " in vectors of %" PRIu32, together);
    else
        kiln_buffer_append_text(buffer, " one by one");
    if (operand->pieces > 1)
        kiln_buffer_append_text(buffer,
                                operand->pieces == 2 ? ", in half packs" : ", in quarter packs");
}

/* How much of a product the kernel's coordinates leave out. */
static void print_windows(const struct kiln_contraction_schedule *contraction,
                          struct kiln_buffer *buffer)
{
    int64_t phases = 1;
    for (uint32_t i = 0; i < contraction->problem.windows.phase_count; i++)
        phases *= contraction->problem.batches.sizes[contraction->problem.windows.phases[i].batch];
    if (contraction->problem.windows.count != 0)
        kiln_buffer_printf(buffer, ", %" PRIu32 " window%s over the %s operand",
                           contraction->problem.windows.count,
                           contraction->problem.windows.count == 1 ? "" : "s",
                           contraction->problem.windows.is_right ? "right" : "left");
    if (contraction->problem.windows.phase_count != 0)
        kiln_buffer_printf(buffer, ", batches of %" PRId64 " phases of a stride", phases);
}

static void print_direct(const struct kiln_schedule *schedule,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    const struct kiln_direct_pipeline *direct = kiln_direct_pipeline(&contraction->pipeline);
    const struct kiln_strips_pipeline *strips = &contraction->pipeline.strips;
    bool is_vector = false;
    for (uint32_t i = 0; i < group->load_count; i++)
        is_vector |= group->accesses[i].place == KILN_PLACE_LEFT &&
                     schedule->accesses[i].mode == KILN_ACCESS_VECTOR;
    if (contraction->pipeline.kind == KILN_PIPELINE_STRIPS)
        kiln_buffer_printf(buffer,
                           ", in strips of %" PRIu32 " taps and every %" PRIu32
                           ". pixel of the image, %" PRIu32 " of a line",
                           strips->taps, strips->step, strips->line_slots);
    kiln_buffer_printf(
        buffer,
        ", direct: a work-group has %" PRIu32 "x%" PRIu32 " work-items of %" PRIu32
        " rows each, neighbours along the %s, %s in local "
        "memory, %" PRIu32 " of k at a time, %s, lds %" PRIu32
        " bytes, result in vectors of %" PRIu32,
        direct->slots, direct->vectors, direct->item_rows,
        direct->are_rows_fast ? "rows" : "columns",
        contraction->left.places[0] == KILN_PLACE_RIGHT ? "left operand" : "right operand",
        contraction->tile.k,
        is_vector ? "the other one in such vectors too" : "the other one read one by one",
        schedule->launch.lds_bytes, contraction->result_vector);
}

static void print_small(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    const struct kiln_small_pipeline *small = &contraction->pipeline.small;
    kiln_buffer_printf(buffer,
                       ", small: a product has %" PRIu32 "x%" PRIu32 " work-items with %" PRIu32
                       "x%" PRIu32 " elements each, %" PRIu32
                       " of k at a time, result in vectors of %" PRIu32,
                       small->row_items, small->column_items, small->item_rows, small->item_columns,
                       contraction->tile.k, contraction->result_vector);
}

/* Prints the problem that the kernel computes. */
static void print_problem(const struct kiln_contraction_schedule *contraction,
                          struct kiln_buffer *buffer)
{
    const struct kiln_product_problem *problem = &contraction->problem;
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    uint64_t batch = kiln_batch_count(&problem->batches);
    kiln_buffer_printf(buffer, ", m %" PRId64 ", n %" PRId64 ", k %" PRId64, problem->m, problem->n,
                       problem->k);
    if (kiln_routing_has_rows(problem->routing))
        kiln_buffer_printf(buffer, ", in %" PRId64 " groups of rows, %" PRIu64 " matrices",
                           problem->groups, batch);
    else if (batch != 1)
        kiln_buffer_printf(buffer, ", batch %" PRIu64 "%s", batch,
                           problem->routing == KILN_ROUTING_SUMS ? " with a k of its own each"
                                                                 : "");
    if (contraction->ending.kind == KILN_ENDING_SEGMENTS)
        kiln_buffer_printf(buffer, ", k in %" PRIu32 " segments", contraction->ending.segments);
    if (kiln_pipeline_groups(&contraction->pipeline) != 1)
        kiln_buffer_printf(buffer, ", k shared by clusters of %" PRIu32,
                           kiln_pipeline_groups(&contraction->pipeline));
    if (problem->products > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " products that share their %s operand",
                           problem->products, is_swapped ? "right" : "left");
    else if (is_swapped)
        kiln_buffer_append_text(buffer, " (operands swapped: the result runs along the rows)");
    print_windows(contraction, buffer);
}

static void print_tile(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    const struct kiln_tile *tile = &contraction->tile;
    const char *name = contraction->pipeline.kind == KILN_PIPELINE_PINGPONG ? ", ping-pong"
                       : contraction->pipeline.kind == KILN_PIPELINE_SPECIALIZED
                           ? ", producers and consumers"
                           : "";
    uint32_t buffers = kiln_pipeline_buffers(&contraction->pipeline);
    kiln_buffer_printf(buffer,
                       ", tile %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", waves %" PRIu32 "x%" PRIu32,
                       tile->m, tile->n, tile->k, tile->waves_m, tile->waves_n);
    if (tile->waves_k != 1)
        kiln_buffer_printf(buffer, "x%" PRIu32, tile->waves_k);
    kiln_buffer_printf(buffer, ", %s, staged as %s, lds %" PRIu32 " bytes",
                       tile->mma != NULL ? tile->mma->name : "no matrix instruction",
                       kiln_dtype_info(contraction->staged)->text, schedule->launch.lds_bytes);
    if (contraction->pipeline.kind == KILN_PIPELINE_STREAMED)
        kiln_buffer_append_text(buffer, ", streamed");
    else
        kiln_buffer_printf(buffer, " in %" PRIu32 " buffer%s%s", buffers, buffers == 1 ? "" : "s",
                           name);
}

static void print_ending(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    static const char *const accumulated[] = {"", "each of its rows", "each of its columns", "it"};
    const struct kiln_ending *ending = &kiln_contraction_schedule_of(schedule)->ending;
    uint32_t block = kiln_contraction_schedule_of(schedule)->problem.block;
    switch (ending->kind) {
    case KILN_ENDING_STATISTICS:
        kiln_buffer_printf(buffer, ", a tile stores the statistics of %s, %" PRIu32 " in all",
                           accumulated[ending->statistics.of], schedule->segment_count);
        break;
    case KILN_ENDING_ROWS:
        kiln_buffer_printf(buffer, ", %" PRIu32 " passes over ", ending->rows.passes.pass_count);
        if (block != 0)
            kiln_buffer_printf(buffer, "blocks of %" PRIu32 " columns, each in %" PRIu32 " lane%s",
                               block, ending->rows.lanes, ending->rows.lanes == 1 ? "" : "s");
        else
            kiln_buffer_printf(buffer, "rows of %" PRIu32 " lanes", ending->rows.lanes);
        break;
    default:
        break;
    }
}

void kiln_contraction_print(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    const struct kiln_operand_sum *sum = &contraction->operand_sum;
    print_problem(contraction, buffer);
    switch (contraction->pipeline.kind) {
    case KILN_PIPELINE_SMALL:
        print_small(schedule, buffer);
        return;
    case KILN_PIPELINE_DIRECT:
    case KILN_PIPELINE_GRADIENT:
    case KILN_PIPELINE_STRIPS:
        print_direct(schedule, group, buffer);
        return;
    default:
        print_tile(schedule, buffer);
    }
    kiln_print_operand_loads("left", &contraction->left, schedule, group, buffer);
    kiln_print_operand_loads("right", &contraction->right, schedule, group, buffer);
    kiln_buffer_printf(buffer, ", result in vectors of %" PRIu32, contraction->result_vector);
    if (sum->groups != 0)
        kiln_buffer_printf(buffer, ", %" PRIu32 " more %s up %" PRIu32 " rows of the %s operand",
                           sum->groups,
                           sum->groups == 1 ? "work-group adds" : "work-groups each add", sum->rows,
                           sum->is_right ? "right" : "left");
    print_ending(schedule, buffer);
}

/* ---- choices ---- */

void kiln_describe_contraction(const struct kiln_contraction_schedule *contraction,
                               struct kiln_buffer *buffer)
{
    /* As --schedule names them. */
    static const char *const forms[] = {
        [KILN_PIPELINE_STAGED] = "plain",      [KILN_PIPELINE_PINGPONG] = "pingpong",
        [KILN_PIPELINE_STREAMED] = "streamed", [KILN_PIPELINE_SPECIALIZED] = "specialized",
        [KILN_PIPELINE_DIRECT] = "direct",     [KILN_PIPELINE_GRADIENT] = "direct",
        [KILN_PIPELINE_STRIPS] = "direct",     [KILN_PIPELINE_SMALL] = "small",
    };
    const struct kiln_pipeline *pipeline = &contraction->pipeline;
    const struct kiln_tile *tile = &contraction->tile;
    kiln_buffer_append_text(buffer, forms[pipeline->kind]);
    if (pipeline->kind == KILN_PIPELINE_SMALL) {
        kiln_buffer_printf(buffer, ", %" PRIu32 "x%" PRIu32 " elements of a work-item",
                           pipeline->small.item_rows, pipeline->small.item_columns);
        return;
    }
    if (kiln_pipeline_is_direct(pipeline)) {
        kiln_buffer_printf(buffer, "%s, %" PRIu32 "x%" PRIu32 " elements of a work-item",
                           pipeline->kind == KILN_PIPELINE_STRIPS ? ", strips of pixels" : "",
                           kiln_direct_pipeline(pipeline)->item_rows, contraction->result_vector);
        return;
    }
    kiln_buffer_printf(
        buffer, " %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", waves %" PRIu32 "x%" PRIu32 "x%" PRIu32,
        tile->m, tile->n, tile->k, tile->waves_m, tile->waves_n, tile->waves_k);
    if (kiln_pipeline_groups(pipeline) != 1)
        kiln_buffer_printf(buffer, ", clusters of %" PRIu32, kiln_pipeline_groups(pipeline));
}

void kiln_contraction_explain(const struct kiln_schedule *schedule,
                              const struct kiln_target *target, struct kiln_buffer *buffer)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    const struct kiln_tile *tile = &contraction->tile;
    const struct kiln_pipeline *pipeline = &contraction->pipeline;
    (void)target;
    if (kiln_pipeline_is_direct(pipeline) &&
        schedule->options->contraction.form == KILN_CONTRACTION_ANY)
        kiln_buffer_append_text(buffer,
                                "  direct by a rule: groups have so few channels that a matrix "
                                "instruction would compute mostly nothing\n");
    if (pipeline->kind == KILN_PIPELINE_STRIPS)
        kiln_buffer_append_text(buffer, "  strips by a rule: a window's line is read once for "
                                        "neighbouring pixels\n");
    if (contraction->ending.kind == KILN_ENDING_ROWS && contraction->problem.block == 0 &&
        pipeline->kind == KILN_PIPELINE_STAGED)
        kiln_buffer_printf(buffer,
                           "  tile by a rule: whole rows of %" PRId64
                           " columns, and of the rows as many as leave room for sums in registers "
                           "and a tile for each compute unit, %" PRIu32 "\n",
                           contraction->problem.n * contraction->problem.products, tile->m);
}
