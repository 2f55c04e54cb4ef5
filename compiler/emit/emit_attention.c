/* The generated part of the attention template (kernels_templates/attention.hip): defines, types of
 * the core, arguments, operands, scores and result. */
#include "compiler/emit/emit_attention_exponent.h"
#include "compiler/emit/emit_attention_parts.h"
#include "compiler/emit/emit_bytes.h"
#include "compiler/emit/emit_contraction.h"
#include "compiler/emit/emit_family.h"
#include "compiler/schedule/attention_tile.h"
#include "compiler/schedule/mma.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>

/* ---- arguments ---- */

static void visit_repeats(struct kiln_integer_walk *walk, const int64_t *repeats, const char *name)
{
    for (uint32_t b = 0; b < kiln_contraction_of(walk->emission)->batch_rank; b++)
        kiln_visit_integer(walk, repeats[b], "%s%" PRIu32, name, b);
}

static void visit_all(struct kiln_integer_walk *walk)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(walk->emission);
    const struct kiln_contraction_schedule *products = &attention->products;
    int64_t batches = 1;
    for (uint32_t b = 0; b < products->batch_rank; b++)
        batches *= attention->is_folded[b] ? 1 : products->batch_sizes[b];
    kiln_visit_integer(walk, products->m, "m");
    kiln_visit_integer(walk, products->n, "n");
    kiln_visit_integer(walk, products->k, "c");
    kiln_visit_integer(walk, attention->d, "d");
    if (attention->score_count > 1)
        kiln_visit_integer(walk, attention->k_1, "c_1");
    if (attention->value_count > 1)
        kiln_visit_integer(walk, attention->d, "d_1");
    if (products->has_outer || attention->value_count == 0)
        kiln_visit_integer(walk, products->outer, "outer");
    kiln_visit_integer(walk, batches, "batches");
    kiln_visit_chunks(walk);
    if (products->segments > 1)
        kiln_visit_integer(walk, products->segments, "segments");
    kiln_visit_batch_arguments(walk);
    if (attention->value_count != 0)
        visit_repeats(walk, attention->value_repeats, "value_repeat");
    if (attention->score_count > 1) {
        visit_repeats(walk, attention->left_1_repeats, "left_1_repeat");
        visit_repeats(walk, attention->right_1_repeats, "right_1_repeat");
    }
    if (attention->value_count > 1)
        visit_repeats(walk, attention->value_1_repeats, "value_1_repeat");
    kiln_visit_limit_arguments(walk);
    kiln_visit_stride_arguments(walk);
}

static void append_integers(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    struct kiln_integer_walk walk = {.emission = emission, .source = source};
    visit_all(&walk);
}

static uint32_t integers(const struct kiln_emission *emission, int64_t *ret_values)
{
    struct kiln_integer_walk walk = {.emission = emission, .values = ret_values};
    visit_all(&walk);
    return walk.count;
}

/* ---- text ---- */

static void append_batch(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *products = kiln_contraction_of(emission);
    kiln_buffer_append_text(source, "struct kiln_batch {\n    unsigned outer;\n");
    if (products->segments > 1)
        kiln_buffer_append_text(source, "    unsigned segment;\n");
    for (uint32_t b = 0; b < products->batch_rank; b++)
        kiln_buffer_printf(source, "    unsigned c%" PRIu32 ";\n", b);
    kiln_buffer_append_text(source, "};\nKILN_DEVICE void kiln_locate_batch(const kiln_arguments "
                                    "&arguments, unsigned rest, kiln_batch &batch)\n{\n"
                                    "    (void)arguments, (void)rest;\n    batch.outer = 0;\n");
    kiln_emit_contraction_batch_indices(emission, source);
    if (products->segments > 1)
        kiln_buffer_printf(source, "    batch.segment = batch.c%" PRIu32 ";\n",
                           products->batch_rank - 1);
    kiln_buffer_append_text(source, "}\n");
}

/* The batch of `rest`, and the `outer`th of those that are summed. */
static void append_folded_batch(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    kiln_buffer_append_text(source, "struct kiln_batch {\n    unsigned outer;\n");
    for (uint32_t b = 0; b < attention->products.batch_rank; b++)
        kiln_buffer_printf(source, "    unsigned c%" PRIu32 ";\n", b);
    kiln_buffer_append_text(source, "};\nKILN_DEVICE void kiln_locate_batch(const kiln_arguments "
                                    "&arguments, unsigned rest, unsigned outer, kiln_batch "
                                    "&batch)\n{\n    (void)arguments, (void)rest;\n"
                                    "    batch.outer = outer;\n");
    for (uint32_t b = attention->products.batch_rank; b-- > 0;) {
        const char *from = attention->is_folded[b] ? "outer" : "rest";
        kiln_buffer_printf(source,
                           "    batch.c%" PRIu32 " = %s %% (unsigned)arguments.batch%" PRIu32
                           ";\n    %s /= (unsigned)arguments.batch%" PRIu32 ";\n",
                           b, from, b, from, b);
    }
    kiln_buffer_append_text(source, "}\n");
}

