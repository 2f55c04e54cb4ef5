/* Rows and tiles whose last vectors are moved back to where they are whole, so that these start at
 * no multiple of their length. On the host device, against the interpreter. */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define DEQUANTIZE "BlockScaleDequantize "

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(moved_vectors_run, .init = use_no_cache, .timeout = 250);

static void run_as_all_waves(const char *sketch)
{
    static const uint32_t sizes[] = {0, 32, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct kiln_lower_options options = {.host_wave_size = sizes[i]};
        run_checked_sketch(sketch, &options);
    }
}

Test(moved_vectors_run, rows_have_their_blocks_scales)
{
    run_as_all_waves(DEQUANTIZE "x=64,100:FP8_E4M3 scale=64,4:FP8_E8M0 y=64,100:BFLOAT16 "
                                "!block_size=[32]");
    run_as_all_waves(DEQUANTIZE "x=64,103:FP8_E4M3 scale=64,4:FP8_E8M0 y=64,103:BFLOAT16 "
                                "!block_size=[32]");
}

Test(moved_vectors_run, tiles_have_their_blocks_scales)
{
    run_as_all_waves(DEQUANTIZE "x=256,100:FP8_E4M3:turned scale=256,4:FP8_E8M0 "
                                "y=256,100:BFLOAT16 !block_size=[32]");
    run_as_all_waves(DEQUANTIZE "x=256,103:FP8_E4M3:turned scale=256,4:FP8_E8M0 "
                                "y=256,103:BFLOAT16 !block_size=[32]");
    run_as_all_waves(DEQUANTIZE "x=103,100:FP8_E4M3:turned scale=4,100:FP8_E8M0 "
                                "y=103,100:BFLOAT16 !block_size=[32,1]");
}

Test(moved_vectors_run, reduced_rows_and_columns_have_their_blocks_scales)
{
    run_as_all_waves(DEQUANTIZE "x=64,103:FP8_E4M3 scale=64,4:FP8_E8M0 y=64,103:BFLOAT16 "
                                "!block_size=[32] | Reduction in@3 out=64,1 !mode='MAX_OP'");
    run_as_all_waves(DEQUANTIZE "x=64,103:FP8_E4M3 scale=64,4:FP8_E8M0 y=64,103:BFLOAT16 "
                                "!block_size=[32] | Reduction in@3 out=1,103 !mode='MAX_OP'");
}
