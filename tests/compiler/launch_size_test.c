/*
 * Launches of graphs that are larger than a device takes at once: kernels of every family and
 * form, on every target. No kernel runs here; random_graphs --groups runs such kernels with
 * launches of a few work-groups.
 */
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
#include <string.h>

#define ATTRIBUTES                                                                                 \
    " !pre_padding=[1,1] !post_padding=[1,1] !stride=[1,1] !dilation=[1,1] "                       \
    "!conv_mode='CROSS_CORRELATION' "
#define HEADS "4194304,16,"

static const struct {
    const char *sketch;
    struct kiln_contraction_options forced;
    bool is_in_few_groups; /* several products share one, or as many as fill the target */
    bool is_for_gpus;      /* a CPU's small pieces would be more than 2^31 */
} graphs[] = {
    {.sketch = "Pointwise in_0=4294967296,33 in_1=33 out_0=4294967296,33 !operation='ADD'"},
    {.sketch = "Pointwise in_0=4194304,65536:turned in_1=4194304,65536 out_0=4194304,65536 "
               "!operation='ADD'"},
    {.sketch = "Reduction in=134217728,1024 out=134217728,1 !mode='ADD'"},
    {.sketch = "Reduction in=1000,8589934592 out=1,8589934592 !mode='ADD'"},
    {.sketch = "Reduction in=16,1073741824 out=16,1 !mode='ADD'", .is_in_few_groups = true},
    {.sketch = "Reduction in=268435456,2048,2 out=268435456,1,2 !mode='MAX_OP'"},
    {.sketch = "Matmul a=16777216,3,3:HALF b=16777216,3,3:HALF c=16777216,3,3:HALF",
     .is_in_few_groups = true},
    {.sketch = "Matmul a=16777216,3,3:HALF b=16777216,3,3:HALF c=16777216,3,3:HALF",
     .forced = {.form = KILN_CONTRACTION_STREAMED}},
    {.sketch = "Matmul a=1610612736,2,2:HALF b=1610612736,2,2:HALF c=1610612736,2,2:HALF"},
    {.sketch = "Matmul a=1073741824,16,16:HALF b=1073741824,16,16:HALF c=1073741824,16,16:HALF"},
    {.sketch = "Matmul a=18670176,3,3 b=18670176,3,1 c=18670176,3,1", .is_in_few_groups = true},
    {.sketch = "Matmul a=67108864,48,64:HALF b=67108864,64,48:HALF c=67108864,48,48:HALF"},
    {.sketch = "Matmul a=16777216,48,64:INT8 b=16777216,64,48:INT8 c=16777216,48,48:INT32"},
    {.sketch = "Matmul a=67108864,48,64:DOUBLE b=67108864,64,48:DOUBLE c=67108864,48,48:DOUBLE"},
    {.sketch = "Matmul a=4194304,256,64:HALF b=1,64,256:HALF c=4194304,256,256:HALF"},
    {.sketch = "Matmul a=16777216,48,64:HALF b=16777216,64,48:HALF c=16777216,48,48:virtual "
               "| Reduction in@3 out=16777216,48,1 !mode='MAX_OP'"},
    {.sketch = "Matmul a=1048576,128,64:HALF b=1048576,64,2048:HALF "
               "c=1048576,128,2048:virtual | Reduction in@3 out=1048576,128,1 !mode='ADD'"},
    {.sketch = "Matmul a=16777216,48,512:HALF b=16777216,512,48:HALF c=16777216,48,48:HALF",
     .forced = {.segments = 4}},
    {.sketch = "Matmul a=16777216,48,64:HALF b=16777216,64,48:HALF c=16777216,48,48:HALF",
     .forced = {.form = KILN_CONTRACTION_PLAIN}},
    {.sketch = "Matmul a=16777216,48,64:HALF b=16777216,64,48:HALF c=16777216,48,48:HALF",
     .forced = {.form = KILN_CONTRACTION_STREAMED}},
    {.sketch = "Matmul a=16777216,64,128:HALF b=16777216,128,64:HALF c=16777216,64,64:HALF "
               "| Reduction in@1 out=16777216,64,1 !mode='ADD'",
     .forced = {.segments = 1}},
    {.sketch = "ConvolutionFwd x=200000,1024,56,56:HALF:last w=1024,1,3,3:HALF:last "
               "y=200000,1024,56,56:HALF:last" ATTRIBUTES,
     .is_for_gpus = true},
    {.sketch = "ConvolutionFwd x=200000,1024,56,56:HALF w=1024,1,3,3:HALF "
               "y=200000,1024,56,56:HALF" ATTRIBUTES,
     .is_for_gpus = true},
    {.sketch = "ConvolutionBwd dy=2000000,512,28,28:HALF:last w=512,256,3,3:HALF:last "
               "dx=2000000,256,28,28:HALF:last" ATTRIBUTES,
     .is_for_gpus = true},
    {.sketch = "Sdpa q=" HEADS "49,32:HALF k=" HEADS "49,32:HALF v=" HEADS "49,32:HALF o=" HEADS
               "49,32:HALF"},
    {.sketch = "Sdpa q=" HEADS "1,64:HALF k=" HEADS "64,64:HALF v=" HEADS "64,64:HALF o=" HEADS
               "1,64:HALF",
     .forced = {.segments = 2}},
    {.sketch = "SdpaBackward q=" HEADS "49,32:HALF k=" HEADS "49,32:HALF v=" HEADS
               "49,32:HALF o=" HEADS "49,32:HALF do=" HEADS "49,32:HALF stats=" HEADS
               "49,1:FLOAT dq=" HEADS "49,32:HALF dk=" HEADS "49,32:HALF dv=" HEADS "49,32:HALF"},
};

