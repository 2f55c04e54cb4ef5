#include "tests/support/hostile_graph.h"

#include "tests/support/random_graph.h"

#include <math.h>

enum { ROWS = 64, COLUMNS = 256, LONG_COLUMNS = 1 << 22, MAX_TENSORS_OF_NODE = 6 };

/* The graph as far as it is made. All tensors are packed floats. */
struct builder {
    struct kiln_graph graph;
    uint32_t node_count; /* wanted */
    bool all_outputs;    /* also of what is read again */
    bool *read;          /* per tensor */
};

static const char *const texts[] = {
#define KILN_HOSTILE(name, text) text,
#include "tests/support/hostile_graph.def"
};

const char *kiln_hostile_text(enum kiln_hostile_family family)
{
    return texts[family];
}

/* ---- tensors and nodes ---- */

static uint32_t add_tensor(struct builder *builder, enum kiln_tensor_role role, uint32_t producer,
                           const int64_t *dims)
{
    uint32_t ordinal = builder->graph.tensor_count++;
    struct kiln_tensor *tensor = &builder->graph.tensors[ordinal];
    *tensor = (struct kiln_tensor){
        .uid = 1 + (int64_t)ordinal,
        .name = "",
        .dtype = KILN_DTYPE_F32,
        .role = role,
        .rank = 2,
        .alignment_bytes = 16,
        .producer = producer,
    };
    int64_t stride = 1;
    for (uint32_t axis = 2; axis-- > 0;) {
        tensor->dims[axis] = dims[axis];
        tensor->strides[axis] = dims[axis] == 1 ? 0 : stride;
        stride *= dims[axis];
    }
    return ordinal;
}

static uint32_t add_input(struct builder *builder, int64_t rows, int64_t columns)
{
    const int64_t dims[] = {rows, columns};
    return add_tensor(builder, KILN_TENSOR_INPUT, KILN_NONE, dims);
}

static struct kiln_tensor *tensor_at(struct builder *builder, uint32_t tensor)
{
    return &builder->graph.tensors[tensor];
}

static bool is_full(const struct builder *builder)
{
    return builder->graph.node_count == builder->node_count;
}

static struct kiln_node *add_node(struct builder *builder, enum kiln_node_kind kind)
{
    struct kiln_node *node = &builder->graph.nodes[builder->graph.node_count++];
    *node = (struct kiln_node){.kind = kind, .name = "", .compute_type = KILN_DTYPE_F32};
    return node;
}

static void read_tensor(struct builder *builder, struct kiln_node *node, enum kiln_operand role,
                        uint32_t tensor)
{
    builder->read[tensor] = true;
    node->input_roles[node->input_count] = (uint8_t)role;
    node->inputs[node->input_count++] = tensor;
}

static uint32_t write_tensor(struct builder *builder, struct kiln_node *node,
                             enum kiln_operand role, enum kiln_tensor_role tensor_role,
                             const int64_t *dims)
{
    uint32_t tensor =
        add_tensor(builder, tensor_role, (uint32_t)(node - builder->graph.nodes), dims);
    node->output_roles[node->output_count] = (uint8_t)role;
    node->outputs[node->output_count++] = tensor;
    return tensor;
}

/* Each of these functions appends a node and returns its first result; once the graph has all its
 * nodes, they append nothing and return the operand. */
static uint32_t pointwise(struct builder *builder, enum kiln_pointwise_mode mode, uint32_t a,
                          uint32_t b)
{
    if (is_full(builder))
        return a;
    struct kiln_node *node = add_node(builder, KILN_NODE_POINTWISE);
    node->pointwise = (struct kiln_pointwise){.mode = mode,
                                              .relu_upper_clip = INFINITY,
                                              .swish_beta = 1,
                                              .elu_alpha = 1,
                                              .softplus_beta = 1};
    read_tensor(builder, node, KILN_OPERAND_IN_0, a);
    int64_t dims[2] = {tensor_at(builder, a)->dims[0], tensor_at(builder, a)->dims[1]};
    if (b != KILN_NONE) {
        read_tensor(builder, node, KILN_OPERAND_IN_1, b);
        for (int axis = 0; axis < 2; axis++)
            dims[axis] = dims[axis] == 1 ? tensor_at(builder, b)->dims[axis] : dims[axis];
    }
    return write_tensor(builder, node, KILN_OPERAND_OUT_0, KILN_TENSOR_VIRTUAL, dims);
}

