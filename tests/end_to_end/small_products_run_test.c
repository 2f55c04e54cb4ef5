/*
 * Batches of small products on the host device, against the interpreter: types, layouts, batches
 * that operands share, and what is computed before and after them.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const char *const sketches[] = {
    "Matmul a=70,3,3:HALF b=70,3,3:HALF c=70,3,3:HALF",
    "Matmul a=70,3,3 b=70,3,1 c=70,3,1",
    "Matmul a=33,4,4:BFLOAT16:turned b=33,4,4:BFLOAT16 c=33,4,4:BFLOAT16",
    "Matmul a=9,16,16:HALF b=9,16,16:HALF:turned c=9,16,16:HALF",
    "Matmul a=9,5,7:DOUBLE b=9,7,6:DOUBLE c=9,5,6:DOUBLE:turned",
    "Matmul a=20,3,9:INT8 b=20,9,3:INT8 c=20,3,3:INT32",
    "Matmul a=20,4,33:INT8:turned b=20,33,5:INT8 c=20,4,5:INT32:turned",
    "Matmul a=12,8,8:FP8_E4M3 b=12,8,8:FP8_E5M2 c=12,8,8:HALF",
    "Matmul a=6,17,13 b=6,13,11 c=6,17,11",
    "Matmul a=5,1,40:HALF b=5,40,3:HALF c=5,1,3:HALF",
    /* Batches: of several axes, that an operand does not have, or has once for several. */
    "Matmul a=3,5,4,4:HALF b=3,5,4,4:HALF c=3,5,4,4:HALF",
    "Matmul a=30,4,3 b=1,3,4 c=30,4,4",
    "Matmul a=1,4,3 b=30,3,4 c=30,4,4",
    "Matmul a=5,1,4,3 b=1,6,3,4 c=5,6,4,4",
    "Matmul a=12,4,3 b=4,3,4 c=12,4,4",
    /* Before and after. */
    "Pointwise in_0=40,4,6:INT8 in_1=40,1,1 out_0=40,4,6:virtual !operation='MUL' "
    "| Matmul a@3 b=40,6,8:HALF c=40,4,8:virtual "
    "| Pointwise in_0@5 in_1=1,1,8 out_0=40,4,8:virtual !operation='ADD' "
    "| Pointwise in_0@7 out_0=40,4,8:HALF !operation='GELU_FWD'",
    "Matmul a=25,8,8:HALF b=25,8,8:HALF c=25,8,8:virtual "
    "| Matmul a@1 b=25,8,8:HALF c=25,8,8:virtual "
    "| Pointwise in_0@3 out_0=25,8,8:virtual !operation='SIGMOID_FWD' "
    "| Pointwise in_0@6 in_1@5 out_0=25,8,8:HALF !operation='MUL'",
    "Matmul a=25,6,5 b=25,5,12 c=25,6,12 | Reduction in@3 out=25,6,1 !mode='ADD'",
    "Matmul a=25,6,5 b=25,5,12 c=25,6,12:virtual "
    "| Layernorm x@3 scale=1,1,12 bias=1,1,12 epsilon=k y=25,6,12 !normalized_dim_count=1",
    "Matmul a=25,6,5 b=25,5,12:turned c=25,6,12:turned "
    "| Reduction in@3 out=25,1,12 !mode='MAX_OP'",
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(small_products_run, .init = use_no_cache, .timeout = 250);

Test(small_products_run, agree_with_the_interpreter)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_lower_options options = {.host_wave_size = i % 2 * 32,
                                                   .contraction = {.form = KILN_CONTRACTION_SMALL}};
        run_checked_sketch(sketches[i], &options);
    }
}

/* Work-groups that take several pieces of work; blocks of one element. */
Test(small_products_run, in_few_groups_and_small_blocks)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_lower_options options = {.host_wave_size = (i + 1) % 2 * 32,
                                                   .max_groups = i % 3 == 0 ? 0 : 1,
                                                   .max_vector_elements = i % 3 == 1 ? 0 : 1,
                                                   .contraction = {.form = KILN_CONTRACTION_SMALL}};
        run_checked_sketch(sketches[i], &options);
    }
}
