/* What a contraction's kernel is made with: the sizes of its tiles, and the types of its core. */
#include "compiler/families/contraction/emit/emit_contraction.h"

#include "compiler/emit/emit_family.h"
#include "compiler/emit/emit_values.h"
#include "compiler/families/contraction/emit/emit_bytes.h"
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "compiler/families/contraction/schedule/contraction_small.h"
#include "compiler/families/contraction/schedule/contraction_statistics.h"

#include <inttypes.h>
#include <string.h>

enum {
    PACK_BYTES = 16,
    UNIT_LDS_BYTES = 224 << 10, /* of a compute unit of Hopper, which work-groups share */
};

static const struct kiln_contraction_schedule *contraction_of(const struct kiln_emission *emission)
{
    return kiln_contraction_of(emission);
}

static const char *device_type(enum kiln_dtype dtype)
{
    return kiln_dtype_info(dtype)->device;
}

static bool is_specialized(const struct kiln_emission *emission)
{
    return contraction_of(emission)->pipeline.kind == KILN_PIPELINE_SPECIALIZED;
}

static void append_of_operand(const char *operand, const char *name, uint32_t value,
                              struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "#define KILN_%s_%s %" PRIu32 "\n", operand, name, value);
}

static void append_staging_defines(const struct kiln_emission *emission, const char *name,
                                   const struct kiln_operand_schedule *operand,
                                   struct kiln_buffer *source)
{
    append_of_operand(name, "IS_COPIED", kiln_contraction_is_copied(emission, operand), source);
    append_of_operand(name, "IS_TRANSPOSED", kiln_is_operand_transposed(emission, operand), source);
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
    const struct kiln_specialized_pipeline *ring = &contraction->pipeline.specialized;
    return contraction->tile.m + contraction->tile.n <= SMALL_TILE &&
                   ring->buffers >= 2 * ring->producer_waves &&
                   ring->buffers % ring->producer_waves == 0 &&
                   kiln_contraction_is_copied(emission, &contraction->left) &&
                   kiln_contraction_is_copied(emission, &contraction->right)
               ? ring->producer_waves
               : 1;
}

/* Each unit's arithmetic is in the kernel's text: codes of 4 bits, which take the fewest bytes,
 * have the shortest. */
static uint32_t units_ahead(const struct kiln_emission *emission)
{
    enum { MOST = 8, OF_OTHERS = 2 };
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    bool are_short = true;
    for (uint32_t i = 0; i < group->load_count; i++) {
        enum kiln_place place = group->accesses[i].place;
        bool is_ahead = (place == contraction->left.places[0] && contraction->left.lane_run > 1) ||
                        (place == contraction->right.places[0] && contraction->right.lane_run > 1);
        are_short &= !is_ahead || !kiln_varies_along_k(emission, i) ||
                     contraction->accesses[i].k_repeat != 0 ||
                     kiln_dtype_info(group->accesses[i].dtype)->bits <= 4;
    }
    return are_short ? MOST : OF_OTHERS;
}

static void append_specialized_defines(const struct kiln_emission *emission,
                                       struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    uint32_t consumer_waves =
        contraction->tile.waves_m * contraction->tile.waves_n * contraction->tile.waves_k;
    uint32_t producer_waves = kiln_pipeline_producer_waves(&contraction->pipeline);
    kiln_emit_constant("HAS_WGMMA_ORDER", 1, source);
    kiln_emit_constant("CONSUMERS", consumer_waves * emission->target->wave_size, source);
    kiln_emit_constant("PRODUCERS", producer_waves * emission->target->wave_size, source);
    kiln_emit_constant("STAGE_GROUPS", stage_groups(emission), source);
    if (contraction->left.lane_run > 1 || contraction->right.lane_run > 1)
        kiln_emit_constant("UNITS_AHEAD", units_ahead(emission), source);
    /* Where local memory is for several, registers are for two at least. */
    if (2 * emission->schedule->launch.lds_bytes <= UNIT_LDS_BYTES)
        kiln_emit_constant("RESIDENTS", 2, source);
    append_staging_defines(emission, "LEFT", &contraction->left, source);
    append_staging_defines(emission, "RIGHT", &contraction->right, source);
    if (emission->schedule->launch.lds_bytes > emission->target->lds_bytes)
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
                      kiln_contraction_of(emission)->accesses[i].splits_rows);
    if (!is_specialized(emission) || !is_loaded)
        return 1;
    uint32_t vectors =
        contraction->tile.m * kiln_tile_columns(contraction) / contraction->result_vector;
    uint32_t items =
        emission->schedule->launch.block * kiln_pipeline_groups(&contraction->pipeline);
    uint32_t each = (vectors + items - 1) / items;
    return each < MOST_TOGETHER ? each : MOST_TOGETHER;
}

