/*
 * The tables of families that schedules and texts come from: complete.
 */
#include "compiler/emit/emit_family.h"
#include "compiler/schedule/schedule_family.h"

#include <criterion/criterion.h>

Test(schedule_family, every_family_can_be_scheduled_and_emitted)
{
    for (int i = 0; i < KILN_FAMILY_COUNT; i++) {
        const char *name = kiln_family_name((enum kiln_kernel_family)i);
        const struct kiln_schedule_family *schedule =
            kiln_schedule_family((enum kiln_kernel_family)i);
        cr_assert_neq(schedule, NULL, "%s", name);
        cr_expect_neq(schedule->schedule, NULL, "%s", name);
        cr_expect_neq(schedule->relax, NULL, "%s", name);
        cr_expect_neq(schedule->is_same, NULL, "%s", name);
        cr_expect_neq(schedule->time, NULL, "%s", name);
        cr_expect_neq(schedule->print, NULL, "%s", name);
        const struct kiln_emit_family *emit = kiln_emit_family((enum kiln_kernel_family)i);
        cr_assert_neq(emit, NULL, "%s", name);
        cr_expect_neq(emit->defines, NULL, "%s", name);
        cr_expect_neq(emit->headers, NULL, "%s", name);
        cr_expect_neq(emit->text, NULL, "%s", name);
        cr_expect_neq(emit->uses_barrier, NULL, "%s", name);
        for (int other = 0; other < i; other++) {
            cr_expect_neq(schedule, kiln_schedule_family((enum kiln_kernel_family)other), "%s",
                          name);
            cr_expect_neq(emit, kiln_emit_family((enum kiln_kernel_family)other), "%s", name);
        }
    }
}