static uint32_t select_of(struct builder *builder, uint32_t condition, uint32_t a, uint32_t b)
{
    if (is_full(builder))
        return a;
    uint32_t result = pointwise(builder, KILN_POINTWISE_BINARY_SELECT, condition, a);
    read_tensor(builder, &builder->graph.nodes[builder->graph.node_count - 1], KILN_OPERAND_IN_2,
                b);
    return result;
}

static uint32_t reduce(struct builder *builder, enum kiln_reduction_mode mode, uint32_t a,
                       uint32_t axis)
{
    if (is_full(builder))
        return a;
    struct kiln_node *node = add_node(builder, KILN_NODE_REDUCTION);
    int64_t dims[2] = {tensor_at(builder, a)->dims[0], tensor_at(builder, a)->dims[1]};
    node->reduction =
        (struct kiln_reduction){.mode = mode, .axes = dims[axis] > 1 ? 1u << axis : 0};
    dims[axis] = 1;
    read_tensor(builder, node, KILN_OPERAND_IN, a);
    return write_tensor(builder, node, KILN_OPERAND_OUT, KILN_TENSOR_VIRTUAL, dims);
}

/* Of a batch norm over [ROWS x COLUMNS], or of a layer norm. */
static uint32_t norm(struct builder *builder, enum kiln_node_kind kind, uint32_t dy, uint32_t x,
                     uint32_t scale, uint32_t bias)
{
    if (is_full(builder))
        return dy != KILN_NONE ? dy : x;
    bool is_batch = kind == KILN_NODE_BATCHNORM_TRAINING || kind == KILN_NODE_BATCHNORM_BACKWARD;
    const int64_t all[] = {ROWS, COLUMNS};
    const int64_t rows[] = {ROWS, 1};
    const int64_t columns[] = {1, COLUMNS};
    struct kiln_node *node = add_node(builder, kind);
    node->normalization =
        (struct kiln_normalization){.axes = is_batch ? 1 : 2, .epsilon = 1e-5, .momentum = 0.1};
    if (dy != KILN_NONE) {
        read_tensor(builder, node, KILN_OPERAND_DY, dy);
        read_tensor(builder, node, KILN_OPERAND_X, x);
        read_tensor(builder, node, KILN_OPERAND_SCALE, scale);
        uint32_t dx = write_tensor(builder, node, KILN_OPERAND_DX, KILN_TENSOR_VIRTUAL, all);
        write_tensor(builder, node, KILN_OPERAND_DSCALE, KILN_TENSOR_VIRTUAL, columns);
        write_tensor(builder, node, KILN_OPERAND_DBIAS, KILN_TENSOR_VIRTUAL, columns);
        return dx;
    }
    read_tensor(builder, node, KILN_OPERAND_X, x);
    read_tensor(builder, node, KILN_OPERAND_SCALE, scale);
    read_tensor(builder, node, KILN_OPERAND_BIAS, bias);
    uint32_t y = write_tensor(builder, node, KILN_OPERAND_Y, KILN_TENSOR_VIRTUAL, all);
    write_tensor(builder, node, KILN_OPERAND_MEAN, KILN_TENSOR_VIRTUAL, is_batch ? columns : rows);
    write_tensor(builder, node, KILN_OPERAND_INV_VARIANCE, KILN_TENSOR_VIRTUAL,
                 is_batch ? columns : rows);
    return y;
}

/* ---- families of pointwise nodes ---- */

static uint32_t full_input(struct builder *builder)
{
    return add_input(builder, ROWS, COLUMNS);
}

static uint32_t add(struct builder *builder, uint32_t a, uint32_t b)
{
    return pointwise(builder, KILN_POINTWISE_ADD, a, b);
}

