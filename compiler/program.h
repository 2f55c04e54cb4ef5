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
#include "compiler/dump.h"
#include "compiler/graph/graph.h"
#include "compiler/kernel.h"
#include "compiler/lower_options.h"
#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

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

/* `dump` takes the stages that were asked for; NULL: none. */
enum kiln_status kiln_lower(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_lower_options *options, struct kiln_arena *arena,
                            struct kiln_program *ret_program, const struct kiln_dump *dump,
                            struct kiln_error *error) KILN_NODISCARD;

/*
 * Makes one kernel anew in the next form of its schedule, which needs fewer registers. Arguments,
 * workspace and the other kernels stay what they are; the symbol is that of the new text. `graph`
 * is the one that the program was lowered from, and the new kernel lies in the same arena.
 * KILN_NOT_FOUND, with kernel and `error` left alone, when it has the last form.
 */
enum kiln_status kiln_program_relax(struct kiln_program *program, const struct kiln_graph *graph,
                                    uint32_t kernel, struct kiln_error *error) KILN_NODISCARD;

/* Appends what is a kernel's own in its text (kiln_emit_outline). KILN_NO_MEMORY. */
enum kiln_status kiln_program_outline(const struct kiln_program *program,
                                      const struct kiln_graph *graph, uint32_t kernel,
                                      struct kiln_buffer *text,
                                      struct kiln_error *error) KILN_NODISCARD;

/* Digest of all template and device-header texts built into this binary: part of the cache key.
 * Static. */
const char *kiln_templates_digest(void);

#endif
