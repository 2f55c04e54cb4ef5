/* Grouped matrix products and their gradients, with pointwise nodes before and gates after them,
 * and the offsets and indices that they read. */
#include "tests/support/random_graph_generator.h"

#include "compiler/reference/convert.h"

#include <string.h>

enum { TRIES = 6, MAX_TERMS = 1 << 20, MAX_ROWS = 128, MAX_GROUPS = 64 };

/* ---- offsets and indices ---- */

/* The rows of the groups that offsets are of: any node that reads them tells. */
static int64_t count_rows(const struct kiln_graph *graph, const struct kiln_node *node)
{
    uint32_t ordinal = node->kind == KILN_NODE_GROUPED_MATMUL
                           ? node->outputs[0]
                           : kiln_node_input(node, KILN_OPERAND_TOKEN);
    return graph->tensors[ordinal].dims[1];
}

static int64_t count_tokens(const struct kiln_graph *graph, const struct kiln_node *node)
{
    return graph->tensors[kiln_node_input(node, KILN_OPERAND_TOKEN)].dims[1];
}

/* Evenly spread, any, with empty groups, with all rows in one, and damaged. */
static void choose_offsets(struct kiln_random *random, int64_t rows, int64_t count,
                           int64_t *ret_offsets)
{
    uint32_t kind = kiln_random_below(random, 100);
    int64_t first = kiln_random_chance(random, 30) ? kiln_random_below(random, (uint32_t)rows) : 0;
    int64_t full = kiln_random_below(random, (uint32_t)count);
    for (int64_t g = 0; g < count; g++) {
        ret_offsets[g] = kind < 25   ? first + (rows - first) * g / count
                         : kind < 60 ? kiln_random_below(random, (uint32_t)rows + 1)
                         : kind < 75
                             ? (g <= full ? 0 : rows)
                             : (int64_t)kiln_random_below(random, 3 * (uint32_t)rows) - rows;
        if (kind >= 95 && kiln_random_chance(random, 30))
            ret_offsets[g] = kiln_random_chance(random, 50) ? INT32_MAX : INT32_MIN;
    }
    for (int64_t i = 1; kind < 75 && i < count; i++) { /* ascending */
        int64_t offset = ret_offsets[i];
        int64_t at = i;
        for (; at > 0 && ret_offsets[at - 1] > offset; at--)
            ret_offsets[at] = ret_offsets[at - 1];
        ret_offsets[at] = offset;
    }
    if (kind < 75 && first == 0)
        ret_offsets[0] = 0;
}

/* Every row once, except a few that are none. Index and ks of a row follow from the same numbers.
 */
static void choose_rows(struct kiln_random *random, const struct kiln_node *node, int64_t rows,
                        int64_t tokens, bool is_ks, int64_t *ret_numbers)
{
    int64_t top_k = node->grouped_matmul.top_k;
    uint32_t damage = kiln_random_chance(random, 25) ? 15 : 0;
    for (int64_t i = 0; i < rows; i++)
        ret_numbers[i] = top_k == 0 ? kiln_random_below(random, (uint32_t)tokens) : i;
    for (int64_t i = rows - 1; top_k != 0 && i > 0; i--) {
        int64_t other = kiln_random_below(random, (uint32_t)i + 1);
        int64_t number = ret_numbers[i];
        ret_numbers[i] = ret_numbers[other];
        ret_numbers[other] = number;
    }
    for (int64_t i = 0; i < rows; i++) {
        static const int64_t nowhere[] = {-1, INT32_MIN, INT32_MAX, 1 << 20};
        bool is_damaged = kiln_random_chance(random, damage);
        bool is_damage_of_ks = kiln_random_chance(random, 30);
        int64_t none = nowhere[kiln_random_below(random, 4)];
        if (top_k != 0)
            ret_numbers[i] = is_ks ? ret_numbers[i] % top_k : ret_numbers[i] / top_k;
        if (is_damaged && (top_k == 0 || is_ks == is_damage_of_ks))
            ret_numbers[i] = none;
    }
}

bool kiln_random_fill_routing(uint64_t seed, const struct kiln_graph *graph, uint32_t ordinal,
                              void *memory)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    int64_t numbers[MAX_ROWS + MAX_GROUPS];
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        bool is_offsets = kiln_node_input(node, KILN_OPERAND_FIRST_TOKEN_OFFSET) == ordinal;
        bool is_ks = kiln_node_input(node, KILN_OPERAND_TOKEN_KS) == ordinal;
        if (!is_offsets && !is_ks && kiln_node_input(node, KILN_OPERAND_TOKEN_INDEX) != ordinal)
            continue;
        /* Index and ks of a node have one seed. */
        uint32_t whose = is_offsets ? ordinal : kiln_node_input(node, KILN_OPERAND_TOKEN_INDEX);
        struct kiln_random random = {seed ^ (UINT64_C(0x6c3f1d2e9b04a857) * (whose + 1))};
        (void)kiln_random_next(&random);
        uint32_t axis = is_offsets ? 0 : 1;
        if (is_offsets)
            choose_offsets(&random, count_rows(graph, node), tensor->dims[0], numbers);
        else
            choose_rows(&random, node, tensor->dims[1], count_tokens(graph, node), is_ks, numbers);
        memset(memory, 0xFF, (size_t)kiln_tensor_footprint_bytes(tensor));
        for (int64_t n = 0; n < tensor->dims[axis]; n++)
            kiln_element_store(tensor->dtype, (struct kiln_constant){.integer = numbers[n]},
                               (unsigned char *)memory +
                                   n * tensor->strides[axis] *
                                       (int64_t)kiln_dtype_info(tensor->dtype)->bytes);
        return true;
    }
    return false;
}

