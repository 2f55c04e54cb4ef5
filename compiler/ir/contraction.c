#include "compiler/ir/contraction.h"

#include <inttypes.h>

struct kiln_contraction_axis kiln_contraction_axis_at(const struct kiln_contraction *contraction,
                                                      uint32_t index)
{
    return (struct kiln_contraction_axis){
        .role = contraction->roles[index],
        .size = contraction->sizes[index],
        .of = {contraction->maps[KILN_CONTRACT_LEFT].axes[index],
               contraction->maps[KILN_CONTRACT_RIGHT].axes[index],
               contraction->maps[KILN_CONTRACT_RESULT].axes[index]},
    };
}

void kiln_contraction_append(struct kiln_contraction *contraction, enum kiln_axis_role role,
                             int64_t size, struct kiln_map_axis left, struct kiln_map_axis right,
                             struct kiln_map_axis result)
{
    const struct kiln_map_axis of[KILN_CONTRACT_OPERAND_COUNT] = {left, right, result};
    uint32_t index = contraction->axis_count++;
    contraction->roles[index] = role;
    contraction->sizes[index] = size;
    for (uint32_t side = 0; side < KILN_CONTRACT_OPERAND_COUNT; side++) {
        contraction->maps[side].axes[index] = of[side];
        contraction->maps[side].axis_count = contraction->axis_count;
    }
}

int64_t kiln_contraction_size(const struct kiln_contraction *contraction, enum kiln_axis_role role)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == role)
            size *= contraction->sizes[i];
    }
    return size;
}

bool kiln_contraction_only_axis(const struct kiln_contraction *contraction,
                                enum kiln_axis_role role, struct kiln_contraction_axis *ret_axis)
{
    uint32_t found = KILN_NONE;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] != role)
            continue;
        if (found != KILN_NONE)
            return false;
        found = i;
    }
    if (found == KILN_NONE)
        return false;
    *ret_axis = kiln_contraction_axis_at(contraction, found);
    return true;
}

bool kiln_routing_has_rows(enum kiln_routing routing)
{
    return routing == KILN_ROUTING_ROWS || routing == KILN_ROUTING_GATHER ||
           routing == KILN_ROUTING_SCATTER;
}

const struct kiln_map *kiln_contraction_image(const struct kiln_contraction *contraction)
{
    return &contraction->maps[contraction->image];
}

struct kiln_contraction kiln_contraction_swap(const struct kiln_contraction *contraction)
{
    struct kiln_contraction swapped = *contraction;
    for (uint32_t i = 0; i < swapped.axis_count; i++) {
        if (contraction->roles[i] == KILN_AXIS_M)
            swapped.roles[i] = KILN_AXIS_N;
        else if (contraction->roles[i] == KILN_AXIS_N)
            swapped.roles[i] = KILN_AXIS_M;
    }
    swapped.maps[KILN_CONTRACT_LEFT] = contraction->maps[KILN_CONTRACT_RIGHT];
    swapped.maps[KILN_CONTRACT_RIGHT] = contraction->maps[KILN_CONTRACT_LEFT];
    bool is_left = kiln_contraction_image(contraction)->window_count == 0 ||
                   contraction->image == KILN_CONTRACT_RIGHT;
    swapped.image = is_left ? KILN_CONTRACT_LEFT : KILN_CONTRACT_RIGHT;
    return swapped;
}

/* The only axis that goes along an axis of the result; KILN_NONE if there is none, or several. */
static uint32_t only_along(const struct kiln_contraction *contraction, uint8_t axis)
{
    const struct kiln_map_axis *result = contraction->maps[KILN_CONTRACT_RESULT].axes;
    uint32_t found = KILN_NONE;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (result[i].along != axis)
            continue;
        if (found != KILN_NONE)
            return KILN_NONE;
        found = i;
    }
    return found;
}

static enum kiln_contract_operand side_of(enum kiln_axis_role role)
{
    return role == KILN_AXIS_M ? KILN_CONTRACT_LEFT : KILN_CONTRACT_RIGHT;
}

static bool is_row_or_column(enum kiln_axis_role role)
{
    return role == KILN_AXIS_M || role == KILN_AXIS_N;
}

