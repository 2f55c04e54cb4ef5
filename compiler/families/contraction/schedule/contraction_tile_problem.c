#include "compiler/families/contraction/schedule/contraction_tile_problem.h"

#include "compiler/families/contraction/schedule/contraction_print.h"

#include <stdio.h>

uint64_t kiln_count_contraction_tiles(const struct kiln_tile_problem *problem,
                                      const struct kiln_contraction_schedule *contraction)
{
    return kiln_row_tiles(contraction) * kiln_column_tiles(contraction) * problem->batch;
}

void kiln_note_tile(const struct kiln_tile_problem *problem,
                    const struct kiln_contraction_schedule *contraction, double time_ns)
{
    if (problem->alternatives == NULL)
        return;
    struct kiln_alternative alternative = {
        .time_ns = time_ns,
        .why_not = contraction->ending.kind == KILN_ENDING_STATISTICS
                       ? "another kernel counts on the number of tiles"
                   : contraction->pipeline.kind == KILN_PIPELINE_SMALL
                       ? "tiles are few, and their kernel serves all sizes"
                       : "tiles take longer to start, which this time leaves out",
    };
    struct kiln_buffer what;
    kiln_buffer_init(&what);
    kiln_describe_contraction(contraction, &what);
    (void)snprintf(alternative.what, sizeof alternative.what, "%s", kiln_buffer_text(&what));
    kiln_buffer_fini(&what);
    kiln_alternatives_add(problem->alternatives, &alternative);
}