static void append_operand_defines(const char *name, const struct kiln_operand_schedule *operand,
                                   struct kiln_buffer *source)
{
    append_of_operand(name, "RUN", operand->run, source);
    append_of_operand(name, "IS_ALONG_K", operand->is_along_k, source);
    append_of_operand(name, "PIECES", operand->pieces, source);
    if (operand->lane_run > 1)
        append_of_operand(name, "LANE_RUN", operand->lane_run, source);
}

static void append_order_defines(const struct kiln_contraction_schedule *contraction,
                                 struct kiln_buffer *source)
{
    kiln_emit_constant("CHIPLETS", contraction->order.chiplets, source);
    kiln_emit_constant("CHIPLET_RUN", contraction->order.chiplet_run, source);
    kiln_emit_constant("SUPER_ROWS", contraction->order.super_rows, source);
}

static void append_direct_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    const struct kiln_direct_pipeline *direct = kiln_direct_pipeline(&contraction->pipeline);
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    const struct kiln_operand_schedule *shared =
        is_swapped ? &contraction->left : &contraction->right;
    kiln_emit_constant("PRODUCTS", 1, source);
    kiln_emit_constant("RESULT_VECTOR", contraction->result_vector, source);
    kiln_emit_constant("ITEM_ROWS", direct->item_rows, source);
    kiln_emit_constant("ARE_ROWS_FAST", direct->are_rows_fast, source);
    kiln_emit_constant("ARE_WEIGHTS_LEFT", is_swapped, source);
    kiln_emit_constant("ARE_WEIGHTS_ALONG_K", shared->is_along_k, source);
    kiln_emit_constant("WEIGHTS", direct->shared_rows, source);
    kiln_emit_constant("TAPS", contraction->tile.k, source);
    kiln_emit_constant("TILE_K", contraction->tile.k, source);
    append_order_defines(contraction, source);
    if (contraction->pipeline.kind != KILN_PIPELINE_STRIPS)
        return;
    const struct kiln_strips_pipeline *strips = &contraction->pipeline.strips;
    uint32_t pixels = (direct->item_rows - 1) * strips->step + strips->taps;
    kiln_emit_constant("STRIP_TAPS", strips->taps, source);
    kiln_emit_constant("STRIP_STEP", strips->step, source);
    kiln_emit_constant("STRIP_PIXELS", pixels, source);
    kiln_emit_constant("RESIDENTS", 2, source);
    kiln_emit_constant("AHEAD", strips->lines, source);
    kiln_emit_constant("STRIP_WINDOW", kiln_strip_window(contraction), source);
}

static void append_small_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    const struct kiln_small_pipeline *small = &contraction->pipeline.small;
    kiln_emit_constant("HAS_LANE_BATCHES", 1, source);
    kiln_emit_constant("PRODUCTS", contraction->problem.products, source);
    kiln_emit_constant("ITEM_ROWS", small->item_rows, source);
    kiln_emit_constant("ITEM_COLUMNS", small->item_columns, source);
    kiln_emit_constant("RESULT_VECTOR", contraction->result_vector, source);
    kiln_emit_constant("PRODUCT_ITEMS", small->row_items * small->column_items, source);
    kiln_emit_constant("COLUMN_ITEMS", small->column_items, source);
    kiln_emit_constant("K", (uint64_t)contraction->problem.k, source);
    kiln_emit_constant("STEP", contraction->tile.k, source);
}

