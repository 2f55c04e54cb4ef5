/*
 * kiln run: one execution, checked.
 */
#include "cli/command_line.h"
#include "cli/copy_rate.h"
#include "cli/graph_input.h"
#include "cli/input_file.h"
#include "cli/kernel_timer.h"
#include "cli/lower_choice.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/random_input.h"
#include "cli/run_report.h"
#include "cli/tensor_files.h"
#include "cli/tensor_memory.h"
#include "cli/text.h"
#include "compiler/reference/reference.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/shapes_setting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROFILE_SAMPLES = 10, PROFILE_NS = 1000000000 };

struct settings {
    struct kiln_engine_options engine;
    bool verify;
    bool profile;
    bool workspace_poison;
    bool json;
    uint64_t seed;
    struct kiln_tensor_files inputs;
    struct kiln_tensor_files outputs;
};

/* Everything of one run; released in one place. */
struct run {
    struct settings *settings;
    const char *path;
    struct kiln_graph_input input;
    struct kiln_engine *engine;
    struct kiln_plan *plan;
    struct kiln_device *device;
    struct kiln_tensor_memory *memories; /* one per tensor of the graph */
    void *workspace;
    uint64_t duration_ns;
    struct kiln_kernel_profile *profiles; /* one per kernel, with --profile; owned */
};

static bool parse(struct kiln_command_line *line, struct settings *settings)
{
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END) {
        switch (option) {
        case KILN_OPTION_RUN_DEVICE:
            settings->engine.device = line->value;
            break;
        case KILN_OPTION_RUN_CACHE:
            settings->engine.cache_directory = line->value;
            break;
        case KILN_OPTION_RUN_NO_FUSION:
            settings->engine.lower.no_fusion = true;
            break;
        case KILN_OPTION_RUN_VERIFY:
            settings->verify = true;
            break;
        case KILN_OPTION_RUN_PROFILE:
            settings->profile = true;
            break;
        case KILN_OPTION_RUN_WORKSPACE_POISON:
            settings->workspace_poison = true;
            break;
        case KILN_OPTION_RUN_JSON:
            settings->json = true;
            break;
        case KILN_OPTION_RUN_SEED:
            if (!kiln_command_line_number(line, 0, INT64_MAX, &settings->seed))
                return false;
            break;
        case KILN_OPTION_RUN_INPUT:
            if (!kiln_tensor_files_add(&settings->inputs, line))
                return false;
            break;
        case KILN_OPTION_RUN_OUTPUT:
            if (!kiln_tensor_files_add(&settings->outputs, line))
                return false;
            break;
        default:
            kiln_lower_choice_take(line, &settings->engine.lower);
            break;
        }
    }
    return !line->stopped;
}

/* Overcommitting kernels grant what is not there and kill the process later: ask first. */
static enum kiln_status check_memory(const struct kiln_graph *graph, bool verify,
                                     struct kiln_error *error)
{
    double needed = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        needed += kiln_tensor_has_memory(tensor) ? (double)kiln_tensor_memory_cost(tensor) : 0;
        /* struct kiln_reference_tensor: three arrays of 8 bytes each. */
        needed += verify ? 24.0 * (double)kiln_tensor_elements(tensor) : 0;
    }
    double installed = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (needed > installed) {
        return kiln_error_set(
            error, KILN_NO_MEMORY,
            "running this graph%s takes %.1f GiB of memory, this machine has %.1f",
            verify ? " with --verify" : "", needed / 0x1p30, installed / 0x1p30);
    }
    return KILN_OK;
}