static void make_pointwise_chain(struct builder *builder)
{
    static const enum kiln_pointwise_mode modes[] = {KILN_POINTWISE_TANH_FWD, KILN_POINTWISE_SIN,
                                                     KILN_POINTWISE_EXP,
                                                     KILN_POINTWISE_SIGMOID_FWD};
    uint32_t x = full_input(builder);
    for (uint32_t i = 0; !is_full(builder); i++)
        x = pointwise(builder, modes[i % 4], x, KILN_NONE);
}

static void make_output_chain(struct builder *builder)
{
    make_pointwise_chain(builder);
    builder->all_outputs = true;
}

/* Each is added to an input of another shape; every other one repeats what is before it. */
static void make_broadcast_chain(struct builder *builder)
{
    uint32_t row = add_input(builder, 1, COLUMNS);
    uint32_t column = add_input(builder, ROWS, 1);
    uint32_t one = add_input(builder, 1, 1);
    while (!is_full(builder)) {
        one = pointwise(builder, KILN_POINTWISE_TANH_FWD, one, KILN_NONE);
        row = add(builder, row, one);
        column = add(builder, column, one);
        add(builder, row, column);
    }
    builder->all_outputs = true;
}

static void make_ladder(struct builder *builder)
{
    uint32_t before = full_input(builder);
    uint32_t x = full_input(builder);
    for (uint32_t i = 0; !is_full(builder); i++) {
        uint32_t next =
            pointwise(builder, i % 3 ? KILN_POINTWISE_ADD : KILN_POINTWISE_MUL, x, before);
        before = x;
        x = next;
    }
}

static void make_fan_out(struct builder *builder)
{
    uint32_t x = full_input(builder);
    while (!is_full(builder))
        add(builder, x, add_input(builder, 1, COLUMNS));
}

static void make_fan_in(struct builder *builder)
{
    uint32_t x = full_input(builder);
    while (!is_full(builder))
        x = add(builder, x, full_input(builder));
}

/* Half of the nodes add up inputs, the others the results of the nodes before, in their order. */
static void make_tree(struct builder *builder)
{
    uint32_t leaves = builder->node_count / 2 + 1;
    uint32_t next = 0; /* the node whose result is used next */
    while (!is_full(builder)) {
        uint32_t operands[2];
        for (int i = 0; i < 2; i++)
            operands[i] = builder->graph.node_count < leaves
                              ? full_input(builder)
                              : builder->graph.nodes[next++].outputs[0];
        add(builder, operands[0], operands[1]);
    }
}

static void make_tiny_outputs(struct builder *builder)
{
    uint32_t x = add_input(builder, 1, 1);
    for (uint32_t i = 0; !is_full(builder); i++)
        add(builder, x, add_input(builder, 1 + i / 64, 1 + i % 64));
}

/* Half of the nodes are a chain that each of the others needs at the end. */
static void make_repeated_chain(struct builder *builder)
{
    uint32_t x = add_input(builder, 1, 1);
    while (builder->graph.node_count < builder->node_count / 2)
        x = pointwise(builder, KILN_POINTWISE_TANH_FWD, x, KILN_NONE);
    for (uint32_t i = 0; !is_full(builder); i++)
        add(builder, x, add_input(builder, 2 + i / 64, 2 + i % 64));
}

/* Two values that are equal, which takes to see that the two before are: the choice between equal
 * values is folded, then what is computed from it is merged. */
static void make_folding_chain(struct builder *builder)
{
    uint32_t condition = full_input(builder);
    uint32_t x = full_input(builder);
    uint32_t y = x;
    while (!is_full(builder)) {
        uint32_t a = pointwise(builder, KILN_POINTWISE_TANH_FWD, x, KILN_NONE);
        uint32_t b = pointwise(builder, KILN_POINTWISE_TANH_FWD, y, KILN_NONE);
        x = select_of(builder, condition, a, b);
        y = a;
    }
}

/* ---- families of norms ---- */

static void make_norm_chain(struct builder *builder, enum kiln_node_kind kind)
{
    uint32_t x = full_input(builder);
    while (!is_full(builder))
        x = norm(builder, kind, KILN_NONE, x, add_input(builder, 1, COLUMNS),
                 add_input(builder, 1, COLUMNS));
}

static void make_batchnorm_chain(struct builder *builder)
{
    make_norm_chain(builder, KILN_NODE_BATCHNORM_TRAINING);
}

