/* The generated part of the attention template (kernels_templates/attention.hip): defines, types of
 * the core, arguments, operands, scores and result. */
#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_family.h"
#include "compiler/families/attention/emit/emit_attention_exponent.h"
#include "compiler/families/attention/emit/emit_attention_parts.h"
#include "compiler/families/attention/fuse/attention_group.h"
#include "compiler/families/attention/schedule/attention_fragments.h"
#include "compiler/families/attention/schedule/attention_registers.h"
#include "compiler/families/contraction/emit/emit_bytes.h"
#include "compiler/families/contraction/emit/emit_contraction.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/mma.h"

#include <inttypes.h>

/* ---- arguments ---- */

static void visit_repeats(struct kiln_integer_walk *walk, const int64_t *repeats, const char *name)
{
    for (uint32_t b = 0; b < kiln_contraction_of(walk->emission)->problem.batches.rank; b++)
        kiln_visit_integer(walk, repeats[b], "%s%" PRIu32, name, b);
}

static void visit_integers(struct kiln_integer_walk *walk)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(walk->emission);
    const struct kiln_contraction_schedule *products = &attention->products;
    int64_t batches = 1;
    for (uint32_t b = 0; b < products->problem.batches.rank; b++)
        batches *= attention->is_folded[b] ? 1 : products->problem.batches.sizes[b];
    kiln_visit_integer(walk, products->problem.m, "m");
    kiln_visit_integer(walk, products->problem.n, "n");
    kiln_visit_integer(walk, products->problem.k, "c");
    kiln_visit_integer(walk, attention->d, "d");
    if (attention->score_count > 1)
        kiln_visit_integer(walk, attention->k_1, "c_1");
    if (attention->value_count > 1)
        kiln_visit_integer(walk, attention->d, "d_1");
    if (products->problem.batches.outer_axis != KILN_NONE || attention->value_count == 0)
        kiln_visit_integer(walk, products->problem.batches.outer, "outer");
    kiln_visit_integer(walk, batches, "batches");
    kiln_visit_chunks(walk);
    if (attention->segments > 1)
        kiln_visit_integer(walk, attention->segments, "segments");
    kiln_visit_batch_arguments(walk);
    if (attention->value_count != 0)
        visit_repeats(walk, attention->value.repeats, "value_repeat");
    if (attention->score_count > 1) {
        visit_repeats(walk, attention->left_1.repeats, "left_1_repeat");
        visit_repeats(walk, attention->right_1.repeats, "right_1_repeat");
    }
    if (attention->value_count > 1)
        visit_repeats(walk, attention->value_1.repeats, "value_1_repeat");
    kiln_visit_limit_arguments(walk);
    kiln_visit_span_arguments(walk);
    kiln_visit_stride_arguments(walk);
}

/* ---- text ---- */

/* Copied to LDS as it lies, past the registers: on NVIDIA GPUs. */
static bool is_copied(const struct kiln_emission *emission,
                      const struct kiln_operand_schedule *operand)
{
    enum { LINE_BYTES = 128 };
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    uint32_t bytes = kiln_dtype_info(attention->products.staged)->bytes;
    if (attention->value_count == 0)
        return false;
    /* Only values are read from LDS the other way. */
    bool has_lines = operand == &attention->value.loads
                         ? attention->tile.d * bytes % LINE_BYTES == 0
                         : operand->is_along_k;
    return emission->target->kind == KILN_TARGET_CUDA && attention->products.tile.mma != NULL &&
           has_lines && kiln_contraction_is_copied(emission, operand);
}

/* The template copies both operands of a kind or none. */
static bool are_rights_copied(const struct kiln_emission *emission)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    return is_copied(emission, &attention->products.right) &&
           (attention->score_count == 1 || is_copied(emission, &attention->right_1.loads));
}

static bool are_values_copied(const struct kiln_emission *emission)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    return is_copied(emission, &attention->value.loads) &&
           (attention->value_count == 1 ||
            (is_copied(emission, &attention->value_1.loads) &&
             attention->value.loads.is_along_k == attention->value_1.loads.is_along_k));
}

/* Staged as it lies, along its rows. */
static bool is_value_transposed(const struct kiln_emission *emission,
                                const struct kiln_operand_schedule *operand)
{
    return (are_values_copied(emission) && !operand->is_along_k) ||
           kiln_attention_of(emission)->value.is_transposed;
}

static void append_operand(const struct kiln_emission *emission,
                           const struct kiln_operand_schedule *operand, const char *name,
                           const char *define, struct kiln_buffer *source)
{
    const struct kiln_contraction_side side = {.operand = operand, .name = name, .define = define};
    kiln_emit_operand_maps(emission, &side, source);
    kiln_emit_operand_facts(emission, &side, source);
}

