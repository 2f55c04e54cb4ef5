#include "compiler/families/contraction/schedule/contraction_layout.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_axes.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_runs.h"

bool kiln_contraction_begin_accesses(const struct kiln_contraction_problem *problem)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    contraction->accesses = kiln_arena_calloc(problem->ir->arena, problem->group->access_count,
                                              sizeof *contraction->accesses);
    return contraction->accesses != NULL;
}

static int64_t set_role(const struct kiln_contraction_axis *axes, uint32_t count,
                        struct kiln_role_axes *role)
{
    int64_t size = 1;
    role->count = count;
    for (uint32_t i = 0; i < count; i++) {
        role->sizes[i] = axes[i].size;
        role->domain_axes[i] = axes[i].of[KILN_CONTRACT_RESULT].along;
        role->domain_steps[i] = axes[i].of[KILN_CONTRACT_RESULT].step.value;
        size *= axes[i].size;
    }
    return size;
}

static void set_batches(const struct kiln_kernel_axes *kernel)
{
    struct kiln_contraction_schedule *contraction = kernel->problem->contraction;
    enum kiln_contract_operand left =
        kernel->is_transposed ? KILN_CONTRACT_RIGHT : KILN_CONTRACT_LEFT;
    enum kiln_contract_operand right =
        kernel->is_transposed ? KILN_CONTRACT_LEFT : KILN_CONTRACT_RIGHT;
    enum kiln_contract_operand summed = contraction->operand_sum.is_right ? right : left;
    contraction->problem.batches.rank = kernel->batch_count;
    contraction->problem.batches.outer_axis = KILN_NONE;
    for (uint32_t b = 0; b < kernel->batch_count; b++) {
        const struct kiln_contraction_axis *axis = &kernel->batches[b];
        contraction->problem.batches.sizes[b] = axis->size;
        contraction->problem.batches.axes[b] = axis->of[KILN_CONTRACT_RESULT].along;
        contraction->problem.batches.domain_steps[b] = axis->of[KILN_CONTRACT_RESULT].step.value;
        contraction->problem.batches.left_repeats[b] = axis->of[left].repeat.value;
        contraction->problem.batches.right_repeats[b] = axis->of[right].repeat.value;
        if (axis->of[summed].along != KILN_NO_AXIS)
            contraction->operand_sum.batches |= UINT32_C(1) << b;
    }
}

static int64_t window_step(const struct kiln_kernel_axes *kernel,
                           const struct kiln_contraction_axis *axis, uint32_t w)
{
    const struct kiln_contraction *contraction = kernel->problem->axes;
    const struct kiln_map_axis *of_image = &axis->of[contraction->image];
    uint8_t over = contraction->maps[contraction->image].windows[w].over;
    return of_image->along == over ? of_image->step.value : 0;
}

