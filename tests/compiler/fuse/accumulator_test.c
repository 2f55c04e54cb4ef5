/*
 * The table of accumulators, against what its users allocate by it.
 */
#include "compiler/fuse/accumulator.h"

#include <criterion/criterion.h>

Test(accumulator, components_fit_what_is_allocated_for_them)
{
    uint32_t most = 0;
    for (int i = 0; i < KILN_ACCUMULATOR_COUNT; i++) {
        const struct kiln_accumulator_info *info =
            kiln_accumulator_info((enum kiln_accumulator_kind)i);
        cr_expect_gt(info->components, 0);
        cr_expect_gt(info->cost, 0);
        most = info->components > most ? info->components : most;
    }
    cr_expect_eq(most, KILN_ACCUMULATOR_MAX_COMPONENTS);
}

Test(accumulator, every_kind_belongs_to_a_reduction)
{
    bool is_used[KILN_ACCUMULATOR_COUNT] = {false};
    for (int opcode = 0; opcode < KILN_OP_COUNT; opcode++) {
        enum kiln_opcode code = (enum kiln_opcode)opcode;
        if (kiln_opcode_info(code)->op_class == KILN_OP_CLASS_REDUCE)
            is_used[kiln_accumulator_of(code)] = true;
    }
    for (int i = 0; i < KILN_ACCUMULATOR_COUNT; i++)
        cr_expect(is_used[i], "kind %d", i);
}
