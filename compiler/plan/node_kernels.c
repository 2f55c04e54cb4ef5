#include "compiler/plan/node_kernels.h"

#include <string.h>

/* Claims of kernels to a value, weakest first. The kernel that stores the value has the best claim.
 * Next comes the kernel that finishes what others have accumulated, then the first that evaluates
 * the value. */
enum claim { CLAIM_NONE, CLAIM_BEGINS, CLAIM_EVALUATES, CLAIM_FINISHES, CLAIM_STORES };

struct search {
    const struct kiln_graph *graph;
    struct kiln_arena *arena;
    struct kiln_node_kernels *result;
    uint32_t *stored_in; /* per tensor: the kernel that stores it; KILN_NONE */
    uint32_t *first_of;  /* per node: the first kernel that evaluates an operation of it */
    bool *is_absorbed;   /* per node: passes have made its work a part of other operations */
    bool *home_ops;      /* per node and opcode: its home evaluates such an operation of it */
    uint32_t *visit_of;  /* per node: 1 + its last visit, or 0 */
    uint32_t visit_capacity;
    /* State of the current part; arrays are indexed by value: */
    const struct kiln_kernel_plan *part;
    uint32_t first_kernel;
    uint32_t *maker; /* kernel, or KILN_NONE */
    uint8_t *claim;
    uint32_t *loaded; /* 1 + the last kernel that loads the value */
    bool *is_result;
};

static bool *home_op(const struct search *search, const struct kiln_op *op)
{
    return &search->home_ops[(size_t)op->node * KILN_OP_COUNT + op->opcode];
}

static void mark_loads(const struct search *search, const struct kiln_fusion_group *group,
                       uint32_t kernel)
{
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!group->accesses[i].is_accumulator)
            search->loaded[group->accesses[i].value] = kernel + 1;
    }
}

/* True if a kernel evaluates a value of its group. The kernel's loads must be marked. */
static bool evaluates(const struct search *search, uint32_t kernel, uint32_t value)
{
    const struct kiln_op *op = &search->part->ir.ops[value];
    return !kiln_op_is_load(op) && op->opcode != KILN_OP_CONSTANT &&
           search->loaded[value] != kernel + 1;
}

static void claim(const struct search *search, uint32_t value, uint32_t kernel, enum claim claim)
{
    if (search->claim[value] >= claim)
        return;
    search->claim[value] = (uint8_t)claim;
    search->maker[value] = kernel;
}

static enum claim claim_of(const struct kiln_fusion_group *group, const struct kiln_op *op)
{
    bool is_merged = kiln_op_is_core(op);
    if (is_merged && group->role == KILN_ROLE_COMBINE)
        return CLAIM_FINISHES;
    return is_merged && group->role == KILN_ROLE_PARTIAL ? CLAIM_BEGINS : CLAIM_EVALUATES;
}

/* Finds the maker of each value of the part. */
static void find_makers(struct search *search)
{
    const struct kiln_ir *ir = &search->part->ir;
    for (uint32_t i = 0; i < ir->op_count; i++)
        search->maker[i] = KILN_NONE;
    for (uint32_t g = 0; g < search->part->partition.group_count; g++) {
        const struct kiln_fusion_group *group = &search->part->partition.groups[g];
        uint32_t kernel = search->first_kernel + g;
        mark_loads(search, group, kernel);
        for (uint32_t i = 0; i < group->op_count; i++) {
            const struct kiln_op *op = &ir->ops[group->ops[i]];
            if (!evaluates(search, kernel, group->ops[i]))
                continue;
            claim(search, group->ops[i], kernel, claim_of(group, op));
            if (search->first_of[op->node] == KILN_NONE && op->opcode != KILN_OP_BROADCAST)
                search->first_of[op->node] = kernel;
        }
        for (uint32_t i = group->load_count; i < group->access_count; i++) {
            const struct kiln_access *access = &group->accesses[i];
            if (access->tensor != KILN_NONE)
                search->stored_in[access->tensor] = kernel;
            if (!access->is_accumulator && evaluates(search, kernel, access->value))
                claim(search, access->value, kernel, CLAIM_STORES);
        }
    }
}

/* The value itself, or what it repeats, where no kernel evaluates the repetition. */
static uint32_t before_broadcasts(const struct search *search, uint32_t value)
{
    const struct kiln_op *ops = search->part->ir.ops;
    while (ops[value].opcode == KILN_OP_BROADCAST && search->maker[value] == KILN_NONE)
        value = ops[value].operands[0];
    return value;
}

