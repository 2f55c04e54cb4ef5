/* Quantisation whose last block is short, on the host device, against the interpreter. */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const char *const sketches[] = {
    /* Scales are the only elements with neighbours, so that a vector lies along blocks. */
    "BlockScaleQuantize x=64,191:HALF:spread y=64,191:FP8_E4M3:spread scale=64,64 !block_size=3",
    "BlockScaleQuantize x=64,127:HALF:spread y=64,127:FP8_E4M3:spread scale=64,64 !block_size=2",
    "BlockScaleQuantize x=127,64:HALF:spread y=127,64:FP8_E4M3:spread scale=64,64:turned "
    "!block_size=2 !axis=0",
    /* A store of packed elements on the way, of whole bytes and of shared ones. */
    "Pointwise in_0=4,70 out_0=4,70:FP4_E2M1 !operation='IDENTITY' "
    "| BlockScaleQuantize x@2 y=4,70:FP8_E4M3 scale=4,3 !block_size=32",
    "Pointwise in_0=4,71 out_0=4,71:FP4_E2M1 !operation='IDENTITY' "
    "| BlockScaleQuantize x@2 y=4,71:FP8_E4M3 scale=4,3 !block_size=32",
    "Pointwise in_0=71,3 out_0=71,3:FP6_E2M3 !operation='IDENTITY' "
    "| BlockScaleQuantize x@2 y=71,3:FP8_E4M3 scale=3,3 !block_size=32 !axis=0",
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(short_blocks_run, .init = use_no_cache, .timeout = 250);

Test(short_blocks_run, agree_with_the_interpreter)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_lower_options own = {.host_wave_size = 0};
        const struct kiln_lower_options waves = {.host_wave_size = i % 2 == 0 ? 32 : 64};
        run_checked_sketch(sketches[i], &own);
        run_checked_sketch(sketches[i], &waves);
    }
}
