/*
 * Schedules: how a fusion group runs on a target. Which template, in which order the elements are
 * walked, how many at once, by how many work-items.
 *
 * The group's domain is collapsed first: axes of size 1 vanish, axes are ordered so that the last
 * one is the fastest in memory for most of the traffic, and neighbours that every access walks as
 * one become one. What is left are `rank` axes, the last of which is the inner axis; all others
 * together count rows.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_H

#include "compiler/codegen/target.h"
#include "compiler/fuse/fusion_group.h"
#include "compiler/lower_options.h"

enum { KILN_MAX_ACCESS_STRIDES = 22 };

/* How an access gets the elements of one vector. */
enum kiln_access_mode {
    KILN_ACCESS_VECTOR,     /* consecutive in memory: one wide access */
    KILN_ACCESS_SPLAT,      /* the same element for the whole vector: read once */
    KILN_ACCESS_GATHER,     /* one address per element */
    KILN_ACCESS_STAGED,     /* one element, of rows that are staged through LDS whole */
    KILN_ACCESS_TRANSPOSED, /* consecutive along the tile axis: staged through LDS */
};

struct kiln_access_schedule {
    enum kiln_access_mode mode;
    /* In elements, per collapsed axis, unless the family counts them in another way. */
    int64_t strides[KILN_MAX_ACCESS_STRIDES];
    /* Per collapsed axis: so many neighbours share an element; 0 where they do not. */
    int64_t repeats[KILN_MAX_RANK];
    /* Bit per collapsed axis; of a row value none on reduced axes, since it is stored once per
     * row. */
    uint32_t guard_axes;
    uint32_t alignment_bytes; /* what the pointer must be a multiple of */
    /* A large operand, of which an element is read by few work-items: not worth a place in the
     * nearest cache. */
    bool is_streamed;
    /* 1 + the number that the family gives to where a ragged tensor's batches lie. Accesses of the
     * tensor and the load of its lengths have it; others have 0. */
    uint32_t span;
};

/* True if neighbours along a collapsed axis are neighbours in memory. */
bool kiln_access_is_dense(const struct kiln_access_schedule *access, uint32_t axis);
/* No schedule has more forms. kiln_schedule_relax ends there, but families end well before it. */
enum { KILN_MAX_FORMS = 32 };

/*
 * Upper bounds that a schedule keeps to for the sake of registers. The first form of a schedule has
 * none but those of its options; each later form, for a kernel whose compiler has spilled, has a
 * smaller one (kiln_schedule_relax).
 */
struct kiln_register_limits {
    uint32_t vector_elems;
    uint32_t steps;      /* vectors that a work-item loads together */
    uint64_t held_elems; /* of one operand that a work-item holds, or rows and columns of a tile */
    uint32_t registers;  /* vector registers of a lane, as the family counts them for its tile */
};

/* Sizes and strides of the walk in a kernel's text. */
enum kiln_sizes {
    KILN_SIZES_CONSTANT,
    KILN_SIZES_ARGUMENT,
    KILN_SIZES_WIDE_ARGUMENT, /* the same, and offsets are computed with 64 bits */
};

/* The launch of a kernel. */
struct kiln_schedule_launch {
    uint32_t block;
    uint64_t chunk_count; /* work-group sized pieces of work */
    uint32_t grid_unit;   /* work-groups that run together: the grid is a multiple of it */
    /* Work-groups launched: chunk_count, or fewer; then each takes every grid-th piece.
     * kiln_schedule_group sets it, in the same way for all families. */
    uint32_t grid;
    uint32_t lds_bytes;
};

enum kiln_walk_form {
    KILN_WALK_LINES,
    /* The whole domain is walked as one line although it has several axes: most accesses are dense
     * in this order, the others gather with the line's index taken apart. */
    KILN_WALK_FLATTENED,
    KILN_WALK_TILES,
};

