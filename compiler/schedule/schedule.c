#include "compiler/schedule/schedule.h"

bool kiln_access_is_dense(const struct kiln_access_schedule *access, uint32_t axis)
{
    return access->strides[axis] == 1 && access->repeats[axis] == 0;
}

bool kiln_vectors_keep_multiples(const struct kiln_schedule *schedule, uint32_t axis)
{
    const struct kiln_walk *walk = &schedule->walk;
    bool has_columns = walk->reduced_axes != 0 && !((walk->reduced_axes >> (walk->rank - 1)) & 1u);
    bool has_whole_tiles = walk->form == KILN_WALK_TILES && kiln_tiles_are_whole(schedule, axis);
    return walk->moved_elems == 0 && walk->skew_elems == 0 &&
           (!(has_columns || has_whole_tiles) || walk->dims[axis] % walk->vector_elems == 0);
}

bool kiln_access_is_shared(const struct kiln_schedule *schedule,
                           const struct kiln_access_schedule *access, uint32_t axis)
{
    int64_t repeat = access->repeats[axis];
    return access->strides[axis] == 0 ||
           (repeat != 0 && repeat % schedule->walk.vector_elems == 0 &&
            kiln_vectors_keep_multiples(schedule, axis));
}

/* True if a vector of a tile is cut by the end of this axis. */
static bool cuts_tile(const struct kiln_schedule *schedule, uint32_t axis)
{
    return !kiln_tiles_are_whole(schedule, axis) &&
           schedule->walk.dims[axis] % schedule->walk.vector_elems != 0;
}

bool kiln_schedule_has_tails(const struct kiln_schedule *schedule)
{
    /* Few lines that are walked as one are whole vectors: it is not worth a kernel. */
    if (schedule->walk.form == KILN_WALK_FLATTENED && schedule->walk.sizes != KILN_SIZES_CONSTANT)
        return schedule->walk.vector_elems > 1;
    if (schedule->walk.form != KILN_WALK_TILES)
        return schedule->walk.moved_elems == 0 &&
               (schedule->walk.cols % schedule->walk.vector_elems != 0 ||
                schedule->walk.skew_elems != 0);
    return cuts_tile(schedule, schedule->walk.rank - 1) ||
           cuts_tile(schedule, schedule->walk.tile_axis);
}

bool kiln_tiles_are_whole(const struct kiln_schedule *schedule, uint32_t axis)
{
    return schedule->walk.dims[axis] >= schedule->walk.tile_elems;
}

bool kiln_schedule_has_turns(const struct kiln_schedule *schedule)
{
    return schedule->launch.chunk_count > schedule->launch.grid;
}

bool kiln_walk_has_rows(const struct kiln_schedule *schedule)
{
    return schedule->options->is_general ? schedule->walk.rank > 1 : schedule->walk.rows != 1;
}

bool kiln_walk_is_dense(const struct kiln_schedule *schedule, const struct kiln_fusion_group *group,
                        uint32_t access)
{
    bool may_be_dense =
        !schedule->options->is_general || kiln_dtype_is_packed(group->accesses[access].dtype);
    return may_be_dense &&
           kiln_access_is_dense(&schedule->accesses[access], schedule->walk.rank - 1);
}
