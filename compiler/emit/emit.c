#include "compiler/emit/emit.h"

#include "compiler/emit/emit_family.h"
#include "compiler/emit/template_text.h"
#include "runtime/support/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fill_arguments(const struct kiln_emission *emission, struct kiln_kernel *kernel)
{
    const struct kiln_fusion_group *group = emission->group;
    struct kiln_integer_walk walk = {.emission = emission};
    kiln_visit_integers(&walk);
    uint32_t integers = walk.count;
    kernel->argument_count = group->access_count + integers;
    kernel->arguments =
        kiln_arena_calloc(emission->ir->arena, kernel->argument_count, sizeof *kernel->arguments);
    int64_t *values = calloc((size_t)integers + 1, sizeof *values);
    if (kernel->arguments == NULL || values == NULL) {
        free(values);
        return false;
    }
    walk = (struct kiln_integer_walk){.emission = emission, .values = values};
    kiln_visit_integers(&walk);
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
                                   .offset_bytes = (uint64_t)values[i],
                                   .alignment_bytes = 1};
    free(values);
    return true;
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
    kiln_emit_constant("WAVE_SIZE", emission->target->wave_size, text);
    kiln_emit_constant("BLOCK", schedule->launch.block, text);
    family->defines(emission, text);
    kiln_template_append(inclusion, headers[emission->target->kind], text);
    kiln_template_append(inclusion, "device/memory.h", text);
    family->headers(emission, inclusion, text);
    kiln_template_mark_generated(inclusion, text);
    family->text(emission, inclusion, text);
    if (family->forms != NULL)
        family->forms(emission, inclusion, text);
    kiln_template_append(inclusion, template_path, text);
}

enum { HASH_DIGITS = 16 };

/* The entry point is named after the text, so the name is the same in every graph that has the
 * kernel, and no other kernel has it. The text begins with a line that defines the name. */
static void append_source(const struct kiln_emission *emission,
                          struct kiln_template_inclusion *inclusion, struct kiln_buffer *source,
                          char *ret_symbol, size_t symbol_bytes)
{
    char digits[HASH_DIGITS + 1];
    kiln_buffer_printf(source, "#define KILN_SYMBOL kiln_%s_%016x\n",
                       emission->schedule->template_name, 0);
    size_t begin = source->size;
    append_text(emission, inclusion, source);
    if (source->failed)
        return;
    (void)snprintf(digits, sizeof digits, "%016" PRIx64,
                   kiln_hash64(source->data + begin, source->size - begin));
    memcpy(source->data + begin - 1 - HASH_DIGITS, digits, HASH_DIGITS);
    (void)snprintf(ret_symbol, symbol_bytes, "kiln_%s_%s", emission->schedule->template_name,
                   digits);
}

static struct kiln_emission with_details(const struct kiln_emission *emission)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const struct kiln_emit_family *family = kiln_emit_family(schedule->family);
    struct kiln_emission whole = *emission;
    whole.details = family->details != NULL ? family->details(schedule) : schedule->details;
    return whole;
}

enum kiln_status kiln_emit_outline(const struct kiln_emission *emission, struct kiln_buffer *text,
                                   struct kiln_error *error)
{
    const struct kiln_emission whole = with_details(emission);
    struct kiln_template_inclusion inclusion = {
        .included = calloc(kiln_template_file_count, sizeof(bool)), .is_outline = true};
    if (inclusion.included == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while emitting a kernel");
    append_text(&whole, &inclusion, text);
    free(inclusion.included);
    return kiln_buffer_check(text, error);
}

enum kiln_status kiln_emit_kernel(const struct kiln_emission *kernel_emission,
                                  struct kiln_kernel *ret_kernel, struct kiln_error *error)
{
    const struct kiln_schedule *schedule = kernel_emission->schedule;
    const struct kiln_emit_family *family = kiln_emit_family(schedule->family);
    const struct kiln_emission whole = with_details(kernel_emission);
    const struct kiln_emission *emission = &whole;
    struct kiln_arena *arena = emission->ir->arena;
    char symbol[64] = "";
    struct kiln_template_inclusion inclusion = {.included =
                                                    calloc(kiln_template_file_count, sizeof(bool))};
    struct kiln_buffer source;
    kiln_buffer_init(&source);
    if (inclusion.included != NULL)
        append_source(emission, &inclusion, &source, symbol, sizeof symbol);
    bool is_whole = inclusion.included != NULL && !source.failed;
    free(inclusion.included);
    struct kiln_kernel kernel = {
        .source_bytes = (uint32_t)source.size,
        .grid = {schedule->launch.grid, 1, 1},
        .block = {schedule->launch.block, 1, 1},
        .lds_bytes = schedule->launch.lds_bytes,
        .uses_barrier = family->uses_barrier(schedule),
    };
    is_whole = is_whole && kiln_source_table_add(emission->sources, arena, symbol, &source,
                                                 &kernel.symbol, &kernel.source);
    kiln_buffer_fini(&source);
    if (!is_whole || !fill_arguments(emission, &kernel))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while emitting a kernel");
    *ret_kernel = kernel;
    return KILN_OK;
}