enum { GRAPHS = sizeof graphs / sizeof *graphs };

static const char *const targets[] = {
#define KILN_TARGET(name, ...) #name,
#include "compiler/codegen/targets.def"
    "host",
};

enum { TARGETS = sizeof targets / sizeof *targets };

static bool is_launch_possible(const struct kiln_schedule *schedule)
{
    return schedule->launch.grid != 0 &&
           (uint64_t)schedule->launch.grid * schedule->launch.block <= UINT32_MAX &&
           schedule->launch.grid <= INT32_MAX &&
           schedule->launch.grid % schedule->launch.grid_unit == 0;
}

TestSuite(launch_size, .timeout = 120);

Test(launch_size, no_launch_is_larger_than_a_device_takes)
{
    for (size_t g = 0; g < GRAPHS; g++) {
        bool is_any_clamped = false;
        for (size_t t = 0; t < TARGETS; t++) {
            if (graphs[g].is_for_gpus && strcmp(targets[t], "host") == 0)
                continue;
            const struct kiln_lower_options options = {.contraction = graphs[g].forced};
            struct sketched_plans *plans = calloc(1, sizeof *plans);
            cr_assert_not_null(plans);
            sketched_plans_init(plans);
            const struct kiln_kernel_plan plan =
                sketched_plans_make(plans, graphs[g].sketch, targets[t], &options);
            for (uint32_t i = 0; i < plan.partition.group_count; i++) {
                const struct kiln_schedule *schedule = &plan.schedules[i];
                cr_expect(is_launch_possible(schedule), "kernel %u of '%s' for %s: %u x %u",
                          (unsigned)i, graphs[g].sketch, targets[t],
                          (unsigned)schedule->launch.grid, (unsigned)schedule->launch.block);
                is_any_clamped |= kiln_schedule_has_turns(schedule);
            }
            sketched_plans_fini(plans);
            free(plans);
        }
        cr_expect_neq(is_any_clamped, graphs[g].is_in_few_groups, "'%s' ", graphs[g].sketch);
    }
}

/* A kernel whose sizes are arguments has one text for all ordinary launches, without a loop. Huge
 * launches share another one. */
Test(launch_size, ordinary_launches_have_no_loop)
{
    static const char *const sketches[] = {
        "Matmul a=65536,48,64:HALF b=65536,64,48:HALF c=65536,48,48:HALF",
        "Matmul a=4194304,48,64:HALF b=4194304,64,48:HALF c=4194304,48,48:HALF",
        "Matmul a=67108864,48,64:HALF b=67108864,64,48:HALF c=67108864,48,48:HALF",
        "Matmul a=83886080,48,64:HALF b=83886080,64,48:HALF c=83886080,48,48:HALF",
    };
    enum { SKETCHES = sizeof sketches / sizeof *sketches };
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_program programs[SKETCHES];
    for (size_t i = 0; i < SKETCHES; i++) {
        programs[i] = sketch_lower(&arena, sketches[i], "gfx942", NULL);
        bool has_turns = strstr(programs[i].kernels[0].source, "#define KILN_HAS_TURNS 1") != NULL;
        cr_expect_eq(has_turns, i >= 2, "%s", sketches[i]);
    }
    cr_expect_str_eq(programs[0].kernels[0].symbol, programs[1].kernels[0].symbol);
    cr_expect_str_neq(programs[1].kernels[0].symbol, programs[2].kernels[0].symbol);
    cr_expect_str_eq(programs[2].kernels[0].symbol, programs[3].kernels[0].symbol);
    kiln_arena_fini(&arena);
}

/* max_groups stands for the limit of a device. */
Test(launch_size, the_limit_can_be_lowered)
{
    struct sketched_plans *plans = calloc(1, sizeof *plans);
    cr_assert_not_null(plans);
    sketched_plans_init(plans);
    for (size_t t = 0; t < TARGETS; t++) {
        const struct kiln_lower_options options = {.max_groups = 3};
        const struct kiln_kernel_plan plan = sketched_plans_make(
            plans, "Matmul a=8,256,64:HALF b=8,64,256:HALF c=8,256,256:HALF", targets[t], &options);
        cr_expect_eq(plan.schedules[0].launch.grid, 3, "%s", targets[t]);
    }
    sketched_plans_fini(plans);
    free(plans);
}
