/* Checks of maps. Windows are checked before axes, whose checks read them. */
#include "compiler/ir/map.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct checker {
    const struct kiln_map *map;
    const struct kiln_map_setting *setting;
    struct kiln_buffer *faults;
    uint32_t fault_count;
};

static void fault(struct checker *checker, const char *format, ...) KILN_PRINTF(2, 3);

static void fault(struct checker *checker, const char *format, ...)
{
    char text[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    checker->fault_count++;
    kiln_buffer_printf(checker->faults, "%s: %s\n", checker->setting->name, text);
}

static int64_t size_from_right(const struct kiln_map_setting *setting, uint32_t axis)
{
    return axis < setting->rank ? setting->dims[setting->rank - 1 - axis] : 1;
}

/* True when a number is a constant or an existing argument. */
static bool check_number(struct checker *checker, const char *what, uint32_t index,
                         struct kiln_number number)
{
    if (number.argument <= checker->setting->argument_count)
        return true;
    fault(checker, "%s %" PRIu32 " is argument %" PRIu32 ", and there are %" PRIu32, what, index,
          number.argument - 1, checker->setting->argument_count);
    return false;
}

static void check_window(struct checker *checker, uint32_t index)
{
    const struct kiln_map_window *window = &checker->map->windows[index];
    if (!check_number(checker, "the size of window", index, window->size) ||
        !check_number(checker, "the offset of window", index, window->offset) ||
        !check_number(checker, "the divisor of window", index, window->divisor))
        return;
    if (checker->setting->is_result)
        fault(checker, "window %" PRIu32 " is over a result", index);
    if (window->over >= KILN_MAX_RANK) {
        fault(checker, "window %" PRIu32 " is over axis %u, which is out of range", index,
              window->over);
        return;
    }
    if (window->size.value != size_from_right(checker->setting, window->over))
        fault(checker, "window %" PRIu32 " has size %" PRId64 ", and axis %u has %" PRId64, index,
              window->size.value, window->over, size_from_right(checker->setting, window->over));
    if (window->divisor.value < 1)
        fault(checker, "window %" PRIu32 " has divisor %" PRId64, index, window->divisor.value);
    for (uint32_t i = 0; i < index; i++) {
        if (checker->map->windows[i].over == window->over)
            fault(checker, "windows %" PRIu32 " and %" PRIu32 " are over one axis", i, index);
    }
}

/* One iteration axis by itself. */
static void check_axis(struct checker *checker, uint32_t index)
{
    const struct kiln_map_axis *axis = &checker->map->axes[index];
    int64_t size = checker->setting->sizes[index];
    if (!check_number(checker, "the repeat of axis", index, axis->repeat) ||
        !check_number(checker, "the step of axis", index, axis->step))
        return;
    if (axis->along == KILN_NO_AXIS) {
        if (axis->repeat.value != 1 || axis->step.value != 1)
            fault(checker, "axis %" PRIu32 " goes along none, but has a repeat or a step", index);
        return;
    }
    if (axis->along >= KILN_MAX_RANK) {
        fault(checker, "axis %" PRIu32 " goes along axis %u, which is out of range", index,
              axis->along);
        return;
    }
    bool is_ragged = axis->repeat.value >= 1 && size % axis->repeat.value != 0;
    if (axis->repeat.value < 1 || (is_ragged && !checker->setting->may_be_ragged))
        fault(checker, "axis %" PRIu32 " of size %" PRId64 " has repeat %" PRId64, index, size,
              axis->repeat.value);
    if (checker->setting->is_result && axis->repeat.value != 1)
        fault(checker, "axis %" PRIu32 " repeats a result", index);
    bool is_windowed = kiln_map_window_over(checker->map, axis->along) != NULL;
    if (axis->step.value == 0 || (axis->step.value < 0 && !is_windowed))
        fault(checker, "axis %" PRIu32 " has step %" PRId64 " along axis %u", index,
              axis->step.value, axis->along);
}

/* The interval of coordinates, before the division, that the axes along an axis of the operand
 * reach; false when it overflows. */
static bool measure_footprint(const struct checker *checker, uint32_t along, int64_t offset,
                              int64_t *ret_first, int64_t *ret_last)
{
    *ret_first = *ret_last = offset;
    for (uint32_t i = 0; i < checker->map->axis_count; i++) {
        const struct kiln_map_axis *axis = &checker->map->axes[i];
        int64_t reach;
        if (axis->along != along)
            continue;
        int64_t *end = axis->step.value < 0 ? ret_first : ret_last;
        if (__builtin_mul_overflow((checker->setting->sizes[i] - 1) / axis->repeat.value,
                                   axis->step.value, &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return true;
}

/* True when the axes that go along an axis of the operand count it as digits do a number: each in
 * steps of what the finer ones count, all of them together its size. */
static bool are_digits(const struct checker *checker, uint32_t along)
{
    const struct kiln_map *map = checker->map;
    const int64_t *sizes = checker->setting->sizes;
    int64_t counted = 1;
    uint32_t used = 0;
    for (uint32_t turn = 0; turn < map->axis_count; turn++) {
        for (uint32_t i = 0; i < map->axis_count; i++) {
            bool is_next = (used >> i & 1) == 0 && map->axes[i].along == along &&
                           (sizes[i] == 1 || map->axes[i].step.value == counted);
            if (!is_next)
                continue;
            used |= UINT32_C(1) << i;
            if (__builtin_mul_overflow(counted, sizes[i], &counted))
                return false;
        }
    }
    for (uint32_t i = 0; i < map->axis_count; i++) {
        if (map->axes[i].along == along && (used >> i & 1) == 0)
            return false;
    }
    return counted == size_from_right(checker->setting, along);
}

/* All that goes along one axis of the operand. Each axis by itself is sound. */
static void check_along(struct checker *checker, uint8_t along)
{
    const struct kiln_map_window *window = kiln_map_window_over(checker->map, along);
    int64_t size = size_from_right(checker->setting, along);
    bool is_named = false;
    for (uint32_t i = 0; i < checker->map->axis_count; i++)
        is_named |= checker->map->axes[i].along == along;
    if (!is_named) {
        if (size != 1 && window == NULL)
            fault(checker, "no axis goes along axis %u of size %" PRId64, along, size);
        return;
    }
    int64_t first;
    int64_t last;
    if (!measure_footprint(checker, along, window != NULL ? window->offset.value : 0, &first,
                           &last))
        fault(checker, "coordinates along axis %u overflow", along);
    else if (window == NULL && last >= size)
        fault(checker, "coordinates along axis %u reach %" PRId64 ", but its size is %" PRId64,
              along, last, size);
    else if (checker->setting->is_result && !are_digits(checker, along))
        fault(checker, "elements along axis %u are not named exactly once", along);
}

uint32_t kiln_map_validate(const struct kiln_map *map, const struct kiln_map_setting *setting,
                           struct kiln_buffer *faults)
{
    struct checker checker = {.map = map, .setting = setting, .faults = faults};
    if (map->axis_count != setting->axis_count || map->axis_count > KILN_MAP_MAX_AXES) {
        fault(&checker, "the map has %" PRIu32 " axes, and %" PRIu32 " are iterated over",
              map->axis_count, setting->axis_count);
        return checker.fault_count;
    }
    if (map->window_count > KILN_MAP_MAX_WINDOWS) {
        fault(&checker, "%" PRIu32 " windows are more than %d", map->window_count,
              KILN_MAP_MAX_WINDOWS);
        return checker.fault_count;
    }
    for (uint32_t i = 0; i < map->window_count; i++)
        check_window(&checker, i);
    for (uint32_t i = 0; i < map->axis_count; i++)
        check_axis(&checker, i);
    for (uint8_t along = 0; checker.fault_count == 0 && along < KILN_MAX_RANK; along++)
        check_along(&checker, along);
    return checker.fault_count;
}