bool kiln_contraction_split(const struct kiln_contraction *contraction, uint8_t axis, int64_t size,
                            struct kiln_contraction *ret_split)
{
    uint32_t found = only_along(contraction, axis);
    if (found == KILN_NONE || !is_row_or_column(contraction->roles[found]) ||
        contraction->axis_count == KILN_CONTRACTION_MAX_AXES ||
        contraction->sizes[found] % size != 0)
        return false;
    enum kiln_contract_operand side = side_of(contraction->roles[found]);
    const struct kiln_map *map = &contraction->maps[side];
    uint32_t same = 0; /* axes of this role, or that kernels count with them */
    for (uint32_t i = 0; i < contraction->axis_count; i++)
        same += contraction->roles[i] == contraction->roles[found];
    if (same == KILN_CONTRACTION_MAX_ROLE_AXES ||
        kiln_map_window_over(map, map->axes[found].along) != NULL)
        return false;
    struct kiln_contraction split = *contraction;
    struct kiln_map_axis *result = split.maps[KILN_CONTRACT_RESULT].axes;
    for (uint32_t i = 0; i < split.axis_count; i++) {
        if (result[i].along != KILN_NO_AXIS && result[i].along > axis)
            result[i].along++;
    }
    struct kiln_contraction_axis outer = kiln_contraction_axis_at(&split, found);
    outer.of[side].step = kiln_constant_number(outer.of[side].step.value * size);
    outer.of[KILN_CONTRACT_RESULT].along++;
    split.sizes[found] = size;
    kiln_contraction_append(&split, outer.role, outer.size / size, outer.of[KILN_CONTRACT_LEFT],
                            outer.of[KILN_CONTRACT_RIGHT], outer.of[KILN_CONTRACT_RESULT]);
    *ret_split = split;
    return true;
}

int64_t kiln_contraction_block(const struct kiln_contraction *contraction, uint8_t axis,
                               enum kiln_axis_role *ret_role)
{
    uint32_t inner = only_along(contraction, axis);
    uint32_t outer = only_along(contraction, (uint8_t)(axis + 1));
    if (inner == KILN_NONE || outer == KILN_NONE || !is_row_or_column(contraction->roles[inner]) ||
        contraction->roles[outer] != contraction->roles[inner])
        return 0;
    const struct kiln_map_axis *of = contraction->maps[side_of(contraction->roles[inner])].axes;
    if (of[outer].along != of[inner].along ||
        of[outer].step.value != of[inner].step.value * contraction->sizes[inner])
        return 0;
    *ret_role = contraction->roles[inner];
    return contraction->sizes[inner];
}

bool kiln_contraction_is_equal(const struct kiln_contraction *a, const struct kiln_contraction *b)
{
    if (a->axis_count != b->axis_count || a->image != b->image || a->routing != b->routing ||
        a->top_k != b->top_k)
        return false;
    for (uint32_t i = 0; i < a->axis_count; i++) {
        if (a->roles[i] != b->roles[i] || a->sizes[i] != b->sizes[i])
            return false;
    }
    for (uint32_t side = 0; side < KILN_CONTRACT_OPERAND_COUNT; side++) {
        if (!kiln_map_is_equal(&a->maps[side], &b->maps[side]))
            return false;
    }
    return true;
}

bool kiln_contraction_is_depthwise_gradient(const struct kiln_contraction *contraction)
{
    const struct kiln_map_axis *left = contraction->maps[KILN_CONTRACT_LEFT].axes;
    const struct kiln_map_axis *right = contraction->maps[KILN_CONTRACT_RIGHT].axes;
    uint32_t groups = KILN_NONE;
    bool has_channel = false; /* of the image, among the rows */
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == KILN_AXIS_BATCH && contraction->sizes[i] > 1)
            groups = i;
    }
    if (groups == KILN_NONE || left[groups].along == KILN_NO_AXIS ||
        right[groups].along == KILN_NO_AXIS || contraction->image == KILN_CONTRACT_RIGHT)
        return false;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (left[i].along != left[groups].along)
            continue;
        if (contraction->roles[i] == KILN_AXIS_K)
            return false;
        if (contraction->roles[i] == KILN_AXIS_M) {
            if (contraction->sizes[i] > 1)
                return false;
            has_channel = true;
        }
    }
    return has_channel;
}

void kiln_contraction_print_maps(const struct kiln_contraction *contraction,
                                 struct kiln_buffer *buffer)
{
    static const char *const roles[KILN_AXIS_ROLE_COUNT] = {"b", "m", "n", "k", "g"};
    static const char *const names[KILN_CONTRACT_OPERAND_COUNT] = {" left ", " right ", " result "};
    for (uint32_t i = 0; i < contraction->axis_count; i++)
        kiln_buffer_printf(buffer, "%s%s%" PRId64, i == 0 ? "" : " ", roles[contraction->roles[i]],
                           contraction->sizes[i]);
    for (uint32_t side = 0; side < KILN_CONTRACT_OPERAND_COUNT; side++) {
        kiln_buffer_append_text(buffer, names[side]);
        kiln_map_print(&contraction->maps[side], buffer);
    }
    static const char *const routings[] = {
        [KILN_ROUTING_NONE] = "",
        [KILN_ROUTING_ROWS] = " in groups of m",
        [KILN_ROUTING_GATHER] = " in groups of m, gathered",
        [KILN_ROUTING_SCATTER] = " in groups of m, scattered",
        [KILN_ROUTING_SUMS] = " in groups of k",
    };
    kiln_buffer_append_text(buffer, routings[contraction->routing]);
    if (contraction->top_k != 0)
        kiln_buffer_printf(buffer, " top %" PRId64, contraction->top_k);
}
