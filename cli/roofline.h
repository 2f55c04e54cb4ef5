/*
 * The roofline of a device: how close a kernel's time is to what memory and arithmetic allow.
 */
#ifndef KILN_CLI_ROOFLINE_H
#define KILN_CLI_ROOFLINE_H

#include "compiler/plan/kernel_plan.h"
#include "runtime/engine/engine.h"

/* Peak rates; 0 where a rate is not known. */
struct kiln_roofline {
    double bytes_per_s; /* of a copy that was measured on the device: read and written bytes */
    double vector_flop_per_s; /* float; a multiply-add is two */
    double matrix_flop_per_s; /* matrix instructions on half or bfloat16 */
};

/* The limit that a kernel is closest to. */
enum kiln_bound {
    KILN_BOUND_UNKNOWN, /* the peak rate of its arithmetic is not known, and memory is not near */
    KILN_BOUND_MEMORY,
    KILN_BOUND_VECTOR,
    KILN_BOUND_MATRIX,
};

/* "memory"; "unknown". Static. */
const char *kiln_bound_name(enum kiln_bound bound);

/* Arithmetic rates of the target's largest product (targets.def), none on the host; the bandwidth
 * is the caller's to measure. */
struct kiln_roofline kiln_roofline_of(const struct kiln_target *target, double copy_bytes_per_s);

/* Operations of both kinds. */
double kiln_work_flop(const struct kiln_kernel_work *work);

/*
 * The bound, and the least time that it allows over `seconds`: 1 is as fast as can be. The memory
 * bound counts every byte once. The share is 0 where the bound is not known. It may exceed 1:
 * memory is read faster than it is copied, and a mask hides products that count.
 */
enum kiln_bound kiln_roofline_bound(const struct kiln_roofline *roofline,
                                    const struct kiln_kernel_work *work, double seconds,
                                    double *ret_share);

/* Counts the work of each kernel of a plan: `ret_work` has room for all its kernels. The graph is
 * the plan's, `options` what it was lowered with. ret_operations, where it is not NULL, is
 * kiln_kernel_plan_operations of the graph. */
enum kiln_status kiln_plan_work(const struct kiln_plan *plan, const struct kiln_graph *graph,
                                const struct kiln_lower_options *options,
                                struct kiln_kernel_work *ret_work, uint64_t *ret_operations,
                                struct kiln_error *error) KILN_NODISCARD;

#endif
