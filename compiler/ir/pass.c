#include "compiler/ir/pass.h"

#include "compiler/lower_options.h"

#include <string.h>

#define KILN_PASS(pass_name, pass_condition)                                                       \
    kiln_pass_function kiln_ir_##pass_name;                                                        \
    const struct kiln_pass kiln_pass_##pass_name = {                                               \
        .name = #pass_name, .condition = KILN_PASS_##pass_condition, .run = kiln_ir_##pass_name};
#define KILN_STEP(pass) &kiln_pass_##pass,
#define KILN_PIPELINE(pass_name, pass_condition, rounds, steps)                                    \
    static const struct kiln_pass *const pass_name##_steps[] = {steps};                            \
    const struct kiln_pass kiln_pass_##pass_name = {.name = #pass_name,                            \
                                                    .condition = KILN_PASS_##pass_condition,       \
                                                    .pass_count = sizeof pass_name##_steps /       \
                                                                  sizeof *pass_name##_steps,       \
                                                    .passes = pass_name##_steps,                   \
                                                    .max_rounds = rounds};
#include "compiler/ir/passes.def"

#ifndef NDEBUG
static enum kiln_status validate(const char *after, const struct kiln_ir *ir,
                                 const struct kiln_graph *graph, struct kiln_error *error)
{
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    enum kiln_status status = KILN_OK;
    if (!kiln_ir_validate(ir, graph, &faults))
        status = kiln_error_set(error, KILN_INTERNAL, "the program is not valid after '%s': %s",
                                after, kiln_buffer_text(&faults));
    kiln_buffer_fini(&faults);
    return status;
}
#else
static enum kiln_status validate(const char *after, const struct kiln_ir *ir,
                                 const struct kiln_graph *graph, struct kiln_error *error)
{
    (void)after, (void)ir, (void)graph, (void)error;
    return KILN_OK;
}
#endif

/* Prints a program in one line if it is the one that was printed last. */
static void dump_program(const char *after, const struct kiln_ir *ir,
                         struct kiln_pass_context *context)
{
    struct kiln_buffer *dump = context->dump;
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_ir_print(ir, context->graph, &text);
    bool is_same = text.size != 0 && text.size == context->dumped_bytes &&
                   memcmp(text.data, dump->data + context->dumped_at, text.size) == 0;
    kiln_buffer_printf(dump, "ir of %s after %s%s\n", context->program, after,
                       is_same ? ": the same" : "");
    if (!is_same) {
        context->dumped_at = dump->size;
        context->dumped_bytes = text.size;
        kiln_buffer_append(dump, text.data, text.size);
    }
    dump->failed |= text.failed;
    if (dump->failed)
        context->dumped_bytes = 0;
    kiln_buffer_fini(&text);
}

enum kiln_status kiln_pass_check(const char *after, const struct kiln_ir *ir,
                                 struct kiln_pass_context *context, struct kiln_error *error)
{
    if (context->dump != NULL)
        dump_program(after, ir, context);
    return validate(after, ir, context->graph, error);
}

static bool applies(const struct kiln_pass *pass, const struct kiln_pass_context *context)
{
    bool is_fused = context->options == NULL || !context->options->no_fusion;
    return pass->condition == KILN_PASS_ALWAYS || is_fused;
}

enum kiln_status kiln_pass_run(const struct kiln_pass *pass, struct kiln_ir *ir,
                               struct kiln_pass_context *context, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    if (!applies(pass, context))
        return KILN_OK;
    if (pass->run != NULL) {
        status = pass->run(ir, context, error);
        return status == KILN_OK ? kiln_pass_check(pass->name, ir, context, error) : status;
    }
    uint32_t before = UINT32_MAX;
    for (uint32_t round = 0; round < pass->max_rounds && ir->op_count < before; round++) {
        before = ir->op_count;
        for (uint32_t i = 0; i < pass->pass_count && status == KILN_OK; i++)
            status = kiln_pass_run(pass->passes[i], ir, context, error);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

enum kiln_status kiln_ir_optimize(struct kiln_ir *ir, const struct kiln_graph *graph,
                                  struct kiln_error *error)
{
    struct kiln_pass_context context = {.graph = graph};
    enum kiln_status status = kiln_pass_check("import", ir, &context, error);
    return status == KILN_OK ? kiln_pass_run(&kiln_pass_optimize, ir, &context, error) : status;
}
