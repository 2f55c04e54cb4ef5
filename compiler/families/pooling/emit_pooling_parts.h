/* Declarations that the files of the emission share. Internal to the room. */
#ifndef KILN_COMPILER_FAMILIES_POOLING_EMIT_POOLING_PARTS_H
#define KILN_COMPILER_FAMILIES_POOLING_EMIT_POOLING_PARTS_H

#include "compiler/emit/emission.h"
#include "compiler/emit/emit_integers.h"
#include "compiler/families/pooling/pooling_group.h"
#include "compiler/families/pooling/pooling_schedule.h"

/* Names in the generated text: emit_access.h, emit_values.h, emit_coordinates.h. Along window i,
 * t<i> is the tap and w<i> the coordinate in the image. A gradient counts its taps from b<i>. The
 * i-th REDUCE of the group has reduced.value<i> and reduced.position<i>. */

static inline const struct kiln_pooling_schedule *
kiln_emitted_pooling(const struct kiln_emission *emission)
{
    return kiln_pooling_schedule_of(emission->schedule);
}

static inline bool kiln_emits_spans(const struct kiln_emission *emission)
{
    return kiln_emitted_pooling(emission)->span.middle != 0;
}

/* The REDUCE with this number. */
static inline const struct kiln_op *kiln_emitted_anchor(const struct kiln_emission *emission,
                                                        uint32_t number)
{
    return &emission->ir->ops[emission->group->anchors[number]];
}

/* The number of a REDUCE of the group with this code; KILN_NONE: there is none. */
uint32_t kiln_find_emitted_anchor(const struct kiln_emission *emission, enum kiln_opcode opcode);

/* Prints a number that follows from sizes as "(int)7", or as the member of kiln_arguments with that
 * name in general kernels. */
__attribute__((format(printf, 5, 6))) void
kiln_emit_window_number(const struct kiln_emission *emission, const char *type, int64_t value,
                        struct kiln_buffer *source, const char *name, ...);
/* The integers that such numbers are: sizes and strides of windows, and steps of positions. */
void kiln_visit_window_numbers(struct kiln_integer_walk *walk);

/* emit_taps.c: kiln_tap_inputs, and kiln_load_tap, which fills it. `is_image` has a flag for each
 * load. */
void kiln_emit_taps(const struct kiln_emission *emission, const bool *is_image,
                    struct kiln_buffer *source);

#endif
