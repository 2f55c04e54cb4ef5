#include "compiler/schedule/contraction_print.h"

#include "compiler/schedule/contraction_small.h"

#include <inttypes.h>
#include <stdio.h>

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
    for (uint32_t i = 0; i < contraction->phase_count; i++)
        phases *= contraction->batch_sizes[contraction->phases[i].batch];
    if (contraction->window_count != 0)
        kiln_buffer_printf(buffer, ", %" PRIu32 " window%s over the %s operand",
                           contraction->window_count, contraction->window_count == 1 ? "" : "s",
                           contraction->is_right_windowed ? "right" : "left");
    if (contraction->phase_count != 0)
        kiln_buffer_printf(buffer, ", batches of %" PRId64 " phases of a stride", phases);
}

static void print_direct(const struct kiln_schedule *schedule,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    bool is_vector = false;
    for (uint32_t i = 0; i < group->load_count; i++)
        is_vector |= group->accesses[i].place == KILN_PLACE_LEFT &&
                     schedule->accesses[i].mode == KILN_ACCESS_VECTOR;
    if (contraction->strip_taps != 0)
        kiln_buffer_printf(buffer,
                           ", in strips of %" PRIu32 " taps and every %" PRIu32
                           ". pixel of the image, %" PRIu32 " of a line",
                           contraction->strip_taps, contraction->strip_step,
                           contraction->line_slots);
    kiln_buffer_printf(
        buffer,
        ", direct: a work-group has %" PRIu32 "x%" PRIu32 " work-items of %" PRIu32
        " rows each, neighbours along the %s, %s in local "
        "memory, %" PRIu32 " of k at a time, %s, lds %" PRIu32
        " bytes, result in vectors of %" PRIu32,
        contraction->slots, contraction->vectors, contraction->item_rows,
        contraction->are_rows_fast ? "rows" : "columns",
        contraction->left.places[0] == KILN_PLACE_RIGHT ? "left operand" : "right operand",
        contraction->tile_k,
        is_vector ? "the other one in such vectors too" : "the other one read one by one",
        schedule->lds_bytes, contraction->result_vector);
}

static void print_small(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    kiln_buffer_printf(buffer,
                       ", small: a product has %" PRIu32 "x%" PRIu32 " work-items with %" PRIu32
                       "x%" PRIu32 " elements each, %" PRIu32
                       " of k at a time, result in vectors of %" PRIu32,
                       contraction->row_items, contraction->column_items, contraction->item_rows,
                       contraction->item_columns, contraction->tile_k, contraction->result_vector);
}

void kiln_contraction_print(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    int64_t batch = 1;
    char along_k[16] = "";
    if (contraction->waves_k != 1)
        (void)snprintf(along_k, sizeof along_k, "x%" PRIu32, contraction->waves_k);
    for (uint32_t i = 0; i < contraction->batch_rank; i++)
        batch *= contraction->batch_sizes[i];
    kiln_buffer_printf(buffer, ", m %" PRId64 ", n %" PRId64 ", k %" PRId64, contraction->m,
                       contraction->n, contraction->k);
    if (batch != 1)
        kiln_buffer_printf(buffer, ", batch %" PRId64, batch);
    if (contraction->segments != 1)
        kiln_buffer_printf(buffer, ", k in %" PRIu32 " segments", contraction->segments);
    if (contraction->groups_k != 1)
        kiln_buffer_printf(buffer, ", k shared by clusters of %" PRIu32, contraction->groups_k);
    if (contraction->products > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " products that share their %s operand",
                           contraction->products, is_swapped ? "right" : "left");
    else if (is_swapped)
        kiln_buffer_append_text(buffer, " (operands swapped: the result runs along the rows)");
    print_windows(contraction, buffer);
    if (kiln_is_contraction_small(contraction)) {
        print_small(schedule, buffer);
        return;
    }
    if (contraction->is_direct) {
        print_direct(schedule, group, buffer);
        return;
    }
    kiln_buffer_printf(buffer,
                       ", tile %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", waves %" PRIu32 "x%" PRIu32
                       "%s, %s, staged as %s, lds %" PRIu32 " bytes",
                       contraction->tile_m, contraction->tile_n, contraction->tile_k,
                       contraction->waves_m, contraction->waves_n, along_k,
                       contraction->mma != NULL ? contraction->mma->name : "no matrix instruction",
                       kiln_dtype_info(contraction->staged)->text, schedule->lds_bytes);
    if (contraction->is_streamed)
        kiln_buffer_append_text(buffer, ", streamed");
    else
        kiln_buffer_printf(buffer, " in %" PRIu32 " buffer%s%s", contraction->buffers,
                           contraction->buffers == 1 ? "" : "s",
                           contraction->is_pingpong           ? ", ping-pong"
                           : contraction->producer_waves != 0 ? ", producers and consumers"
                                                              : "");
    kiln_print_operand_loads("left", &contraction->left, schedule, group, buffer);
    kiln_print_operand_loads("right", &contraction->right, schedule, group, buffer);
    kiln_buffer_printf(buffer, ", result in vectors of %" PRIu32, contraction->result_vector);
    if (contraction->sum_groups != 0)
        kiln_buffer_printf(
            buffer, ", %" PRIu32 " more work-groups add up %" PRIu32 " rows of the %s operand each",
            contraction->sum_groups, contraction->sum_rows,
            contraction->is_right_summed ? "right" : "left");
    static const char *const accumulated[] = {"", "each of its rows", "each of its columns", "it"};
    if (contraction->statistics != KILN_STATISTICS_NONE)
        kiln_buffer_printf(buffer, ", a tile stores the statistics of %s, %" PRIu32 " in all",
                           accumulated[contraction->statistics], schedule->segment_count);
    else if (contraction->row_lanes != 0)
        kiln_buffer_printf(buffer, ", %" PRIu32 " passes over rows of %" PRIu32 " lanes",
                           contraction->passes.pass_count, contraction->row_lanes);
}
