/*
 * Products whose waves share nothing but k and stage their own slices of it, on the host device,
 * against the interpreter. Work-items of a wave run one after another there, so each fence that a
 * wave needs is needed for the values.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const char *const sketches[] = {
    "Matmul a=16,1024:HALF b=1024,32:HALF:turned c=16,32:HALF",
    "Matmul a=32,512 b=512,32:turned c=32,32",
    /* Tiles of k that are not whole. */
    "Matmul a=16,1100:HALF b=1100,32:HALF:turned c=16,32:HALF",
    "Matmul a=19,1037:HALF b=1037,21:HALF:turned c=19,21:HALF",
    "Matmul a=16,2048:INT8 b=2048,32:INT8:turned c=16,32:INT32",
    /* Computed before it is staged. */
    "Pointwise in_0=1024,24:INT8:turned in_1=1,24 out_0=1024,24:virtual !operation='MUL' "
    "| Matmul a=16,1024:HALF b@3 c=16,24:HALF",
    "BlockScaleDequantize x=1024,24:FP4_E2M1:turned scale=32,24:FP8_E8M0:turned "
    "y=1024,24:virtual !block_size=[32,1] | Matmul a=16,1024:BFLOAT16 b@3 c=16,24:BFLOAT16",
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(waves_apart_run, .init = use_no_cache, .timeout = 250);

Test(waves_apart_run, agree_with_the_interpreter)
{
    for (size_t i = 0; i < 2 * sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_lower_options options = {.host_wave_size = i % 2 == 0 ? 32 : 64,
                                                   .contraction = {.form = KILN_CONTRACTION_PLAIN}};
        run_checked_sketch(sketches[i / 2], &options);
    }
}
