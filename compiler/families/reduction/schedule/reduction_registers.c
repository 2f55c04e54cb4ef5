#include "compiler/families/reduction/schedule/reduction_registers.h"

#include "compiler/fuse/register_pressure.h"

enum {
    REGISTER_BYTES = 4,
    STEPS_OF_LATER_PASS = 4,
    COMFORTABLE_HELD_REGISTERS = 64, /* held against half and twice as many on an H200 */
    MAX_RESIDENT_COST = 8192,
    SPARE_REGISTERS = 8,
    CUDA_REGISTER_FILE = 65536,
};

uint32_t kiln_accumulator_registers(const struct kiln_reduction_passes *passes)
{
    uint32_t worst = 0;
    for (uint32_t pass = 0; pass < passes->pass_count; pass++) {
        uint32_t registers = 0;
        for (uint32_t i = 0; i < passes->accumulator_count; i++) {
            const struct kiln_accumulator *accumulator = &passes->accumulators[i];
            if (accumulator->pass == pass)
                registers += kiln_accumulator_info(accumulator->kind)->components *
                             kiln_scalar_registers(accumulator->scalar);
        }
        worst = kiln_max_u32(worst, registers);
    }
    return worst;
}

bool kiln_gains_from_holding(const struct kiln_reduction_problem *problem)
{
    for (uint32_t i = 0; i < problem->group->load_count; i++) {
        if (problem->reads[i] > 1)
            return true;
    }
    return false;
}

/* Registers of the operands that several passes read, for one step. */
static uint32_t held_registers(const struct kiln_reduction_problem *problem,
                               const struct kiln_schedule *schedule, enum kiln_reduction_held form)
{
    uint32_t registers = 0;
    for (uint32_t i = 0; i < problem->group->load_count; i++) {
        uint32_t bytes = kiln_dtype_info(problem->group->accesses[i].dtype)->bytes;
        if (form == KILN_HELD_CONVERTED)
            bytes = kiln_max_u32(bytes, REGISTER_BYTES);
        if (problem->reads[i] > 1)
            registers +=
                (kiln_step_elements(schedule, i) * bytes + REGISTER_BYTES - 1) / REGISTER_BYTES;
    }
    return registers;
}

enum kiln_reduction_held kiln_held_form(const struct kiln_reduction_problem *problem,
                                        const struct kiln_schedule *schedule, uint64_t steps)
{
    bool is_cuda = problem->target->kind == KILN_TARGET_CUDA;
    uint32_t most = is_cuda && !problem->has_costly_shared_values ? 0 : COMFORTABLE_HELD_REGISTERS;
    return steps * held_registers(problem, schedule, KILN_HELD_CONVERTED) > most
               ? KILN_HELD_LOADED
               : KILN_HELD_CONVERTED;
}

uint32_t kiln_steps_of_later_pass(uint64_t steps)
{
    return steps > STEPS_OF_LATER_PASS ? STEPS_OF_LATER_PASS : (uint32_t)steps;
}

/* Registers of the operands that a single pass reads. They are held as they lie in memory. A later
 * pass than the first loads a few steps of them at once, but a merge of segments loads everything
 * in the first. */
static uint64_t passing_registers(const struct kiln_reduction_problem *problem,
                                  const struct kiln_schedule *schedule, uint64_t steps)
{
    const struct kiln_fusion_group *group = problem->group;
    bool loads_ahead = kiln_reduction_schedule_of(schedule)->form == KILN_REDUCTION_SEGMENTS;
    uint64_t registers = 0;
    for (uint32_t i = 0; i < group->load_count; i++) {
        uint32_t bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
        uint32_t words =
            (kiln_step_elements(schedule, i) * bytes + REGISTER_BYTES - 1) / REGISTER_BYTES;
        if (problem->reads[i] == 1 && group->accesses[i].place != KILN_PLACE_ROW)
            registers += words * (loads_ahead || problem->first_pass[i] == 0
                                      ? steps
                                      : kiln_steps_of_later_pass(steps));
    }
    return registers;
}

