#include "tests/runtime/engine/fake_pipeline.h"

#include "compiler/codegen/codegen.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/program.h"
#include "runtime/support/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_pipeline fake_pipeline = {.kernel_count = 1,
                                      .form_count = 2,
                                      .alignment_bytes = 16,
                                      .identity = "fake 1",
                                      .digest = "templates 1"};

struct kiln_codegen {
    atomic_uint references;
};

const char *kiln_templates_digest(void)
{
    return fake_pipeline.digest;
}

void kiln_lower_options_append_key(const struct kiln_lower_options *options,
                                   struct kiln_buffer *key)
{
    kiln_buffer_append_u32(key, options->no_fusion);
    kiln_buffer_append_u32(key, options->max_vector_elements);
    kiln_buffer_append_u32(key, options->shapes);
}

/* As a generator would number them, the source holds what a kernel is. */
static const char *make_source(const struct kiln_graph *graph, uint32_t kernel, const char *kind,
                               uint32_t form, struct kiln_arena *arena)
{
    struct kiln_hash128 hash = {0};
    if (!fake_pipeline.shares_kernels) {
        struct kiln_buffer canonical;
        kiln_buffer_init(&canonical);
        kiln_graph_append_canonical(graph, &canonical);
        hash = kiln_hash128(canonical.data, canonical.size);
        kiln_buffer_fini(&canonical);
    }
    char *source = kiln_arena_calloc(arena, 1, 256);
    snprintf(source, 256, "%s form %u kernel %u graph %llx digest %s", kind, form,
             fake_pipeline.repeats_kernels ? 0 : kernel, (unsigned long long)hash.low,
             fake_pipeline.digest);
    return source;
}

static void add_arguments(const struct kiln_graph *graph, struct kiln_kernel *kernel)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        enum kiln_tensor_role role = graph->tensors[i].role;
        if (role == KILN_TENSOR_VIRTUAL || role == KILN_TENSOR_CONSTANT)
            continue;
        bool scalar = role == KILN_TENSOR_HOST_SCALAR;
        kernel->arguments[kernel->argument_count++] = (struct kiln_argument){
            .kind = scalar ? KILN_ARGUMENT_HOST_SCALAR : KILN_ARGUMENT_TENSOR,
            .tensor = i,
            .alignment_bytes = scalar ? 1 : fake_pipeline.alignment_bytes};
    }
    for (uint64_t offset = 0; offset < 512 && offset < fake_pipeline.workspace_bytes; offset += 256)
        kernel->arguments[kernel->argument_count++] =
            (struct kiln_argument){.kind = KILN_ARGUMENT_WORKSPACE,
                                   .tensor = KILN_NONE,
                                   .offset_bytes = offset,
                                   .alignment_bytes = 256};
    if (fake_pipeline.has_integer)
        kernel->arguments[kernel->argument_count++] =
            (struct kiln_argument){.kind = KILN_ARGUMENT_INTEGER,
                                   .tensor = KILN_NONE,
                                   .offset_bytes = (uint64_t)INT64_C(-7),
                                   .alignment_bytes = 1};
}

enum kiln_status kiln_lower(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_lower_options *options, struct kiln_arena *arena,
                            struct kiln_program *ret_program, const struct kiln_dump *dump,
                            struct kiln_error *error)
{
    (void)target;
    (void)dump;
    atomic_fetch_add(&fake_pipeline.lowered, 1);
    if (fake_pipeline.lower_microseconds)
        usleep(fake_pipeline.lower_microseconds);
    if (fake_pipeline.lower_status)
        return kiln_error_set(error, (enum kiln_status)fake_pipeline.lower_status,
                              "the graph does not lower");
    (void)kiln_arena_calloc(arena, fake_pipeline.lowered_bytes, 1);
    struct kiln_program program = {.plan = (struct kiln_kernel_plan *)arena, /* see below */
                                   .kernel_count = fake_pipeline.kernel_count,
                                   .workspace_bytes = fake_pipeline.workspace_bytes};
    program.kernels = kiln_arena_calloc(arena, program.kernel_count, sizeof(*program.kernels));
    for (uint32_t i = 0; i < program.kernel_count; i++) {
        struct kiln_kernel *kernel = &program.kernels[i];
        char *symbol = kiln_arena_calloc(arena, 1, 32);
        snprintf(symbol, 32, "kernel_%u", fake_pipeline.repeats_kernels ? 1 : i + 1);
        *kernel = (struct kiln_kernel){
            .symbol = symbol,
            .source = make_source(
                graph, i, options->max_vector_elements == 1 ? "elements" : "vectors", 0, arena),
            .grid = {i + 1, 1, 1},
            .block = {64, 1, 1}};
        kernel->arguments =
            kiln_arena_calloc(arena, graph->tensor_count + 3, sizeof(*kernel->arguments));
        add_arguments(graph, kernel);
    }
    *ret_program = program;
    return KILN_OK;
}

/* kiln_lower has put it there. */
static struct kiln_arena *lowered_program_arena(const struct kiln_program *program)
{
    return (struct kiln_arena *)program->plan;
}

