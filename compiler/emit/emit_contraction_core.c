/* What a contraction's kernel is made with: the sizes of its tiles, and the types of its core. */
#include "compiler/emit/emit_contraction.h"

#include "compiler/emit/emit_bytes.h"
#include "compiler/emit/emit_contraction_parts.h"
#include "compiler/emit/emit_family.h"
#include "compiler/emit/emit_values.h"
#include "compiler/fuse/contraction_group.h"
#include "compiler/schedule/contraction_small.h"
#include "compiler/schedule/contraction_statistics.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>
#include <string.h>

enum {
    PACK_BYTES = 16,
    UNIT_LDS_BYTES = 224 << 10, /* of a compute unit of Hopper, which work-groups share */
};

static const struct kiln_contraction_schedule *contraction_of(const struct kiln_emission *emission)
{
    return &emission->schedule->contraction;
}

static const char *device_type(enum kiln_dtype dtype)
{
    return kiln_dtype_info(dtype)->device;
}

static bool is_specialized(const struct kiln_emission *emission)
{
    return contraction_of(emission)->producer_waves != 0;
}

/* An operand that is copied to LDS as it lies, along its rows. */
static bool is_transposed(const struct kiln_emission *emission,
                          const struct kiln_operand_schedule *operand)
{
    return !operand->is_along_k && kiln_contraction_is_copied(emission, operand);
}

static void append_staging_defines(const struct kiln_emission *emission, const char *name,
                                   const struct kiln_operand_schedule *operand,
                                   struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "#define KILN_%s_IS_COPIED %d\n#define KILN_%s_IS_TRANSPOSED %d\n",
                       name, kiln_contraction_is_copied(emission, operand), name,
                       is_transposed(emission, operand));
}

/*
 * Into how many groups that take turns at tiles the producers are divided. A small tile is a
 * warp's, which has the time of several tiles for it: waiting for room and saying that it is full
 * takes longer than its copies. That needs a long ring; and what goes through registers needs those
 * of all.
 */
static uint32_t stage_groups(const struct kiln_emission *emission)
{
    enum { SMALL_TILE = 128 }; /* rows of both operands */
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    return contraction->tile_m + contraction->tile_n <= SMALL_TILE &&
                   contraction->buffers >= 2 * contraction->producer_waves &&
                   contraction->buffers % contraction->producer_waves == 0 &&
                   kiln_contraction_is_copied(emission, &contraction->left) &&
                   kiln_contraction_is_copied(emission, &contraction->right)
               ? contraction->producer_waves
               : 1;
}

static void append_specialized_defines(const struct kiln_emission *emission,
                                       struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    uint32_t consumer_waves = contraction->waves_m * contraction->waves_n * contraction->waves_k;
    kiln_buffer_printf(source,
                       "#define KILN_CONSUMERS %" PRIu32 "\n#define KILN_PRODUCERS %" PRIu32
                       "\n#define KILN_STAGE_GROUPS %" PRIu32 "\n",
                       consumer_waves * emission->target->wave_size,
                       contraction->producer_waves * emission->target->wave_size,
                       stage_groups(emission));
    /* Where local memory is for several, registers are for two at least. */
    if (2 * emission->schedule->lds_bytes <= UNIT_LDS_BYTES)
        kiln_buffer_append_text(source, "#define KILN_RESIDENTS 2\n");
    append_staging_defines(emission, "LEFT", &contraction->left, source);
    append_staging_defines(emission, "RIGHT", &contraction->right, source);
    if (emission->schedule->lds_bytes > emission->target->lds_bytes)
        kiln_buffer_append_text(source, "#define KILN_LDS_IS_DYNAMIC\n");
}

/* How many vectors of the result a work-item loads the operands of before it finishes the first.
 * With a work-group or two in a compute unit nothing else hides the way to memory. */
static uint32_t finished_together(const struct kiln_emission *emission)
{
    enum { MOST_TOGETHER = 6 };
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    bool is_loaded = false;
    for (uint32_t i = 0; i < emission->group->load_count; i++)
        is_loaded |= emission->group->accesses[i].place == KILN_PLACE_ELEMENT &&
                     (emission->schedule->accesses[i].strides[KILN_STRIDE_ROW] != 0 ||
                      emission->schedule->accesses[i].splits_rows);
    if (!is_specialized(emission) || !is_loaded)
        return 1;
    uint32_t vectors =
        contraction->tile_m * kiln_tile_columns(contraction) / contraction->result_vector;
    uint32_t items = emission->schedule->block * contraction->groups_k;
    uint32_t each = (vectors + items - 1) / items;
    return each < MOST_TOGETHER ? each : MOST_TOGETHER;
}

