/*
 * kiln explain: what a graph becomes.
 */
#include "cli/command_line.h"
#include "cli/dot.h"
#include "cli/dump_choice.h"
#include "cli/explanation.h"
#include "cli/graph_input.h"
#include "cli/lower_choice.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/target_list.h"
#include "cli/text.h"
#include "compiler/codegen/isa_text.h"
#include "runtime/engine/shapes_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    struct kiln_engine_options engine;
    const char *target_text;
    bool ir;
    bool source;
    bool isa;
    bool dot;
    bool json;
    uint32_t dump;   /* set of enum kiln_dump_stage */
    uint64_t kernel; /* KILN_EVERY_KERNEL, or the one with source and instructions */
};

/* Everything of one explanation; released in one place. */
struct work {
    const struct settings *settings;
    struct kiln_lower_options lower; /* the settings', with the form that the engine chooses */
    const char *shapes_reason;
    struct kiln_target target;
    struct kiln_graph_input input;
    struct kiln_fusion_view view;
    struct kiln_program program;
    struct kiln_engine *engine;
    const struct kiln_compiled_program *compiled;
    enum kiln_program_origin origin;
    struct kiln_codegen *codegen; /* for the disassembler */
    struct kiln_buffer *isa;      /* one per kernel */
};

static void parse(struct kiln_command_line *line, struct settings *settings)
{
    enum kiln_option_id option;
    while ((option = kiln_command_line_next(line)) != KILN_OPTION_END) {
        switch (option) {
        case KILN_OPTION_EXPLAIN_TARGET:
            settings->target_text = line->value;
            break;
        case KILN_OPTION_EXPLAIN_CACHE:
            settings->engine.cache_directory = line->value;
            break;
        case KILN_OPTION_EXPLAIN_NO_FUSION:
            settings->engine.lower.no_fusion = true;
            break;
        case KILN_OPTION_EXPLAIN_IR:
            settings->ir = true;
            break;
        case KILN_OPTION_EXPLAIN_SOURCE:
            settings->source = true;
            break;
        case KILN_OPTION_EXPLAIN_ISA:
            settings->isa = true;
            break;
        case KILN_OPTION_EXPLAIN_KERNEL:
            (void)kiln_command_line_number(line, 0, KILN_EVERY_KERNEL - 1, &settings->kernel);
            break;
        case KILN_OPTION_EXPLAIN_DUMP:
            kiln_dump_choice_take(line, &settings->dump);
            break;
        case KILN_OPTION_EXPLAIN_DOT:
            settings->dot = true;
            break;
        case KILN_OPTION_EXPLAIN_JSON:
            settings->json = true;
            break;
        default:
            kiln_lower_choice_take(line, &settings->engine.lower);
            break;
        }
    }
    if (!line->stopped && settings->dot &&
        (settings->json || settings->ir || settings->source || settings->isa)) {
        kiln_command_line_fail(line, NULL,
                               "option '--dot' prints a Graphviz graph and nothing else");
    } else if (!line->stopped && settings->dump != 0 &&
               (settings->json || settings->ir || settings->source || settings->isa ||
                settings->dot)) {
        kiln_command_line_fail(line, NULL, "option '--dump' prints its stages and nothing else");
    } else if (!line->stopped && settings->kernel != KILN_EVERY_KERNEL && !settings->source &&
               !settings->isa) {
        kiln_command_line_fail(line, NULL, "option '--kernel' goes with --source and --isa");
    }
}

static enum kiln_status choose_target(struct work *work, int *ret_exit_code,
                                      struct kiln_error *error)
{
    const char *text = work->settings->target_text;
    struct kiln_target_list targets = {0};
    enum kiln_status status =
        text ? kiln_target_list_add(&targets, text, error) : kiln_target_list_here(&targets, error);
    if (status == KILN_OK && targets.count > 1) {
        status =
            kiln_error_set(error, KILN_BAD_ARGUMENT, "explain takes one target, not '%s'", text);
    }
    if (status == KILN_OK)
        work->target = targets.targets[0];
    else
        *ret_exit_code = status == KILN_BAD_ARGUMENT ? KILN_EXIT_USAGE : KILN_EXIT_ENVIRONMENT;
    kiln_target_list_fini(&targets);
    return status;
}

