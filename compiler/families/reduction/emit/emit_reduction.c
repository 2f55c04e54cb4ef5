/* The hooks: the generated part of reduction.hip, for REDUCTION, PARTIAL and COMBINE groups. The
 * template states its requirements at its top. */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_family.h"
#include "compiler/emit/emit_sizes.h"
#include "compiler/families/reduction/emit/emit_accumulators.h"
#include "compiler/families/reduction/emit/emit_local_rows.h"
#include "compiler/families/reduction/emit/emit_reduction_arguments.h"
#include "compiler/families/reduction/emit/emit_reduction_pass.h"
#include "compiler/families/reduction/schedule/reduction_lds.h"
#include "compiler/families/reduction/schedule/reduction_registers.h"

#include <inttypes.h>
#include <stdlib.h>

static void fini_reduction(struct kiln_reduction_emission *reduction)
{
    kiln_value_table_fini(&reduction->values);
    free(reduction->pass);
    free(reduction->first_pass);
    free(reduction->is_needed);
    free(reduction->selected);
}

/* Finds the first pass that needs each load. */
static void find_first_passes(struct kiln_reduction_emission *reduction)
{
    const struct kiln_emission *emission = reduction->emission;
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = 0; i < group->load_count; i++)
        reduction->first_pass[i] = group->accesses[i].is_accumulator ? 0 : KILN_NONE;
    for (uint32_t pass = reduction->passes->pass_count; pass-- > 0;) {
        kiln_reduction_pass_values(emission->ir, group, reduction->passes, pass,
                                   reduction->is_needed);
        for (uint32_t i = 0; i < group->op_count; i++) {
            uint32_t load = reduction->values.load[group->ops[i]];
            if (reduction->is_needed[i] && load != KILN_NONE)
                reduction->first_pass[load] = pass;
        }
    }
    for (uint32_t i = 0; kiln_loads_ahead(reduction) && i < group->load_count; i++) {
        if (reduction->first_pass[i] != KILN_NONE)
            reduction->first_pass[i] = 0;
    }
}

static bool init_reduction(const struct kiln_emission *emission,
                           struct kiln_reduction_emission *ret_reduction)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_schedule *schedule = emission->schedule;
    struct kiln_reduction_emission reduction = {
        .emission = emission,
        .passes = &kiln_reduction_schedule_of(schedule)->passes,
        .reduction = kiln_reduction_schedule_of(schedule),
        .pass = calloc(emission->ir->op_count, sizeof *reduction.pass),
        .first_pass = calloc(group->access_count, sizeof *reduction.first_pass),
        .is_needed = calloc(group->op_count, sizeof *reduction.is_needed),
        .selected = calloc(group->access_count, sizeof *reduction.selected),
        .vector = schedule->walk.vector_elems,
        .row_lanes = kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule))
                         ? schedule->walk.vector_elems
                         : 1,
        .lds_entries = kiln_reduction_lds_entries(kiln_reduction_schedule_of(schedule),
                                                  emission->target->wave_size),
    };
    if (reduction.pass == NULL || reduction.first_pass == NULL || reduction.is_needed == NULL ||
        reduction.selected == NULL || !kiln_value_table_init(emission, &reduction.values)) {
        fini_reduction(&reduction);
        return false;
    }
    for (uint32_t i = 0; i < group->op_count; i++)
        reduction.pass[group->ops[i]] = kiln_reduction_schedule_of(schedule)->passes.pass[i];
    reduction.sizes = kiln_reduction_sizes(emission);
    find_first_passes(&reduction);
    *ret_reduction = reduction;
    return true;
}

static void emit_chunks(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_emit_constant("SIZES_ARE_ARGUMENTS", kiln_sizes_are_arguments(emission), source);
    kiln_emit_grid(emission, source);
    kiln_emit_size_define(emission, "CHUNKS", schedule->launch.chunk_count, "chunks", source);
}

