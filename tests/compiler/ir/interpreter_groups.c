#include "tests/compiler/ir/interpreter_groups.h"

static int64_t start_of(const struct kiln_interpreter_routes *routes, int64_t group, int64_t rows)
{
    int64_t start = 0;
    if (group == routes->groups)
        return rows;
    for (int64_t g = 0; g <= group; g++)
        start = routes->offsets[g].integer > start ? routes->offsets[g].integer : start;
    return start < rows ? start : rows;
}

/* The group that has a row, or -1. */
static int64_t group_of(const struct kiln_interpreter_routes *routes, int64_t row, int64_t rows)
{
    for (int64_t g = 0; g < routes->groups; g++) {
        if (row >= start_of(routes, g, rows) && row < start_of(routes, g + 1, rows))
            return g;
    }
    return -1;
}

/* The row that is scattered to row `to`, or -1. */
static int64_t scattered_row(const struct kiln_contraction *contraction,
                             const struct kiln_interpreter_routes *routes, int64_t to, int64_t rows)
{
    for (int64_t row = start_of(routes, 0, rows); row < rows; row++) {
        int64_t index = routes->index[row].integer, ks = routes->ks[row].integer;
        if (index >= 0 && ks >= 0 && ks < contraction->top_k &&
            index * contraction->top_k + ks == to)
            return row;
    }
    return -1;
}

static uint32_t axis_of(const struct kiln_contraction *contraction, enum kiln_axis_role role)
{
    uint32_t axis = 0;
    while (contraction->roles[axis] != role)
        axis++;
    return axis;
}

bool kiln_interpreter_route(const struct kiln_contraction *contraction,
                            const struct kiln_interpreter_routes *routes, int64_t *index,
                            int64_t *ret_first, int64_t *ret_size)
{
    *ret_first = 0;
    *ret_size = kiln_contraction_size(contraction, KILN_AXIS_K);
    if (contraction->routing == KILN_ROUTING_NONE)
        return true;
    if (contraction->routing == KILN_ROUTING_SUMS) {
        int64_t group = index[axis_of(contraction, KILN_AXIS_BATCH)];
        *ret_first = start_of(routes, group, *ret_size);
        *ret_size = start_of(routes, group + 1, *ret_size) - *ret_first;
        return true;
    }
    uint32_t m = axis_of(contraction, KILN_AXIS_M);
    uint32_t g = axis_of(contraction, KILN_AXIS_GROUP);
    int64_t rows = contraction->sizes[m];
    int64_t row = contraction->routing == KILN_ROUTING_SCATTER
                      ? scattered_row(contraction, routes, index[m], rows)
                      : index[m];
    int64_t group = row < 0 ? -1 : group_of(routes, row, rows);
    index[m] = contraction->routing == KILN_ROUTING_GATHER ? routes->index[row].integer : row;
    index[g] = group % contraction->sizes[g];
    return group >= 0 && index[m] >= 0 &&
           (contraction->routing != KILN_ROUTING_GATHER || index[m] < routes->tokens);
}
