#include "compiler/families/contraction/schedule/contraction_forms.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"

#include "compiler/schedule/schedule_family.h"

/* Lowers the limit on rows and columns of a tile; below the smallest one, products are small. */
static bool halve_tile(const struct kiln_tile *tile, struct kiln_register_limits *limits)
{
    uint32_t held = (uint32_t)kiln_min_u64(limits->held_elems, kiln_max_u32(tile->m, tile->n));
    if (!kiln_halve_limit(&held, held, KILN_SMALLEST_TILE / 2))
        return false;
    limits->held_elems = held;
    return true;
}

static bool relax_items(uint32_t rows, uint32_t columns, struct kiln_register_limits *limits)
{
    return kiln_halve_limit(&limits->steps, rows, 1) ||
           kiln_halve_limit(&limits->vector_elems, columns, 1);
}

bool kiln_relax_contraction(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits)
{
    enum { MOST_SLOTS = 8 };
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    const struct kiln_pipeline *pipeline = &contraction->pipeline;
    uint32_t vector = schedule->walk.vector_elems;
    bool may_stage = schedule->options->contraction.form != KILN_CONTRACTION_STREAMED;
    bool is_streamed = false;
    switch (pipeline->kind) {
    case KILN_PIPELINE_DIRECT:
    case KILN_PIPELINE_GRADIENT:
    case KILN_PIPELINE_STRIPS:
        return relax_items(kiln_direct_pipeline(pipeline)->item_rows, vector, limits);
    case KILN_PIPELINE_SMALL:
        return relax_items(pipeline->small.item_rows, pipeline->small.item_columns, limits);
    case KILN_PIPELINE_STREAMED:
        is_streamed = true;
        break;
    default:
        break;
    }
    /* Without matrix instructions a single step takes many registers already. */
    bool may_stream = is_streamed && (contraction->tile.mma != NULL || !may_stage);
    bool has_statistics = contraction->ending.kind == KILN_ENDING_STATISTICS;
    return (may_stream && kiln_lower_limit(&limits->steps, MOST_SLOTS, 4, 1)) ||
           (has_statistics && kiln_halve_limit(&limits->vector_elems, vector, 1)) ||
           (is_streamed && may_stage && kiln_lower_limit(&limits->steps, 1, 2, 0)) ||
           halve_tile(&contraction->tile, limits) ||
           kiln_halve_limit(&limits->vector_elems, vector, 1);
}
