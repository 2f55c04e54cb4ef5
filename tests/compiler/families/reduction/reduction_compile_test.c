/*
 * Kernels of reductions compile for every kind of GPU: within what the recipe promises, so without
 * scratch memory and with exactly the local memory that the schedule counts
 * (compiler/codegen/code_object.h).
 */
#include "compiler/codegen/codegen.h"
#include "compiler/codegen/isa_text.h"
#include "compiler/emit/emit.h"
#include "tests/compiler/families/reduction/reduction_fixture.h"
#include "tests/runtime/support/test_share.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

static const char *const targets[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};

/* Rows held and rows too long for that, columns few and many, tails, several lines. */
static const struct reduction_case cases[] = {
    {.content = REDUCTION_NORM,
     .rank = 2,
     .dims = {4096, 4096},
     .reduced_axes = 2,
     .dtype = KILN_DTYPE_F16},
    {.content = REDUCTION_SOFTMAX,
     .rank = 2,
     .dims = {100, 32001},
     .reduced_axes = 2,
     .dtype = KILN_DTYPE_F16},
    {.content = REDUCTION_STATISTICS,
     .rank = 4,
     .dims = {32, 64, 56, 55},
     .reduced_axes = 13,
     .dtype = KILN_DTYPE_F32},
    {.content = REDUCTION_STATISTICS,
     .rank = 2,
     .dims = {50176, 64},
     .reduced_axes = 1,
     .dtype = KILN_DTYPE_F64},
    {.content = REDUCTION_NORM,
     .rank = 4,
     .dims = {8, 256, 28, 28},
     .reduced_axes = 2,
     .dtype = KILN_DTYPE_F16},
    {.content = REDUCTION_CENTERED,
     .rank = 2,
     .dims = {300, 1023},
     .reduced_axes = 1,
     .dtype = KILN_DTYPE_F32},
    {.content = REDUCTION_STATISTICS,
     .role = KILN_ROLE_PARTIAL,
     .rank = 2,
     .dims = {65536, 100},
     .reduced_axes = 1,
     .dtype = KILN_DTYPE_F16,
     .segment_count = 128},
    {.content = REDUCTION_STATISTICS,
     .role = KILN_ROLE_COMBINE,
     .rank = 2,
     .dims = {65536, 100},
     .reduced_axes = 1,
     .dtype = KILN_DTYPE_F16,
     .segment_count = 128},
    {.content = REDUCTION_SUM,
     .role = KILN_ROLE_PARTIAL,
     .rank = 2,
     .dims = {1, 1000003},
     .reduced_axes = 2,
     .dtype = KILN_DTYPE_F64,
     .segment_count = 200},
    {.content = REDUCTION_STATISTICS,
     .role = KILN_ROLE_COMBINE,
     .rank = 2,
     .dims = {1, 1000003},
     .reduced_axes = 2,
     .dtype = KILN_DTYPE_F64,
     .segment_count = 200},
    /* Several chains of accumulation, indices of 64 bits. */
    {.content = REDUCTION_CENTERED,
     .rank = 2,
     .dims = {1 << 20, 65539},
     .reduced_axes = 1,
     .dtype = KILN_DTYPE_F16},
    {.content = REDUCTION_STATISTICS,
     .rank = 3,
     .dims = {1 << 28, 3, 7},
     .reduced_axes = 5,
     .dtype = KILN_DTYPE_F32},
};

/* 128 bits at once, under the names of older and of newer instruction sets. */
static void expect_wide_accesses(struct kiln_codegen *codegen, const struct kiln_target *target,
                                 const struct kiln_kernel *kernel,
                                 const struct kiln_code_object *object)
{
    struct kiln_error error;
    struct kiln_buffer text;
    kiln_error_init(&error);
    kiln_buffer_init(&text);
    enum kiln_status status = kiln_code_object_disassemble(
        codegen, target, kernel->symbol, object->bytes, object->size, &text, &error);
    if (status != KILN_UNSUPPORTED) {
        cr_assert_eq(status, KILN_OK, "%s", error.text);
        cr_expect(strstr(text.data, "global_load_dwordx4") != NULL ||
                      strstr(text.data, "global_load_b128") != NULL,
                  "no wide load for %s", target->name);
        cr_expect(strstr(text.data, "global_store_dwordx4") != NULL ||
                      strstr(text.data, "global_store_b128") != NULL,
                  "no wide store for %s", target->name);
        cr_expect_null(strstr(text.data, "flat_"), "a flat access for %s", target->name);
    }
    kiln_buffer_fini(&text);
}

static void compile(struct kiln_codegen *codegen, const char *target, size_t index)
{
    struct reduction_case reduction = cases[index];
    struct kiln_error error;
    kiln_error_init(&error);
    struct ir_fixture *fixture = reduction_fixture_create(target);
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &reduction);
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    struct kiln_emission emission = {.ir = &fixture->ir,
                                     .graph = &fixture->graph,
                                     .group = &group,
                                     .schedule = &schedule,
                                     .target = &fixture->target};
    struct kiln_kernel kernel;
    cr_assert_eq(kiln_emit_kernel(&emission, &kernel, &error), KILN_OK, "%s", error.text);
    struct kiln_code_object object;
    cr_assert_eq(kiln_codegen_compile(codegen, &fixture->target, &kernel, &object, &error), KILN_OK,
                 "case %zu for %s: %s", index, target, error.text);
    cr_expect_eq(object.resources.vgpr_spills, 0, "case %zu for %s", index, target);
    if (index == 0)
        expect_wide_accesses(codegen, &fixture->target, &kernel, &object);
    kiln_code_object_fini(&object);
    ir_fixture_destroy(fixture);
}

ParameterizedTestParameters(reduction_compile, compiles_for)
{
    static size_t indices[sizeof targets / sizeof *targets];
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, sizeof indices / sizeof *indices);
}

ParameterizedTest(size_t *index, reduction_compile, compiles_for, .timeout = 250)
{
    const char *target = targets[*index];
    struct kiln_codegen_options options = {.max_workers = 1};
    struct kiln_codegen *codegen;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_codegen_create(&options, &codegen, &error), KILN_OK, "%s", error.text);
    struct ir_fixture *fixture = reduction_fixture_create(target);
    char name[KILN_COMPILER_NAME_BYTES];
    enum kiln_status status = kiln_codegen_compiler(codegen, &fixture->target, name, &error);
    ir_fixture_destroy(fixture);
    if (status == KILN_UNSUPPORTED && strstr(error.text, "no compiler here") != NULL) {
        kiln_codegen_unref(codegen);
        cr_skip_test("%s", error.text);
    }
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (i == 0 || test_share_has(i + *index))
            compile(codegen, target, i);
    kiln_codegen_unref(codegen);
}