static struct kiln_node_home home_of(const struct search *search, const struct kiln_result *result)
{
    struct kiln_node_home home = {KILN_NODE_UNUSED, KILN_NONE, KILN_NONE};
    if (result->fate == KILN_RESULT_CONSTANT)
        home.fate = KILN_NODE_CONSTANT;
    if (result->fate != KILN_RESULT_VALUE)
        return home;
    uint32_t value = before_broadcasts(search, result->value);
    const struct kiln_op *op = &search->part->ir.ops[value];
    home.kernel = search->maker[value];
    if (home.kernel == KILN_NONE)
        home.kernel = search->stored_in[result->tensor];
    if (home.kernel != KILN_NONE) {
        home.fate = KILN_NODE_COMPUTED;
    } else if (op->opcode == KILN_OP_CONSTANT) {
        home.fate = KILN_NODE_CONSTANT;
    } else if (op->opcode == KILN_OP_LOAD) {
        home.fate = KILN_NODE_FORWARDED;
        home.tensor = op->tensor;
    }
    return home;
}

/* Finds the homes of nodes of the part whose results are values or constants. If a node has several
 * outputs, the first that a kernel makes decides. */
static void find_homes(struct search *search)
{
    const struct kiln_ir *ir = &search->part->ir;
    for (uint32_t i = 0; i < ir->result_count; i++) {
        const struct kiln_result *result = &ir->results[i];
        struct kiln_node_home *home =
            &search->result->homes[search->graph->tensors[result->tensor].producer];
        const struct kiln_node_home found = home_of(search, result);
        if (found.fate < home->fate)
            *home = found;
        if (result->fate == KILN_RESULT_VALUE)
            search->is_result[before_broadcasts(search, result->value)] = true;
    }
}

/* Finds the homes of nodes of the part whose results are no longer values. Such a node may have
 * operations left: a comparison stays if only its conversion to an integer was dropped. Otherwise,
 * if passes have absorbed its result, the work belongs to the readers of the result. Readers come
 * after what they read, so the loop runs backwards. */
static void find_absorbed_homes(struct search *search)
{
    const struct kiln_ir *ir = &search->part->ir;
    struct kiln_node_home *homes = search->result->homes;
    for (uint32_t i = 0; i < ir->result_count; i++) {
        uint32_t node = search->graph->tensors[ir->results[i].tensor].producer;
        if (ir->results[i].fate == KILN_RESULT_ABSORBED && homes[node].fate == KILN_NODE_UNUSED)
            search->is_absorbed[node] = true;
    }
    for (uint32_t i = ir->result_count; i-- > 0;) {
        uint32_t number = search->graph->tensors[ir->results[i].tensor].producer;
        const struct kiln_node *node = &search->graph->nodes[number];
        uint32_t first = search->first_of[number];
        bool has_home = homes[number].fate != KILN_NODE_UNUSED && !search->is_absorbed[number];
        if (!has_home && first != KILN_NONE)
            homes[number] = (struct kiln_node_home){KILN_NODE_COMPUTED, first, KILN_NONE};
        bool is_computed = homes[number].fate == KILN_NODE_COMPUTED;
        for (uint32_t k = 0; is_computed && k < node->input_count; k++) {
            uint32_t producer = search->graph->tensors[node->inputs[k]].producer;
            if (producer == KILN_NONE || !search->is_absorbed[producer])
                continue;
            if (homes[producer].fate != KILN_NODE_COMPUTED ||
                homes[producer].kernel > homes[number].kernel)
                homes[producer] = homes[number];
        }
    }
}

/* ---- work in other kernels ---- */

/* The kernel makes a result of the node, or begins what another kernel finishes. */
static bool is_needed_part(const struct search *search, uint32_t kernel, uint32_t value)
{
    const struct kiln_op *op = &search->part->ir.ops[value];
    bool is_merged = kiln_op_is_core(op);
    bool is_maker = search->maker[value] == kernel;
    return (is_maker && search->is_result[value]) || (is_merged && !is_maker);
}

/* The kernel's visit to a node that has its home elsewhere, a new one if there is none; NULL when
 * memory is out. */
static struct kiln_node_visit *visit_of(struct search *search, uint32_t kernel, uint32_t node)
{
    struct kiln_node_kernels *result = search->result;
    uint32_t *number = &search->visit_of[node];
    if (*number != 0 && result->visits[*number - 1].kernel == kernel)
        return &result->visits[*number - 1];
    if (result->visit_count == search->visit_capacity) {
        uint32_t capacity = 2 * search->visit_capacity + 16;
        struct kiln_node_visit *grown = kiln_arena_calloc(search->arena, capacity, sizeof *grown);
        if (grown == NULL)
            return NULL;
        if (result->visit_count != 0)
            memcpy(grown, result->visits, result->visit_count * sizeof *grown);
        result->visits = grown;
        search->visit_capacity = capacity;
    }
    result->visits[result->visit_count] = (struct kiln_node_visit){node, kernel, true};
    *number = ++result->visit_count;
    return &result->visits[*number - 1];
}

static bool is_work(const struct search *search, uint32_t kernel, uint32_t value)
{
    return search->part->ir.ops[value].opcode != KILN_OP_BROADCAST &&
           evaluates(search, kernel, value);
}

