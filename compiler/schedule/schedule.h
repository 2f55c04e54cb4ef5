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
#include "compiler/fuse/partition.h"
#include "compiler/fuse/reduction_passes.h"
#include "compiler/schedule/mma.h"

enum {
    KILN_MAX_BATCH_AXES = KILN_CONTRACTION_MAX_BATCH_AXES,
    KILN_MAX_ROLE_AXES = KILN_CONTRACTION_MAX_ROLE_AXES, /* of rows, of columns, or of k */
};

/* The strides that a contraction's access has: kiln_access_schedule.strides by these. */
enum kiln_contraction_stride {
    KILN_STRIDE_ROW,    /* of an operand: along m or n; of the result: along m. The last axis */
    KILN_STRIDE_COLUMN, /* of an operand: along k; of the result: along n. The last axis */
    KILN_STRIDE_BATCH,  /* the first of the batch axes; the others follow */
    /* Where the access splits rows, or columns: all axes but the last, first to last. */
    KILN_STRIDE_OUTER_ROW = KILN_STRIDE_BATCH + KILN_MAX_BATCH_AXES,
    KILN_STRIDE_OUTER_COLUMN = KILN_STRIDE_OUTER_ROW + KILN_MAX_ROLE_AXES - 1,
    /* Of an operand with windows: from its first element to coordinate 0 of rows and k. */
    KILN_STRIDE_ORIGIN = KILN_STRIDE_OUTER_COLUMN + KILN_MAX_ROLE_AXES - 1,
    /* For each phase, of a coordinate of its window; of the other operand, of a tap. */
    KILN_STRIDE_PHASE,
    /* Direct, of the operand that has the groups of the other one's rows: along the axes of those,
     * first to last. */
    KILN_STRIDE_ACROSS = KILN_STRIDE_PHASE + KILN_MAX_SPATIAL_AXES,
    KILN_MAX_ACCESS_STRIDES = KILN_STRIDE_ACROSS + KILN_MAX_ROLE_AXES,
};

/* How an access gets the elements of one vector. */
enum kiln_access_mode {
    KILN_ACCESS_VECTOR,     /* consecutive in memory: one wide access */
    KILN_ACCESS_SPLAT,      /* the same element for the whole vector: read once */
    KILN_ACCESS_GATHER,     /* one address per element */
    KILN_ACCESS_TRANSPOSED, /* consecutive along the tile axis: staged through LDS */
};

struct kiln_access_schedule {
    enum kiln_access_mode mode;
    /* In elements, per collapsed axis; of a contraction by enum kiln_contraction_stride. */
    int64_t strides[KILN_MAX_ACCESS_STRIDES];
    /* Of a contraction: the access does not walk along all axes of its rows, or of its columns, as
     * one, so that the index is taken apart for it. */
    bool splits_rows, splits_columns;
    bool is_windowed;  /* it walks along an axis that its operand has a window over */
    int64_t last_pack; /* of a contraction with runs of k: kiln_last_pack */
    /* Bit per collapsed axis; of a row value none on reduced axes, since it is stored once per
     * row. */
    uint32_t guard_axes;
    uint32_t alignment_bytes; /* what the pointer must be a multiple of */
    /* A large operand, of which an element is read by few work-items: not worth a place in the
     * nearest cache. */
    bool is_streamed;
};

/*
 * How a pointwise kernel's work is laid out: in vectors of a line, or in tiles of two axes, the
 * inner one and tile_axis.
 */
struct kiln_pointwise_schedule {
    uint32_t vectors_per_item; /* that are loaded together */
    uint32_t tile_elems;       /* the tile is tile_elems x tile_elems; 0: lines */
};

