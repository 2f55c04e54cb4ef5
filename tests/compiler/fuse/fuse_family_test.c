/*
 * The partitioner's table of families: complete, and each operation in one of them.
 */
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"

#include <criterion/criterion.h>
#include <string.h>

Test(fuse_family, every_family_answers_what_the_partitioner_asks)
{
    for (int i = 0; i < KILN_FAMILY_COUNT; i++) {
        const struct kiln_fuse_family *family = kiln_fuse_family((enum kiln_kernel_family)i);
        const char *name = kiln_family_name((enum kiln_kernel_family)i);
        cr_assert_neq(family, NULL, "%s", name);
        cr_expect_gt(family->max_accesses, 0, "%s", name);
        cr_expect_leq(family->max_accesses, KILN_GROUP_MAX_ACCESSES, "%s", name);
        cr_expect_gt(strlen(kiln_family_text((enum kiln_kernel_family)i)), 0, "%s", name);
        if (family->place == NULL)
            continue;
        cr_expect_neq(family->may_compute, NULL, "%s", name);
        cr_expect_eq((int)kiln_family_boundary((enum kiln_kernel_family)i),
                     KILN_BOUNDARY_OF_POINTWISE + i, "%s", name);
        for (int other = 0; other < i; other++)
            cr_expect_neq(family, kiln_fuse_family((enum kiln_kernel_family)other), "%s", name);
    }
}

Test(fuse_family, operations_that_are_done_once_have_a_family_that_places_them)
{
    for (int opcode = 0; opcode < KILN_OP_COUNT; opcode++) {
        struct kiln_op op = {.opcode = (enum kiln_opcode)opcode, .map = KILN_NONE};
        bool is_placed = kiln_fuse_family_of_op(&op)->place != NULL;
        enum kiln_op_class op_class = kiln_opcode_info(op.opcode)->op_class;
        bool is_done_once = op_class == KILN_OP_CLASS_REDUCE ||
                            op_class == KILN_OP_CLASS_CONTRACT ||
                            op_class == KILN_OP_CLASS_ATTENTION;
        cr_expect_eq(is_placed, is_done_once, "%s", kiln_opcode_info(op.opcode)->text);
        cr_expect_eq(kiln_op_is_core(&op), is_done_once);
        op.map = 0;
        if (op_class == KILN_OP_CLASS_REDUCE)
            cr_expect_eq(kiln_family_of_op(&op), KILN_FAMILY_POOLING);
    }
}
