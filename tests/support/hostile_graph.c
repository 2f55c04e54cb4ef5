#include "tests/support/hostile_graph.h"

#include "tests/support/hostile_graph_builder.h"
#include "tests/support/random_graph.h"

enum { ROWS = 64, COLUMNS = 256, LONG_COLUMNS = 1 << 22 };

static const char *const texts[] = {
#define KILN_HOSTILE(name, text) text,
#include "tests/support/hostile_graph.def"
};

const char *kiln_hostile_text(enum kiln_hostile_family family)
{
    return texts[family];
}

/* ---- tensors and nodes of rank 2 ---- */

static uint32_t add_input(struct kiln_hostile_builder *builder, int64_t rows, int64_t columns)
{
    return kiln_hostile_input(builder,
                              &(struct kiln_hostile_dims){.rank = 2, .sizes = {rows, columns}});
}

static uint32_t select_of(struct kiln_hostile_builder *builder, uint32_t condition, uint32_t a,
                          uint32_t b)
{
    if (kiln_hostile_is_full(builder))
        return a;
    uint32_t result = kiln_hostile_pointwise(builder, KILN_POINTWISE_BINARY_SELECT, condition, a);
    kiln_hostile_read(builder, &builder->graph.nodes[builder->graph.node_count - 1],
                      KILN_OPERAND_IN_2, b);
    return result;
}

/* ---- families of pointwise nodes ---- */

static uint32_t full_input(struct kiln_hostile_builder *builder)
{
    return add_input(builder, ROWS, COLUMNS);
}

static uint32_t add(struct kiln_hostile_builder *builder, uint32_t a, uint32_t b)
{
    return kiln_hostile_pointwise(builder, KILN_POINTWISE_ADD, a, b);
}

static void make_pointwise_chain(struct kiln_hostile_builder *builder)
{
    static const enum kiln_pointwise_mode modes[] = {KILN_POINTWISE_TANH_FWD, KILN_POINTWISE_SIN,
                                                     KILN_POINTWISE_EXP,
                                                     KILN_POINTWISE_SIGMOID_FWD};
    uint32_t x = full_input(builder);
    for (uint32_t i = 0; !kiln_hostile_is_full(builder); i++)
        x = kiln_hostile_pointwise(builder, modes[i % 4], x, KILN_NONE);
}

static void make_output_chain(struct kiln_hostile_builder *builder)
{
    make_pointwise_chain(builder);
    builder->all_outputs = true;
}

/* Each is added to an input of another shape; every other one repeats what is before it. */
static void make_broadcast_chain(struct kiln_hostile_builder *builder)
{
    uint32_t row = add_input(builder, 1, COLUMNS);
    uint32_t column = add_input(builder, ROWS, 1);
    uint32_t one = add_input(builder, 1, 1);
    while (!kiln_hostile_is_full(builder)) {
        one = kiln_hostile_pointwise(builder, KILN_POINTWISE_TANH_FWD, one, KILN_NONE);
        row = add(builder, row, one);
        column = add(builder, column, one);
        add(builder, row, column);
    }
    builder->all_outputs = true;
}

static void make_ladder(struct kiln_hostile_builder *builder)
{
    uint32_t before = full_input(builder);
    uint32_t x = full_input(builder);
    for (uint32_t i = 0; !kiln_hostile_is_full(builder); i++) {
        uint32_t next = kiln_hostile_pointwise(
            builder, i % 3 ? KILN_POINTWISE_ADD : KILN_POINTWISE_MUL, x, before);
        before = x;
        x = next;
    }
}

static void make_fan_out(struct kiln_hostile_builder *builder)
{
    uint32_t x = full_input(builder);
    while (!kiln_hostile_is_full(builder))
        add(builder, x, add_input(builder, 1, COLUMNS));
}

static void make_fan_in(struct kiln_hostile_builder *builder)
{
    uint32_t x = full_input(builder);
    while (!kiln_hostile_is_full(builder))
        x = add(builder, x, full_input(builder));
}

/* Half of the nodes add up inputs, the others the results of the nodes before, in their order. */
static void make_tree(struct kiln_hostile_builder *builder)
{
    uint32_t leaves = builder->node_count / 2 + 1;
    uint32_t next = 0; /* the node whose result is used next */
    while (!kiln_hostile_is_full(builder)) {
        uint32_t operands[2];
        for (int i = 0; i < 2; i++)
            operands[i] = builder->graph.node_count < leaves
                              ? full_input(builder)
                              : builder->graph.nodes[next++].outputs[0];
        add(builder, operands[0], operands[1]);
    }
}

static void make_tiny_outputs(struct kiln_hostile_builder *builder)
{
    uint32_t x = add_input(builder, 1, 1);
    for (uint32_t i = 0; !kiln_hostile_is_full(builder); i++)
        add(builder, x, add_input(builder, 1 + i / 64, 1 + i % 64));
}

