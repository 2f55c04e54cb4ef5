/* The choices that contraction.hip and its relatives leave open: one header of device/contraction/
 * for each. */
#include "compiler/families/contraction/emit/emit_contraction.h"

#include "compiler/emit/emit_family.h"
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_access.h"
#include "compiler/families/contraction/schedule/contraction_modes.h"
#include "compiler/families/contraction/schedule/contraction_small.h"

#include <string.h>

/* enum kiln_work of device/contraction/work.h. */
enum work { WORK_COPY, WORK_ASSEMBLE, WORK_COMPUTE };

static const char *const works[] = {
    [WORK_COPY] = "KILN_WORK_COPY",
    [WORK_ASSEMBLE] = "KILN_WORK_ASSEMBLE",
    [WORK_COMPUTE] = "KILN_WORK_COMPUTE",
};

static enum work work_of(const struct kiln_emission *emission,
                         const struct kiln_operand_schedule *operand)
{
    const struct kiln_mma *mma = kiln_contraction_of(emission)->tile.mma;
    if ((mma != NULL && mma->is_fnuz) || !kiln_contraction_is_moved(emission, operand))
        return WORK_COMPUTE;
    bool is_copied = operand->is_along_k ? kiln_contraction_is_copied(emission, operand)
                                         : kiln_is_operand_transposed(emission, operand);
    /* Packs of runs are loaded at once. Few of them are masked, in branches that most waves do not
     * take: this is no work to do between products. */
    bool has_runs = kiln_contraction_of(emission)->problem.k_run != 0;
    return is_copied || has_runs ? WORK_COPY : WORK_ASSEMBLE;
}

static bool is_mfma(const struct kiln_contraction_schedule *contraction)
{
    return contraction->tile.mma != NULL && contraction->tile.mma->layout == KILN_MMA_LAYOUT_MFMA;
}

/* True if packs of the next tile can be made between products: device/contraction/make_between.h.
 */
static bool makes_between(const struct kiln_emission *emission)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    bool fetches_always =
        contraction->k_end == KILN_K_END_NONE || contraction->k_end == KILN_K_END_FIRST;
    return is_mfma(contraction) && fetches_always &&
           (work_of(emission, &contraction->left) != WORK_COPY ||
            work_of(emission, &contraction->right) != WORK_COPY);
}

/* Descriptors of buffers of gfx125x are others than those in device/contraction/buffer_load.h. */
static bool has_buffers(const struct kiln_target *target)
{
    return target->kind == KILN_TARGET_AMDGPU && strncmp(target->processor, "gfx125", 6) != 0;
}

/* True if packs that are copied from one pixel and tap each are loaded with zeros outside of
 * windows: device/contraction/inside_rows.h. Without matrix instructions LLVM 15 keeps the packs in
 * scratch memory. */
static bool loads_zeros(const struct kiln_emission *emission)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const struct kiln_operand_schedule *operand =
        contraction->problem.windows.is_right ? &contraction->right : &contraction->left;
    bool is_staged = contraction->pipeline.kind == KILN_PIPELINE_STAGED ||
                     contraction->pipeline.kind == KILN_PIPELINE_PINGPONG;
    return is_staged && has_buffers(emission->target) && contraction->tile.mma != NULL &&
           contraction->problem.windows.count != 0 && contraction->operand_sum.groups == 0 &&
           !emission->schedule->walk.index_is_64bit && operand->is_along_k &&
           operand->part_count == 1 && operand->pieces == 1 &&
           work_of(emission, operand) == WORK_COPY;
}

/* How packs of operands with decomposed indices are loaded. */
static const char *inside_header(const struct kiln_emission *emission)
{
    if (kiln_contraction_of(emission)->problem.k_run != 0)
        return "device/contraction/inside_runs.h";
    if (kiln_pipeline_table_bytes(&kiln_contraction_of(emission)->pipeline) != 0)
        return "device/contraction/inside_table.h";
    if (kiln_walks_along_k(kiln_contraction_of(emission)))
        return "device/contraction/inside_walk.h";
    return loads_zeros(emission) ? "device/contraction/inside_rows.h"
                                 : "device/contraction/inside_points.h";
}

/* The rows of groups' tiles, and the k of groups. */
static const char *groups_header(const struct kiln_contraction_schedule *contraction)
{
    switch (contraction->problem.routing) {
    case KILN_ROUTING_GATHER:
        return "device/contraction/group_gather.h";
    case KILN_ROUTING_SCATTER:
        return "device/contraction/group_scatter.h";
    default:
        return "device/contraction/group_rows.h";
    }
}

static const char *phases_header(const struct kiln_contraction_schedule *contraction)
{
    if (contraction->problem.routing == KILN_ROUTING_SUMS)
        return "device/contraction/k_of_groups.h";
    return contraction->problem.windows.phase_count != 0 ? "device/contraction/phases.h"
                                                         : "device/contraction/phases_none.h";
}

static const char *k_header(const struct kiln_emission *emission)
{
    if (kiln_group_cuts_k(emission->group))
        return "device/contraction/k_segments.h";
    return kiln_pipeline_groups(&kiln_contraction_of(emission)->pipeline) > 1
               ? "device/contraction/k_cluster.h"
               : "device/contraction/k_whole.h";
}