/*
 * How a reduction group's work is laid out. Collapsed axes are reduced or kept, never both; at
 * least one is reduced, there may be none that is kept (then there is one row). A COMBINE group's
 * axis 0 is the segment, size segment_count, reduced; if there is one row it is the only axis.
 *
 * The inner axis decides the form. `rows`: it is reduced, vectors lie along it, a vector's elements
 * belong to one row, neighbouring work-items share a row. `columns`: it is kept, a vector holds one
 * element of each of vector_elems neighbouring rows, neighbouring work-items take neighbouring
 * vectors.
 *
 * A work-group has items_along_reduced x items_along_kept work-items. Every work-item does the
 * steps r, r + items_along_reduced, ... of its row (or of its vector of rows), r being its place
 * along the reduced axes; then the accumulators are merged over the work-items of the row, always
 * in the same order. Of segments that take turns the work-items are counted together: r, r +
 * segment_count * items_along_reduced, ..., those of a segment being neighbours.
 *
 * Steps are numbered over the reduced axes, the last one fastest, rows (vectors of rows) over the
 * kept ones; the inner axis counts as ceil(cols / vector_elems) in both, since a vector never
 * crosses the end of a line of the inner axis. In the form `rows` the kernel walks elements that
 * fill no vector by themselves, shared out in the same way. Where segments do
 * not take turns, segment s has the whole vectors from s * ceil(vectors / segment_count) on, and
 * likewise of such elements. Some segments may be empty.
 */
struct kiln_reduction_schedule {
    struct kiln_reduction_passes passes;
    bool is_columns;
    uint32_t items_along_reduced; /* a power of two */
    uint32_t items_along_kept;    /* a power of two */
    /* Steps that a work-item loads together before it uses them. is_resident: all it has, so that
     * every element is loaded once and waits in registers from pass to pass. */
    uint32_t steps_per_item;
    bool is_resident;
    uint64_t kept_count;    /* rows; in the form `columns` vectors of rows */
    uint64_t step_count;    /* steps of a row: vectors in the form `rows`, else elements */
    uint32_t segment_count; /* PARTIAL: work-groups that share a row; else 1 */
    /* On a GPU, where work-groups advance together: what the caches hold when the last have read it
     * is all of the row's end. A core of a CPU fetches ahead, so there each reads its own stretch.
     */
    bool segments_take_turns;
    /* At most, up to whole turns: ceil(step_count / segment_count). Of segments of attention: as
     * many as the kernel is for. */
    uint64_t steps_per_segment;
    /* What is held from pass to pass is converted in each of them, instead of kept converted, which
     * takes more registers: nothing costly is made of it in more passes than one. */
    bool decodes_again;
    /* Rows are those of attention, and steps its segments. Where they are held, the first pass
     * loads all that any pass needs: one wait instead of one for each pass. */
    bool merges_attention;
};

/* The tiles of a contraction along k: the end of k is in the first of them, so that the loop over
 * the others checks nothing. */
enum kiln_k_end {
    KILN_K_END_NONE,  /* k is whole tiles */
    KILN_K_END_FIRST, /* the first tile is what the others leave over */
    KILN_K_END_ALONE, /* there is no other tile */
    KILN_K_END_ANY,   /* FIRST or ALONE, whichever it is when the kernel runs */
};

/* How an operand's tile gets into LDS. */
struct kiln_operand_schedule {
    /* The places that it stages: of two products both have one operand, and the other one of each
     * makes a part of the tile. */
    uint32_t part_count;
    enum kiln_place places[KILN_GROUP_MAX_PRODUCTS];
    int64_t row_size, k_size; /* elements that it has along its rows, and along k */
    bool is_along_k; /* neighbouring work-items load neighbours along k, else along the rows */
    uint32_t run;    /* rows that a work-item loads at once; 1 if is_along_k */
    uint32_t vector; /* elements of a load along k */
    /* 2 or 4: work-items load half or a quarter of a pack of each row of a run, of so many times
     * the rows, so that loads are wider; else 1. */
    uint32_t pieces;
};

enum { KILN_SCALAR_BLOCK = 4 };

/* What the tile of a kernel with statistics has an accumulator for. */
enum kiln_statistics {
    KILN_STATISTICS_NONE,
    KILN_STATISTICS_ROWS,    /* each of its rows: n is reduced, and m is not */
    KILN_STATISTICS_COLUMNS, /* each of its columns: m is, and n is not */
    KILN_STATISTICS_TILE,    /* all of it */
};

/* Axes that one index of a kernel counts over, the last one fastest. */
struct kiln_role_axes {
    uint32_t count; /* at least 1 */
    int64_t sizes[KILN_MAX_ROLE_AXES];
    /* Which axis of the group's domain, counted from the right, each goes along, and in which
     * steps: for INDEX. KILN_NO_AXIS: none, or several that are one here. */
    uint8_t domain_axes[KILN_MAX_ROLE_AXES];
    int64_t domain_steps[KILN_MAX_ROLE_AXES];
};

