/* Schedules of attention: two products, their scores in registers, in one kernel. */
#include "compiler/schedule/attention_layout.h"
#include "compiler/schedule/attention_limits.h"
#include "compiler/schedule/attention_tile.h"

#include "compiler/fuse/contraction_group.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/op_cost.h"
#include "compiler/fuse/target_rates.h"
#include "compiler/ir/score_maximum.h"
#include "compiler/schedule/contraction_dtype.h"
#include "compiler/schedule/contraction_loads.h"
#include "compiler/schedule/contraction_print.h"
#include "compiler/schedule/schedule_contraction.h"
#include "compiler/schedule/schedule_family.h"
#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>

enum { PACK_BYTES = 16, WIDEST_RESULT = 8 };

/* ---- loads and stores ---- */

/* A run of rows where memory runs along them, packs along k where it runs there; else element by
 * element. As many as leave every work-item some of the tile: it waits in their registers. */
static void choose_loads(const struct kiln_contraction_problem *problem,
                         struct kiln_operand_schedule *operand, uint32_t tile_rows, uint32_t tile_k)
{
    uint32_t pack = kiln_pack_elements(problem->contraction);
    uint32_t run = KILN_WIDEST_RUN;
    bool is_whole = kiln_has_whole_loads(problem, operand);
    operand->is_along_k = !kiln_runs_along_rows(problem, operand);
    operand->vector = operand->is_along_k && is_whole ? pack : 1;
    while (run > 1 && tile_rows * (tile_k / pack) / run < problem->schedule->block)
        run /= 2;
    operand->run = operand->is_along_k || !is_whole ? 1 : run;
}

/* Neighbours along the result's columns that are finished at once: as many as 16 bytes have, or
 * one. */
static void choose_result_vector(struct kiln_contraction_problem *problem, int64_t d)
{
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    uint32_t limit = problem->schedule->limits.vector_elems;
    uint32_t bytes =
        store == KILN_NONE ? 4 : kiln_dtype_info(problem->group->accesses[store].dtype)->bytes;
    uint32_t most = PACK_BYTES / bytes > WIDEST_RESULT ? WIDEST_RESULT : PACK_BYTES / bytes;
    most = kiln_floor_power_of_two(most < limit ? most : limit);
    bool is_vector =
        kiln_are_accesses_whole(problem, KILN_PLACE_ELEMENT, KILN_STRIDE_COLUMN, d, most);
    problem->contraction->result_vector = is_vector ? most : 1;
}

/* What is loaded for scores, of as many columns as the core has in a run, which only it knows: two
 * neighbours at a time where no run is cut. */
static uint32_t score_vector(const struct kiln_contraction_problem *problem, uint32_t access)
{
    enum { LONGEST_RUN = 8, PAIR = 2 };
    return problem->schedule->accesses[access].strides[KILN_STRIDE_COLUMN] == 1 &&
                   problem->contraction->n % LONGEST_RUN == 0 &&
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
        struct kiln_access_schedule *access = &problem->schedule->accesses[i];
        const struct kiln_operand_schedule *operand =
            kiln_attention_operand(attention, memory->place);
        bool is_score = memory->place == KILN_PLACE_SCORE || memory->place == KILN_PLACE_WEIGHT;
        bool along_column = operand == NULL || operand->is_along_k;
        uint32_t vector = operand != NULL ? (operand->is_along_k ? operand->vector : operand->run)
                          : memory->place == KILN_PLACE_ELEMENT ? products->result_vector
                          : is_score                            ? score_vector(problem, i)
                                                                : 1;
        int64_t stride = access->strides[along_column ? KILN_STRIDE_COLUMN : KILN_STRIDE_ROW];
        access->mode = stride == 0                 ? KILN_ACCESS_SPLAT
                       : stride == 1 && vector > 1 ? KILN_ACCESS_VECTOR
                                                   : KILN_ACCESS_GATHER;
        access->alignment_bytes =
            access->mode == KILN_ACCESS_VECTOR
                ? kiln_vector_alignment(problem->target, memory->dtype, vector)
                : kiln_dtype_info(memory->dtype)->bytes;
    }
}

/* Offsets within a tile, and those of scores, which go on to the end of their row, are bytes of 32
 * bits where that suffices. */
static bool offsets_need_64_bits(const struct kiln_contraction_problem *problem,
                                 const struct kiln_attention_schedule *attention)
{
    const int64_t limit = INT32_MAX - (1 << 20);
    const struct kiln_contraction_schedule *products = problem->contraction;
    if (products->m > limit || products->n > limit)
        return true;
    int64_t rows = products->tile_m > products->tile_n ? products->tile_m : products->tile_n;
    rows = rows > (int64_t)attention->tile_d ? rows : (int64_t)attention->tile_d;
    rows = rows > (int64_t)products->tile_k ? rows : (int64_t)products->tile_k;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        const int64_t *strides = problem->schedule->accesses[i].strides;
        bool is_score = access->place == KILN_PLACE_SCORE || access->place == KILN_PLACE_WEIGHT;
        int64_t columns = is_score ? products->n : rows;
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
        if (ir->ops[value].opcode == KILN_OP_SCORE_EXP)
            attention->is_online = true;
        if (ir->ops[value].opcode == KILN_OP_SCORE_MAX)
            attention->shows_maximum |= kiln_ir_shows_nan_of_maximum(ir, value);
    }
}

