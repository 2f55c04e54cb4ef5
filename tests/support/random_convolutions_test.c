/* Random convolutions: what they are like, and that the interpreter can say something about them.
 */
#include "compiler/reference/reference.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/support/random_graph.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(random_convolutions, .timeout = 120);

enum { SEEDS = 400, INTERPRETED_SEEDS = 60, POISON = 0xa5 };

/* How often what makes convolutions hard occurs. */
struct occurrences {
    uint32_t nodes, convolutions, directions[3], spatial[4], dtypes[KILN_DTYPE_COUNT];
    uint32_t grouped, depthwise, multiplied, strided, dilated, padded, asymmetric, flipped;
    uint32_t pointwise, leftover, mixed;
    uint32_t computed[KILN_OPERAND_COUNT]; /* inputs that other nodes make, by role */
    uint32_t read, chained, channels_last[2], summed, beside;
};

static bool is_channels_last(const struct kiln_tensor *tensor)
{
    bool is_last = tensor->dims[1] > 1 && tensor->strides[1] == 1;
    for (uint32_t i = 2; i < tensor->rank; i++)
        is_last = is_last && tensor->strides[i] >= tensor->dims[1];
    return is_last;
}

static const struct kiln_node *producer_of(const struct kiln_graph *graph, uint32_t tensor)
{
    uint32_t producer = graph->tensors[tensor].producer;
    return producer == KILN_NONE ? NULL : &graph->nodes[producer];
}

/* True if a convolution is among the nodes that a tensor is made of, not far away. */
static bool is_of_convolution(const struct kiln_graph *graph, uint32_t tensor, uint32_t depth)
{
    const struct kiln_node *node = producer_of(graph, tensor);
    if (node == NULL || depth == 0)
        return false;
    if (kiln_node_is_convolution(node))
        return true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (is_of_convolution(graph, node->inputs[i], depth - 1))
            return true;
    }
    return false;
}

static void count_parameters(const struct kiln_graph *graph, const struct kiln_node *node,
                             struct occurrences *met)
{
    const struct kiln_convolution *a = &node->convolution;
    struct kiln_convolution_tensors tensors = kiln_convolution_tensors_of(node);
    const struct kiln_tensor *image = &graph->tensors[tensors.image];
    const struct kiln_tensor *filter = &graph->tensors[tensors.filter];
    const struct kiln_tensor *result = &graph->tensors[tensors.result];
    bool strided = false, dilated = false, padded = false, asymmetric = false, windowed = false;
    bool leftover = false;
    for (uint32_t i = 0; i < a->spatial_count; i++) {
        int64_t last = (result->dims[i + 2] - 1) * a->stride[i] +
                       (filter->dims[i + 2] - 1) * a->dilation[i] + 1;
        strided = strided || a->stride[i] > 1;
        dilated = dilated || (a->dilation[i] > 1 && filter->dims[i + 2] > 1);
        padded = padded || a->pre_padding[i] + a->post_padding[i] > 0;
        asymmetric = asymmetric || a->pre_padding[i] != a->post_padding[i];
        windowed = windowed || filter->dims[i + 2] > 1;
        leftover = leftover || last < a->pre_padding[i] + image->dims[i + 2] + a->post_padding[i];
    }
    met->spatial[a->spatial_count]++;
    met->grouped += a->groups > 1 && filter->dims[1] > 1;
    met->depthwise += a->groups > 1 && filter->dims[1] == 1;
    met->multiplied += a->groups > 1 && filter->dims[1] == 1 && filter->dims[0] > a->groups;
    met->strided += strided;
    met->dilated += dilated;
    met->padded += padded;
    met->asymmetric += asymmetric;
    met->leftover += leftover;
    met->pointwise += !windowed;
    met->flipped += a->is_flipped;
    met->channels_last[0] += is_channels_last(image);
    met->channels_last[1] += is_channels_last(result);
}

static void count_graph(const struct kiln_graph *graph, struct occurrences *met)
{
    met->nodes += graph->node_count;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        bool is_convolution = kiln_node_is_convolution(node);
        for (uint32_t k = 0; k < node->input_count; k++) {
            const struct kiln_node *producer = producer_of(graph, node->inputs[k]);
            met->read += producer != NULL && kiln_node_is_convolution(producer);
            met->summed +=
                node->kind == KILN_NODE_REDUCTION && is_of_convolution(graph, node->inputs[k], 4);
            met->chained += is_convolution && is_of_convolution(graph, node->inputs[k], 5);
            met->computed[node->input_roles[k]] += is_convolution && producer != NULL;
            if (is_convolution)
                met->dtypes[graph->tensors[node->inputs[k]].dtype]++;
        }
        if (!is_convolution)
            continue;
        met->convolutions++;
        met->directions[node->kind - KILN_NODE_CONVOLUTION_FORWARD]++;
        met->mixed +=
            graph->tensors[node->inputs[0]].dtype != graph->tensors[node->inputs[1]].dtype;
        count_parameters(graph, node, met);
    }
}

