/* Scores: what is computed of the first product's elements, up to what is exponentiated and from
 * there to what the second product takes. */
#include "compiler/emit/emit_attention_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_attention_exponent.h"
#include "compiler/fuse/contraction_group.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define SCORE_PARAMETERS                                                                           \
    "const kiln_arguments &arguments, const kiln_score_source &source, const kiln_score_row "      \
    "&row, const kiln_score_inputs &loaded, unsigned at_row, unsigned column, bool is_masked, "    \
    "const kiln_sum (&sums)[KILN_SCORES][KILN_CHAIN_RUN], "

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

/* The members of a structure of what is loaded: of rows, of elements, or both. */
static void append_members(const struct kiln_emission *emission, bool has_rows, bool has_elements,
                           struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        bool is_of_row = kiln_is_score_row_access(emission, i);
        if (kiln_is_score_access(emission, i) && (is_of_row ? has_rows : has_elements))
            kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[%s];\n",
                               kiln_storage_suffix(&emission->group->accesses[i]), i,
                               is_of_row ? "1" : "KILN_CHAIN_RUN");
    }
}

static void append_source(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "struct kiln_score_source {\n    kiln_batch batch;\n"
                                    "    unsigned row, column;\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_score_access(emission, i))
            kiln_emit_contraction_pointer(emission, i, source);
    }
    kiln_buffer_append_text(
        source,
        "};\nKILN_DEVICE void kiln_score_start(const kiln_arguments &arguments, const kiln_batch "
        "&batch, unsigned row, kiln_score_source &source)\n{\n    (void)arguments;\n"
        "    source.batch = batch;\n    source.row = row;\n    source.column = 0;\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (kiln_is_score_access(emission, i))
            kiln_emit_contraction_start(emission, i, NULL, "row", NULL, source);
    }
    kiln_buffer_append_text(source, "}\n");
}

