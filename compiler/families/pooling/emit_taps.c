/* Text of the loads of pooling kernels: the elements of a tap. */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_sizes.h"
#include "compiler/families/pooling/emit_pooling_parts.h"
#include "compiler/fuse/fuse_family.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static bool is_of_image(const struct kiln_emission *emission, uint32_t access)
{
    return emission->group->accesses[access].place == KILN_PLACE_IMAGE;
}

static uint32_t vector_of(const struct kiln_emission *emission)
{
    return emission->schedule->walk.vector_elems;
}

/* True if the last taps that are loaded together may be beyond the window. */
static bool has_spare_taps(const struct kiln_pooling_schedule *pooling)
{
    return pooling->taps % pooling->taps_together != 0;
}

uint32_t kiln_find_emitted_anchor(const struct kiln_emission *emission, enum kiln_opcode opcode)
{
    for (uint32_t i = 0; i < emission->group->anchor_count; i++) {
        if (kiln_emitted_anchor(emission, i)->opcode == opcode)
            return i;
    }
    return KILN_NONE;
}

/* ---- numbers that follow from sizes ---- */

/* In elements along the axis of a window. */
static int64_t window_stride(const struct kiln_emission *emission, uint32_t access, uint32_t window)
{
    const struct kiln_ir *ir = emission->ir;
    uint32_t rank =
        ir->domains[kiln_group_place_domain(ir, emission->group, KILN_PLACE_IMAGE)].rank;
    uint32_t over = kiln_emitted_pooling(emission)->windows[window].over;
    return over < rank ? emission->group->accesses[access].strides[rank - 1 - over] : 0;
}

void kiln_emit_window_number(const struct kiln_emission *emission, const char *type, int64_t value,
                             struct kiln_buffer *source, const char *name, ...)
{
    kiln_buffer_printf(source, "(%s)", type);
    if (!kiln_sizes_are_arguments(emission)) {
        kiln_buffer_printf(source, "%" PRId64, value);
        return;
    }
    char text[48];
    va_list arguments;
    va_start(arguments, name);
    (void)vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    kiln_buffer_printf(source, "arguments.%s", text);
}

/* Steps of positions, in what a REDUCE reads or in its result, if the group has such a REDUCE. */
static void visit_steps(struct kiln_integer_walk *walk, enum kiln_opcode opcode, const char *name,
                        void (*find_steps)(const struct kiln_ir *, const struct kiln_op *,
                                           int64_t *))
{
    const struct kiln_emission *emission = walk->emission;
    uint32_t number = kiln_find_emitted_anchor(emission, opcode);
    int64_t steps[KILN_MAP_MAX_WINDOWS];
    if (number == KILN_NONE)
        return;
    find_steps(emission->ir, kiln_emitted_anchor(emission, number), steps);
    for (uint32_t i = 0; i < kiln_emitted_pooling(emission)->window_count; i++)
        kiln_visit_integer(walk, steps[i], "%s%" PRIu32, name, i);
}

void kiln_visit_window_numbers(struct kiln_integer_walk *walk)
{
    const struct kiln_emission *emission = walk->emission;
    const struct kiln_pooling_schedule *pooling = kiln_emitted_pooling(emission);
    for (uint32_t i = 0; i < pooling->window_count; i++)
        kiln_visit_integer(walk, pooling->windows[i].size, "size%" PRIu32, i);
    for (uint32_t access = 0; access < emission->group->load_count; access++) {
        for (uint32_t i = 0; i < pooling->window_count && is_of_image(emission, access); i++) {
            int64_t stride = window_stride(emission, access, i);
            if (stride != 0)
                kiln_visit_integer(walk, stride, "image%" PRIu32 "_%" PRIu32, access, i);
        }
    }
    visit_steps(walk, KILN_OP_REDUCE_ARGMAX, "element_step", kiln_ir_element_steps);
    visit_steps(walk, KILN_OP_REDUCE_SUM_AT, "point_step", kiln_ir_point_steps);
}

/* ---- the image ---- */

static bool is_pixel_axis(const struct kiln_pooling_schedule *pooling, uint32_t axis)
{
    for (uint32_t i = 0; i < pooling->window_count; i++) {
        if (pooling->windows[i].pixel == axis)
            return true;
    }
    return false;
}

static void append_image_offset(const struct kiln_emission *emission, uint32_t access,
                                struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const struct kiln_pooling_schedule *pooling = kiln_emitted_pooling(emission);
    kiln_buffer_append_text(source, "0");
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        int64_t stride = schedule->accesses[access].strides[axis];
        bool is_first = schedule->walk.dims[axis] == 1 && !schedule->options->is_general;
        if (stride == 0 || is_first || is_pixel_axis(pooling, axis))
            continue;
        kiln_buffer_append_text(source, " + ");
        kiln_emit_coordinate(emission, axis, source);
        kiln_buffer_append_text(source, " * ");
        kiln_emit_stride(emission, access, axis, source);
    }
    for (uint32_t i = 0; i < pooling->window_count; i++) {
        int64_t stride = window_stride(emission, access, i);
        if (stride == 0)
            continue;
        kiln_buffer_printf(source, " + (kiln_index)w%" PRIu32 " * ", i);
        kiln_emit_window_number(emission, "kiln_index", stride, source, "image%" PRIu32 "_%" PRIu32,
                                access, i);
    }
}