static void set_windows(const struct kiln_kernel_axes *kernel)
{
    const struct kiln_contraction *contraction = kernel->problem->axes;
    struct kiln_contraction_schedule *schedule = kernel->problem->contraction;
    const struct kiln_map *image = kiln_contraction_image(contraction);
    bool is_right = (contraction->image == KILN_CONTRACT_RIGHT) != kernel->is_transposed;
    const struct kiln_contraction_axis *rows = is_right ? kernel->columns : kernel->rows;
    uint32_t row_count = is_right ? kernel->column_count : kernel->row_count;
    schedule->problem.windows.count = image->window_count;
    schedule->problem.windows.is_right = is_right;
    uint32_t phase = 0;
    for (uint32_t w = 0; w < image->window_count; w++) {
        struct kiln_window_schedule *window = &schedule->problem.windows.windows[w];
        *window = (struct kiln_window_schedule){
            .size = image->windows[w].size.value,
            .offset = image->windows[w].offset.value,
            .phase = image->windows[w].divisor.value > 1 ? phase++ : KILN_NONE,
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
        bool is_any = axes[i].size == 1 && !problem->ir->is_general;
        strides[outer + i] =
            is_any ? after * axes[i + 1].size : kiln_stride_along(problem, access, &axes[i]);
    }
    return is_split;
}

/* From where windows begin, and along their phases. */
static void set_window_strides(const struct kiln_kernel_axes *kernel,
                               const struct kiln_access *access, int64_t *strides,
                               bool *ret_is_windowed)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    enum kiln_contract_operand side = kiln_contract_operand_of(problem, access->place);
    uint32_t phase = 0;
    const struct kiln_map *image = kiln_contraction_image(problem->axes);
    for (uint32_t w = 0; w < image->window_count; w++) {
        const struct kiln_map_window *window = &image->windows[w];
        bool has_phase = window->divisor.value > 1;
        if (side == problem->axes->image) {
            int64_t stride = kiln_stride_of_axis(problem, access, window->over);
            *ret_is_windowed |= stride != 0;
            if (has_phase)
                strides[KILN_STRIDE_PHASE + phase] = stride;
            else
                strides[KILN_STRIDE_ORIGIN] += window->offset.value * stride;
        } else if (has_phase && side != KILN_CONTRACT_RESULT) {
            const struct kiln_phase *of = &problem->contraction->problem.windows.phases[phase];
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

/* Offsets and indices have one axis; the others have size 1. */
static void set_routing_stride(const struct kiln_access *access, int64_t *strides)
{
    for (uint32_t i = 0; i < KILN_MAX_RANK; i++)
        strides[KILN_STRIDE_ROW] += access->strides[i];
}

/* True for an access that has an element per block of columns. The axes of blocks and of their
 * elements have become one, unless some access keeps them apart; then blocks are batches. */
static bool is_counted_in_blocks(const struct kiln_kernel_axes *kernel,
                                 const struct kiln_access *access)
{
    uint32_t block = kernel->problem->contraction->problem.block;
    return block != 0 && access->place == KILN_PLACE_ROW &&
           kernel->columns[kernel->column_count - 1].size > block;
}

static void set_strides(const struct kiln_kernel_axes *kernel)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        struct kiln_contraction_access *walks = &problem->contraction->accesses[i];
        int64_t *strides = problem->schedule->accesses[i].strides;
        bool is_result = kiln_is_access_of_result(access);
        if (kiln_place_routes(access->place)) {
            set_routing_stride(access, strides);
            continue;
        }
        enum kiln_place place = access->place == KILN_PLACE_SUM
                                    ? kiln_group_summed_place(problem->ir, problem->group)
                                    : access->place;
        bool has_rows = is_result || place == problem->contraction->left.places[0];
        walks->splits_rows =
            set_role_strides(kernel, access, has_rows ? kernel->rows : kernel->columns,
                             has_rows ? kernel->row_count : kernel->column_count, KILN_STRIDE_ROW,
                             KILN_STRIDE_OUTER_ROW, strides);
        walks->splits_columns =
            set_role_strides(kernel, access, is_result ? kernel->columns : kernel->sums,
                             is_result ? kernel->column_count : kernel->sum_count,
                             KILN_STRIDE_COLUMN, KILN_STRIDE_OUTER_COLUMN, strides);
        if (is_counted_in_blocks(kernel, access))
            strides[KILN_STRIDE_COLUMN] = kiln_stride_of_axis(
                problem, access,
                (uint8_t)(kernel->columns[kernel->column_count - 1].of[KILN_CONTRACT_RESULT].along +
                          1));
        if (!is_result) {
            walks->row_repeat =
                kiln_repeat_along(problem, access,
                                  has_rows ? &kernel->rows[kernel->row_count - 1]
                                           : &kernel->columns[kernel->column_count - 1]);
            walks->k_repeat =
                kiln_repeat_along(problem, access, &kernel->sums[kernel->sum_count - 1]);
        }
        for (uint32_t b = 0; b < kernel->batch_count; b++)
            strides[KILN_STRIDE_BATCH + b] =
                kiln_stride_along(problem, access, &kernel->batches[b]);
        set_window_strides(kernel, access, strides, &walks->is_windowed);
        if (kiln_pipeline_is_direct(&problem->contraction->pipeline) &&
            kiln_contract_operand_of(problem, access->place) == KILN_CONTRACT_LEFT)
            set_strides_across(kernel, access, has_rows, strides);
    }
}

/* Where taps are so many in one phase and so many in another, what follows them in k is where that
 * says; rows beyond the last phase's end are there in all. So nothing is linear along them. Nor is
 * it along runs, whatever is in front of them. */
static void split_sums(const struct kiln_kernel_axes *kernel)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    for (uint32_t i = 0;
         i < problem->group->access_count &&
         (contraction->problem.windows.phase_count != 0 || contraction->problem.k_run != 0);
         i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        struct kiln_contraction_access *walks = &contraction->accesses[i];
        int64_t *strides = problem->schedule->accesses[i].strides;
        if (kiln_is_access_of_result(access) || kernel->sum_count < 2 || walks->splits_columns)
            continue;
        for (uint32_t axis = 0; axis + 1 < kernel->sum_count; axis++) {
            int64_t stride = kiln_stride_along(problem, access, &kernel->sums[axis]);
            strides[KILN_STRIDE_OUTER_COLUMN + axis] = stride;
            walks->splits_columns |= stride != 0;
        }
        walks->splits_columns |= strides[KILN_STRIDE_COLUMN] != 0;
    }
}