enum kiln_status kiln_program_relax(struct kiln_program *program, const struct kiln_graph *graph,
                                    uint32_t index, struct kiln_error *error)
{
    (void)error;
    struct kiln_kernel *kernel = &program->kernels[index];
    if (kernel->form + 1 >= fake_pipeline.form_count)
        return KILN_NOT_FOUND;
    atomic_fetch_add(&fake_pipeline.relaxed, 1);
    kernel->form++;
    kernel->block[0] *= 2;
    bool is_last = kernel->form + 1 == fake_pipeline.form_count;
    kernel->source = make_source(graph, index, is_last ? "elements" : "vectors", kernel->form,
                                 lowered_program_arena(program));
    return KILN_OK;
}

enum kiln_status kiln_codegen_create(const struct kiln_codegen_options *options,
                                     struct kiln_codegen **ret_codegen, struct kiln_error *error)
{
    (void)options;
    (void)error;
    *ret_codegen = calloc(1, sizeof(**ret_codegen));
    atomic_init(&(*ret_codegen)->references, 1);
    return KILN_OK;
}

struct kiln_codegen *kiln_codegen_ref(struct kiln_codegen *codegen)
{
    atomic_fetch_add(&codegen->references, 1);
    return codegen;
}

void kiln_codegen_unref(struct kiln_codegen *codegen)
{
    if (codegen && atomic_fetch_sub(&codegen->references, 1) == 1)
        free(codegen);
}

void kiln_codegen_append_options(const struct kiln_target *target, struct kiln_buffer *buffer)
{
    (void)target;
    kiln_buffer_append_text(buffer, "fake options-1");
}

enum kiln_status kiln_codegen_identity(struct kiln_codegen *codegen,
                                       const struct kiln_target *target, const char **ret_identity,
                                       struct kiln_error *error)
{
    (void)codegen;
    if (!fake_pipeline.identity)
        return kiln_error_set(error, KILN_UNSUPPORTED, "nothing compiles for '%s'", target->name);
    *ret_identity = fake_pipeline.identity;
    return KILN_OK;
}

enum kiln_status kiln_codegen_compiler(struct kiln_codegen *codegen,
                                       const struct kiln_target *target,
                                       char ret_name[KILN_COMPILER_NAME_BYTES],
                                       struct kiln_error *error)
{
    (void)codegen;
    atomic_fetch_add(&fake_pipeline.queries, 1);
    if (!fake_pipeline.identity)
        return kiln_error_set(error, KILN_UNSUPPORTED, "nothing compiles for '%s'", target->name);
    if (fake_pipeline.query_status)
        return kiln_error_set(error, (enum kiln_status)fake_pipeline.query_status,
                              "nothing serves '%s'", target->name);
    snprintf(ret_name, KILN_COMPILER_NAME_BYTES, "fake");
    return KILN_OK;
}

enum kiln_status kiln_codegen_compile(struct kiln_codegen *codegen,
                                      const struct kiln_target *target,
                                      const struct kiln_kernel *kernel,
                                      struct kiln_code_object *ret_object, struct kiln_error *error)
{
    (void)codegen;
    if (!fake_pipeline.identity || fake_pipeline.query_status == KILN_UNSUPPORTED)
        return kiln_error_set(error, KILN_UNSUPPORTED, "nothing compiles for '%s'", target->name);
    atomic_fetch_add(&fake_pipeline.compiled, 1);
    if (fake_pipeline.compile_microseconds)
        usleep(fake_pipeline.compile_microseconds);
    bool vectors_fail = fake_pipeline.vectors_fail && strncmp(kernel->source, "vectors", 7) == 0;
    bool form_fails =
        fake_pipeline.failing_from_form != 0 && kernel->form >= fake_pipeline.failing_from_form;
    if (kernel->grid[0] == fake_pipeline.failing_kernel || vectors_fail || form_fails)
        return kiln_error_set(error, KILN_COMPILE_FAILED, "kernel '%s' does not compile",
                              kernel->symbol);
    struct kiln_code_object object = {.bytes = malloc(64), .size = 64, .compiler = "fake"};
    memset(object.bytes, 0, object.size);
    snprintf((char *)object.bytes, object.size, "%s %s",
             fake_pipeline.objects_are_bad || kernel->grid[0] == fake_pipeline.bad_kernel
                 ? "bad"
                 : "\177ELF",
             kernel->symbol);
    object.resources.vgprs = 7;
    if (kernel->grid[0] == fake_pipeline.spilling_kernel)
        object.resources.scratch_bytes = fake_pipeline.spilled_bytes[kernel->form];
    object.resources.kernarg_bytes = 8 * kernel->argument_count;
    *ret_object = object;
    return KILN_OK;
}

void kiln_codegen_dump_source(const struct kiln_kernel *kernel, struct kiln_error *error)
{
    atomic_fetch_add(&fake_pipeline.dumped, 1);
    kiln_error_hint(error, "the source of '%s' is '%.*s'", kernel->symbol,
                    (int)strcspn(kernel->source, " "), kernel->source);
}

void kiln_code_object_fini(struct kiln_code_object *object)
{
    free(object->bytes);
}

void kiln_codegen_counters(const struct kiln_codegen *codegen,
                           struct kiln_codegen_counters *ret_counters)
{
    (void)codegen;
    ret_counters->workers_started = 0;
    ret_counters->kernels_compiled = atomic_load(&fake_pipeline.compiled);
}
