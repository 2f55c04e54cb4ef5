#include "compiler/families/contraction/fuse/operand_sums.h"

#include "compiler/families/contraction/fuse/contraction_grouping.h"
#include "compiler/ir/operand_sums.h"

enum {
    MAX_DEPTH = 4, /* of what is computed from loads and meets a sum */
    /* From this k on a product's segments are those of its operand's sums too. A shorter one a
     * work-group adds up by itself, with some rows, in less time than the product takes. */
    MIN_SEGMENTED_K = 16384,
    /* Rows of a batch, each of which has work-groups: depthwise gradients have one. */
    MIN_ROWS = 8,
    /* Tensors as large as the operand that it is computed from. What is loaded of them together
     * would decide the registers of the whole kernel. */
    MAX_INPUTS = 2,
};

static bool may_have_sums(const struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    return op->opcode == KILN_OP_CONTRACT && !builder->bare[index] &&
           (op->scalar == KILN_SCALAR_F32 || op->scalar == KILN_SCALAR_F64);
}

/* True if each batch, if there are several, has rows enough for a work-group. */
static bool has_rows(const struct kiln_contraction *contraction, uint32_t side)
{
    int64_t rows = kiln_contraction_size(contraction, side == 0 ? KILN_AXIS_M : KILN_AXIS_N);
    return rows >= MIN_ROWS || kiln_contraction_size(contraction, KILN_AXIS_BATCH) == 1;
}

/* True if an operand is loaded, or computed from few loads of its own size: a LOAD, and what is
 * read from memory instead of being computed again. */
static bool has_few_inputs(struct kiln_group_builder *builder, uint32_t operand)
{
    const struct kiln_op *ops = builder->ir->ops;
    uint32_t stamp = ++builder->stamp_now;
    uint32_t inputs = 0;
    builder->stack_count = 0;
    builder->stack[builder->stack_count++] = operand;
    builder->stamp[operand] = stamp;
    while (builder->stack_count != 0 && inputs <= MAX_INPUTS) {
        uint32_t value = builder->stack[--builder->stack_count];
        const struct kiln_op *op = &ops[value];
        builder->steps++;
        if (op->opcode == KILN_OP_LOAD || builder->cut[value] || kiln_op_is_core(op)) {
            inputs++;
            continue;
        }
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t next = op->operands[k];
            if (ops[next].domain != ops[operand].domain || builder->stamp[next] == stamp)
                continue;
            builder->stamp[next] = stamp;
            builder->stack[builder->stack_count++] = next;
        }
    }
    builder->stack_count = 0;
    return inputs <= MAX_INPUTS;
}

/* True if a product's kernel may add up a sum of its operand too. A sum of the result's own domain
 * could not be told from it. */
static bool may_sum_beside(struct kiln_group_builder *builder, uint32_t product, uint32_t sum)
{
    if (builder->load_kinds[builder->ir->ops[sum].operands[0]] != 0)
        return false;
    const struct kiln_ir *ir = builder->ir;
    uint32_t side;
    return may_have_sums(builder, product) &&
           kiln_contraction_grouping(builder)->operand_sum[product] == KILN_NONE &&
           ir->ops[sum].domain != ir->ops[product].domain &&
           kiln_ir_is_operand_sum(ir, sum, product, &side) &&
           has_rows(&ir->contractions[ir->ops[product].contraction], side) &&
           has_few_inputs(builder, ir->ops[sum].operands[0]);
}

/* Sums come behind their products: kiln_ir_put_sums_behind_products. Each goes to the last one that
 * may have it. */
void kiln_find_operand_sums(struct kiln_group_builder *builder)
{
    enum { MOST_STEPS = 256 }; /* back from a sum: large graphs have many of both */
    const struct kiln_ir *ir = builder->ir;
    struct kiln_contraction_grouping *grouping = kiln_contraction_grouping(builder);
    enum kiln_contraction_form form = builder->options->contraction.form;
    bool has_tiles = form != KILN_CONTRACTION_DIRECT && form != KILN_CONTRACTION_SMALL;
    bool is_wanted = !builder->options->no_fusion && !builder->is_plain &&
                     (builder->strategy->choices & KILN_CHOICE_NO_OPERAND_SUMS) == 0 && has_tiles;
    for (uint32_t i = 0; i < ir->op_count; i++)
        grouping->summed_with[i] = grouping->operand_sum[i] = KILN_NONE;
    for (uint32_t i = 0; i < ir->op_count && is_wanted; i++) {
        if (ir->ops[i].opcode != KILN_OP_REDUCE_SUM || builder->bare[i])
            continue;
        uint32_t product = i;
        for (uint32_t steps = 0; product-- > 0 && steps < MOST_STEPS; steps++) {
            if (!may_sum_beside(builder, product, i))
                continue;
            grouping->summed_with[i] = product;
            grouping->operand_sum[product] = i;
            builder->choices |= KILN_CHOICE_NO_OPERAND_SUMS;
            break;
        }
    }
}

