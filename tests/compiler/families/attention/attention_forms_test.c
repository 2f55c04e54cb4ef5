/*
 * Forms of attention's schedules: each counts fewer registers than the one before, there are few of
 * them, and one of them keeps all it has in registers.
 */
#include "compiler/codegen/codegen.h"
#include "compiler/families/attention/schedule/attention_schedule.h"
#include "compiler/plan/kernel_plan.h"
#include "compiler/program.h"
#include "compiler/schedule/schedule_group.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/runtime/support/test_share.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#define FORWARD(heads, groups, m, n, k, type)                                                      \
    "Sdpa q=1," #heads "," #m "," #k type " k=1," #groups "," #n "," #k type " v=1," #groups       \
    "," #n "," #k type " o=1," #heads "," #m "," #k type " "
#define GRADIENTS(heads, groups, m, n, k, type)                                                    \
    "SdpaBackward q=1," #heads "," #m "," #k type " k=1," #groups "," #n "," #k type               \
    " v=1," #groups "," #n "," #k type " o=1," #heads "," #m "," #k type " do=1," #heads "," #m    \
    "," #k type " stats=1," #heads "," #m ",1 dq=1," #heads "," #m "," #k type " dk=1," #groups    \
    "," #n "," #k type " dv=1," #groups "," #n "," #k type " "

/* Each had a kernel that spilled in all of its forms, on the targets that are named. */
struct spiller {
    const char *sketch;
    const char *targets[4];
};

static const struct spiller spillers[] = {
    {FORWARD(2, 1, 5, 5, 128, ) "!causal_mask_bottom_right=true",
     {"gfx1100", "gfx1030", "gfx1201"}},
    {GRADIENTS(4, 1, 33, 100, 128, ":BFLOAT16") "!causal_mask=true", {"gfx90c", "gfx1034"}},
    {GRADIENTS(2, 2, 128, 128, 64, ":HALF") "attn_mask=1,1,128,128:BOOLEAN",
     {"gfx942", "gfx90c", "gfx1030"}},
    {GRADIENTS(2, 2, 128, 128, 96, ":HALF"), {"gfx1100", "gfx1201", "gfx90c"}},
    {GRADIENTS(2, 2, 100, 100, 96, ) "attn_mask=1,1,100,100:BOOLEAN",
     {"gfx1100", "gfx1201", "gfx1030"}},
    {GRADIENTS(2, 2, 100, 99, 80, ":BFLOAT16"), {"gfx1100", "gfx1030"}},
    {GRADIENTS(2, 2, 128, 128, 160, ":HALF") "attn_mask=1,1,128,128:BOOLEAN",
     {"gfx90c", "gfx1030", "gfx1201"}},
    {GRADIENTS(2, 2, 128, 128, 256, ":BFLOAT16") "attn_mask=1,1,128,128:BOOLEAN",
     {"gfx1100", "gfx1201"}},
    {FORWARD(2, 2, 100, 128, 256, ":HALF"), {"gfx1030", "gfx90c"}},
    {FORWARD(4, 4, 1, 4096, 256, ":HALF"), {"gfx1100", "gfx1030"}},
    {FORWARD(2, 2, 100, 128, 160, ), {"gfx1100", "gfx1030"}},
};
enum { SPILLER_COUNT = sizeof spillers / sizeof *spillers };

/* Ordinary graphs: few of them ever spilled. */
static const char *const others[] = {
    FORWARD(8, 8, 1000, 1001, 64, ":HALF"),
    FORWARD(8, 2, 512, 512, 128, ":BFLOAT16") "!causal_mask=true",
    FORWARD(8, 2, 1, 4096, 128, ":HALF"),
    GRADIENTS(8, 2, 512, 512, 128, ":HALF"),
    GRADIENTS(8, 8, 300, 300, 64, ":HALF") "attn_mask=1,8,300,300 dbias=1,8,300,300",
    GRADIENTS(4, 4, 300, 300, 24, ),
};
enum { OTHER_COUNT = sizeof others / sizeof *others };

static const char *sketch_at(size_t index)
{
    return index < SPILLER_COUNT ? spillers[index].sketch : others[index - SPILLER_COUNT];
}

/* More than any schedule has; an eighth less each time would allow three times as many. */
enum { MOST_FORMS = 12 };

