/* Schedules of attention: two products, their scores in registers, in one kernel. */
#include "compiler/families/attention/schedule/attention_fragments.h"
#include "compiler/families/attention/schedule/attention_layout.h"
#include "compiler/families/attention/schedule/attention_limits.h"
#include "compiler/families/attention/schedule/attention_registers.h"
#include "compiler/families/attention/schedule/attention_schedule.h"
#include "compiler/families/attention/schedule/attention_spans.h"
#include "compiler/families/attention/schedule/attention_tile.h"

#include "compiler/families/attention/fuse/attention_group.h"
#include "compiler/families/contraction/schedule/contraction_dtype.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_layout.h"
#include "compiler/families/contraction/schedule/contraction_loads.h"
#include "compiler/families/contraction/schedule/contraction_modes.h"
#include "compiler/families/contraction/schedule/contraction_print.h"
#include "compiler/families/contraction/schedule/schedule_contraction.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/op_cost.h"
#include "compiler/fuse/target_rates.h"
#include "compiler/ir/score_maximum.h"
#include "compiler/schedule/schedule_family.h"
#include "compiler/schedule/traffic.h"
#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>

/* ---- loads and stores ---- */

/* What is loaded for scores, of as many columns as the core has in a run, which only it knows: two
 * neighbours at a time where no run is cut. */
static uint32_t score_vector(const struct kiln_contraction_problem *problem, uint32_t access)
{
    enum { LONGEST_RUN = 8, PAIR = 2 };
    return !problem->ir->is_general &&
                   problem->schedule->accesses[access].strides[KILN_STRIDE_COLUMN] == 1 &&
                   problem->contraction->problem.n % LONGEST_RUN == 0 &&
                   kiln_is_access_aligned(problem, access, KILN_STRIDE_COLUMN, PAIR)
               ? PAIR
               : 1;
}

static void set_access_modes(struct kiln_contraction_problem *problem,
                             const struct kiln_attention_schedule *attention)
{
    const struct kiln_contraction_schedule *products = problem->contraction;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *memory = &problem->group->accesses[i];
        const struct kiln_access_schedule *access = &problem->schedule->accesses[i];
        const struct kiln_operand_schedule *operand =
            kiln_attention_operand(attention, memory->place);
        bool is_score = memory->place == KILN_PLACE_SCORE || memory->place == KILN_PLACE_WEIGHT;
        bool along_column = operand == NULL || operand->is_along_k;
        uint32_t vector = operand != NULL ? (operand->is_along_k ? operand->vector : operand->run)
                          : memory->place == KILN_PLACE_ELEMENT ? products->result_vector
                          : is_score                            ? score_vector(problem, i)
                                                                : 1;
        int64_t stride = access->strides[along_column ? KILN_STRIDE_COLUMN : KILN_STRIDE_ROW];
        kiln_set_access_mode(problem, i, stride, vector);
    }
}

/* Offsets within a tile, and those of scores, which go on to the end of their row, are bytes of 32
 * bits where that suffices. */
static bool offsets_need_64_bits(const struct kiln_contraction_problem *problem,
                                 const struct kiln_attention_schedule *attention)
{
    const int64_t limit = INT32_MAX - (1 << 20);
    const struct kiln_contraction_schedule *products = problem->contraction;
    if (products->problem.m > limit || products->problem.n > limit)
        return true;
    int64_t rows = products->tile.m > products->tile.n ? products->tile.m : products->tile.n;
    rows = rows > (int64_t)attention->tile.d ? rows : (int64_t)attention->tile.d;
    rows = rows > (int64_t)products->tile.k ? rows : (int64_t)products->tile.k;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        const int64_t *strides = problem->schedule->accesses[i].strides;
        bool is_score = access->place == KILN_PLACE_SCORE || access->place == KILN_PLACE_WEIGHT;
        int64_t columns = is_score ? products->problem.n : rows;
        int64_t most = limit / 4 / kiln_dtype_info(access->dtype)->bytes;
        if (strides[KILN_STRIDE_ROW] > most / rows || strides[KILN_STRIDE_COLUMN] > most / columns)
            return true;
    }
    return false;
}

/* ---- the whole ---- */

static uint32_t count_score_loads(const struct kiln_contraction_problem *problem)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < problem->group->load_count; i++) {
        enum kiln_place place = problem->group->accesses[i].place;
        bool is_score = place == KILN_PLACE_SCORE || place == KILN_PLACE_WEIGHT;
        count += is_score && problem->schedule->accesses[i].strides[KILN_STRIDE_COLUMN] != 0;
    }
    return count;
}