static void append_operand_sum_defines(const struct kiln_contraction_schedule *contraction,
                                       struct kiln_buffer *source)
{
    kiln_emit_constant("SUM_ROWS", contraction->operand_sum.rows, source);
    append_operand_defines("SUMMED", &contraction->operand_sum.operand, source);
    kiln_emit_constant("IS_RIGHT_SUMMED", contraction->operand_sum.is_right, source);
    kiln_emit_constant("SUMS_HAVE_SEGMENTS", contraction->operand_sum.segments > 1, source);
    kiln_buffer_printf(source, "#define KILN_SUM_DECODE(element) kiln_decode_%s(element)\n",
                       device_type(contraction->staged));
    kiln_emit_constant("SUMMED_BATCHES", contraction->operand_sum.batches, source);
}

/* Names of device/contraction/k_end.h. */
static const char *const k_ends[] = {
    [KILN_K_END_NONE] = "KILN_K_END_NONE",
    [KILN_K_END_FIRST] = "KILN_K_END_FIRST",
    [KILN_K_END_ALONE] = "KILN_K_END_ALONE",
    [KILN_K_END_ANY] = "KILN_K_END_ANY",
};

void kiln_emit_contraction_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    uint32_t pack = kiln_pack_elements(contraction);
    kiln_emit_grid(emission, source);
    kiln_emit_batch_defines(emission, source);
    kiln_emit_axis_defines(emission, source);
    if (kiln_group_cuts_k(emission->group))
        kiln_emit_constant("HAS_SEGMENTS", 1, source);
    if (kiln_has_single_factors(emission))
        kiln_buffer_printf(source, "#define KILN_ADD_SINGLE(a, b, sum) kiln_fma_%s(a, b, sum)\n",
                           kiln_scalar_text(emission->ir->ops[emission->group->anchors[0]].scalar));
    if (kiln_is_contraction_small(contraction)) {
        append_small_defines(emission, source);
        return;
    }
    if (kiln_pipeline_is_direct(&contraction->pipeline)) {
        append_direct_defines(emission, source);
        return;
    }
    const struct kiln_ending *ending = &contraction->ending;
    const struct kiln_tile *tile = &contraction->tile;
    kiln_emit_constant("TILE_M", tile->m, source);
    kiln_emit_constant("TILE_N", tile->n, source);
    kiln_emit_constant("TILE_K", tile->k, source);
    kiln_emit_constant("WAVES_M", tile->waves_m, source);
    kiln_emit_constant("WAVES_N", tile->waves_n, source);
    kiln_emit_constant("BUFFERS", kiln_pipeline_buffers(&contraction->pipeline), source);
    kiln_emit_constant("PACK_ELEMENTS", pack, source);
    kiln_emit_constant("ROW_PACKS", tile->k / pack, source);
    kiln_emit_constant("RESULT_VECTOR", contraction->result_vector, source);
    kiln_emit_constant("WAVES_K", tile->waves_k, source);
    kiln_emit_constant("PRODUCTS", contraction->problem.products, source);
    kiln_emit_constant("ROW_PARTS", kiln_ending_row_parts(ending), source);
    kiln_emit_constant("FINISHED_TOGETHER", finished_together(emission), source);
    if (kiln_ending_row_lanes(ending) != 0)
        kiln_emit_constant("ROW_LANES", kiln_ending_row_lanes(ending), source);
    if (contraction->problem.block != 0)
        kiln_emit_constant("ROW_BLOCK", contraction->problem.block, source);
    if (kiln_pipeline_groups(&contraction->pipeline) > 1)
        kiln_emit_constant("GROUPS_K", kiln_pipeline_groups(&contraction->pipeline), source);
    append_order_defines(contraction, source);
    if (is_specialized(emission))
        append_specialized_defines(emission, source);
    append_operand_defines("LEFT", &contraction->left, source);
    append_operand_defines("RIGHT", &contraction->right, source);
    if (contraction->pipeline.kind == KILN_PIPELINE_STREAMED)
        kiln_emit_constant("IS_STREAMED", 1, source);
    kiln_buffer_printf(source, "#define KILN_K_END %s\n", k_ends[contraction->k_end]);
    kiln_emit_constant("STATISTICS_PACKS", kiln_ending_statistics_bytes(ending) / PACK_BYTES,
                       source);
    if (kiln_ending_statistics(ending) == KILN_STATISTICS_COLUMNS) {
        uint32_t abreast = kiln_vectors_abreast(emission->schedule);
        kiln_emit_constant("VECTORS_ABREAST", abreast, source);
        kiln_emit_constant("ROWS_ABREAST", emission->schedule->launch.block / abreast, source);
    }
    if (contraction->operand_sum.groups != 0)
        append_operand_sum_defines(contraction, source);
}

