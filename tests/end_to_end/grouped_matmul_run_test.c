/*
 * Grouped products on the host device: damaged offsets and indices against the interpreter, which
 * says what they mean, and rows that are scattered twice, which only must not leave the tensor.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OFFSETS "first_token_offset=6,1,1:INT32 "
#define TOKENS  "MoeGroupedMatmul token=1,37,20:HALF weight=3,20,24:HALF:turned " OFFSETS
#define ROWS    "token_index=1,37,1:INT32 token_ks=1,37,1:INT32 output=1,37,24:HALF "

static const char *const sketches[] = {
    TOKENS "output=1,37,24:HALF",
    TOKENS "token_index=1,41,1:INT32 output=1,41,24:HALF !mode='GATHER'",
    TOKENS ROWS "!mode='SCATTER' !top_k=2",
    /* The row that is gathered is not the first. */
    TOKENS "token_index=1,1,1:INT32 output=1,1,24:HALF !mode='GATHER'",
    "MoeGroupedMatmulBwd doutput=1,37,24:HALF token=1,37,20:HALF " OFFSETS "dweight=6,20,24:HALF",
    TOKENS "output=1,37,24:virtual "
           "| Pointwise in_0@4 in_1=1,1,24:HALF out_0=1,37,24:HALF !operation='ADD'",
};

/* What is put in place of the offsets and the indices of a test. */
static const int32_t *numbers;
static uint32_t number_count;

static void put_numbers(const struct kiln_graph *graph, void *const *memory)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (graph->tensors[i].dtype != KILN_DTYPE_I32)
            continue;
        int32_t *to = memory[i];
        for (int64_t n = 0; n < kiln_tensor_elements(&graph->tensors[i]); n++)
            to[n] = numbers[n % number_count];
    }
}

static const int32_t falling[] = {30, 20, 10, 0, -10, 5};
static const int32_t beyond[] = {0, 38, 1000, INT32_MAX, 37, INT32_MAX};
static const int32_t negative[] = {-1, INT32_MIN, -5, -5, INT32_MIN, -1};
static const int32_t mixed[] = {INT32_MAX, INT32_MIN, 12, 36, 1 << 30, -(1 << 30)};
static const int32_t zeros[] = {0, 0, 0, 0, 0, 0};

static const struct {
    const int32_t *numbers;
    uint32_t count;
} damages[] = {{falling, 6}, {beyond, 6}, {negative, 6}, {mixed, 6}};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(grouped_matmul_run, .init = use_no_cache, .timeout = 250);

/* Numbers with which two rows are scattered to one are the next test's. */
static bool are_rows_apart(const char *sketch, const int32_t *list)
{
    return strstr(sketch, "SCATTER") == NULL || list == negative;
}

Test(grouped_matmul_run, damaged_numbers_agree_with_the_interpreter)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        for (size_t d = 0; d < sizeof damages / sizeof *damages; d++) {
            const struct kiln_lower_options options = {.host_wave_size = d % 2 * 32};
            numbers = damages[d].numbers;
            number_count = damages[d].count;
            if (are_rows_apart(sketches[i], numbers))
                run_prepared_sketch(sketches[i], &options, put_numbers);
        }
    }
}

/* Which row wins is not specified. Tensors end with their memory, which the allocator checks. */
static void expect_nothing(const struct kiln_graph *graph, void *const *memory)
{
    (void)graph, (void)memory;
}

Test(grouped_matmul_run, rows_scattered_twice_stay_in_the_tensor)
{
    const struct kiln_lower_options options = {0};
    const int32_t *lists[] = {zeros, falling, beyond, mixed};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        numbers = lists[i];
        number_count = 6;
        run_sketch(sketches[2], &options, put_numbers, expect_nothing);
    }
}

/* Work-groups that take several pieces of work, and lanes that load what they multiply. */
Test(grouped_matmul_run, in_few_groups_and_streamed)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_lower_options few = {.max_groups = 2};
        const struct kiln_lower_options streamed = {
            .contraction = {.form = KILN_CONTRACTION_STREAMED}};
        run_checked_sketch(sketches[i], &few);
        run_checked_sketch(sketches[i], &streamed);
    }
}
