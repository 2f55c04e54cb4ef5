/*
 * The choices that a caller of the compiler can make. All of them are part of the cache key.
 */
#ifndef KILN_COMPILER_LOWER_OPTIONS_H
#define KILN_COMPILER_LOWER_OPTIONS_H

#include "runtime/support/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum kiln_contraction_form {
    KILN_CONTRACTION_ANY,
    KILN_CONTRACTION_PLAIN,       /* two tiles in local memory, one is used, the other one filled */
    KILN_CONTRACTION_PINGPONG,    /* one tile; halves of the waves take turns at it */
    KILN_CONTRACTION_STREAMED,    /* none: waves load what they multiply */
    KILN_CONTRACTION_SPECIALIZED, /* a ring of tiles: some waves fill it, others multiply */
    KILN_CONTRACTION_DIRECT,      /* none: work-items compute elements of the result themselves */
    KILN_CONTRACTION_SMALL,       /* none: the same, several products for each work-group */
};

/* How matrix products are done, where that is not left to the schedule: 0 for what is. Tiles are
 * forced by rows and columns at once, as waves are in all three directions. */
struct kiln_contraction_options {
    enum kiln_contraction_form form;
    uint32_t tile_m, tile_n, tile_k;
    uint32_t waves_m, waves_n, waves_k;
    /* Into how many segments k is cut, which different work-groups do; 1: into none. At most 64. */
    uint32_t segments;
};

/* The place of sizes in pointwise kernels and reductions. Products, convolutions and attention
 * always take their sizes as arguments. */
enum kiln_shapes {
    KILN_SHAPES_CONSTANT, /* in the text: the fastest kernel, for one shape */
    KILN_SHAPES_ARGUMENT, /* in arguments: few kernels serve all shapes of a computation */
    KILN_SHAPES_AUTO,     /* the engine chooses for each graph (shape_choice.h); never lowered */
};

struct kiln_lower_options {
    bool no_fusion;               /* one kernel per node, for comparison */
    uint32_t max_vector_elements; /* 0: chosen by the schedule; 1: element by element, one per
                                     work-item */
    /* Host target only. 0: one work-item reduces a row. Otherwise kernels are scheduled as for a
     * GPU with waves of this many work-items, so that the CPU runs a GPU's kernels. */
    uint32_t host_wave_size;
    /* Work-groups of a launch at most, so that small graphs exercise what huge ones do. 0: as many
     * as a launch may have. */
    uint32_t max_groups;
    /* Forms of each kernel's schedule to skip, so that tests run those that spilling kernels have.
     * A kernel with fewer forms gets its last one. */
    uint32_t skipped_forms;
    /* Weight of a part of a large graph at most (graph_parts.h), so that small graphs exercise what
     * huge ones do. 0: KILN_PART_MAX_WEIGHT. */
    uint32_t max_part_weight;
    struct kiln_contraction_options contraction;
    enum kiln_shapes shapes;
    /* Bytes of workspace: of the plans that the search tries, those that need no more come first.
     * 0: any. A plan may need more if none fits. */
    uint64_t workspace_limit;
    /* General kernels: they serve the declared shapes of a graph and all smaller ones, whatever
     * divides them. Sizes are arguments. */
    bool is_general;
};

/* "constant", "argument", "auto"; NULL: there is no such form. Static. */
const char *kiln_shapes_name(size_t shapes);
/* False if the text names none; *ret_shapes is left alone then. */
bool kiln_shapes_parse(const char *text, enum kiln_shapes *ret_shapes);

/* The options with all that others imply: those of general kernels, the forms that serve all sizes.
 */
struct kiln_lower_options kiln_lower_options_settled(const struct kiln_lower_options *options);

/* Appends the options to a cache key. */
void kiln_lower_options_append_key(const struct kiln_lower_options *options,
                                   struct kiln_buffer *key);

#endif