static enum kiln_status print_dot(struct work *work, struct kiln_error *error)
{
    struct kiln_buffer dot;
    kiln_buffer_init(&dot);
    kiln_dot_append(&work->input.graph, &work->view, work->target.name, &dot);
    enum kiln_status status = kiln_buffer_check(&dot, error);
    if (status == KILN_OK)
        fputs(kiln_buffer_text(&dot), stdout);
    kiln_buffer_fini(&dot);
    return status;
}

static enum kiln_status disassemble(struct work *work, struct kiln_error *error)
{
    uint32_t count = work->compiled->kernel_count;
    work->isa = kiln_cli_calloc(count, sizeof(*work->isa));
    enum kiln_status status =
        kiln_codegen_create(&work->settings->engine.codegen, &work->codegen, error);
    for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
        const struct kiln_compiled_kernel *kernel = &work->compiled->kernels[i];
        if (work->settings->kernel != KILN_EVERY_KERNEL && work->settings->kernel != i)
            continue;
        status = kiln_code_object_disassemble(work->codegen, &work->target, kernel->symbol,
                                              kernel->object.bytes, kernel->object.size,
                                              &work->isa[i], error);
    }
    return status;
}

/* Without a compiler everything but the code can be shown: that is a note, unless the code was
 * asked for. */
static enum kiln_status compile(struct work *work, struct kiln_error *error)
{
    kiln_progress_start("compiling", 0);
    enum kiln_status status = kiln_engine_compile(work->engine, &work->input.graph, &work->target,
                                                  &work->compiled, &work->origin, error);
    if (status == KILN_OK && work->settings->isa)
        status = disassemble(work, error);
    return status;
}

/* Brings the plan and the sources to the forms that were compiled. */
static enum kiln_status follow_compiler(struct work *work, struct kiln_error *error)
{
    const struct kiln_graph *graph = &work->input.graph;
    enum kiln_status status = KILN_OK;
    uint32_t count = work->program.kernel_count < work->compiled->kernel_count
                         ? work->program.kernel_count
                         : work->compiled->kernel_count;
    for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
        uint32_t form = work->compiled->kernels[i].form;
        status = kiln_kernel_plan_relax_to(&work->view.plan, graph, i, form, error);
        while (status == KILN_OK && work->program.kernels[i].form < form)
            status = kiln_program_relax(&work->program, graph, i, error);
        if (status == KILN_NOT_FOUND)
            status = KILN_OK;
    }
    return status;
}

static enum kiln_status check_kernel(const struct work *work, int *ret_exit_code,
                                     struct kiln_error *error)
{
    uint32_t count = kiln_kernel_plan_kernels(&work->view.plan);
    if (work->settings->kernel == KILN_EVERY_KERNEL || work->settings->kernel < count)
        return KILN_OK;
    *ret_exit_code = KILN_EXIT_USAGE;
    (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "there is no kernel %" PRIu64,
                         work->settings->kernel);
    if (count == 1)
        kiln_error_hint(error, "the graph has one kernel, 0");
    else
        kiln_error_hint(error, "the graph has %u kernels, 0 to %u", (unsigned)count,
                        (unsigned)count - 1);
    return error->status;
}

