#include "compiler/emit/emit_reduction.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_accumulators.h"
#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_family.h"
#include "compiler/emit/emit_reduction_arguments.h"
#include "compiler/emit/emit_reduction_pass.h"
#include "compiler/schedule/reduction_lds.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    /* Elements outside of vectors that stay in registers between passes, as those in vectors do. */
    MAX_RESIDENT_TAILS = 4,
    /* Elements that an accumulator takes in one after the other, give or take one turn of the loop.
     * Where all of n round the same way a mean of floats is wrong by n * 2^-26 or so. Of very long
     * rows as many as there are chains, for these are merged one after the other too. */
    MIN_CHAIN_STEPS = 1024,
    /* The same where work-items accumulate in double, and merge as floats. */
    MIN_WIDE_CHAIN_STEPS = 1 << 20,
};

static uint64_t ceil_divide(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* True if all accumulators of a work-item have a wider type than the result. Tails do not. */
static bool has_wide_lanes(const struct kiln_reduction_emission *reduction)
{
    const struct kiln_reduction_passes *passes = &reduction->reduction->passes;
    bool is_wide = passes->accumulator_count != 0 && reduction->tails == 0;
    for (uint32_t i = 0; i < passes->accumulator_count; i++)
        is_wide = is_wide && kiln_lanes_scalar(reduction, &passes->accumulators[i]) !=
                                 passes->accumulators[i].scalar;
    return is_wide;
}

/* What of a row is vectors and what is not, and how much of both a work-group gets. */
static void count_steps(struct kiln_reduction_emission *reduction)
{
    const struct kiln_schedule *schedule = reduction->emission->schedule;
    const struct kiln_reduction_schedule *layout = reduction->reduction;
    uint32_t inner = schedule->rank - 1;
    uint64_t lines = 1;
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        if (((schedule->reduced_axes >> axis) & 1u) != 0 && (axis != inner || layout->is_columns))
            lines *= (uint64_t)schedule->dims[axis];
    }
    if (layout->is_columns) {
        reduction->steps = lines;
    } else {
        uint64_t cols = (uint64_t)schedule->dims[inner];
        reduction->steps = lines * (cols / reduction->vector);
        reduction->tails = lines * (cols % reduction->vector);
    }
    uint32_t items = layout->items_along_reduced;
    reduction->segment_steps = ceil_divide(reduction->steps, layout->segment_count);
    reduction->segment_tails = ceil_divide(reduction->tails, layout->segment_count);
    reduction->steps_per_item = layout->steps_per_item;
    if (layout->is_resident && !kiln_sizes_are_arguments(reduction->emission))
        reduction->steps_per_item =
            (uint32_t)max_u64(ceil_divide(reduction->segment_steps, items), 1);
    uint64_t tails_per_item = ceil_divide(reduction->segment_tails, items);
    if (layout->is_resident && tails_per_item <= MAX_RESIDENT_TAILS)
        reduction->resident_tails = (uint32_t)tails_per_item;
    uint64_t longest = max_u64(ceil_divide(reduction->segment_steps, items), tails_per_item);
    uint64_t chain = has_wide_lanes(reduction) ? MIN_WIDE_CHAIN_STEPS : MIN_CHAIN_STEPS;
    while (longest / chain > chain)
        chain *= 2;
    reduction->chain_steps =
        ceil_divide(chain, reduction->steps_per_item) * reduction->steps_per_item;
    reduction->chains = layout->is_resident ? 1 : ceil_divide(longest, reduction->chain_steps);
    reduction->is_even = reduction->emission->group->role != KILN_ROLE_COMBINE &&
                         !kiln_sizes_are_arguments(reduction->emission) && reduction->tails == 0 &&
                         reduction->chains == 1 &&
                         reduction->segment_steps * layout->segment_count == reduction->steps &&
                         reduction->segment_steps % items == 0;
}