Test(random_convolutions, meet_every_kind)
{
    struct kiln_random_graph_options options;
    struct occurrences met = {.nodes = 0};
    kiln_random_graph_options_init(&options);
    options.families = KILN_RANDOM_CONVOLUTIONS;
    options.max_nodes = 8;
    options.max_elements = 8000;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct kiln_arena arena;
        struct kiln_error error;
        struct kiln_graph graph;
        kiln_arena_init(&arena);
        kiln_error_init(&error);
        cr_assert_eq(kiln_random_graph_make(seed, &options, &arena, &graph, &error), KILN_OK);
        count_graph(&graph, &met);
        kiln_arena_fini(&arena);
    }
    const uint32_t few = met.convolutions / 20;
    cr_log_info("%u of %u nodes", met.convolutions, met.nodes);
    cr_expect_gt(met.convolutions, met.nodes / 5);
    for (int i = 0; i < 3; i++) {
        cr_expect_gt(met.directions[i], met.convolutions / 6, "direction %d", i);
        cr_expect_gt(met.spatial[i + 1], met.convolutions / 8, "%d axes", i + 1);
    }
    cr_expect_gt(met.grouped, few);
    cr_expect_gt(met.depthwise, few);
    cr_expect_gt(met.multiplied, few);
    cr_expect_gt(met.strided, few);
    cr_expect_gt(met.dilated, few);
    cr_expect_gt(met.padded, few);
    cr_expect_gt(met.asymmetric, few);
    cr_expect_gt(met.flipped, few);
    cr_expect_gt(met.pointwise, few);
    cr_expect_gt(met.leftover, few);
    cr_expect_gt(met.mixed, few);
    cr_expect_gt(met.channels_last[0], few);
    cr_expect_gt(met.channels_last[1], few);
    cr_expect_gt(met.computed[KILN_OPERAND_X], few);
    cr_expect_gt(met.computed[KILN_OPERAND_W], few);
    cr_expect_gt(met.computed[KILN_OPERAND_DY], few);
    cr_expect_gt(met.chained, few);
    cr_expect_gt(met.read, few);
    cr_expect_gt(met.summed, few);
    for (int i = 0; i < KILN_DTYPE_COUNT; i++) {
        if ((KILN_RANDOM_NARROW_DTYPES >> i & 1) != 0)
            continue;
        if (!kiln_dtype_is_integer((enum kiln_dtype)i) || i == KILN_DTYPE_I8 || i == KILN_DTYPE_U8)
            cr_expect_gt(met.dtypes[i], met.convolutions / 50, "type %d", i);
        else
            cr_expect_eq(met.dtypes[i], 0, "type %d", i);
    }
}

/* Elements of the outputs, and those of which the interpreter knows something. */
static void interpret(uint64_t seed, const struct kiln_random_graph_options *options,
                      uint64_t *elements, uint64_t *known)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_graph graph;
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    cr_assert_eq(kiln_random_graph_make(seed, options, &arena, &graph, &error), KILN_OK);
    void **memory = make_tensor_memory(&graph, seed, options, POISON);
    cr_assert_not_null(memory);
    struct kiln_reference_tensor *reference =
        kiln_arena_calloc(&arena, graph.tensor_count, sizeof *reference);
    cr_assert_not_null(reference);
    cr_assert_eq(kiln_reference_run(&graph, (const void *const *)memory, &arena, reference, &error),
                 KILN_OK, "seed %lu: %s", (unsigned long)seed, error.text);
    for (uint32_t i = 0; i < graph.tensor_count; i++) {
        if (graph.tensors[i].role != KILN_TENSOR_OUTPUT)
            continue;
        for (int64_t n = 0; n < kiln_tensor_elements(&graph.tensors[i]); n++)
            *known += isfinite(reference[i].real[n]) && isfinite(reference[i].bound[n]);
        *elements += (uint64_t)kiln_tensor_elements(&graph.tensors[i]);
    }
    free_tensor_memory(&graph, memory);
    kiln_arena_fini(&arena);
}

Test(random_convolutions, are_mostly_known_to_the_interpreter)
{
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    options.families = KILN_RANDOM_CONVOLUTIONS;
    options.max_nodes = 5;
    uint64_t elements = 0, known = 0;
    for (uint64_t seed = 1; seed <= INTERPRETED_SEEDS; seed++)
        interpret(seed, &options, &elements, &known);
    cr_log_info("%lu of %lu elements known", (unsigned long)known, (unsigned long)elements);
    cr_expect_gt(known * 10, elements * 8);
}
