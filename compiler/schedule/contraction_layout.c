#include "compiler/schedule/contraction_layout.h"

#include "compiler/fuse/contraction_group.h"
#include "compiler/schedule/contraction_axes.h"
#include "compiler/schedule/contraction_runs.h"
#include "compiler/schedule/contraction_tile.h"

static int64_t set_role(const struct kiln_contraction_axis *axes, uint32_t count,
                        struct kiln_role_axes *role)
{
    int64_t size = 1;
    role->count = count;
    for (uint32_t i = 0; i < count; i++) {
        role->sizes[i] = axes[i].size;
        role->domain_axes[i] = axes[i].result;
        role->domain_steps[i] = axes[i].result_step;
        size *= axes[i].size;
    }
    return size;
}

static void set_batches(const struct kiln_kernel_axes *kernel)
{
    struct kiln_contraction_schedule *contraction = kernel->problem->contraction;
    contraction->batch_rank = kernel->batch_count;
    for (uint32_t b = 0; b < kernel->batch_count; b++) {
        const struct kiln_contraction_axis *axis = &kernel->batches[b];
        contraction->batch_sizes[b] = axis->size;
        contraction->batch_axes[b] = axis->result;
        contraction->batch_domain_steps[b] = axis->result_step;
        contraction->left_repeats[b] =
            kernel->is_transposed ? axis->right_repeat : axis->left_repeat;
        contraction->right_repeats[b] =
            kernel->is_transposed ? axis->left_repeat : axis->right_repeat;
        bool is_of_left = kernel->is_transposed == contraction->is_right_summed;
        if ((is_of_left ? axis->left : axis->right) != KILN_NO_AXIS)
            contraction->summed_batches |= UINT32_C(1) << b;
    }
}

static int64_t window_step(const struct kiln_kernel_axes *kernel,
                           const struct kiln_contraction_axis *axis, uint32_t w)
{
    enum kiln_contract_operand side = kiln_windowed_side(kernel);
    uint8_t along = kernel->problem->axes->windows[w].axis;
    return kiln_operand_axis(axis, side) == along ? kiln_operand_step(axis, side) : 0;
}

static void set_windows(const struct kiln_kernel_axes *kernel)
{
    const struct kiln_contraction *contraction = kernel->problem->axes;
    struct kiln_contraction_schedule *schedule = kernel->problem->contraction;
    bool is_right = contraction->is_right_windowed != kernel->is_transposed;
    const struct kiln_contraction_axis *rows = is_right ? kernel->columns : kernel->rows;
    uint32_t row_count = is_right ? kernel->column_count : kernel->row_count;
    schedule->window_count = contraction->window_count;
    schedule->is_right_windowed = is_right;
    uint32_t phase = 0;
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        struct kiln_window_schedule *window = &schedule->windows[w];
        *window = (struct kiln_window_schedule){
            .size = contraction->windows[w].size,
            .offset = contraction->windows[w].offset,
            .phase = contraction->windows[w].divisor > 1 ? phase++ : KILN_NONE,
        };
        for (uint32_t i = 0; i < row_count; i++)
            window->row_steps[i] = window_step(kernel, &rows[i], w);
        for (uint32_t i = 0; i < kernel->sum_count; i++)
            window->k_steps[i] = window_step(kernel, &kernel->sums[i], w);
        for (uint32_t i = 0; i < kernel->batch_count; i++)
            window->batch_steps[i] = window_step(kernel, &kernel->batches[i], w);
    }
}

/* The stride of an access along one of its two roles, whose index it splits or not. Along windows
 * it does, also where strides happen to be those of one axis: others of the same kernel's are not.
 */
