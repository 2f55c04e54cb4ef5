/* Scores: what is computed of the first product's elements, up to what is exponentiated and from
 * there to what the second product takes. */
#include "compiler/families/attention/emit/emit_attention_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/families/attention/emit/emit_attention_exponent.h"
#include "compiler/families/attention/fuse/attention_group.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define ELEMENT_PARAMETERS                                                                         \
    "const kiln_arguments &arguments, const kiln_batch &batch, unsigned row, unsigned column, "    \
    "bool is_visible, const kiln_sum (&sums)[KILN_SCORES][KILN_CHAIN_RUN], "

bool kiln_is_score_access(const struct kiln_emission *emission, uint32_t access)
{
    return kiln_is_loaded_in(emission, access, KILN_PLACE_SCORE) ||
           kiln_is_loaded_in(emission, access, KILN_PLACE_WEIGHT);
}

bool kiln_is_score_row_access(const struct kiln_emission *emission, uint32_t access)
{
    return kiln_is_score_access(emission, access) &&
           emission->schedule->accesses[access].mode == KILN_ACCESS_SPLAT;
}

void kiln_emit_score_parameter(const struct kiln_emission *emission, uint32_t access,
                               struct kiln_buffer *source)
{
    kiln_buffer_printf(source, ", kiln_storage_%s x%" PRIu32,
                       kiln_storage_suffix(&emission->group->accesses[access]), access);
}

/* Prints maps of what a place loads, and "#define KILN_SCORE_LOADS(use) use(3, f16, RUN)". */
static void append_loads(const struct kiln_emission *emission, enum kiln_place place,
                         const char *define, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_in(emission, i, place) &&
            group->accesses[i].kind != KILN_ARGUMENT_HOST_SCALAR)
            kiln_emit_map_fact(emission, i, NULL, source);
    }
    kiln_buffer_printf(source, "#define KILN_%s_LOADS(use)", define);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_in(emission, i, place))
            kiln_buffer_printf(source, " use(%" PRIu32 ", %s, %s)", i,
                               kiln_storage_suffix(&group->accesses[i]),
                               group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR ? "SCALAR"
                               : kiln_is_length_access(emission, i)                 ? "LENGTH"
                               : kiln_is_score_row_access(emission, i)              ? "ROW"
                                                                                    : "RUN");
    }
    kiln_buffer_append_text(source, "\n");
}

/* True if a value is the condition of the limits, which is the text's own. What follows a softmax
 * is not told whether there are any. */
static bool is_limit(const struct kiln_emission *emission, enum kiln_place place, uint32_t value)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    return value == attention->mask.visible &&
           (place == KILN_PLACE_SCORE || attention->softmax == KILN_SOFTMAX_NONE);
}

static bool is_exponential(const struct kiln_emission *emission, enum kiln_place place,
                           uint32_t value)
{
    return place == KILN_PLACE_WEIGHT && kiln_is_weight_exponential(emission, value);
}

/* What of a place's values its results need: nothing that the limits compare. NULL when memory is
 * out. */
static bool *find_needed(const struct kiln_emission *emission, enum kiln_place place,
                         const uint32_t *results, uint32_t result_count)
{
    const struct kiln_fusion_group *group = emission->group;
    bool *needed = calloc(group->op_count, sizeof *needed);
    if (needed == NULL)
        return NULL;
    for (uint32_t i = 0; i < result_count; i++)
        needed[kiln_group_position(group, results[i])] = true;
    for (uint32_t i = group->op_count; i-- > 0;) {
        const struct kiln_op *op = &emission->ir->ops[group->ops[i]];
        bool is_end = op->opcode == KILN_OP_SCORE || op->opcode == KILN_OP_SCORE_EXP ||
                      is_limit(emission, place, group->ops[i]);
        needed[i] &= (group->places[i] >> place & 1) != 0;
        if (!needed[i] || is_end)
            continue;
        uint32_t operands[KILN_IR_MAX_OPERANDS] = {op->operands[0], op->operands[1],
                                                   op->operands[2]};
        uint32_t count = kiln_opcode_info(op->opcode)->arity;
        if (is_exponential(emission, place, group->ops[i])) {
            const struct kiln_exponent exponent =
                kiln_find_weight_exponent(emission, group->ops[i]);
            operands[0] = exponent.value;
            operands[1] = exponent.condition;
            operands[2] = exponent.shift;
            count = 3;
        }
        for (uint32_t k = 0; k < count; k++) {
            uint32_t at =
                operands[k] == KILN_NONE ? KILN_NONE : kiln_group_position(group, operands[k]);
            if (at != KILN_NONE)
                needed[at] = true;
        }
    }
    return needed;
}

/* True if scores and the result have different coordinates. */
static bool has_other_indices(const struct kiln_emission *emission)
{
    return kiln_attention_of(emission)->rows == KILN_SCORE_ROWS_TRANSPOSED ||
           kiln_contraction_of(emission)->problem.batches.outer_axis != KILN_NONE;
}