/* A coordinate that may lie outside of the operand: offset and steps of all axes added up. */
struct kiln_window_schedule {
    int64_t size;
    int64_t offset;
    int64_t row_steps[KILN_MAX_ROLE_AXES];
    int64_t k_steps[KILN_MAX_ROLE_AXES];
    int64_t batch_steps[KILN_MAX_BATCH_AXES];
    uint32_t phase; /* index into phases, which has the offset; or KILN_NONE */
};

/*
 * Rows r of the result, taps t of k, have a coordinate where divisor divides offset + r + step * t.
 * Row r is divisor * i + p, p being the phase, which a batch axis counts; its taps are the first
 * that fits, and every spread-th from there.
 */
struct kiln_phase {
    uint32_t batch;    /* the batch axis */
    uint32_t row_axis; /* of rows: i */
    uint32_t k_axis;   /* of sums: which of its phase's taps */
    int64_t offset;
    int64_t step;
    int64_t divisor; /* and number of phases, if there are so many rows */
    int64_t taps;
    int64_t spread;
    int64_t row_count; /* of r: i and p may go beyond */
};

/*
 * A contraction's work. `left` is the operand whose rows are m: the CONTRACT's right one where the
 * kernel computes the transposed product, so that n runs along the result's memory.
 *
 * Of two products the left operand is the one that both have; half of the tile's columns are of the
 * first one, the other half are the same columns of the second.
 */
