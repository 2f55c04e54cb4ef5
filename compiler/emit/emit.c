#include "compiler/emit/emit.h"

#include "compiler/emit/emit_contraction.h"
#include "compiler/emit/emit_reduction.h"
#include "compiler/emit/template_text.h"
#include "runtime/support/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append_defines(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const char *suffix = schedule->index_is_64bit ? "ull" : "u";
    kiln_buffer_printf(source, "#define KILN_WAVE_SIZE %" PRIu32 "\n", emission->target->wave_size);
    kiln_buffer_printf(source, "#define KILN_BLOCK %" PRIu32 "\n", schedule->block);
    if (schedule->template_kind == KILN_TEMPLATE_CONTRACTION) {
        /* Neither the grid nor any size: the text is the same for all shapes. */
        kiln_emit_contraction_defines(emission, source);
        return;
    }
    kiln_buffer_printf(source, "#define KILN_GRID %" PRIu32 "\n", schedule->grid);
    kiln_buffer_printf(source, "#define KILN_CHUNKS %" PRIu64 "%s\n", schedule->chunk_count,
                       suffix);
    if (schedule->decodes_again)
        kiln_buffer_append_text(source, "#define KILN_DECODES_AGAIN\n");
    kiln_buffer_append_text(source, schedule->walks_back
                                        ? "#define KILN_CHUNK(turn) (KILN_CHUNKS - 1 - (turn))\n"
                                        : "#define KILN_CHUNK(turn) (turn)\n");
    kiln_buffer_printf(source, "#define KILN_VECTOR %" PRIu32 "\n", schedule->vector_elems);
    if (schedule->template_kind == KILN_TEMPLATE_REDUCTION) {
        kiln_emit_reduction_defines(emission, source);
        return;
    }
    kiln_buffer_printf(source, "#define KILN_HAS_TAILS %d\n", kiln_schedule_has_tails(schedule));
    if (schedule->template_kind == KILN_TEMPLATE_POINTWISE) {
        uint64_t per_row = (schedule->cols + schedule->vector_elems - 1) / schedule->vector_elems;
        kiln_buffer_printf(source, "#define KILN_VECTORS_PER_ITEM %" PRIu32 "\n",
                           schedule->vectors_per_item);
        kiln_buffer_printf(source, "#define KILN_COLS %" PRIu64 "%s\n", schedule->cols, suffix);
        kiln_buffer_printf(source, "#define KILN_VECTORS %" PRIu64 "%s\n", schedule->rows * per_row,
                           suffix);
    } else {
        bool loads = false;
        bool stores = false;
        for (uint32_t i = 0; i < emission->group->access_count; i++) {
            bool is_staged = schedule->accesses[i].mode == KILN_ACCESS_TRANSPOSED;
            *(i < emission->group->load_count ? &loads : &stores) |= is_staged;
        }
        kiln_buffer_printf(source, "#define KILN_VECTORS_PER_ITEM %" PRIu32 "\n",
                           schedule->vectors_per_item);
        kiln_buffer_printf(source, "#define KILN_TILE %" PRIu32 "\n", schedule->tile_elems);
        kiln_buffer_printf(source, "#define KILN_COLS %" PRId64 "%s\n",
                           schedule->dims[schedule->rank - 1], suffix);
        kiln_buffer_printf(source, "#define KILN_LINES %" PRId64 "%s\n",
                           schedule->dims[schedule->tile_axis], suffix);
        kiln_buffer_printf(source, "#define KILN_HAS_TRANSPOSED_LOADS %d\n", loads);
        kiln_buffer_printf(source, "#define KILN_HAS_TRANSPOSED_STORES %d\n", stores);
    }
}

static void append_numbered_header(struct kiln_template_inclusion *inclusion,
                                   struct kiln_buffer *source, const char *folder, const char *name,
                                   const char *scalar)
{
    char path[128];
    if (scalar != NULL)
        (void)snprintf(path, sizeof path, "device/%s/%s_%s.h", folder, name, scalar);
    else
        (void)snprintf(path, sizeof path, "device/%s/%s.h", folder, name);
    kiln_template_append(inclusion, path, source);
}

