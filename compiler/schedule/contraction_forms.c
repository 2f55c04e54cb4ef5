#include "compiler/schedule/contraction_forms.h"

#include "compiler/schedule/contraction_small.h"
#include "compiler/schedule/schedule_family.h"

/* Lowers the limit on rows and columns of a tile; below the smallest one, products are small. */
static bool halve_tile(const struct kiln_contraction_schedule *contraction,
                       struct kiln_register_limits *limits)
{
    uint32_t tile =
        contraction->tile_m > contraction->tile_n ? contraction->tile_m : contraction->tile_n;
    uint32_t held = limits->held_elems < tile ? (uint32_t)limits->held_elems : tile;
    if (!kiln_halve_limit(&held, held, KILN_SMALLEST_TILE / 2))
        return false;
    limits->held_elems = held;
    return true;
}

bool kiln_relax_contraction(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits)
{
    enum { MOST_SLOTS = 8 };
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    bool is_small = kiln_is_contraction_small(contraction);
    bool has_statistics = contraction->statistics != KILN_STATISTICS_NONE;
    uint32_t vector = is_small ? contraction->item_columns : schedule->vector_elems;
    if (contraction->is_direct || is_small)
        return kiln_halve_limit(&limits->steps, contraction->item_rows, 1) ||
               kiln_halve_limit(&limits->vector_elems, vector, 1);
    bool may_stage = schedule->forced.form != KILN_CONTRACTION_STREAMED;
    /* Without matrix instructions a single step takes many registers already. */
    bool may_stream = contraction->is_streamed && (contraction->mma != NULL || !may_stage);
    return (may_stream && kiln_lower_limit(&limits->steps, MOST_SLOTS, 4, 1)) ||
           (has_statistics && kiln_halve_limit(&limits->vector_elems, vector, 1)) ||
           (contraction->is_streamed && may_stage && kiln_lower_limit(&limits->steps, 1, 2, 0)) ||
           halve_tile(contraction, limits) || kiln_halve_limit(&limits->vector_elems, vector, 1);
}
