/*
 * Kernels that spill: which of them is compiled again, in which form of its schedule, and which
 * form is taken.
 */
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"

#include "runtime/support/log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(kernel_forms, .init = plan_fixture_init, .fini = plan_fixture_fini);

static char warning[1024];
static unsigned warning_count;

static void hear(enum kiln_log_level level, const char *message)
{
    if (level < KILN_LOG_WARN)
        return;
    snprintf(warning, sizeof warning, "%s", message);
    warning_count++;
}

/* Three kernels, of which the second spills so many bytes in its forms. */
static struct kiln_engine *engine_of_spills(const uint32_t spilled_bytes[4])
{
    kiln_log_set_sink(hear);
    kiln_log_set_level(KILN_LOG_INFO);
    fake_pipeline.kernel_count = 3;
    fake_pipeline.form_count = 4;
    fake_pipeline.spilling_kernel = 2;
    memcpy(fake_pipeline.spilled_bytes, spilled_bytes, sizeof fake_pipeline.spilled_bytes);
    return plan_fixture_engine();
}

static void expect_forms(const struct kiln_plan *plan, uint32_t first, uint32_t second,
                         uint32_t third)
{
    cr_expect_eq(kiln_plan_kernel_form(plan, 0), first);
    cr_expect_eq(kiln_plan_kernel_form(plan, 1), second);
    cr_expect_eq(kiln_plan_kernel_form(plan, 2), third);
}

Test(kernel_forms, only_the_kernel_that_spills_takes_another_form)
{
    struct kiln_engine *engine = engine_of_spills((uint32_t[4]){28, 40, 0, 0});
    struct kiln_plan *plan = plan_fixture_plan(engine);
    expect_forms(plan, 0, 2, 0);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 1);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 3 + 2);
    cr_expect_eq(atomic_load(&fake_pipeline.dumped), 0);
    cr_expect_eq(warning_count, 0, "%s", warning);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_assert_eq(kiln_plan_execute(plan, NULL, NULL, buffers, 3, &fixture.error), KILN_OK);
    for (uint32_t i = 0; i < 3; i++) {
        const struct kiln_stand_in_call *call =
            stand_in_find(&fixture.hip, "hipModuleLaunchKernel", i);
        cr_expect_eq(call->arguments[4], i == 1 ? 256 : 64,
                     "kernel %u is launched as it was compiled", (unsigned)i);
    }
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(kernel_forms, the_cache_keeps_what_came_out)
{
    struct kiln_engine *engine = engine_of_spills((uint32_t[4]){28, 0, 0, 0});
    kiln_plan_unref(plan_fixture_plan(engine));
    kiln_engine_unref(engine);
    engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK);
    expect_forms(plan, 0, 1, 0);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 3 + 1);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(kernel_forms, where_all_spill_the_one_that_spills_least_is_taken)
{
    struct kiln_engine *engine = engine_of_spills((uint32_t[4]){28, 12, 40, 12});
    struct kiln_plan *plan = plan_fixture_plan(engine);
    expect_forms(plan, 0, 1, 0);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 3 + 3);
    cr_expect_eq(warning_count, 1);
    cr_expect_not_null(strstr(warning, "kernel 'kernel_2' is slower"), "%s", warning);
    cr_expect_not_null(strstr(warning, "12 bytes per work-item"), "%s", warning);
    cr_expect_str_empty(fixture.error.text);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

/* A spill is no reason to fail: not even when nothing else compiles. */
Test(kernel_forms, the_form_that_spills_is_taken_when_the_others_do_not_compile)
{
    struct kiln_engine *engine = engine_of_spills((uint32_t[4]){28, 0, 0, 0});
    fake_pipeline.failing_from_form = 1;
    struct kiln_plan *plan = plan_fixture_plan(engine);
    expect_forms(plan, 0, 0, 0);
    cr_expect_eq(warning_count, 1);
    cr_expect_eq(atomic_load(&fake_pipeline.dumped), 0);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}