static void find_softmax(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                         struct kiln_attention_schedule *attention)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        if (ir->ops[value].opcode == KILN_OP_SCORE_EXP && attention->softmax == KILN_SOFTMAX_NONE)
            attention->softmax = KILN_SOFTMAX_ONLINE;
        if (ir->ops[value].opcode == KILN_OP_SCORE_MAX && kiln_ir_shows_nan_of_maximum(ir, value))
            attention->softmax = KILN_SOFTMAX_SHOWN;
    }
}

static void measure(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                    struct kiln_schedule *schedule)
{
    kiln_measure_places(ir, group, schedule);
    /* Of each operation at as many points as it is defined at. */
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        uint64_t points = (uint64_t)kiln_domain_elements(&ir->domains[op->domain]);
        schedule->traffic.operations = kiln_limited_sum(
            schedule->traffic.operations, kiln_limited_product(kiln_op_cost(op), points));
    }
}

/* True if the value is staged as it is loaded, without arithmetic, with a vector for each key. */
static bool is_value_moved(const struct kiln_contraction_problem *problem)
{
    uint32_t operand = kiln_group_operand(problem->group, KILN_PLACE_VALUE);
    bool is_moved = true;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        const struct kiln_access_schedule *walk = &problem->schedule->accesses[i];
        if (access->place == KILN_PLACE_VALUE)
            is_moved &= access->value == operand && access->dtype == problem->contraction->staged &&
                        walk->strides[KILN_STRIDE_ROW] != 0 &&
                        walk->strides[KILN_STRIDE_COLUMN] != 0;
    }
    return is_moved;
}

/* A work-item stages whole packs of a single value that lies along its rows. The packs belong to as
 * many keys as leave all work-items some of the tile. */
static void transpose_value(const struct kiln_contraction_problem *problem,
                            struct kiln_attention_schedule *attention)
{
    const struct kiln_contraction_schedule *products = &attention->products;
    struct kiln_operand_schedule *loads = &attention->value.loads;
    uint32_t pack = kiln_pack_elements(products);
    uint32_t units = attention->tile.d / pack * (products->tile.n / pack);
    if (products->tile.mma == NULL || !products->tile.mma->is_transposable ||
        kiln_dtype_info(products->staged)->bytes != 2 || attention->value_count != 1 ||
        kiln_attention_may_share_tiles(attention) || loads->run == 1 || !is_value_moved(problem))
        return;
    attention->value.is_transposed = true;
    loads->run = pack;
    while (loads->pieces < pack && units * loads->pieces < problem->schedule->launch.block)
        loads->pieces *= 2;
}

static enum kiln_status schedule_attention(const struct kiln_schedule_task *task,
                                           struct kiln_schedule *schedule, struct kiln_error *error)
{
    const struct kiln_ir *ir = task->ir;
    const struct kiln_fusion_group *group = task->group;
    struct kiln_attention_schedule *attention = kiln_attention_schedule_in(schedule);
    struct kiln_contraction_schedule *products = &attention->products;
    const struct kiln_op *score = &ir->ops[group->anchors[0]];
    struct kiln_contraction_problem problem = {
        .ir = ir,
        .graph = task->graph,
        .group = group,
        .target = task->target,
        .op = score,
        .axes = &ir->contractions[score->contraction],
        .schedule = schedule,
        .contraction = products,
    };
    schedule->template_name = "attention";
    if (!kiln_contraction_begin_accesses(&problem) ||
        !kiln_choose_staged_dtype(ir, task->graph, group, task->target, &products->staged))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    bool is_fold = group->anchor_count == kiln_group_score_count(group);
    if (is_fold && kiln_dtype_info(products->staged)->bytes == 1)
        products->staged = KILN_DTYPE_F16; /* which has all numbers of one byte */
    kiln_attention_lay_out_axes(&problem, attention);
    if (!kiln_find_attention_spans(&problem, attention))
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "node %u '%s': a kernel of attention lacks the lengths of a ragged "
                              "operand",
                              (unsigned)score->node, task->graph->nodes[score->node].name);
    find_softmax(ir, group, attention);
    kiln_find_attention_limits(ir, group, attention);
    kiln_attention_find_shared_tiles(&problem, attention);
    attention->score_loads = count_score_loads(&problem);
    products->k_granule = 1;
    const char *fault =
        kiln_choose_attention_tile(task->target, &schedule->limits, ir->is_general, attention);
    if (fault != NULL)
        return kiln_error_set(
            error, KILN_UNSUPPORTED, "node %u '%s': no kernel of attention on '%s': %s",
            (unsigned)score->node, task->graph->nodes[score->node].name, task->target->name, fault);
    schedule->launch.block =
        products->tile.waves_m * attention->tile.waves_d * task->target->wave_size;
    kiln_choose_staged_loads(&problem, &products->left, products->tile.m, products->tile.k);
    kiln_choose_staged_loads(&problem, &products->right, products->tile.n, products->tile.k);
    kiln_choose_staged_loads(&problem, &attention->value.loads, attention->tile.d,
                             products->tile.n);
    transpose_value(&problem, attention);
    kiln_choose_staged_loads(&problem, &attention->left_1.loads, products->tile.m,
                             products->tile.k);
    kiln_choose_staged_loads(&problem, &attention->right_1.loads, products->tile.n,
                             products->tile.k);
    kiln_choose_staged_loads(&problem, &attention->value_1.loads, attention->tile.d,
                             products->tile.n);
    bool is_whole_k = !ir->is_general && products->problem.k == (int64_t)products->tile.k &&
                      attention->k_1 == (int64_t)products->tile.k;
    products->k_end = is_whole_k ? KILN_K_END_NONE : KILN_K_END_ALONE;
    products->order = kiln_choose_tile_order(task->target);
    products->result_vector =
        kiln_result_vector(&problem, attention->d, schedule->limits.vector_elems);
    set_access_modes(&problem, attention);
    schedule->walk.rank = 1;
    schedule->walk.dims[0] = attention->d;
    schedule->walk.rows = (uint64_t)products->problem.m;
    schedule->walk.cols = (uint64_t)attention->d;
    schedule->walk.vector_elems = products->result_vector;
    schedule->launch.chunk_count =
        (is_fold ? kiln_batch_count(&products->problem.batches) /
                       (uint64_t)products->problem.batches.outer * kiln_column_tiles(products)
                 : kiln_batch_count(&products->problem.batches)) *
        kiln_row_tiles(products);
    if (schedule->launch.chunk_count > INT32_MAX)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "node %u '%s': attention has more than 2^31 tiles",
                              (unsigned)score->node, task->graph->nodes[score->node].name);
    schedule->walk.index_is_64bit = offsets_need_64_bits(&problem, attention);
    schedule->launch.lds_bytes = kiln_attention_lds_bytes(attention, task->target);
    measure(ir, group, schedule);
    return KILN_OK;
}

