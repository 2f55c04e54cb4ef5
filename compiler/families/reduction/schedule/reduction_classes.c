#include "compiler/families/reduction/schedule/reduction_classes.h"

#include "compiler/families/reduction/schedule/reduction_registers.h"

#include <stddef.h>

/*
 * A class spends the unrolled steps of its largest row on all of its rows, behind conditions, and
 * as many work-items. Held rows also spend the registers of the largest row, so long rows have
 * finer classes: 8192 floats, 2048 steps, must not occupy the registers of 4096 steps. Rows whose
 * ends cut a vector have fewer classes. So have rows that are read once: work-items loop over what
 * they have.
 */
static const uint64_t held_classes[] = {32, 256, 1024, 2048, 4096};
static const uint64_t cut_held_classes[] = {32, 1024};
static const uint64_t row_classes[] = {2, 16, 64, 256};
static const uint64_t cut_row_classes[] = {16, 128};
static const uint64_t element_classes[] = {8}; /* rows shorter than a vector */
static const uint64_t column_classes[] = {16, 128, 512};
static const uint64_t kept_classes[] = {64}; /* of the host: whether all cores have rows */

enum {
    LARGE = 1 << 20, /* everything above the last class */
    /* Work-groups of columns: neighbouring vectors, and the work-items that share them. */
    SHORT_KEPT = 64,
    KEPT = 8,
    BLOCK = 256,
    LARGE_BLOCK = 1024,
};

static uint64_t class_of(uint64_t size, const uint64_t *classes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (size <= classes[i])
            return classes[i];
    }
    return size < LARGE ? LARGE : size;
}

#define CLASS_OF(size, classes) class_of(size, classes, sizeof(classes) / sizeof *(classes))

void kiln_reduction_class(const struct kiln_reduction_problem *problem,
                          struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    uint64_t *steps = &reduction->steps_per_segment;
    bool is_cut = kiln_schedule_has_tails(schedule);
    bool is_segmented = reduction->segment_count > 1;
    /* One work-group has all columns, however long they are. */
    bool is_narrow = schedule->walk.vector_elems == 1 && reduction->kept_count <= KEPT;
    if (schedule->options->is_general) {
        reduction->kept_count = LARGE;
        *steps = LARGE;
        return;
    }
    reduction->kept_count =
        problem->is_host ? CLASS_OF(reduction->kept_count, kept_classes) : LARGE;
    if (problem->is_host || is_segmented)
        *steps = *steps < LARGE ? LARGE : *steps;
    else if (kiln_reduction_is_columns(reduction))
        *steps = is_narrow ? LARGE : CLASS_OF(*steps, column_classes);
    else if (schedule->walk.vector_elems == 1)
        *steps = CLASS_OF(*steps, element_classes);
    else if (kiln_gains_from_holding(problem))
        *steps = is_cut ? CLASS_OF(*steps, cut_held_classes) : CLASS_OF(*steps, held_classes);
    else
        *steps = is_cut ? CLASS_OF(*steps, cut_row_classes) : CLASS_OF(*steps, row_classes);
}

bool kiln_is_longer_than_classes(const struct kiln_reduction_problem *problem,
                                 const struct kiln_schedule *schedule)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    return problem->sizes == KILN_LAYOUT_OF_CLASS && !kiln_reduction_is_columns(reduction) &&
           kiln_schedule_has_tails(schedule) &&
           CLASS_OF(reduction->steps_per_segment, cut_held_classes) >= LARGE;
}

void kiln_lay_out_column_class(const struct kiln_reduction_problem *problem,
                               struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    bool is_short = reduction->steps_per_segment <= column_classes[0];
    bool is_long = reduction->steps_per_segment > column_classes[1]; /* as segments are */
    uint32_t block = kiln_min_u32(is_long ? LARGE_BLOCK : BLOCK, problem->max_block);
    reduction->items_along_kept = kiln_min_u32(is_short ? SHORT_KEPT : KEPT, block);
    reduction->items_along_reduced = block / reduction->items_along_kept;
}