static void append_operand_defines(const struct kiln_emission *emission, const char *name,
                                   const struct kiln_operand_schedule *operand,
                                   struct kiln_buffer *source)
{
    const struct kiln_mma *mma = contraction_of(emission)->mma;
    bool is_computed =
        (mma != NULL && mma->is_fnuz) || !kiln_contraction_is_moved(emission, operand);
    bool is_whole = operand->is_along_k && kiln_contraction_is_copied(emission, operand);
    kiln_buffer_printf(source,
                       "#define KILN_%s_RUN %" PRIu32 "\n#define KILN_%s_IS_ALONG_K %d\n"
                       "#define KILN_%s_PIECES %" PRIu32 "\n#define KILN_%s_WORK %d\n",
                       name, operand->run, name, operand->is_along_k, name, operand->pieces, name,
                       is_computed ? 2
                       : is_whole  ? 0
                                   : 1);
}

static void append_direct_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    const struct kiln_operand_schedule *shared =
        is_swapped ? &contraction->left : &contraction->right;
    kiln_buffer_printf(source,
                       "#define KILN_PRODUCTS 1\n#define KILN_RESULT_VECTOR %" PRIu32
                       "\n#define KILN_ITEM_ROWS %" PRIu32 "\n#define KILN_ARE_ROWS_FAST %d"
                       "\n#define KILN_ARE_WEIGHTS_LEFT %d\n#define KILN_ARE_WEIGHTS_ALONG_K %d"
                       "\n#define KILN_WEIGHTS %" PRIu32 "\n#define KILN_TAPS %" PRIu32
                       "\n#define KILN_CHIPLETS %" PRIu32 "\n#define KILN_CHIPLET_RUN %" PRIu32
                       "\n#define KILN_SUPER_ROWS %" PRIu32 "\n",
                       contraction->result_vector, contraction->item_rows,
                       contraction->are_rows_fast, is_swapped, shared->is_along_k,
                       contraction->shared_rows, contraction->tile_k, contraction->chiplets,
                       contraction->chiplet_run, contraction->super_rows);
    if (kiln_group_cuts_k(emission->group))
        kiln_buffer_append_text(source, "#define KILN_HAS_SEGMENTS 1\n");
    if (contraction->strip_taps != 0)
        kiln_buffer_printf(source,
                           "#define KILN_STRIP_TAPS %" PRIu32 "\n#define KILN_STRIP_STEP %" PRIu32
                           "\n#define KILN_STRIP_PIXELS %" PRIu32 "\n#define KILN_RESIDENTS 2\n"
                           "#define KILN_AHEAD %" PRIu32 "\n",
                           contraction->strip_taps, contraction->strip_step,
                           (contraction->item_rows - 1) * contraction->strip_step +
                               contraction->strip_taps,
                           contraction->strip_lines);
    if (contraction->phase_count != 0)
        kiln_buffer_append_text(source, "#define KILN_HAS_PHASES 1\n");
}

static void append_small_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    kiln_buffer_printf(
        source,
        "#define KILN_PRODUCTS %" PRIu32 "\n#define KILN_ITEM_ROWS %" PRIu32
        "\n#define KILN_ITEM_COLUMNS %" PRIu32 "\n#define KILN_RESULT_VECTOR %" PRIu32
        "\n#define KILN_PRODUCT_ITEMS %" PRIu32 "\n#define KILN_COLUMN_ITEMS %" PRIu32
        "\n#define KILN_K %" PRId64 "\n#define KILN_STEP %" PRIu32 "\n",
        contraction->products, contraction->item_rows, contraction->item_columns,
        contraction->result_vector, contraction->row_items * contraction->column_items,
        contraction->column_items, contraction->k, contraction->tile_k);
}