/* How work-groups share a row. */
static void emit_segments(const struct kiln_emission *emission,
                          const struct kiln_reduction_sizes *sizes, struct kiln_buffer *source)
{
    const struct kiln_reduction_schedule *layout = kiln_reduction_schedule_of(emission->schedule);
    const char *suffix = emission->schedule->walk.index_is_64bit ? "ull" : "u";
    bool is_segmented = emission->group->role == KILN_ROLE_PARTIAL;
    bool take_turns = layout->segments_take_turns || layout->segment_count == 1;
    uint64_t items = layout->items_along_reduced;
    kiln_emit_constant("IS_SEGMENTED", is_segmented, source);
    kiln_emit_constant("SEGMENTS_TAKE_TURNS", take_turns, source);
    if (take_turns)
        kiln_buffer_printf(source,
                           "#define KILN_SEGMENT_STEPS %" PRIu64 "%s\n"
                           "#define KILN_SEGMENT_TAILS %" PRIu64 "%s\n",
                           items, suffix, items, suffix);
    if (!take_turns) {
        kiln_emit_size_define(emission, "SEGMENT_STEPS", sizes->segment_steps, "segment_steps",
                              source);
        kiln_emit_size_define(emission, "SEGMENT_TAILS", sizes->segment_tails, "segment_tails",
                              source);
    }
    if (!kiln_sizes_are_arguments(emission))
        kiln_buffer_printf(source, "#define KILN_SEGMENTS %" PRIu32 "%s\n", layout->segment_count,
                           suffix);
    if (is_segmented && take_turns)
        kiln_emit_size_define(emission, "STRIDE", sizes->stride, "stride", source);
    else
        kiln_buffer_printf(source, "#define KILN_STRIDE %" PRIu64 "%s\n", sizes->stride, suffix);
    bool divides = is_segmented && take_turns && kiln_sizes_are_arguments(emission) &&
                   !emission->schedule->walk.index_is_64bit;
    kiln_buffer_append_text(
        source, divides ? "#define KILN_OVER_STRIDE(n) kiln_divide(n, arguments.stride_divisor)\n"
                        : "#define KILN_OVER_STRIDE(n) ((n) / KILN_STRIDE)\n");
}

static void emit_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const struct kiln_reduction_schedule *layout = kiln_reduction_schedule_of(schedule);
    const struct kiln_reduction_sizes sizes = kiln_reduction_sizes(emission);
    bool has_chains =
        sizes.chains > 1 || (schedule->options->is_general && !kiln_reduction_is_held(layout));
    emit_chunks(emission, source);
    kiln_emit_turns(emission, source);
    kiln_emit_size_define(emission, "KEPT", layout->kept_count, "kept", source);
    if (schedule->walk.skew_elems != 0)
        kiln_buffer_printf(source,
                           "#define KILN_STEPS kiln_steps_of_row(share.position)\n"
                           "#define KILN_TAILS (%" PRIu64 "u - KILN_STEPS * KILN_VECTOR)\n",
                           schedule->walk.cols);
    else
        kiln_emit_size_define(emission, "STEPS", sizes.steps, "steps", source);
    kiln_emit_size_define(emission, "CHAINS", sizes.chains, "chains", source);
    kiln_emit_size_define(emission, "CHAIN_STEPS", sizes.chain_steps, "chain_steps", source);
    if (kiln_rows_have_tails(emission) && schedule->walk.skew_elems == 0)
        kiln_emit_size_define(emission, "TAILS", sizes.tails, "tails", source);
    emit_segments(emission, &sizes, source);
    uint32_t waves = kiln_reduction_waves_per_row(layout, emission->target->wave_size);
    uint32_t shuffles = 0;
    while (waves << (shuffles + 1) <= layout->items_along_reduced)
        shuffles++;
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"GROUPS_OF_ROW", layout->groups_of_row},
        {"IS_COLUMNS", kiln_reduction_is_columns(layout)},
        {"ITEMS_ALONG_REDUCED", layout->items_along_reduced},
        {"ITEMS_ALONG_KEPT", layout->items_along_kept},
        {"HAS_TAILS", kiln_rows_have_tails(emission)},
        {"ARE_SKEWED", schedule->walk.skew_elems != 0},
        {"STEPS_PER_ITEM", sizes.steps_per_item},
        {"STEPS_OF_LATER_PASS", kiln_steps_of_later_pass(sizes.steps_per_item)},
        {"IS_RESIDENT", kiln_reduction_is_held(layout)},
        {"HAS_LOCAL_ROWS", layout->held == KILN_HELD_LOCAL},
        {"ROW_SPACING", layout->held == KILN_HELD_LOCAL ? layout->row_spacing : 1},
        {"RESULTS_REPLACE_OPERANDS", layout->results_replace_operands},
        {"CHECKS_FULL", sizes.checks_full},
        {"RESIDENT_TAILS", sizes.resident_tails},
        {"HAS_CHAINS", has_chains},
        {"SHUFFLES", shuffles},
        {"FIRST_SHUFFLE", kiln_reduction_is_columns(layout) ? layout->items_along_kept : 1},
        {"WAVES_PER_ROW", waves},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        kiln_emit_constant(numbers[i].name, numbers[i].value, source);
    kiln_buffer_append_text(source, "#define KILN_PASSES(run)");
    for (uint32_t pass = 0; pass < kiln_reduction_schedule_of(schedule)->passes.pass_count; pass++)
        kiln_buffer_printf(source, " run(%" PRIu32 ")", pass);
    kiln_buffer_append_text(source, "\n");
}