static enum kiln_status print_explanation(struct work *work, struct kiln_error *error)
{
    struct kiln_error compile_error;
    kiln_error_init(&compile_error);
    enum kiln_status status = kiln_lower(&work->input.graph, &work->target, &work->lower,
                                         &work->view.arena, &work->program, NULL, error);
    if (status != KILN_OK)
        return status;
    status = compile(work, &compile_error);
    if (status != KILN_OK && (status != KILN_UNSUPPORTED || work->settings->isa)) {
        *error = compile_error;
        return status;
    }
    if (work->compiled) {
        status = follow_compiler(work, error);
        if (status != KILN_OK)
            return status;
    }
    const char **isa = NULL;
    if (work->isa) {
        isa = kiln_cli_calloc(work->compiled->kernel_count, sizeof(*isa));
        for (uint32_t i = 0; i < work->compiled->kernel_count; i++)
            isa[i] = kiln_buffer_text(&work->isa[i]);
    }
    struct kiln_explanation explanation = {
        .graph = &work->input.graph,
        .target = &work->target,
        .shapes = work->lower.shapes,
        .shapes_reason = work->shapes_reason,
        .view = &work->view,
        .program = &work->program,
        .compiled = work->compiled,
        .origin = work->origin,
        .why_not_compiled = compile_error.text,
        .with_ir = work->settings->ir,
        .with_source = work->settings->source,
        .isa = isa,
        .kernel = (uint32_t)work->settings->kernel,
    };
    status = KILN_OK; /* what was not compiled is explained too */
    kiln_progress_finish();
    if (work->settings->json)
        kiln_explanation_print_json(&explanation);
    else
        status = kiln_explanation_print(&explanation, error);
    free(isa);
    return status;
}

static enum kiln_status print_dump(struct work *work, struct kiln_error *error)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    const struct kiln_dump dump = {.stages = work->settings->dump, .text = &text};
    enum kiln_status status = kiln_lower(&work->input.graph, &work->target, &work->lower,
                                         &work->view.arena, &work->program, &dump, error);
    if (status == KILN_OK)
        status = kiln_buffer_check(&text, error);
    if (status == KILN_OK) {
        kiln_progress_finish();
        kiln_text_write(stdout, kiln_buffer_text(&text), true);
    }
    kiln_buffer_fini(&text);
    return status;
}

static enum kiln_status print(struct work *work, struct kiln_error *error)
{
    if (work->settings->dump != 0)
        return print_dump(work, error);
    return work->settings->dot ? print_dot(work, error) : print_explanation(work, error);
}

static enum kiln_status explain(struct work *work, const char *path, int *ret_exit_code,
                                struct kiln_error *error)
{
    kiln_progress_start("reading the graph", 0);
    enum kiln_status status = choose_target(work, ret_exit_code, error);
    if (status == KILN_OK)
        status = kiln_graph_input_read(path, &work->input, error);
    if (status == KILN_OK)
        status = kiln_engine_create(&work->settings->engine, &work->engine, error);
    if (status == KILN_OK) {
        work->lower = work->settings->engine.lower;
        status = kiln_engine_shapes(work->engine, &work->input.graph, &work->target,
                                    &work->lower.shapes, &work->shapes_reason, error);
    }
    if (status == KILN_OK) {
        kiln_progress_start("planning the kernels", 0);
        status = kiln_fusion_view_make(&work->input.graph, &work->target, &work->lower, &work->view,
                                       error);
    }
    if (status == KILN_OK)
        status = check_kernel(work, ret_exit_code, error);
    if (status == KILN_OK)
        status = print(work, error);
    return status;
}

static void release(struct work *work)
{
    for (uint32_t i = 0; work->isa && i < work->compiled->kernel_count; i++)
        kiln_buffer_fini(&work->isa[i]);
    free(work->isa);
    kiln_codegen_unref(work->codegen);
    if (work->compiled)
        kiln_compiled_program_unref(work->compiled);
    if (work->engine)
        kiln_engine_unref(work->engine);
    kiln_fusion_view_fini(&work->view);
    kiln_graph_input_fini(&work->input);
}

int kiln_command_explain(struct kiln_command_line *line)
{
    struct settings settings = {.kernel = KILN_EVERY_KERNEL,
                                .engine.lower.shapes = kiln_shapes_setting()};
    parse(line, &settings);
    if (line->stopped)
        return line->exit_code;
    struct kiln_error error;
    kiln_error_init(&error);
    struct work work = {.settings = &settings};
    int exit_code = KILN_EXIT_OK;
    enum kiln_status status = explain(&work, line->operands[0], &exit_code, &error);
    if (status != KILN_OK) {
        kiln_message_error("%s", error.text);
        exit_code = exit_code ? exit_code : kiln_message_exit_code(status);
    }
    release(&work);
    return exit_code;
}