/* Segments count as batches do. */
static uint64_t batch_count(const struct kiln_contraction_schedule *products)
{
    uint64_t batches = 1;
    for (uint32_t b = 0; b < products->batch_rank; b++)
        batches *= (uint64_t)products->batch_sizes[b];
    return batches;
}

static uint64_t tiles_of(int64_t size, uint32_t tile)
{
    return ((uint64_t)size + tile - 1) / tile;
}

/* Each access counts once: what is read again comes out of a cache. */
static void measure(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                    struct kiln_schedule *schedule)
{
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        const struct kiln_domain *domain =
            &ir->domains[kiln_group_place_domain(ir, group, access->place)];
        uint64_t bytes = kiln_dtype_info(access->dtype)->bytes;
        for (uint32_t axis = 0; axis < domain->rank; axis++) {
            if (access->strides[axis] != 0)
                bytes = kiln_limited_product(bytes, (uint64_t)domain->dims[axis]);
        }
        schedule->bytes_fewest = kiln_limited_sum(schedule->bytes_fewest, bytes);
    }
    schedule->bytes_moved = schedule->bytes_fewest;
    /* Of each operation at as many points as it is defined at. */
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        uint64_t points = (uint64_t)kiln_domain_elements(&ir->domains[op->domain]);
        schedule->operations =
            kiln_limited_sum(schedule->operations, kiln_limited_product(kiln_op_cost(op), points));
    }
}

static enum kiln_status schedule_attention(const struct kiln_schedule_task *task,
                                           struct kiln_schedule *schedule, struct kiln_error *error)
{
    const struct kiln_ir *ir = task->ir;
    const struct kiln_fusion_group *group = task->group;
    struct kiln_attention_schedule *attention = &schedule->attention;
    struct kiln_contraction_schedule *products = &attention->products;
    const struct kiln_op *score = &ir->ops[group->contracts[0]];
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
    if (!kiln_choose_staged_dtype(ir, task->graph, group, task->target, &products->staged))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    bool is_fold = group->contract_count == group->score_count;
    if (is_fold && kiln_dtype_info(products->staged)->bytes == 1)
        products->staged = KILN_DTYPE_F16; /* which has all numbers of one byte */
    kiln_attention_lay_out_axes(&problem, attention);
    find_softmax(ir, group, attention);
    kiln_find_attention_limits(ir, group, attention);
    kiln_attention_find_shared_tiles(&problem, attention);
    attention->score_loads = count_score_loads(&problem);
    products->k_granule = 1;
    const char *fault = kiln_choose_attention_tile(task->target, &schedule->limits, attention);
    if (fault != NULL)
        return kiln_error_set(
            error, KILN_UNSUPPORTED, "node %u '%s': no kernel of attention on '%s': %s",
            (unsigned)score->node, task->graph->nodes[score->node].name, task->target->name, fault);
    schedule->block = products->waves_m * attention->waves_d * task->target->wave_size;
    choose_loads(&problem, &products->left, products->tile_m, products->tile_k);
    choose_loads(&problem, &products->right, products->tile_n, products->tile_k);
    choose_loads(&problem, &attention->value, attention->tile_d, products->tile_n);
    choose_loads(&problem, &attention->left_1, products->tile_m, products->tile_k);
    choose_loads(&problem, &attention->right_1, products->tile_n, products->tile_k);
    choose_loads(&problem, &attention->value_1, attention->tile_d, products->tile_n);
    bool is_whole_k =
        products->k == (int64_t)products->tile_k && attention->k_1 == (int64_t)products->tile_k;
    products->k_end = is_whole_k ? KILN_K_END_NONE : KILN_K_END_ALONE;
    products->chiplets = kiln_is_cdna3_or_later(task->target) ? 8 : 1;
    choose_result_vector(&problem, attention->d);
    set_access_modes(&problem, attention);
    schedule->rank = 1;
    schedule->dims[0] = attention->d;
    schedule->rows = (uint64_t)products->m;
    schedule->cols = (uint64_t)attention->d;
    schedule->vector_elems = products->result_vector;
    schedule->chunk_count = (is_fold ? batch_count(products) / (uint64_t)products->outer *
                                           tiles_of(products->n, products->tile_n)
                                     : batch_count(products)) *
                            tiles_of(products->m, products->tile_m);
    if (schedule->chunk_count > INT32_MAX)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "node %u '%s': attention has more than 2^31 tiles",
                              (unsigned)score->node, task->graph->nodes[score->node].name);
    schedule->index_is_64bit = offsets_need_64_bits(&problem, attention);
    schedule->lds_bytes = kiln_attention_lds_bytes(attention, task->target);
    measure(ir, group, schedule);
    return KILN_OK;
}

/* First an eighth of the registers that its tile is counted to have, down to what no tile is below,
 * then shorter vectors of the result. */