/* What is loaded once for a row. */
static void append_row(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "struct kiln_score_row {\n");
    append_members(emission, true, false, source);
    kiln_buffer_append_text(
        source, "};\nKILN_DEVICE void kiln_score_row_start(const kiln_arguments &arguments, const "
                "kiln_score_source &source, unsigned at_row, kiln_score_row &row)\n{\n"
                "    (void)arguments, (void)source, (void)at_row, (void)row;\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_score_row_access(emission, i))
            continue;
        if (emission->group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR) {
            kiln_buffer_printf(source, "    row.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", i, i);
            continue;
        }
        kiln_buffer_printf(source, "    row.x%" PRIu32 "[0] = *(source.p%" PRIu32 " + (0u", i, i);
        kiln_emit_contraction_row_offset(emission, i, source);
        kiln_buffer_append_text(source, "));\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

/* Neighbours that are loaded two at a time, or as many together as the compiler makes of them. */
static void append_pairs(const struct kiln_emission *emission, uint32_t access,
                         struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    kiln_buffer_printf(source,
                       "    {\n        const kiln_storage_%s *p = source.p%" PRIu32 " + (0u",
                       kiln_storage_suffix(memory), access);
    kiln_emit_contraction_row_offset(emission, access, source);
    kiln_emit_contraction_term(emission, offset, access, KILN_STRIDE_COLUMN, "column", source);
    kiln_buffer_printf(source,
                       ");\n#if KILN_CHAIN_RUN > 1\n        KILN_UNROLL\n"
                       "        for (unsigned e = 0; e < KILN_CHAIN_RUN; e += 2)\n"
                       "            KILN_LOAD_VECTOR(%" PRIu32 ", loaded.x%" PRIu32 " + e, p + e)\n"
                       "#else\n        loaded.x%" PRIu32 "[0] = *p;\n#endif\n    }\n",
                       2 * kiln_dtype_info(memory->dtype)->bytes, access, access);
}

/* What is loaded for a run of columns. Of the last one some may be beyond the end. */
static void append_load(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    enum { LONGEST_RUN = 8 }; /* KILN_CHAIN_RUN is a power of two up to that */
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    bool is_whole = kiln_contraction_of(emission)->n % LONGEST_RUN == 0;
    kiln_buffer_append_text(source, "struct kiln_score_inputs {\n");
    append_members(emission, false, true, source);
    kiln_buffer_append_text(
        source, "};\nKILN_DEVICE void kiln_score_load(const kiln_arguments &arguments, const "
                "kiln_score_source &source, unsigned at_row, unsigned column, kiln_score_inputs "
                "&loaded)\n{\n"
                "    (void)arguments, (void)source, (void)at_row, (void)column, (void)loaded;\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_score_access(emission, i) || kiln_is_score_row_access(emission, i))
            continue;
        if (emission->schedule->accesses[i].mode == KILN_ACCESS_VECTOR) {
            append_pairs(emission, i, source);
            continue;
        }
        kiln_buffer_printf(
            source,
            "    KILN_UNROLL\n    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++) {\n"
            "        const unsigned at = %s;\n"
            "        loaded.x%" PRIu32 "[e] = *(source.p%" PRIu32 " + (0u",
            is_whole
                ? "column + e"
                : "column + e < (unsigned)arguments.n ? column + e : (unsigned)arguments.n - 1",
            i, i);
        kiln_emit_contraction_row_offset(emission, i, source);
        kiln_emit_contraction_term(emission, offset, i, KILN_STRIDE_COLUMN, "at", source);
        kiln_buffer_append_text(source, "));\n    }\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

/* Opens the loop over a run of columns, with what is loaded of both kinds in `inputs`. */
static void append_loop(const struct kiln_emission *emission, enum kiln_place place,
                        struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "    (void)arguments, (void)source, (void)row, (void)loaded, "
                                    "(void)at_row, (void)column, (void)is_masked, (void)sums;\n"
                                    "    kiln_score_values inputs;\n    (void)inputs;\n");
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_loaded_in(emission, i, place))
            continue;
        if (kiln_is_score_row_access(emission, i))
            kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = row.x%" PRIu32 "[0];\n", i, i);
        else
            kiln_buffer_printf(source,
                               "    KILN_UNROLL\n    for (unsigned e = 0; e < KILN_CHAIN_RUN; "
                               "e++)\n        inputs.x%" PRIu32 "[e] = loaded.x%" PRIu32 "[e];\n",
                               i, i);
    }
    kiln_buffer_append_text(source, "    KILN_UNROLL\n"
                                    "    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++) {\n");
}

/* Whether a value is the condition of the limits, which is the text's own. What follows a softmax
 * is not told whether there are any. */
static bool is_limit(const struct kiln_emission *emission, enum kiln_place place, uint32_t value)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    return value == attention->visible && (place == KILN_PLACE_SCORE || !attention->is_online);
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
            count = KILN_IR_MAX_OPERANDS;
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

/* Whether coordinates of scores are others than those of the result. */
static bool has_other_indices(const struct kiln_emission *emission)
{
    return kiln_attention_of(emission)->is_transposed || kiln_contraction_of(emission)->has_outer;
}

/* An index: a coordinate of a score. */
static void append_index(const struct kiln_emission *emission, const struct kiln_value_table *table,
                         uint32_t value, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    const struct kiln_op *op = &emission->ir->ops[value];
    uint32_t from_right = emission->ir->domains[op->domain].rank - 1 - op->axis;
    char batch[96];
    kiln_buffer_printf(source, "        const %s ", kiln_scalar_type(op->scalar));
    kiln_emit_value(table, value, source);
    kiln_buffer_printf(source, " = (%s)(0u", kiln_scalar_type(op->scalar));
    if (from_right < 2)
        kiln_buffer_append_text(source, (from_right == 0) == attention->is_transposed
                                            ? " + source.row + at_row"
                                            : " + column + (unsigned)e");
    for (uint32_t b = 0; b < attention->products.batch_rank && from_right >= 2; b++) {
        if (attention->products.batch_axes[b] != from_right)
            continue;
        kiln_print_batch_coordinate(emission, b, true, "source.batch", batch, sizeof batch);
        kiln_buffer_printf(source, " + %s", batch);
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
        if (op->opcode == KILN_OP_INDEX && has_other_indices(emission)) {
            append_index(emission, table, value, source);
        } else if (is_exponential(emission, place, value) && table->load[value] == KILN_NONE) {
            kiln_emit_weight_exponential(emission, table, value, source);
        } else if (kiln_emit_scaled_sum(emission, table, value, source)) {
            continue;
        } else if (!is_limit(emission, place, value)) {
            kiln_emit_contraction_value(emission, table, value, source);
        } else {
            kiln_buffer_append_text(source, "        const bool ");
            kiln_emit_value(table, value, source);
            kiln_buffer_printf(
                source, " = !is_masked || kiln_is_visible(arguments, row, %s, column + e);\n",
                kiln_attention_of(emission)->are_rows_heads ? "0" : "source.row + at_row");
        }
    }
}

static bool append_values(const struct kiln_emission *emission, enum kiln_place place,
                          const char *const *elements, const uint32_t *results,
                          uint32_t result_count, const char *const *to, struct kiln_buffer *source)
{
    struct kiln_value_table table;
    bool *needed = find_needed(emission, place, results, result_count);
    if (needed == NULL || !kiln_contraction_table_init(emission, place, elements, &table)) {
        free(needed);
        return false;
    }
    append_loop(emission, place, source);
    append_values_of(emission, place, &table, needed, source);
    for (uint32_t i = 0; i < result_count; i++) {
        kiln_buffer_printf(source, "        %s = ", to[i]);
        kiln_emit_value(&table, results[i], source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "    }\n");
    kiln_value_table_fini(&table);
    free(needed);
    return true;
}

/* ---- from sums to weights ---- */

/* Whether what is loaded only multiplies or divides scores: their factor. */
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

static bool append_score(const struct kiln_emission *emission, const char *const *elements,
                         struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "struct kiln_score_values {\n");
    append_members(emission, true, true, source);
    kiln_buffer_append_text(source, "};\nKILN_DEVICE void kiln_score(" SCORE_PARAMETERS
                                    "kiln_sum (&x)[KILN_CHAIN_RUN])\n{\n");
    const struct kiln_exponent exponent = kiln_find_score_exponent(emission);
    bool good = true;
    if (exponent.value != KILN_NONE)
        good = append_values(emission, KILN_PLACE_SCORE, elements, &exponent.value, 1,
                             (const char *const[]){"x[e]"}, source);
    else
        kiln_buffer_append_text(source, "    (void)arguments, (void)source, (void)row, "
                                        "(void)loaded, (void)at_row, (void)column, "
                                        "(void)is_masked, (void)sums, (void)x;\n");
    if (exponent.part_factor != 0)
        kiln_buffer_printf(source,
                           "    KILN_UNROLL\n    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++)\n"
                           "        x[e] = kiln_tanh_part_f32(x[e] * %af);\n",
                           (double)(float)exponent.part_factor);
    kiln_buffer_printf(source,
                       "}\nKILN_DEVICE kiln_sum kiln_score_value(const kiln_arguments &, const "
                       "kiln_score_source &, kiln_sum x)\n{\n    return x * %af",
                       exponent.scale);
    if (exponent.offset != 0)
        kiln_buffer_printf(source, " + %af", exponent.offset);
    kiln_buffer_printf(source,
                       ";\n}\nKILN_DEVICE kiln_sum kiln_score_factor(const kiln_arguments &, const "
                       "kiln_score_source &)\n{\n    return %af / KILN_EXPONENTIAL_LOG;\n}\n",
                       exponent.scale);
    return good;
}

/* Which elements of scores are seen, where no more than that is asked of the limits. */
static void append_visible(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    bool hides = kiln_hides_scores_last(emission);
    kiln_buffer_printf(
        source,
        "#define KILN_HIDES_SCORES_LAST %d\n"
        "KILN_DEVICE bool kiln_score_is_visible(const kiln_arguments &arguments, "
        "const kiln_score_source &source, const kiln_score_row &row, unsigned "
        "at_row, unsigned column)\n{\n"
        "    (void)arguments, (void)source, (void)row, (void)at_row, (void)column;\n",
        hides);
    if (hides && attention->limit_count != 0)
        kiln_buffer_printf(source, "    return kiln_is_visible(arguments, row, %s, column);\n}\n",
                           attention->are_rows_heads ? "0" : "source.row + at_row");
    else
        kiln_buffer_append_text(source, "    return true;\n}\n");
}

/* What is rounded to the staged type is encoded in it anyway. */
static bool append_weight(const struct kiln_emission *emission, const char *const *elements,
                          struct kiln_buffer *source)
{
    static const char *const to[] = {"weights[0][e]", "weights[1][e]"};
    const struct kiln_ir *ir = emission->ir;
    const struct kiln_fusion_group *group = emission->group;
    bool is_fold = group->contract_count == group->score_count;
    uint32_t count = is_fold ? 1 : group->contract_count - group->score_count;
    uint32_t weights[KILN_GROUP_MAX_PRODUCTS];
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = kiln_group_weights(ir, group, i);
        const struct kiln_op *op = &ir->ops[weights[i]];
        if (!is_fold && op->opcode == KILN_OP_ROUND &&
            op->dtype == kiln_contraction_of(emission)->staged)
            weights[i] = op->operands[0];
    }
    kiln_buffer_append_text(source, "KILN_DEVICE void kiln_weight(" SCORE_PARAMETERS
                                    "const kiln_sum (&exponentials)[KILN_CHAIN_RUN], "
                                    "kiln_sum (&weights)[KILN_RESULTS][KILN_CHAIN_RUN])\n{\n"
                                    "    (void)exponentials;\n");
    bool good = append_values(emission, KILN_PLACE_WEIGHT, elements, weights, count, to, source);
    kiln_buffer_append_text(source, "}\n");
    return good;
}

void kiln_emit_attention_scores(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    for (uint32_t i = 0; i < emission->group->load_count; i++)
        elements[i] = kiln_is_score_row_access(emission, i) ? "0" : "e";
    kiln_buffer_append_text(source,
                            "KILN_DEVICE long long kiln_smaller(long long a, long long b)\n{\n"
                            "    return a < b ? a : b;\n}\n"
                            "KILN_DEVICE long long kiln_greater(long long a, long long b)\n{\n"
                            "    return a > b ? a : b;\n}\n");
    append_source(emission, source);
    append_row(emission, source);
    append_load(emission, source);
    kiln_emit_visibility(emission, source);
    append_visible(emission, source);
    source->failed |= !append_score(emission, elements, source);
    source->failed |= !append_weight(emission, elements, source);
    kiln_emit_columns(emission, source);
    kiln_buffer_append_text(
        source,
        "struct kiln_row {\n    kiln_sum max, sum;\n};\n"
        "KILN_DEVICE void kiln_row_start(const kiln_arguments &, const kiln_score_source &, "
        "const kiln_score_row &, kiln_row &row)\n{\n    row.max = -__builtin_inff();\n"
        "    row.sum = 0;\n}\n");
}