static void fini_reduction(struct kiln_reduction_emission *reduction)
{
    kiln_value_table_fini(&reduction->values);
    free(reduction->pass);
    free(reduction->first_pass);
    free(reduction->is_needed);
    free(reduction->selected);
}

/* Which pass is the first to need each load. */
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
        .passes = &schedule->reduction.passes,
        .reduction = &schedule->reduction,
        .pass = calloc(emission->ir->op_count, sizeof *reduction.pass),
        .first_pass = calloc(group->access_count, sizeof *reduction.first_pass),
        .is_needed = calloc(group->op_count, sizeof *reduction.is_needed),
        .selected = calloc(group->access_count, sizeof *reduction.selected),
        .vector = schedule->vector_elems,
        .row_lanes = schedule->reduction.is_columns ? schedule->vector_elems : 1,
        .lds_entries =
            kiln_reduction_lds_entries(&schedule->reduction, emission->target->wave_size),
    };
    if (reduction.pass == NULL || reduction.first_pass == NULL || reduction.is_needed == NULL ||
        reduction.selected == NULL || !kiln_value_table_init(emission, &reduction.values)) {
        fini_reduction(&reduction);
        return false;
    }
    for (uint32_t i = 0; i < group->op_count; i++)
        reduction.pass[group->ops[i]] = schedule->reduction.passes.pass[i];
    count_steps(&reduction);
    find_first_passes(&reduction);
    *ret_reduction = reduction;
    return true;
}

bool kiln_loads_ahead(const struct kiln_reduction_emission *reduction)
{
    return reduction->reduction->merges_attention && reduction->reduction->is_resident;
}

int64_t kiln_chain_count(const struct kiln_emission *emission)
{
    struct kiln_reduction_emission reduction = {.emission = emission,
                                                .reduction = &emission->schedule->reduction,
                                                .vector = emission->schedule->vector_elems};
    count_steps(&reduction);
    return (int64_t)reduction.chains;
}

/* "#define KILN_STEPS 12u", or, of a size that may be an argument, the member's name. */
static void append_size(const struct kiln_emission *emission, const char *name, const char *member,
                        uint64_t value, struct kiln_buffer *source)
{
    if (kiln_sizes_are_arguments(emission))
        kiln_buffer_printf(source, "#define KILN_%s ((kiln_index)arguments.%s)\n", name, member);
    else
        kiln_buffer_printf(source, "#define KILN_%s %" PRIu64 "%s\n", name, value,
                           emission->schedule->index_is_64bit ? "ull" : "u");
}

static void emit_chunks(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    kiln_buffer_printf(source, "#define KILN_SIZES_ARE_ARGUMENTS %d\n",
                       kiln_sizes_are_arguments(emission));
    kiln_emit_grid(emission, source);
    append_size(emission, "CHUNKS", "chunks", schedule->chunk_count, source);
}

