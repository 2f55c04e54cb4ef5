#include "norm_sample.h"

#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <math.h>

struct norm_sample norm_sample;

void norm_sample_start(enum kiln_node_kind kind, uint32_t axes)
{
    norm_sample.graph = (struct kiln_graph){.name = "", .node_count = 1};
    norm_sample.node = (struct kiln_node){
        .kind = kind,
        .name = "",
        .compute_type = KILN_DTYPE_F32,
        .normalization = {.axes = axes, .epsilon = 1e-5, .momentum = 0.1},
    };
    norm_sample.graph.tensors = norm_sample.tensors;
    norm_sample.graph.nodes = &norm_sample.node;
    kiln_arena_init(&norm_sample.arena);
    kiln_error_init(&norm_sample.error);
}

static uint32_t add_tensor(int64_t a, int64_t b, int64_t c)
{
    uint32_t ordinal = norm_sample.graph.tensor_count++;
    norm_sample.tensors[ordinal] = (struct kiln_tensor){
        .name = "",
        .rank = 3,
        .dims = {a, b, c},
        .strides = {a == 1 ? 0 : b * c, b == 1 ? 0 : c, c == 1 ? 0 : 1},
    };
    return ordinal;
}

void norm_sample_add_input(enum kiln_operand role, int64_t a, int64_t b, int64_t c,
                           const float *data)
{
    uint32_t ordinal = add_tensor(a, b, c);
    norm_sample.tensors[ordinal].producer = KILN_NONE;
    norm_sample.memory[ordinal] = data;
    norm_sample.node.input_roles[norm_sample.node.input_count] = (uint8_t)role;
    norm_sample.node.inputs[norm_sample.node.input_count++] = ordinal;
}

void norm_sample_add_output(enum kiln_operand role, int64_t a, int64_t b, int64_t c)
{
    uint32_t ordinal = add_tensor(a, b, c);
    norm_sample.tensors[ordinal].role = KILN_TENSOR_OUTPUT;
    norm_sample.node.output_roles[norm_sample.node.output_count] = (uint8_t)role;
    norm_sample.node.outputs[norm_sample.node.output_count++] = ordinal;
}

void norm_sample_run(void)
{
    cr_assert_eq(kiln_reference_run(&norm_sample.graph, norm_sample.memory, &norm_sample.arena,
                                    norm_sample.reference, &norm_sample.error),
                 KILN_OK);
}

void norm_sample_finish(void)
{
    kiln_arena_fini(&norm_sample.arena);
}

const struct kiln_reference_tensor *norm_sample_result(enum kiln_operand role)
{
    return &norm_sample.reference[kiln_node_output(&norm_sample.node, role)];
}

struct kiln_comparison norm_sample_compare(enum kiln_operand role, const float *memory)
{
    struct kiln_comparison comparison;
    kiln_reference_compare(&norm_sample.graph, kiln_node_output(&norm_sample.node, role), memory,
                           norm_sample_result(role), &comparison);
    return comparison;
}

void norm_sample_assert_inside(enum kiln_operand role, const float *memory)
{
    struct kiln_comparison comparison = norm_sample_compare(role, memory);
    cr_assert_eq(comparison.unchecked, 0);
    cr_assert_eq(comparison.wrong, 0, "%s[%d]: %.9g, expected %.9g within %.3g",
                 kiln_operand_text(role), (int)comparison.first_wrong, comparison.got,
                 comparison.expected, comparison.bound);
}

void assert_near(double got, double expected, double tolerance)
{
    cr_assert_leq(fabs(got - expected), tolerance * (1 + fabs(expected)), "%.12g, expected %.12g",
                  got, expected);
}

float x_data[NORM_SAMPLE_ELEMENTS], dy_data[NORM_SAMPLE_ELEMENTS], scale_data[NORM_SAMPLE_ELEMENTS],
    bias_data[NORM_SAMPLE_ELEMENTS];
float out[NORM_SAMPLE_ELEMENTS], out_dscale[NORM_SAMPLE_ELEMENTS], out_dbias[NORM_SAMPLE_ELEMENTS];

static void fill(struct kiln_random *random, float *data, int64_t count, double low, double high)
{
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)kiln_random_uniform(random, low, high);
}

void norm_sample_fill(uint64_t seed, int64_t count, double offset)
{
    struct kiln_random random = {seed};
    fill(&random, x_data, count, offset - 2, offset + 2);
    fill(&random, dy_data, count, -1, 1);
    fill(&random, scale_data, count, 0.5, 1.5);
    fill(&random, bias_data, count, -0.5, 0.5);
}