static void append_outer(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    if (kiln_contraction_of(emission)->problem.batches.outer_axis != KILN_NONE)
        kiln_buffer_append_text(source,
                                "KILN_DEVICE unsigned kiln_outer_count(const kiln_arguments "
                                "&arguments, const kiln_batch &)\n{\n"
                                "    return (unsigned)arguments.outer;\n}\n");
}

static void emit_text(const struct kiln_emission *emission,
                      struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    (void)inclusion;
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    kiln_emit_arguments(emission, source);
    kiln_emit_batch_facts(emission, source);
    append_outer(emission, source);
    append_operand(emission, &attention->products.left, "left", "LEFT", source);
    append_operand(emission, &attention->products.right, "right", "RIGHT", source);
    if (attention->score_count > 1) {
        append_operand(emission, &attention->left_1.loads, "left_1", "LEFT_1", source);
        append_operand(emission, &attention->right_1.loads, "right_1", "RIGHT_1", source);
    }
    if (attention->value_count != 0)
        append_operand(emission, &attention->value.loads, "value", "VALUE", source);
    if (attention->value_count > 1)
        append_operand(emission, &attention->value_1.loads, "value_1", "VALUE_1", source);
    kiln_emit_attention_scores(emission, source);
    kiln_emit_result_facts(emission, ", const kiln_row &totals",
                           attention->value_count == 0 ? 1 : attention->value_count, source);
}

/* ---- defines and headers ---- */

static void append_operand_defines(const char *name, const struct kiln_operand_schedule *operand,
                                   bool is_copied_there, bool is_transposed,
                                   struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "#define KILN_%s_RUN %" PRIu32 "\n#define KILN_%s_IS_ALONG_K %d\n"
                       "#define KILN_%s_PIECES %" PRIu32 "\n#define KILN_%s_IS_COPIED %d\n#define "
                       "KILN_%s_IS_TRANSPOSED %d\n",
                       name, operand->run, name, operand->is_along_k, name, operand->pieces, name,
                       is_copied_there, name, is_transposed);
}

/* A batch of two or more: the `outer`th is one of those that a work-group adds up. */
static void append_batch_defines(const struct kiln_attention_schedule *attention,
                                 struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *products = &attention->products;
    uint32_t folded = 0;
    for (uint32_t b = 0; b < products->problem.batches.rank; b++)
        folded |= (uint32_t)attention->is_folded[b] << b;
    if (attention->value_count == 0)
        kiln_buffer_printf(source, "#define KILN_FOLDED_AXES %" PRIu32 "u\n", folded);
    if (products->problem.batches.outer_axis != KILN_NONE)
        kiln_buffer_printf(source, "#define KILN_OUTER_AXIS %" PRIu32 "\n",
                           products->problem.batches.outer_axis);
}

/* "use(1, left_1, LEFT_1, right_1, RIGHT_1, c_1)": lists of the products' operands. */
static void append_products(const struct kiln_attention_schedule *attention,
                            struct kiln_buffer *source)
{
    static const char *const first[] = {" use(0, left, LEFT, right, RIGHT, c)",
                                        " use(1, left_1, LEFT_1, right_1, RIGHT_1, c_1)"};
    static const char *const second[] = {" use(0, value, VALUE, d)",
                                         " use(1, value_1, VALUE_1, d_1)"};
    kiln_buffer_append_text(source, "#define KILN_FIRST_PRODUCTS(use)");
    for (uint32_t i = 0; i < attention->score_count; i++)
        kiln_buffer_append_text(source, first[i]);
    kiln_buffer_append_text(source, "\n#define KILN_SECOND_PRODUCTS(use)");
    for (uint32_t i = 0; i < attention->value_count; i++)
        kiln_buffer_append_text(source, second[i]);
    kiln_buffer_append_text(source, "\n");
}