const char *kiln_contraction_core_header(const struct kiln_emission *emission)
{
    const struct kiln_mma *mma = contraction_of(emission)->tile.mma;
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
    enum kiln_scalar scalar = emission->ir->ops[emission->group->anchors[0]].scalar;
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
    uint32_t lane_rows = contraction_of(emission)->tile.lane_rows;
    uint32_t lanes_n = emission->target->wave_size < 8 ? emission->target->wave_size : 8;
    kiln_emit_constant("MMA_LANES_M", emission->target->wave_size / lanes_n, source);
    kiln_emit_constant("MMA_LANES_N", lanes_n, source);
    kiln_emit_constant("MMA_BLOCK", lane_rows != 0 ? lane_rows : KILN_SCALAR_BLOCK, source);
    kiln_buffer_printf(source, "#define KILN_MMA_DECODE(element) kiln_decode_%s(element)\n",
                       device_type(staged));
    append_multiply_add(emission, source);
}

/* One instruction names all its registers. */
static void append_wgmma(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    const char *type = device_type(contraction->tile.mma->operand);
    uint32_t registers = contraction->tile.n / 2;
    kiln_buffer_printf(source,
                       "KILN_DEVICE void kiln_wgmma(float (&sums)[%" PRIu32
                       "], unsigned long long left, unsigned long long right, bool adds)\n{\n"
                       "    asm volatile(\"{\\n.reg .pred adds;\\nsetp.ne.b32 adds, %%%" PRIu32
                       ", 0;\\nwgmma.mma_async.sync.aligned.m64n%" PRIu32 "k16.f32.%s.%s {",
                       registers, registers + 2, contraction->tile.n, type, type);
    for (uint32_t i = 0; i < registers; i++)
        kiln_buffer_printf(source, "%s%%%" PRIu32, i == 0 ? "" : ", ", i);
    kiln_buffer_printf(
        source, "}, %%%" PRIu32 ", %%%" PRIu32 ", adds, 1, 1, %d, %d;\\n}\"\n        : ", registers,
        registers + 1, kiln_is_operand_transposed(emission, &contraction->left),
        kiln_is_operand_transposed(emission, &contraction->right));
    for (uint32_t i = 0; i < registers; i++)
        kiln_buffer_printf(source, "%s\"+f\"(sums[%" PRIu32 "])", i == 0 ? "" : ", ", i);
    kiln_buffer_append_text(source,
                            "\n        : \"l\"(left), \"l\"(right), \"r\"((unsigned)adds));\n}\n");
}

/* Work-items compute elements by themselves. */
static bool has_no_tile(const struct kiln_emission *emission)
{
    return kiln_pipeline_is_direct(&contraction_of(emission)->pipeline) ||
           kiln_is_contraction_small(contraction_of(emission));
}