/* The device header, memory access, and what the operations need beyond plain arithmetic. */
static void append_device_headers(const struct kiln_emission *emission,
                                  struct kiln_template_inclusion *inclusion,
                                  struct kiln_buffer *source)
{
    static const char *const headers[] = {
        [KILN_TARGET_AMDGPU] = "device/amdgcn.h",
        [KILN_TARGET_HOST] = "device/host.h",
        [KILN_TARGET_CUDA] = "device/cuda.h",
    };
    const struct kiln_fusion_group *group = emission->group;
    kiln_template_append(inclusion, headers[emission->target->kind], source);
    kiln_template_append(inclusion, "device/memory.h", source);
    if (emission->schedule->template_kind == KILN_TEMPLATE_POINTWISE_TILED)
        kiln_template_append(inclusion, "device/tile.h", source);
    for (uint32_t i = 0; i < group->access_count; i++)
        append_numbered_header(inclusion, source, "convert",
                               kiln_dtype_info(group->accesses[i].dtype)->device, NULL);
    for (uint32_t i = 0; i < emission->schedule->passes.accumulator_count; i++) {
        if (emission->schedule->passes.accumulators[i].kind == KILN_ACCUMULATOR_MOMENTS)
            kiln_template_append(inclusion, "device/moments.h", source);
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &emission->ir->ops[group->ops[i]];
        const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
        if (op->opcode == KILN_OP_ROUND)
            append_numbered_header(inclusion, source, "convert", kiln_dtype_info(op->dtype)->device,
                                   NULL);
        else if (info->op_class == KILN_OP_CLASS_ELEMENTWISE)
            append_numbered_header(inclusion, source, "math", info->text,
                                   kiln_scalar_text(op->scalar));
    }
}

/* What the core of a contraction needs, and the core. */
static void append_contraction_core(const struct kiln_emission *emission,
                                    struct kiln_template_inclusion *inclusion,
                                    struct kiln_buffer *source)
{
    append_numbered_header(inclusion, source, "convert",
                           kiln_dtype_info(emission->schedule->contraction.staged)->device, NULL);
    kiln_buffer_append_text(source, "#line 1 \"generated\"\n");
    kiln_emit_contraction_core(emission, source);
    kiln_template_append(inclusion, "device/mma/pack.h", source);
    kiln_template_append(inclusion, kiln_contraction_core_header(emission), source);
}

static const char *template_name(enum kiln_template kind)
{
    static const char *const names[] = {
        [KILN_TEMPLATE_POINTWISE] = "pointwise",
        [KILN_TEMPLATE_POINTWISE_TILED] = "pointwise_tiled",
        [KILN_TEMPLATE_REDUCTION] = "reduction",
        [KILN_TEMPLATE_CONTRACTION] = "contraction",
    };
    return names[kind];
}

/* Work-items wait for one another: over tiles, or to merge what they have accumulated. */
static bool uses_barrier(const struct kiln_schedule *schedule)
{
    if (schedule->template_kind == KILN_TEMPLATE_REDUCTION)
        return schedule->reduction.items_along_reduced > 1;
    return schedule->template_kind == KILN_TEMPLATE_POINTWISE_TILED ||
           schedule->template_kind == KILN_TEMPLATE_CONTRACTION;
}