static void emit_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    const struct kiln_contraction_schedule *products = &attention->products;
    bool has_loads = false;
    bool has_last = false;
    for (uint32_t i = 0; i < attention->mask.count; i++)
        has_last |= attention->mask.limits[i].kind == KILN_LIMIT_LAST;
    for (uint32_t i = 0; i < emission->group->load_count; i++)
        has_loads |= kiln_is_score_access(emission, i) && !kiln_is_score_row_access(emission, i);
    kiln_emit_grid(emission, source);
    kiln_emit_batch_defines(emission, source);
    append_batch_defines(attention, source);
    append_products(attention, source);
    kiln_buffer_printf(
        source,
        "#define KILN_WAVES_M %" PRIu32 "\n#define KILN_TILE_M %" PRIu32
        "\n#define KILN_TILE_N %" PRIu32 "\n#define KILN_TILE_C %" PRIu32
        "\n#define KILN_TILE_D %" PRIu32 "\n#define KILN_SCORES %" PRIu32
        "\n#define KILN_VALUES %" PRIu32 "\n#define KILN_RESULTS %" PRIu32
        "\n#define KILN_WAVES_D %" PRIu32 "\n#define KILN_TILES_ARE_LATE %d"
        "\n#define KILN_SCORES_AHEAD %d\n#define KILN_SCORE_LOADS_ARE_LATE %d"
        "\n#define KILN_MAXIMUM_KEEPS_NAN %d"
        "\n#define KILN_HAS_SEGMENTS %d\n#define KILN_HAS_OUTER %d\n#define KILN_BUFFERS %" PRIu32
        "\n#define KILN_PACK_ELEMENTS %" PRIu32 "\n#define KILN_RESULT_VECTOR %" PRIu32
        "\n#define KILN_ROW_PARTS %" PRIu32
        "\n#define KILN_FINISHED_TOGETHER 1\n#define KILN_CHIPLETS %" PRIu32
        "\n#define KILN_ARE_LAST_ROWS_LONGEST %d\n#define KILN_C_END %d"
        "\n#define KILN_HAS_SCORE_LOADS %d\n",
        products->tile.waves_m, products->tile.m, products->tile.n, products->tile.k,
        attention->tile.d, attention->score_count, attention->value_count,
        attention->value_count == 0 ? 1 : attention->value_count, attention->tile.waves_d,
        attention->tile.are_tiles_late, attention->tile.reads_scores_ahead,
        attention->tile.are_score_loads_late, attention->softmax == KILN_SOFTMAX_SHOWN,
        attention->segments > 1, products->problem.batches.outer_axis != KILN_NONE,
        kiln_pipeline_buffers(&products->pipeline), kiln_pack_elements(products),
        products->result_vector, attention->tile.row_parts, products->order.chiplets, has_last,
        products->k_end != KILN_K_END_NONE, has_loads);
    /* Left to themselves compilers take more registers than two waves of a SIMD have. */
    if (kiln_attention_has_residents(attention, emission->target))
        kiln_buffer_printf(source, "#define %s 2\n",
                           products->tile.mma->layout == KILN_MMA_LAYOUT_MFMA ? "KILN_SIMD_WAVES"
                                                                              : "KILN_RESIDENTS");
    if (emission->schedule->launch.lds_bytes > emission->target->lds_bytes)
        kiln_buffer_append_text(source, "#define KILN_LDS_IS_DYNAMIC\n");
    append_operand_defines("LEFT", &products->left, false, false, source);
    append_operand_defines("RIGHT", &products->right, are_rights_copied(emission), false, source);
    if (attention->value_count != 0)
        append_operand_defines("VALUE", &attention->value.loads, are_values_copied(emission),
                               is_value_transposed(emission, &attention->value.loads), source);
    else
        kiln_buffer_append_text(source, "#define KILN_VALUE_IS_COPIED 0\n");
    if (attention->score_count > 1) {
        append_operand_defines("LEFT_1", &attention->left_1.loads, false, false, source);
        append_operand_defines("RIGHT_1", &attention->right_1.loads, are_rights_copied(emission),
                               false, source);
    }
    if (attention->value_count > 1)
        append_operand_defines("VALUE_1", &attention->value_1.loads, are_values_copied(emission),
                               is_value_transposed(emission, &attention->value_1.loads), source);
    kiln_emit_span_defines(emission, source);
    if (kiln_attention_may_share_tiles(attention))
        kiln_buffer_printf(source,
                           "#define KILN_VALUE_SHARES %" PRIu32 "\n#define KILN_VALUE_1_SHARES "
                           "%" PRIu32 "\n",
                           attention->value.shares, attention->value_1.shares);
}

