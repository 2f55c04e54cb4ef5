#include "compiler/emit/emit_family.h"

#include "compiler/emit/emit_counts.h"
#include "compiler/schedule/tuning.h"
#include "compiler/schedule/vector_access.h"

#include <inttypes.h>
#include <stdio.h>

#define KILN_FAMILY(name, lower, op_class, text, reason)                                           \
    extern const struct kiln_emit_family kiln_emit_family_##lower;
#include "compiler/kernel_family.def"

const struct kiln_emit_family *kiln_emit_family(enum kiln_kernel_family family)
{
    static const struct kiln_emit_family *const families[] = {
#define KILN_FAMILY(name, lower, op_class, text, reason) &kiln_emit_family_##lower,
#include "compiler/kernel_family.def"
    };
    return families[family];
}

void kiln_emit_constant(const char *name, uint64_t value, struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "#define KILN_%s %" PRIu64 "\n", name, value);
}

void kiln_visit_integers(struct kiln_integer_walk *walk)
{
    const struct kiln_emit_family *family = kiln_emit_family(walk->emission->schedule->family);
    if (family->visit_integers != NULL)
        family->visit_integers(walk);
}

void kiln_emit_grid(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    bool has_turns = kiln_schedule_has_turns(schedule);
    kiln_emit_constant("HAS_TURNS", has_turns, source);
    if (has_turns)
        kiln_buffer_printf(source, "#define KILN_GRID %" PRIu32 "u\n", schedule->launch.grid);
}

/* True if work-groups store strips of columns. Neighbouring strips share lines of caches. */
static bool stores_strips(const struct kiln_emission *emission)
{
    const struct kiln_walk *walk = &emission->schedule->walk;
    bool are_columns = (walk->reduced_axes >> (walk->rank - 1) & 1u) == 0;
    for (uint32_t i = emission->group->load_count; i < emission->group->access_count; i++) {
        for (uint32_t axis = 0; are_columns && axis < walk->rank; axis++) {
            if ((walk->reduced_axes >> axis & 1u) != 0 &&
                emission->schedule->accesses[i].strides[axis] != 0)
                return true;
        }
    }
    return false;
}

bool kiln_shares_out_chunks(const struct kiln_emission *emission)
{
    return (emission->schedule->walk.form == KILN_WALK_TILES || stores_strips(emission)) &&
           kiln_tuning_of(emission->target)->caches > 1;
}

void kiln_emit_turns(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const char *place = "(turn)";
    if (kiln_shares_out_chunks(emission)) {
        kiln_emit_constant("CACHES", kiln_tuning_of(emission->target)->caches, source);
        place = "kiln_chunk_of_cache<KILN_CACHES, kiln_index>(turn, KILN_CHUNKS)";
    }
    kiln_buffer_printf(source,
                       schedule->walk.is_backward
                           ? "#define KILN_CHUNK(turn) (KILN_CHUNKS - 1 - %s)\n"
                           : "#define KILN_CHUNK(turn) %s\n",
                       place);
    kiln_emit_constant("VECTOR", schedule->walk.vector_elems, source);
}

void kiln_emit_chunk_header(const struct kiln_emission *emission,
                            struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    if (kiln_shares_out_chunks(emission))
        kiln_template_append(inclusion, "device/chunk_of_cache.h", source);
}

void kiln_emit_turns_header(const struct kiln_emission *emission,
                            struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    bool has_turns = kiln_schedule_has_turns(emission->schedule);
    kiln_template_append(inclusion, has_turns ? "device/turns.h" : "device/turns_none.h", source);
}

void kiln_emit_convert_header(enum kiln_dtype dtype, struct kiln_template_inclusion *inclusion,
                              struct kiln_buffer *source)
{
    char path[128];
    (void)snprintf(path, sizeof path, "device/convert/%s.h", kiln_dtype_info(dtype)->device);
    kiln_template_append(inclusion, path, source);
}

void kiln_emit_access_headers(const struct kiln_emission *emission,
                              struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        kiln_emit_convert_header(emission->group->accesses[i].dtype, inclusion, source);
        if (kiln_access_is_unaligned(emission->group, emission->target, emission->schedule, i))
            kiln_template_append(inclusion, "device/unaligned.h", source);
    }
}

void kiln_emit_operation_headers(const struct kiln_emission *emission,
                                 struct kiln_template_inclusion *inclusion,
                                 struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < emission->group->op_count; i++) {
        const struct kiln_op *op = &emission->ir->ops[emission->group->ops[i]];
        bool divides = kiln_sum_over_count(emission, op) != KILN_NONE;
        const struct kiln_opcode_info *info = kiln_opcode_info(divides ? KILN_OP_DIV : op->opcode);
        char path[128];
        if (op->opcode == KILN_OP_ROUND) {
            kiln_emit_convert_header(op->dtype, inclusion, source);
        } else if (op->opcode == KILN_OP_ROUND_UP) {
            kiln_template_append(inclusion, "device/math/round_up.h", source);
        } else if (info->op_class == KILN_OP_CLASS_ELEMENTWISE && op->opcode != KILN_OP_COPY) {
            (void)snprintf(path, sizeof path, "device/math/%s_%s.h", info->text,
                           kiln_scalar_text(op->scalar));
            kiln_template_append(inclusion, path, source);
        }
    }
}