static bool relax_attention(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits)
{
    enum { FEWEST_REGISTERS = 64 };
    uint32_t registers = schedule->attention.registers;
    registers = registers < limits->registers ? registers : limits->registers;
    if (registers > FEWEST_REGISTERS)
        limits->registers = registers - registers / 8;
    else if (schedule->vector_elems > 1)
        limits->vector_elems = schedule->vector_elems / 2;
    else
        return false;
    return true;
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    return a->attention.registers == b->attention.registers;
}

static bool walks_in_order(const struct kiln_schedule *schedule)
{
    (void)schedule;
    return false;
}

static double product_operations(const struct kiln_schedule *schedule)
{
    const struct kiln_contraction_schedule *products = &schedule->attention.products;
    const struct kiln_attention_schedule *attention = &schedule->attention;
    double depth = (double)products->k + (attention->score_count > 1 ? (double)attention->k_1 : 0) +
                   (double)attention->value_count * (double)attention->d;
    double batches = (double)(batch_count(products) / products->segments) *
                     (products->has_outer ? (double)products->outer : 1);
    return 2 * (double)products->m * (double)products->n * depth * batches;
}

static void count_products(const struct kiln_schedule *schedule, struct kiln_kernel_work *work)
{
    const struct kiln_contraction_schedule *products = &schedule->attention.products;
    work->product_operations = product_operations(schedule);
    work->product_dtype = products->staged;
    work->has_matrix_unit = products->mma != NULL;
}

/* A work-group keeps a compute unit busy, or two do that have few waves; and the last ones of a
 * grid leave others idle. */
static double attention_time(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *products = &schedule->attention.products;
    const struct kiln_attention_schedule *attention = &schedule->attention;
    uint32_t operand_bytes = products->mma == NULL ? 0 : kiln_dtype_info(products->staged)->bytes;
    double traffic = (double)schedule->bytes_moved;
    double arithmetic =
        kiln_target_matrix_bytes(target, product_operations(schedule), operand_bytes) +
        kiln_target_vector_bytes(target, (double)schedule->operations);
    uint32_t places =
        target->compute_units *
        (products->waves_m * attention->waves_d <= 2 && target->wave_size > 1 ? 2 : 1);
    uint64_t turns = (schedule->chunk_count + places - 1) / places;
    double slowdown = (double)turns * places / (double)schedule->chunk_count;
    return (traffic > arithmetic ? traffic : arithmetic) * slowdown;
}

static void print_attention(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_attention_schedule *attention = &schedule->attention;
    const struct kiln_contraction_schedule *products = &attention->products;
    kiln_buffer_printf(buffer,
                       ": %" PRIu32 " rows of scores, %" PRIu32 " columns at a time, k of %" PRIu32
                       ", %" PRIu32 " columns of the result, %s, %" PRIu32
                       " waves of %s, staged as %s",
                       products->tile_m, products->tile_n, products->tile_k, attention->tile_d,
                       attention->is_online          ? "softmax as it goes"
                       : attention->value_count == 0 ? "of two scores, without a second product"
                       : attention->score_count > 1  ? "of two scores"
                                                     : "scores as they are",
                       products->waves_m * attention->waves_d,
                       products->mma != NULL ? products->mma->name : "scalar multiply-adds",
                       kiln_dtype_info(products->staged)->text);
    if (attention->waves_d > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " waves for each of its rows", attention->waves_d);
    if (attention->are_tiles_late)
        kiln_buffer_append_text(buffer, ", tiles loaded late");
    kiln_buffer_printf(buffer, ", about %" PRIu32 " registers", attention->registers);
    if (products->segments > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " segments of columns", products->segments);
    kiln_print_operand_loads("left", &products->left, schedule, group, buffer);
    kiln_print_operand_loads("right", &products->right, schedule, group, buffer);
    if (attention->value_count != 0)
        kiln_print_operand_loads("value", &attention->value, schedule, group, buffer);
    if (attention->score_count > 1) {
        kiln_print_operand_loads("second left", &attention->left_1, schedule, group, buffer);
        kiln_print_operand_loads("second right", &attention->right_1, schedule, group, buffer);
    }
    if (attention->value_count > 1)
        kiln_print_operand_loads("second value", &attention->value_1, schedule, group, buffer);
    if (attention->is_transposed)
        kiln_buffer_append_text(buffer, ", summed along the rows of scores");
    if (products->has_outer)
        kiln_buffer_append_text(buffer, " of several batches");
    if (attention->value_count == 0)
        kiln_buffer_printf(buffer, ", summed over %" PRId64 " batches", products->outer);
    kiln_buffer_printf(buffer, ", lds %" PRIu32 " bytes, result in vectors of %" PRIu32,
                       schedule->lds_bytes, products->result_vector);
}

const struct kiln_schedule_family kiln_schedule_family_attention = {
    .schedule = schedule_attention,
    .relax = relax_attention,
    .is_same = is_same,
    .walks_in_order = walks_in_order,
    .count_products = count_products,
    .time = attention_time,
    .print = print_attention,
};