/* Notes the opcodes that homes evaluate. */
static void find_home_ops(const struct search *search)
{
    for (uint32_t g = 0; g < search->part->partition.group_count; g++) {
        const struct kiln_fusion_group *group = &search->part->partition.groups[g];
        uint32_t kernel = search->first_kernel + g;
        mark_loads(search, group, kernel);
        for (uint32_t i = 0; i < group->op_count; i++) {
            const struct kiln_op *op = &search->part->ir.ops[group->ops[i]];
            if (is_work(search, kernel, group->ops[i]) &&
                search->result->homes[op->node].kernel == kernel)
                *home_op(search, op) = true;
        }
    }
}

/* Records the nodes that a kernel evaluates or stores a part of, although their home is another
 * kernel. Returns false if memory is out. */
static bool find_visits_of(struct search *search, const struct kiln_fusion_group *group,
                           uint32_t kernel)
{
    const struct kiln_node_home *homes = search->result->homes;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &search->part->ir.ops[group->ops[i]];
        if (!is_work(search, kernel, group->ops[i]) || homes[op->node].kernel == kernel ||
            homes[op->node].kernel == KILN_NONE)
            continue;
        struct kiln_node_visit *visit = visit_of(search, kernel, op->node);
        if (visit == NULL)
            return false;
        bool is_at_home = *home_op(search, op);
        if (!is_at_home || is_needed_part(search, kernel, group->ops[i]))
            visit->is_again = false;
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        uint32_t node = access->tensor == KILN_NONE || access->is_accumulator
                            ? KILN_NONE
                            : search->graph->tensors[access->tensor].producer;
        if (node == KILN_NONE || homes[node].kernel == kernel || homes[node].kernel == KILN_NONE)
            continue;
        struct kiln_node_visit *visit = visit_of(search, kernel, node);
        if (visit == NULL)
            return false;
        visit->is_again = false;
    }
    return true;
}

static bool find_visits(struct search *search)
{
    bool good = true;
    for (uint32_t g = 0; good && g < search->part->partition.group_count; g++) {
        const struct kiln_fusion_group *group = &search->part->partition.groups[g];
        mark_loads(search, group, search->first_kernel + g);
        good = find_visits_of(search, group, search->first_kernel + g);
    }
    return good;
}

/* ---- all of it ---- */

static bool search_part(struct search *search)
{
    size_t count = (size_t)search->part->ir.op_count + 1;
    search->maker = kiln_arena_calloc(search->arena, count, sizeof *search->maker);
    search->claim = kiln_arena_calloc(search->arena, count, sizeof *search->claim);
    search->loaded = kiln_arena_calloc(search->arena, count, sizeof *search->loaded);
    search->is_result = kiln_arena_calloc(search->arena, count, sizeof *search->is_result);
    if (search->maker == NULL || search->claim == NULL || search->loaded == NULL ||
        search->is_result == NULL)
        return false;
    find_makers(search);
    find_homes(search);
    find_absorbed_homes(search);
    find_home_ops(search);
    return find_visits(search);
}

static bool init(struct search *search)
{
    size_t nodes = (size_t)search->graph->node_count + 1;
    size_t tensors = (size_t)search->graph->tensor_count + 1;
    struct kiln_arena *arena = search->arena;
    search->result->homes = kiln_arena_calloc(arena, nodes, sizeof *search->result->homes);
    search->stored_in = kiln_arena_calloc(arena, tensors, sizeof *search->stored_in);
    search->first_of = kiln_arena_calloc(arena, nodes, sizeof *search->first_of);
    search->is_absorbed = kiln_arena_calloc(arena, nodes, sizeof *search->is_absorbed);
    search->home_ops = kiln_arena_calloc(arena, nodes * KILN_OP_COUNT, sizeof *search->home_ops);
    search->visit_of = kiln_arena_calloc(arena, nodes, sizeof *search->visit_of);
    if (search->result->homes == NULL || search->stored_in == NULL || search->first_of == NULL ||
        search->is_absorbed == NULL || search->home_ops == NULL || search->visit_of == NULL)
        return false;
    for (uint32_t i = 0; i < search->graph->node_count; i++) {
        search->result->homes[i] = (struct kiln_node_home){KILN_NODE_UNUSED, KILN_NONE, KILN_NONE};
        search->first_of[i] = KILN_NONE;
    }
    for (uint32_t i = 0; i < search->graph->tensor_count; i++)
        search->stored_in[i] = KILN_NONE;
    return true;
}

enum kiln_status kiln_find_node_kernels(const struct kiln_kernel_plan *plan,
                                        const struct kiln_graph *graph, struct kiln_arena *arena,
                                        struct kiln_node_kernels *ret_kernels,
                                        struct kiln_error *error)
{
    struct kiln_node_kernels kernels = {0};
    struct search search = {.graph = graph, .arena = arena, .result = &kernels};
    bool good = init(&search);
    for (const struct kiln_kernel_plan *part = plan; good && part != NULL; part = part->next) {
        search.part = part;
        good = search_part(&search);
        search.first_kernel += part->partition.group_count;
    }
    if (!good)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to find the kernels of nodes");
    *ret_kernels = kernels;
    return KILN_OK;
}