static enum kiln_status prepare_memories(struct run *run, struct kiln_error *error)
{
    const struct kiln_graph *graph = &run->input.graph;
    const struct settings *settings = run->settings;
    run->memories = kiln_cli_calloc(graph->tensor_count, sizeof(*run->memories));
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (!kiln_tensor_has_memory(tensor))
            continue;
        struct kiln_tensor_memory *memory = &run->memories[i];
        enum kiln_status status = kiln_tensor_memory_init(memory, tensor, error);
        if (status == KILN_OK && tensor->role != KILN_TENSOR_OUTPUT) {
            const char *file = kiln_tensor_files_find(&settings->inputs, i);
            if (file) {
                status = kiln_tensor_memory_load(memory, file, error);
            } else {
                struct kiln_random_input random;
                kiln_random_input_init(&random, graph, i, settings->seed);
                kiln_tensor_memory_fill(memory, kiln_random_input_element, &random);
            }
        }
        if (status == KILN_OK)
            status = kiln_tensor_memory_upload(memory, run->device, error);
        if (status != KILN_OK)
            return status;
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (!kiln_tensor_is_ragged(tensor))
            continue;
        enum kiln_status status = kiln_tensor_memory_find_spans(
            &run->memories[i], graph, i, &run->memories[tensor->ragged.offsets], error);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

static enum kiln_status prepare_workspace(struct run *run, struct kiln_error *error)
{
    size_t bytes = (size_t)kiln_plan_workspace_bytes(run->plan);
    if (!bytes)
        return KILN_OK;
    enum kiln_status status =
        run->device->ops->allocate(run->device, bytes, &run->workspace, error);
    if (status != KILN_OK || !run->settings->workspace_poison)
        return status;
    void *nan_bytes = malloc(bytes);
    if (!nan_bytes) {
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "cannot allocate the %zu bytes of the workspace", bytes);
    }
    memset(nan_bytes, 0xff, bytes);
    status = run->device->ops->copy_in(run->device, run->workspace, nan_bytes, bytes, error);
    free(nan_bytes);
    return status;
}

/* Executes the plan until the medians are worth something. */
static enum kiln_status time_kernels(struct run *run, const struct kiln_buffer_binding *bindings,
                                     uint32_t binding_count, struct kiln_error *error)
{
    struct kiln_kernel_timer timer;
    enum kiln_status status =
        kiln_kernel_timer_init(&timer, run->device, run->plan, PROFILE_SAMPLES, error);
    uint64_t start_ns = kiln_clock_ns();
    while (status == KILN_OK && timer.count < PROFILE_SAMPLES &&
           (timer.count == 0 || kiln_clock_ns() - start_ns < PROFILE_NS))
        status = kiln_kernel_timer_sample(&timer, run->workspace, bindings, binding_count, error);
    for (uint32_t i = 0; status == KILN_OK && i < kiln_plan_kernel_count(run->plan); i++)
        run->profiles[i].seconds = kiln_kernel_timer_median(&timer, i);
    kiln_kernel_timer_fini(&timer);
    return status;
}

static enum kiln_status profile(struct run *run, const struct kiln_buffer_binding *bindings,
                                uint32_t binding_count, struct kiln_error *error)
{
    uint32_t count = kiln_plan_kernel_count(run->plan);
    run->profiles = kiln_cli_calloc((size_t)count + 1, sizeof(*run->profiles));
    struct kiln_kernel_work *work = kiln_cli_calloc((size_t)count + 1, sizeof(*work));
    double copy_bytes_per_s = 0;
    struct kiln_lower_options lower = run->settings->engine.lower;
    const char *reason = NULL;
    enum kiln_status status = kiln_engine_shapes(
        run->engine, &run->input.graph, &run->device->target, &lower.shapes, &reason, error);
    if (status == KILN_OK)
        status = kiln_plan_work(run->plan, &run->input.graph, &lower, work, NULL, error);
    if (status == KILN_OK)
        status = kiln_copy_rate(run->engine, run->device, &copy_bytes_per_s, error);
    if (status == KILN_OK)
        status = time_kernels(run, bindings, binding_count, error);
    const struct kiln_roofline roofline = kiln_roofline_of(&run->device->target, copy_bytes_per_s);
    for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
        struct kiln_kernel_profile *profile = &run->profiles[i];
        profile->symbol = kiln_cli_strdup(kiln_plan_kernel_symbol(run->plan, i));
        profile->work = work[i];
        profile->bound =
            kiln_roofline_bound(&roofline, &work[i], profile->seconds, &profile->share);
    }
    free(work);
    return status;
}