static void emit_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const struct kiln_reduction_schedule *layout = &schedule->reduction;
    const char *suffix = schedule->index_is_64bit ? "ull" : "u";
    struct kiln_reduction_emission reduction = {
        .emission = emission, .reduction = layout, .vector = schedule->vector_elems};
    emit_chunks(emission, source);
    if (layout->decodes_again)
        kiln_buffer_append_text(source, "#define KILN_DECODES_AGAIN\n");
    kiln_emit_turns(emission, source);
    count_steps(&reduction);
    append_size(emission, "KEPT", "kept", layout->kept_count, source);
    append_size(emission, "STEPS", "steps", reduction.steps, source);
    append_size(emission, "CHAINS", "chains", reduction.chains, source);
    bool take_turns = layout->segments_take_turns || layout->segment_count == 1;
    uint64_t items = layout->items_along_reduced;
    uint32_t waves = kiln_reduction_waves_per_row(layout, emission->target->wave_size);
    uint32_t shuffles = 0;
    while (waves << (shuffles + 1) <= layout->items_along_reduced)
        shuffles++;
    const struct {
        const char *name;
        uint64_t value;
        const char *suffix;
    } numbers[] = {
        {"IS_COLUMNS", layout->is_columns, ""},
        {"ITEMS_ALONG_REDUCED", layout->items_along_reduced, ""},
        {"ITEMS_ALONG_KEPT", layout->items_along_kept, ""},
        {"TAILS", reduction.tails, suffix},
        {"SEGMENTS", layout->segment_count, suffix},
        {"SEGMENTS_TAKE_TURNS", take_turns, ""},
        {"SEGMENT_STEPS", take_turns ? items : reduction.segment_steps, suffix},
        {"SEGMENT_TAILS", take_turns ? items : reduction.segment_tails, suffix},
        {"STRIDE", take_turns ? layout->segment_count * items : items, suffix},
        {"STEPS_PER_ITEM", reduction.steps_per_item, ""},
        {"IS_RESIDENT", layout->is_resident, ""},
        {"RESIDENT_TAILS", reduction.resident_tails, ""},
        {"HAS_CHAINS", reduction.chains > 1, ""},
        {"CHAIN_STEPS", reduction.chain_steps, suffix},
        {"SHUFFLES", shuffles, ""},
        {"FIRST_SHUFFLE", layout->is_columns ? layout->items_along_kept : 1, ""},
        {"WAVES_PER_ROW", waves, ""},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        kiln_buffer_printf(source, "#define KILN_%s %" PRIu64 "%s\n", numbers[i].name,
                           numbers[i].value, numbers[i].suffix);
    kiln_buffer_append_text(source, "#define KILN_PASSES(run)");
    for (uint32_t pass = 0; pass < schedule->reduction.passes.pass_count; pass++)
        kiln_buffer_printf(source, " run(%" PRIu32 ")", pass);
    kiln_buffer_append_text(source, "\n");
}

static void emit_text(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    struct kiln_reduction_emission reduction;
    if (!init_reduction(emission, &reduction)) {
        source->failed = true;
        return;
    }
    kiln_emit_arguments(emission, source);
    if (kiln_sizes_are_arguments(emission)) {
        /* kiln_emit_arguments ends the structure with "};\n": members are put in front of it. */
        source->size -= 3;
        kiln_emit_reduction_arguments(emission, source);
        kiln_buffer_append_text(source, "};\n");
    }
    kiln_emit_position(emission, source);
    kiln_emit_row_locations(emission, source);
    kiln_emit_reduction_inputs(&reduction, source);
    kiln_emit_row(&reduction, source);
    kiln_emit_shared(&reduction, source);
    for (uint32_t pass = 0; pass < reduction.passes->pass_count; pass++)
        kiln_emit_pass(&reduction, pass, source);
    fini_reduction(&reduction);
}

static void emit_headers(const struct kiln_emission *emission,
                         struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    const struct kiln_reduction_passes *passes = &emission->schedule->reduction.passes;
    kiln_emit_access_headers(emission, inclusion, source);
    for (uint32_t i = 0; i < passes->accumulator_count; i++) {
        if (passes->accumulators[i].kind == KILN_ACCUMULATOR_MOMENTS)
            kiln_template_append(inclusion, "device/moments.h", source);
    }
    if (passes->accumulator_count != 0)
        kiln_template_append(inclusion, "device/accumulators.h", source);
    kiln_emit_operation_headers(emission, inclusion, source);
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    return schedule->reduction.items_along_reduced > 1;
}

/* Those of a vector of rows do, but for maxima and sums of attention's rows. */
static bool result_varies(const struct kiln_schedule *schedule, bool operand_varies)
{
    return schedule->reduction.is_columns &&
           (operand_varies || !schedule->reduction.merges_attention);
}

const struct kiln_emit_family kiln_emit_family_reduction = {
    .defines = emit_defines,
    .headers = emit_headers,
    .text = emit_text,
    .uses_barrier = uses_barrier,
    .integers = kiln_reduction_integers,
    .result_varies = result_varies,
    .has_literals = true,
};