/* Half of the nodes are a chain that each of the others needs at the end. */
static void make_repeated_chain(struct kiln_hostile_builder *builder)
{
    uint32_t x = add_input(builder, 1, 1);
    while (builder->graph.node_count < builder->node_count / 2)
        x = kiln_hostile_pointwise(builder, KILN_POINTWISE_TANH_FWD, x, KILN_NONE);
    for (uint32_t i = 0; !kiln_hostile_is_full(builder); i++)
        add(builder, x, add_input(builder, 2 + i / 64, 2 + i % 64));
}

/* Two values that are equal, which takes to see that the two before are: the choice between equal
 * values is folded, then what is computed from it is merged. */
static void make_folding_chain(struct kiln_hostile_builder *builder)
{
    uint32_t condition = full_input(builder);
    uint32_t x = full_input(builder);
    uint32_t y = x;
    while (!kiln_hostile_is_full(builder)) {
        uint32_t a = kiln_hostile_pointwise(builder, KILN_POINTWISE_TANH_FWD, x, KILN_NONE);
        uint32_t b = kiln_hostile_pointwise(builder, KILN_POINTWISE_TANH_FWD, y, KILN_NONE);
        x = select_of(builder, condition, a, b);
        y = a;
    }
}

/* ---- families of norms ---- */

static void make_norm_chain(struct kiln_hostile_builder *builder, enum kiln_node_kind kind)
{
    uint32_t x = full_input(builder);
    while (!kiln_hostile_is_full(builder))
        x = kiln_hostile_norm(builder, kind, KILN_NONE, x);
}

static void make_batchnorm_chain(struct kiln_hostile_builder *builder)
{
    make_norm_chain(builder, KILN_NODE_BATCHNORM_TRAINING);
}

static void make_layernorm_chain(struct kiln_hostile_builder *builder)
{
    make_norm_chain(builder, KILN_NODE_LAYERNORM);
}

static void make_gradients(struct kiln_hostile_builder *builder, enum kiln_node_kind kind,
                           bool is_chain)
{
    uint32_t dy = full_input(builder);
    uint32_t x = full_input(builder);
    while (!kiln_hostile_is_full(builder)) {
        uint32_t dx = kiln_hostile_norm(builder, kind, dy, x);
        if (!is_chain)
            continue;
        dy = dx;
        x = full_input(builder);
    }
}

static void make_batchnorm_gradients(struct kiln_hostile_builder *builder)
{
    make_gradients(builder, KILN_NODE_BATCHNORM_BACKWARD, true);
}

static void make_layernorm_gradients(struct kiln_hostile_builder *builder)
{
    make_gradients(builder, KILN_NODE_LAYERNORM_BACKWARD, true);
}

static void make_layernorm_shared(struct kiln_hostile_builder *builder)
{
    make_gradients(builder, KILN_NODE_LAYERNORM_BACKWARD, false);
}

/* ---- families of reductions ---- */

static void make_softmax_chain(struct kiln_hostile_builder *builder)
{
    uint32_t x = full_input(builder);
    while (!kiln_hostile_is_full(builder)) {
        uint32_t shifted = kiln_hostile_pointwise(
            builder, KILN_POINTWISE_SUB, x, kiln_hostile_reduce(builder, KILN_REDUCTION_MAX, x, 1));
        uint32_t powers = kiln_hostile_pointwise(builder, KILN_POINTWISE_EXP, shifted, KILN_NONE);
        x = kiln_hostile_pointwise(builder, KILN_POINTWISE_DIV, powers,
                                   kiln_hostile_reduce(builder, KILN_REDUCTION_ADD, powers, 1));
    }
}

static void make_rows_and_columns(struct kiln_hostile_builder *builder)
{
    uint32_t x = full_input(builder);
    for (uint32_t i = 0; !kiln_hostile_is_full(builder); i++)
        x = add(builder, x, kiln_hostile_reduce(builder, KILN_REDUCTION_ADD, x, i % 2));
}

static void make_rows_and_columns_out(struct kiln_hostile_builder *builder)
{
    make_rows_and_columns(builder);
    builder->all_outputs = true;
}

static void make_rows_beside(struct kiln_hostile_builder *builder)
{
    uint32_t x = full_input(builder);
    for (uint32_t i = 0; !kiln_hostile_is_full(builder); i++) {
        uint32_t y =
            kiln_hostile_pointwise(builder, KILN_POINTWISE_MUL, x, add_input(builder, 1, 1));
        kiln_hostile_reduce(builder, KILN_REDUCTION_ADD, y, i % 2);
    }
}

/* Two nodes for every sum, a third to add it to the others. */
static void make_row_sums(struct kiln_hostile_builder *builder)
{
    uint32_t sum = full_input(builder);
    while (!kiln_hostile_is_full(builder)) {
        uint32_t y =
            kiln_hostile_pointwise(builder, KILN_POINTWISE_EXP, full_input(builder), KILN_NONE);
        uint32_t row = kiln_hostile_reduce(builder, KILN_REDUCTION_ADD, y, 1);
        sum = add(builder, sum, row);
    }
}

