/* Gradients of pooling, on the host device, against the interpreter. */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define POOLING(stride, window)                                                                    \
    " !resample_mode='MAXPOOL' !padding_mode='NEG_INF_PAD' !pre_padding=[0,0] "                    \
    "!post_padding=[0,0] !stride=[" stride "] !window=[" window "]"

static const char *const sketches[] = {
    /* Windows of one element: the results of a vector would have one position. */
    "ResampleBwd dy=1,14,1,4 index=1,14,1,4:INT32 dx=1,14,3,4" POOLING("4,1", "1,1"),
    "ResampleBwd dy=2,3,4,8:HALF index=2,3,4,8:INT8 dx=2,3,4,8:HALF" POOLING("1,1", "1,1"),
    "ResampleBwd dy=2,3,4,8 index=2,3,4,8:INT32 dx=2,3,8,16" POOLING("2,2", "2,2"),
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(pooling_run, .init = use_no_cache, .timeout = 250);

Test(pooling_run, gradients_agree_with_the_interpreter)
{
    const struct kiln_lower_options options = {0};
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++)
        run_checked_sketch(sketches[i], &options);
}