/* First an eighth of the registers that its tile is counted to have, down to what no tile is below,
 * then shorter vectors of the result. */
static bool relax_attention(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits)
{
    enum { FEWEST_REGISTERS = 64 };
    uint32_t registers = kiln_attention_schedule_of(schedule)->tile.registers;
    registers = registers < limits->registers ? registers : limits->registers;
    if (registers > FEWEST_REGISTERS)
        limits->registers = registers - registers / 8;
    else if (schedule->walk.vector_elems > 1)
        limits->vector_elems = schedule->walk.vector_elems / 2;
    else
        return false;
    return true;
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    const struct kiln_attention_schedule *x = kiln_attention_schedule_of(a);
    const struct kiln_attention_schedule *y = kiln_attention_schedule_of(b);
    return x->tile.registers == y->tile.registers;
}

static double product_operations(const struct kiln_schedule *schedule)
{
    const struct kiln_contraction_schedule *products =
        &kiln_attention_schedule_of(schedule)->products;
    const struct kiln_attention_schedule *attention = kiln_attention_schedule_of(schedule);
    double depth = (double)products->problem.k +
                   (attention->score_count > 1 ? (double)attention->k_1 : 0) +
                   (double)attention->value_count * (double)attention->d;
    double batches =
        (double)(kiln_batch_count(&products->problem.batches) / attention->segments) *
        (products->problem.batches.outer_axis != KILN_NONE ? (double)products->problem.batches.outer
                                                           : 1);
    return 2 * (double)products->problem.m * (double)products->problem.n * depth * batches;
}

static void count_products(const struct kiln_schedule *schedule, struct kiln_kernel_work *work)
{
    const struct kiln_contraction_schedule *products =
        &kiln_attention_schedule_of(schedule)->products;
    work->product_operations = product_operations(schedule);
    work->product_dtype = products->staged;
    work->has_matrix_unit = products->tile.mma != NULL;
}

/* A work-group keeps a compute unit busy, or two do that have few waves; and the last ones of a
 * grid leave others idle. */
static double attention_time(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *products =
        &kiln_attention_schedule_of(schedule)->products;
    const struct kiln_attention_schedule *attention = kiln_attention_schedule_of(schedule);
    uint32_t operand_bytes =
        products->tile.mma == NULL ? 0 : kiln_dtype_info(products->staged)->bytes;
    double traffic = (double)schedule->traffic.bytes_moved;
    double arithmetic =
        kiln_target_matrix_bytes(target, product_operations(schedule), operand_bytes) +
        kiln_target_vector_bytes(target, (double)schedule->traffic.operations);
    uint32_t places =
        target->compute_units *
        (products->tile.waves_m * attention->tile.waves_d <= 2 && target->wave_size > 1 ? 2 : 1);
    uint64_t turns = (schedule->launch.chunk_count + places - 1) / places;
    double slowdown = (double)turns * places / (double)schedule->launch.chunk_count;
    return (traffic > arithmetic ? traffic : arithmetic) * slowdown;
}