/* The walk over the collapsed domain. A kernel of tiles has one row of its result's columns. */
struct kiln_walk {
    uint32_t rank; /* collapsed axes, at least 1 */
    int64_t dims[KILN_MAX_RANK];
    uint32_t reduced_axes; /* bit per collapsed axis */
    /* Collapsed axis and distance in it of each axis of the group's domain, for INDEX: coordinate
     * of domain axis i is the coordinate on collapsed axis domain_axis[i] (such an axis is never
     * merged), or 0 when KILN_NONE. */
    uint32_t domain_axis[KILN_MAX_RANK];
    /* A short last block (ir/view.h): the length of the axis that the collapsed axes end_blocks and
     * end_elements count, and the size of a block. Steps beyond the end move back to the last one
     * before it. 0: no block is short. */
    int64_t end, end_block;
    uint32_t end_blocks, end_elements;
    enum kiln_walk_form form;
    /* TILES: the other axis of a tile than the inner one, along which transposed accesses are
     * dense. A tile is tile_elems x tile_elems. The last one along an axis is moved back to where
     * it is whole, if the axis is long enough. */
    uint32_t tile_axis, tile_elems;
    uint32_t vector_elems;
    /* Elements that the last vector of a line shares with the one before it: the last one is moved
     * back to where it is whole. 0: it is not moved, and kernels handle the elements of an
     * incomplete vector one by one. */
    uint32_t moved_elems;
    /* Distance of neighbouring rows, modulo a vector. If it is not 0, vectors are aligned in
     * memory, and the elements before the first vector of a row and after the last one are done one
     * by one. 0: vectors start with their row. */
    uint32_t skew_elems;
    /* Arguments if the options ask for it, and in a kernel that combines: what it combines may come
     * from one whose sizes are arguments, too. The choices above are the same for most sizes then.
     */
    enum kiln_sizes sizes;
    /* Vectors lie within a line of cols elements, of which there are `rows`: the inner axis and the
     * number of its lines, except when flattened. */
    uint64_t rows;
    uint64_t cols;
    bool index_is_64bit;
    /* The last piece of work is the first. kiln_kernel_plan_make sets it where a cache holds the
     * end of what an earlier kernel has walked over. */
    bool is_backward;
};

/* A kernel's memory traffic and arithmetic. */
struct kiln_traffic {
    /* Counts each distinct element of an access once per pass that reads it from memory
     * (bytes_moved), or once (bytes_fewest). */
    uint64_t bytes_moved;
    uint64_t bytes_fewest;
    /* Simple operations (fuse/op_cost.h) of all work-items together, without matrix products. */
    uint64_t operations;
};

/*
 * The part that all families have. The family's own part is `details`, a struct that only the
 * family's room knows (kiln_<family>_schedule_of).
 */
struct kiln_schedule {
    enum kiln_kernel_family family;
    const char *template_name; /* kernels_templates/<template_name>.hip. Static */
    uint32_t form;             /* 0: the first; n: what kiln_schedule_relax made of form n - 1 */
    struct kiln_register_limits limits;
    /* The options that the group is scheduled with; a copy in the arena. */
    const struct kiln_lower_options *options;
    /* The family's part. It belongs to the arena. The family's functions write it before
     * kiln_schedule_group returns, and nobody writes it later, so copies of a schedule share it. */
    void *details;
    struct kiln_access_schedule *accesses; /* one per group access */
    /* Per position in group->ops: where the value is evaluated. NULL: all at the elements, or where
     * group->places says. */
    const enum kiln_place *places;

    struct kiln_schedule_launch launch;
    struct kiln_walk walk;
    struct kiln_traffic traffic;
    /* PARTIAL: into how many segments the work is cut: as many as the group says, unless each tile
     * of the family's schedule is a segment. */
    uint32_t segment_count;
};

/* The work of a kernel, for comparing its time with the peak rates of a device. */
struct kiln_kernel_work {
    const char *template_name;          /* static */
    uint64_t bytes_moved, bytes_fewest; /* as in the schedule */
    /* Multiplications and additions of products, counted apart, also those that a mask hides. */
    double product_operations;
    enum kiln_dtype product_dtype;
    bool has_matrix_unit;     /* matrix instructions do the products, not the vector unit */
    double simple_operations; /* all others: kiln_schedule.operations */
};

/* True if some vector is cut by the end of a row (or of a line of a tile), so that elements are
 * done one by one. */
bool kiln_schedule_has_tails(const struct kiln_schedule *schedule);

/* True if all tiles lie inside of the domain along one of their axes, since it is as long as a
 * tile: the last tile is moved back to where it is whole, if it is not. */
bool kiln_tiles_are_whole(const struct kiln_schedule *schedule, uint32_t axis);

/* True if every vector along an axis starts at a multiple of its length. The last vector of rows,
 * columns and tiles that is moved back to where it is whole does not, nor do those of rows that
 * are skewed. */
bool kiln_vectors_keep_multiples(const struct kiln_schedule *schedule, uint32_t axis);

/* True if all elements of every vector along an axis are one element of the access in memory. */
bool kiln_access_is_shared(const struct kiln_schedule *schedule,
                           const struct kiln_access_schedule *access, uint32_t axis);

/* True if neighbours along the inner axis are neighbours in memory in all shapes that the kernel
 * serves. */
bool kiln_walk_is_dense(const struct kiln_schedule *schedule, const struct kiln_fusion_group *group,
                        uint32_t access);
/* True if the walk has several lines, or may have them in a general kernel. */
bool kiln_walk_has_rows(const struct kiln_schedule *schedule);

/* True if a work-group takes several pieces of work: the launch has fewer work-groups. */
bool kiln_schedule_has_turns(const struct kiln_schedule *schedule);

#endif
