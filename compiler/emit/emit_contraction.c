#include "compiler/emit/emit_contraction.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/fuse/contraction_group.h"

#include <inttypes.h>

static void append_arguments(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    kiln_emit_arguments(emission, source);
    /* kiln_emit_arguments ends the structure with "};\n": members are put in front of it. */
    source->size -= 3;
    kiln_emit_contraction_arguments(emission, source);
    kiln_buffer_append_text(source, "};\n");
}

static void append_batch(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t batch = kiln_contraction_of(emission)->batch_rank;
    kiln_buffer_append_text(source, "struct kiln_batch {\n");
    if (kiln_group_cuts_k(emission->group))
        kiln_buffer_append_text(source, "    unsigned segment;\n");
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    unsigned c%" PRIu32 ";\n", b);
    kiln_emit_contraction_phase_members(emission, source);
    kiln_buffer_append_text(source, "};\nKILN_DEVICE void kiln_locate_batch(const kiln_arguments "
                                    "&arguments, unsigned rest, kiln_batch &batch)\n{\n"
                                    "    (void)arguments, (void)rest, (void)batch;\n");
    for (uint32_t b = batch; b-- > 0;)
        kiln_buffer_printf(source,
                           "    batch.c%" PRIu32 " = rest %% (unsigned)arguments.batch%" PRIu32
                           ";\n    rest /= (unsigned)arguments.batch%" PRIu32 ";\n",
                           b, b, b);
    kiln_emit_contraction_phases(emission, source);
    kiln_buffer_append_text(source, "}\n");
}

/* ---- the whole ---- */

void kiln_emit_contraction(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_side left = {&kiln_contraction_of(emission)->left, "left",
                                               "LEFT"};
    const struct kiln_contraction_side right = {&kiln_contraction_of(emission)->right, "right",
                                                "RIGHT"};
    append_arguments(emission, source);
    append_batch(emission, source);
    kiln_emit_contraction_splits(emission, source);
    kiln_emit_contraction_phase_sizes(emission, source);
    if (kiln_contraction_of(emission)->is_direct) {
        kiln_emit_contraction_direct(emission, source);
    } else {
        kiln_emit_contraction_operand(emission, &left, source);
        kiln_emit_contraction_operand(emission, &right, source);
    }
    kiln_emit_contraction_result(emission, source);
}
