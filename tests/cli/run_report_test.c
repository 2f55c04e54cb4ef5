/* The verdict of a run: what counts as wrong. */
#include "cli/run_report.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 3, GUARD = 8 };

static struct kiln_tensor tensors[2] = {
    {.uid = 1,
     .name = "x",
     .dtype = KILN_DTYPE_F32,
     .role = KILN_TENSOR_INPUT,
     .producer = KILN_NONE},
    {.uid = 2, .name = "y", .dtype = KILN_DTYPE_F32, .role = KILN_TENSOR_OUTPUT, .producer = 0},
};
static struct kiln_node node = {.kind = KILN_NODE_POINTWISE,
                                .name = "abs",
                                .input_count = 1,
                                .output_count = 1,
                                .inputs = {0},
                                .outputs = {1},
                                .pointwise = {.mode = KILN_POINTWISE_ABS}};
static const struct kiln_graph graph = {
    .name = "", .tensor_count = 2, .node_count = 1, .tensors = tensors, .nodes = &node};

/* Guard, three floats, guard: as the device was given it, and as it came back. */
static struct image {
    unsigned char guard[GUARD];
    float elements[ELEMENTS];
    unsigned char guard_behind[GUARD];
} before[2], after[2];

static double expected[ELEMENTS] = {1, 2, 3};
static double bound[ELEMENTS] = {1e-6, 1e-6, 1e-6};

static enum kiln_run_verdict judge(bool verified, bool json)
{
    static const struct kiln_device_ops ops = {.name = "fake"};
    static struct kiln_device device = {.ops = &ops, .target = {.name = "fake:1"}};
    struct kiln_tensor_memory memories[2];
    struct kiln_reference_tensor reference[2] = {{expected, NULL, bound, NULL},
                                                 {expected, NULL, bound, NULL}};
    for (int i = 0; i < 2; i++) {
        tensors[i].rank = 1;
        tensors[i].dims[0] = ELEMENTS;
        tensors[i].strides[0] = 1;
        memories[i] = (struct kiln_tensor_memory){.tensor = &tensors[i],
                                                  .bytes = sizeof(before[i].elements),
                                                  .offset = GUARD,
                                                  .allocated_bytes = sizeof(before[i]),
                                                  .before = (unsigned char *)&before[i],
                                                  .after = (unsigned char *)&after[i]};
    }
    struct kiln_run_report report = {.path = "g",
                                     .graph = &graph,
                                     .device = &device,
                                     .memories = memories,
                                     .reference = verified ? reference : NULL,
                                     .kernels = 1};
    enum kiln_run_verdict verdict = kiln_run_report_print(&report, json);
    fflush(stdout);
    return verdict;
}

static void set_up(void)
{
    cr_redirect_stdout();
    cr_redirect_stderr();
    static const float right[ELEMENTS] = {1, 2, 3};
    memcpy(after[1].elements, right, sizeof(right));
}

TestSuite(run_report, .init = set_up);

Test(run_report, right_results_pass)
{
    cr_assert_eq(judge(true, false), KILN_RUN_GOOD);
}

Test(run_report, one_wrong_element_fails)
{
    after[1].elements[1] = 2.5f;
    cr_assert_eq(judge(true, false), KILN_RUN_WRONG);
    cr_assert_eq(judge(false, false), KILN_RUN_GOOD, "nothing to compare with");
}

Test(run_report, an_unexpected_nan_fails)
{
    after[1].elements[2] = NAN;
    cr_assert_eq(judge(true, false), KILN_RUN_WRONG);
}

Test(run_report, an_infinite_bound_is_no_verdict)
{
    after[1].elements[0] = -7;
    bound[0] = INFINITY;
    cr_assert_eq(judge(true, false), KILN_RUN_UNJUDGED);
    cr_assert_eq(judge(true, true), KILN_RUN_UNJUDGED);
    cr_assert_eq(judge(false, false), KILN_RUN_GOOD, "nothing was to be judged");
    after[1].elements[1] = 2.5f;
    cr_assert_eq(judge(true, false), KILN_RUN_WRONG, "what is wrong comes first");
}

Test(run_report, stray_bytes_fail_even_without_reference)
{
    after[1].guard_behind[0] = 1;
    cr_assert_eq(judge(false, false), KILN_RUN_WRONG);
}

Test(run_report, a_changed_input_fails)
{
    after[0].elements[0] = 1;
    cr_assert_eq(judge(false, true), KILN_RUN_WRONG);
}
