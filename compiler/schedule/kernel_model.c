#include "compiler/schedule/kernel_model.h"

#include "compiler/fuse/target_rates.h"
#include "compiler/schedule/schedule_group.h"

#include <math.h>

const char *kiln_kernel_bound_text(enum kiln_kernel_bound bound)
{
    static const char *const texts[] = {
        [KILN_BOUND_BYTES] = "bytes",           [KILN_BOUND_MATRIX] = "matrix",
        [KILN_BOUND_ARITHMETIC] = "arithmetic", [KILN_BOUND_LAUNCH] = "launch",
        [KILN_BOUND_WAITING] = "waiting",
    };
    return texts[bound];
}

bool kiln_model_kernel(const struct kiln_schedule *schedule, const struct kiln_target *target,
                       struct kiln_kernel_model *ret_model)
{
    const struct kiln_kernel_work work = kiln_schedule_work(schedule);
    double bytes_per_ns = (double)target->bandwidth_gbs;
    if (bytes_per_ns == 0 || target->vector_gflops == 0)
        return false;
    uint32_t operand_bytes = work.has_matrix_unit ? kiln_dtype_info(work.product_dtype)->bytes : 0;
    double products = kiln_target_matrix_bytes(target, work.product_operations, operand_bytes);
    double simple = kiln_target_vector_bytes(target, work.simple_operations);
    struct kiln_kernel_model model = {
        .time_ns = kiln_schedule_time(schedule, target) / bytes_per_ns,
        .part_ns =
            {
                [KILN_BOUND_BYTES] = (double)work.bytes_moved / bytes_per_ns,
                [KILN_BOUND_MATRIX] = work.has_matrix_unit ? products / bytes_per_ns : 0,
                [KILN_BOUND_ARITHMETIC] =
                    (work.has_matrix_unit ? simple : simple + products) / bytes_per_ns,
                [KILN_BOUND_LAUNCH] = (double)kiln_target_launch_bytes(target) / bytes_per_ns,
            },
    };
    double busy = 0;
    for (enum kiln_kernel_bound part = 0; part < KILN_BOUND_LAUNCH; part++)
        busy = fmax(busy, model.part_ns[part]);
    model.part_ns[KILN_BOUND_WAITING] =
        fmax(0, model.time_ns - model.part_ns[KILN_BOUND_LAUNCH] - busy);
    for (enum kiln_kernel_bound part = 0; part < KILN_BOUND_COUNT; part++) {
        if (model.part_ns[part] > model.part_ns[model.bound])
            model.bound = part;
    }
    *ret_model = model;
    return true;
}