static void emit_headers(const struct kiln_emission *emission,
                         struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    enum kiln_dtype staged = kiln_contraction_of(emission)->staged;
    const char *type = kiln_dtype_info(staged)->device;
    const bool may_be_huge = kiln_may_scores_be_huge(emission);
    kiln_emit_access_headers(emission, inclusion, source);
    kiln_emit_operation_headers(emission, inclusion, source);
    kiln_emit_convert_header(staged, inclusion, source);
    kiln_template_append(inclusion, "device/math/exp_f32.h", source);
    if (kiln_find_score_exponent(emission).part_factor != 0)
        kiln_template_append(inclusion, "device/math/tanh_part_f32.h", source);
    kiln_template_mark_generated(inclusion, source);
    kiln_emit_contraction_core(emission, source);
    /* Huge scores would lose precision if they were scaled before their maximum is subtracted. So
     * only the difference is scaled. */
    kiln_buffer_printf(source,
                       "#ifdef KILN_HAS_SEED_EXP2\n"
                       "#define KILN_TO_EXPONENT(x) %s\n"
                       "#define KILN_EXPONENTIAL(x) kiln_seed_exp2_f32(KILN_TO_EXPONENT(x))\n"
                       "#define KILN_EXPONENTIAL_LOG %s\n#else\n"
                       "#define KILN_EXPONENTIAL(x) kiln_exp_f32(x)\n"
                       "#define KILN_EXPONENTIAL_LOG 1.0f\n#endif\n",
                       may_be_huge ? "((x) * 0x1.715476p+0f)" : "(x)",
                       may_be_huge ? "1.0f" : "0x1.62e43p-1f");
    kiln_buffer_printf(source,
                       "#define KILN_SUM_SCALAR f32\n"
                       "#define KILN_ENCODE_WEIGHT(weight) kiln_encode_%s(weight)\n",
                       type);
    if (kiln_dtype_info(staged)->bytes == 2)
        kiln_buffer_printf(source,
                           "#define KILN_ENCODE_WEIGHTS(first, second) "
                           "kiln_encode_pair_%s(first, second)\n",
                           type);
    kiln_template_append(inclusion, "device/mma/pack.h", source);
    kiln_template_append(inclusion, "device/mma/transpose.h", source);
    kiln_emit_bytes_headers(emission, staged, inclusion, source);
    kiln_template_append(inclusion, kiln_contraction_core_header(emission), source);
    const struct kiln_mma *mma = kiln_contraction_of(emission)->tile.mma;
    if (mma != NULL && mma->is_transposable &&
        kiln_attention_may_share_tiles(kiln_attention_of(emission)))
        kiln_template_append(inclusion, "device/mma/transposed_reads.h", source);
    kiln_template_append(inclusion, "device/attention/facts.h", source);
}

/* Headers that make up the kernel's form: one for each choice that attention.hip leaves open. */
static void emit_forms(const struct kiln_emission *emission,
                       struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    kiln_emit_turns_header(emission, inclusion, source);
    if (attention->spans.count != 0)
        kiln_template_append(inclusion, "device/attention/spans.h", source);
    if (attention->value.is_transposed)
        kiln_template_append(inclusion, "device/attention/transposed_values.h", source);
    kiln_template_append(inclusion,
                         attention->mask.count != 0 ? "device/attention/visible_columns.h"
                                                    : "device/attention/all_columns.h",
                         source);
    kiln_template_append(inclusion,
                         attention->tile.is_left_kept ? "device/attention/left_kept.h"
                                                      : "device/attention/left_in_tile.h",
                         source);
    if (attention->value_count == 0) {
        kiln_template_append(inclusion, "device/attention/fold.h", source);
        return;
    }
    kiln_template_append(inclusion,
                         attention->softmax != KILN_SOFTMAX_NONE ? "device/attention/softmax.h"
                                                                 : "device/attention/weights.h",
                         source);
    kiln_template_append(inclusion, "device/attention/walk.h", source);
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    (void)schedule;
    return true;
}

/* The schedule that the emit functions of contractions read. */
static const void *details(const struct kiln_schedule *schedule)
{
    return &kiln_attention_schedule_of(schedule)->products;
}

static void emit_core_value(const struct kiln_emission *emission, uint32_t value,
                            struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    switch (emission->ir->ops[value].opcode) {
    case KILN_OP_SCORE:
        kiln_buffer_printf(source, "sums[%d][e];\n", value == group->anchors[0] ? 0 : 1);
        break;
    case KILN_OP_SCORE_MAX:
        kiln_buffer_append_text(source, "totals.max;\n");
        break;
    case KILN_OP_SCORE_EXP:
        kiln_buffer_append_text(source, "exponentials[e];\n");
        break;
    case KILN_OP_SCORE_SUM:
        kiln_buffer_append_text(source, "totals.sum;\n");
        break;
    case KILN_OP_SCORE_FOLD:
        kiln_buffer_append_text(source, "value0;\n");
        break;
    default: /* ATTEND */
        kiln_buffer_printf(source, "value%d;\n",
                           value == group->anchors[kiln_group_score_count(group)] ? 0 : 1);
        break;
    }
}

const struct kiln_emit_family kiln_emit_family_attention = {
    .details = details,
    .defines = emit_defines,
    .headers = emit_headers,
    .text = emit_text,
    .forms = emit_forms,
    .uses_barrier = uses_barrier,
    .visit_integers = visit_integers,
    .core_value = emit_core_value,
    .has_literals = true,
};