bool kiln_place_operand_sum(struct kiln_group_builder *builder, uint32_t index)
{
    uint32_t product = kiln_contraction_grouping(builder)->summed_with[index];
    if (product == KILN_NONE || builder->accumulated_in[product] == KILN_NONE)
        return false;
    uint32_t number = kiln_cluster_find(builder, builder->accumulated_in[product]);
    struct kiln_cluster *cluster = &builder->clusters[number];
    const struct kiln_op *op = &builder->ir->ops[index];
    uint32_t level = kiln_level_needed(builder, index, number);
    if (cluster->anchor_count != 1 || cluster->axes != 0 || cluster->is_closed ||
        op->domain == cluster->domain || !kiln_cluster_can_be_at(cluster, level))
        return false;
    kiln_cluster_raise_to(cluster, level);
    builder->accumulated_in[index] = builder->cluster[index] = number;
    cluster->core_count++;
    int64_t k = kiln_contraction_size(
        &builder->ir->contractions[builder->ir->ops[product].contraction], KILN_AXIS_K);
    if (cluster->role == KILN_ROLE_PARTIAL && k >= MIN_SEGMENTED_K) {
        uint32_t combine = kiln_cluster_add(builder, KILN_FAMILY_REDUCTION, KILN_ROLE_COMBINE,
                                            index, op->domain, cluster->level + 1);
        builder->clusters[combine].core_count = 1;
        builder->clusters[combine].segment_count = cluster->segment_count;
        builder->cluster[index] = combine;
    }
    kiln_require_operands(builder, index, number, cluster->level);
    return true;
}

/* The REDUCE that a cluster's kernel computes alongside its product, or KILN_NONE. */
static uint32_t sum_of(const struct kiln_group_builder *builder, const struct kiln_cluster *cluster)
{
    uint32_t sum = cluster->anchor_count == 0
                       ? KILN_NONE
                       : kiln_contraction_grouping(builder)->operand_sum[cluster->anchors[0]];
    if (sum == KILN_NONE || builder->accumulated_in[sum] == KILN_NONE)
        return KILN_NONE;
    uint32_t number = kiln_cluster_find(builder, builder->accumulated_in[sum]);
    return &builder->clusters[number] == cluster ? sum : KILN_NONE;
}

bool kiln_is_sum_beside(const struct kiln_group_builder *builder, uint32_t index)
{
    if (builder->accumulated_in[index] == KILN_NONE)
        return false;
    uint32_t cluster = kiln_cluster_find(builder, builder->accumulated_in[index]);
    return sum_of(builder, &builder->clusters[cluster]) == index;
}

uint32_t kiln_operand_sum_domain(const struct kiln_group_builder *builder,
                                 const struct kiln_cluster *cluster)
{
    uint32_t sum = sum_of(builder, cluster);
    bool is_whole = sum != KILN_NONE &&
                    kiln_cluster_of(builder, sum) == (uint32_t)(cluster - builder->clusters);
    return is_whole ? builder->ir->ops[sum].domain : KILN_NONE;
}

/* True if a value is the same wherever it is computed: of constants and of what is in memory. */
static bool is_of_memory(const struct kiln_group_builder *builder, uint32_t value, uint32_t depth)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
    if (kiln_op_is_source(op))
        return op->opcode != KILN_OP_INDEX;
    if (depth == MAX_DEPTH || kiln_cluster_of(builder, value) != KILN_NONE || kiln_op_is_core(op))
        return false;
    for (uint32_t k = 0; k < info->arity; k++) {
        if (!is_of_memory(builder, op->operands[k], depth + 1))
            return false;
    }
    return true;
}

bool kiln_operand_sum_allows(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, uint32_t index)
{
    const struct kiln_op *ops = builder->ir->ops;
    uint32_t sum = sum_of(builder, cluster);
    if (sum == KILN_NONE)
        return true;
    uint32_t number = (uint32_t)(cluster - builder->clusters);
    uint32_t domain = ops[sum].domain;
    bool is_of_sum = ops[index].domain == domain;
    for (uint32_t k = 0; k < kiln_opcode_info(ops[index].opcode)->arity; k++) {
        uint32_t operand = ops[index].operands[k];
        bool is_own = kiln_cluster_of(builder, operand) == number;
        if (is_own && (ops[operand].domain == domain) != is_of_sum)
            return false;
        if (!is_own && is_of_sum && !is_of_memory(builder, operand, 0))
            return false;
    }
    return true;
}