/* From rows of the right operand to later ones. */
static void append_row_advance(const struct kiln_emission *emission,
                               const struct kiln_contraction_side *side, struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_%s_advance_rows(const kiln_arguments &arguments, "
                       "unsigned rows, kiln_%s_source &source)\n{\n"
                       "    (void)arguments, (void)rows, (void)source;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (!kiln_is_loaded_for(emission, side, i) ||
            emission->group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR)
            continue;
        kiln_buffer_printf(source, "    source.p%" PRIu32 " += 0ll", i);
        kiln_emit_contraction_term(emission, "long long", i, KILN_STRIDE_ROW, "rows", source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "}\n");
}

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
    bool has_lines = operand == &attention->value ? attention->tile_d * bytes % LINE_BYTES == 0
                                                  : operand->is_along_k;
    return emission->target->kind == KILN_TARGET_CUDA && attention->products.mma != NULL &&
           has_lines && kiln_contraction_is_copied(emission, operand);
}

/* The template copies both operands of a kind or none. */
static bool are_rights_copied(const struct kiln_emission *emission)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    return is_copied(emission, &attention->products.right) &&
           (attention->score_count == 1 || is_copied(emission, &attention->right_1));
}

static bool are_values_copied(const struct kiln_emission *emission)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    return is_copied(emission, &attention->value) &&
           (attention->value_count == 1 ||
            (is_copied(emission, &attention->value_1) &&
             attention->value.is_along_k == attention->value_1.is_along_k));
}

static void append_left(const struct kiln_emission *emission,
                        const struct kiln_operand_schedule *operand, const char *name,
                        const char *run_element, struct kiln_buffer *source)
{
    const struct kiln_contraction_side side = {.operand = operand,
                                               .name = name,
                                               .run_element = run_element,
                                               .k_end = kiln_contraction_of(emission)->k_end};
    kiln_emit_contraction_operand(emission, &side, source);
}

static void append_right(const struct kiln_emission *emission,
                         const struct kiln_operand_schedule *operand, const char *name,
                         const char *run_element, struct kiln_buffer *source)
{
    const struct kiln_contraction_side side = {.operand = operand,
                                               .name = name,
                                               .run_element = run_element,
                                               .k_end = kiln_contraction_of(emission)->k_end,
                                               .is_copied = are_rights_copied(emission)};
    kiln_emit_contraction_operand(emission, &side, source);
    append_row_advance(emission, &side, source);
}

static void append_value(const struct kiln_emission *emission,
                         const struct kiln_operand_schedule *operand, const char *name,
                         const char *run_element, struct kiln_buffer *source)
{
    const struct kiln_contraction_side side = {.operand = operand,
                                               .name = name,
                                               .run_element = run_element,
                                               .k_end = KILN_K_END_FIRST,
                                               .is_copied = are_values_copied(emission)};
    kiln_emit_contraction_operand(emission, &side, source);
}

static void append_outer(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    if (kiln_contraction_of(emission)->has_outer)
        kiln_buffer_append_text(source,
                                "KILN_DEVICE unsigned kiln_outer_count(const kiln_arguments "
                                "&arguments, const kiln_batch &)\n{\n"
                                "    return (unsigned)arguments.outer;\n}\n");
}

static void emit_text(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    kiln_emit_contraction_argument_struct(emission, append_integers, source);
    if (attention->value_count == 0)
        append_folded_batch(emission, source);
    else
        append_batch(emission, source);
    append_outer(emission, source);
    append_left(emission, &attention->products.left, "left", "e * KILN_LEFT_RUN + r", source);
    append_right(emission, &attention->products.right, "right", "e * KILN_RIGHT_RUN + r", source);
    if (attention->score_count > 1) {
        append_left(emission, &attention->left_1, "left_1", "e * KILN_LEFT_1_RUN + r", source);
        append_right(emission, &attention->right_1, "right_1", "e * KILN_RIGHT_1_RUN + r", source);
    }
    if (attention->value_count != 0)
        append_value(emission, &attention->value, "value", "e * KILN_VALUE_RUN + r", source);
    if (attention->value_count > 1)
        append_value(emission, &attention->value_1, "value_1", "e * KILN_VALUE_1_RUN + r", source);
    kiln_emit_attention_scores(emission, source);
    kiln_emit_contraction_result_source(emission, elements, source);
    kiln_emit_contraction_finish(emission, "const kiln_row &totals, ", "KILN_RESULTS", elements,
                                 source);
}

/* ---- defines and headers ---- */

static void append_operand_defines(const char *name, const struct kiln_operand_schedule *operand,
                                   bool is_copied_there, struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "#define KILN_%s_RUN %" PRIu32 "\n#define KILN_%s_IS_ALONG_K %d\n"
                       "#define KILN_%s_IS_COPIED %d\n#define KILN_%s_IS_TRANSPOSED %d\n",
                       name, operand->run, name, operand->is_along_k, name, is_copied_there, name,
                       is_copied_there && !operand->is_along_k);
}