static const char *pipeline_header(const struct kiln_contraction_schedule *contraction)
{
    switch (contraction->pipeline.kind) {
    case KILN_PIPELINE_SPECIALIZED:
        return "device/contraction/specialized.h";
    case KILN_PIPELINE_STREAMED:
        return "device/contraction/streamed.h";
    case KILN_PIPELINE_PINGPONG:
        return "device/contraction/pingpong.h";
    default:
        return "device/contraction/staged.h";
    }
}

static const char *ending_header(const struct kiln_contraction_schedule *contraction)
{
    if (kiln_ending_statistics(&contraction->ending) == KILN_STATISTICS_COLUMNS)
        return "device/contraction/column_statistics.h";
    if (kiln_ending_statistics(&contraction->ending) == KILN_STATISTICS_TILE)
        return "device/contraction/tile_statistics.h";
    if (kiln_routing_has_rows(contraction->problem.routing))
        return "device/contraction/store_groups.h";
    return kiln_ending_row_lanes(&contraction->ending) != 0 ? "device/contraction/rows.h"
                                                            : "device/contraction/store.h";
}

static void append_pipeline(const struct kiln_emission *emission,
                            struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    const enum kiln_pipeline_kind kind = contraction->pipeline.kind;
    bool is_staged = kind == KILN_PIPELINE_STAGED || kind == KILN_PIPELINE_PINGPONG;
    bool is_left = kiln_is_operand_transposed(emission, &contraction->left);
    bool is_right = kiln_is_operand_transposed(emission, &contraction->right);
    if (is_staged && (is_left || is_right)) {
        kiln_buffer_printf(source,
                           "#define KILN_LEFT_IS_TRANSPOSED %d\n"
                           "#define KILN_RIGHT_IS_TRANSPOSED %d\n",
                           is_left, is_right);
        kiln_template_append(inclusion, "device/contraction/transposed.h", source);
    }
    if (is_staged && makes_between(emission)) {
        kiln_buffer_printf(source, "#define KILN_LEFT_WORK %s\n#define KILN_RIGHT_WORK %s\n",
                           works[work_of(emission, &contraction->left)],
                           works[work_of(emission, &contraction->right)]);
        kiln_template_append(inclusion, "device/contraction/make_between.h", source);
    } else if (is_staged) {
        kiln_template_append(inclusion, "device/contraction/make_after.h", source);
    }
    if (kind == KILN_PIPELINE_STAGED)
        kiln_template_append(inclusion,
                             is_mfma(contraction) ? "device/contraction/core_ahead.h"
                                                  : "device/contraction/core_in_steps.h",
                             source);
    kiln_template_append(inclusion, pipeline_header(contraction), source);
}

static bool loads_blocks(const struct kiln_emission *emission)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    bool any = false;
    for (uint32_t i = 0; i < emission->group->load_count; i++)
        any = any || kiln_access_has_blocks(contraction, emission->group, i);
    return any;
}

static bool has_unaligned_packs(const struct kiln_emission *emission)
{
    bool any = false;
    for (uint32_t i = 0; i < emission->group->load_count; i++)
        any = any || kiln_is_pack_unaligned(emission, i);
    return any;
}

void kiln_emit_contraction_forms(const struct kiln_emission *emission,
                                 struct kiln_template_inclusion *inclusion,
                                 struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(emission);
    bool has_padding = kiln_has_single_factors(emission);
    if (has_unaligned_packs(emission))
        kiln_template_append(inclusion, "device/unaligned.h", source);
    kiln_emit_turns_header(emission, inclusion, source);
    kiln_template_append(inclusion,
                         kiln_ending_passes(&contraction->ending) == NULL
                             ? "device/contraction/finish.h"
                             : "device/contraction/row_passes.h",
                         source);
    bool has_blocks = loads_blocks(emission);
    if (has_blocks)
        kiln_template_append(inclusion, "device/contraction/blocks.h", source);
    if (kiln_is_contraction_small(contraction))
        return;
    kiln_template_append(inclusion, k_header(emission), source);
    kiln_template_append(inclusion, phases_header(contraction), source);
    if (contraction->problem.k_run != 0)
        kiln_template_append(inclusion, "device/contraction/run.h", source);
    if (kiln_pipeline_is_direct(&contraction->pipeline)) {
        kiln_template_append(inclusion,
                             has_padding ? "device/contraction/padding_of_items.h"
                                         : "device/contraction/padding_of_items_none.h",
                             source);
        return;
    }
    kiln_template_append(
        inclusion,
        has_padding ? "device/contraction/padding.h" : "device/contraction/padding_none.h", source);
    if (kiln_contraction_is_split(emission))
        kiln_template_append(inclusion, inside_header(emission), source);
    kiln_template_append(inclusion,
                         contraction->operand_sum.groups != 0
                             ? "device/contraction/operand_sums.h"
                             : "device/contraction/operand_sums_none.h",
                         source);
    if (has_blocks) {
        kiln_template_append(inclusion, "device/contraction/block_operand.h", source);
        kiln_template_append(inclusion, "device/contraction/code_table.h", source);
    }
    if (contraction->problem.routing == KILN_ROUTING_GATHER)
        kiln_template_append(inclusion, "device/contraction/gathered_operand.h", source);
    kiln_template_append(inclusion, "device/contraction/operands.h", source);
    append_pipeline(emission, inclusion, source);
    if (kiln_routing_has_rows(contraction->problem.routing))
        kiln_template_append(inclusion, groups_header(contraction), source);
    kiln_template_append(inclusion, ending_header(contraction), source);
}