static void append_image_load(const struct kiln_emission *emission, uint32_t access,
                              struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    uint32_t vector = vector_of(emission);
    enum kiln_access_mode mode = schedule->accesses[access].mode;
    if (emission->group->accesses[access].kind == KILN_ARGUMENT_HOST_SCALAR) {
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", access,
                           access);
    } else if (mode == KILN_ACCESS_VECTOR && vector > 1) {
        kiln_buffer_printf(
            source,
            "    KILN_LOAD_INPUT(%" PRIu32 ", inputs.x%" PRIu32 ", arguments.a%" PRIu32 " + (",
            kiln_vector_bytes(&emission->group->accesses[access], vector), access, access);
        append_image_offset(emission, access, source);
        kiln_buffer_append_text(source, "))\n");
    } else {
        kiln_emit_element_loop("    ", mode == KILN_ACCESS_SPLAT ? 1 : vector, source);
        kiln_buffer_printf(source, "        inputs.x%" PRIu32 "[e] = arguments.a%" PRIu32 "[",
                           access, access);
        append_image_offset(emission, access, source);
        if (vector > 1) {
            kiln_buffer_append_text(source, " + (kiln_index)e * ");
            kiln_emit_stride(emission, access, schedule->walk.rank - 1, source);
        }
        kiln_buffer_append_text(source, "];\n    }\n");
    }
}

/* Coordinates are moved into the image: what is loaded there is not used if the tap is outside. */
static void append_tap_coordinate(const struct kiln_emission *emission, uint32_t number,
                                  struct kiln_buffer *source)
{
    const struct kiln_pooling_schedule *pooling = kiln_emitted_pooling(emission);
    const struct kiln_pooling_window *window = &pooling->windows[number];
    if (number + 1 < pooling->window_count)
        kiln_buffer_printf(source,
                           "    const unsigned t%" PRIu32 " = tap %% %" PRId64
                           "u;\n    tap /= %" PRId64 "u;\n",
                           number, window->taps, window->taps);
    else
        kiln_buffer_printf(source, "    const unsigned t%" PRIu32 " = tap;\n", number);
    if (window->divisor != 0) {
        kiln_buffer_printf(source, "    const unsigned b%" PRIu32 " = %" PRId64 "u", number,
                           window->first);
        if (window->pixel != KILN_NONE) {
            kiln_buffer_append_text(source, " + (unsigned)");
            kiln_emit_coordinate(emission, window->pixel, source);
        }
        kiln_buffer_printf(source,
                           ";\n    int w%" PRIu32 " = (int)(b%" PRIu32 " / %" PRId64 "u - t%" PRIu32
                           ");\n",
                           number, number, window->divisor, number);
        if (window->reach % window->divisor != 0)
            kiln_buffer_printf(source,
                               "    is_inside &= b%" PRIu32 " %% %" PRId64 "u + t%" PRIu32
                               " * %" PRId64 "u < %" PRId64 "u;\n",
                               number, window->divisor, number, window->divisor, window->reach);
    } else {
        kiln_buffer_printf(source, "    int w%" PRIu32 " = (int)(t%" PRIu32, number, number);
        if (window->pixel != KILN_NONE) {
            kiln_buffer_append_text(source, " + (unsigned)");
            kiln_emit_coordinate(emission, window->pixel, source);
            kiln_buffer_printf(source, " * %" PRId64 "u", window->step);
        }
        kiln_buffer_printf(source, " %c %" PRId64 "u);\n", window->first > 0 ? '+' : '-',
                           window->first > 0 ? window->first : -window->first);
    }
    if (window->is_masked) {
        kiln_buffer_printf(source, "    is_inside &= (unsigned)w%" PRIu32 " < ", number);
        kiln_emit_window_number(emission, "unsigned", window->size, source, "size%" PRIu32, number);
        kiln_buffer_append_text(source, ";\n");
    }
    if (window->has_padding || has_spare_taps(pooling)) {
        kiln_buffer_printf(source, "    w%" PRIu32 " = kiln_clamp(w%" PRIu32 ", ", number, number);
        kiln_emit_window_number(emission, "int", window->size, source, "size%" PRIu32, number);
        kiln_buffer_append_text(source, " - 1);\n");
    }
}

/* The sum of coordinates times steps, from a window on; 0 without any. */
static void append_position(const struct kiln_emission *emission, uint32_t first,
                            const int64_t *steps, struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "0");
    for (uint32_t i = first; i < kiln_emitted_pooling(emission)->window_count; i++) {
        kiln_buffer_printf(source, " + w%" PRIu32 " * ", i);
        kiln_emit_window_number(emission, "int", steps[i], source, "element_step%" PRIu32, i);
    }
}

/* ---- spans ---- */