static void make_layernorm_chain(struct builder *builder)
{
    make_norm_chain(builder, KILN_NODE_LAYERNORM);
}

static void make_gradients(struct builder *builder, enum kiln_node_kind kind, bool is_chain)
{
    uint32_t dy = full_input(builder);
    uint32_t x = full_input(builder);
    while (!is_full(builder)) {
        uint32_t dx = norm(builder, kind, dy, x, add_input(builder, 1, COLUMNS), KILN_NONE);
        if (!is_chain)
            continue;
        dy = dx;
        x = full_input(builder);
    }
}

static void make_batchnorm_gradients(struct builder *builder)
{
    make_gradients(builder, KILN_NODE_BATCHNORM_BACKWARD, true);
}

static void make_layernorm_gradients(struct builder *builder)
{
    make_gradients(builder, KILN_NODE_LAYERNORM_BACKWARD, true);
}

static void make_layernorm_shared(struct builder *builder)
{
    make_gradients(builder, KILN_NODE_LAYERNORM_BACKWARD, false);
}

/* ---- families of reductions ---- */

static void make_softmax_chain(struct builder *builder)
{
    uint32_t x = full_input(builder);
    while (!is_full(builder)) {
        uint32_t shifted =
            pointwise(builder, KILN_POINTWISE_SUB, x, reduce(builder, KILN_REDUCTION_MAX, x, 1));
        uint32_t powers = pointwise(builder, KILN_POINTWISE_EXP, shifted, KILN_NONE);
        x = pointwise(builder, KILN_POINTWISE_DIV, powers,
                      reduce(builder, KILN_REDUCTION_ADD, powers, 1));
    }
}

static void make_rows_and_columns(struct builder *builder)
{
    uint32_t x = full_input(builder);
    for (uint32_t i = 0; !is_full(builder); i++)
        x = add(builder, x, reduce(builder, KILN_REDUCTION_ADD, x, i % 2));
}

static void make_rows_and_columns_out(struct builder *builder)
{
    make_rows_and_columns(builder);
    builder->all_outputs = true;
}

static void make_rows_beside(struct builder *builder)
{
    uint32_t x = full_input(builder);
    for (uint32_t i = 0; !is_full(builder); i++) {
        uint32_t y = pointwise(builder, KILN_POINTWISE_MUL, x, add_input(builder, 1, 1));
        reduce(builder, KILN_REDUCTION_ADD, y, i % 2);
    }
}

/* Two nodes for every sum, a third to add it to the others. */
static void make_row_sums(struct builder *builder)
{
    uint32_t sum = full_input(builder);
    while (!is_full(builder)) {
        uint32_t y = pointwise(builder, KILN_POINTWISE_EXP, full_input(builder), KILN_NONE);
        uint32_t row = reduce(builder, KILN_REDUCTION_ADD, y, 1);
        sum = add(builder, sum, row);
    }
}

static void make_shared_loads(struct builder *builder)
{
    uint32_t before = full_input(builder);
    for (uint32_t i = 0; !is_full(builder); i++) {
        uint32_t x = full_input(builder);
        reduce(builder, KILN_REDUCTION_ADD, pointwise(builder, KILN_POINTWISE_MUL, x, before),
               i / 20 % 2);
        before = x;
    }
}

static void make_long_rows(struct builder *builder)
{
    uint32_t x = add_input(builder, 2, LONG_COLUMNS);
    while (!is_full(builder))
        x = add(builder, x, reduce(builder, KILN_REDUCTION_ADD, x, 1));
}

static void make_many_shapes(struct builder *builder)
{
    for (uint32_t i = 0; !is_full(builder); i++) {
        uint32_t x = add_input(builder, 2 + i / 64, 2 + i % 64);
        x = add(builder, x, reduce(builder, KILN_REDUCTION_ADD, x, 1));
        reduce(builder, KILN_REDUCTION_MAX, x, 0);
    }
}

/* ---- all of them ---- */