static enum kiln_status execute(struct run *run, struct kiln_error *error)
{
    const struct kiln_graph *graph = &run->input.graph;
    struct kiln_buffer_binding *bindings = kiln_cli_calloc(graph->tensor_count, sizeof(*bindings));
    uint32_t binding_count = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (run->memories[i].tensor) {
            bindings[binding_count++] = (struct kiln_buffer_binding){
                graph->tensors[i].uid, kiln_tensor_memory_pointer(&run->memories[i])};
        }
    }
    uint64_t start_ns = kiln_clock_ns();
    enum kiln_status status =
        kiln_plan_execute(run->plan, NULL, run->workspace, bindings, binding_count, error);
    if (status == KILN_OK)
        status = run->device->ops->synchronize(run->device, NULL, error);
    run->duration_ns = kiln_clock_ns() - start_ns;
    if (status == KILN_OK && run->settings->profile)
        status = profile(run, bindings, binding_count, error);
    free(bindings);
    for (uint32_t i = 0; i < graph->tensor_count && status == KILN_OK; i++)
        if (run->memories[i].tensor)
            status = kiln_tensor_memory_download(&run->memories[i], run->device, error);
    return status;
}

/* An output may replace an input, which has been read and is the caller's wish, but not the graph.
 */
static enum kiln_status check_outputs(const struct run *run, struct kiln_error *error)
{
    const struct kiln_tensor_files *outputs = &run->settings->outputs;
    for (size_t i = 0; i < outputs->count; i++) {
        const char *file = outputs->files[i].path;
        if (!kiln_input_file_is_output(run->path, file))
            continue;
        (void)kiln_error_set(error, KILN_BAD_ARGUMENT,
                             "the output '%s' would overwrite '%s', which is the graph",
                             outputs->files[i].tensor, file);
        kiln_error_hint(error, "name another file with --output");
        return error->status;
    }
    return KILN_OK;
}

static enum kiln_status save_outputs(const struct run *run, struct kiln_error *error)
{
    const struct kiln_graph *graph = &run->input.graph;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const char *file = kiln_tensor_files_find(&run->settings->outputs, i);
        if (file) {
            enum kiln_status status = kiln_tensor_memory_save(&run->memories[i], file, error);
            if (status != KILN_OK)
                return status;
        }
    }
    return KILN_OK;
}

/* What the interpreter says of the inputs; memory of the input's arena. */
static enum kiln_status run_reference(struct run *run, struct kiln_reference_tensor **ret_reference,
                                      struct kiln_error *error)
{
    const struct kiln_graph *graph = &run->input.graph;
    const void **memory = kiln_cli_calloc(graph->tensor_count, sizeof(*memory));
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        bool is_given = kiln_tensor_has_memory(&graph->tensors[i]) &&
                        graph->tensors[i].role != KILN_TENSOR_OUTPUT;
        memory[i] = is_given ? kiln_tensor_memory_before(&run->memories[i]) : NULL;
    }
    struct kiln_reference_tensor *reference =
        kiln_cli_calloc(graph->tensor_count, sizeof(*reference));
    enum kiln_status status =
        kiln_reference_run(graph, memory, &run->input.arena, reference, error);
    free(memory);
    if (status != KILN_OK) {
        free(reference);
        return status;
    }
    *ret_reference = reference;
    return KILN_OK;
}