static void walk_forms(const struct kiln_program *program, const struct kiln_graph *graph,
                       uint32_t kernel, const struct kiln_target *target, size_t index)
{
    const struct kiln_kernel_plan *plan = program->plan;
    struct kiln_schedule schedule = plan->schedules[kernel];
    struct kiln_error error;
    kiln_error_init(&error);
    cr_expect_leq(schedule.launch.lds_bytes,
                  target->kind == KILN_TARGET_CUDA ? 227 << 10 : target->lds_bytes);
    for (;;) {
        const struct kiln_schedule before = schedule;
        enum kiln_status status = kiln_schedule_relax(
            &plan->ir, graph, &plan->partition.groups[kernel], target, &before, &schedule, &error);
        if (status == KILN_NOT_FOUND)
            break;
        cr_assert_eq(status, KILN_OK, "sketch %zu for %s: %s", index, target->name, error.text);
        uint32_t registers = kiln_attention_schedule_of(&schedule)->tile.registers;
        cr_expect(registers < kiln_attention_schedule_of(&before)->tile.registers ||
                      (registers == kiln_attention_schedule_of(&before)->tile.registers &&
                       schedule.walk.vector_elems < before.walk.vector_elems),
                  "form %u of kernel %u of sketch %zu for %s has %u registers after %u",
                  schedule.form, kernel, index, target->name, registers,
                  kiln_attention_schedule_of(&before)->tile.registers);
        cr_expect(schedule.limits.registers < before.limits.registers ||
                  schedule.limits.vector_elems < before.limits.vector_elems);
        cr_assert_lt(schedule.form, MOST_FORMS, "sketch %zu for %s", index, target->name);
    }
}

Test(attention_forms, are_few_and_each_is_smaller, .timeout = 250)
{
    const struct kiln_lower_options options = {0};
    uint32_t walked = 0;
    for (size_t t = 0; t < kiln_target_count(); t++) {
        struct kiln_target target;
        kiln_target_at(t, &target);
        for (size_t i = 0; i < SPILLER_COUNT + OTHER_COUNT; i++) {
            struct json_graph read;
            struct kiln_arena arena;
            struct kiln_program program;
            struct kiln_error error;
            kiln_arena_init(&arena);
            kiln_error_init(&error);
            graph_sketch_accept(&read, sketch_at(i), NULL);
            cr_assert_eq(kiln_lower(&read.graph, &target, &options, &arena, &program, NULL, &error),
                         KILN_OK, "%s", error.text);
            for (uint32_t k = 0; k < program.kernel_count; k++) {
                if (program.plan->schedules[k].family != KILN_FAMILY_ATTENTION)
                    continue;
                walk_forms(&program, &read.graph, k, &target, i);
                walked++;
            }
            kiln_arena_fini(&arena);
            json_graph_fini(&read);
        }
    }
    cr_expect_gt(walked, 0);
}

/* As compile_program.c goes through the forms. */
static uint32_t compile_without_scratch(struct kiln_codegen *codegen, struct kiln_program *program,
                                        const struct kiln_graph *graph, uint32_t kernel,
                                        const struct kiln_target *target)
{
    for (;;) {
        struct kiln_code_object object;
        struct kiln_error error;
        kiln_error_init(&error);
        cr_assert_eq(
            kiln_codegen_compile(codegen, target, &program->kernels[kernel], &object, &error),
            KILN_OK, "%s for %s: %s", program->kernels[kernel].symbol, target->name, error.text);
        uint32_t scratch_bytes = object.resources.scratch_bytes;
        kiln_code_object_fini(&object);
        if (scratch_bytes == 0 ||
            kiln_program_relax(program, graph, kernel, &error) == KILN_NOT_FOUND)
            return scratch_bytes;
    }
}

ParameterizedTestParameters(attention_forms, do_not_spill)
{
    static size_t indices[SPILLER_COUNT];
    for (size_t i = 0; i < SPILLER_COUNT; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, SPILLER_COUNT);
}

ParameterizedTest(size_t *index, attention_forms, do_not_spill, .timeout = 250)
{
    const struct spiller *spiller = &spillers[*index];
    const struct kiln_lower_options options = {0};
    const struct kiln_codegen_options codegen_options = {.max_workers = 1};
    struct kiln_codegen *codegen;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_codegen_create(&codegen_options, &codegen, &error), KILN_OK, "%s",
                 error.text);
    for (size_t t = 0; t < 4 && spiller->targets[t] != NULL; t++) {
        struct json_graph read;
        struct kiln_arena arena;
        struct kiln_program program;
        struct kiln_target target;
        char name[KILN_COMPILER_NAME_BYTES];
        cr_assert_eq(kiln_target_parse(spiller->targets[t], &target, &error), KILN_OK);
        if (!test_share_has(*index + t) ||
            kiln_codegen_compiler(codegen, &target, name, &error) == KILN_UNSUPPORTED)
            continue;
        kiln_arena_init(&arena);
        graph_sketch_accept(&read, spiller->sketch, NULL);
        cr_assert_eq(kiln_lower(&read.graph, &target, &options, &arena, &program, NULL, &error),
                     KILN_OK, "%s", error.text);
        uint32_t compiled = 0;
        for (uint32_t k = 0; k < program.kernel_count; k++) {
            if (program.plan->schedules[k].family != KILN_FAMILY_ATTENTION)
                continue;
            compiled++;
            uint32_t scratch_bytes =
                compile_without_scratch(codegen, &program, &read.graph, k, &target);
            cr_expect_eq(scratch_bytes, 0, "kernel %u of sketch %zu keeps %u bytes on %s", k,
                         *index, scratch_bytes, target.name);
        }
        cr_expect_gt(compiled, 0, "sketch %zu for %s", *index, target.name);
        kiln_arena_fini(&arena);
        json_graph_fini(&read);
    }
    kiln_codegen_unref(codegen);
}
