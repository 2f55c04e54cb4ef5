/* The generated part of the attention template (kernels_templates/attention.hip): defines, types of
 * the core, arguments, operands, scores and result. */
#include "compiler/emit/emit_attention_parts.h"
#include "compiler/emit/emit_contraction.h"
#include "compiler/emit/emit_family.h"
#include "compiler/schedule/mma.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>

/* ---- arguments ---- */

static void visit_all(struct kiln_integer_walk *walk)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(walk->emission);
    const struct kiln_contraction_schedule *products = &attention->products;
    int64_t batches = 1;
    for (uint32_t b = 0; b < products->batch_rank; b++)
        batches *= products->batch_sizes[b];
    kiln_visit_integer(walk, products->m, "m");
    kiln_visit_integer(walk, products->n, "n");
    kiln_visit_integer(walk, products->k, "c");
    kiln_visit_integer(walk, attention->d, "d");
    kiln_visit_integer(walk, batches, "batches");
    if (products->segments > 1)
        kiln_visit_integer(walk, products->segments, "segments");
    kiln_visit_batch_arguments(walk);
    for (uint32_t b = 0; b < products->batch_rank; b++)
        kiln_visit_integer(walk, attention->value_repeats[b], "value_repeat%" PRIu32, b);
    for (uint32_t i = 0; i < attention->limit_count; i++) {
        if (attention->limits[i].value == KILN_NONE)
            kiln_visit_integer(walk, attention->limits[i].offset, "limit%" PRIu32, i);
    }
    kiln_visit_stride_arguments(walk);
}

static void append_integers(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    struct kiln_integer_walk walk = {.emission = emission, .source = source, .wanted = KILN_NONE};
    visit_all(&walk);
}

static uint32_t integer_count(const struct kiln_emission *emission)
{
    struct kiln_integer_walk walk = {.emission = emission, .wanted = KILN_NONE};
    visit_all(&walk);
    return walk.count;
}

static int64_t integer(const struct kiln_emission *emission, uint32_t index)
{
    struct kiln_integer_walk walk = {.emission = emission, .wanted = index};
    visit_all(&walk);
    return walk.value;
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
    /* Only values are read from LDS the other way. */
    bool has_lines = operand == &attention->value ? attention->tile_d * bytes % LINE_BYTES == 0
                                                  : operand->is_along_k;
    return emission->target->kind == KILN_TARGET_CUDA && attention->products.mma != NULL &&
           has_lines && kiln_contraction_is_copied(emission, operand);
}

