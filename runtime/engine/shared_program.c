#include "runtime/engine/shared_program.h"

#include <stdlib.h>
#include <string.h>

/* A program of one launch has at most this many work-items in a group, on every device. */
enum { MAX_BLOCK_ITEMS = 1024 };

enum kiln_status kiln_shared_program_create(struct kiln_shared_program **ret_program,
                                            struct kiln_error *error)
{
    struct kiln_shared_program *program = calloc(1, sizeof(*program));
    if (!program)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a 'program'");
    atomic_init(&program->references, 1);
    kiln_arena_init(&program->arena);
    *ret_program = program;
    return KILN_OK;
}

struct kiln_shared_program *kiln_shared_program_ref(struct kiln_shared_program *program)
{
    atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    return program;
}

void kiln_shared_program_unref(struct kiln_shared_program *program)
{
    if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; program->kernels && i < program->program.kernel_count; i++)
        kiln_shared_kernel_unref(program->kernels[i]);
    kiln_arena_fini(&program->arena);
    free(program);
}

void kiln_compiled_program_unref(const struct kiln_compiled_program *program)
{
    kiln_shared_program_unref((struct kiln_shared_program *)(uintptr_t)program);
}

enum kiln_status kiln_shared_program_allocate(struct kiln_shared_program *program, size_t count,
                                              size_t bytes, void *ret_memory,
                                              struct kiln_error *error)
{
    void *memory = kiln_arena_calloc(&program->arena, count, bytes);
    if (!memory)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for %zu bytes of a program",
                              count * bytes);
    memcpy(ret_memory, &memory, sizeof(memory));
    return KILN_OK;
}

enum kiln_status kiln_shared_program_set_count(struct kiln_shared_program *program, uint32_t count,
                                               struct kiln_error *error)
{
    enum kiln_status status = kiln_shared_program_allocate(
        program, count, sizeof(*program->program.kernels), &program->program.kernels, error);
    if (status == KILN_OK)
        status = kiln_shared_program_allocate(program, count, sizeof(struct kiln_shared_kernel *),
                                              &program->kernels, error);
    if (status == KILN_OK)
        program->program.kernel_count = count;
    return status;
}

bool kiln_shared_program_attach(struct kiln_shared_program *program, uint32_t index,
                                struct kiln_shared_kernel *kernel)
{
    struct kiln_compiled_kernel *recipe = &program->program.kernels[index];
    struct kiln_hash128 name = kiln_shared_kernel_name(kernel);
    if (name.high != recipe->name.high || name.low != recipe->name.low ||
        strcmp(kernel->symbol, recipe->symbol) != 0 ||
        memcmp(kernel->block, recipe->block, sizeof(recipe->block)) != 0 ||
        kernel->argument_count != recipe->argument_count || !kiln_shared_kernel_has_code(kernel))
        return false;
    kiln_shared_kernel_unref(program->kernels[index]);
    program->kernels[index] = kiln_shared_kernel_ref(kernel);
    recipe->lds_bytes = kernel->lds_bytes;
    recipe->uses_barrier = kernel->uses_barrier;
    recipe->object = kernel->object;
    return true;
}

static bool symbol_is_identifier(const char *symbol)
{
    static const char alphabet[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = symbol ? strlen(symbol) : 0;
    return length > 0 && length < KILN_PROGRAM_MAX_SYMBOL_BYTES &&
           strspn(symbol, alphabet) == length && (symbol[0] < '0' || symbol[0] > '9');
}

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static const char *argument_fault(const struct kiln_argument *argument,
                                  const struct kiln_graph *graph, uint64_t workspace_bytes)
{
    if (!is_power_of_two(argument->alignment_bytes))
        return "an alignment that is no power of two";
    if ((unsigned)argument->kind > KILN_ARGUMENT_INTEGER)
        return "an unknown kind";
    bool is_of_tensor =
        argument->kind == KILN_ARGUMENT_TENSOR || argument->kind == KILN_ARGUMENT_HOST_SCALAR;
    if (!is_of_tensor && argument->tensor != KILN_NONE)
        return "a tensor that its kind does not have";
    if (argument->kind == KILN_ARGUMENT_WORKSPACE)
        return argument->offset_bytes < workspace_bytes ? NULL : "an offset outside the workspace";
    if (argument->kind == KILN_ARGUMENT_INTEGER)
        return NULL;
    if (argument->tensor >= graph->tensor_count)
        return "a tensor that the graph does not have";
    enum kiln_tensor_role role = graph->tensors[argument->tensor].role;
    if (argument->kind == KILN_ARGUMENT_HOST_SCALAR)
        return role == KILN_TENSOR_HOST_SCALAR ? NULL : "a host scalar that the graph has not";
    return role == KILN_TENSOR_INPUT || role == KILN_TENSOR_OUTPUT ? NULL
                                                                   : "a tensor without memory";
}

const char *kiln_kernel_launch_fault(const char *symbol, const uint32_t *grid,
                                     const uint32_t *block, uint32_t argument_count)
{
    if (!symbol_is_identifier(symbol))
        return "no proper symbol";
    static const uint32_t most_groups[] = {KILN_LAUNCH_MAX_GROUPS_X, KILN_LAUNCH_MAX_GROUPS_YZ,
                                           KILN_LAUNCH_MAX_GROUPS_YZ};
    uint64_t items = 1;
    for (int i = 0; i < 3; i++) {
        if ((grid && grid[i] == 0) || block[i] == 0 || block[i] > MAX_BLOCK_ITEMS)
            return "an impossible launch size";
        if (grid &&
            ((uint64_t)grid[i] * block[i] > KILN_LAUNCH_MAX_ITEMS || grid[i] > most_groups[i]))
            return "a larger launch than devices take";
        items *= block[i];
    }
    if (items > MAX_BLOCK_ITEMS)
        return "too many work-items in a group";
    return argument_count > KILN_PROGRAM_MAX_ARGUMENTS ? "too many arguments" : NULL;
}

enum kiln_status kiln_compiled_program_validate(const struct kiln_compiled_program *program,
                                                const struct kiln_graph *graph,
                                                struct kiln_error *error)
{
    /* Every graph writes something. */
    if (program->kernel_count == 0)
        return kiln_error_set(error, KILN_CORRUPT, "program has no kernels");
    if (program->workspace_bytes > INT64_MAX - 2 * KILN_WORKSPACE_ALIGNMENT)
        return kiln_error_set(error, KILN_CORRUPT, "program wants %llu bytes of workspace",
                              (unsigned long long)program->workspace_bytes);
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        const struct kiln_compiled_kernel *kernel = &program->kernels[i];
        const char *fault = kiln_kernel_launch_fault(kernel->symbol, kernel->grid, kernel->block,
                                                     kernel->argument_count);
        if (fault)
            return kiln_error_set(error, KILN_CORRUPT, "kernel %u of a program has %s", i, fault);
        for (uint32_t j = 0; j < kernel->argument_count; j++) {
            fault = argument_fault(&kernel->arguments[j], graph, program->workspace_bytes);
            if (fault)
                return kiln_error_set(error, KILN_CORRUPT, "argument %u of kernel '%s' has %s", j,
                                      kernel->symbol, fault);
        }
    }
    return KILN_OK;
}
