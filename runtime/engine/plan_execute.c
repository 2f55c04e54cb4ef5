/*
 * Executing a plan: the hot path. It allocates nothing, takes no lock and hashes nothing; all its
 * state is on the stack, so that one plan can be executed by several threads at once. The arrays
 * there are as long as the plan needs, within KILN_MAX_GRAPH_BINDINGS and
 * KILN_PROGRAM_MAX_ARGUMENTS: what these allow is 40 KiB, which threads of hosts may not have.
 */
#include "runtime/engine/plan.h"

#include "runtime/support/range_marks.h"

#include <string.h>

static const struct kiln_plan_binding *find(const struct kiln_plan *plan, int64_t uid)
{
    const struct kiln_plan_binding *low = plan->bindings;
    uint32_t count = plan->binding_count;
    while (count > 0) {
        uint32_t half = count / 2;
        if (low[half].uid < uid) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    bool found = low < plan->bindings + plan->binding_count && low->uid == uid;
    return found ? low : NULL;
}

/* Replaces the pointer by what the kernel gets. */
static enum kiln_status resolve_word(const struct kiln_plan_binding *binding, uint64_t *word,
                                     struct kiln_error *error)
{
    if (*word == 0)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "no buffer is given for tensor uid %lld",
                              (long long)binding->uid);
    if (*word & (binding->alignment_bytes - 1))
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the buffer of tensor uid %lld is not aligned to %u bytes",
                              (long long)binding->uid, binding->alignment_bytes);
    if (binding->host_scalar_bytes) {
        const void *value = (const void *)(uintptr_t)*word;
        *word = 0;
        memcpy(word, value, binding->host_scalar_bytes);
    }
    return KILN_OK;
}

static enum kiln_status bind_buffers(const struct kiln_plan *plan,
                                     const struct kiln_buffer_binding *buffers,
                                     uint32_t buffer_count, uint64_t *words,
                                     struct kiln_error *error)
{
    memset(words, 0, plan->binding_count * sizeof(*words));
    for (uint32_t i = 0; i < buffer_count; i++) {
        const struct kiln_plan_binding *binding = find(plan, buffers[i].uid);
        if (binding && buffers[i].pointer)
            words[binding - plan->bindings] = (uint64_t)(uintptr_t)buffers[i].pointer;
    }
    for (uint32_t i = 0; i < plan->binding_count; i++) {
        enum kiln_status status = resolve_word(&plan->bindings[i], &words[i], error);
        if (status)
            return status;
    }
    return KILN_OK;
}

static enum kiln_status launch(const struct kiln_plan *plan, const struct kiln_plan_kernel *kernel,
                               kiln_stream stream, const uint64_t *words, struct kiln_error *error)
{
    const struct kiln_compiled_kernel *recipe = kernel->recipe;
    uint64_t kernarg[recipe->argument_count + 1]; /* not of length 0 */
    for (uint32_t i = 0; i < recipe->argument_count; i++) {
        const struct kiln_plan_argument *argument = &kernel->arguments[i];
        kernarg[i] = words[argument->word] + argument->addend;
    }
    const struct kiln_launch launch = {
        .function = kernel->function,
        .grid = {recipe->grid[0], recipe->grid[1], recipe->grid[2]},
        .block = {recipe->block[0], recipe->block[1], recipe->block[2]},
        .kernarg = kernarg,
        .kernarg_bytes = (uint32_t)(recipe->argument_count * sizeof(kernarg[0])),
        .lds_bytes = recipe->lds_bytes,
    };
    struct kiln_device *device = plan->loaded->device;
    return device->ops->launch(device, stream, &launch, error);
}

static bool is_host_pointer(const struct kiln_plan *plan, uint64_t word)
{
    struct kiln_device *device = plan->loaded->device;
    return device->ops->is_host_pointer(device, (const void *)(uintptr_t)word);
}

/* A GPU that follows a host pointer ends the process, without a word about the tensor. */
static enum kiln_status check_pointers(const struct kiln_plan *plan, const uint64_t *words,
                                       struct kiln_error *error)
{
    const char *kind = plan->loaded->device->ops->name;
    enum kiln_status status = KILN_OK;
    if (plan->workspace_bytes > 0 && is_host_pointer(plan, words[plan->binding_count]))
        status =
            kiln_error_set(error, KILN_BAD_ARGUMENT,
                           "the workspace is host memory, which device '%s' cannot reach", kind);
    for (uint32_t i = 0; i < plan->binding_count && status == KILN_OK; i++) {
        if (!plan->bindings[i].host_scalar_bytes && is_host_pointer(plan, words[i]))
            status = kiln_error_set(
                error, KILN_BAD_ARGUMENT,
                "the buffer of tensor uid %lld is host memory, which device '%s' cannot reach",
                (long long)plan->bindings[i].uid, kind);
    }
    if (status)
        kiln_error_hint(error, "allocate it with hipMalloc");
    return status;
}