/* A CPU's work-item holds its tile in memory. */
static void append_registers(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    if (schedule->launch.block > 1)
        kiln_buffer_printf(buffer, ", about %" PRIu32 " registers",
                           kiln_attention_schedule_of(schedule)->tile.registers);
}

static void print_attention(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_attention_schedule *attention = kiln_attention_schedule_of(schedule);
    const struct kiln_contraction_schedule *products = &attention->products;
    kiln_buffer_printf(
        buffer,
        ": %" PRIu32 " rows of scores, %" PRIu32 " columns at a time, k of %" PRIu32 ", %" PRIu32
        " columns of the result, %s, %" PRIu32 " %s of %s, staged as %s",
        products->tile.m, products->tile.n, products->tile.k, attention->tile.d,
        attention->softmax != KILN_SOFTMAX_NONE ? "softmax as it goes"
        : attention->value_count == 0           ? "of two scores, without a second product"
        : attention->score_count > 1            ? "of two scores"
                                                : "scores as they are",
        products->tile.waves_m * attention->tile.waves_d,
        KILN_NOUN(products->tile.waves_m * attention->tile.waves_d, "wave"),
        products->tile.mma != NULL ? products->tile.mma->name : "scalar multiply-adds",
        kiln_dtype_info(products->staged)->text);
    if (attention->tile.waves_d > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " waves for each of its rows",
                           attention->tile.waves_d);
    if (attention->tile.are_tiles_late)
        kiln_buffer_append_text(buffer, ", tiles loaded late");
    append_registers(schedule, buffer);
    if (attention->segments > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " segments of columns", attention->segments);
    kiln_print_operand_loads("left", &products->left, schedule, group, buffer);
    kiln_print_operand_loads("right", &products->right, schedule, group, buffer);
    if (attention->value_count != 0)
        kiln_print_operand_loads("value", &attention->value.loads, schedule, group, buffer);
    if (attention->score_count > 1) {
        kiln_print_operand_loads("second left", &attention->left_1.loads, schedule, group, buffer);
        kiln_print_operand_loads("second right", &attention->right_1.loads, schedule, group,
                                 buffer);
    }
    if (attention->value_count > 1)
        kiln_print_operand_loads("second value", &attention->value_1.loads, schedule, group,
                                 buffer);
    if (attention->rows == KILN_SCORE_ROWS_TRANSPOSED)
        kiln_buffer_append_text(buffer, ", summed along the rows of scores");
    if (products->problem.batches.outer_axis != KILN_NONE)
        kiln_buffer_append_text(buffer, " of several batches");
    if (attention->value_count == 0)
        kiln_buffer_printf(buffer, ", summed over %" PRId64 " batches",
                           products->problem.batches.outer);
    kiln_buffer_printf(buffer, ", lds %" PRIu32 " bytes, result in vectors of %" PRIu32,
                       schedule->launch.lds_bytes, products->result_vector);
}

static void describe_attention(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    const struct kiln_attention_schedule *attention = kiln_attention_schedule_of(schedule);
    uint32_t waves = attention->products.tile.waves_m * attention->tile.waves_d;
    kiln_buffer_printf(buffer, "%" PRIu32 "x%" PRIu32 " scores, %" PRIu32 " %s%s",
                       attention->products.tile.m, attention->products.tile.n, waves,
                       KILN_NOUN(waves, "wave"),
                       attention->tile.are_tiles_late ? ", tiles loaded late" : "");
    append_registers(schedule, buffer);
}

/* attention_tile.c: a table, and what does not fit is made smaller. */
static void explain_attention(const struct kiln_schedule *schedule,
                              const struct kiln_target *target, struct kiln_buffer *buffer)
{
    const struct kiln_attention_schedule *attention = kiln_attention_schedule_of(schedule);
    uint32_t budget = kiln_attention_register_budget(attention, target);
    kiln_buffer_printf(buffer,
                       "  tile by a rule: a table by the size of heads (k %" PRId64
                       ", values %" PRId64 ") and the instruction",
                       attention->products.problem.k, attention->d);
    if (budget != UINT32_MAX)
        kiln_buffer_printf(buffer,
                           ", then smaller ones until a lane takes at most %" PRIu32
                           " registers; it takes about %" PRIu32,
                           budget, attention->tile.registers);
    kiln_buffer_append_text(buffer, "\n");
}

const struct kiln_schedule_family kiln_schedule_family_attention = {
    .takes_ragged = true,
    .details_bytes = sizeof(struct kiln_attention_schedule),
    .schedule = schedule_attention,
    .relax = relax_attention,
    .is_same = is_same,
    .count_products = count_products,
    .time = attention_time,
    .describe = describe_attention,
    .explain = explain_attention,
    .print = print_attention,
};