static bool set_role_strides(const struct kiln_kernel_axes *kernel,
                             const struct kiln_access *access,
                             const struct kiln_contraction_axis *axes, uint32_t count,
                             enum kiln_contraction_stride inner, enum kiln_contraction_stride outer,
                             int64_t *strides)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    bool is_split = !kiln_is_linear(problem, access, axes, count);
    for (uint32_t i = 0; i < count && count > 1 && kiln_walks_along_windows(kernel, access); i++)
        is_split |= kiln_goes_along_window(kernel, &axes[i]);
    strides[inner] = kiln_stride_along(problem, access, &axes[count - 1]);
    for (uint32_t i = count - 1; i-- > 0 && is_split;) {
        int64_t after = i + 2 < count ? strides[outer + i + 1] : strides[inner];
        strides[outer + i] = axes[i].size == 1 ? after * axes[i + 1].size
                                               : kiln_stride_along(problem, access, &axes[i]);
    }
    return is_split;
}

/* From where windows begin, and along their phases. */
static void set_window_strides(const struct kiln_kernel_axes *kernel,
                               const struct kiln_access *access,
                               struct kiln_access_schedule *scheduled)
{
    int64_t *strides = scheduled->strides;
    const struct kiln_contraction_problem *problem = kernel->problem;
    enum kiln_contract_operand side = kiln_contract_operand_of(problem, access->place);
    uint32_t phase = 0;
    for (uint32_t w = 0; w < problem->axes->window_count; w++) {
        const struct kiln_contraction_window *window = &problem->axes->windows[w];
        bool has_phase = window->divisor > 1;
        if (side == kiln_windowed_side(kernel)) {
            int64_t stride = kiln_stride_of_axis(problem, access, window->axis);
            scheduled->is_windowed |= stride != 0;
            if (has_phase)
                strides[KILN_STRIDE_PHASE + phase] = stride;
            else
                strides[KILN_STRIDE_ORIGIN] += window->offset * stride;
        } else if (has_phase && side != KILN_CONTRACT_RESULT) {
            const struct kiln_phase *of = &problem->contraction->phases[phase];
            strides[KILN_STRIDE_PHASE + phase] =
                kiln_stride_along(problem, access, &kernel->sums[of->k_axis]) / of->spread;
        }
        phase += has_phase;
    }
}

/* Along the axes that are the other operand's rows, of which groups are both's. */
static void set_strides_across(const struct kiln_kernel_axes *kernel,
                               const struct kiln_access *access, bool has_rows, int64_t *strides)
{
    const struct kiln_contraction_axis *axes = has_rows ? kernel->columns : kernel->rows;
    uint32_t count = has_rows ? kernel->column_count : kernel->row_count;
    for (uint32_t i = 0; i < count; i++)
        strides[KILN_STRIDE_ACROSS + i] = kiln_stride_along(kernel->problem, access, &axes[i]);
}

static void set_strides(const struct kiln_kernel_axes *kernel)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        struct kiln_access_schedule *scheduled = &problem->schedule->accesses[i];
        bool is_result = kiln_is_access_of_result(access);
        enum kiln_place place = access->place == KILN_PLACE_SUM
                                    ? kiln_group_summed_place(problem->ir, problem->group)
                                    : access->place;
        bool has_rows = is_result || place == problem->contraction->left.places[0];
        scheduled->splits_rows =
            set_role_strides(kernel, access, has_rows ? kernel->rows : kernel->columns,
                             has_rows ? kernel->row_count : kernel->column_count, KILN_STRIDE_ROW,
                             KILN_STRIDE_OUTER_ROW, scheduled->strides);
        scheduled->splits_columns =
            set_role_strides(kernel, access, is_result ? kernel->columns : kernel->sums,
                             is_result ? kernel->column_count : kernel->sum_count,
                             KILN_STRIDE_COLUMN, KILN_STRIDE_OUTER_COLUMN, scheduled->strides);
        for (uint32_t b = 0; b < kernel->batch_count; b++)
            scheduled->strides[KILN_STRIDE_BATCH + b] =
                kiln_stride_along(problem, access, &kernel->batches[b]);
        set_window_strides(kernel, access, scheduled);
        if (problem->contraction->is_direct &&
            kiln_contract_operand_of(problem, access->place) == KILN_CONTRACT_LEFT)
            set_strides_across(kernel, access, has_rows, scheduled->strides);
    }
}