/* After a launch that failed, with its error: host memory explains it better than the driver. */
static enum kiln_status blame_pointers(const struct kiln_plan *plan, const uint64_t *words,
                                       struct kiln_error *error)
{
    struct kiln_error better;
    kiln_error_init(&better);
    if (check_pointers(plan, words, &better))
        *error = better;
    return error->status;
}

/* `events` is NULL where nobody measures, `marks` where no profiler asks for ranges. */
__attribute__((always_inline)) static inline enum kiln_status
launch_kernels(const struct kiln_plan *plan, kiln_stream stream, const uint64_t *words,
               struct kiln_device_event *const *events, const struct kiln_range_marks *marks,
               struct kiln_error *error)
{
    struct kiln_device *device = plan->loaded->device;
    enum kiln_status status = KILN_OK;
    if (events)
        status = device->ops->event_record(device, events[0], stream, error);
    for (uint32_t i = 0; i < plan->kernel_count && status == KILN_OK; i++) {
        if (marks)
            (void)marks->push(plan->kernels[i].recipe->symbol);
        status = launch(plan, &plan->kernels[i], stream, words, error);
        if (marks)
            (void)marks->pop();
        if (events && status == KILN_OK)
            status = device->ops->event_record(device, events[i + 1], stream, error);
    }
    return status;
}

/* Out of the hot path: the first execution of a plan, and every one under a profiler. Pointers are
 * checked in the first only, since asking for each costs more than a launch; a host that hands over
 * host memory does so from the beginning. */
__attribute__((noinline)) static enum kiln_status
launch_with_extras(const struct kiln_plan *plan, kiln_stream stream, const uint64_t *words,
                   struct kiln_device_event *const *events, unsigned extras,
                   struct kiln_error *error)
{
    if (extras & KILN_PLAN_CHECKS_POINTERS) {
        enum kiln_status status = check_pointers(plan, words, error);
        if (status)
            return status;
        struct kiln_plan *changed = (struct kiln_plan *)(uintptr_t)plan;
        (void)atomic_fetch_and_explicit(&changed->extras, ~(unsigned)KILN_PLAN_CHECKS_POINTERS,
                                        memory_order_relaxed);
    }
    if (!(extras & KILN_PLAN_MARKS_RANGES))
        return launch_kernels(plan, stream, words, events, NULL, error);
    const struct kiln_range_marks *marks = kiln_range_marks();
    (void)marks->push(plan->name);
    enum kiln_status status = launch_kernels(plan, stream, words, events, marks, error);
    (void)marks->pop();
    return status;
}

/* `events` is NULL where nobody measures. */
static enum kiln_status execute(const struct kiln_plan *plan, kiln_stream stream, void *workspace,
                                const struct kiln_buffer_binding *buffers, uint32_t buffer_count,
                                struct kiln_device_event *const *events, struct kiln_error *error)
{
    if (buffer_count > 0 && !buffers)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "%u buffers, but no array of them",
                              buffer_count);
    if (plan->workspace_bytes > 0 && !workspace)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "no workspace is given, but %llu bytes are needed",
                              (unsigned long long)kiln_plan_workspace_bytes(plan));
    uint64_t words[plan->binding_count + 2];
    enum kiln_status status = bind_buffers(plan, buffers, buffer_count, words, error);
    if (status)
        return status;
    const uint64_t mask = KILN_WORKSPACE_ALIGNMENT - 1;
    words[plan->binding_count] = ((uint64_t)(uintptr_t)workspace + mask) & ~mask;
    words[plan->binding_count + 1] = 0;
    unsigned extras = atomic_load_explicit(&plan->extras, memory_order_relaxed);
    status = __builtin_expect(extras != 0, 0)
                 ? launch_with_extras(plan, stream, words, events, extras, error)
                 : launch_kernels(plan, stream, words, events, NULL, error);
    if (status == KILN_DEVICE && plan->loaded->device->ops->is_host_pointer)
        status = blame_pointers(plan, words, error);
    return status;
}

enum kiln_status kiln_plan_execute(const struct kiln_plan *plan, kiln_stream stream,
                                   void *workspace, const struct kiln_buffer_binding *buffers,
                                   uint32_t buffer_count, struct kiln_error *error)
{
    return execute(plan, stream, workspace, buffers, buffer_count, NULL, error);
}

enum kiln_status kiln_plan_execute_with_events(const struct kiln_plan *plan, void *workspace,
                                               const struct kiln_buffer_binding *buffers,
                                               uint32_t buffer_count,
                                               struct kiln_device_event *const *events,
                                               struct kiln_error *error)
{
    return execute(plan, NULL, workspace, buffers, buffer_count, events, error);
}