static void emit_text(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    const struct kiln_contraction_side left = {.operand = &attention->products.left,
                                               .name = "left",
                                               .run_element = "e * KILN_LEFT_RUN + r",
                                               .k_end = attention->products.k_end};
    const struct kiln_contraction_side right = {
        .operand = &attention->products.right,
        .name = "right",
        .run_element = "e * KILN_RIGHT_RUN + r",
        .k_end = attention->products.k_end,
        .is_copied = is_copied(emission, &attention->products.right)};
    const struct kiln_contraction_side value = {.operand = &attention->value,
                                                .name = "value",
                                                .run_element = "e * KILN_VALUE_RUN + r",
                                                .k_end = KILN_K_END_FIRST,
                                                .is_copied =
                                                    is_copied(emission, &attention->value)};
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    kiln_emit_contraction_argument_struct(emission, append_integers, source);
    append_batch(emission, source);
    kiln_emit_contraction_operand(emission, &left, source);
    kiln_emit_contraction_operand(emission, &right, source);
    append_row_advance(emission, &right, source);
    kiln_emit_contraction_operand(emission, &value, source);
    kiln_emit_attention_scores(emission, source);
    kiln_emit_contraction_result_source(emission, elements, source);
    kiln_emit_contraction_finish(emission, "const kiln_row &totals, ", "KILN_VALUES", elements,
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
    kiln_buffer_printf(
        source,
        "#define KILN_WAVES_M %" PRIu32 "\n#define KILN_TILE_M %" PRIu32
        "\n#define KILN_TILE_N %" PRIu32 "\n#define KILN_TILE_C %" PRIu32
        "\n#define KILN_TILE_D %" PRIu32 "\n#define KILN_SCORES 1"
        "\n#define KILN_VALUES 1\n#define KILN_IS_ONLINE %d"
        "\n#define KILN_HAS_SEGMENTS %d\n#define KILN_HAS_OUTER 0\n#define KILN_BUFFERS %" PRIu32
        "\n#define KILN_IS_LEFT_KEPT %d\n#define KILN_PACK_ELEMENTS %" PRIu32
        "\n#define KILN_RESULT_VECTOR %" PRIu32 "\n#define KILN_ROW_PARTS %" PRIu32
        "\n#define KILN_FINISHED_TOGETHER 1\n#define KILN_CHIPLETS %" PRIu32
        "\n#define KILN_ARE_LAST_ROWS_LONGEST %d\n#define KILN_C_END %d"
        "\n#define KILN_N_END 1\n#define KILN_HAS_MASK %d"
        "\n#define KILN_HAS_SCORE_LOADS %d\n",
        products->waves_m, products->tile_m, products->tile_n, products->tile_k, attention->tile_d,
        attention->is_online, products->segments > 1, products->buffers, attention->is_left_kept,
        kiln_pack_elements(products), products->result_vector, products->row_parts,
        products->chiplets, has_last, products->k_end != KILN_K_END_NONE,
        attention->limit_count != 0, has_loads);
    if (products->mma != NULL && (products->mma->layout == KILN_MMA_LAYOUT_MMA_SYNC ||
                                  products->mma->layout == KILN_MMA_LAYOUT_MFMA))
        kiln_buffer_append_text(source, "#define KILN_RESIDENTS 2\n");
    if (emission->schedule->lds_bytes > emission->target->lds_bytes)
        kiln_buffer_append_text(source, "#define KILN_LDS_IS_DYNAMIC\n");
    append_operand_defines("LEFT", &products->left, false, source);
    append_operand_defines("RIGHT", &products->right, is_copied(emission, &products->right),
                           source);
    append_operand_defines("VALUE", &attention->value, is_copied(emission, &attention->value),
                           source);
}

static void emit_headers(const struct kiln_emission *emission,
                         struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    enum kiln_dtype staged = kiln_contraction_of(emission)->staged;
    const char *type = kiln_dtype_info(staged)->device;
    const bool may_be_lowest = kiln_may_scores_be_lowest(emission);
    kiln_emit_access_headers(emission, inclusion, source);
    kiln_emit_operation_headers(emission, inclusion, source);
    kiln_emit_convert_header(staged, inclusion, source);
    kiln_template_append(inclusion, "device/math/exp_f32.h", source);
    kiln_buffer_append_text(source, "#line 1 \"generated\"\n");
    kiln_emit_contraction_core(emission, source);
    /* Scores near the lowest number there is cannot be multiplied, only their differences can. */
    kiln_buffer_printf(source,
                       "#ifdef KILN_HAS_SEED_EXP2\n"
                       "#define KILN_EXPONENTIAL(x) kiln_seed_exp2_f32(%s)\n"
                       "#define KILN_EXPONENTIAL_LOG %s\n#else\n"
                       "#define KILN_EXPONENTIAL(x) kiln_exp_f32(x)\n"
                       "#define KILN_EXPONENTIAL_LOG 1.0f\n#endif\n",
                       may_be_lowest ? "(x) * 0x1.715476p+0f" : "x",
                       may_be_lowest ? "1.0f" : "0x1.62e43p-1f");
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
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        enum kiln_dtype dtype = emission->group->accesses[i].dtype;
        if (staged == KILN_DTYPE_F16 && (dtype == KILN_DTYPE_F8E4M3 || dtype == KILN_DTYPE_F8E5M2))
            kiln_template_append(inclusion, "device/mma/fp8_as_f16.h", source);
    }
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
    .integer_count = integer_count,
    .integer = integer,
    .has_literals = true,
};
