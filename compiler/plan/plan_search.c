#include "compiler/plan/plan_search.h"

#include "compiler/ir/exact_dtypes.h"
#include "compiler/plan/plan_family.h"
#include "compiler/schedule/schedule_group.h"

#include <string.h>

enum {
    /* Departures from the first guess that one partition combines. Each set costs a partition,
     * and no known graph is fastest with three. */
    MAX_CHOICES = 2,
    MAX_PROGRAMS = 16,
};

/* A row of the table: a variant, and whose it is. */
struct program_row {
    const struct kiln_variant *variant;
    enum kiln_kernel_family family; /* KILN_FAMILY_COUNT: the program itself */
};

struct search {
    const struct kiln_plan_task *task;
    const struct kiln_ir *source;
    uint32_t row_count;
    struct program_row rows[MAX_PROGRAMS];
    const struct program_row *chosen; /* NULL until a plan is made; then `best` is one */
    struct kiln_kernel_plan best;
    double best_time;
    uint64_t steps;
    struct kiln_missed_family missed;
    struct kiln_search_record record;
    struct kiln_error refusal; /* of the last program that was refused */
};

static enum kiln_status out_of_memory(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while planning the graph");
}

/* ---- the table ---- */

static void add_variants(struct search *search, bool refine)
{
    for (int f = 0; f < KILN_FAMILY_COUNT; f++) {
        const struct kiln_plan_family *family = kiln_plan_family((enum kiln_kernel_family)f);
        for (uint32_t i = 0; i < family->variant_count && search->row_count < MAX_PROGRAMS - 1;
             i++) {
            if (family->variants[i].refines == refine)
                search->rows[search->row_count++] =
                    (struct program_row){&family->variants[i], (enum kiln_kernel_family)f};
        }
    }
}

/* True if the graph has ragged tensors: kernels of some families alone read and write them. */
static bool has_ragged(const struct kiln_graph *graph)
{
    bool has = false;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        has |= kiln_tensor_is_ragged(&graph->tensors[i]);
    return has;
}

static void list_programs(struct search *search)
{
    static const struct kiln_variant as_it_is = {.name = "the graph as it is"};
    if (!search->task->options->no_fusion || has_ragged(search->task->graph))
        add_variants(search, false);
    search->rows[search->row_count++] = (struct program_row){&as_it_is, KILN_FAMILY_COUNT};
    add_variants(search, true);
}

/* True if the options allow the plan's workspace. */
static bool fits(const struct search *search, const struct kiln_kernel_plan *plan)
{
    uint64_t limit = search->task->options->workspace_limit;
    return limit == 0 || plan->partition.workspace_bytes <= limit;
}

/* True if a program is still worth planning. */
static bool is_open(const struct search *search, const struct program_row *row)
{
    const struct kiln_variant *variant = row->variant;
    if (variant->is_for != NULL && !variant->is_for(search->task->target))
        return false;
    if (!variant->refines)
        return search->chosen == NULL || !fits(search, &search->best);
    /* By the model's time, other sizes would choose other kernels. */
    return search->chosen != NULL && !search->task->options->is_general &&
           search->steps < search->task->max_steps;
}

/* ---- one alternative ---- */

static enum kiln_status make_schedules(const struct kiln_plan_task *task,
                                       struct kiln_kernel_plan *plan, struct kiln_error *error)
{
    struct kiln_partition *partition = &plan->partition;
    enum kiln_status status = KILN_OK;
    bool has_other_segments = false;
    plan->schedules =
        kiln_arena_calloc(task->arena, partition->group_count, sizeof *plan->schedules);
    if (plan->schedules == NULL)
        return out_of_memory(error);
    for (uint32_t i = 0; i < partition->group_count && status == KILN_OK; i++) {
        const struct kiln_fusion_group *group = &partition->groups[i];
        status = kiln_schedule_group(&plan->ir, task->graph, group, &plan->target, task->options,
                                     &plan->schedules[i], error);
        if (status != KILN_OK || plan->schedules[i].segment_count == group->segment_count)
            continue;
        kiln_partition_set_segments(partition, i, plan->schedules[i].segment_count);
        has_other_segments = true;
    }
    if (status == KILN_OK && has_other_segments)
        status = kiln_partition_place(&plan->ir, partition, error);
    return status;
}

enum kiln_status kiln_plan_alternative(const struct kiln_plan_task *task,
                                       const struct kiln_partition_strategy *strategy,
                                       struct kiln_kernel_plan *plan, struct kiln_error *error)
{
    plan->strategy = *strategy;
    enum kiln_status status = kiln_partition(&plan->ir, task->graph, &plan->target, task->options,
                                             strategy, &plan->partition, error);
    if (status == KILN_OK && plan->partition.broken != NULL)
        return kiln_error_set(error, KILN_UNSUPPORTED, "%s", plan->partition.broken);
    return status == KILN_OK ? make_schedules(task, plan, error) : status;
}

/* ---- the search ---- */

static void record(struct search *search, const struct program_row *row,
                   const struct kiln_kernel_plan *plan, double time, const char *refusal)
{
    search->record.tried[search->record.count++] = (struct kiln_tried_plan){
        .program = row->variant->name,
        .choices = plan->strategy.choices,
        .kernel_count = plan->partition.group_count,
        .time = time,
        .refusal = refusal,
    };
}

/* A plan that fits into the workspace beats one that does not. A forced program beats all before
 * it; otherwise the faster plan wins. Plans without fusion are the last resort. */