struct kiln_contraction_schedule {
    const struct kiln_mma *mma; /* NULL: device/mma/scalar.h */
    uint32_t lane_rows;         /* KILN_MMA_BLOCK there; 0 for KILN_SCALAR_BLOCK */
    enum kiln_dtype staged;     /* of both operands in LDS */
    struct kiln_operand_schedule left;
    struct kiln_operand_schedule right;
    int64_t m, n, k; /* the products of the sizes of: */
    struct kiln_role_axes rows, columns, sums;
    /* How much of the last axis of k there is, where its size is rounded up to whole packs
     * (contraction_runs.h); else 0. */
    int64_t k_run;
    uint32_t window_count;
    struct kiln_window_schedule windows[KILN_MAX_SPATIAL_AXES];
    bool is_right_windowed; /* the kernel's */
    uint32_t phase_count;
    struct kiln_phase phases[KILN_MAX_SPATIAL_AXES];
    /* PARTIAL: into how many segments k is cut, of whole tiles but for the end of k, which the
     * first has, and as equal as that allows; else 1. Neighbouring work-groups have the same tile
     * of neighbouring segments. */
    uint32_t segments;
    uint32_t batch_rank;
    int64_t batch_sizes[KILN_MAX_BATCH_AXES];
    int64_t left_repeats[KILN_MAX_BATCH_AXES]; /* so many indices read one of the operand */
    int64_t right_repeats[KILN_MAX_BATCH_AXES];
    /* Attention: a work-group does `outer` neighbours along batch axis outer_batch of the scores,
     * one after the other, and adds them up: batch.outer counts them. Of that axis batch_sizes has
     * the results. */
    bool has_outer;
    uint32_t outer_batch;
    int64_t outer;
    uint8_t batch_axes[KILN_MAX_BATCH_AXES]; /* as kiln_role_axes.domain_axes */
    int64_t batch_domain_steps[KILN_MAX_BATCH_AXES];
    uint32_t tile_m, tile_n, tile_k; /* elements */
    uint32_t products;               /* that share the columns of a tile: 1 or 2 */
    uint32_t waves_m, waves_n;
    uint32_t waves_k; /* share the steps of a tile along k, or its tiles: their sums are added up */
    /* Neighbouring work-groups that share the k of a tile, as segments do, and add up each other's
     * sums: a cluster of Hopper; else 1. */
    uint32_t groups_k;
    /* Lanes load their fragments themselves, tile_k of them ahead; else operands are staged in LDS.
     */
    bool is_streamed;
    /* Work-items compute elements of the result by themselves: item_rows rows of a vector
     * each, `slots` apart, slots x vectors of them in a work-group. The axis of groups is one of
     * the result's rows or columns, whichever the CONTRACT's right operand has. That operand is
     * shared in LDS, tile_k of it at a time. Then tile_m and tile_n are arguments, not in the text.
     */
    bool is_direct;
    bool are_rows_fast;      /* neighbouring work-items have neighbouring rows, not columns */
    bool is_direct_gradient; /* of depthwise weights: rows are taps, and k pixels, in segments */
    uint32_t item_rows;
    uint32_t slots, vectors;
    /* Small products: a work-item computes item_rows x item_columns neighbours of one product,
     * tile_k of k at a time, and row_items x column_items of them are a product. Sizes and strides
     * of a product are in the text. Both are 0 in other forms. */
    uint32_t row_items, column_items;
    uint32_t item_columns;
    /* The item_rows of a work-item are neighbours of one line of pixels instead, along the last
     * axis of rows, and the last axis of k is strip_taps neighbours along the same axis of the
     * image, of which neighbours of the result are strip_step apart. A work-group has line_slots
     * strips of each of slots / line_slots lines. strip_taps is 0 where rows are apart. */
    uint32_t strip_taps, strip_step;
    uint32_t line_slots;
    uint32_t strip_lines;    /* of a window, whose pixels are loaded together */
    uint32_t strip_steps;    /* tiles of a work-group, each below the one before */
    uint32_t shared_rows;    /* of the shared operand, at most, in LDS */
    uint32_t buffers;        /* tiles of both operands in LDS; 0: streamed, direct */
    bool is_pingpong;        /* two halves of 8 waves take turns at LDS and matrix instructions */
    uint32_t producer_waves; /* that stage for the others, which multiply only; 0: all do both */
    enum kiln_k_end k_end;
    /* Of k as several axes: so many neighbours, from a multiple of their number on, differ along
     * the last axis only, which has no window. tile_k, the elements of a pack, or 1. */
    uint32_t k_granule;
    /* Rows of an instruction's sums are finished in so many parts, for want of local memory. */
    uint32_t row_parts;
    /* Where values are reduced along n, neighbouring lanes that share a row when it is finished;
     * else 0. A tile has all columns then, or the row's statistics are of its columns. */
    uint32_t row_lanes;
    struct kiln_reduction_passes passes; /* over the elements of such a row, or of a tile */
    enum kiln_statistics statistics;
    /* Sums of an operand's rows over k, which work-groups of their own do: sum_groups of them,
     * behind those of the products, each sum_rows rows of a batch, and of one of sum_segments,
     * which are `segments` or one. `summed` is how they load that operand: places[0] is
     * left.places[0] or right.places[0]. Without them part_count is 0. */
    struct kiln_operand_schedule summed;
    bool is_right_summed; /* the kernel's */
    uint32_t sum_rows;
    uint32_t sum_groups;
    uint32_t sum_segments;
    uint64_t summed_bytes;     /* that they read again */
    uint32_t summed_batches;   /* bit per batch axis: the operand varies along it */
    uint32_t reduced_batches;  /* bit per batch axis: statistics are over it too */
    uint32_t statistics_bytes; /* local memory where work-items merge what they have accumulated */
    uint32_t result_vector;    /* neighbours along n that a work-item finishes at once */
    uint32_t chiplets, chiplet_run, super_rows;
    /* By the model that the tile was chosen with; 0 where there is none. */
    double time_ns;
};

/* Which columns of scores a row sees: all limits are kept. */
enum kiln_limit_kind {
    KILN_LIMIT_LAST,    /* column <= row + offset + value */
    KILN_LIMIT_FIRST,   /* column >= row + offset + value */
    KILN_LIMIT_COLUMNS, /* column < value */
    KILN_LIMIT_ROWS,    /* row < value: other rows see none */
};

/* `value` is an integer of the batch: made of loaded lengths and constants by ADD, SUB, MIN and
 * MAX. */
struct kiln_score_limit {
    enum kiln_limit_kind kind;
    int64_t offset;
    uint32_t value;     /* the length, or what is added to the offset; KILN_NONE: nothing */
    bool is_subtracted; /* from the offset instead */
};

enum { KILN_MAX_LIMITS = 8 };

/*
 * Attention: what its first product has (rows of scores are m, columns n, k what both operands
 * have; all of k is one tile), and what comes with the second one, of which n is k. A work-group
 * has tile_m rows, and goes along n by tile_n columns. Of two first, or second, products what the
 * other one has is called <name>_1; its scores, or its result, are of the same shape.
 */
