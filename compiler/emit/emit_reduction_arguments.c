#include "compiler/emit/emit_reduction_arguments.h"

#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_integers.h"
#include "compiler/emit/emit_reduction.h"

#include <inttypes.h>

static void visit_all(struct kiln_integer_walk *walk)
{
    const struct kiln_emission *emission = walk->emission;
    const struct kiln_schedule *schedule = emission->schedule;
    if (!kiln_sizes_are_arguments(emission))
        return;
    kiln_visit_integer(walk, (int64_t)schedule->chunk_count, "chunks");
    kiln_visit_integer(walk, (int64_t)schedule->reduction.kept_count, "kept");
    kiln_visit_integer(walk, (int64_t)schedule->reduction.step_count, "steps");
    kiln_visit_integer(walk, kiln_chain_count(emission), "chains");
    kiln_visit_integer(walk, kiln_vectors_of_rows(schedule), "vectors");
    kiln_visit_integer(walk, kiln_last_vector_of_rows(schedule), "last_vector");
    for (uint32_t axis = 0; axis + 1 < schedule->rank; axis++)
        kiln_visit_integer(walk, schedule->dims[axis], "d%" PRIu32, axis);
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        for (uint32_t axis = 0; axis < schedule->rank; axis++) {
            if (kiln_is_axis_stride_argument(emission, i, axis))
                kiln_visit_integer(walk, schedule->accesses[i].strides[axis],
                                   "s%" PRIu32 "_%" PRIu32, i, axis);
        }
    }
}

uint32_t kiln_reduction_integers(const struct kiln_emission *emission, int64_t *ret_values)
{
    struct kiln_integer_walk walk = {.emission = emission, .values = ret_values};
    visit_all(&walk);
    return walk.count;
}

void kiln_emit_reduction_arguments(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    struct kiln_integer_walk walk = {.emission = emission, .source = source};
    visit_all(&walk);
}
