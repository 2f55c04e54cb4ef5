/*
 * Do the shapes and types of attention's operands fit together, and can its kernels count them?
 *
 * Operands by role, forward and backward alike: what a node does not have is not checked.
 */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ragged.h"

enum { RANK = 4 };

/* A size that an axis of an operand has to have, and whose it is. */
struct expected {
    int64_t size;
    const char *text;
};

struct view {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    struct kiln_attention_sizes sizes;
    struct kiln_error *error;
};

static const struct kiln_tensor *find(const struct view *view, enum kiln_operand role)
{
    uint32_t ordinal = kiln_node_input(view->node, role);
    if (ordinal == KILN_NONE)
        ordinal = kiln_node_output(view->node, role);
    return ordinal != KILN_NONE ? &view->graph->tensors[ordinal] : NULL;
}

/* ---- sizes of q, k and v ---- */

static enum kiln_status check_rank(const struct kiln_graph *graph, const struct kiln_node *node,
                                   enum kiln_operand role, struct kiln_error *error)
{
    const struct kiln_tensor *tensor = &graph->tensors[kiln_node_input(node, role)];
    if (tensor->rank == RANK)
        return KILN_OK;
    return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, tensor,
                              "%s has rank %u, must have %d: batch, heads, sequence, depth",
                              kiln_operand_text(role), tensor->rank, RANK);
}

static enum kiln_status check_limits(const struct kiln_graph *graph, const struct kiln_node *node,
                                     enum kiln_operand role, struct kiln_error *error)
{
    const struct kiln_tensor *tensor = &graph->tensors[kiln_node_input(node, role)];
    for (uint32_t axis = 0; axis < RANK; axis++) {
        if (tensor->dims[axis] > INT32_MAX)
            return kiln_reject_tensor(error, KILN_REJECT_TOO_LARGE, graph, node, tensor,
                                      "dimension %u is %lld, at most %d in attention", axis,
                                      (long long)tensor->dims[axis], INT32_MAX);
    }
    return KILN_OK;
}

enum kiln_status kiln_attention_check_sizes(const struct kiln_graph *graph,
                                            const struct kiln_node *node, struct kiln_error *error)
{
    static const enum kiln_operand roles[] = {KILN_OPERAND_Q, KILN_OPERAND_K, KILN_OPERAND_V};
    const int64_t most_scores = INT64_C(1) << 48;
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < sizeof roles / sizeof *roles; i++) {
        status = check_rank(graph, node, roles[i], error);
        if (status == KILN_OK)
            status = check_limits(graph, node, roles[i], error);
    }
    if (status != KILN_OK)
        return status;
    struct kiln_attention_sizes sizes = kiln_attention_sizes_of(graph, node);
    int64_t heads = sizes.batch * sizes.heads; /* below 2^62, as each is below 2^31 */
    int64_t scores, terms;
    if (sizes.queries + sizes.keys > INT32_MAX || heads > INT32_MAX)
        return kiln_reject_node(error, KILN_REJECT_TOO_LARGE, graph, node,
                                "%lld %s and %lld %s in %lld %s of all batches: queries "
                                "and keys together, and heads, are at most %d",
                                (long long)sizes.queries, sizes.queries == 1 ? "query" : "queries",
                                (long long)sizes.keys, KILN_NOUN(sizes.keys, "key"),
                                (long long)heads, KILN_NOUN(heads, "head"), INT32_MAX);
    if (__builtin_mul_overflow(heads, sizes.queries * sizes.keys, &scores) || scores > most_scores)
        return kiln_reject_node(error, KILN_REJECT_ENDLESS, graph, node,
                                "it has more than 2^48 scores of queries and keys");
    if (__builtin_mul_overflow(scores, sizes.depth, &terms) ||
        __builtin_mul_overflow(scores, sizes.value_depth, &terms))
        return kiln_reject_node(error, KILN_REJECT_TOO_LARGE, graph, node,
                                "its products have more than 2^63 terms");
    return KILN_OK;
}

/* ---- shapes ---- */

/* Where one element is expected, any number of axes says the same. */
static bool is_one_element(const struct kiln_tensor *tensor, const struct expected expected[RANK])
{
    for (uint32_t axis = 0; axis < RANK; axis++) {
        if (expected[axis].size != 1)
            return false;
    }
    return kiln_tensor_elements(tensor) == 1;
}

static enum kiln_status check_shape(const struct view *view, enum kiln_operand role,
                                    const struct expected expected[RANK])
{
    const struct kiln_tensor *tensor = find(view, role);
    if (tensor == NULL || is_one_element(tensor, expected))
        return KILN_OK;
    if (tensor->rank != RANK)
        return kiln_reject_tensor(
            view->error, KILN_REJECT_SHAPE, view->graph, view->node, tensor,
            "%s has rank %u, must have %d; only dimensions of size 1 at the end may be left "
            "out",
            kiln_operand_text(role), tensor->rank, RANK);
    for (uint32_t axis = 0; axis < RANK; axis++) {
        if (tensor->dims[axis] != expected[axis].size)
            return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node,
                                      tensor, "dimension %u of %s is %lld, must be %s, %lld", axis,
                                      kiln_operand_text(role), (long long)tensor->dims[axis],
                                      expected[axis].text, (long long)expected[axis].size);
    }
    return KILN_OK;
}

