#include "compiler/ir/map.h"

#include <inttypes.h>

struct kiln_number kiln_constant_number(int64_t value)
{
    return (struct kiln_number){.value = value};
}

struct kiln_map_axis kiln_map_axis_along(uint8_t along)
{
    return (struct kiln_map_axis){
        .along = along, .repeat = kiln_constant_number(1), .step = kiln_constant_number(1)};
}

struct kiln_map_axis kiln_map_axis_nowhere(void)
{
    return kiln_map_axis_along(KILN_NO_AXIS);
}

const struct kiln_map_window *kiln_map_window_over(const struct kiln_map *map, uint8_t axis)
{
    for (uint32_t i = 0; i < map->window_count; i++) {
        if (map->windows[i].over == axis)
            return &map->windows[i];
    }
    return NULL;
}

bool kiln_map_has_divisor(const struct kiln_map *map)
{
    for (uint32_t i = 0; i < map->window_count; i++) {
        if (map->windows[i].divisor.value > 1)
            return true;
    }
    return false;
}

bool kiln_map_locate(const struct kiln_map *map, const int64_t *point, uint8_t axis,
                     int64_t *ret_coordinate)
{
    const struct kiln_map_window *window = kiln_map_window_over(map, axis);
    int64_t coordinate = window != NULL ? window->offset.value : 0;
    for (uint32_t i = 0; i < map->axis_count; i++) {
        if (map->axes[i].along == axis)
            coordinate += point[i] / map->axes[i].repeat.value * map->axes[i].step.value;
    }
    if (window != NULL) {
        if (coordinate < 0 || coordinate % window->divisor.value != 0)
            return false;
        coordinate /= window->divisor.value;
        if (coordinate >= window->size.value)
            return false;
    }
    *ret_coordinate = coordinate;
    return true;
}

/* ---- equality ---- */

static bool is_equal_number(struct kiln_number a, struct kiln_number b)
{
    return a.value == b.value && a.argument == b.argument;
}

bool kiln_map_is_equal(const struct kiln_map *a, const struct kiln_map *b)
{
    if (a->axis_count != b->axis_count || a->window_count != b->window_count)
        return false;
    for (uint32_t i = 0; i < a->axis_count; i++) {
        const struct kiln_map_axis *x = &a->axes[i];
        const struct kiln_map_axis *y = &b->axes[i];
        if (x->along != y->along || !is_equal_number(x->repeat, y->repeat) ||
            !is_equal_number(x->step, y->step))
            return false;
    }
    for (uint32_t i = 0; i < a->window_count; i++) {
        const struct kiln_map_window *x = &a->windows[i];
        const struct kiln_map_window *y = &b->windows[i];
        if (x->over != y->over || !is_equal_number(x->size, y->size) ||
            !is_equal_number(x->offset, y->offset) || !is_equal_number(x->divisor, y->divisor))
            return false;
    }
    return true;
}

/* ---- print ---- */

static void print_number(struct kiln_number number, struct kiln_buffer *buffer)
{
    if (number.argument != 0)
        kiln_buffer_printf(buffer, "$%" PRIu32, number.argument - 1);
    else
        kiln_buffer_printf(buffer, "%" PRId64, number.value);
}

/* A number after its sign, unless it is 1. */
static void print_factor(const char *sign, struct kiln_number number, struct kiln_buffer *buffer)
{
    if (number.argument == 0 && number.value == 1)
        return;
    kiln_buffer_append_text(buffer, sign);
    print_number(number, buffer);
}

void kiln_map_print(const struct kiln_map *map, struct kiln_buffer *buffer)
{
    kiln_buffer_append_text(buffer, "[");
    for (uint32_t i = 0; i < map->axis_count; i++) {
        const struct kiln_map_axis *axis = &map->axes[i];
        kiln_buffer_append_text(buffer, i == 0 ? "" : ", ");
        if (axis->along == KILN_NO_AXIS)
            kiln_buffer_append_text(buffer, "-");
        else
            kiln_buffer_printf(buffer, "%u", axis->along);
        print_factor("/", axis->repeat, buffer);
        print_factor("*", axis->step, buffer);
    }
    kiln_buffer_append_text(buffer, "]");
    for (uint32_t i = 0; i < map->window_count; i++) {
        const struct kiln_map_window *window = &map->windows[i];
        kiln_buffer_printf(buffer, " window %u of ", window->over);
        print_number(window->size, buffer);
        kiln_buffer_append_text(buffer, " from ");
        print_number(window->offset, buffer);
        print_factor(" by ", window->divisor, buffer);
    }
}
