/*
 * Kernels of attention and its gradients, as they are scheduled first, keep all they have in
 * registers: for heads of 64 and 128 elements the compiled code touches no scratch memory, and the
 * registers that are counted for a tile are as many as a lane has.
 */
#include "compiler/codegen/codegen.h"
#include "compiler/families/attention/schedule/attention_registers.h"
#include "compiler/families/attention/schedule/attention_schedule.h"
#include "compiler/plan/kernel_plan.h"
#include "compiler/program.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/runtime/support/test_share.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201"};

#define FORWARD(m, n, k)                                                                           \
    "Sdpa q=2,8," #m "," #k ":HALF k=2,2," #n "," #k ":HALF v=2,2," #n "," #k ":HALF "             \
    "o=2,8," #m "," #k ":HALF "
#define GRADIENTS(groups, m, n, k)                                                                 \
    "SdpaBackward q=2,8," #m "," #k ":HALF k=2," #groups "," #n "," #k ":HALF v=2," #groups "," #n \
    "," #k ":HALF o=2,8," #m "," #k ":HALF do=2,8," #m "," #k ":HALF stats=2,8," #m                \
    ",1 dq=2,8," #m "," #k ":HALF dk=2," #groups "," #n "," #k ":HALF dv=2," #groups "," #n "," #k \
    ":HALF "

/* Whole tiles and ends of them, long keys for a single query, gradients of grouped heads. */
static const char *const sketches[] = {
    FORWARD(1024, 1024, 64),
    FORWARD(1024, 1024, 64) "!causal_mask=true",
    FORWARD(1000, 1001, 64),
    FORWARD(1, 4096, 64),
    FORWARD(1024, 1024, 128),
    FORWARD(1024, 1024, 128) "!causal_mask=true",
    FORWARD(1000, 1001, 128),
    FORWARD(1, 4096, 128),
    GRADIENTS(8, 1024, 1024, 64),
    GRADIENTS(8, 1024, 1024, 64) "!causal_mask=true",
    GRADIENTS(8, 1024, 1024, 128),
    GRADIENTS(8, 1024, 1024, 128) "!causal_mask=true",
    GRADIENTS(2, 1024, 1024, 64),
    GRADIENTS(2, 1024, 1024, 128),
    GRADIENTS(2, 1024, 1024, 128) "!causal_mask=true",
};
enum { SKETCH_COUNT = sizeof sketches / sizeof *sketches };

/* With the gradient of a mask: what holds for its own kernel, which has no second product. */
static const char *const masks[] = {
    GRADIENTS(8, 1024, 1024, 64) "attn_mask=2,8,1024,1024:HALF dbias=2,8,1024,1024:HALF",
    GRADIENTS(8, 1024, 1024, 64) "attn_mask=1,8,1024,1024 dbias=1,8,1024,1024 !causal_mask=true",
    GRADIENTS(8, 1024, 1024, 128) "attn_mask=1,8,1024,1024 dbias=1,8,1024,1024",
    GRADIENTS(2, 1000, 1001, 128) "attn_mask=1000,1001:HALF dbias=1000,1001:HALF",
};
enum { MASK_COUNT = sizeof masks / sizeof *masks };

static void expect_within_budget(const struct kiln_program *program,
                                 const struct kiln_target *target, size_t index, bool folds_alone)
{
    const struct kiln_kernel_plan *plan = program->plan;
    for (uint32_t i = 0; i < plan->partition.group_count; i++) {
        const struct kiln_schedule *schedule = &plan->schedules[i];
        if (schedule->family != KILN_FAMILY_ATTENTION ||
            (folds_alone && kiln_attention_schedule_of(schedule)->value_count != 0))
            continue;
        const struct kiln_attention_schedule *attention = kiln_attention_schedule_of(schedule);
        cr_expect_gt(attention->tile.registers, 0, "sketch %zu for %s", index, target->name);
        cr_expect_leq(attention->tile.registers, kiln_attention_register_budget(attention, target),
                      "sketch %zu for %s", index, target->name);
    }
}

static void compile(struct kiln_codegen *codegen, const struct kiln_target *target,
                    const char *sketch, size_t index, bool folds_alone)
{
    const struct kiln_lower_options options = {0};
    struct json_graph read;
    struct kiln_arena arena;
    struct kiln_program program;
    struct kiln_error error;
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    graph_sketch_accept(&read, sketch, NULL);
    cr_assert_eq(kiln_lower(&read.graph, target, &options, &arena, &program, NULL, &error), KILN_OK,
                 "%s", error.text);
    expect_within_budget(&program, target, index, folds_alone);
    cr_assert_eq(program.kernel_count, program.plan->partition.group_count);
    for (uint32_t i = 0; i < program.kernel_count; i++) {
        const struct kiln_schedule *schedule = &program.plan->schedules[i];
        if (folds_alone && (schedule->family != KILN_FAMILY_ATTENTION ||
                            kiln_attention_schedule_of(schedule)->value_count != 0))
            continue;
        struct kiln_code_object object;
        cr_assert_eq(kiln_codegen_compile(codegen, target, &program.kernels[i], &object, &error),
                     KILN_OK, "sketch %zu for %s: %s", index, target->name, error.text);
        cr_expect_eq(object.resources.scratch_bytes, 0,
                     "kernel %u of sketch %zu for %s has %u bytes of scratch memory", i, index,
                     target->name, object.resources.scratch_bytes);
        kiln_code_object_fini(&object);
    }
    kiln_arena_fini(&arena);
    json_graph_fini(&read);
}

ParameterizedTestParameters(attention_registers, suffice_for)
{
    static size_t indices[sizeof targets / sizeof *targets];
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, sizeof indices / sizeof *indices);
}

ParameterizedTest(size_t *index, attention_registers, suffice_for, .timeout = 250)
{
    struct kiln_codegen_options options = {.max_workers = 1};
    struct kiln_codegen *codegen;
    struct kiln_target target;
    struct kiln_error error;
    char name[KILN_COMPILER_NAME_BYTES];
    kiln_error_init(&error);
    cr_assert_eq(kiln_codegen_create(&options, &codegen, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_target_parse(targets[*index], &target, &error), KILN_OK, "%s", error.text);
    enum kiln_status status = kiln_codegen_compiler(codegen, &target, name, &error);
    if (status == KILN_UNSUPPORTED && strstr(error.text, "no compiler here") != NULL) {
        kiln_codegen_unref(codegen);
        cr_skip_test("%s", error.text);
    }
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    for (size_t i = 0; i < SKETCH_COUNT; i++)
        if (test_share_has(i + *index))
            compile(codegen, &target, sketches[i], i, false);
    for (size_t i = 0; i < MASK_COUNT; i++)
        if (test_share_has(i + *index))
            compile(codegen, &target, masks[i], SKETCH_COUNT + i, true);
    kiln_codegen_unref(codegen);
}