/* Packs begin at any element of the last axis of k, each loaded at once. */
static void round_up_runs(struct kiln_kernel_axes *kernel)
{
    struct kiln_contraction_schedule *contraction = kernel->problem->contraction;
    int64_t pack = kiln_pack_elements(contraction);
    struct kiln_contraction_axis *last = &kernel->sums[kernel->sum_count - 1];
    contraction->problem.k_run = 0;
    if (!kiln_has_runs(kernel, (uint32_t)pack))
        return;
    contraction->problem.k_run = last->size;
    last->size = (last->size + pack - 1) / pack * pack;
}

void kiln_contraction_lay_out_axes(struct kiln_contraction_problem *problem, bool is_transposed)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    struct kiln_kernel_axes kernel = {.problem = problem, .is_transposed = is_transposed};
    contraction->problem.products = problem->group->anchor_count;
    contraction->problem.block = kiln_group_block(problem->ir, problem->group);
    contraction->problem.routing = problem->axes->routing;
    if (problem->axes->routing != KILN_ROUTING_NONE)
        contraction->problem.groups = kiln_domain_elements(
            &problem->ir->domains[problem->ir->ops[problem->op->operands[2]].domain]);
    contraction->left.part_count = 1;
    contraction->left.places[0] = is_transposed ? KILN_PLACE_RIGHT : KILN_PLACE_LEFT;
    contraction->right.part_count = contraction->problem.products;
    contraction->right.places[0] = is_transposed ? KILN_PLACE_LEFT : KILN_PLACE_RIGHT;
    contraction->right.places[1] = KILN_PLACE_SECOND;
    enum kiln_place summed = kiln_group_summed_place(problem->ir, problem->group);
    contraction->operand_sum.is_right = summed == contraction->right.places[0];
    kiln_find_kernel_axes(&kernel);
    round_up_runs(&kernel);
    contraction->problem.m = set_role(kernel.rows, kernel.row_count, &contraction->problem.rows);
    contraction->problem.n =
        set_role(kernel.columns, kernel.column_count, &contraction->problem.columns);
    contraction->problem.k = set_role(kernel.sums, kernel.sum_count, &contraction->problem.sums);
    contraction->left.row_size = contraction->problem.m;
    contraction->right.row_size = contraction->problem.n;
    contraction->left.k_size = contraction->right.k_size = contraction->problem.k;
    set_batches(&kernel);
    set_windows(&kernel);
    set_strides(&kernel);
    split_sums(&kernel);
}

bool kiln_is_left_operand(const struct kiln_contraction_schedule *contraction,
                          const struct kiln_operand_schedule *operand)
{
    return operand == &contraction->left ||
           (operand == &contraction->operand_sum.operand && !contraction->operand_sum.is_right);
}

bool kiln_is_right_operand(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand)
{
    return operand == &contraction->right ||
           (operand == &contraction->operand_sum.operand && contraction->operand_sum.is_right);
}

bool kiln_is_axis_windowed(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand, bool is_k, uint32_t axis)
{
    if (kiln_is_right_operand(contraction, operand) != contraction->problem.windows.is_right)
        return false;
    for (uint32_t w = 0; w < contraction->problem.windows.count; w++) {
        const int64_t *steps = is_k ? contraction->problem.windows.windows[w].k_steps
                                    : contraction->problem.windows.windows[w].row_steps;
        if (steps[axis] != 0)
            return true;
    }
    return false;
}