static void (*const makers[])(struct builder *) = {
    [KILN_HOSTILE_POINTWISE_CHAIN] = make_pointwise_chain,
    [KILN_HOSTILE_OUTPUT_CHAIN] = make_output_chain,
    [KILN_HOSTILE_BROADCAST_CHAIN] = make_broadcast_chain,
    [KILN_HOSTILE_LADDER] = make_ladder,
    [KILN_HOSTILE_FAN_OUT] = make_fan_out,
    [KILN_HOSTILE_FAN_IN] = make_fan_in,
    [KILN_HOSTILE_TREE] = make_tree,
    [KILN_HOSTILE_TINY_OUTPUTS] = make_tiny_outputs,
    [KILN_HOSTILE_REPEATED_CHAIN] = make_repeated_chain,
    [KILN_HOSTILE_FOLDING_CHAIN] = make_folding_chain,
    [KILN_HOSTILE_BATCHNORM_CHAIN] = make_batchnorm_chain,
    [KILN_HOSTILE_BATCHNORM_GRADIENTS] = make_batchnorm_gradients,
    [KILN_HOSTILE_LAYERNORM_CHAIN] = make_layernorm_chain,
    [KILN_HOSTILE_LAYERNORM_GRADIENTS] = make_layernorm_gradients,
    [KILN_HOSTILE_LAYERNORM_SHARED] = make_layernorm_shared,
    [KILN_HOSTILE_SOFTMAX_CHAIN] = make_softmax_chain,
    [KILN_HOSTILE_ROWS_AND_COLUMNS] = make_rows_and_columns,
    [KILN_HOSTILE_ROWS_AND_COLUMNS_OUT] = make_rows_and_columns_out,
    [KILN_HOSTILE_ROWS_BESIDE] = make_rows_beside,
    [KILN_HOSTILE_ROW_SUMS] = make_row_sums,
    [KILN_HOSTILE_SHARED_LOADS] = make_shared_loads,
    [KILN_HOSTILE_LONG_ROWS] = make_long_rows,
    [KILN_HOSTILE_MANY_SHAPES] = make_many_shapes,
};

static enum kiln_status make_random(enum kiln_hostile_family family, uint32_t node_count,
                                    struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                    struct kiln_error *error)
{
    static const uint32_t families[] = {KILN_RANDOM_POINTWISE, KILN_RANDOM_REDUCTIONS,
                                        KILN_RANDOM_NORMS, KILN_RANDOM_ALL};
    enum { SEED = 11 };
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    options.families = families[family - KILN_HOSTILE_RANDOM_POINTWISE];
    options.min_nodes = options.max_nodes = node_count;
    options.max_elements = 1000000;
    return kiln_random_graph_make(SEED, &options, arena, ret_graph, error);
}

/* What is read stays virtual unless all results are outputs. */
static void choose_outputs(struct builder *builder)
{
    for (uint32_t i = 0; i < builder->graph.tensor_count; i++) {
        struct kiln_tensor *tensor = &builder->graph.tensors[i];
        if (tensor->role == KILN_TENSOR_VIRTUAL && (builder->all_outputs || !builder->read[i]))
            tensor->role = KILN_TENSOR_OUTPUT;
    }
}

enum kiln_status kiln_hostile_graph_make(enum kiln_hostile_family family, uint32_t node_count,
                                         struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                         struct kiln_error *error)
{
    if (family >= KILN_HOSTILE_RANDOM_POINTWISE)
        return make_random(family, node_count, arena, ret_graph, error);
    size_t tensors = ((size_t)node_count + 2) * MAX_TENSORS_OF_NODE;
    struct builder builder = {
        .graph = {.era = KILN_WIRE_ERA_CURRENT,
                  .name = texts[family],
                  .nodes = kiln_arena_calloc(arena, node_count, sizeof *builder.graph.nodes),
                  .tensors = kiln_arena_calloc(arena, tensors, sizeof *builder.graph.tensors)},
        .node_count = node_count,
        .read = kiln_arena_calloc(arena, tensors, sizeof *builder.read),
    };
    if (builder.graph.nodes == NULL || builder.graph.tensors == NULL || builder.read == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a graph");
    makers[family](&builder);
    choose_outputs(&builder);
    *ret_graph = builder.graph;
    return KILN_OK;
}