/* Elements of a span that are loaded by themselves: from `begin` to below `end`. */
static void append_single_loads(const struct kiln_emission *emission, uint32_t access,
                                uint32_t begin, uint32_t end, struct kiln_buffer *source)
{
    const struct kiln_pooling_window *window = &kiln_emitted_pooling(emission)->windows[0];
    if (begin == end)
        return;
    kiln_buffer_printf(source,
                       "    KILN_UNROLL\n    for (int e = %" PRIu32 "; e < %" PRIu32
                       "; e++) {\n        const int w0 = kiln_clamp(inputs.w0 + e, %" PRId64
                       ");\n        inputs.x%" PRIu32 "[e] = arguments.a%" PRIu32 "[",
                       begin, end, window->size - 1, access, access);
    append_image_offset(emission, access, source);
    kiln_buffer_append_text(source, "];\n    }\n");
}

static void append_span_load(const struct kiln_emission *emission, uint32_t access,
                             struct kiln_buffer *source)
{
    const struct kiln_pooling_span *span = &kiln_emitted_pooling(emission)->span;
    kiln_buffer_printf(
        source,
        "    {\n        const int w0 = inputs.w0 + %" PRIu32 ";\n        KILN_LOAD_VECTOR(%" PRIu32
        ", &inputs.x%" PRIu32 "[%" PRIu32 "], arguments.a%" PRIu32 " + (",
        span->before, kiln_vector_bytes(&emission->group->accesses[access], span->middle), access,
        span->before, access);
    append_image_offset(emission, access, source);
    kiln_buffer_append_text(source, "))\n    }\n");
    append_single_loads(emission, access, 0, span->before, source);
    append_single_loads(
        emission, access, span->before + span->middle,
        kiln_pooling_tap_elements(emission->schedule, kiln_emitted_pooling(emission)), source);
}

static bool is_span(const struct kiln_emission *emission, uint32_t access)
{
    return kiln_emits_spans(emission) &&
           emission->group->accesses[access].kind != KILN_ARGUMENT_HOST_SCALAR &&
           emission->schedule->accesses[access].mode != KILN_ACCESS_SPLAT;
}

/* Where the span begins: the first element that belongs to a tap of the first result. */
static void append_span_begin(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_pooling_window *window = &kiln_emitted_pooling(emission)->windows[0];
    kiln_buffer_append_text(source, "    inputs.w0 = (int)((unsigned)");
    kiln_emit_coordinate(emission, window->pixel, source);
    kiln_buffer_printf(source, " * %" PRId64 "u - %" PRId64 "u);\n", window->step, -window->first);
}

/* ---- taps ---- */

/* Members for the coordinates of a tap and the position of its element. */
static void append_tap_members(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    if (kiln_find_emitted_anchor(emission, KILN_OP_REDUCE_ARGMAX) != KILN_NONE)
        kiln_buffer_append_text(source, "    int position;\n");
    for (uint32_t i = 0; i < kiln_emitted_pooling(emission)->window_count; i++)
        kiln_buffer_printf(source, "    int w%" PRIu32 ";\n", i);
}

static void append_load_tap(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_pooling_schedule *pooling = kiln_emitted_pooling(emission);
    uint32_t first = kiln_emits_spans(emission) ? 1 : 0; /* window that the loop moves along */
    kiln_buffer_append_text(source,
                            "KILN_DEVICE bool kiln_load_tap(const kiln_arguments &arguments, const "
                            "kiln_position &position, unsigned tap, kiln_tap_inputs &inputs)\n{\n"
                            "    (void)arguments, (void)position, (void)tap, (void)inputs;\n"
                            "    bool is_inside = true;\n");
    if (first != 0)
        append_span_begin(emission, source);
    for (uint32_t i = first; i < pooling->window_count; i++)
        append_tap_coordinate(emission, i, source);
    for (uint32_t i = first; i < pooling->window_count; i++)
        kiln_buffer_printf(source, "    inputs.w%" PRIu32 " = w%" PRIu32 ";\n", i, i);
    uint32_t argmax = kiln_find_emitted_anchor(emission, KILN_OP_REDUCE_ARGMAX);
    if (argmax != KILN_NONE) {
        int64_t steps[KILN_MAP_MAX_WINDOWS];
        kiln_ir_element_steps(emission->ir, kiln_emitted_anchor(emission, argmax), steps);
        kiln_buffer_append_text(source, "    inputs.position = is_inside ? ");
        append_position(emission, first, steps, source);
        kiln_buffer_append_text(source, " : -1;\n");
    }
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (is_span(emission, i) && is_of_image(emission, i))
            append_span_load(emission, i, source);
        else if (is_of_image(emission, i))
            append_image_load(emission, i, source);
    }
    kiln_buffer_append_text(source, "    return is_inside;\n}\n");
}

void kiln_emit_taps(const struct kiln_emission *emission, const bool *is_image,
                    struct kiln_buffer *source)
{
    const struct kiln_pooling_schedule *pooling = kiln_emitted_pooling(emission);
    kiln_buffer_append_text(source, "struct kiln_tap_inputs {\n");
    kiln_emit_input_members(emission, is_image,
                            kiln_pooling_tap_elements(emission->schedule, pooling), source);
    append_tap_members(emission, source);
    kiln_buffer_append_text(source, "};\n");
    append_load_tap(emission, source);
}
