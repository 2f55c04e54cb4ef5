#include "compiler/fuse/workspace.h"

#include <criterion/criterion.h>

Test(workspace, nothing_needs_nothing)
{
    cr_assert_eq(kiln_workspace_assign(NULL, 0), 0);
}

Test(workspace, values_alive_together_lie_apart)
{
    struct kiln_workspace_value values[] = {
        {.bytes = 100, .first_group = 0, .last_group = 2},
        {.bytes = 300, .first_group = 1, .last_group = 2},
    };
    cr_assert_eq(kiln_workspace_assign(values, 2), 256 + 512);
    cr_assert_eq(values[0].offset_bytes, 0);
    cr_assert_eq(values[1].offset_bytes, 256);
}

Test(workspace, dead_values_give_their_place_back)
{
    struct kiln_workspace_value values[] = {
        {.bytes = 1024, .first_group = 0, .last_group = 1},
        {.bytes = 512, .first_group = 1, .last_group = 2},
        {.bytes = 700, .first_group = 2, .last_group = 3},
    };
    cr_assert_eq(kiln_workspace_assign(values, 3), 1024 + 512);
    cr_assert_eq(values[1].offset_bytes, 1024);
    cr_assert_eq(values[2].offset_bytes, 0);
}

Test(workspace, a_value_read_by_the_group_that_writes_another_stays)
{
    struct kiln_workspace_value values[] = {
        {.bytes = 256, .first_group = 0, .last_group = 1},
        {.bytes = 256, .first_group = 1, .last_group = 2},
    };
    cr_assert_eq(kiln_workspace_assign(values, 2), 512);
}

Test(workspace, gaps_between_living_values_are_used)
{
    struct kiln_workspace_value values[] = {
        {.bytes = 256, .first_group = 0, .last_group = 9},
        {.bytes = 256, .first_group = 0, .last_group = 1},
        {.bytes = 256, .first_group = 0, .last_group = 9},
        {.bytes = 256, .first_group = 2, .last_group = 3},
    };
    cr_assert_eq(kiln_workspace_assign(values, 4), 768);
    cr_assert_eq(values[3].offset_bytes, 256);
}