/* An index: a coordinate of a score. */
static void append_index(const struct kiln_emission *emission, const struct kiln_value_table *table,
                         uint32_t value, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    const struct kiln_product_problem *problem = &attention->products.problem;
    const struct kiln_op *op = &emission->ir->ops[value];
    bool is_other = has_other_indices(emission);
    uint32_t from_right = emission->ir->domains[op->domain].rank - 1 - op->axis;
    bool is_transposed = attention->rows == KILN_SCORE_ROWS_TRANSPOSED;
    uint32_t row_axis = is_other ? !is_transposed : problem->rows.domain_axes[0];
    uint32_t column_axis = is_other ? is_transposed : problem->columns.domain_axes[0];
    kiln_buffer_printf(source, "    const %s ", kiln_scalar_type(op->scalar));
    kiln_emit_value(table, value, source);
    kiln_buffer_printf(source, " = (%s)(0u", kiln_scalar_type(op->scalar));
    if (from_right == row_axis)
        kiln_buffer_append_text(source, " + row");
    if (from_right == column_axis)
        kiln_buffer_append_text(source, " + column");
    for (uint32_t b = 0; b < problem->batches.rank && (!is_other || from_right >= 2); b++) {
        if (problem->batches.axes[b] != from_right)
            continue;
        kiln_buffer_printf(source,
                           problem->batches.outer_axis == b
                               ? " + (batch.c[%" PRIu32
                                 "] * (unsigned)arguments.outer + batch.outer) * %" PRId64 "u"
                               : " + batch.c[%" PRIu32 "] * %" PRId64 "u",
                           b, problem->batches.domain_steps[b]);
    }
    kiln_buffer_append_text(source, ");\n");
}

static void append_values_of(const struct kiln_emission *emission, enum kiln_place place,
                             const struct kiln_value_table *table, const bool *needed,
                             struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &emission->ir->ops[value];
        if (!needed[i] || !kiln_value_is_computed(emission, table, value) ||
            op->opcode == KILN_OP_CONSTANT)
            continue;
        if (op->opcode == KILN_OP_INDEX) {
            append_index(emission, table, value, source);
        } else if (is_exponential(emission, place, value) && table->load[value] == KILN_NONE) {
            kiln_emit_weight_exponential(emission, table, value, source);
        } else if (kiln_emit_scaled_sum(emission, table, value, source)) {
            continue;
        } else if (!is_limit(emission, place, value)) {
            kiln_emit_contraction_value(emission, table, value, source);
        } else {
            kiln_buffer_append_text(source, "    const bool ");
            kiln_emit_value(table, value, source);
            kiln_buffer_append_text(source, " = is_visible;\n");
        }
    }
}

/* The rest of a function of an element, from the parameters that hold its loads on. `to[i]` takes
 * results[i]. */
static void append_body(const struct kiln_emission *emission, enum kiln_place place,
                        const uint32_t *results, uint32_t result_count, const char *const *to,
                        struct kiln_buffer *source)
{
    struct kiln_value_table table;
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_loaded_in(emission, i, place))
            kiln_emit_score_parameter(emission, i, source);
    }
    kiln_buffer_append_text(source, ")\n{\n    (void)arguments, (void)batch, (void)row, "
                                    "(void)column, (void)is_visible, (void)sums, (void)e;\n");
    bool *needed = find_needed(emission, place, results, result_count);
    if (needed == NULL || !kiln_contraction_table_init(emission, place, &table)) {
        source->failed = true;
        free(needed);
        return;
    }
    append_values_of(emission, place, &table, needed, source);
    for (uint32_t i = 0; i < result_count; i++) {
        kiln_buffer_printf(source, "    %s = ", to[i]);
        kiln_emit_value(&table, results[i], source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_value_table_fini(&table);
    free(needed);
}

/* ---- from sums to weights ---- */

/* True if what is loaded only multiplies or divides scores: their factor. */
static bool only_scales(const struct kiln_emission *emission, uint32_t loaded)
{
    const struct kiln_fusion_group *group = emission->group;
    enum { OF_SCORE = 1, LOADED = 2 };
    uint8_t *kinds = calloc(group->op_count, sizeof *kinds);
    bool is_factor = kinds != NULL;
    for (uint32_t i = 0; i < group->op_count && is_factor; i++) {
        const struct kiln_op *op = &emission->ir->ops[group->ops[i]];
        uint8_t of[KILN_IR_MAX_OPERANDS] = {0};
        uint32_t arity = kiln_opcode_info(op->opcode)->arity;
        if (op->opcode == KILN_OP_SCORE)
            kinds[i] = OF_SCORE;
        else if (group->ops[i] == loaded)
            kinds[i] = LOADED;
        for (uint32_t k = 0; k < arity && kinds[i] == 0; k++) {
            uint32_t at = kiln_group_position(group, op->operands[k]);
            of[k] = at == KILN_NONE ? 0 : kinds[at];
        }
        if (kinds[i] != 0 || (group->places[i] >> KILN_PLACE_SCORE & 1) == 0)
            continue;
        bool is_same = op->opcode == KILN_OP_BROADCAST || op->opcode == KILN_OP_CONVERT;
        bool reads = ((of[0] | of[1] | of[2]) & LOADED) != 0;
        bool scales = (op->opcode == KILN_OP_MUL && (of[0] | of[1]) == (OF_SCORE | LOADED)) ||
                      (op->opcode == KILN_OP_DIV && of[0] == OF_SCORE && of[1] == LOADED);
        is_factor = !reads || is_same || scales;
        kinds[i] = is_same ? of[0] : (uint8_t)((of[0] | of[1] | of[2]) & OF_SCORE);
    }
    free(kinds);
    return is_factor;
}

/* What elements of 16 bits or less hold, bfloat16 aside. */
static bool may_hold_huge(enum kiln_dtype dtype)
{
    return dtype == KILN_DTYPE_BF16 || kiln_dtype_info(dtype)->bytes > 2;
}

bool kiln_may_scores_be_huge(const struct kiln_emission *emission)
{
    const double largest_factored = 0x1p16;
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        const struct kiln_access *access = &emission->group->accesses[i];
        if (kiln_is_loaded_in(emission, i, KILN_PLACE_SCORE) && may_hold_huge(access->dtype) &&
            !only_scales(emission, access->value))
            return true;
    }
    for (uint32_t i = 0; i < emission->group->op_count; i++) {
        const struct kiln_op *op = &emission->ir->ops[emission->group->ops[i]];
        bool is_score = (emission->group->places[i] >> KILN_PLACE_SCORE & 1) != 0;
        if (is_score && op->opcode == KILN_OP_CONSTANT && op->scalar == KILN_SCALAR_F32 &&
            isfinite(op->constant.real) && fabs(op->constant.real) > largest_factored)
            return true;
    }
    return false;
}

