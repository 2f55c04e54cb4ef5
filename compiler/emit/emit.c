#include "compiler/emit/emit.h"

#include "compiler/emit/emit_family.h"
#include "compiler/emit/template_text.h"
#include "runtime/support/hash.h"

#include <inttypes.h>
#include <stdio.h>

static bool fill_arguments(const struct kiln_emission *emission, struct kiln_kernel *kernel)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_emit_family *family = kiln_emit_family(emission->schedule->family);
    uint32_t integers = family->integer_count == NULL ? 0 : family->integer_count(emission);
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
                                   .offset_bytes = (uint64_t)family->integer(emission, i),
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

/* All of the text but the symbol. */
static void append_text(const struct kiln_emission *emission,
                        struct kiln_template_inclusion *inclusion, struct kiln_buffer *text)
{
    static const char *const headers[] = {
        [KILN_TARGET_AMDGPU] = "device/amdgcn.h",
        [KILN_TARGET_HOST] = "device/host.h",
        [KILN_TARGET_CUDA] = "device/cuda.h",
    };
    const struct kiln_schedule *schedule = emission->schedule;
    const struct kiln_emit_family *family = kiln_emit_family(schedule->family);
    char template_path[64];
    (void)snprintf(template_path, sizeof template_path, "%s.hip", schedule->template_name);
    kiln_buffer_printf(text, "#define KILN_WAVE_SIZE %" PRIu32 "\n", emission->target->wave_size);
    kiln_buffer_printf(text, "#define KILN_BLOCK %" PRIu32 "\n", schedule->block);
    family->defines(emission, text);
    kiln_template_append(inclusion, headers[emission->target->kind], text);
    kiln_template_append(inclusion, "device/memory.h", text);
    family->headers(emission, inclusion, text);
    kiln_buffer_append_text(text, "#line 1 \"generated\"\n");
    family->text(emission, text);
    kiln_template_append(inclusion, template_path, text);
}

enum kiln_status kiln_emit_kernel(const struct kiln_emission *emission,
                                  struct kiln_kernel *ret_kernel, struct kiln_error *error)
{
    const struct kiln_schedule *schedule = emission->schedule;
    struct kiln_arena *arena = emission->ir->arena;
    char symbol[64] = "";
    struct kiln_template_inclusion inclusion = {
        .included = kiln_arena_calloc(arena, kiln_template_file_count, sizeof(bool))};
    struct kiln_buffer text; /* all but the symbol */
    struct kiln_buffer source;
    kiln_buffer_init(&text);
    kiln_buffer_init(&source);
    if (inclusion.included != NULL)
        append_text(emission, &inclusion, &text);
    if (!text.failed) {
        name_kernel(schedule->template_name, &text, symbol, sizeof symbol);
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
        .uses_barrier = kiln_emit_family(schedule->family)->uses_barrier(schedule),
    };
    kiln_buffer_fini(&text);
    kiln_buffer_fini(&source);
    if (inclusion.included == NULL || kernel.symbol == NULL || kernel.source == NULL ||
        !fill_arguments(emission, &kernel))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while emitting a kernel");
    *ret_kernel = kernel;
    return KILN_OK;
}