static bool fill_arguments(const struct kiln_emission *emission, struct kiln_kernel *kernel)
{
    const struct kiln_fusion_group *group = emission->group;
    uint32_t integers = emission->schedule->template_kind == KILN_TEMPLATE_CONTRACTION
                            ? kiln_contraction_integer_count(emission)
                            : 0;
    kernel->argument_count = group->access_count + integers;
    kernel->arguments =
        kiln_arena_calloc(emission->ir->arena, kernel->argument_count, sizeof *kernel->arguments);
    if (kernel->arguments == NULL)
        return false;
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        bool workspace = access->kind == KILN_ARGUMENT_WORKSPACE;
        kernel->arguments[i] = (struct kiln_argument){
            .kind = access->kind,
            .tensor = workspace ? KILN_NONE : access->tensor,
            .offset_bytes = workspace ? access->workspace_offset_bytes : 0,
            .alignment_bytes = emission->schedule->accesses[i].alignment_bytes,
        };
    }
    for (uint32_t i = 0; i < integers; i++)
        kernel->arguments[group->access_count + i] =
            (struct kiln_argument){.kind = KILN_ARGUMENT_INTEGER,
                                   .tensor = KILN_NONE,
                                   .offset_bytes = (uint64_t)kiln_contraction_integer(emission, i),
                                   .alignment_bytes = 1};
    return true;
}

/* The entry point is called after the text, and so is the same in every graph that the kernel is
 * of, and another's in none. */
static void name_kernel(const char *template, const struct kiln_buffer *text, char *ret_symbol,
                        size_t symbol_bytes)
{
    (void)snprintf(ret_symbol, symbol_bytes, "kiln_%s_%016" PRIx64, template,
                   kiln_hash64(text->data, text->size));
}

enum kiln_status kiln_emit_kernel(const struct kiln_emission *emission,
                                  struct kiln_kernel *ret_kernel, struct kiln_error *error)
{
    const struct kiln_schedule *schedule = emission->schedule;
    struct kiln_arena *arena = emission->ir->arena;
    const char *name = template_name(schedule->template_kind);
    char template_path[64];
    char symbol[64] = "";
    (void)snprintf(template_path, sizeof template_path, "%s.hip", name);

    struct kiln_template_inclusion inclusion = {
        .included = kiln_arena_calloc(arena, kiln_template_file_count, sizeof(bool))};
    struct kiln_buffer text; /* all but the symbol */
    struct kiln_buffer source;
    kiln_buffer_init(&text);
    kiln_buffer_init(&source);
    if (inclusion.included != NULL) {
        append_defines(emission, &text);
        append_device_headers(emission, &inclusion, &text);
        if (schedule->template_kind == KILN_TEMPLATE_CONTRACTION)
            append_contraction_core(emission, &inclusion, &text);
        kiln_buffer_append_text(&text, "#line 1 \"generated\"\n");
        if (schedule->template_kind == KILN_TEMPLATE_CONTRACTION)
            kiln_emit_contraction(emission, &text);
        else if (schedule->template_kind == KILN_TEMPLATE_REDUCTION)
            kiln_emit_reduction(emission, &text);
        else
            kiln_emit_pointwise(emission, &text);
        kiln_template_append(&inclusion, template_path, &text);
    }
    if (!text.failed) {
        name_kernel(name, &text, symbol, sizeof symbol);
        kiln_buffer_printf(&source, "#define KILN_SYMBOL %s\n", symbol);
        kiln_buffer_append(&source, text.data, text.size);
    }
    struct kiln_kernel kernel = {
        .symbol = kiln_arena_strndup(arena, symbol, sizeof symbol - 1),
        .source = text.failed || source.failed
                      ? NULL
                      : kiln_arena_strndup(arena, source.data, source.size),
        .source_bytes = (uint32_t)source.size,
        .grid = {schedule->grid, 1, 1},
        .block = {schedule->block, 1, 1},
        .lds_bytes = schedule->lds_bytes,
        .uses_barrier = uses_barrier(schedule),
    };
    kiln_buffer_fini(&text);
    kiln_buffer_fini(&source);
    if (inclusion.included == NULL || kernel.symbol == NULL || kernel.source == NULL ||
        !fill_arguments(emission, &kernel))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while emitting a kernel");
    *ret_kernel = kernel;
    return KILN_OK;
}