/* ---- nodes ---- */

struct plan {
    struct kiln_grouped_matmul attributes;
    struct kiln_random_dims token, weight, output, offsets, rows;
    struct kiln_random_shape token_shape, weight_shape, output_shape, offsets_shape, rows_shape;
    uint32_t token_value, inputs[3]; /* offsets, index, ks */
};

static int64_t choose_size(struct kiln_random *random)
{
    static const uint8_t sizes[] = {1, 2, 3, 5, 8, 8, 16, 16, 17, 24, 32, 33, 48, 64};
    return sizes[kiln_random_below(random, sizeof sizes / sizeof *sizes)];
}

static struct kiln_random_dims dims3(int64_t a, int64_t b, int64_t c)
{
    return (struct kiln_random_dims){.rank = 3, .sizes = {a, b, c}};
}

/* A tensor that can be tokens: [1, rows, columns]. */
static uint32_t find_token(struct kiln_random_generator *generator)
{
    for (uint32_t i = 0; i < 8 && generator->graph.tensor_count != 0; i++) {
        uint32_t ordinal = generator->graph.tensor_count - 1 -
                           kiln_random_below(&generator->random, generator->graph.tensor_count);
        const struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
        if (kiln_random_is_factor(generator, ordinal) && tensor->rank == 3 &&
            tensor->dims[0] == 1 && tensor->dims[1] <= MAX_ROWS)
            return ordinal;
    }
    return KILN_NONE;
}

static bool choose_plan(struct kiln_random_generator *generator, bool is_gradient,
                        struct plan *plan)
{
    static const uint8_t experts[] = {1, 2, 2, 3, 4, 5, 8, 16};
    struct kiln_random *random = &generator->random;
    uint32_t e = experts[kiln_random_below(random, sizeof experts)];
    uint32_t rounds =
        is_gradient || kiln_random_chance(random, 70) ? 1 : 2 + kiln_random_below(random, 2);
    enum kiln_grouped_mode mode =
        is_gradient ? KILN_GROUPED_NONE
                    : (enum kiln_grouped_mode)kiln_random_below(random, KILN_GROUPED_MODE_COUNT);
    plan->attributes.mode = mode;
    plan->attributes.top_k = mode == KILN_GROUPED_SCATTER ? 1 + kiln_random_below(random, e) : 0;
    plan->token_value = kiln_random_chance(random, 50) ? find_token(generator) : KILN_NONE;
    plan->token = plan->token_value != KILN_NONE
                      ? kiln_random_dims_of(generator, plan->token_value)
                      : dims3(1, 1 + kiln_random_below(random, MAX_ROWS - 1), choose_size(random));
    int64_t rows = mode == KILN_GROUPED_GATHER ? 1 + kiln_random_below(random, MAX_ROWS - 1)
                                               : plan->token.sizes[1];
    int64_t columns = choose_size(random);
    plan->weight = dims3(e, plan->token.sizes[2], columns);
    plan->output = dims3(1, rows, columns);
    plan->offsets = dims3((int64_t)e * rounds, 1, 1);
    plan->rows = dims3(1, rows, 1);
    int64_t most = generator->options->max_elements;
    return kiln_random_count_elements(&plan->token) <= most &&
           kiln_random_count_elements(&plan->weight) <= most &&
           kiln_random_count_elements(&plan->output) <= most &&
           rows * columns * plan->token.sizes[2] <= MAX_TERMS &&
           kiln_random_find_shape(generator, &plan->token, &plan->token_shape) &&
           kiln_random_find_shape(generator, &plan->weight, &plan->weight_shape) &&
           kiln_random_find_shape(generator, &plan->output, &plan->output_shape) &&
           kiln_random_find_shape(generator, &plan->offsets, &plan->offsets_shape) &&
           kiln_random_find_shape(generator, &plan->rows, &plan->rows_shape);
}

static uint32_t append_integers(struct kiln_random_generator *generator,
                                const struct kiln_random_shape *shape)
{
    uint32_t ordinal =
        kiln_random_append_source(generator, shape, KILN_DTYPE_I32, KILN_RANDOM_DATA);
    struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    tensor->role = KILN_TENSOR_INPUT; /* a single one too */
    memset(&tensor->constant, 0, sizeof tensor->constant);
    for (uint32_t axis = 0; axis < tensor->rank; axis++) { /* each row has a number of its own */
        if (tensor->dims[axis] > 1 && tensor->strides[axis] == 0)
            tensor->strides[axis] = 1;
    }
    return ordinal;
}

