#include "cli/roofline.h"
#include "compiler/schedule/schedule_group.h"

/* Where the rate of arithmetic is not known, a kernel is taken to be bound by memory from here on.
 */
static const double near_memory = 0.5;

const char *kiln_bound_name(enum kiln_bound bound)
{
    static const char *const names[] = {
        [KILN_BOUND_UNKNOWN] = "unknown",
        [KILN_BOUND_MEMORY] = "memory",
        [KILN_BOUND_VECTOR] = "vector",
        [KILN_BOUND_MATRIX] = "matrix",
    };
    return names[bound];
}

struct kiln_roofline kiln_roofline_of(const struct kiln_target *target, double copy_bytes_per_s)
{
    /* targets.def only guesses what CPU the host has. */
    bool is_host = target->kind == KILN_TARGET_HOST;
    return (struct kiln_roofline){
        .bytes_per_s = copy_bytes_per_s,
        .vector_flop_per_s = is_host ? 0 : 1e9 * target->vector_gflops,
        .matrix_flop_per_s = is_host ? 0 : 1e9 * target->matrix_gflops,
    };
}

double kiln_work_flop(const struct kiln_kernel_work *work)
{
    return work->product_operations + work->simple_operations;
}

/* The rate of the products' instructions; 0: not known. Other types have other rates. */
static double product_rate(const struct kiln_roofline *roofline,
                           const struct kiln_kernel_work *work)
{
    bool is_half = work->product_dtype == KILN_DTYPE_F16 || work->product_dtype == KILN_DTYPE_BF16;
    if (work->has_matrix_unit)
        return is_half ? roofline->matrix_flop_per_s : 0;
    return work->product_dtype == KILN_DTYPE_F32 ? roofline->vector_flop_per_s : 0;
}

/* Least seconds of the arithmetic; negative where a rate is not known. */
static double arithmetic_seconds(const struct kiln_roofline *roofline,
                                 const struct kiln_kernel_work *work)
{
    double seconds = 0;
    if (work->simple_operations > 0) {
        if (roofline->vector_flop_per_s <= 0)
            return -1;
        /* Few of them are multiply-adds, which the peak counts as two. */
        seconds += work->simple_operations / (roofline->vector_flop_per_s / 2);
    }
    if (work->product_operations > 0) {
        double rate = product_rate(roofline, work);
        if (rate <= 0)
            return -1;
        seconds += work->product_operations / rate;
    }
    return seconds;
}

enum kiln_bound kiln_roofline_bound(const struct kiln_roofline *roofline,
                                    const struct kiln_kernel_work *work, double seconds,
                                    double *ret_share)
{
    *ret_share = 0;
    if (seconds <= 0 || roofline->bytes_per_s <= 0)
        return KILN_BOUND_UNKNOWN;
    double memory = (double)work->bytes_fewest / roofline->bytes_per_s;
    double arithmetic = arithmetic_seconds(roofline, work);
    if (arithmetic < 0 && memory < near_memory * seconds)
        return KILN_BOUND_UNKNOWN;
    *ret_share = (memory > arithmetic ? memory : arithmetic) / seconds;
    if (memory > arithmetic)
        return KILN_BOUND_MEMORY;
    return work->has_matrix_unit ? KILN_BOUND_MATRIX : KILN_BOUND_VECTOR;
}

enum kiln_status kiln_plan_work(const struct kiln_plan *plan, const struct kiln_graph *graph,
                                const struct kiln_lower_options *options,
                                struct kiln_kernel_work *ret_work, uint64_t *ret_operations,
                                struct kiln_error *error)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_kernel_plan lowered = {0};
    uint32_t count = kiln_plan_kernel_count(plan);
    enum kiln_status status = kiln_kernel_plan_make(graph, &kiln_plan_device(plan)->target, options,
                                                    &arena, &lowered, error);
    if (status == KILN_OK && kiln_kernel_plan_kernels(&lowered) != count)
        status = kiln_error_set(error, KILN_INTERNAL, "the plan has %u kernels instead of %u",
                                (unsigned)count, (unsigned)kiln_kernel_plan_kernels(&lowered));
    for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
        status =
            kiln_kernel_plan_relax_to(&lowered, graph, i, kiln_plan_kernel_form(plan, i), error);
        if (status != KILN_OK)
            break;
        const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(&lowered, i);
        ret_work[i] = kiln_schedule_work(&kernel.part->schedules[kernel.index]);
    }
    if (status == KILN_OK && ret_operations != NULL)
        *ret_operations = kiln_kernel_plan_operations(&lowered);
    kiln_arena_fini(&arena);
    return status;
}