static enum kiln_status run_all(struct run *run, int *ret_exit_code, struct kiln_error *error)
{
    const struct settings *settings = run->settings;
    const struct kiln_graph *graph = &run->input.graph;
    kiln_progress_start("reading the graph", 0);
    enum kiln_status status = kiln_graph_input_read(run->path, &run->input, error);
    if (status != KILN_OK)
        return status;
    if (kiln_tensor_files_resolve(&run->settings->inputs, graph, error) != KILN_OK ||
        kiln_tensor_files_resolve(&run->settings->outputs, graph, error) != KILN_OK ||
        check_outputs(run, error) != KILN_OK) {
        *ret_exit_code = KILN_EXIT_USAGE;
        return error->status;
    }
    status = check_memory(graph, settings->verify, error);
    if (status == KILN_OK) {
        status = kiln_device_open(settings->engine.device, &run->device, error);
        if (status == KILN_BAD_ARGUMENT)
            *ret_exit_code = KILN_EXIT_USAGE;
    }
    if (status == KILN_OK)
        status = kiln_engine_create(&settings->engine, &run->engine, error);
    if (status == KILN_OK) {
        kiln_progress_start("compiling", 0);
        status = kiln_plan_create(run->engine, run->input.bytes.data, run->input.bytes.size,
                                  &run->plan, error);
    }
    kiln_progress_start("filling the inputs", 0);
    if (status == KILN_OK)
        status = prepare_memories(run, error);
    if (status == KILN_OK)
        status = prepare_workspace(run, error);
    kiln_progress_start("running", 0);
    if (status == KILN_OK)
        status = execute(run, error);
    if (status == KILN_OK)
        status = save_outputs(run, error);
    struct kiln_reference_tensor *reference = NULL;
    kiln_progress_start("verifying", 0);
    if (status == KILN_OK && settings->verify)
        status = run_reference(run, &reference, error);
    if (status != KILN_OK)
        return status;
    struct kiln_run_report report = {
        .path = run->path,
        .graph = graph,
        .device = run->device,
        .memories = run->memories,
        .reference = reference,
        .origin = kiln_plan_origin(run->plan),
        .kernels = kiln_plan_kernel_count(run->plan),
        .workspace_bytes = kiln_plan_workspace_bytes(run->plan),
        .duration_ns = run->duration_ns,
        .seed = settings->seed,
        .profiles = run->profiles,
    };
    static const int exit_codes[] = {
        [KILN_RUN_GOOD] = KILN_EXIT_OK,
        [KILN_RUN_WRONG] = KILN_EXIT_FAILED,
        [KILN_RUN_UNJUDGED] = KILN_EXIT_UNJUDGED,
    };
    *ret_exit_code = exit_codes[kiln_run_report_print(&report, settings->json)];
    free(reference);
    return KILN_OK;
}

static void release(struct run *run)
{
    if (run->memories) {
        for (uint32_t i = 0; i < run->input.graph.tensor_count; i++)
            kiln_tensor_memory_fini(&run->memories[i], run->device);
        free(run->memories);
    }
    kiln_kernel_profiles_free(run->profiles, run->profiles ? kiln_plan_kernel_count(run->plan) : 0);
    if (run->workspace)
        run->device->ops->release(run->device, run->workspace);
    if (run->plan)
        kiln_plan_unref(run->plan);
    if (run->engine)
        kiln_engine_unref(run->engine);
    if (run->device)
        kiln_device_close(run->device);
    kiln_graph_input_fini(&run->input);
}

int kiln_command_run(struct kiln_command_line *line)
{
    struct settings settings = {
        .seed = 1,
        .outputs.are_outputs = true,
        .engine = {.device = kiln_device_default_names(), .lower.shapes = kiln_shapes_setting()}};
    int exit_code = KILN_EXIT_USAGE;
    if (!parse(line, &settings)) {
        exit_code = line->exit_code;
    } else {
        struct kiln_error error;
        kiln_error_init(&error);
        struct run run = {.settings = &settings, .path = line->operands[0]};
        exit_code = KILN_EXIT_OK;
        enum kiln_status status = run_all(&run, &exit_code, &error);
        if (status != KILN_OK) {
            kiln_message_error("%s", error.text);
            exit_code = exit_code ? exit_code : kiln_message_exit_code(status);
        }
        release(&run);
    }
    kiln_tensor_files_fini(&settings.inputs);
    kiln_tensor_files_fini(&settings.outputs);
    return exit_code;
}
