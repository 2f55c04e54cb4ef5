/* Reductions of windows: padding and positions. */
#include "compiler/ir/ir.h"

#include <math.h>

struct kiln_constant kiln_ir_neutral_padding(enum kiln_opcode opcode)
{
    switch (opcode) {
    case KILN_OP_REDUCE_PRODUCT:
        return (struct kiln_constant){.real = 1};
    case KILN_OP_REDUCE_MIN:
        return (struct kiln_constant){.real = (double)INFINITY};
    case KILN_OP_REDUCE_MAX:
    case KILN_OP_REDUCE_MAX_NUMBER:
    case KILN_OP_REDUCE_ARGMAX:
        return (struct kiln_constant){.real = -(double)INFINITY};
    default:
        return (struct kiln_constant){0};
    }
}

/* Axes count from the right, and so do the digits of a position. */
static void find_steps(const struct kiln_map *map, const int64_t *sizes, int64_t *ret_steps)
{
    for (uint32_t i = 0; i < map->window_count; i++) {
        ret_steps[i] = 1;
        for (uint32_t k = 0; k < map->window_count; k++)
            ret_steps[i] *= map->windows[k].over < map->windows[i].over ? sizes[k] : 1;
    }
}

void kiln_ir_element_steps(const struct kiln_ir *ir, const struct kiln_op *op, int64_t *ret_steps)
{
    const struct kiln_map *map = &ir->maps[op->map];
    int64_t sizes[KILN_MAP_MAX_WINDOWS];
    for (uint32_t i = 0; i < map->window_count; i++)
        sizes[i] = map->windows[i].size.value;
    find_steps(map, sizes, ret_steps);
}

void kiln_ir_point_sizes(const struct kiln_ir *ir, const struct kiln_op *op, int64_t *ret_sizes)
{
    const struct kiln_map *map = &ir->maps[op->map];
    const struct kiln_domain *result = &ir->domains[op->domain];
    for (uint32_t i = 0; i < map->window_count; i++) {
        ret_sizes[i] = 1;
        for (uint32_t axis = 0; axis < result->rank; axis++) {
            if (map->axes[axis].along == map->windows[i].over)
                ret_sizes[i] *= result->dims[result->rank - 1 - axis];
        }
    }
}

void kiln_ir_point_steps(const struct kiln_ir *ir, const struct kiln_op *op, int64_t *ret_steps)
{
    int64_t sizes[KILN_MAP_MAX_WINDOWS];
    kiln_ir_point_sizes(ir, op, sizes);
    find_steps(&ir->maps[op->map], sizes, ret_steps);
}