void kiln_emit_contraction_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    uint32_t pack = kiln_pack_elements(contraction);
    kiln_emit_grid(emission, source);
    if (kiln_has_single_factors(emission))
        kiln_buffer_printf(
            source,
            "#define KILN_HAS_PADDING 1\n"
            "#define KILN_ADD_SINGLE(a, b, sum) kiln_fma_%s(a, b, sum)\n",
            kiln_scalar_text(emission->ir->ops[emission->group->contracts[0]].scalar));
    if (kiln_is_contraction_small(contraction)) {
        append_small_defines(emission, source);
        return;
    }
    if (contraction->is_direct) {
        append_direct_defines(emission, source);
        return;
    }
    kiln_buffer_printf(source,
                       "#define KILN_TILE_M %" PRIu32 "\n#define KILN_TILE_N %" PRIu32
                       "\n#define KILN_TILE_K %" PRIu32 "\n#define KILN_WAVES_M %" PRIu32
                       "\n#define KILN_WAVES_N %" PRIu32 "\n#define KILN_BUFFERS %" PRIu32
                       "\n#define KILN_PACK_ELEMENTS %" PRIu32 "\n#define KILN_ROW_PACKS %" PRIu32
                       "\n#define KILN_RESULT_VECTOR %" PRIu32 "\n#define KILN_IS_PINGPONG %d"
                       "\n#define KILN_IS_STREAMED %d\n#define KILN_WAVES_K %" PRIu32
                       "\n#define KILN_PRODUCTS %" PRIu32 "\n#define KILN_ROW_PARTS %" PRIu32
                       "\n#define KILN_ROW_LANES %" PRIu32 "\n#define KILN_GROUPS_K %" PRIu32
                       "\n#define KILN_FINISHED_TOGETHER %" PRIu32 "\n",
                       contraction->tile_m, contraction->tile_n, contraction->tile_k,
                       contraction->waves_m, contraction->waves_n, contraction->buffers, pack,
                       contraction->tile_k / pack, contraction->result_vector,
                       contraction->is_pingpong, contraction->is_streamed, contraction->waves_k,
                       contraction->products, contraction->row_parts, contraction->row_lanes,
                       contraction->groups_k, finished_together(emission));
    kiln_buffer_printf(source,
                       "#define KILN_CHIPLETS %" PRIu32 "\n#define KILN_CHIPLET_RUN %" PRIu32
                       "\n#define KILN_SUPER_ROWS %" PRIu32 "\n",
                       contraction->chiplets, contraction->chiplet_run, contraction->super_rows);
    if (is_specialized(emission))
        append_specialized_defines(emission, source);
    append_operand_defines(emission, "LEFT", &contraction->left, source);
    append_operand_defines(emission, "RIGHT", &contraction->right, source);
    kiln_buffer_printf(source, "#define KILN_K_END %d\n#define KILN_HAS_SEGMENTS %d\n",
                       (int)contraction->k_end, kiln_group_cuts_k(emission->group));
    kiln_buffer_printf(source,
                       "#define KILN_STATISTICS %d\n#define KILN_STATISTICS_PACKS %" PRIu32 "\n",
                       (int)contraction->statistics, contraction->statistics_bytes / PACK_BYTES);
    if (contraction->statistics == KILN_STATISTICS_COLUMNS)
        kiln_buffer_printf(source,
                           "#define KILN_VECTORS_ABREAST %" PRIu32
                           "\n#define KILN_ROWS_ABREAST (KILN_BLOCK / KILN_VECTORS_ABREAST)\n",
                           kiln_vectors_abreast(emission->schedule));
    if (contraction->phase_count != 0)
        kiln_buffer_append_text(source, "#define KILN_HAS_PHASES 1\n");
    if (contraction->sum_groups != 0)
        kiln_buffer_printf(source,
                           "#define KILN_SUM_ROWS %" PRIu32 "\n#define KILN_SUMMED_RUN %" PRIu32
                           "\n#define KILN_SUMMED_IS_ALONG_K %d\n#define KILN_IS_RIGHT_SUMMED %d\n"
                           "#define KILN_SUMS_HAVE_SEGMENTS %d\n"
                           "#define KILN_SUM_DECODE(element) kiln_decode_%s(element)\n",
                           contraction->sum_rows, contraction->summed.run,
                           contraction->summed.is_along_k, contraction->is_right_summed,
                           contraction->sum_segments > 1, device_type(contraction->staged));
}

