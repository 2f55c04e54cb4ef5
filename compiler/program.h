/*
 * What the compiler makes of a graph for one target: kernels as source text, and the recipe to
 * launch them.
 *
 * kiln_lower is the whole pipeline from graph to source: the plan of kernels (kernel_plan.h: import
 * -> optimize -> partition -> schedule), and the text of each.
 */
#ifndef KILN_COMPILER_PROGRAM_H
#define KILN_COMPILER_PROGRAM_H

#include "compiler/codegen/target.h"
#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

enum kiln_argument_kind {
    KILN_ARGUMENT_TENSOR,      /* pointer to a graph tensor's first element */
    KILN_ARGUMENT_WORKSPACE,   /* pointer into the workspace, at `offset_bytes` */
    KILN_ARGUMENT_HOST_SCALAR, /* value of a host scalar: its bytes, zero-extended to 8 */
    KILN_ARGUMENT_INTEGER,     /* a size or a stride, in `offset_bytes` */
};

/* One kernel argument: always 8 bytes, so argument i lies at byte 8*i of the kernarg segment. */
struct kiln_argument {
    enum kiln_argument_kind kind;
    uint32_t tensor;          /* ordinal in the graph; KILN_NONE for workspace and integers */
    uint64_t offset_bytes;    /* workspace: where in it; integer: its value, in two's complement */
    uint32_t alignment_bytes; /* the pointer must be a multiple of this */
};

/* The largest launch along x: HIP counts its work-items in 32 bits, CUDA its work-groups in 31.
 * Along y and z CUDA takes 65535 work-groups. */
#define KILN_LAUNCH_MAX_ITEMS UINT32_MAX
enum { KILN_LAUNCH_MAX_GROUPS_X = INT32_MAX, KILN_LAUNCH_MAX_GROUPS_YZ = 65535 };

struct kiln_kernel {
    const char *symbol; /* entry point: a name made of the text, equal for equal kernels */
    const char *source; /* complete source text, NUL-terminated */
    uint32_t source_bytes;
    uint32_t grid[3];   /* work-groups */
    uint32_t block[3];  /* work-items of a work-group */
    uint32_t lds_bytes; /* local memory; asked for at the launch where a source can't declare it */
    uint32_t argument_count;
    struct kiln_argument *arguments;
    bool uses_barrier;     /* work-items of a group wait for each other */
    uint64_t bytes_moved;  /* memory traffic as the schedule counts it */
    uint64_t bytes_fewest; /* each of the kernel's operands once */
    uint32_t form;         /* of its schedule (schedule.h): 0 is the first */
};

struct kiln_kernel_plan;  /* kernel_plan.h */
struct kiln_source_table; /* emit/source_table.h */

/* Kernels run in order on one stream. All memory belongs to the arena given to kiln_lower. */
struct kiln_program {
    uint32_t kernel_count;
    struct kiln_kernel *kernels;
    uint64_t workspace_bytes;          /* exact; offsets in it are multiples of 256 */
    struct kiln_kernel_plan *plan;     /* what the kernels were made from */
    struct kiln_source_table *sources; /* equal kernels share their texts */
};

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

/* What a caller can turn. All of it is part of the cache key. */
struct kiln_lower_options {
    bool no_fusion;               /* one kernel per node, for comparison */
    uint32_t max_vector_elements; /* 0: chosen by the schedule; 1: element by element, one per
                                     work-item */
    /* Host target only: 0: a row is reduced by one work-item; else kernels are scheduled as for a
     * GPU with waves of this many work-items, to run a GPU's kernels on the CPU. */
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
};

/* Appends the options to a cache key. */
void kiln_lower_options_append_key(const struct kiln_lower_options *options,
                                   struct kiln_buffer *key);

/* With `explanation` not NULL, appends what was decided and why (IR, groups, boundaries,
 * schedules). */
enum kiln_status kiln_lower(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_lower_options *options, struct kiln_arena *arena,
                            struct kiln_program *ret_program, struct kiln_buffer *explanation,
                            struct kiln_error *error) KILN_NODISCARD;

/*
 * Makes one kernel anew in the next form of its schedule, which needs fewer registers. Arguments,
 * workspace and the other kernels stay what they are; the symbol is that of the new text. `graph`
 * is the one that the program was lowered from, and the new kernel lies in the same arena.
 * KILN_NOT_FOUND, with kernel and `error` left alone, when it has the last form.
 */
enum kiln_status kiln_program_relax(struct kiln_program *program, const struct kiln_graph *graph,
                                    uint32_t kernel, struct kiln_error *error) KILN_NODISCARD;

/* Digest of all template and device-header texts built into this binary: part of the cache key.
 * Static. */
const char *kiln_templates_digest(void);

#endif