static void make_shared_loads(struct kiln_hostile_builder *builder)
{
    uint32_t before = full_input(builder);
    for (uint32_t i = 0; !kiln_hostile_is_full(builder); i++) {
        uint32_t x = full_input(builder);
        kiln_hostile_reduce(builder, KILN_REDUCTION_ADD,
                            kiln_hostile_pointwise(builder, KILN_POINTWISE_MUL, x, before),
                            i / 20 % 2);
        before = x;
    }
}

static void make_long_rows(struct kiln_hostile_builder *builder)
{
    uint32_t x = add_input(builder, 2, LONG_COLUMNS);
    while (!kiln_hostile_is_full(builder))
        x = add(builder, x, kiln_hostile_reduce(builder, KILN_REDUCTION_ADD, x, 1));
}

static void make_many_shapes(struct kiln_hostile_builder *builder)
{
    for (uint32_t i = 0; !kiln_hostile_is_full(builder); i++) {
        uint32_t x = add_input(builder, 2 + i / 64, 2 + i % 64);
        x = add(builder, x, kiln_hostile_reduce(builder, KILN_REDUCTION_ADD, x, 1));
        kiln_hostile_reduce(builder, KILN_REDUCTION_MAX, x, 0);
    }
}

/* ---- all of them ---- */

static void (*const makers[])(struct kiln_hostile_builder *) = {
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
    [KILN_HOSTILE_LINEAR] = kiln_hostile_linear,
    [KILN_HOSTILE_NORMED_LINEAR] = kiln_hostile_normed_linear,
    [KILN_HOSTILE_LINEAR_GRADIENTS] = kiln_hostile_linear_gradients,
    [KILN_HOSTILE_SMALL_PRODUCTS] = kiln_hostile_small_products,
    [KILN_HOSTILE_CONVOLUTIONS] = kiln_hostile_convolutions,
    [KILN_HOSTILE_NORMED_CONVOLUTIONS] = kiln_hostile_normed_convolutions,
    [KILN_HOSTILE_DEPTHWISE] = kiln_hostile_depthwise,
    [KILN_HOSTILE_CONVOLUTION_GRADIENTS] = kiln_hostile_convolution_gradients,
    [KILN_HOSTILE_ATTENTION] = kiln_hostile_attention,
    [KILN_HOSTILE_DECODE] = kiln_hostile_decode,
    [KILN_HOSTILE_DECODE_BESIDE] = kiln_hostile_decode_beside,
    [KILN_HOSTILE_ATTENTION_GRADIENTS] = kiln_hostile_attention_gradients,
    [KILN_HOSTILE_WRITTEN_ATTENTION] = kiln_hostile_written_attention,
    [KILN_HOSTILE_ATTENTION_IN_STEPS] = kiln_hostile_attention_in_steps,
    [KILN_HOSTILE_TRANSFORMER] = kiln_hostile_transformer,
};

static enum kiln_status make_random(enum kiln_hostile_family family, uint32_t node_count,
                                    struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                    struct kiln_error *error)
{
    static const uint32_t families[] = {
        KILN_RANDOM_POINTWISE,
        KILN_RANDOM_REDUCTIONS,
        KILN_RANDOM_NORMS,
        KILN_RANDOM_PRODUCTS,
        KILN_RANDOM_CONVOLUTIONS,
        KILN_RANDOM_ATTENTION,
        KILN_RANDOM_ALL,
        KILN_RANDOM_ALL | KILN_RANDOM_CONVOLUTIONS | KILN_RANDOM_ATTENTION,
    };
    enum { SEED = 11 };
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    options.families = families[family - KILN_HOSTILE_RANDOM_POINTWISE];
    options.min_nodes = options.max_nodes = node_count;
    options.max_elements = 1000000;
    return kiln_random_graph_make(SEED, &options, arena, ret_graph, error);
}

/* What is read stays virtual unless all results are outputs. */
static void choose_outputs(struct kiln_hostile_builder *builder)
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
    size_t tensors = ((size_t)node_count + 2) * KILN_HOSTILE_MAX_TENSORS_OF_NODE;
    struct kiln_hostile_builder builder = {
        .graph = {.era = KILN_WIRE_ERA_CURRENT,
                  .name = texts[family],
                  .nodes = kiln_arena_calloc(arena, node_count, sizeof *builder.graph.nodes),
                  .tensors = kiln_arena_calloc(arena, tensors, sizeof *builder.graph.tensors)},
        .node_count = node_count,
        .dtype = KILN_DTYPE_F32,
        .read = kiln_arena_calloc(arena, tensors, sizeof *builder.read),
    };
    if (builder.graph.nodes == NULL || builder.graph.tensors == NULL || builder.read == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a graph");
    makers[family](&builder);
    choose_outputs(&builder);
    *ret_graph = builder.graph;
    return KILN_OK;
}