/* Where taps are so many in one phase and so many in another, what follows them in k is where that
 * says; rows beyond the last phase's end are there in all. So nothing is linear along them. Nor is
 * it along runs, whatever is in front of them. */
static void split_sums(const struct kiln_kernel_axes *kernel)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    for (uint32_t i = 0; i < problem->group->access_count &&
                         (contraction->phase_count != 0 || contraction->k_run != 0);
         i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        struct kiln_access_schedule *scheduled = &problem->schedule->accesses[i];
        if (kiln_is_access_of_result(access) || kernel->sum_count < 2 || scheduled->splits_columns)
            continue;
        for (uint32_t axis = 0; axis + 1 < kernel->sum_count; axis++) {
            int64_t stride = kiln_stride_along(problem, access, &kernel->sums[axis]);
            scheduled->strides[KILN_STRIDE_OUTER_COLUMN + axis] = stride;
            scheduled->splits_columns |= stride != 0;
        }
        scheduled->splits_columns |= scheduled->strides[KILN_STRIDE_COLUMN] != 0;
    }
}

/* Packs begin at any element of the last axis of k, each loaded at once. */
static void round_up_runs(struct kiln_kernel_axes *kernel)
{
    struct kiln_contraction_schedule *contraction = kernel->problem->contraction;
    int64_t pack = kiln_pack_elements(contraction);
    struct kiln_contraction_axis *last = &kernel->sums[kernel->sum_count - 1];
    contraction->k_run = 0;
    if (!kiln_has_runs(kernel, (uint32_t)pack))
        return;
    contraction->k_run = last->size;
    last->size = (last->size + pack - 1) / pack * pack;
    for (uint32_t i = 0; i < kernel->problem->group->access_count; i++)
        kernel->problem->schedule->accesses[i].last_pack =
            kiln_last_pack(kernel->problem, i, (uint32_t)pack);
}

void kiln_contraction_lay_out_axes(struct kiln_contraction_problem *problem, bool is_transposed)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    struct kiln_kernel_axes kernel = {.problem = problem, .is_transposed = is_transposed};
    contraction->products = problem->group->contract_count;
    contraction->left.part_count = 1;
    contraction->left.places[0] = is_transposed ? KILN_PLACE_RIGHT : KILN_PLACE_LEFT;
    contraction->right.part_count = contraction->products;
    contraction->right.places[0] = is_transposed ? KILN_PLACE_LEFT : KILN_PLACE_RIGHT;
    contraction->right.places[1] = KILN_PLACE_SECOND;
    enum kiln_place summed = kiln_group_summed_place(problem->ir, problem->group);
    contraction->is_right_summed = summed == contraction->right.places[0];
    kiln_find_kernel_axes(&kernel);
    round_up_runs(&kernel);
    contraction->m = set_role(kernel.rows, kernel.row_count, &contraction->rows);
    contraction->n = set_role(kernel.columns, kernel.column_count, &contraction->columns);
    contraction->k = set_role(kernel.sums, kernel.sum_count, &contraction->sums);
    contraction->left.row_size = contraction->m;
    contraction->right.row_size = contraction->n;
    contraction->left.k_size = contraction->right.k_size = contraction->k;
    set_batches(&kernel);
    set_windows(&kernel);
    set_strides(&kernel);
    split_sums(&kernel);
}

bool kiln_is_left_operand(const struct kiln_contraction_schedule *contraction,
                          const struct kiln_operand_schedule *operand)
{
    return operand == &contraction->left ||
           (operand == &contraction->summed && !contraction->is_right_summed);
}

bool kiln_is_right_operand(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand)
{
    return operand == &contraction->right ||
           (operand == &contraction->summed && contraction->is_right_summed);
}

bool kiln_is_axis_windowed(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand, bool is_k, uint32_t axis)
{
    if (kiln_is_right_operand(contraction, operand) != contraction->is_right_windowed)
        return false;
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        const int64_t *steps =
            is_k ? contraction->windows[w].k_steps : contraction->windows[w].row_steps;
        if (steps[axis] != 0)
            return true;
    }
    return false;
}