/*
 * Registers of a work-item that holds so many steps. A pass loads all its steps before it uses
 * them, and each step takes one register more for its address. An operand that a single pass reads
 * is, as a rule, read by the last one, which accumulates nothing. This is an estimate: LLVM 19
 * spilled none in the largest softmax and layer norm kernels that it allows for gfx9, gfx10, gfx11
 * and gfx12.
 */
static uint64_t resident_registers(const struct kiln_reduction_problem *problem,
                                   const struct kiln_schedule *schedule, uint64_t steps)
{
    uint64_t passing = passing_registers(problem, schedule, steps);
    uint64_t held = held_registers(problem, schedule, kiln_held_form(problem, schedule, steps));
    uint32_t live =
        problem->group->live_registers + (passing == 0 ? problem->accumulator_registers : 0);
    return steps * (held + 1) + passing + (uint64_t)schedule->walk.vector_elems * live;
}

/* Registers that each work-item of a work-group of `block` can have: all of them are on one compute
 * unit. */
static uint32_t usable_registers(const struct kiln_target *target, uint32_t block)
{
    if (target->kind == KILN_TARGET_CUDA)
        return kiln_min_u32(target->vgprs, CUDA_REGISTER_FILE / block);
    return block > KILN_LARGE_BLOCK ? target->vgprs / 2 : target->vgprs;
}

/* True if each work-item of a work-group of `block` can hold `steps` steps: requirements 2 and 3 of
 * reduction_layout.c. */
static bool can_hold(const struct kiln_reduction_problem *problem,
                     const struct kiln_schedule *schedule, uint32_t block, uint64_t steps)
{
    return steps * schedule->walk.vector_elems <= schedule->limits.held_elems &&
           resident_registers(problem, schedule, steps) + SPARE_REGISTERS <=
               usable_registers(problem->target, block) &&
           steps * schedule->walk.vector_elems * problem->cost <= MAX_RESIDENT_COST;
}

bool kiln_can_hold_rows(const struct kiln_reduction_problem *problem,
                        const struct kiln_schedule *schedule, uint32_t items_along_reduced,
                        uint32_t items_along_kept)
{
    uint64_t steps = kiln_steps_of_item(schedule, items_along_reduced);
    return (steps == 1 || problem->may_unroll) &&
           can_hold(problem, schedule, items_along_reduced * items_along_kept, steps);
}

/* True if the unrolled code of so many steps takes so long to compile that more work-items, with
 * fewer steps each, are better. LLVM 15 takes 23 ms for each step of a layernorm with swish in
 * half; on an H200, where kernels are made to be measured, half as many steps make a softmax in
 * half 14 % slower. */
static bool compiles_slowly(const struct kiln_reduction_problem *problem,
                            const struct kiln_schedule *schedule, uint64_t steps)
{
    uint32_t most = problem->tuning->comfortable_cost;
    return most != 0 && steps * schedule->walk.vector_elems * problem->cost > most;
}

bool kiln_holds_too_much(const struct kiln_reduction_problem *problem,
                         const struct kiln_schedule *schedule, uint32_t items_along_reduced)
{
    uint64_t steps = kiln_steps_of_item(schedule, items_along_reduced);
    return steps * held_registers(problem, schedule, KILN_HELD_CONVERTED) >
               COMFORTABLE_HELD_REGISTERS ||
           compiles_slowly(problem, schedule, steps);
}

uint64_t kiln_registers_of_rows(const struct kiln_reduction_problem *problem,
                                const struct kiln_schedule *schedule, uint32_t items_along_reduced)
{
    /* Costly values are not computed again: kiln_held_form. */
    return kiln_steps_of_item(schedule, items_along_reduced) *
           held_registers(problem, schedule,
                          problem->has_costly_shared_values ? KILN_HELD_CONVERTED
                                                            : KILN_HELD_LOADED);
}