static void emit_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    const struct kiln_contraction_schedule *products = &attention->products;
    bool has_loads = false;
    bool has_last = false;
    for (uint32_t i = 0; i < attention->limit_count; i++)
        has_last |= attention->limits[i].kind == KILN_LIMIT_LAST;
    for (uint32_t i = 0; i < emission->group->load_count; i++)
        has_loads |= kiln_is_score_access(emission, i) && !kiln_is_score_row_access(emission, i);
    kiln_emit_grid(emission, source);
    kiln_buffer_printf(
        source,
        "#define KILN_WAVES_M %" PRIu32 "\n#define KILN_TILE_M %" PRIu32
        "\n#define KILN_TILE_N %" PRIu32 "\n#define KILN_TILE_C %" PRIu32
        "\n#define KILN_TILE_D %" PRIu32 "\n#define KILN_SCORES %" PRIu32
        "\n#define KILN_VALUES %" PRIu32 "\n#define KILN_RESULTS %" PRIu32
        "\n#define KILN_IS_ONLINE %d"
        "\n#define KILN_HAS_SEGMENTS %d\n#define KILN_HAS_OUTER %d\n#define KILN_BUFFERS %" PRIu32
        "\n#define KILN_IS_LEFT_KEPT %d\n#define KILN_PACK_ELEMENTS %" PRIu32
        "\n#define KILN_RESULT_VECTOR %" PRIu32 "\n#define KILN_ROW_PARTS %" PRIu32
        "\n#define KILN_FINISHED_TOGETHER 1\n#define KILN_CHIPLETS %" PRIu32
        "\n#define KILN_ARE_LAST_ROWS_LONGEST %d\n#define KILN_C_END %d"
        "\n#define KILN_N_END 1\n#define KILN_HAS_MASK %d"
        "\n#define KILN_HAS_SCORE_LOADS %d\n",
        products->waves_m, products->tile_m, products->tile_n, products->tile_k, attention->tile_d,
        attention->score_count, attention->value_count,
        attention->value_count == 0 ? 1 : attention->value_count, attention->is_online,
        products->segments > 1, products->has_outer, products->buffers, attention->is_left_kept,
        kiln_pack_elements(products), products->result_vector, products->row_parts,
        products->chiplets, has_last, products->k_end != KILN_K_END_NONE,
        attention->limit_count != 0, has_loads);
    /* Left to themselves compilers take more registers than two waves of a SIMD have. */
    if (kiln_attention_has_residents(attention, emission->target))
        kiln_buffer_printf(source, "#define %s 2\n",
                           products->mma->layout == KILN_MMA_LAYOUT_MFMA ? "KILN_SIMD_WAVES"
                                                                         : "KILN_RESIDENTS");
    if (attention->waves_d > 1)
        kiln_buffer_printf(source, "#define KILN_WAVES_D %" PRIu32 "\n", attention->waves_d);
    if (attention->are_tiles_late)
        kiln_buffer_append_text(source, "#define KILN_TILES_ARE_LATE 1\n");
    if (attention->shows_maximum)
        kiln_buffer_append_text(source, "#define KILN_MAXIMUM_KEEPS_NAN 1\n");
    if (attention->are_score_loads_late)
        kiln_buffer_append_text(source, "#define KILN_SCORE_LOADS_ARE_LATE 1\n");
    if (!attention->reads_scores_ahead)
        kiln_buffer_append_text(source, "#define KILN_SCORES_AHEAD 0\n");
    if (emission->schedule->lds_bytes > emission->target->lds_bytes)
        kiln_buffer_append_text(source, "#define KILN_LDS_IS_DYNAMIC\n");
    append_operand_defines("LEFT", &products->left, false, source);
    append_operand_defines("RIGHT", &products->right, are_rights_copied(emission), source);
    if (attention->value_count != 0)
        append_operand_defines("VALUE", &attention->value, are_values_copied(emission), source);
    else
        kiln_buffer_append_text(source, "#define KILN_VALUE_IS_COPIED 0\n");
    if (attention->score_count > 1) {
        append_operand_defines("LEFT_1", &attention->left_1, false, source);
        append_operand_defines("RIGHT_1", &attention->right_1, are_rights_copied(emission), source);
    }
    if (attention->value_count > 1)
        append_operand_defines("VALUE_1", &attention->value_1, are_values_copied(emission), source);
    if (kiln_attention_may_share_tiles(attention))
        kiln_buffer_printf(source,
                           "#define KILN_VALUE_SHARES %" PRIu32 "\n#define KILN_VALUE_1_SHARES "
                           "%" PRIu32 "\n",
                           attention->value_shares, attention->value_1_shares);
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
    kiln_buffer_append_text(source, "#line 1 \"generated\"\n");
    kiln_emit_contraction_core(emission, source);
    /* Of huge scores only differences can be multiplied. */
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
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    (void)schedule;
    return true;
}

const struct kiln_emit_family kiln_emit_family_attention = {
    .defines = emit_defines,
    .headers = emit_headers,
    .text = emit_text,
    .uses_barrier = uses_barrier,
    .integers = integers,
    .has_literals = true,
};