const char *kiln_contraction_core_header(const struct kiln_emission *emission)
{
    const struct kiln_mma *mma = contraction_of(emission)->mma;
    if (mma == NULL)
        return "device/mma/scalar.h";
    switch (mma->layout) {
    case KILN_MMA_LAYOUT_MFMA:
        return "device/mma/mfma.h";
    case KILN_MMA_LAYOUT_WMMA:
    case KILN_MMA_LAYOUT_WMMA_REPLICATED:
        return "device/mma/wmma.h";
    case KILN_MMA_LAYOUT_WGMMA:
        return "device/mma/wgmma.h";
    case KILN_MMA_LAYOUT_MMA_SYNC:
        break;
    }
    return "device/mma/mma_sync.h";
}

static void append_multiply_add(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    enum kiln_scalar scalar = emission->ir->ops[emission->group->contracts[0]].scalar;
    /* LLVM 19 takes bytes of the wrong registers where products of bytes of several registers
     * become one dot product. It makes none of a product that it cannot see through. */
    if (scalar == KILN_SCALAR_I32 && kiln_is_contraction_small(contraction_of(emission)))
        kiln_buffer_append_text(source,
                                "KILN_DEVICE int kiln_add_product(int a, int b, int sum)\n{\n"
                                "    int product = (int)((unsigned)a * (unsigned)b);\n"
                                "    kiln_compute_here(product);\n"
                                "    return (int)((unsigned)product + (unsigned)sum);\n}\n"
                                "#define KILN_MMA_ADD(a, b, sum) kiln_add_product(a, b, sum)\n");
    else if (scalar == KILN_SCALAR_I32)
        kiln_buffer_append_text(source, "#define KILN_MMA_ADD(a, b, sum) ((int)((unsigned)(a) * "
                                        "(unsigned)(b) + (unsigned)(sum)))\n");
    else
        kiln_buffer_printf(source, "#define KILN_MMA_ADD(a, b, sum) kiln_fma_%s(a, b, sum)\n",
                           kiln_scalar_text(scalar));
}

static void append_scalar_core(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    enum kiln_dtype staged = contraction_of(emission)->staged;
    uint32_t lane_rows = contraction_of(emission)->lane_rows;
    uint32_t lanes_n = emission->target->wave_size < 8 ? emission->target->wave_size : 8;
    kiln_buffer_printf(source,
                       "#define KILN_MMA_LANES_M %" PRIu32 "\n#define KILN_MMA_LANES_N %" PRIu32
                       "\n#define KILN_MMA_BLOCK %" PRIu32 "\n#define KILN_MMA_DECODE(element) "
                       "kiln_decode_%s(element)\n",
                       emission->target->wave_size / lanes_n, lanes_n,
                       lane_rows != 0 ? lane_rows : KILN_SCALAR_BLOCK, device_type(staged));
    append_multiply_add(emission, source);
}

