#include "compiler/families/attention/schedule/attention_spans.h"

#include "compiler/families/attention/fuse/attention_group.h"

/* The number of a tensor's span, which is added where its lengths are loaded; KILN_NONE where they
 * are not. */
static uint32_t find_span(const struct kiln_contraction_problem *problem, uint32_t tensor,
                          struct kiln_attention_spans *spans)
{
    const struct kiln_fusion_group *group = problem->group;
    for (uint32_t i = 0; i < spans->count; i++) {
        if (spans->tensors[i] == tensor)
            return i;
    }
    for (uint32_t i = 0; i < group->load_count && spans->count < KILN_MAX_SPANS; i++) {
        const struct kiln_op *op = &problem->ir->ops[group->accesses[i].value];
        if (op->opcode != KILN_OP_LENGTH || op->tensor != tensor ||
            group->accesses[i].place != KILN_PLACE_SCORE)
            continue;
        spans->tensors[spans->count] = tensor;
        spans->lengths[spans->count] = i;
        return spans->count++;
    }
    return KILN_NONE;
}

/* The ragged tensor that an access is memory of, or loads the lengths of; KILN_NONE otherwise. */
static uint32_t ragged_tensor(const struct kiln_contraction_problem *problem,
                              const struct kiln_access *access)
{
    const struct kiln_op *op = &problem->ir->ops[access->value];
    if (op->opcode == KILN_OP_LENGTH)
        return op->tensor;
    bool is_ragged = access->kind == KILN_ARGUMENT_TENSOR &&
                     kiln_tensor_is_ragged(&problem->graph->tensors[access->tensor]);
    return is_ragged ? access->tensor : KILN_NONE;
}

bool kiln_find_attention_spans(struct kiln_contraction_problem *problem,
                               struct kiln_attention_schedule *attention)
{
    struct kiln_attention_spans *spans = &attention->spans;
    spans->count = spans->of_rows = spans->of_columns = spans->of_stores = 0;
    spans->stores_all_rows = false;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        uint32_t tensor = ragged_tensor(problem, access);
        spans->stores_all_rows |= access->is_store && tensor == KILN_NONE;
        if (tensor == KILN_NONE)
            continue;
        uint32_t span = find_span(problem, tensor, spans);
        if (span == KILN_NONE)
            return false;
        problem->schedule->accesses[i].span = span + 1;
        if (access->is_store)
            spans->of_stores |= 1u << span;
        if (access->is_store || access->place == KILN_PLACE_LEFT)
            spans->of_rows |= 1u << span;
        else if (access->place == KILN_PLACE_RIGHT || access->place == KILN_PLACE_VALUE)
            spans->of_columns |= 1u << span;
    }
    return true;
}