/* kiln_score_scale and kiln_score_offset; and kiln_score_element, where there is a softmax. */
static void append_score(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_exponent exponent = kiln_find_score_exponent(emission);
    kiln_buffer_printf(source,
                       "KILN_FACT kiln_sum kiln_score_scale = %af, kiln_score_offset = %af;\n",
                       exponent.scale, exponent.offset);
    if (exponent.value == KILN_NONE)
        return;
    kiln_buffer_append_text(source, "KILN_DEVICE void kiln_score_element(" ELEMENT_PARAMETERS
                                    "unsigned e, kiln_sum &x");
    append_body(emission, KILN_PLACE_SCORE, &exponent.value, 1, (const char *const[]){"x"}, source);
    if (exponent.part_factor != 0)
        kiln_buffer_printf(source, "    x = kiln_tanh_part_f32(x * %af);\n",
                           (double)(float)exponent.part_factor);
    kiln_buffer_append_text(source, "}\n");
}

/* What is rounded to the staged type is encoded in it anyway. */
static void append_weight(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    static const char *const to[] = {"weights[0][e]", "weights[1][e]"};
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_fusion_group *group = emission->group;
    bool is_fold = group->anchor_count == kiln_group_score_count(group);
    uint32_t count = is_fold ? 1 : group->anchor_count - kiln_group_score_count(group);
    uint32_t weights[KILN_GROUP_MAX_PRODUCTS];
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = kiln_group_weights(ir, group, i);
        const struct kiln_op *op = &ir->ops[weights[i]];
        if (!is_fold && op->opcode == KILN_OP_ROUND &&
            op->dtype == kiln_contraction_of(emission)->staged)
            weights[i] = op->operands[0];
    }
    kiln_buffer_append_text(source, "KILN_DEVICE void kiln_weight_element(" ELEMENT_PARAMETERS
                                    "const kiln_sum (&exponentials)[KILN_CHAIN_RUN], unsigned e, "
                                    "kiln_sum (&weights)[KILN_RESULTS][KILN_CHAIN_RUN]");
    append_body(emission, KILN_PLACE_WEIGHT, weights, count, to, source);
    kiln_buffer_append_text(source, "    (void)exponentials;\n}\n");
}

/* True if no loaded run goes on after the last column. Kernels without such loads are the same for
 * any number of columns. */
static bool are_runs_whole(const struct kiln_emission *emission)
{
    enum { LONGEST_RUN = 8 }; /* KILN_CHAIN_RUN is a power of two up to that */
    bool are_loaded = false;
    if (emission->ir->is_general)
        return false;
    for (uint32_t i = 0; i < emission->group->load_count; i++)
        are_loaded |= kiln_is_score_access(emission, i) && !kiln_is_score_row_access(emission, i) &&
                      emission->schedule->accesses[i].mode != KILN_ACCESS_VECTOR;
    return are_loaded && kiln_contraction_of(emission)->problem.n % LONGEST_RUN == 0;
}

void kiln_emit_attention_scores(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "#define KILN_HIDES_SCORES_LAST %d\n#define KILN_ARE_RUNS_WHOLE %d\n",
                       kiln_hides_scores_last(emission), are_runs_whole(emission));
    append_loads(emission, KILN_PLACE_SCORE, "SCORE", source);
    append_loads(emission, KILN_PLACE_WEIGHT, "WEIGHT", source);
    kiln_emit_attention_limits(emission, source);
    append_score(emission, source);
    append_weight(emission, source);
}