static uint32_t append_grouped(struct kiln_random_generator *generator, const struct plan *plan,
                               uint32_t token, uint32_t weight)
{
    static const enum kiln_operand roles[] = {KILN_OPERAND_FIRST_TOKEN_OFFSET,
                                              KILN_OPERAND_TOKEN_INDEX, KILN_OPERAND_TOKEN_KS};
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_GROUPED_MATMUL);
    node->grouped_matmul = plan->attributes;
    kiln_random_add_input(generator, node, KILN_OPERAND_TOKEN, token);
    kiln_random_add_input(generator, node, KILN_OPERAND_WEIGHT, weight);
    for (uint32_t i = 0; i <= (uint32_t)plan->attributes.mode; i++)
        kiln_random_add_input(generator, node, roles[i], plan->inputs[i]);
    enum kiln_dtype dtype = kiln_random_choose_sum_dtype(generator, token, weight);
    return kiln_random_add_output(generator, node, KILN_OPERAND_OUTPUT, &plan->output_shape, dtype);
}

/* A graph lists its tensors as nodes read them: what is computed of a weight comes before a token
 * that no node has read. */
static uint32_t append_weight(struct kiln_random_generator *generator, const struct plan *plan,
                              uint32_t token, bool is_token_read)
{
    return kiln_random_append_steps(
        generator, kiln_random_append_factor(generator, &plan->weight_shape, token),
        is_token_read && kiln_random_chance(&generator->random, 25) ? 1 : 0);
}

/* A second product of the same tokens, and a gate where both meet. */
static void append_twin(struct kiln_random_generator *generator, const struct plan *plan,
                        uint32_t token, uint32_t product)
{
    static const enum kiln_pointwise_mode gates[] = {
        KILN_POINTWISE_SWISH_FWD, KILN_POINTWISE_SIGMOID_FWD, KILN_POINTWISE_RELU_FWD};
    static const enum kiln_pointwise_mode meets[] = {KILN_POINTWISE_MUL};
    if (generator->graph.node_count + 3 >= generator->node_limit)
        return;
    uint32_t twin =
        append_grouped(generator, plan, token, append_weight(generator, plan, token, true));
    uint32_t gate = kiln_random_append_pointwise(generator, gates, 3, &product);
    uint32_t operands[] = {gate == KILN_NONE ? product : gate, twin};
    (void)kiln_random_append_pointwise(generator, meets, 1, operands);
}

static void append_gradient(struct kiln_random_generator *generator, struct plan *plan)
{
    uint32_t doutput = kiln_random_append_factor(generator, &plan->output_shape, plan->token_value);
    uint32_t token = plan->token_value;
    if (token == KILN_NONE)
        token = kiln_random_append_factor(generator, &plan->token_shape, doutput);
    plan->inputs[0] = append_integers(generator, &plan->offsets_shape);
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_GROUPED_MATMUL_BACKWARD);
    kiln_random_add_input(generator, node, KILN_OPERAND_DOUTPUT, doutput);
    kiln_random_add_input(generator, node, KILN_OPERAND_TOKEN, token);
    kiln_random_add_input(generator, node, KILN_OPERAND_FIRST_TOKEN_OFFSET, plan->inputs[0]);
    enum kiln_dtype dtype = kiln_random_choose_sum_dtype(generator, token, doutput);
    (void)kiln_random_add_output(generator, node, KILN_OPERAND_DWEIGHT, &plan->weight_shape, dtype);
}

static void append_forward(struct kiln_random_generator *generator, struct plan *plan)
{
    struct kiln_random *random = &generator->random;
    uint32_t token = plan->token_value;
    if (token == KILN_NONE)
        token = kiln_random_append_factor(generator, &plan->token_shape, KILN_NONE);
    uint32_t source = token;
    if (kiln_random_chance(random, 25))
        token = kiln_random_append_steps(generator, token, 1);
    bool is_token_read = token != source || plan->token_value != KILN_NONE;
    uint32_t weight = append_weight(generator, plan, token, is_token_read);
    plan->inputs[0] = append_integers(generator, &plan->offsets_shape);
    for (uint32_t i = 1; i <= (uint32_t)plan->attributes.mode; i++)
        plan->inputs[i] = append_integers(generator, &plan->rows_shape);
    uint32_t product = append_grouped(generator, plan, token, weight);
    if (kiln_random_chance(random, 30))
        append_twin(generator, plan, token, product);
}

static bool try_grouped(struct kiln_random_generator *generator)
{
    struct plan plan = {.token_value = KILN_NONE};
    bool is_gradient = kiln_random_chance(&generator->random, 25);
    if (!choose_plan(generator, is_gradient, &plan))
        return false;
    if (is_gradient)
        append_gradient(generator, &plan);
    else
        append_forward(generator, &plan);
    return true;
}

bool kiln_random_append_grouped(struct kiln_random_generator *generator)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        if (try_grouped(generator))
            return true;
    }
    return false;
}