static bool is_better(const struct search *search, const struct program_row *row,
                      const struct kiln_kernel_plan *plan, double time)
{
    const struct kiln_variant *variant = row->variant;
    if (search->chosen == NULL)
        return true;
    if (fits(search, plan) != fits(search, &search->best))
        return fits(search, plan);
    if (plan->partition.is_plain)
        return false;
    bool is_forced = variant->is_forced != NULL && variant->is_forced(search->task->options);
    return (is_forced && search->chosen != row) || time < search->best_time;
}

/* Plans one program with one set of choices. *ret_choices: the departures that would
 * change the plan; none if the plan is useless. */
static enum kiln_status try_choices(struct search *search, const struct program_row *row,
                                    const struct kiln_kernel_plan *program, uint32_t choices,
                                    uint32_t *ret_choices, struct kiln_error *error)
{
    const struct kiln_plan_task *task = search->task;
    struct kiln_kernel_plan plan = *program;
    struct kiln_partition_strategy strategy = {.choices = choices,
                                               .max_steps = task->max_steps - search->steps};
    enum kiln_status status = kiln_plan_alternative(task, &strategy, &plan, &search->refusal);
    search->steps += plan.partition.steps;
    *ret_choices = 0;
    if (status == KILN_UNSUPPORTED) {
        const char *text = search->refusal.text;
        const char *refusal = kiln_arena_strndup(task->arena, text, strlen(text));
        if (refusal == NULL)
            return out_of_memory(error);
        record(search, row, &plan, 0, refusal);
        if (choices == 0 && !row->variant->refines)
            search->missed = (struct kiln_missed_family){row->family, refusal};
        return KILN_OK;
    }
    if (status != KILN_OK)
        return kiln_error_set(error, status, "%s", search->refusal.text);
    double time = kiln_kernel_plan_time(&plan);
    record(search, row, &plan, time, NULL);
    if (!plan.partition.is_plain)
        *ret_choices = plan.partition.choices;
    if (is_better(search, row, &plan, time)) {
        search->best = plan;
        search->best_time = time;
        search->chosen = row;
        search->record.chosen = search->record.count - 1;
    }
    return KILN_OK;
}

/* The version of the program that a row stands for. *ret_is_made: false if the row's family finds
 * nothing in it. */
static enum kiln_status make_program(struct search *search, const struct program_row *row,
                                     struct kiln_ir *ret_ir, bool *ret_is_made,
                                     struct kiln_error *error)
{
    const struct kiln_plan_task *task = search->task;
    const struct kiln_variant *variant = row->variant;
    struct kiln_pass_context context = {.graph = task->graph,
                                        .target = task->target,
                                        .options = task->options,
                                        .dump = task->dump,
                                        .program = variant->name,
                                        .is_found = true};
    enum kiln_status status = KILN_OK;
    if (!kiln_ir_copy(variant->refines ? &search->best.ir : search->source, task->arena, ret_ir))
        return out_of_memory(error);
    if (variant->find != NULL)
        status = kiln_pass_run(variant->find, ret_ir, &context, error);
    if (context.miss != NULL)
        search->missed = (struct kiln_missed_family){row->family, context.miss};
    *ret_is_made = context.is_found;
    if (status == KILN_OK && context.is_found && variant->finish != NULL)
        status = kiln_pass_run(variant->finish, ret_ir, &context, error);
    if (status != KILN_OK || !context.is_found)
        return status;
    ret_ir->exact_dtypes = kiln_ir_exact_dtypes(ret_ir, task->graph);
    return ret_ir->exact_dtypes != NULL ? KILN_OK : out_of_memory(error);
}

static uint32_t count_choices(uint32_t choices)
{
    uint32_t count = 0;
    for (; choices != 0; choices &= choices - 1)
        count++;
    return count;
}

static enum kiln_status try_program(struct search *search, const struct program_row *row,
                                    struct kiln_error *error)
{
    struct kiln_kernel_plan program = {.target = *search->task->target};
    bool is_made = false;
    enum kiln_status status = make_program(search, row, &program.ir, &is_made, error);
    if (status != KILN_OK || !is_made)
        return status;
    if (!row->variant->refines)
        search->steps = 0; /* refused programs are free */
    uint32_t open_choices = 0;
    status = try_choices(search, row, &program, 0, &open_choices, error);
    for (uint32_t choices = 1; choices < 1u << KILN_CHOICE_COUNT && status == KILN_OK; choices++) {
        uint32_t unused;
        if (!search->task->options->is_general && (choices & ~open_choices) == 0 &&
            count_choices(choices) <= MAX_CHOICES && search->steps < search->task->max_steps)
            status = try_choices(search, row, &program, choices, &unused, error);
    }
    return status;
}

enum kiln_status kiln_search_plan(const struct kiln_plan_task *task, const struct kiln_ir *ir,
                                  struct kiln_kernel_plan *ret_plan, struct kiln_error *error)
{
    struct search search = {.task = task, .source = ir};
    enum kiln_status status = KILN_OK;
    kiln_error_init(&search.refusal);
    list_programs(&search);
    size_t most = (size_t)search.row_count << KILN_CHOICE_COUNT;
    search.record.tried = kiln_arena_calloc(task->arena, most, sizeof *search.record.tried);
    if (search.record.tried == NULL)
        return out_of_memory(error);
    for (uint32_t i = 0; i < search.row_count && status == KILN_OK; i++) {
        if (is_open(&search, &search.rows[i]))
            status = try_program(&search, &search.rows[i], error);
    }
    if (status != KILN_OK)
        return status;
    if (search.chosen == NULL)
        return kiln_error_set(error, KILN_UNSUPPORTED, "%s", search.refusal.text);
    *ret_plan = search.best;
    ret_plan->steps = search.steps;
    ret_plan->missed = search.missed;
    ret_plan->record = search.record;
    return KILN_OK;
}
