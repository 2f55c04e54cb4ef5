#include "cli/random_input.h"

#include <criterion/criterion.h>
#include <math.h>

static struct kiln_tensor tensors[3] = {
    {.dtype = KILN_DTYPE_F32, .role = KILN_TENSOR_INPUT, .producer = KILN_NONE},
    {.dtype = KILN_DTYPE_F32, .role = KILN_TENSOR_INPUT, .producer = KILN_NONE},
    {.dtype = KILN_DTYPE_F32, .role = KILN_TENSOR_OUTPUT, .producer = 0},
};
static struct kiln_node node = {.kind = KILN_NODE_POINTWISE,
                                .input_count = 2,
                                .output_count = 1,
                                .inputs = {0, 1},
                                .outputs = {2}};
static const struct kiln_graph graph = {
    .name = "", .tensor_count = 3, .node_count = 1, .tensors = tensors, .nodes = &node};

static void check_range(uint32_t tensor, double low, double high, double nearest_to_zero)
{
    struct kiln_random_input random;
    kiln_random_input_init(&random, &graph, tensor, 42);
    double smallest = INFINITY;
    double largest = -INFINITY;
    for (int64_t i = 0; i < 4000; i++) {
        double value = kiln_random_input_element(&random, i).real;
        cr_assert(value >= low && value <= high && fabs(value) >= nearest_to_zero, "%g", value);
        smallest = fmin(smallest, value);
        largest = fmax(largest, value);
    }
    cr_assert_lt(smallest, low + (high - low) / 8, "the range is used");
    cr_assert_gt(largest, high - (high - low) / 8, "the range is used");
}

Test(random_input, suits_what_reads_it)
{
    node.pointwise.mode = KILN_POINTWISE_ADD;
    check_range(0, -2, 2, 0);
    node.pointwise.mode = KILN_POINTWISE_DIV;
    check_range(0, -2, 2, 0);
    check_range(1, -2, 2, 0.5);
    node.pointwise.mode = KILN_POINTWISE_LOG;
    check_range(0, 0.25, 4, 0.25);
    node.pointwise.mode = KILN_POINTWISE_LOGICAL_AND;
    check_range(1, 0, 1, 0);
}

Test(random_input, suits_what_norms_read)
{
    node.kind = KILN_NODE_BATCHNORM_TRAINING;
    node.input_roles[0] = KILN_OPERAND_X;
    node.input_roles[1] = KILN_OPERAND_EPSILON;
    check_range(0, -2, 2, 0);
    check_range(1, 0.25, 4, 0.25);
    node.input_roles[1] = KILN_OPERAND_PREV_RUNNING_VARIANCE;
    check_range(1, 0.25, 4, 0.25);
    node.input_roles[1] = KILN_OPERAND_MOMENTUM;
    check_range(1, 0, 1, 0);
}

Test(random_input, integers_stay_integers)
{
    node.pointwise.mode = KILN_POINTWISE_ADD;
    static const enum kiln_dtype types[] = {KILN_DTYPE_I8, KILN_DTYPE_U8, KILN_DTYPE_I32,
                                            KILN_DTYPE_I64, KILN_DTYPE_BOOL};
    static const int64_t low[] = {-8, 0, -8, -8, 0};
    static const int64_t high[] = {8, 15, 8, 8, 1};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct kiln_random_input random;
        tensors[0].dtype = types[i];
        kiln_random_input_init(&random, &graph, 0, 1);
        for (int64_t j = 0; j < 1000; j++) {
            struct kiln_constant value = kiln_random_input_element(&random, j);
            cr_assert(value.integer >= low[i] && value.integer <= high[i]);
            cr_assert_eq(value.real, (double)value.integer);
        }
    }
}

Test(random_input, follows_seed_and_tensor_and_nothing_else)
{
    struct kiln_random_input one;
    struct kiln_random_input same;
    struct kiln_random_input other_seed;
    struct kiln_random_input other_tensor;
    kiln_random_input_init(&one, &graph, 0, 5);
    kiln_random_input_init(&same, &graph, 0, 5);
    kiln_random_input_init(&other_seed, &graph, 0, 6);
    kiln_random_input_init(&other_tensor, &graph, 1, 5);
    int equal_seed = 0;
    int equal_tensor = 0;
    for (int64_t i = 0; i < 1000; i++) {
        double value = kiln_random_input_element(&one, i).real;
        cr_assert_eq(value, kiln_random_input_element(&same, i).real);
        equal_seed += value == kiln_random_input_element(&other_seed, i).real;
        equal_tensor += value == kiln_random_input_element(&other_tensor, i).real;
    }
    cr_assert_lt(equal_seed, 10);
    cr_assert_lt(equal_tensor, 10);
}