static enum kiln_status check_heads(const struct view *view, enum kiln_operand role)
{
    const struct kiln_tensor *tensor = find(view, role);
    if (view->sizes.heads % tensor->dims[1] == 0)
        return KILN_OK;
    return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, tensor,
                              "%s has %lld %s, must divide the %lld %s of q",
                              kiln_operand_text(role), (long long)tensor->dims[1],
                              KILN_NOUN(tensor->dims[1], "head"), (long long)view->sizes.heads,
                              KILN_NOUN(view->sizes.heads, "head"));
}

static enum kiln_status check_shapes(const struct view *view)
{
    const struct kiln_attention_sizes *sizes = &view->sizes;
    const struct expected batch = {sizes->batch, "the batch of q"};
    const struct expected heads = {sizes->heads, "the heads of q"};
    const struct expected key_heads = {sizes->key_heads, "the heads of k"};
    const struct expected value_heads = {sizes->value_heads, "the heads of v"};
    const struct expected queries = {sizes->queries, "the sequence of q"};
    const struct expected keys = {sizes->keys, "the sequence of k"};
    const struct expected depth = {sizes->depth, "the depth of q"};
    const struct expected value_depth = {sizes->value_depth, "the depth of v"};
    const struct expected one = {1, "one"};
    const struct {
        enum kiln_operand role;
        struct expected expected[RANK];
    } rows[] = {
        {KILN_OPERAND_K, {batch, key_heads, keys, depth}},
        {KILN_OPERAND_V, {batch, value_heads, keys, value_depth}},
        {KILN_OPERAND_O, {batch, heads, queries, value_depth}},
        {KILN_OPERAND_DO, {batch, heads, queries, value_depth}},
        {KILN_OPERAND_STATS, {batch, heads, queries, one}},
        {KILN_OPERAND_MAX, {batch, heads, queries, one}},
        {KILN_OPERAND_SUM_EXP, {batch, heads, queries, one}},
        {KILN_OPERAND_SINK_TOKEN, {one, heads, one, one}},
        {KILN_OPERAND_DQ, {batch, heads, queries, depth}},
        {KILN_OPERAND_DK, {batch, key_heads, keys, depth}},
        {KILN_OPERAND_DV, {batch, value_heads, keys, value_depth}},
    };
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < sizeof rows / sizeof *rows; i++)
        status = check_shape(view, rows[i].role, rows[i].expected);
    if (status == KILN_OK)
        status = check_heads(view, KILN_OPERAND_K);
    if (status == KILN_OK)
        status = check_heads(view, KILN_OPERAND_V);
    return status;
}

/* ---- masks, lengths and scales ---- */

static enum kiln_status check_mask(const struct view *view)
{
    const struct kiln_tensor *mask = find(view, KILN_OPERAND_ATTN_MASK);
    const struct kiln_tensor *gradient = find(view, KILN_OPERAND_DBIAS);
    const struct kiln_attention_sizes *sizes = &view->sizes;
    const int64_t scores[RANK] = {sizes->batch, sizes->heads, sizes->queries, sizes->keys};
    if (mask == NULL)
        return KILN_OK;
    if (mask->rank < 1 || mask->rank > RANK)
        return kiln_reject_tensor(view->error, KILN_REJECT_BROADCAST, view->graph, view->node, mask,
                                  "attn_mask has rank %u, must have 1 to %d", mask->rank, RANK);
    for (uint32_t i = 1; i <= mask->rank; i++) {
        int64_t size = mask->dims[mask->rank - i];
        if (size != 1 && size != scores[RANK - i])
            return kiln_reject_tensor(view->error, KILN_REJECT_BROADCAST, view->graph, view->node,
                                      mask,
                                      "dimension %u of attn_mask is %lld, must be 1 or %lld, as "
                                      "the scores have it",
                                      mask->rank - i, (long long)size, (long long)scores[RANK - i]);
    }
    if (gradient == NULL)
        return KILN_OK;
    if (mask->dtype == KILN_DTYPE_BOOL)
        return kiln_reject_tensor(view->error, KILN_REJECT_UNSUPPORTED_TYPE, view->graph,
                                  view->node, mask, "attn_mask is %s, which has no gradient dbias",
                                  kiln_dtype_info(mask->dtype)->text);
    bool is_same = gradient->rank == mask->rank;
    for (uint32_t i = 0; is_same && i < mask->rank; i++)
        is_same = gradient->dims[i] == mask->dims[i];
    if (is_same)
        return KILN_OK;
    return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, gradient,
                              "dbias must have the shape of attn_mask");
}