struct kiln_attention_schedule {
    struct kiln_contraction_schedule products;
    struct kiln_operand_schedule value;
    /* Of products of either kind: 1 or 2. Without values the result is a sum of the scores'
     * function itself, a fold: a tile has columns of it as well as rows. */
    uint32_t score_count, value_count;
    bool is_folded[KILN_MAX_BATCH_AXES]; /* batches that a fold sums: products.outer in all */
    struct kiln_operand_schedule left_1, right_1, value_1;
    int64_t k_1;     /* of the second of the first products */
    int64_t d;       /* columns of the result, of which a tile has all */
    uint32_t tile_d; /* elements, at least d */
    int64_t left_1_repeats[KILN_MAX_BATCH_AXES];
    int64_t right_1_repeats[KILN_MAX_BATCH_AXES];
    int64_t value_repeats[KILN_MAX_BATCH_AXES];
    int64_t value_1_repeats[KILN_MAX_BATCH_AXES];
    /* 0, or 1 + the number of the right operand that a value is: a core that reads tiles both ways
     * has it once. */
    uint32_t value_shares, value_1_shares;
    /* Of a single query: rows are the heads that share keys and values, and batches groups of them.
     */
    bool are_rows_heads;
    bool is_transposed; /* rows lie along the last axis of the scores' domain, not the one before */
    bool is_online;     /* the weights are exponentials of scores minus their row's maximum */
    bool shows_maximum; /* an output shows that maximum: it is NaN in rows with a NaN */
    /* The condition of all limits, in the scores' domain: what it hides weighs nothing. KILN_NONE
     * where there is none. */
    uint32_t visible;
    uint32_t limit_count;
    struct kiln_score_limit limits[KILN_MAX_LIMITS];
    /* Fragments of the left operand wait in registers; else they are read for each tile. */
    bool is_left_kept;
    /* Fragments of the first products' next step are read before those of this one are multiplied.
     */
    bool reads_scores_ahead;
    /* How many numbers are loaded for each score; and whether they are asked for after the first
     * products, which takes fewer registers, instead of before them. */
    uint32_t score_loads;
    bool are_score_loads_late;
    /* Tiles are loaded where they are stored, so that no registers hold them meanwhile. */
    bool are_tiles_late;
    /* Waves that share the same rows: each makes all of their scores, and has its part of the
     * result's columns. The work-group has products.waves_m times as many. */
    uint32_t waves_d;
    /* Vector registers of a lane, counted (attention_registers.h). */
    uint32_t registers;
};

/* No schedule has more forms. kiln_schedule_relax ends there, but families end well before it. */
enum { KILN_MAX_FORMS = 32 };

/*
 * Upper bounds that a schedule keeps to for the sake of registers. The first form of a schedule has
 * none but those of its options; each later form, for a kernel whose compiler has spilled, has a
 * smaller one (kiln_schedule_relax).
 */
struct kiln_register_limits {
    uint32_t vector_elems;
    /* Loaded together: vectors of a pointwise work-item, steps of a reduction that are not held. */
    uint32_t steps;
    /* Reduction: elements of one operand that a work-item holds from pass to pass. Contraction:
     * rows and columns of a tile. */
    uint64_t held_elems;
    /* Attention: vector registers of a lane, as they are counted for its tile. */
    uint32_t registers;
};

/* What every family has, then what one has: no code reads another family's member. */
struct kiln_schedule {
    enum kiln_kernel_family family;
    const char *template_name; /* kernels_templates/<template_name>.hip. Static */
    uint32_t form;             /* 0: the first; n: what kiln_schedule_relax made of form n - 1 */
    struct kiln_register_limits limits;
    struct kiln_contraction_options forced;
    struct kiln_access_schedule *accesses; /* one per group access */
    /* Per position in group->ops: where the value is evaluated. NULL: all at the elements, or where
     * group->places says. */
    const enum kiln_place *places;

