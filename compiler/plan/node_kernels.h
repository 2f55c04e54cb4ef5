/*
 * The kernels that compute each node of a graph. A node has one home: the kernel that makes its
 * result. Other kernels may do a part of its work before that, or compute some of it again.
 *
 * The results of the program (struct kiln_result) tell what passes have made of a node. A node that
 * is part of a pattern, such as a norm inside a larger one, has no value of its own any more. Its
 * home is the kernel of the operations that were made for it or, without any, of the nodes that
 * read its result.
 */
#ifndef KILN_COMPILER_PLAN_NODE_KERNELS_H
#define KILN_COMPILER_PLAN_NODE_KERNELS_H

#include "compiler/plan/kernel_plan.h"

enum kiln_node_fate {
    KILN_NODE_COMPUTED,  /* in a kernel */
    KILN_NODE_CONSTANT,  /* when the graph was compiled */
    KILN_NODE_FORWARDED, /* nowhere: its result is a tensor that it reads */
    KILN_NODE_UNUSED,    /* nowhere: no output needs its result */
};

struct kiln_node_home {
    enum kiln_node_fate fate;
    uint32_t kernel; /* COMPUTED: the home; otherwise KILN_NONE */
    uint32_t tensor; /* FORWARDED: the tensor with its result; otherwise KILN_NONE */
};

/* Work of a node in another kernel than its home. */
struct kiln_node_visit {
    uint32_t node;
    uint32_t kernel;
    bool is_again; /* the home does it too; otherwise the home, or another output, needs it */
};

struct kiln_node_kernels {
    struct kiln_node_home *homes; /* one per node of the graph */
    uint32_t visit_count;
    struct kiln_node_visit *visits; /* by ascending kernel, each pair once */
};

/* Memory belongs to the arena. Fails only for lack of memory. */
enum kiln_status kiln_find_node_kernels(const struct kiln_kernel_plan *plan,
                                        const struct kiln_graph *graph, struct kiln_arena *arena,
                                        struct kiln_node_kernels *ret_kernels,
                                        struct kiln_error *error) KILN_NODISCARD;

#endif