static enum kiln_status check_lengths(const struct view *view, enum kiln_operand role)
{
    const struct kiln_tensor *tensor = find(view, role);
    if (tensor == NULL)
        return KILN_OK;
    if (tensor->dtype != KILN_DTYPE_I32 && tensor->dtype != KILN_DTYPE_I64)
        return kiln_reject_tensor(view->error, KILN_REJECT_UNSUPPORTED_TYPE, view->graph,
                                  view->node, tensor, "%s is %s, must be int32 or int64",
                                  kiln_operand_text(role), kiln_dtype_info(tensor->dtype)->text);
    const struct expected batch = {view->sizes.batch, "the batch of q"};
    const struct expected one = {1, "one"};
    const struct expected shape[RANK] = {batch, one, one, one};
    return check_shape(view, role, shape);
}

/* One element, or one for each head of k or v where `heads` is not 0. */
static enum kiln_status check_scale(const struct view *view, enum kiln_operand role, int64_t heads)
{
    const struct kiln_tensor *tensor = find(view, role);
    if (tensor == NULL || kiln_tensor_elements(tensor) == 1)
        return KILN_OK;
    if (heads == 0)
        return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, tensor,
                                  "%s has %lld elements, must have one", kiln_operand_text(role),
                                  (long long)kiln_tensor_elements(tensor));
    if (tensor->rank == RANK && tensor->dims[0] == view->sizes.batch && tensor->dims[1] == heads &&
        tensor->dims[2] == 1 && tensor->dims[3] == 1)
        return KILN_OK;
    return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, tensor,
                              "%s must have one element, or the shape [%lld, %lld, 1, 1]",
                              kiln_operand_text(role), (long long)view->sizes.batch,
                              (long long)heads);
}

static enum kiln_status check_scales(const struct view *view)
{
    const struct {
        enum kiln_operand role;
        int64_t heads;
    } rows[] = {
        {KILN_OPERAND_SCALE, 0},
        {KILN_OPERAND_DESCALE_Q, view->sizes.key_heads},
        {KILN_OPERAND_DESCALE_K, view->sizes.key_heads},
        {KILN_OPERAND_DESCALE_V, view->sizes.value_heads},
        {KILN_OPERAND_DESCALE_S, 0},
        {KILN_OPERAND_SCALE_S, 0},
        {KILN_OPERAND_SCALE_O, 0},
        {KILN_OPERAND_AMAX_S, 0},
        {KILN_OPERAND_AMAX_O, 0},
    };
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < sizeof rows / sizeof *rows; i++)
        status = check_scale(view, rows[i].role, rows[i].heads);
    return status;
}

/* ---- types ---- */

/* Packed tensors are operands of the products alone. */
static bool may_be_packed(const struct view *view, uint8_t role)
{
    return view->node->kind == KILN_NODE_ATTENTION &&
           (role == KILN_OPERAND_Q || role == KILN_OPERAND_K || role == KILN_OPERAND_V);
}

static enum kiln_status check_type(const struct view *view, uint32_t ordinal, uint8_t role)
{
    const struct kiln_tensor *tensor = &view->graph->tensors[ordinal];
    bool is_packed = kiln_dtype_is_packed(tensor->dtype) && !may_be_packed(view, role);
    if (role == KILN_OPERAND_SEQ_LEN_Q || role == KILN_OPERAND_SEQ_LEN_KV ||
        kiln_is_offsets_role((enum kiln_operand)role) ||
        (!kiln_dtype_is_integer(tensor->dtype) && !is_packed) ||
        (role == KILN_OPERAND_ATTN_MASK && tensor->dtype == KILN_DTYPE_BOOL))
        return KILN_OK;
    return kiln_reject_tensor(
        view->error, KILN_REJECT_UNSUPPORTED_TYPE, view->graph, view->node, tensor,
        is_packed ? "%s is %s, whose elements are packed"
                  : "%s is %s, must be of a floating-point type",
        kiln_operand_text((enum kiln_operand)role), kiln_dtype_info(tensor->dtype)->text);
}

static enum kiln_status check_types(const struct view *view)
{
    const struct kiln_node *node = view->node;
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < node->input_count; i++)
        status = check_type(view, node->inputs[i], node->input_roles[i]);
    for (uint32_t i = 0; status == KILN_OK && i < node->output_count; i++)
        status = check_type(view, node->outputs[i], node->output_roles[i]);
    return status;
}

enum kiln_status kiln_attention_check(const struct kiln_graph *graph, const struct kiln_node *node,
                                      struct kiln_error *error)
{
    const struct view view = {
        .graph = graph,
        .node = node,
        .sizes = kiln_attention_sizes_of(graph, node),
        .error = error,
    };
    enum kiln_status status = check_types(&view);
    if (status == KILN_OK)
        status = check_shapes(&view);
    if (status == KILN_OK)
        status = check_mask(&view);
    if (status == KILN_OK)
        status = check_lengths(&view, KILN_OPERAND_SEQ_LEN_Q);
    if (status == KILN_OK)
        status = check_lengths(&view, KILN_OPERAND_SEQ_LEN_KV);
    if (status == KILN_OK)
        status = check_scales(&view);
    if (status == KILN_OK)
        status = kiln_ragged_check_attention(graph, node, error);
    return status;
}