/* One instruction names all its registers. */
static void append_wgmma(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    const char *type = device_type(contraction->mma->operand);
    uint32_t registers = contraction->tile_n / 2;
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_wgmma(float (&sums)[%" PRIu32
                       "], unsigned long long left, unsigned long long right, bool adds)\n{\n"
                       "    asm volatile(\"{\\n.reg .pred adds;\\nsetp.ne.b32 adds, %%%" PRIu32
                       ", 0;\\nwgmma.mma_async.sync.aligned.m64n%" PRIu32 "k16.f32.%s.%s {",
                       registers, registers + 2, contraction->tile_n, type, type);
    for (uint32_t i = 0; i < registers; i++)
        kiln_buffer_printf(source, "%s%%%" PRIu32, i == 0 ? "" : ", ", i);
    kiln_buffer_printf(
        source, "}, %%%" PRIu32 ", %%%" PRIu32 ", adds, 1, 1, %d, %d;\\n}\"\n        : ", registers,
        registers + 1, is_transposed(emission, &contraction->left),
        is_transposed(emission, &contraction->right));
    for (uint32_t i = 0; i < registers; i++)
        kiln_buffer_printf(source, "%s\"+f\"(sums[%" PRIu32 "])", i == 0 ? "" : ", ", i);
    kiln_buffer_append_text(source,
                            "\n        : \"l\"(left), \"l\"(right), \"r\"((unsigned)adds));\n}\n");
}

/* Work-items compute elements by themselves. */
static bool has_no_tile(const struct kiln_emission *emission)
{
    return contraction_of(emission)->is_direct ||
           kiln_is_contraction_small(contraction_of(emission));
}

void kiln_emit_contraction_core(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_mma *mma = contraction_of(emission)->mma;
    if (has_no_tile(emission)) {
        kiln_buffer_printf(
            source, "typedef %s kiln_sum;\n",
            kiln_scalar_type(emission->ir->ops[emission->group->contracts[0]].scalar));
        append_multiply_add(emission, source);
        return;
    }
    kiln_buffer_printf(source, "typedef kiln_storage_%s kiln_element;\ntypedef %s kiln_sum;\n",
                       device_type(contraction_of(emission)->staged),
                       kiln_scalar_type(emission->ir->ops[emission->group->contracts[0]].scalar));
    if (mma == NULL) {
        append_scalar_core(emission, source);
        return;
    }
    if (mma->layout == KILN_MMA_LAYOUT_WGMMA) {
        append_wgmma(emission, source);
        return;
    }
    if (mma->layout == KILN_MMA_LAYOUT_MMA_SYNC) {
        kiln_buffer_printf(source, "#define KILN_MMA_TYPE \"%s\"\n", device_type(mma->operand));
        return;
    }
    kiln_buffer_printf(source,
                       "#define KILN_MMA_SIDE %" PRIu32 "\n#define KILN_MMA_IS_REPLICATED %d\n"
                       "#define KILN_MMA_CALL(a, b, sums) %s\n",
                       mma->rows_m, mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED, mma->call);
    /* Both operands are half of what they stand for. */
    if (mma->is_fnuz)
        kiln_buffer_append_text(source, "#define KILN_MMA_IS_FNUZ 1\n"
                                        "#define KILN_MMA_SUM(sum) (4.0f * (sum))\n");
    if (mma->operand == KILN_DTYPE_F64)
        kiln_buffer_append_text(source, "#define KILN_MMA_RUN 1\n");
    /* "float __attribute__((...))": the attribute goes behind the name. */
    const char *operand_attribute = strstr(mma->operand_type, " __");
    const char *sums_attribute = strstr(mma->sums_type, " __");
    kiln_buffer_printf(source, "typedef %.*s kiln_mma_operand%s;\ntypedef %.*s kiln_mma_sums%s;\n",
                       (int)(operand_attribute != NULL ? operand_attribute - mma->operand_type
                                                       : (long)strlen(mma->operand_type)),
                       mma->operand_type, operand_attribute != NULL ? operand_attribute : "",
                       (int)(sums_attribute != NULL ? sums_attribute - mma->sums_type
                                                    : (long)strlen(mma->sums_type)),
                       mma->sums_type, sums_attribute != NULL ? sums_attribute : "");
}

static void emit_headers(const struct kiln_emission *emission,
                         struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    kiln_emit_access_headers(emission, inclusion, source);
    const struct kiln_reduction_passes *passes = &contraction_of(emission)->passes;
    for (uint32_t i = 0; i < passes->accumulator_count; i++) {
        if (passes->accumulators[i].kind == KILN_ACCUMULATOR_MOMENTS)
            kiln_template_append(inclusion, "device/moments.h", source);
    }
    if (passes->accumulator_count != 0)
        kiln_template_append(inclusion, "device/accumulators.h", source);
    kiln_emit_operation_headers(emission, inclusion, source);
    kiln_emit_convert_header(emission->schedule->contraction.staged, inclusion, source);
    kiln_buffer_append_text(source, "#line 1 \"generated\"\n");
    kiln_emit_contraction_core(emission, source);
    if (has_no_tile(emission)) {
        if (kiln_contraction_is_split(emission))
            kiln_template_append(inclusion, "device/contraction/divide.h", source);
        return;
    }
    kiln_template_append(inclusion, "device/mma/pack.h", source);
    if (emission->schedule->contraction.left.run > 1 ||
        emission->schedule->contraction.right.run > 1 ||
        emission->schedule->contraction.summed.run > 1)
        kiln_template_append(inclusion, "device/mma/transpose.h", source);
    kiln_emit_bytes_headers(emission, emission->schedule->contraction.staged, inclusion, source);
    kiln_template_append(inclusion, kiln_contraction_core_header(emission), source);
    if (kiln_contraction_is_split(emission))
        kiln_template_append(inclusion, "device/contraction/divide.h", source);
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    return !kiln_is_contraction_small(&schedule->contraction);
}

const struct kiln_emit_family kiln_emit_family_contraction = {
    .defines = kiln_emit_contraction_defines,
    .headers = emit_headers,
    .text = kiln_emit_contraction,
    .uses_barrier = uses_barrier,
    .integers = kiln_contraction_integers,
    .has_literals = true,
};