    /* The launch. */
    uint32_t block;
    uint64_t chunk_count; /* work-group sized pieces of work */
    uint32_t grid_unit;   /* work-groups that run together: the grid is a multiple of it */
    uint32_t max_groups;  /* as in kiln_lower_options */
    /* Work-groups launched: chunk_count, or fewer; then each takes every grid-th piece.
     * kiln_schedule_group sets it, in the same way for all families. */
    uint32_t grid;
    uint32_t lds_bytes;
    bool index_is_64bit;
    /* The last piece of work is the first: set by kiln_kernel_plan_make where a cache holds the end
     * of what an earlier kernel has walked over. */
    bool walks_back;

    /* PARTIAL: into how many segments the work is cut: as many as the group says, but for
     * statistics of a contraction, which have one for each tile. */
    uint32_t segment_count;

    /* The walk over the collapsed domain; a contraction has one row of its result's columns. */
    uint32_t rank; /* collapsed axes, at least 1 */
    int64_t dims[KILN_MAX_RANK];
    uint32_t reduced_axes; /* bit per collapsed axis */
    /* Collapsed axis and distance in it of each axis of the group's domain, for INDEX: coordinate
     * of domain axis i is the coordinate on collapsed axis domain_axis[i] (such an axis is never
     * merged), or 0 when KILN_NONE. */
    uint32_t domain_axis[KILN_MAX_RANK];
    /* The whole domain is walked as one line although it has several axes: most accesses are dense
     * in this order, the others gather with the line's index taken apart. */
    bool flattened;
    /* Walked in tiles: the other axis of a tile than the inner one, along which transposed accesses
     * are dense. KILN_NONE: walked line by line. */
    uint32_t tile_axis;
    uint32_t vector_elems;
    /* COMBINE, and what merges segments of attention, in the form `columns`: sizes and strides are
     * arguments of the kernel, since what is combined may come from a contraction or an attention,
     * whose sizes are arguments, too. The choices above are the same for most sizes then. Rows are
     * held of segments of attention only, of which there are few. */
    bool sizes_are_arguments;
    /* Vectors lie within a line of cols elements, of which there are `rows`: the inner axis and the
     * number of its lines, except when flattened. */
    uint64_t rows;
    uint64_t cols;

    /* Memory traffic. Of each access the distinct elements count, once per pass in which the kernel
     * reads them from memory (bytes_moved) or once (bytes_fewest). */
    uint64_t bytes_moved;
    uint64_t bytes_fewest;
    /* Simple operations (fuse/op_cost.h) that all work-items do together, besides those of matrix
     * products. */
    uint64_t operations;

    union {
        struct kiln_pointwise_schedule pointwise;
        struct kiln_reduction_schedule reduction;
        struct kiln_contraction_schedule contraction; /* of attention: its products */
        struct kiln_attention_schedule attention;
    };
};

enum kiln_status kiln_schedule_group(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_lower_options *options,
                                     struct kiln_schedule *ret_schedule,
                                     struct kiln_error *error) KILN_NODISCARD;

/*
 * The next form of a group's schedule, which needs fewer registers: the same kernel, slower. Each
 * family of kernels decides by itself in which order it gives up what; what it chooses is a
 * function of the group and the form before. KILN_NOT_FOUND when `previous` is the last form;
 * `error` is left alone then.
 */
enum kiln_status kiln_schedule_relax(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_schedule *previous,
                                     struct kiln_schedule *ret_schedule,
                                     struct kiln_error *error) KILN_NODISCARD;

/* The time of the kernel in bytes that the target moves meanwhile: the larger of its traffic and
 * its arithmetic, as slow as the part of the target that it keeps busy, and its launch. */
double kiln_schedule_time(const struct kiln_schedule *schedule, const struct kiln_target *target);

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

struct kiln_kernel_work kiln_schedule_work(const struct kiln_schedule *schedule);

/* Whether a kernel's work-groups go through memory in order, so that it can be done in the other
 * one: walks_back may be set. */
bool kiln_schedule_walks_in_order(const struct kiln_schedule *schedule);

/* Whether some vector is cut by the end of a row (or of a line of a tile), so that elements are
 * done one by one. */
bool kiln_schedule_has_tails(const struct kiln_schedule *schedule);

/* True if a work-group takes several pieces of work: the launch has fewer work-groups. */
bool kiln_schedule_has_turns(const struct kiln_schedule *schedule);

/* One line: template, axes, vector, block, grid; one that names the form, unless it is the first;
 * and the mode of each access. */
void kiln_schedule_print(const struct kiln_schedule *schedule,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer);

#endif