void kiln_emit_contraction_core(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_mma *mma = contraction_of(emission)->tile.mma;
    if (has_no_tile(emission)) {
        kiln_buffer_printf(source, "typedef %s kiln_sum;\n",
                           kiln_scalar_type(emission->ir->ops[emission->group->anchors[0]].scalar));
        append_multiply_add(emission, source);
        return;
    }
    kiln_buffer_printf(source, "typedef kiln_storage_%s kiln_element;\ntypedef %s kiln_sum;\n",
                       device_type(contraction_of(emission)->staged),
                       kiln_scalar_type(emission->ir->ops[emission->group->anchors[0]].scalar));
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
        kiln_buffer_append_text(source, "#define KILN_MMA_SUM(sum) (4.0f * (sum))\n");
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

/* Access maps, indices that are decomposed into axes, and phases. */
static void append_map_headers(const struct kiln_emission *emission,
                               struct kiln_template_inclusion *inclusion,
                               struct kiln_buffer *source)
{
    if (kiln_contraction_is_split(emission))
        kiln_template_append(inclusion, "device/contraction/divide.h", source);
    if (contraction_of(emission)->problem.windows.phase_count != 0)
        kiln_template_append(inclusion, "device/contraction/find_phase.h", source);
    kiln_template_append(inclusion, "device/contraction/map.h", source);
    if (kiln_contraction_is_split(emission))
        kiln_template_append(inclusion, "device/contraction/axes.h", source);
}

static void emit_headers(const struct kiln_emission *emission,
                         struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    kiln_emit_access_headers(emission, inclusion, source);
    const struct kiln_reduction_passes *passes =
        kiln_ending_passes(&contraction_of(emission)->ending);
    for (uint32_t i = 0; passes != NULL && i < passes->accumulator_count; i++) {
        if (passes->accumulators[i].kind == KILN_ACCUMULATOR_MOMENTS)
            kiln_template_append(inclusion, "device/moments.h", source);
    }
    if (passes != NULL)
        kiln_template_append(inclusion, "device/accumulators.h", source);
    kiln_emit_operation_headers(emission, inclusion, source);
    kiln_emit_convert_header(kiln_contraction_of(emission)->staged, inclusion, source);
    kiln_template_mark_generated(inclusion, source);
    kiln_emit_contraction_core(emission, source);
    if (has_no_tile(emission)) {
        append_map_headers(emission, inclusion, source);
        return;
    }
    kiln_template_append(inclusion, "device/mma/pack.h", source);
    if (contraction_of(emission)->tile.mma != NULL && contraction_of(emission)->tile.mma->is_fnuz)
        kiln_template_append(inclusion, "device/mma/fnuz.h", source);
    if (kiln_contraction_of(emission)->left.run > 1 ||
        kiln_contraction_of(emission)->right.run > 1 ||
        kiln_contraction_of(emission)->operand_sum.operand.run > 1)
        kiln_template_append(inclusion, "device/mma/transpose.h", source);
    kiln_emit_bytes_headers(emission, kiln_contraction_of(emission)->staged, inclusion, source);
    kiln_template_append(inclusion, kiln_contraction_core_header(emission), source);
    append_map_headers(emission, inclusion, source);
}

static bool uses_barrier(const struct kiln_schedule *schedule)
{
    return !kiln_is_contraction_small(kiln_contraction_schedule_of(schedule));
}

const struct kiln_emit_family kiln_emit_family_contraction = {
    .defines = kiln_emit_contraction_defines,
    .headers = emit_headers,
    .text = kiln_emit_contraction,
    .forms = kiln_emit_contraction_forms,
    .uses_barrier = uses_barrier,
    .visit_integers = kiln_visit_contraction_integers,
    .core_value = kiln_emit_contraction_core_value,
    .has_literals = true,
};
