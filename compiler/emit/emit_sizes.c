#include "compiler/emit/emit_sizes.h"

#include "compiler/schedule/divisor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 48 };

bool kiln_sizes_are_arguments(const struct kiln_emission *emission)
{
    return emission->schedule->walk.sizes != KILN_SIZES_CONSTANT;
}

void kiln_emit_size_define(const struct kiln_emission *emission, const char *macro, uint64_t value,
                           const char *name, struct kiln_buffer *source)
{
    if (kiln_sizes_are_arguments(emission))
        kiln_buffer_printf(source, "#define KILN_%s ((kiln_index)arguments.%s)\n", macro, name);
    else
        kiln_buffer_printf(source, "#define KILN_%s %" PRIu64 "%s\n", macro, value,
                           emission->schedule->walk.index_is_64bit ? "ull" : "u");
}

void kiln_emit_size(const struct kiln_emission *emission, int64_t value, struct kiln_buffer *source,
                    const char *name, ...)
{
    if (!kiln_sizes_are_arguments(emission)) {
        kiln_buffer_printf(source, "(kiln_index)%" PRId64, value);
        return;
    }
    char text[NAME_BYTES];
    va_list arguments;
    va_start(arguments, name);
    (void)vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    kiln_buffer_printf(source, "(kiln_index)arguments.%s", text);
}

bool kiln_stride_is_one(const struct kiln_schedule *schedule, int64_t stride)
{
    return stride == 1 && !schedule->options->is_general;
}

/* In a flattened schedule the others have offsets of their own along the line. */
static bool has_strides(const struct kiln_schedule *schedule, uint32_t access)
{
    return schedule->walk.form != KILN_WALK_FLATTENED ||
           schedule->accesses[access].mode == KILN_ACCESS_GATHER;
}

/* The first access with the strides of this one. Strides of a general kernel are equal by chance.
 */
static uint32_t stride_owner(const struct kiln_schedule *schedule, uint32_t access)
{
    if (schedule->options->is_general)
        return access;
    size_t bytes = schedule->walk.rank * sizeof *schedule->accesses->strides;
    for (uint32_t i = 0; i < access; i++) {
        if (has_strides(schedule, i) &&
            memcmp(schedule->accesses[i].strides, schedule->accesses[access].strides, bytes) == 0)
            return i;
    }
    return access;
}

void kiln_emit_stride(const struct kiln_emission *emission, uint32_t access, uint32_t axis,
                      struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    int64_t stride = schedule->accesses[access].strides[axis];
    if (kiln_stride_is_one(schedule, stride))
        kiln_buffer_append_text(source, "(kiln_index)1");
    else
        kiln_emit_size(emission, stride, source, "s%" PRIu32 "_%" PRIu32,
                       stride_owner(schedule, access), axis);
}

void kiln_emit_split(const struct kiln_emission *emission, const char *indent, const char *place,
                     const char *scale, uint64_t size, const char *name, struct kiln_buffer *source)
{
    if (!kiln_sizes_are_arguments(emission))
        kiln_buffer_printf(
            source, "%s%srest %% (kiln_index)%" PRIu64 "%s;\n%srest /= (kiln_index)%" PRIu64 ";\n",
            indent, place, size, scale, indent, size);
    else if (emission->schedule->walk.index_is_64bit)
        kiln_buffer_printf(source, "%s%skiln_split(rest, arguments.%s)%s;\n", indent, place, name,
                           scale);
    else
        kiln_buffer_printf(source, "%s%skiln_split(rest, arguments.%s, arguments.%s_divisor)%s;\n",
                           indent, place, name, name, scale);
}

void kiln_emit_size_headers(const struct kiln_emission *emission,
                            struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    if (kiln_sizes_are_arguments(emission))
        kiln_template_append(inclusion, "device/sizes.h", source);
}

void kiln_visit_split_size(struct kiln_integer_walk *walk, uint64_t size, const char *name)
{
    kiln_visit_integer(walk, (int64_t)size, "%s", name);
    if (!walk->emission->schedule->walk.index_is_64bit)
        kiln_visit_integer(walk, kiln_divisor_argument((int64_t)size), "%s_divisor", name);
}

void kiln_visit_axis(struct kiln_integer_walk *walk, uint32_t axis)
{
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "d%" PRIu32, axis);
    kiln_visit_split_size(walk, (uint64_t)walk->emission->schedule->walk.dims[axis], name);
}

void kiln_visit_strides(struct kiln_integer_walk *walk)
{
    const struct kiln_schedule *schedule = walk->emission->schedule;
    for (uint32_t i = 0; i < walk->emission->group->access_count; i++) {
        if (!has_strides(schedule, i) || stride_owner(schedule, i) != i)
            continue;
        for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
            int64_t stride = schedule->accesses[i].strides[axis];
            if (stride != 0 && !kiln_stride_is_one(schedule, stride))
                kiln_visit_integer(walk, stride, "s%" PRIu32 "_%" PRIu32, i, axis);
        }
    }
}