static void emit_text(const struct kiln_emission *emission,
                      struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    (void)inclusion;
    struct kiln_reduction_emission reduction;
    if (!init_reduction(emission, &reduction)) {
        source->failed = true;
        return;
    }
    kiln_emit_arguments(emission, source);
    kiln_emit_position(emission, source);
    kiln_emit_row_locations(emission, source);
    kiln_emit_reduction_inputs(&reduction, source);
    kiln_emit_row(&reduction, source);
    kiln_emit_shared(&reduction, source);
    if (reduction.reduction->held == KILN_HELD_LOCAL)
        kiln_emit_local_rows(&reduction, source);
    for (uint32_t pass = 0; pass < reduction.passes->pass_count; pass++)
        kiln_emit_pass(&reduction, pass, source);
    fini_reduction(&reduction);
}

static void emit_headers(const struct kiln_emission *emission,
                         struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    const struct kiln_reduction_passes *passes =
        &kiln_reduction_schedule_of(emission->schedule)->passes;
    kiln_emit_chunk_header(emission, inclusion, source);
    kiln_emit_size_headers(emission, inclusion, source);
    kiln_emit_access_headers(emission, inclusion, source);
    for (uint32_t i = 0; i < passes->accumulator_count; i++) {
        if (passes->accumulators[i].kind == KILN_ACCUMULATOR_MOMENTS)
            kiln_template_append(inclusion, "device/moments.h", source);
    }
    if (kiln_reduction_schedule_of(emission->schedule)->held == KILN_HELD_LOCAL)
        kiln_template_append(inclusion, "device/local_rows.h", source);
    if (passes->accumulator_count != 0)
        kiln_template_append(inclusion, "device/accumulators.h", source);
    if (kiln_reduction_schedule_of(emission->schedule)->groups_of_row > 1)
        kiln_template_append(inclusion, "device/cluster.h", source);
    kiln_emit_operation_headers(emission, inclusion, source);
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    return kiln_reduction_schedule_of(schedule)->items_along_reduced > 1 ||
           kiln_reduction_schedule_of(schedule)->held == KILN_HELD_LOCAL;
}

/* True in the form `columns`, where each element of a vector belongs to another row. Merged
 * segments vary only if their operand does. */
static bool result_varies(const struct kiln_schedule *schedule, bool operand_varies)
{
    return kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule)) &&
           (operand_varies ||
            kiln_reduction_schedule_of(schedule)->form != KILN_REDUCTION_SEGMENTS);
}

const struct kiln_emit_family kiln_emit_family_reduction = {
    .defines = emit_defines,
    .headers = emit_headers,
    .text = emit_text,
    .uses_barrier = uses_barrier,
    .visit_integers = kiln_visit_reduction_integers,
    .result_varies = result_varies,
    .has_literals = true,
};
